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
from offsettree.cli._output import as_options, printable
from offsettree.exceptions import OffsetTreeError, OffsetTreeWarning

__all__ = ["COMMANDS", "main", "read_options"]

COMMANDS = {
    "learn": "learn a policy from a log, and say what it is worth",
    "evaluate": "estimate what a policy is worth on another log",
    "decide": "write the decisions of a policy, row by row",
    "inspect": "look into a log or a policy file",
    "compare": "compare policies on the same log",
    "simulate": "write a log of which the truth is known",
    "reproduce": "run the paper's experiments again",
}
# What a command leaves behind when it is interrupted; all others write a file whole or not at all.
RESUMED = ("reproduce",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 if all is well, 2 on wrong input, 3 if --require is not met, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = read_options(given)
    with suppress(ValueError):  # called in a thread, which signals do not reach
        signal.signal(signal.SIGTERM, _stop)
    try:
        with warnings.catch_warnings():
            _speak_plainly()
            return int(options.run(options))
    except BrokenPipeError:  # the reader of our output has gone
        sys.stdout = None
        return 0
    except (OffsetTreeError, OSError) as error:
        sys.stderr.write(f"offsettree: {printable(as_options(str(error)))}\n")
        return 2
    except KeyboardInterrupt:
        kept = "what was done is kept, the same command goes on from there"
        sys.stderr.write(f"\noffsettree: interrupted; {kept if given[0] in RESUMED else 'nothing was written'}\n")
        return 130


def _stop(*_: Any) -> None:
    # As an exception, so that what was begun is tidied up.
    raise SystemExit(128 + signal.SIGTERM)


def read_options(given: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; only the command that is called is imported."""
    parser = argparse.ArgumentParser(
        prog="offsettree",
        description="Policies from logs of decisions.",
        epilog="offsettree COMMAND --help tells more, with an example. "
        "Exit codes: 0 done, 2 wrong input, 3 what --require asks for does not hold, 130 interrupted.",
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
    return options


def _speak_plainly() -> None:
    """Show our warnings as lines, and none of the libraries', which are for developers."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", OffsetTreeWarning)

    def show(message: Any, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"offsettree: warning: {printable(str(message))}\n")

    warnings.showwarning = show
