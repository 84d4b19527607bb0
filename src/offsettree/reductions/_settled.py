"""What a sample of a long log settles: linear models behind trees and scores, and the size of leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, count_rows, is_sparse
from offsettree.logs import CheckedLog
from offsettree.topology import RewardModels

SAMPLE_ROWS, SAMPLE_BYTES = 1 << 18, 1 << 27


def rows_sampled(n_rows: int, n_columns: int) -> NDArray[np.int64]:
    """Return the numbers of all rows where they are few, else of a sample."""
    size = min(SAMPLE_ROWS, max(1, SAMPLE_BYTES // (4 * n_columns + 32)))
    if n_rows <= size:
        return np.arange(n_rows)
    # Drawn, as evenly spread rows may all be of one action; and always the same ones, whatever the seed of the policy.
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False, shuffle=False))


def rows_settling(X: Features) -> NDArray[np.int64] | None:
    """Return the sample of a long log in memory, that of `fit_log`; None where all rows are looked at.

    A wide X out of core has a smaller sample, for the room it takes; in memory that would be accuracy for nothing.
    """
    n_rows = count_rows(X)
    rows = None if is_sparse(X) or n_rows <= SAMPLE_ROWS else rows_sampled(n_rows, X.shape[1])
    return None if rows is None or len(rows) < SAMPLE_ROWS else rows


def fit_reward_models(log: CheckedLog, n_actions: int, random: np.random.RandomState) -> RewardModels:
    """Fit linear models of the reward per action."""
    rows = rows_settling(log.X)
    X, action, reward, propensity, _ = (log if rows is None else log.take(rows)).parts()
    return RewardModels.fit(X, action, reward, n_actions, propensity=propensity, random_state=random)
