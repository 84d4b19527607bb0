"""The first pass over a log in many files: a task per file, here or on an engine, merged in the order of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from offsettree.distributed.files import Columns, LogPart, Split
from offsettree.engines import Engine, run_all
from offsettree.exceptions import EmptyLogError
from offsettree.logs import LoggedData
from offsettree.workflow.first_pass import FirstPass
from offsettree.workflow.running_value import RunningConstant

__all__ = ["Look", "look_at_files"]

MOST_IN_ROUND = 1024  # files
MOST_AT_ONCE = 32  # files of a round whose sums are held before they are merged


class Look(NamedTuple):
    """What is known of some files."""

    first: FirstPass
    constant: RunningConstant  # of the training rows
    roles: dict[str, Any]  # of the columns, in the first file
    notes: Sequence[str]  # likewise

    def merge(self, later: Look) -> None:
        """Add what is known of the next file."""
        self.first.merge(later.first)
        self.constant.merge(later.constant)


def look_at_files(
    parts: Sequence[LogPart],
    columns: Columns,
    train: Split,
    reward_range: tuple[float, float] | None,
    path: Any,
    engine: Engine | None,
) -> Look:
    """Read all files once; only sums leave a file, and they do not depend on who made them.

    The first file is read alone, then twice as many in every round, up to a bound: what has too many different
    numbers to be words is known soon, and not counted further on, so that little comes back.
    """
    whole: Look | None = None
    done = 0
    while done < len(parts):
        full = [] if whole is None else whole.first.table.full_columns()
        here = parts[done : done + min(done + 1, MOST_IN_ROUND)]
        jobs = [(part, columns, train, reward_range, path, full, whole is None) for part in here]
        for look in _looks(jobs, engine):
            if whole is None:
                whole = look
            elif look is not None:
                whole.merge(look)
        done += len(here)
    if whole is None:
        raise EmptyLogError(f"a log must have rows; none of the {len(parts):,} files of {path} has any.")
    whole.first.settle(whole.notes)
    return whole


def _looks(jobs: Sequence[tuple[Any, ...]], engine: Engine | None) -> Iterator[Look | None]:
    """Yield what is known of each file, in their order; few are held at a time."""
    if engine is None:
        yield from (look_at_file(*job) for job in jobs)
        return
    for first in range(0, len(jobs), MOST_AT_ONCE):
        yield from run_all(engine, look_at_file, jobs[first : first + MOST_AT_ONCE])


def look_at_file(
    part: LogPart,
    columns: Columns,
    train: Split,
    reward_range: tuple[float, float] | None,
    path: Any,
    full: Sequence[str],
    is_first: bool,
) -> Look | None:
    """Read one file; the best constant action is learned from its training rows as they pass. None without rows."""
    constant = RunningConstant(reward_range or (0.0, 1.0))

    def watched(scan: Any) -> Iterator[LoggedData]:
        first = 0
        for log in scan:
            wanted = train.wanted(part.number, first, len(log))
            first += len(log)
            if wanted.any():
                constant.add(log.action[wanted], log.reward[wanted], log.propensity[wanted])
            yield log

    with suppress(EmptyLogError), part.opened(columns) as scan:
        first = FirstPass(path, full=full).read(watched(scan), seeks_leaks=is_first)
        return Look(first, constant, scan.roles, scan.notes)
    return None
