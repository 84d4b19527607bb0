"""What held-out scores of reward boosting count for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._boosting import BoostedLog
from offsettree.reductions.boosting._final_regression import HELPS, _gain


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
