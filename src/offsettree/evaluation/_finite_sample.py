"""Intervals that hold for every number of rows: what is known of rewards and weights, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import check_range, check_reward_within
from offsettree.evaluation._guarantees import Controlled, Way, bernstein_ends, betting_ends
from offsettree.evaluation._reward_models import Predictions
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import ParameterError

__all__ = ["Scale", "guaranteed", "largest_weight"]


@dataclass(frozen=True)
class Scale:
    """The range of rewards."""

    low: float
    width: float

    @classmethod
    def of(cls, policy: Any, reward_range: Any, reward: NDArray[np.float64]) -> Self:
        """Take the range given, or the policy's, or (0, 1) where all rewards are within."""
        given = reward_range if reward_range is not None else getattr(policy, "reward_range", None)
        if given is None and (reward.min() < 0 or reward.max() > 1):
            raise ParameterError(
                "an interval that holds for every number of rows needs the range of rewards: pass reward_range=(low, "
                f"high), the smallest and the largest possible one. Those of the log are between {reward.min():g} and "
                f"{reward.max():g}."
            )
        low, high = check_range((0.0, 1.0) if given is None else given)
        check_reward_within(reward, (low, high))
        return cls(low, high - low)

    def in_units(self, unit: float) -> Scale:
        """Return the range of rewards divided by a unit."""
        return Scale(self.low / unit, self.width / unit)

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values as shares of the range."""
        return values if (self.low, self.width) == (0, 1) else (values - self.low) / self.width

    def clipped(self, predicted: Predictions | None) -> Predictions | None:
        """Return predictions within the range: others could not be right."""
        if predicted is None:
            return None
        high = self.low + self.width
        return Predictions(np.clip(predicted.on_logged, self.low, high), np.clip(predicted.on_policy, self.low, high))


def largest_weight(
    given: float | None, weights: list[NDArray[np.float64]], propensity: NDArray[np.float64], interval: str
) -> float:
    """Return what no weight can exceed: what the caller says, or 1 / the smallest propensity.

    For "anytime" nothing but what the caller says: propensities to come may be smaller.
    """
    if given is None:
        return np.inf if interval == "anytime" else float(1 / propensity.min())
    seen = max(float(weight.max()) for weight in weights)
    if given < seen * (1 - 1e-9):
        raise ParameterError(
            f"max_weight must be the largest weight that any row could have; got {given!r}, and there are weights up "
            f"to {seen:g} in the log."
        )
    if interval == "bernstein" and given == np.inf:
        raise ParameterError("interval='bernstein' needs a finite max_weight; 'betting' does without.")
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
    """Replace the ends of intervals of a value, of a baseline's, and of their difference."""
    shares = scale.share(reward)
    rows = slice(None) if interval == "bernstein" else order
    means = [Controlled(weight[rows], shares[rows], 1.0, 0.0, bound) for weight in weights]
    ways: list[list[Way]] = [
        _robust_ways(w, shares, q, scale, bound, order) for w, q in zip(weights, predicted, strict=True)
    ]
    if len(plain) == 3:
        if len(means) == 1:
            means.append(Controlled(np.ones(len(reward)), shares[rows], 1.0, 1.0, 1.0))
            logging = [Way(shares[order], 0.0, 1.0, 0.25)] if ways[0] else []
            ways.append(logging)
        means.append(means[0].minus(means[1]))
        pairs = zip(ways[0], ways[1], strict=True)
        ways.append([Way(a.terms - b.terms, -1 - bound, 1 + bound, a.variance) for a, b in pairs])
    replaced = []
    for i, (old, mean) in enumerate(zip(plain, means, strict=True)):
        if interval == "bernstein":
            ends = bernstein_ends(mean, level)
        elif i == 2 and len(weights) == 2 and not np.isfinite(bound):
            ends = _apart(means[0], means[1], level)
        else:
            ends = betting_ends(mean, level, ways[i], is_anytime=interval == "anytime")
        shift = scale.low if i < 2 else 0.0
        low, high = (shift + scale.width * end for end in ends)
        # Around the estimate, which need not be made of the same terms.
        replaced.append(Interval(old.value, old.stderr, min(low, old.value), max(high, old.value)))
    return replaced


def _apart(first: Controlled, second: Controlled, level: float) -> tuple[float, float]:
    """Return an interval of the difference of two values, neither of whose weights has a bound: from one of each."""
    both = (1 + level) / 2
    (low, high), (other_low, other_high) = (betting_ends(mean, both, is_anytime=True) for mean in (first, second))
    return low - other_high, high - other_low


def _robust_ways(
    weight: NDArray[np.float64],
    shares: NDArray[np.float64],
    predicted: Predictions | None,
    scale: Scale,
    bound: float,
    order: NDArray[np.intp],
) -> list[Way]:
    if predicted is None or not np.isfinite(bound):
        return []
    terms = scale.share(predicted.on_policy) + weight * (shares - scale.share(predicted.on_logged))
    return [Way(terms[order], -bound, 1 + bound, 0.25 * bound)]
