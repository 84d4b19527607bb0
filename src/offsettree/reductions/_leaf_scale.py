"""The leaf scale of a log: the best of a few, by a short trial on rows held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from offsettree.learners import HistogramTree
from offsettree.learners.histogram_tree import LEAF_SCALES
from offsettree.reductions._binned_log import BinnedLog
from offsettree.topology import ActionTree

COMMITTEE = 8  # trees that stand in for a forest
PILOT_ROUNDS = 2
PILOT_ACTIONS = 16
PILOT_ROWS = 20_000


def choose_leaf_scale(
    log: BinnedLog,
    learner: HistogramTree,
    random: np.random.RandomState,
    n_trees: int = 1,
    sample: NDArray[np.int64] | None = None,
) -> float:
    """Return the learner's own leaf scale, or for "auto" the best of a few, judged on rows held out.

    Contests are given to committees of `n_trees`. A forest takes half of what is best for them: its trees, over
    different orders of the actions, average away more. At most 16 actions and 20,000 rows take part, so that the
    search is short however long the log is.
    """
    learner.check_parameters()
    if learner.leaf_scale != "auto":
        return float(learner.leaf_scale)
    from offsettree.learners.scratch import make_drawn
    from offsettree.reductions._contest_room import make_workspace
    from offsettree.reductions._kernels_contests import held_out_error

    n_actions = max(2, int((log.position if sample is None else log.position[sample]).max()) + 1)
    if sample is not None:  # of a long log: the rows that are looked at out of core
        log = replace(log, rows=np.intersect1d(log.rows, sample, assume_unique=True).astype(np.int32))
    wrong, whole = np.zeros(len(LEAF_SCALES)), np.zeros(len(LEAF_SCALES))
    for _ in range(PILOT_ROUNDS):
        part, rows = _pilot(log, n_actions, random)
        tree = ActionTree.random(len(part), random)
        linear = log.linear and log.linear._replace(slopes=log.linear.slopes[part])
        pilot = replace(log, position=_renumbered(log.position, part, n_actions), rows=rows, linear=linear)
        nodes = np.fromiter(tree.bottom_up(), dtype=np.int32)
        seed = int(random.randint(np.iinfo(np.int32).max))
        contests, drawn = pilot.contests(tree), make_drawn(len(rows))
        for place, scale in enumerate(LEAF_SCALES):
            settings = learner.settings(len(contests.is_category), scale)
            work = make_workspace(len(rows), contests, settings)
            contests = contests._replace(climb=pilot.climb(tree))
            errors = held_out_error(contests, nodes, seed, settings, work, drawn, n_trees)
            wrong[place] += errors[0]
            whole[place] += errors[1]
    best = LEAF_SCALES[int(np.argmin(wrong / np.maximum(whole, 1e-12)))]
    return best if n_trees == 1 else best / 2


def _pilot(log: BinnedLog, n_actions: int, random: np.random.RandomState) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    n_rows = np.bincount(log.position[log.rows], minlength=n_actions)
    order = random.permutation(n_actions)
    order = order[np.argsort(n_rows[order] == 0, kind="stable")]  # actions that were logged come first
    within = np.cumsum(n_rows[order]) <= PILOT_ROWS
    part = np.sort(order[: max(2, min(PILOT_ACTIONS, int(np.count_nonzero(within))))])
    rows = log.rows[np.isin(log.position[log.rows], part)]
    if len(rows) > PILOT_ROWS:
        rows = np.sort(random.choice(rows, PILOT_ROWS, replace=False))
    return part, rows


def _renumbered(position: NDArray[np.int32], part: NDArray[np.intp], n_actions: int) -> NDArray[np.int32]:
    new = np.zeros(n_actions, dtype=np.int32)
    new[part] = np.arange(len(part))
    return np.asarray(new[position])
