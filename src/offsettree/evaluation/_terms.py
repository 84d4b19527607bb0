"""The estimators, each as terms: per-row numerators and denominators whose sums' ratio is the estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._reward_models import Predictions

METHODS = ("snips", "ips", "direct", "doubly_robust", "switch", "log_smoothing")
MODEL_METHODS = ("direct", "doubly_robust", "switch")


@dataclass(frozen=True)
class Terms:
    """An estimate as a ratio of sums over rows; a denominator of None stands for ones.

    `left_out` masks matched rows whose logged reward was not used, only the reward model. `weight` is the importance
    weight of each row's reward (None: 1). With `from_zero`, a row that the policy does not match counts as reward 0.
    """

    numerator: NDArray[np.float64]
    denominator: NDArray[np.float64] | None = None
    left_out: NDArray[np.bool_] | None = None
    weight: NDArray[np.float64] | None = None
    from_zero: bool = False

    @property
    def n_left_out(self) -> int:
        """The number of matched rows left to the reward model."""
        return 0 if self.left_out is None else int(self.left_out.sum())

    @property
    def counted(self) -> NDArray[np.float64]:
        """The denominator as an array."""
        return np.ones(len(self.numerator)) if self.denominator is None else self.denominator


def estimate_terms(
    method: str,
    weight: NDArray[np.float64],
    reward: NDArray[np.float64],
    predicted: Predictions | None,
    reward_range: tuple[float, float] | None = None,
) -> Terms:
    """Return the terms of a method. `predicted` is for methods with a reward model.

    `reward_range` is for "log_smoothing"; by default the extremes of the log.
    """
    if method == "log_smoothing":
        return _smoothed(weight, reward, reward_range or (float(reward.min()), float(reward.max())))
    if method == "ips":
        return Terms(weight * reward, weight=weight, from_zero=True)
    if method == "snips" or predicted is None:
        return Terms(weight * reward, weight, weight=weight)
    if method == "direct":
        return Terms(predicted.on_policy)
    correction = weight * (reward - predicted.on_logged)
    if method == "switch":
        kept = weight <= switch_threshold(weight, predicted.on_policy, correction)
        return Terms(predicted.on_policy + np.where(kept, correction, 0), None, ~kept, weight)
    return Terms(predicted.on_policy + correction, weight=weight)


def _smoothed(weight: NDArray[np.float64], reward: NDArray[np.float64], reward_range: tuple[float, float]) -> Terms:
    """Return terms whose mean is a pessimistic estimate: logarithmic smoothing (Sakhi and others, 2024).

    Large values of weight * (reward - low), which is never negative, count with their logarithm. More rows are smoothed
    less: the mean is below the unbiased one by at most about a standard error.
    """
    low, high = reward_range
    width = high - low
    if width == 0:
        return Terms(reward, weight=weight)
    smooth = 1 / np.sqrt(len(reward))
    return Terms(low + width / smooth * np.log1p(smooth * weight * ((reward - low) / width)), weight=weight)


def switch_threshold(
    weight: NDArray[np.float64], on_policy: NDArray[np.float64], correction: NDArray[np.float64]
) -> float:
    """Return the weight above which rows are left to the model.

    Lepski's rule, as in SLOPE (Su, Srinath and Krishnamurthy, 2020). Thresholds are tried downwards. The largest weight
    gives the doubly robust estimate; the lowest threshold leaves a tenth of the matched rows to the model. Lower
    thresholds have less variance and more of the model's bias. The last one is taken whose interval (two standard
    errors to each side) still intersects all earlier ones: up to there, bias is within the noise.
    """
    positive = weight[weight > 0]
    if len(positive) == 0:
        return 0.0
    candidates = np.unique(np.quantile(positive, [0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1.0]))[::-1]
    largest = max(float(np.abs(on_policy).max()), float(np.abs(correction).max()))
    if largest > 1e100:  # squares must not overflow
        on_policy, correction = on_policy / largest, correction / largest
    low, high = -np.inf, np.inf
    chosen = float(candidates[0])
    for threshold in candidates:
        terms = on_policy + np.where(weight <= threshold, correction, 0)
        margin = 2 * terms.std() / np.sqrt(len(terms))
        low, high = max(low, terms.mean() - margin), min(high, terms.mean() + margin)
        if low > high:
            break
        chosen = float(threshold)
    return chosen
