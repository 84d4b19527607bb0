"""The rule of choice: which of several candidates to take, by what each earned in the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._terms import Terms

__all__ = ["Gaps", "Rule", "Stack"]

LEAD, LEAD_IF_RARE = 0.75, 2.0
HOME_LEAD = 1.5
# Standard errors by which the favourite predicts rewards better by x: then it need not prove itself by value.
SURE, SURE_IF_RARE = 2.5, 5.0
RARE = 20.0  # kurtosis of the rewards; of 0 and 1 it is 18 where one in twenty is 1
FEWEST = 100  # rows: of fewer, standard errors say too little to give a candidate up


@dataclass(frozen=True)
class Gaps:
    """What candidates are worth, by how much each is behind one of them, and the standard errors of that."""

    value: NDArray[np.float64]
    behind: NDArray[np.float64]
    stderr: NDArray[np.float64]


@dataclass(frozen=True)
class Stack:
    """The terms of candidates, of shape (n_candidates, n_rows), the preferred first; a value is a ratio of sums.

    `is_constant` tells of each whether it does the same whatever x is. `reach` is by how much one further row could
    change a sum: where few rewards were seen, the spread of the rows seen says too little of what may come. `home` is
    the place of the favourite, which is taken unless another is clearly ahead; -1 if there is none.
    """

    numerator: NDArray[np.float64]
    counted: NDArray[np.float64]
    is_constant: NDArray[np.bool_]
    reach: float = 0.0
    home: int = -1
    is_sure: bool = False  # of the favourite: that x tells actions apart

    @classmethod
    def of(cls, terms: list[Terms], is_constant: list[bool] | None = None) -> Self:
        """Stack the terms of one estimator."""
        constant = np.zeros(len(terms), dtype=bool) if is_constant is None else np.asarray(is_constant)
        return cls(np.stack([each.numerator for each in terms]), np.stack([each.counted for each in terms]), constant)

    def gaps(self, weight: NDArray[np.float64], to: int | None = None) -> Gaps:
        """Return by how much each is behind one of them, by default the best; a row counts as its weight says.

        Both are of the difference, row by row: what makes all candidates look better or worse cancels out.
        """
        n_rows = float(weight.sum())
        above, below = self.numerator @ weight, self.counted @ weight
        known = below > 0  # without a row logged with what a candidate does, nothing speaks for it
        value = np.where(known, above / np.where(known, below, 1.0), -np.inf)
        best = int(np.argmax(value)) if to is None else to
        # Linear in both sums: a number per row with the mean and the spread of the ratio.
        steps = (self.numerator - np.where(known, value, 0)[:, np.newaxis] * self.counted) / (
            np.where(known, below, 1.0)[:, np.newaxis] / n_rows
        )
        apart = steps[best] - steps
        stderr = np.sqrt((apart**2) @ weight / max(n_rows - 1, 1) / n_rows)
        with np.errstate(invalid="ignore"):
            behind = np.where(np.arange(len(value)) == best, 0.0, value[best] - value)
        return Gaps(value, behind, stderr)


@dataclass(frozen=True)
class Rule:
    """The best is chosen; or a simpler one that is so many standard errors behind it at most; or a constant.

    Parameters
    ----------
    simpler_within : float
        How many standard errors behind the best an earlier candidate may be and still be preferred.
    lead : float
        How many standard errors a candidate that looks at x must be ahead of one that does not.
    """

    simpler_within: float
    lead: float
    is_rare: bool = False  # where few rows earn most: the more of them are seen, the better

    @property
    def sure(self) -> float:
        """How many standard errors better the favourite must predict rewards by x, not to need a lead in value."""
        return SURE_IF_RARE if self.is_rare else SURE

    @classmethod
    def of(cls, simpler_within: float, reward: NDArray[np.float64]) -> Self:
        """Ask for a clear lead where a few rows earn most: there x seldom tells enough, and luck tells much."""
        off = reward - reward.mean()
        is_rare = bool((off**4).mean() > RARE * max((off**2).mean() ** 2, 1e-300))
        return cls(simpler_within, LEAD_IF_RARE if is_rare else LEAD, is_rare)

    def choose(self, stack: Stack, weight: NDArray[np.float64]) -> int:
        """Return the place of the one to take; a row counts as often as its weight says."""
        if stack.home >= 0 and not self.simpler_within:
            return self._choose_from_home(stack, weight)
        gaps = stack.gaps(weight)
        best = int(np.argmax(gaps.value))
        within = np.where(stack.is_constant, self.lead, self.simpler_within)
        further = stack.reach / max(float(stack.counted[best] @ weight), 1.0)
        stderr = np.hypot(gaps.stderr, np.where(stack.is_constant, further, 0.0))
        return int(np.argmax(gaps.behind[: best + 1] <= (within * stderr)[: best + 1]))

    def _choose_from_home(self, stack: Stack, weight: NDArray[np.float64]) -> int:
        """Return the favourite, or the best of those clearly ahead of it; or a constant, if that is as good."""
        gaps = stack.gaps(weight, stack.home)
        is_ahead = ~stack.is_constant & (gaps.behind < -HOME_LEAD * gaps.stderr)
        pick = int(np.argmax(np.where(is_ahead, gaps.value, -np.inf))) if is_ahead.any() else stack.home
        if not stack.is_constant.any():
            return pick
        constant = int(np.argmax(np.where(stack.is_constant, gaps.value, -np.inf)))
        gaps = stack.gaps(weight, pick)
        behind, stderr = gaps.behind[constant], gaps.stderr[constant]
        if pick == stack.home and stack.is_sure:
            return constant if behind < -HOME_LEAD * stderr else pick
        further = stack.reach / max(float(stack.counted[pick] @ weight), 1.0)
        return constant if behind <= self.lead * np.hypot(stderr, further) else pick

    def are_hopeless(self, stack: Stack, weight: NDArray[np.float64], beyond: float) -> NDArray[np.bool_]:
        """Tell which are more than so many standard errors behind the one that would be chosen now."""
        gaps = stack.gaps(weight, self.choose(stack, weight))
        is_behind = np.isfinite(gaps.value) & (gaps.behind > beyond * gaps.stderr)
        return np.asarray(is_behind & (weight.sum() >= FEWEST))

    def describe(self, favourite: str | None, *, by_predictions: bool = True) -> str:
        """Say the rule in words; by predictions only if the favourite was learned from all rows."""
        first, otherwise = "The candidate that earned most on the same rows is chosen", ""
        if self.simpler_within:
            first = (
                f"Of the candidates that are at most {_errors(self.simpler_within)} behind the best on the same rows, "
                "the first in the list is chosen"
            )
        elif favourite is not None:
            first = (
                f"{favourite[:1].upper()}{favourite[1:]} is chosen, unless another candidate earned more on the same "
                f"rows by {_errors(HOME_LEAD)}"
            )
            otherwise = by_predictions * f", unless it predicts rewards better by x, by {_errors(self.sure)}"
        return (
            f"{first}. To be preferred to the best constant action it must be ahead of it by {_errors(self.lead)}"
            f"{otherwise}."
        )


def _errors(number: float) -> str:
    return "1 standard error" if number == 1 else f"{number:g} standard errors"
