"""Finite-sample intervals (Bernstein, betting, anytime): bounds on rewards and weights, and the intervals of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._messages import Parameter
from offsettree._validation import check_range, check_reward_within
from offsettree.evaluation._concentration import BetTerms, ControlledMean, bernstein_ends, betting_ends
from offsettree.evaluation._reward_models import Predictions
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import ParameterError


@dataclass(frozen=True)
class Scale:
    """The range of rewards."""

    low: float
    width: float

    @classmethod
    def of(cls, policy: Any, reward_range: Any, reward: NDArray[np.float64]) -> Self:
        """Use the range given, or the policy's, or (0, 1) if all rewards are within."""
        given = reward_range if reward_range is not None else getattr(policy, "reward_range", None)
        if given is None and (reward.min() < 0 or reward.max() > 1):
            raise ParameterError(
                "an interval that holds for every number of rows needs the range of rewards: pass ",
                Parameter("reward_range", ("low", "high")),
                ", the smallest and the largest possible reward. Rewards of the log are between "
                f"{reward.min():g} and {reward.max():g}.",
            )
        low, high = check_range((0.0, 1.0) if given is None else given)
        check_reward_within(reward, (low, high))
        return cls(low, high - low)

    def in_units(self, unit: float) -> Scale:
        """Return the range of rewards divided by a unit."""
        return Scale(self.low / unit, self.width / unit)

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values scaled so that the range is [0, 1]."""
        return values if (self.low, self.width) == (0, 1) else (values - self.low) / self.width

    def clipped(self, predicted: Predictions | None) -> Predictions | None:
        """Return predictions clipped to the range."""
        if predicted is None:
            return None
        high = self.low + self.width
        return Predictions(np.clip(predicted.on_logged, self.low, high), np.clip(predicted.on_policy, self.low, high))


def largest_weight(
    given: float | None, weights: list[NDArray[np.float64]], propensity: NDArray[np.float64], interval: str
) -> float:
    """Return an upper bound of all weights: the caller's, or 1 / the smallest propensity.

    "anytime" trusts the caller's bound only: propensities to come may be smaller.
    """
    if given is None:
        return np.inf if interval == "anytime" else float(1 / propensity.min())
    seen = max(float(weight.max()) for weight in weights)
    if given < seen * (1 - 1e-9):
        raise ParameterError(
            f"max_weight must be the largest weight that any row could have; got {given!r}, but the log has weights up "
            f"to {seen:g}."
        )
    if interval == "bernstein" and given == np.inf:
        raise ParameterError(Parameter("interval", interval), " needs a finite max_weight; 'betting' does not.")
    return float(given)


def guaranteed(
    plain: list[Interval],
    interval: str,
    level: float,
    weights: list[NDArray[np.float64]],
    predicted: list[Predictions | None],
    reward: NDArray[np.float64],
    scale: Scale,
    bound: float,
    order: NDArray[np.intp],
) -> list[Interval]:
    """Replace the ends of the intervals of a value, of a baseline and of their difference."""
    shares = scale.share(reward)
    rows = slice(None) if interval == "bernstein" else order
    means = [ControlledMean(weight[rows], shares[rows], 1.0, 0.0, bound) for weight in weights]
    bets: list[list[BetTerms]] = [
        _doubly_robust_bets(w, shares, q, scale, bound, order) for w, q in zip(weights, predicted, strict=True)
    ]
    if len(plain) == 3:
        if len(means) == 1:
            means.append(ControlledMean(np.ones(len(reward)), shares[rows], 1.0, 1.0, 1.0))
            logging = [BetTerms(shares[order], 0.0, 1.0, 0.25)] if bets[0] else []
            bets.append(logging)
        means.append(means[0].minus(means[1]))
        pairs = zip(bets[0], bets[1], strict=True)
        bets.append([BetTerms(a.terms - b.terms, -1 - bound, 1 + bound, a.variance) for a, b in pairs])
    replaced = []
    for i, (old, mean) in enumerate(zip(plain, means, strict=True)):
        if interval == "bernstein":
            ends = bernstein_ends(mean, level)
        elif i == 2 and len(weights) == 2 and not np.isfinite(bound):
            ends = _difference_ends(means[0], means[1], level)
        else:
            ends = betting_ends(mean, level, bets[i], is_anytime=interval == "anytime")
        shift = scale.low if i < 2 else 0.0
        low, high = (shift + scale.width * end for end in ends)
        # Include the estimate, which need not be the mean of the same terms.
        replaced.append(Interval(old.value, old.stderr, min(low, old.value), max(high, old.value)))
    return replaced


def _difference_ends(first: ControlledMean, second: ControlledMean, level: float) -> tuple[float, float]:
    """Return an interval of a difference when weights are unbounded: from one interval of each value (union bound)."""
    both = (1 + level) / 2
    (low, high), (other_low, other_high) = (betting_ends(mean, both, is_anytime=True) for mean in (first, second))
    return low - other_high, high - other_low


def _doubly_robust_bets(
    weight: NDArray[np.float64],
    shares: NDArray[np.float64],
    predicted: Predictions | None,
    scale: Scale,
    bound: float,
    order: NDArray[np.intp],
) -> list[BetTerms]:
    if predicted is None or not np.isfinite(bound):
        return []
    terms = scale.share(predicted.on_policy) + weight * (shares - scale.share(predicted.on_logged))
    return [BetTerms(terms[order], -bound, 1 + bound, 0.25 * bound)]
