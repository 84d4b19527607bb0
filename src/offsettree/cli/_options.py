"""Options that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from offsettree.exceptions import ParameterError

__all__ = [
    "add_common_options",
    "add_log_options",
    "add_reading_options",
    "column_types",
    "jobs",
    "log_arguments",
    "policy_files",
    "reading_arguments",
    "refuse_to_overwrite",
    "require_files",
]


def add_common_options(command: argparse.ArgumentParser, *, seed: bool = False, jobs: bool = False) -> None:
    """Add what every command has; a seed and workers also where they do not matter, so that scripts can pass them."""
    what = "decides everything random (default: 0)" if seed else "taken for the sake of scripts: nothing here is random"
    command.add_argument("--seed", type=_natural, default=0, help=what)
    how = "workers (default: all cores)" if jobs else "taken for the sake of scripts: one process does it all"
    command.add_argument("--jobs", type=_positive, help=how)
    command.add_argument("--json", action="store_true", help="print the answer as JSON, for machines")


def add_log_options(command: argparse.ArgumentParser) -> None:
    """Add which columns of a log are what."""
    group = command.add_argument_group("columns of the log")
    group.add_argument("--action", metavar="COL", help="what was chosen (default: guessed by name)")
    group.add_argument("--reward", metavar="COL", help="what it earned (default: guessed by name)")
    group.add_argument(
        "--propensity",
        metavar="COL|NUMBER",
        help="how likely that choice was: a column, or one number for all rows, such as 0.2 or 1/5 (default: guessed "
        "by name)",
    )
    group.add_argument(
        "--features", metavar="COL", nargs="+", help="the columns that may be learned from (default: all others)"
    )
    add_reading_options(command)


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Add how files are read."""
    group = command.add_argument_group("reading")
    group.add_argument(
        "--format", choices=["csv", "ndjson", "parquet", "arrow", "vw", "dsjson"], help="(default: found)"
    )
    group.add_argument("--delimiter", metavar="CHAR", help="of CSV (default: found)")
    group.add_argument("--decimal", metavar="CHAR", default=".", help="decimal point of CSV (default: .)")
    group.add_argument("--encoding", default="utf-8", help="of text files (default: utf-8)")
    group.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        help="CSV without a line of names: its columns are column_1, column_2, ...",
    )
    group.add_argument(
        "--cost",
        choices=["negative_reward", "one_minus_reward"],
        default="negative_reward",
        help="what costs in Vowpal Wabbit's formats are: -reward (default) or 1 - reward",
    )
    group.add_argument(
        "--max-line-bytes", type=_positive, metavar="N", help="the longest line (default: 16 MiB, of CSV 1 MiB)"
    )
    group.add_argument("--max-nesting", type=_positive, metavar="N", default=64, help="levels of JSON (default: 64)")
    group.add_argument(
        "--max-ratio",
        type=float,
        metavar="R",
        default=1000.0,
        help="how many times as large as its file a log may become, beyond 64 MiB (default: 1000)",
    )


def log_arguments(options: argparse.Namespace, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what `read_columns` takes; columns that were not given are those `known` from training."""
    known = known or {}
    propensity: str | float | None = options.propensity or known.get("propensity")
    if isinstance(propensity, str):
        with suppress(ValueError, ZeroDivisionError):  # the name of a column
            propensity = float(Fraction(propensity.replace(" ", "")))
    return {
        "action": options.action or known.get("action"),
        "reward": options.reward or known.get("reward"),
        "propensity": propensity,
        "features": options.features,
        **reading_arguments(options),
    }


def reading_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return what `scan_tables` takes."""
    names = (
        "format",
        "delimiter",
        "decimal",
        "encoding",
        "header",
        "cost",
        "max_line_bytes",
        "max_nesting",
        "max_ratio",
    )
    return {name: getattr(options, name) for name in names}


def column_types(options: argparse.Namespace, path: Path, encoder: Any) -> dict[str, str]:
    """Return as what a policy's columns are to be read."""
    from offsettree.logs.readers import open_reader

    # Rows that name their own features need not name all of them; tables say themselves what numbers are.
    name_features = bool(open_reader(path, **reading_arguments(options)).roles)
    kinds = {column.name: "text" if column.kind == "nominal" else "number" for column in encoder.columns}
    return {name: kind for name, kind in kinds.items() if name_features or kind == "text"}


def require_files(*paths: Path) -> None:
    """Refuse what is not there, before anything takes time."""
    for path in paths:
        if not path.exists():
            raise ParameterError(f"there is no file or folder {path}. Is it spelled right, and relative to here?")


def policy_files(given: Sequence[str]) -> list[str]:
    """Return those of the names that are files of policies; one that looks like a file and is not there is refused."""
    files = [name for name in dict.fromkeys(given) if Path(name).exists() or Path(name).suffix == ".ot"]
    require_files(*map(Path, files))
    return files


def refuse_to_overwrite(out: Path | None, inputs: Sequence[Path], option: str) -> None:
    """Refuse to write over what is read, or beside it in a folder that is read as one log."""
    if out is None:
        return
    for path in inputs:
        if (out.exists() and path.exists() and out.samefile(path)) or (
            path.is_dir() and path.resolve() in out.resolve().parents
        ):
            raise ParameterError(f"{option} must not be what is read, nor in it; {out} is. Name another file.")


def jobs(options: argparse.Namespace) -> int:
    """Return the number of workers: without a word as many as cores may be used, which containers limit."""
    if options.jobs:
        return int(options.jobs)
    from joblib import cpu_count

    return int(cpu_count())


def _natural(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 4294967295; got {text}")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text}")
    return value
