"""The command line: ``offsettree COMMAND ...``. A file per command, imported only when it is called."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import offsettree
from offsettree._messages import as_options
from offsettree.cli._output import printable
from offsettree.exceptions import OffsetTreeError, OffsetTreeWarning

__all__ = ["COMMANDS", "main", "read_options"]

COMMANDS = {
    "learn": "learn a policy from a log, and estimate its value",
    "evaluate": "estimate the value of a policy on another log",
    "decide": "write the decisions of a policy, row by row",
    "inspect": "look into a log or a policy file",
    "compare": "compare policies on the same log",
    "simulate": "write a log with known true rewards",
    "serve": "decide over HTTP, log, join rewards, and learn",
    "reproduce": "run the paper's experiments again",
    "completion": "print a script that completes commands in bash, zsh or fish",
}
# An interrupted run of these commands can be resumed; all others write a file whole or not at all.
RESUMABLE = ("reproduce",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 on success, 2 on wrong input, 3 if --require is not met, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = read_options(given)
    with suppress(ValueError):  # only the main thread may set signal handlers
        signal.signal(signal.SIGTERM, _stop)
    try:
        with warnings.catch_warnings():
            _show_only_our_warnings()
            return int(options.run(options))
    except BrokenPipeError:  # whoever read our output has closed it
        sys.stdout = None
        return 0
    except (OffsetTreeError, OSError) as error:
        sys.stderr.write(f"offsettree: {printable(as_options(error))}\n")
        return 2
    except KeyboardInterrupt:
        kept = "nothing was written"
        if given[0] in RESUMABLE:
            kept = "finished runs are kept; run the same command again to resume"
        elif given[0] == "serve":
            kept = "all that was acknowledged is kept"
        sys.stderr.write(f"\noffsettree: interrupted; {kept}\n")
        return 130


def _stop(*_: Any) -> None:
    # An exception, so that unfinished files are cleaned up.
    raise SystemExit(128 + signal.SIGTERM)


def read_options(given: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; import only the command that is called."""
    parser = argparse.ArgumentParser(
        prog="offsettree",
        description="Learn policies from logs of decisions, and evaluate them.",
        epilog="offsettree COMMAND --help shows the options and an example. "
        "Exit codes: 0 success, 2 wrong input, 3 the condition of --require is not met, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"offsettree {offsettree.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=purpose,
            description=purpose[0].upper() + purpose[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if given[:1] == [name]:
            module = import_module(f"offsettree.cli.{name}")
            module.configure(command)
            command.epilog = f"example:\n  {module.EXAMPLE}"
    options = parser.parse_args(given)
    options.arguments = list(given)
    options.parsers = _parsers
    return options


def _parsers() -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return the purpose and the parser of every command."""
    found = {}
    for name, purpose in COMMANDS.items():
        found[name] = (purpose, argparse.ArgumentParser(prog=f"offsettree {name}"))
        import_module(f"offsettree.cli.{name}").configure(found[name][1])
    return found


def _show_only_our_warnings() -> None:
    """Print our warnings, one per line; hide those of libraries, which are for developers."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", OffsetTreeWarning)

    def show(message: Any, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"offsettree: warning: {printable(as_options(message))}\n")

    warnings.showwarning = show
