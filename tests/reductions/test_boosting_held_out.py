"""What held-out scores of reward boosting count for, and by which models they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._boosting import BoostedLog
from offsettree.reductions.boosting._final_regression import HELPS, _gain
from offsettree.reductions.boosting._stacking import _held_out_linear


def make_log(design: NDArray[Any], action: NDArray[Any], reward: NDArray[Any]) -> BoostedLog:
    """Return a log without columns for trees."""
    return BoostedLog(
        np.zeros((0, len(design)), np.uint8), np.zeros(0, bool), design, action, reward, None, 2, logistic=True
    )


def test_one_score_that_runs_away_does_not_hide_what_all_others_tell() -> None:
    reward = (np.arange(400) % 4 == 1).astype(float)
    log = make_log(np.ones((400, 1)), np.zeros(400, np.int32), reward)
    level, told = np.full(400, -1.1), np.where(reward == 1, 1.0, -3.0)
    told[0] = 80.0

    assert _gain(log, level, told) > 5 * HELPS


def test_a_held_out_linear_score_is_of_the_own_action_by_the_model_without_the_fold() -> None:
    design = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    log = make_log(design, np.array([0, 1, 1], np.int32), np.zeros(3))
    weights = [np.array([[1.0, 1.0], [0.0, 10.0]]), np.array([[5.0, 5.0], [0.0, 100.0]])]

    found = _held_out_linear(log, np.array([0, 0, 1]), weights)

    np.testing.assert_allclose(found, [3.0, 30.0, 400.0])
