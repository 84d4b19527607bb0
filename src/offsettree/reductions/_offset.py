"""The offset trick: what a row says in a contest, and with what weight (section 3 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, cross_val_predict

from offsettree._features import Features
from offsettree._labels import some_labels
from offsettree._messages import Message, Parameter
from offsettree._traits import check_learner
from offsettree._validation import as_random_state, is_number, warn_caller
from offsettree.exceptions import LogError, ParameterError
from offsettree.learners import Template
from offsettree.reductions._median_given_x import median_given_x, weighted_median

MEDIAN_GIVEN_X = "median_given_x"
N_FOLDS = 5
MOST_SPREADS = 1.5  # as many times their spread as the mean reward may be away from the offset
ROUNDING = 1e-12  # what scaling rewards to [0, 1] may leave of a reward that equals the offset


@dataclass(frozen=True)
class Votes:
    """What the rows of a log have to say in any contest: for or against their own side, and with what weight."""

    for_own_side: NDArray[np.bool_]
    weight: NDArray[np.float64]
    total: float = 0.0  # of reward - offset
    squares: float = 0.0

    @classmethod
    def cast(
        cls, reward: NDArray[np.float64], propensity: NDArray[np.float64], offset: float | NDArray[np.float64]
    ) -> Self:
        """Count a reward of at least the offset for the side it came from, a lower one against it."""
        weight = np.subtract(reward, offset)
        total, squares = float(np.add.reduce(weight)), float(weight @ weight)
        np.abs(weight, out=weight)
        weight[weight < ROUNDING] = 0.0
        weight /= propensity
        return cls(reward >= offset, weight, total, squares)

    def tally(self) -> Tally:
        """Count the votes."""
        weighted = self.weight > 0
        n_for_own_side = int(np.count_nonzero(self.for_own_side & weighted))
        return Tally(len(weighted), int(np.count_nonzero(weighted)), n_for_own_side, self.total, self.squares)

    def for_left(self, rows: NDArray[np.intp], from_left: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Label the rows of a contest: true where the left side gets the vote."""
        return np.equal(from_left, self.for_own_side.take(rows))

    def scaled_weights(
        self, rows: NDArray[np.intp], standing: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """Weigh the rows of a contest, with mean 1, and all together; those below may have left them a part of it.

        Only ratios count in the weighted loss; at mean 1 a learner's own settings, such as the strength of a penalty,
        mean the same whatever the propensities.
        """
        weight = self.standing_weight(rows, standing)
        total = float(np.add.reduce(weight))
        if len(rows):
            weight /= total / len(rows)
        return weight, total

    def standing_weight(
        self, rows: NDArray[np.intp], standing: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the weights of the rows of a contest as they are: what the contests below have left of them."""
        weight = self.weight.take(rows)
        if standing is not None:
            weight *= standing
        return weight

    def signed(self, mean: float | None = None) -> NDArray[np.float32]:
        """Return the weights with mean 1, as float32 can hold them whatever 1 / p is, negative for a vote against.

        `mean` is that of the weights of all rows of the log, where there are others.
        """
        own_vote = np.empty(len(self.weight), dtype=np.float32)
        mean = self.weight.mean() if mean is None else mean
        np.divide(self.weight, mean or 1.0, out=own_vote, casting="same_kind")
        # A weight that is too small beside the others still counts, where the others are not.
        np.maximum(own_vote, np.finfo(np.float32).tiny, out=own_vote, where=self.weight > 0)
        return np.negative(own_vote, out=own_vote, where=~self.for_own_side)

    def weighted(self) -> NDArray[np.intp]:
        """Return the rows with any weight; a reward that equals the offset says nothing, in no contest."""
        return np.flatnonzero(self.weight)


class Tally(NamedTuple):
    """Counts of rows, of votes with any weight, of those for their own side; sums of reward - offset and its square."""

    n_rows: int
    n_weighted: int
    n_for_own_side: int
    total: float
    squares: float

    def plus(self, other: Tally) -> Tally:
        """Count those of other rows as well."""
        return Tally._make(mine + theirs for mine, theirs in zip(self, other, strict=True))

    @property
    def hides_differences(self) -> bool:
        """Whether what all rows say alike hides_differences that in which they differ.

        An offset at the mean reward never does, nor one that most rewards equal, so that they say nothing.
        """
        mean = self.total / self.n_rows
        return mean * mean > MOST_SPREADS**2 * max(self.squares / self.n_rows - mean * mean, 0.0)


def warn_if_one_sided(tally: Tally) -> None:
    """Tell when nearly all rewards are on one side of the offset, so that nearly all rows say the same."""
    if tally.n_rows < 100:
        return
    if not tally.n_weighted:
        warn_caller(
            "every reward equals the offset, so that no row says anything and nothing can be learned: all contests "
            "go to the left. Rewards that are all equal tell no action from another."
        )
        return
    share = tally.n_for_own_side / tally.n_weighted
    if not 0.01 <= share <= 0.99 and tally.hides_differences:
        says, whom = ("above", "for") if share > 0.5 else ("below", "against")
        text = Message(
            f"{100 * max(share, 1 - share):.1f} % of the rewards are {says} the offset, so that nearly every row "
            f"votes {whom} its own action, whatever it is, and the contests learn little. Try ",
            Parameter("offset", "mean"),
            ", or a reward_range that the rewards fill.",
        )
        warn_caller(text)


def is_median_given_x(offset: Any) -> bool:
    """Tell the offset that is the median reward given x."""
    return isinstance(offset, str) and offset == MEDIAN_GIVEN_X


def is_per_row(offset: Any) -> bool:
    """Tell an offset that is another one for each row, so that all rows are needed at once."""
    return hasattr(offset, "fit") or is_median_given_x(offset)


def resolve_offset(
    offset: Any,
    X: Features,
    reward: NDArray[np.float64],
    random_state: np.random.RandomState,
    propensity: NDArray[np.float64] | None = None,
) -> float | NDArray[np.float64]:
    """Return the number, or one number per row, that an `offset` parameter stands for; rewards are in [0, 1].

    The mean and both medians weigh rows by 1 / propensity: they are then those of actions drawn evenly, whatever the
    logging policy preferred.
    """
    if is_number(offset):
        if not 0 <= offset <= 1:
            raise ParameterError(
                f"offset must be from 0 to 1, as a share of the reward range (0.5 is its middle); got {offset!r}."
            )
        return float(offset)
    if isinstance(offset, str) and offset in ("mean", "median"):
        if propensity is None or propensity.min() == propensity.max():
            return float(np.mean(reward) if offset == "mean" else np.median(reward))
        weight = 1 / propensity
        return float(np.average(reward, weights=weight)) if offset == "mean" else weighted_median(reward, weight)
    if is_median_given_x(offset):
        seed = as_random_state(random_state).randint(np.iinfo(np.int32).max)
        return median_given_x(X, reward, np.ones(len(reward)) if propensity is None else 1 / propensity, seed)
    if not hasattr(offset, "fit"):
        raise ParameterError(
            f"offset must be a number from 0 to 1, 'mean', 'median', {MEDIAN_GIVEN_X!r}, or a regressor; got "
            f"{offset!r}."
        )
    check_learner(offset, "regressor", "an offset that is not a number")
    return _predicted_rewards(offset, X, reward, random_state)


def _predicted_rewards(
    regressor: Any, X: Features, reward: NDArray[np.float64], random_state: np.random.RandomState
) -> NDArray[np.float64]:
    if len(reward) < 2:
        raise LogError("an offset that is a regressor needs at least 2 rows to be cross-fitted; got 1.")
    seed = as_random_state(random_state).randint(np.iinfo(np.int32).max)
    # No row's own reward may set the offset that it is compared with.
    folds = KFold(min(N_FOLDS, len(reward)), shuffle=True, random_state=seed)
    predicted = np.asarray(cross_val_predict(Template(regressor).copy(seed), X, reward, cv=folds), dtype=np.float64)
    if predicted.size != len(reward) or not np.isfinite(predicted).all():
        raise ParameterError(
            f"an offset that is a regressor must predict one finite number per row; {type(regressor).__name__} "
            f"predicted an array of shape {predicted.shape}."
        )
    return np.clip(predicted.ravel(), 0, 1)


def warn_of_unlogged(action: NDArray[np.intp], actions: NDArray[Any]) -> None:
    """Tell when some actions were never logged: a low reward of another may then speak for them."""
    unlogged = actions[np.bincount(action, minlength=len(actions)) == 0]
    if len(unlogged):
        warn_caller(
            f"{len(unlogged)} of the {len(actions)} actions were never logged ({some_labels(unlogged)}): nothing is "
            "known of them. Where another action earned little its rows vote for the other side, so that they may be "
            "chosen often. Leave out of actions=[...] what should not be."
        )


def mean_rewards(
    action: NDArray[np.intp], reward: NDArray[np.float64], propensity: NDArray[np.float64], n_actions: int
) -> NDArray[np.float64]:
    """Estimate every action's mean reward over all contexts; one that was never logged gets the overall mean."""
    weight = 1 / propensity
    total = np.bincount(action, weights=weight, minlength=n_actions)
    earned = np.bincount(action, weights=weight * reward, minlength=n_actions)
    overall = np.average(reward, weights=weight)
    return np.divide(earned, total, out=np.full(n_actions, overall), where=total > 0)
