"""The command line: ``offsettree COMMAND ...``. A file per command, imported only when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

import offsettree
from offsettree.exceptions import OffsetTreeError

__all__ = ["main"]

COMMANDS = {"reproduce": "run the paper's experiments again"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 if all went well, 2 if the input was wrong, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="offsettree", description="Policies from logs of decisions.")
    parser.add_argument("--version", action="version", version=f"offsettree {offsettree.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if given[:1] == [name]:
            import_module(f"offsettree.cli.{name}").configure(command)
    options = parser.parse_args(given)
    try:
        return int(options.run(options))
    except BrokenPipeError:  # the reader of our output has gone
        sys.stdout = None
        return 0
    except (OffsetTreeError, OSError) as error:
        sys.stderr.write(f"offsettree: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("offsettree: interrupted; what was done is kept, the same command goes on from there\n")
        return 130
