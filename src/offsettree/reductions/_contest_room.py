"""What the contests of a tree are trained from, and the room in memory that they are trained in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.learners.scratch import Scratch, Settings, make_scratch


class Scores(NamedTuple):
    """What it takes to give every contest one more column; without, `weights` is empty."""

    narrow: NDArray[np.float32]  # X in one of its two kinds, the other without rows: kernels are compiled once for both
    wide: NDArray[np.float64]
    weights: NDArray[np.float32]  # of the columns for each node, one node after the other
    centre: NDArray[np.float32]


class Climb(NamedTuple):
    """Where the rows are. Leaves are numbered from left to right, a child that is one is ``~leaf``."""

    row: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf_begin: NDArray[np.int32]  # one more than there are leaves
    begin: NDArray[np.int32]  # of the survivors at each node
    n_kept: NDArray[np.int32]
    reached: NDArray[np.int32]  # rows that took part


class Open(NamedTuple):
    """Which actions each row may choose; without, `mask` has no rows. Leaves below a node are a range of `leaves`."""

    mask: NDArray[np.bool_]
    leaves: NDArray[np.int32]
    begin: NDArray[np.int32]
    middle: NDArray[np.int32]
    end: NDArray[np.int32]


class Contests(NamedTuple):
    """What the contests of a tree are trained from."""

    codes: NDArray[np.uint8]
    is_category: NDArray[np.bool_]
    edges: NDArray[np.float32]  # with scores, those of one more column, which each contest writes
    own_vote: NDArray[np.float32]
    climb: Climb
    scores: Scores
    choice: Open


class Workspace(NamedTuple):
    """Room that one contest after the other uses."""

    scratch: Scratch
    vote: NDArray[np.float32]
    side: NDArray[np.uint8]
    order: NDArray[np.int32]  # of the entries of a tree
    block: NDArray[np.uint8]  # the bins of the rows of one contest, if it has a column of its own
    here: NDArray[np.int32]
    score: NDArray[np.float32]  # of each row; then in order
    in_order: NDArray[np.float32]
    centred: NDArray[np.float32]
    pending: NDArray[np.int64]  # slices yet to be sorted


def make_workspace(n_rows: int, contests: Contests, settings: Settings) -> Workspace:
    """Make room for contests of at most so many rows."""
    n_columns = len(contests.is_category)
    n_scored = n_rows if len(contests.scores.weights) else 0
    scratch = make_scratch(n_rows, n_columns, settings)
    return Workspace(
        scratch,
        np.empty(n_rows, np.float32),
        np.empty(n_rows, np.uint8),
        np.empty(len(scratch.entries.left), np.int32),
        np.empty((n_scored, n_columns), np.uint8),
        np.empty(n_scored, np.int32),
        np.empty(n_scored, np.float32),
        np.empty(n_scored, np.float32),
        np.empty(n_columns, np.float32),
        np.empty(128, np.int64),
    )
