"""The value of decisions in a log of any size, estimated from running sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from offsettree._messages import Message, Parameter
from offsettree.evaluation import Estimate
from offsettree.evaluation.estimate import Interval
from offsettree.evaluation.parts import FEW_DIFFERING, FEW_EFFECTIVE_ROWS
from offsettree.exceptions import LogError
from offsettree.reductions import shrunken_from_sums
from offsettree.workflow.comparison import Comparison

__all__ = ["RunningConstant", "RunningValue"]

Floats = NDArray[np.float64]
MOST_REWARDS = 1000  # distinct rewards that are counted
# Terms of a row: 1, the reward, and weight and weighted reward of the policy and of the constant action.
ONE, REWARD, WEIGHT, EARNED, CONSTANT_WEIGHT, CONSTANT_EARNED = range(6)


class RunningValue:
    """The values of decisions, of the log, and of a constant action, with their differences.

    All values are self-normalised (SNIPS), all intervals normal. If the policy or the constant action changes along
    the way, the value is that of the mixture: the last policy is usually better.

    Examples
    --------
    >>> value = RunningValue()
    >>> took, reward = np.array([True, False] * 50), np.array([1.0, 0.0, 0.0, 0.0] * 25)
    >>> value.add(took, ~took, reward, np.full(100, 0.5))
    >>> compared = value.compared("mail", 0.95)
    >>> compared.estimate.value, compared.estimate.baseline.value, compared.gain.value
    (0.5, 0.25, 0.5)
    """

    def __init__(self) -> None:
        self._products = np.zeros((6, 6))  # sums over rows of the products of any two terms
        self.n_rows = 0
        self._ends = [np.inf, -np.inf]  # smallest and largest reward
        self._n_matched, self._largest = [0, 0], [0.0, 0.0]
        # Sums of weights and of squared weights in matched rows, by reward; counting stops at `MOST_REWARDS`.
        self._by_reward: tuple[dict[float, Floats], dict[float, Floats]] = ({}, {})

    def add(self, matched: NDArray[np.bool_], constant: NDArray[np.bool_], reward: Floats, propensity: Floats) -> None:
        """Add rows; `matched` and `constant` say where the policy and the constant action agree with the log."""
        weights = [np.where(each, 1 / propensity, 0.0) for each in (matched, constant)]
        parts = [np.ones(len(reward)), reward]
        for i, weight in enumerate(weights):
            parts += [weight, weight * reward]
            self._n_matched[i] += int(np.count_nonzero(weight))
            self._largest[i] = max(self._largest[i], float(weight.max(initial=0.0)))
            self._count_rewards(self._by_reward[i], reward[weight > 0], weight[weight > 0])
        table = np.stack(parts)
        self._products += table @ table.T
        self.n_rows += len(reward)
        self._ends = [min(self._ends[0], float(reward.min())), max(self._ends[1], float(reward.max()))]

    def merge(self, other: RunningValue) -> None:
        """Add the rows of another; the sums of files, merged in their order, do not depend on who made them."""
        self._products += other._products
        self.n_rows += other.n_rows
        self._ends = [min(self._ends[0], other._ends[0]), max(self._ends[1], other._ends[1])]
        for which in range(2):
            self._n_matched[which] += other._n_matched[which]
            self._largest[which] = max(self._largest[which], other._largest[which])
            seen = self._by_reward[which]
            for value, sums in other._by_reward[which].items():
                seen[value] = seen.get(value, 0.0) + sums

    @staticmethod
    def _count_rewards(seen: dict[float, Floats], reward: Floats, weight: Floats) -> None:
        if len(seen) > MOST_REWARDS:
            return
        values, position = np.unique(reward, return_inverse=True)
        added = np.stack([np.bincount(position, weight), np.bincount(position, weight**2)], axis=1)
        for value, add in zip(values.tolist(), added, strict=True):
            seen[value] = seen.get(value, 0.0) + add

    def _few_differ(self, which: int) -> str | None:
        """Warn, as `evaluate` does, if too few rewards differ from the most common one; None if enough do."""
        seen = self._by_reward[which]
        usual = max(seen, key=lambda value: float(seen[value][0]))
        weight, squares = sum((sums for value, sums in seen.items() if value != usual), np.zeros(2)).tolist()
        effective = weight**2 / squares if squares else 0.0
        if effective >= FEW_DIFFERING or len(seen) > MOST_REWARDS:
            return None
        return (
            f"in the matched rows, the rewards that differ from the most common one, {usual:g}, are worth "
            f"{effective:.1f} rows of equal weight: too few for the normal interval, which is then too narrow and "
            "one-sided. Use more rows."
        )

    def compared(self, action: Any, level: float) -> Comparison:
        """Compare the policy with the log and with the constant action."""
        if self._n_matched[0] == 0:
            raise LogError(
                f"the policy must agree with the log in some rows to be valued; it does in none of the {self.n_rows:,} "
                "rows. Use a log with more rows or more exploration."
            )
        estimate = self._estimate(0, level)
        if self._n_matched[1] == 0:
            unknown = Estimate(
                np.nan, np.nan, -np.inf, np.inf, level, "snips", "normal", self.n_rows, 0, 0.0, 0.0, estimate.baseline
            )
            doubt = f"it was logged in none of the {self.n_rows:,} rows used for the estimate."
            return Comparison(estimate, action, unknown, Interval(np.nan, np.nan, -np.inf, np.inf), (doubt,))
        constant = self._estimate(1, level)
        gain = self._interval(*self._minus(self._of(0), self._of(1)), level)
        doubts = tuple(text for text in constant.serious if text not in estimate.serious)
        return Comparison(estimate, action, constant, gain, doubts)

    def _of(self, which: int) -> tuple[float, Floats]:
        """Return a value, and the coefficients of its influence function over the terms of a row."""
        weight, earned = (WEIGHT, EARNED) if which == 0 else (CONSTANT_WEIGHT, CONSTANT_EARNED)
        sums = self._products[ONE]
        value = sums[earned] / sums[weight]
        influence = np.zeros(6)
        influence[earned], influence[weight] = 1 / sums[weight], -value / sums[weight]
        return float(value), influence

    def _logged(self) -> tuple[float, Floats]:
        value = self._products[ONE, REWARD] / self.n_rows
        influence = np.zeros(6)
        influence[REWARD], influence[ONE] = 1 / self.n_rows, -value / self.n_rows
        return float(value), influence

    @staticmethod
    def _minus(first: tuple[float, Floats], second: tuple[float, Floats]) -> tuple[float, Floats]:
        return first[0] - second[0], first[1] - second[1]

    def _interval(self, value: float, influence: Floats, level: float) -> Interval:
        if self._ends[0] == self._ends[1]:  # equal rewards say nothing about their spread
            return Interval(value, np.nan, np.nan, np.nan)
        stderr = max(float(influence @ self._products @ influence), 0.0) ** 0.5
        half = float(norm.ppf((1 + level) / 2)) * stderr
        return Interval(value, stderr, value - half, value + half)

    def _estimate(self, which: int, level: float) -> Estimate:
        weight = (WEIGHT, CONSTANT_WEIGHT)[which]
        warnings: tuple[str, ...] = ()
        effective_rows = float(self._products[ONE, weight] ** 2 / self._products[weight, weight])
        if effective_rows < FEW_EFFECTIVE_ROWS:
            few = (
                f"the {self.n_rows:,} rows tell as much of this policy as {effective_rows:.1f} of its own would: too "
                "few for the interval, which is then too narrow. Use a log with more rows or more exploration."
            )
            warnings = (*warnings, few)
        if self._ends[0] == self._ends[1]:
            none = Message(
                f"all {self.n_rows:,} rewards are {self._ends[0]:g}, so there is no normal interval. Use another "
                "learner, and ",
                Parameter("reward_range", ("low", "high")),
                ", the smallest and the largest possible reward.",
            )
            warnings = (*warnings, none)
        elif (too_few := self._few_differ(which)) is not None:
            warnings = (*warnings, too_few)
        own, logged = self._of(which), self._logged()
        return Estimate(
            **vars(self._interval(*own, level)),
            level=level,
            method="snips",
            interval="normal",
            n_rows=self.n_rows,
            n_matched=self._n_matched[which],
            effective_rows=effective_rows,
            max_weight=self._largest[which],
            baseline=self._interval(*logged, level),
            difference=self._interval(*self._minus(own, logged), level),
            warnings=warnings,
            serious=warnings,
        )


class RunningConstant:
    """The action that `ConstantPolicy` would pick by the rows so far; values are shrunk where rows are few.

    Examples
    --------
    >>> constant = RunningConstant()
    >>> constant.add(np.array(["a", "b"] * 2), np.array([0.0, 1.0, 0.0, 1.0]), np.full(4, 0.5))
    >>> constant.best()
    'b'
    """

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self._low, self._width = reward_range[0], reward_range[1] - reward_range[0]
        self._sums: dict[Any, Floats] = {}

    def add(self, action: NDArray[Any], reward: Floats, propensity: Floats) -> None:
        """Add rows."""
        labels, position = np.unique(action, return_inverse=True)
        weight, share = 1 / propensity, (reward - self._low) / self._width
        columns = (weight, weight**2, weight * share, weight * share**2)
        added = np.stack([np.bincount(position, column) for column in columns], axis=1)
        for label, add in zip(labels.tolist(), added, strict=True):
            self._sums[label] = self._sums.get(label, 0.0) + add

    def merge(self, later: RunningConstant) -> None:
        """Add the rows of another."""
        for label, sums in later._sums.items():
            self._sums[label] = self._sums.get(label, 0.0) + sums

    def best(self) -> Any:
        """Return the best action so far."""
        labels = sorted(self._sums)
        total, weight_squares, earned, squares = np.stack([self._sums[label] for label in labels], axis=1)
        mean = earned / total
        squared_error = np.maximum(squares - mean**2 * total, 0.0)
        _, value = shrunken_from_sums(total, total**2 / weight_squares, mean, squared_error)
        return labels[int(value.argmax())]
