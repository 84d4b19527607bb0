"""``offsettree learn`` on files larger than memory, or on an engine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from offsettree.cli._options import learning_arguments, log_arguments
from offsettree.exceptions import ParameterError

if TYPE_CHECKING:
    from offsettree.facts import Facts

# What needs all rows in memory.
NOT_IN_FILES = ("time_budget", "split_by_time", "group")


def add_engine_options(group: Any) -> None:
    """Declare where to learn."""
    group.add_argument(
        "--engine",
        metavar="ADDRESS",
        help="learn on workers: local or local://4 (processes), dask://host:8786, ray://host:10001; LOG may then be a "
        "pattern in quotes, such as 'logs/*.parquet'",
    )
    group.add_argument(
        "--storage",
        metavar="PLACE",
        help="with --engine, a folder that all workers see or an address of fsspec, such as s3://bucket/folder, "
        "through which they exchange rows; else where to keep scratch files",
    )
    group.add_argument(
        "--out-of-core",
        action="store_true",
        help="learn from the files chunk by chunk, in little memory (default: where the log would take more than half "
        "of the free memory)",
    )


def is_pattern(path: Any) -> bool:
    """Tell whether a path stands for several files."""
    return any(sign in str(path) for sign in "*?[") or "://" in str(path)


def is_for_files(options: argparse.Namespace) -> bool:
    """Tell whether to learn from files: on request, for patterns, and where the log is large."""
    if options.engine is not None or options.out_of_core or (is_pattern(options.log) and not options.log.exists()):
        return True
    if options.storage is not None:
        raise ParameterError("--storage needs --engine or --out-of-core: give one of them, or leave it out.")
    if _in_memory_only(options):
        return False
    from offsettree.workflow.large import LARGE_LEARNERS, is_large

    return (options.learner == "auto" or options.learner in LARGE_LEARNERS) and is_large(options.log)


def _in_memory_only(options: argparse.Namespace) -> list[str]:
    """List the options given that need all rows in memory."""
    given = {name: getattr(options, name) is not None for name in NOT_IN_FILES}
    given |= {
        "distill": options.distill,
        "propensity_estimated": options.propensity_estimated,
        "method": options.method not in (None, "snips"),
        "interval": options.interval not in (None, "normal"),
    }
    return ["--" + name.replace("_", "-") for name, is_given in given.items() if is_given]


def learn_large(options: argparse.Namespace) -> tuple[Any, Any, Facts, Any]:
    """Learn from files; return policy, encoder, facts and estimate."""
    from offsettree.workflow.large import learn_from_files

    if refused := _in_memory_only(options):
        raise ParameterError(
            f"{', '.join(refused)} cannot be used where a log is learned from in files or on an engine, as all rows "
            "must be in memory: leave it out. Values there are snips, intervals normal."
        )
    arguments = {name: value for name, value in log_arguments(options).items() if value is not None}
    return learn_from_files(
        str(options.log),
        engine=options.engine,
        storage=options.storage,
        **learning_arguments(options),
        **arguments,
    )
