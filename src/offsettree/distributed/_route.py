"""The tasks that bring a log into the store: look at a file, and sort its rows by action."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.distributed.files import Columns, LogPart
from offsettree.distributed.store import Blob, Store
from offsettree.exceptions import EmptyLogError, LogError
from offsettree.reductions.parts import Fingerprint, Intake, Rows, Run, ScratchWriter, Seen, empty_fingerprint


class Looked(NamedTuple):
    """What is known of a file before its rows are read."""

    n_rows: int
    fingerprint: Fingerprint | None  # of no rows; in the first file with rows only
    n_features: int  # likewise


class Routed(NamedTuple):
    """The rows of a file in the store, by action."""

    rows: Blob
    sample: Blob  # rows that the whole log will be judged by
    runs: tuple[Run, ...]
    seen: Seen


def look_at(store: Store, part: LogPart, columns: Columns, policy: Any, is_first: bool) -> Looked:
    """Count the rows of a file, from what it says of itself if it does."""
    fingerprint, n_features = None, 0
    try:
        with part.opened(columns) as scan:
            head = next(part.chunks(scan, columns.split), None) if is_first else None
            if head is not None:
                X = Intake(policy).take(head).X
                fingerprint, n_features = empty_fingerprint(X), X.shape[1]
            n_rows = _count(part, scan)
    except EmptyLogError:
        n_rows = 0
    if columns.split is not None:
        n_rows = int(np.count_nonzero(columns.split.wanted(part.number, 0, n_rows)))
    return Looked(n_rows, fingerprint, n_features)


def _count(part: LogPart, scan: Any) -> int:
    if part.path.endswith((".parquet", ".pq", ".parq")) and "://" not in part.path:
        from pyarrow.parquet import read_metadata

        return int(read_metadata(part.path).num_rows)
    return sum(len(chunk) for chunk in scan)


def route(
    store: Store,
    part: LogPart,
    columns: Columns,
    policy: Any,
    fingerprint: Fingerprint | None,
    n_rows: int,
    wanted: NDArray[np.int64],
) -> Routed:
    """Check the rows of a file and write them to the store by action; keep those `wanted` for samples."""
    intake = Intake(policy, fingerprint)
    kept: list[Rows] = []
    with part.opened(columns) as scan, store.create("rows") as file:
        writer = ScratchWriter(file, store.needs_room, file.name)
        for chunk in part.chunks(scan, columns.split):
            first = intake.n_rows
            checked = intake.take(chunk)
            if not first:
                writer.open(checked.X.shape[1], n_rows)
            writer.add(checked.position, checked.scaled, checked.propensity, checked.X)
            begin, end = np.searchsorted(wanted, [first, intake.n_rows])
            rows = Rows(
                np.arange(first, intake.n_rows), checked.position, checked.scaled, checked.propensity, checked.X
            )
            kept.append(rows.take(wanted[begin:end] - first))
            del chunk, checked, rows
        if intake.n_rows != n_rows:
            raise LogError(f"the file must not change during a fit; it had {n_rows:,} rows and has {intake.n_rows:,}.")
        runs = writer.finish()
        written = Blob(file.name, file.n_written)
    with store.discarding([written]):
        sample = store.put("sample", Rows(*(np.concatenate(columns) for columns in zip(*kept, strict=True))))
    return Routed(written, sample, runs, intake.seen())
