"""Options shared by several commands."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from offsettree._workers import watch_from_the_start
from offsettree.exceptions import ParameterError
from offsettree.registry import FORMATS

TEST_SIZE = 0.3


def add_common_options(command: argparse.ArgumentParser, *, seed: bool = False, jobs: bool = False) -> None:
    """Add the options of every command; --seed and --jobs are accepted even without effect, for uniform scripts."""
    seed_help = "random seed (default: 0)" if seed else "accepted but without effect: nothing here is random"
    command.add_argument("--seed", type=_seed, default=0, help=seed_help)
    jobs_help = "workers (default: all cores)" if jobs else "accepted but without effect: this runs in one process"
    command.add_argument("--jobs", type=_positive, help=jobs_help)
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def add_log_options(command: argparse.ArgumentParser) -> None:
    """Add the options that name the log's columns."""
    group = command.add_argument_group("columns of the log")
    group.add_argument("--action", metavar="COL", help="the action taken (default: guessed by name)")
    group.add_argument("--reward", metavar="COL", help="the reward of that action (default: guessed by name)")
    group.add_argument(
        "--propensity",
        metavar="COL|NUMBER",
        help="the probability with which the action was taken: a column, or one number for all rows, such as 0.2 or "
        "1/5 (default: guessed by name)",
    )
    group.add_argument("--features", metavar="COL", nargs="+", help="the columns to learn from (default: all others)")
    add_reading_options(command)


def add_estimated_option(group: Any) -> None:
    """Add the option for logs without propensities."""
    described = "the log has no propensities: estimate them from the logged actions"
    group.add_argument("--propensity-estimated", action="store_true", help=described)


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the file readers."""
    group = command.add_argument_group("reading")
    # Its choices are set afterwards, as argparse lists those that it is given: other packages are then looked up.
    group.add_argument("--format", help="format of the file (default: detected)").choices = FORMATS
    group.add_argument("--delimiter", metavar="CHAR", help="separator of CSV fields (default: detected)")
    group.add_argument("--decimal", metavar="CHAR", default=".", help="decimal point of CSV (default: .)")
    group.add_argument("--encoding", default="utf-8", help="encoding of text files (default: utf-8)")
    group.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        help="CSV without a header line: its columns are named column_1, column_2, ...",
    )
    group.add_argument(
        "--cost",
        choices=["negative_reward", "one_minus_reward"],
        default="negative_reward",
        help="what a cost in Vowpal Wabbit's formats means: -reward (default) or 1 - reward",
    )
    group.add_argument(
        "--max-line-bytes", type=_positive, metavar="N", help="longest line accepted (default: 16 MiB; CSV: 1 MiB)"
    )
    group.add_argument(
        "--max-nesting", type=_positive, metavar="N", default=64, help="deepest JSON accepted, in levels (default: 64)"
    )
    group.add_argument(
        "--max-ratio",
        type=float,
        metavar="R",
        default=1000.0,
        help="largest ratio of decompressed to file size, beyond 64 MiB (default: 1000)",
    )


def log_arguments(options: argparse.Namespace, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the arguments for `read_columns`; columns that were not given are those `known` from training."""
    known = known or {}
    propensity: str | float | None = options.propensity or known.get("propensity")
    if isinstance(propensity, str):
        with suppress(ValueError):  # then it is the name of a column
            propensity = _number(propensity)
    return {
        "action": options.action or known.get("action"),
        "reward": options.reward or known.get("reward"),
        "propensity": propensity,
        "features": options.features,
        **reading_arguments(options),
    }


def _number(text: str) -> float:
    """Return a number that is written as one or as a fraction; over 0 it is infinite, and refused as such."""
    try:
        return float(Fraction(text.replace(" ", "")))
    except ZeroDivisionError:
        return math.inf


def reading_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for `scan_tables`."""
    how = ("format", "delimiter", "decimal", "encoding", "header", "cost", "max_line_bytes", "max_nesting", "max_ratio")
    return {name: getattr(options, name) for name in how}


def learning_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that learning takes in memory and from files."""
    return {
        "learner": options.learner,
        "base": options.base,
        "offset": options.offset,
        "test_size": TEST_SIZE if options.test_size is None else options.test_size,
        "refit": options.refit,
        "reward_range": range_given(options),
        "level": options.level,
        "n_jobs": jobs(options),
        "random_state": options.seed,
    }


def memory_arguments(options: argparse.Namespace, beside: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that learning takes in memory only; `beside` has columns that were read by name."""
    return {
        "split_by_time": beside.get(options.split_by_time),
        "group": beside.get(options.group),
        "estimated_propensity": options.propensity_estimated,
        "method": options.method,
        "interval": options.interval,
        "time_budget": options.time_budget,
    }


def range_given(options: argparse.Namespace) -> tuple[float, ...] | None:
    """Return the range of rewards that was given, if any."""
    return None if options.reward_range is None else tuple(options.reward_range)


def column_types(options: argparse.Namespace, path: Path, encoder: Any) -> dict[str, str]:
    """Return the type, text or number, to read each of the policy's columns as."""
    from offsettree.logs.readers import open_reader

    # In formats whose rows name their features, a feature may be absent from all rows read: its type must be given.
    rows_name_features = bool(open_reader(path, **reading_arguments(options)).roles)
    kinds = {column.name: "text" if column.kind == "nominal" else "number" for column in encoder.columns}
    return {name: kind for name, kind in kinds.items() if rows_name_features or kind == "text"}


def require_files(*paths: Path) -> None:
    """Refuse missing files before any long work starts."""
    for path in paths:
        if not path.exists():
            raise ParameterError(f"there is no file or folder {path}. Check the spelling and the current folder.")


def policy_files(given: Sequence[str]) -> list[str]:
    """Return the names that are policy files; refuse a name that ends in .ot but does not exist."""
    files = [name for name in dict.fromkeys(given) if Path(name).exists() or Path(name).suffix == ".ot"]
    require_files(*map(Path, files))
    return files


def is_policy_file(path: Path) -> bool:
    """Return whether a file is a policy file: those are zip archives."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def refuse_to_overwrite(out: Path | None, inputs: Sequence[Path], option: str) -> None:
    """Refuse to overwrite an input, or to write into a folder that is read as one log."""
    if out is None:
        return
    for path in inputs:
        if (out.exists() and path.exists() and out.samefile(path)) or (
            path.is_dir() and path.resolve() in out.resolve().parents
        ):
            raise ParameterError(
                f"{option} must not be an input file, nor in an input folder; {out} is. Name another file."
            )


def jobs(options: argparse.Namespace) -> int:
    """Return the number of workers: without a word as many as cores may be used, which containers limit."""
    watch_from_the_start()
    if options.jobs:
        return int(options.jobs)
    from joblib import cpu_count

    return int(cpu_count())


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 4294967295; got {text}")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text}")
    return value
