"""The step of a contest for one row: its relative weight, the slope of the loss, and the step size.

A contest is the linear classifier at a node of the tree, which decides between the node's left and right side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from offsettree._jit import part

# Rows in the mean weight, their total weight (with Costing: the largest weight), all rows.
N_WEIGHTED, TOTAL_WEIGHT, LEARNED = 0, 1, 2
PERCEPTRON, HINGE = 0, 1  # the third is logistic
MOST_TIMES = 1000.0  # a weight counts at most as so many times the mean weight
SURE = 30.0  # margin beyond which the logistic loss is flat


@part
def relative_weight(contests: Any, node: Any, importance: Any) -> Any:
    """Return the importance of a row divided by the contest's mean so far, so that weights have mean 1.

    So the pace of learning depends neither on k nor on the scale of rewards. One row of a tiny propensity must not
    dominate: the weight is capped, and the mean restarts after such a row.
    """
    n_weighted, total = contests[node, N_WEIGHTED], contests[node, TOTAL_WEIGHT]
    if n_weighted > 0 and importance * n_weighted > MOST_TIMES * total:
        importance = MOST_TIMES * total / n_weighted
    elif n_weighted > 0 and importance * n_weighted * MOST_TIMES < total:
        n_weighted, total = 0.0, 0.0
    contests[node, LEARNED] += 1
    contests[node, N_WEIGHTED] = n_weighted + 1
    contests[node, TOTAL_WEIGHT] = total + importance
    return importance * (n_weighted + 1) / (total + importance)


@part
def drawn_weight(contests: Any, node: Any, importance: Any, seed: Any, row: Any) -> Any:
    """Return 1 with probability importance / the largest one of the contest, given or seen so far, else 0.

    That is Costing, row by row, as long as the largest one stays the same: while it grows, early rows are drawn too
    often. The draw is a hash of the seed, the number of the row and the contest: it does not depend on how rows are cut
    into chunks.
    """
    largest = max(contests[node, TOTAL_WEIGHT], importance)
    contests[node, LEARNED] += 1
    contests[node, N_WEIGHTED] += 1
    contests[node, TOTAL_WEIGHT] = largest
    # splitmix64, on the three numbers side by side
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(row)
    state = _mixed(state) + np.uint64(node) + np.uint64(1)
    uniform = np.float64(_mixed(state) >> np.uint64(11)) / 9007199254740992.0
    return 1.0 if uniform * largest < importance else 0.0


@part
def _mixed(state: Any) -> Any:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@part
def slope(loss: Any, margin: Any) -> Any:
    """Return minus the derivative of the loss in the margin; a positive margin is a correct decision."""
    if loss == HINGE:
        return 1.0 if margin < 1 else 0.0
    if loss == PERCEPTRON:
        return 1.0 if margin <= 0 else 0.0
    return 1 / (1 + math.exp(margin)) if margin < SURE else 0.0


@part
def step(loss: Any, margin: Any, weight: Any, gain: Any) -> Any:
    """Return the step size for a row of this weight; a unit step increases the margin by `gain`.

    The weight acts as that many infinitesimal steps: a large one moves the margin to where the loss is flat, not beyond
    (Karampatziakis and Langford, "Online importance weight aware updates").
    """
    if loss == HINGE:
        return min(weight, (1 - margin) / gain)
    if loss == PERCEPTRON:
        # Whole steps, until the row is on the right side.
        return min(weight, math.floor(-margin / gain) + 1)
    return _logistic_rise(margin, weight * gain) / gain


@part
def _logistic_rise(margin: Any, time: Any) -> Any:
    """Solve m' = 1 / (1 + exp m) from a margin over some time: m + exp m grows by exactly that time."""
    begin = math.exp(margin)
    target = margin + begin + time
    end = margin + time / (1 + begin)  # an upper bound, as the slope decreases
    if end > 1:
        end = min(end, math.log(target))
    for _ in range(20):
        power = math.exp(end)
        correction = (end + power - target) / (1 + power)
        end -= correction
        if abs(correction) < 1e-5:
            break
    return end - margin
