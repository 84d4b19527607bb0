"""The selection rule: which candidate to choose, by their estimated values on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation.parts import Terms

LEAD, LEAD_IF_RARE = 0.75, 2.0  # standard errors, as are the next two
FAVOURITE_LEAD = 2.0
PROVEN, PROVEN_IF_RARE = 2.5, 5.0
RARE = 20.0  # kurtosis of rewards from which they are rare; rewards of 0 and 1 have 18 if one in twenty is 1
BEHIND = 1.0  # standard errors behind the one that would be chosen at which a candidate leaves the race
AHEAD = 0.3  # and ahead of it, where it is a favourite, which must be beaten clearly, at which one stays in the race
LUCK = 2.14  # and by which further rows may raise a lead: by more with a probability of 1.6 %
FEWEST = 100  # with fewer rows, standard errors are too uncertain to drop a candidate


@dataclass(frozen=True)
class Gaps:
    """Values of candidates, by how much each is behind one of them, and the standard errors of these gaps."""

    value: NDArray[np.float64]
    behind: NDArray[np.float64]
    stderr: NDArray[np.float64]


@dataclass(frozen=True)
class Stack:
    """The terms of candidates, of shape (n_candidates, n_rows), in order of preference; a value is a ratio of sums.

    `is_constant` marks policies that ignore x. `unseen_effect` is how much one unseen row could change a sum: with few
    rare rewards, the variance of the rows seen is too small. `favourite` is the index of the candidate that is chosen
    unless another is clearly ahead; -1 if there is none. `is_proven`: the favourite predicts rewards significantly
    better with x than without, by PROVEN standard errors; it need not beat the constants by value as well.
    """

    numerator: NDArray[np.float64]
    counted: NDArray[np.float64]
    is_constant: NDArray[np.bool_]
    unseen_effect: float = 0.0
    favourite: int = -1
    is_proven: bool = False

    @classmethod
    def of(cls, terms: list[Terms], is_constant: list[bool] | None = None) -> Self:
        """Stack the terms of several candidates."""
        constant = np.zeros(len(terms), dtype=bool) if is_constant is None else np.asarray(is_constant)
        return cls(np.stack([each.numerator for each in terms]), np.stack([each.counted for each in terms]), constant)

    def gaps(self, weight: NDArray[np.float64], to: int | None = None) -> Gaps:
        """Return how far each candidate is behind one of them, by default the best; `weight` counts each row.

        Standard errors are of paired differences, row by row: what is common to all candidates cancels out.
        """
        n_rows = float(weight.sum())
        above, below = self.numerator @ weight, self.counted @ weight
        known = below > 0  # a candidate that matches no row has no value
        value = np.where(known, above / np.where(known, below, 1.0), -np.inf)
        best = int(np.argmax(value)) if to is None else to
        # Delta method: the influence of each row on the ratio.
        steps = (self.numerator - np.where(known, value, 0)[:, np.newaxis] * self.counted) / (
            np.where(known, below, 1.0)[:, np.newaxis] / n_rows
        )
        difference = steps[best] - steps
        stderr = np.sqrt((difference**2) @ weight / max(n_rows - 1, 1) / n_rows)
        with np.errstate(invalid="ignore"):
            behind = np.where(np.arange(len(value)) == best, 0.0, value[best] - value)
        return Gaps(value, behind, stderr)


@dataclass(frozen=True)
class Rule:
    """Choose the best candidate, unless a simpler one, the favourite or a constant action is close enough to it."""

    simpler_within: float  # standard errors that an earlier candidate may be behind the best and still be preferred
    lead: float  # standard errors that a candidate must be ahead of the constant ones
    is_rare: bool = False  # rewards are rare or have long tails, so that more rows are needed to compare by

    @property
    def proven(self) -> float:
        """The gain in standard errors of reward predictions from x that exempts the favourite from the lead."""
        return PROVEN_IF_RARE if self.is_rare else PROVEN

    @classmethod
    def of(cls, simpler_within: float, reward: NDArray[np.float64]) -> Self:
        """Require a larger lead if rewards are rare: there x seldom helps, and chance matters more."""
        off = reward - reward.mean()
        is_rare = bool((off**4).mean() > RARE * max((off**2).mean() ** 2, 1e-300))
        return cls(simpler_within, LEAD_IF_RARE if is_rare else LEAD, is_rare)

    def choose(self, stack: Stack, weight: NDArray[np.float64]) -> int:
        """Return the index of the candidate to choose; `weight` counts each row."""
        if stack.favourite >= 0 and not self.simpler_within:
            return self._choose_from_favourite(stack, weight)
        gaps = stack.gaps(weight)
        best = int(np.argmax(gaps.value))
        within = np.where(stack.is_constant, self.lead, self.simpler_within)
        unseen = stack.unseen_effect / max(float(stack.counted[best] @ weight), 1.0)
        stderr = np.hypot(gaps.stderr, np.where(stack.is_constant, unseen, 0.0))
        return int(np.argmax(gaps.behind[: best + 1] <= (within * stderr)[: best + 1]))

    def _choose_from_favourite(self, stack: Stack, weight: NDArray[np.float64]) -> int:
        """Return the favourite, or the best candidate clearly ahead of it; or a constant that is close to that one."""
        gaps = stack.gaps(weight, stack.favourite)
        is_ahead = ~stack.is_constant & (gaps.behind < -FAVOURITE_LEAD * gaps.stderr)
        pick = int(np.argmax(np.where(is_ahead, gaps.value, -np.inf))) if is_ahead.any() else stack.favourite
        if not stack.is_constant.any():
            return pick
        constant = int(np.argmax(np.where(stack.is_constant, gaps.value, -np.inf)))
        gaps = stack.gaps(weight, pick)
        behind, stderr = gaps.behind[constant], gaps.stderr[constant]
        if pick == stack.favourite and stack.is_proven:
            return constant if behind < -FAVOURITE_LEAD * stderr else pick
        unseen = stack.unseen_effect / max(float(stack.counted[pick] @ weight), 1.0)
        return constant if behind <= self.lead * np.hypot(stderr, unseen) else pick

    def far_behind(self, stack: Stack, weight: NDArray[np.float64], beyond: float) -> NDArray[np.bool_]:
        """Return a mask of candidates more than `beyond` standard errors behind the one that would be chosen now.

        Where they must be ahead (`beyond` is negative), those that decide as it does are not.
        """
        leader = self.choose(stack, weight)
        gaps = stack.gaps(weight, leader)
        limit = beyond * gaps.stderr
        is_behind = np.isfinite(gaps.value) & (gaps.behind > limit if beyond > 0 else gaps.behind >= limit)
        is_behind[leader] = False
        return np.asarray(is_behind & (weight.sum() >= FEWEST))

    def lead_to_stay(self, n_seen: int, n_folds: int) -> float:
        """Return the standard errors by which a candidate must be ahead of the favourite after some of the folds.

        With less, luck in the folds to come would hardly raise its lead to that at which it is chosen.
        """
        if self.simpler_within or n_seen >= n_folds:
            return AHEAD
        share = n_seen / n_folds
        return max(AHEAD, (FAVOURITE_LEAD - LUCK * float(np.sqrt(1 - share))) / float(np.sqrt(share)))

    def describe(self, favourite: str | None, *, by_predictions: bool = True) -> str:
        """Return the rule as text; `by_predictions`: the favourite was trained on all rows and may be proven."""
        first, otherwise = "The candidate of the highest value on the same rows is chosen", ""
        if self.simpler_within:
            first = (
                f"Of the candidates that are at most {_errors(self.simpler_within)} behind the best on the same rows, "
                "the first in the list is chosen"
            )
        elif favourite is not None:
            first = (
                f"{favourite[:1].upper()}{favourite[1:]} is chosen, unless another candidate is ahead of it on the "
                f"same rows by {_errors(FAVOURITE_LEAD)}"
            )
            otherwise = by_predictions * f", unless x improves its reward predictions by {_errors(self.proven)}"
        dropped = f"A candidate leaves the race if it is {_errors(BEHIND)} behind the one that would be chosen"
        if favourite is not None:
            dropped += f" or, once folds are compared, not ahead of it by {_errors(AHEAD)}, later by more"
        return (
            f"{first}. To be preferred to the best constant action it must be ahead of it by {_errors(self.lead)}"
            f"{otherwise}. {dropped}."
        )


def _errors(number: float) -> str:
    return "1 standard error" if number == 1 else f"{number:g} standard errors"
