"""What the commands of `reproduce` share: their options, the folder that they write to, and what they print."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offsettree.cli._output import print_json
from offsettree.exceptions import ParameterError
from offsettree.experiments.seeds import splits_of

N_RUNS = 5


def add_seeds(parser: argparse.ArgumentParser) -> None:
    """Declare how many runs there are, and their seed."""
    of_its_own = f"number of runs, each on its own rows (default: {N_RUNS})"
    parser.add_argument("--seeds", type=int, default=N_RUNS, metavar="S", help=of_its_own)
    parser.add_argument("--seed", type=int, default=0, help="random seed of the runs (default: 0)")


def add_output(parser: argparse.ArgumentParser, workers: str, printed: str) -> None:
    """Declare the number of workers, the folder and the form of what is printed."""
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help=f"{workers} (default: all cores)")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for records, table and figure")
    parser.add_argument("--json", action="store_true", help=f"print the {printed} as JSON")


def check_runs(options: argparse.Namespace, *names: str) -> None:
    """Refuse numbers below 1, and what is not a seed, before anything is made."""
    given = {f"--{name}": getattr(options, name) for name in names}
    if min(given.values()) < 1:
        *first, last = given
        *numbers, number = given.values()
        raise ParameterError(
            f"{', '.join(first)} and {last} must be at least 1; got {', '.join(map(str, numbers))} and {number}."
        )
    splits_of(options.seed, options.seeds)


def stem_of(options: argparse.Namespace, stem: str) -> str:
    """Return the name of the files: results of fewer runs must not overwrite those of the command without options."""
    runs, seed = int(options.seeds), int(options.seed)
    return stem + f"-{runs}-runs" * (runs != N_RUNS) + f"-seed-{seed}" * (seed != 0)


def print_results(options: argparse.Namespace, text: str, results: dict[str, Any], written: Sequence[Path]) -> None:
    """Print the text, or the results as JSON, and what was written."""
    files = [str(file) for file in written]
    if options.json:
        print_json({**results, "written": files})
    else:
        sys.stdout.write(f"{text}\nWritten: {', '.join(files)}\n")


def make_folder(path: Path) -> None:
    """Create the folder that --out names, unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ParameterError(
            f"--out must be a folder, existing or new; {path} is a file or inside a file. Give another path."
        ) from error
