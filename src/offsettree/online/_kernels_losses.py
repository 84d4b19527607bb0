"""How far a contest goes for a row: its weight, the slope of the loss, and the step that both call for."""

from __future__ import annotations

import math
from typing import Any

from offsettree._jit import part

__all__ = ["relative_weight", "slope", "step"]

HEARD, LOUDNESS, LEARNED = 0, 1, 2  # rows that the mean weight is of, their sum of weights, all rows
PERCEPTRON, HINGE = 0, 1  # the third is logistic
MOST_TIMES = 1000.0  # the mean weight: more is an accident of the log
SURE = 30.0  # a margin beyond which the logistic loss is flat


@part
def relative_weight(contests: Any, node: Any, loudness: Any) -> Any:
    """Return a row's weight in a contest, where all together have mean 1: neither k nor the rewards' size set the pace.

    One row of a tiny propensity must not make those before or after it inaudible.
    """
    heard, total = contests[node, HEARD], contests[node, LOUDNESS]
    if heard > 0 and loudness * heard > MOST_TIMES * total:
        loudness = MOST_TIMES * total / heard
    elif heard > 0 and loudness * heard * MOST_TIMES < total:
        heard, total = 0.0, 0.0
    contests[node, LEARNED] += 1
    contests[node, HEARD] = heard + 1
    contests[node, LOUDNESS] = total + loudness
    return loudness * (heard + 1) / (total + loudness)


@part
def slope(loss: Any, margin: Any) -> Any:
    """How fast the loss falls as the margin grows; the margin is positive where the contest is won."""
    if loss == HINGE:
        return 1.0 if margin < 1 else 0.0
    if loss == PERCEPTRON:
        return 1.0 if margin <= 0 else 0.0
    return 1 / (1 + math.exp(margin)) if margin < SURE else 0.0


@part
def step(loss: Any, margin: Any, weight: Any, gain: Any) -> Any:
    """How far to go for a row of this weight, where the margin grows by `gain` per step.

    The weight counts as if the row came that many times, each time with a small step: a large one takes the margin to
    where the loss is flat, not beyond (Karampatziakis and Langford, "Online importance weight aware updates").
    """
    if loss == HINGE:
        return min(weight, (1 - margin) / gain)
    if loss == PERCEPTRON:
        # Whole steps, until the row is on the right side.
        return min(weight, math.floor(-margin / gain) + 1)
    return _logistic_rise(margin, weight * gain) / gain


@part
def _logistic_rise(margin: Any, time: Any) -> Any:
    """Solve m' = 1 / (1 + exp m) from a margin for some time: m + exp m grows by just that time."""
    begin = math.exp(margin)
    target = margin + begin + time
    end = margin + time / (1 + begin)  # too far, as the slope falls on the way
    if end > 1:
        end = min(end, math.log(target))
    for _ in range(20):
        power = math.exp(end)
        correction = (end + power - target) / (1 + power)
        end -= correction
        if abs(correction) < 1e-5:
            break
    return end - margin
