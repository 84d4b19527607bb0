"""Predicted rewards as one more feature of an action, and the offsets of contests that lie between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._validation import is_number
from offsettree.actions._boosting import fit_boosted_pairs
from offsettree.actions._pair_scores import BoostedPairs
from offsettree.actions._tournament import Contests, Offset
from offsettree.actions.policy import ActionLog
from offsettree.exceptions import ParameterError
from offsettree.models import Contents, Part

N_FOLDS = 3
FEWEST_ROWS = 50  # below, no rewards are predicted
LARGE = 1e300
Matrix = NDArray[np.float64]
Column = NDArray[np.float64]


@dataclass(eq=False)
class RewardColumn:
    """The predicted reward of a pair, in standard deviations from the mean: a feature beside those of the action."""

    kind: ClassVar[str] = "reward column"
    scores: BoostedPairs
    mean: float
    spread: float

    def contents(self) -> Contents:
        """Return what is written of it."""
        return Contents({"mean": self.mean, "spread": self.spread}, {}, {"scores": self.scores})

    @classmethod
    def read(cls, part: Part, n_x: int, n_a: int) -> Self:
        """Read and check what was written."""
        spread = part.number("spread", 1e-300, LARGE)
        return cls(BoostedPairs.read(part.part("scores"), n_x, n_a), part.number("mean", -LARGE, LARGE), spread)

    def beside(self, a: Matrix, rewards: Column) -> Matrix:
        """Return the features of pairs with predicted rewards as one more."""
        return np.column_stack([a, (rewards - self.mean) / self.spread])

    def add_to(self, x: Matrix, a: Matrix, row: NDArray[np.intp]) -> Matrix:
        """Return the same with the rewards that are predicted; `row` is the context of each pair."""
        return self.beside(a, self.scores.scores(x, a, row))


def learn_rewards(log: ActionLog, x: Matrix, a: Matrix, seed: int) -> tuple[RewardColumn, Column] | None:
    """Learn to predict rewards; return what predicts them, and the reward of every pair by models of other rows.

    None where rows are too few, or all have the same reward. What was predicted from a row itself would tell its
    reward, by which it is judged who wins.
    """
    n_rows = len(log.scaled)
    if n_rows < FEWEST_ROWS or log.scaled.min() == log.scaled.max():
        return None
    ids, weight = log.sets.ids[log.pair], np.ones(n_rows)
    fold = np.random.RandomState(seed).permutation(n_rows) % N_FOLDS
    row = np.repeat(np.arange(n_rows), log.sets.sizes)
    found = np.empty(len(row))
    for each in range(N_FOLDS):
        own, here = np.flatnonzero(fold != each), np.flatnonzero(fold[row] == each)
        model = fit_boosted_pairs(x[own], a[log.pair[own]], ids[own], log.scaled[own], weight[own], seed, n_boosted=1)
        found[here] = model.scores(x, a[here], row[here])
    whole = fit_boosted_pairs(x, a[log.pair], ids, log.scaled, weight, seed)
    taken = found[log.pair]
    spread = float(taken.std())
    return RewardColumn(whole, float(taken.mean()), spread if spread > 1e-9 else 1.0), found


def offset_of(offset: Any, log: ActionLog, predicted: Column | None) -> Offset:
    """Return the offset of every contest, from 0 to 1."""
    is_word = isinstance(offset, str)
    if is_word and offset == "predicted" and predicted is not None:
        within = np.clip(predicted, 0, 1)
        return lambda contests: _between(within, contests)
    value = float(log.scaled.mean()) if is_word and offset in ("mean", "predicted") else offset
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"offset must be a number from 0 to 1, 'mean' or 'predicted'; got {offset!r}.")
    constant = float(value)
    return lambda contests: np.full(len(contests.row), constant)


def _between(predicted: Column, contests: Contests) -> Column:
    return np.asarray((predicted[contests.left] + predicted[contests.right]) / 2)
