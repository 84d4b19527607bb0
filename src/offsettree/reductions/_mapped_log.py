"""A log in chunks, brought together in arrays that are mapped from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from offsettree.logs import CheckedLog, LoggedData
from offsettree.reductions._intake import Intake
from offsettree.reductions._out_of_core import scratch_folder
from offsettree.reductions._scratch import check_room


@contextmanager
def mapped_log(policy: Any, chunks: Iterable[LoggedData], folder: Any) -> Iterator[tuple[CheckedLog, str]]:
    """Check chunks for a policy and write them to a scratch folder; give them as one log, and the folder."""
    with scratch_folder(folder) as scratch:
        intake = Intake(policy)
        columns: list[Any] = []
        with (scratch / "X").open("wb") as file:
            for chunk in chunks:
                checked = intake.take(chunk)
                check_room(scratch, checked.X.nbytes)
                file.write(memoryview(checked.X).cast("B"))
                columns.append((checked.position.astype(np.int32), checked.reward, checked.propensity))
                n_columns, reward_range = checked.X.shape[1], checked.reward_range
                del chunk, checked
        position = intake.finish()
        code, reward, propensity = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        del columns
        X = np.memmap(scratch / "X", np.float32, "r+", shape=(intake.n_rows, n_columns))
        log = CheckedLog(
            np.asarray(X), position[code], reward, propensity, policy.actions_, None, reward_range, intake.finite
        )
        yield log, str(scratch)
