"""What every policy is: a scikit-learn estimator that learns from a log and chooses among actions."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features, as_one_row, check_features, count_rows, equal_column, is_frame, take_rows
from offsettree._fingerprint import Fingerprint, remember_rows
from offsettree._traits import check_learner, take_over_input_tags
from offsettree._validation import (
    check_actions,
    check_n_jobs,
    check_propensity,
    check_range,
    check_reward,
    check_reward_within,
    check_weight,
    encode_actions,
    find_actions,
)
from offsettree.exceptions import FeatureError, LogError, OffsetTreeWarning

__all__ = ["BasePolicy", "snips"]


class BasePolicy(BaseEstimator, ABC):
    """Checks the log once, then hands it to `_fit` with actions as positions and rewards scaled to [0, 1].

    A subclass has the parameters `estimator`, `reward_range` and `actions`, and defines `_fit` and `_choose`. To
    scikit-learn a policy is a classifier of contexts into actions, so that cross-validation spreads every action over
    the folds; its `score` is not accuracy but the estimated value of the policy.
    """

    estimator: Any
    reward_range: Sequence[float]
    actions: ArrayLike | None

    actions_: NDArray[Any]

    _trained_on: Fingerprint | None = None  # by which `evaluate` notices rows that were learned from
    _learner_kind = "classifier"
    _default_learner: Callable[[], Any]

    # Requested by default, so that GridSearchCV and Pipeline pass them on once metadata routing is enabled.
    __metadata_request__fit = {"action": UNUSED, "reward": True, "propensity": True}  # noqa: RUF012
    __metadata_request__score = {"action": UNUSED, "reward": True, "propensity": True}  # noqa: RUF012

    def fit(
        self,
        X: Features,
        action: ArrayLike | None = None,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> Self:
        """Learn from a log.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            What was known when each decision was taken.
        action : array of shape (n_rows,)
            What was chosen: integers or strings. Must be given.
        reward : array of shape (n_rows,)
            What the chosen action earned, within `reward_range`. Must be given.
        propensity : array of shape (n_rows,) or float
            The probability with which the logging policy chose it, in (0, 1]. Must be given.
        """
        with self._all_or_nothing():
            log = self._check_log(X, action, reward, propensity)
            # Handed over, not held here: what _fit has used up can be freed while it goes on.
            self._fit(log.pop(), log.pop(), log.pop(), log.pop())
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Let a fit that fails leave the policy as it was, not half of the new one on half of the old."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _check_log(
        self,
        X: Features,
        action: ArrayLike | None,
        reward: ArrayLike | None,
        propensity: ArrayLike | None,
        *,
        first: bool = True,
        names_expected: bool = True,
    ) -> list[Any]:
        """Return what `_fit` takes, in reverse. The `first` log settles columns and actions for those that follow."""
        if hasattr(X, "arrays") and hasattr(X, "propensity"):
            raise LogError("fit takes the parts of a log, not the log itself: write fit(**log.arrays()).")
        low, high = check_range(self.reward_range)
        check_n_jobs(getattr(self, "n_jobs", None))
        check_learner(self._learner(), self._learner_kind, "estimator")
        X = (
            check_features(self, X, learner=self._learner(), reset=True)
            if first
            else self._checked(X, names_expected=names_expected)
        )
        n_rows = count_rows(X)
        labels = check_actions(action, n_rows)
        reward = check_reward(reward, n_rows, copy=False)
        propensity = check_propensity(propensity, n_rows, copy=False)
        check_reward_within(reward, self.reward_range)
        if first:
            self.actions_ = find_actions(labels, self.actions)
            # For `decide` with a mapping: the columns and kinds of a fitted frame, None where the learners see arrays.
            self._frame_like = take_rows(X, np.arange(0)) if is_frame(X) else None
        position = encode_actions(labels, self.actions_)
        _warn_of_leaks(X, reward, propensity)
        self._trained_on = remember_rows(X, reward, None if first else self._trained_on)
        return [propensity, reward if (low, high) == (0, 1) else (reward - low) / (high - low), position, X]

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the action chosen for each row."""
        position = self._positions(X)
        return np.asarray(self.actions_[position])

    def predict_proba(self, X: Features) -> NDArray[np.float64]:
        """Return the probability with which each action is taken, in the order of `actions_`.

        This policy is deterministic: 1 for the action of `predict`, 0 for all others. The array has n_rows times
        n_actions numbers; prefer `predict` where there are many actions.
        """
        position = self._positions(X)
        probability = np.zeros((len(position), len(self.actions_)))
        probability[np.arange(len(position)), position] = 1.0
        return probability

    def decide(self, x: Any) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        check_is_fitted(self)
        row = as_one_row(x, getattr(self, "feature_names_in_", None), self._frame_like)
        if count_rows(row) != 1:
            raise FeatureError(f"decide takes one context; got {count_rows(row)} rows. Use predict for many.")
        return self.actions_[self._choose(self._checked(row, names_expected=False))[0]].item()

    def score(
        self,
        X: Features,
        action: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Estimate the policy's value, its mean reward per decision, on a log it has not seen.

        The self-normalised inverse-propensity estimate: the mean reward of the rows whose logged action is the one
        this policy chooses, each weighted by 1 / propensity. In the units of the reward. A row's `sample_weight`, 1
        if not given, says how many rows it stands for.
        """
        check_is_fitted(self)
        n_rows = count_rows(X)
        logged = encode_actions(check_actions(action, n_rows), self.actions_)
        reward = check_reward(reward, n_rows)
        propensity = check_propensity(propensity, n_rows)
        weight = check_weight(sample_weight, n_rows) / propensity
        return snips(self._positions(X) == logged, reward, weight)

    @property
    def classes_(self) -> NDArray[Any]:
        """The actions, by the name under which scikit-learn's tools look for them."""
        return self.actions_

    def _positions(self, X: Features) -> NDArray[np.intp]:
        """Check X and return the position in `actions_` of each row's action."""
        return self._choose(self._checked(X))

    def _checked(self, X: Features, *, names_expected: bool = True) -> Features:
        check_is_fitted(self)
        as_frame = self._frame_like is not None
        if as_frame and not is_frame(X):
            raise FeatureError(
                f"the policy was fitted on a {type(self._frame_like).__name__} whose columns its learners may pick by "
                "name; pass such a frame (or, to decide, a mapping of names to values)."
            )
        return check_features(
            self, X, learner=self._learner(), reset=False, names_expected=names_expected, as_frame=as_frame
        )

    def _learner(self) -> Any:
        """Return the estimator given, or the default: its needs decide what X may hold."""
        return self._default_learner() if self.estimator is None else self.estimator

    @abstractmethod
    def _fit(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
    ) -> None:
        """Learn from a checked log: `action` holds positions in `actions_`, `reward` is scaled to [0, 1]."""

    @abstractmethod
    def _choose(self, X: Features) -> NDArray[np.intp]:
        """Return the position in `actions_` of each row's action, X being checked."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        take_over_input_tags(tags, self._learner())
        return tags


def _warn_of_leaks(X: Features, reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> None:
    """Tell of the commonest slip with one big table: the outcome left among the features."""
    if len(reward) < 64:
        return  # too short to tell a slip from an accident
    for name, values in (("reward", reward), ("propensity", propensity)):
        if (values != values[0]).any() and (column := equal_column(X, values)) is not None:
            warnings.warn(
                f"{column} of X equals the {name} in every row. It will not be known when a decision is taken: "
                "leave it out of X.",
                OffsetTreeWarning,
                stacklevel=4,
            )


def snips(matched: NDArray[np.bool_], reward: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Self-normalised inverse-propensity estimate from the rows on which policy and log agree."""
    if not weight[matched].any():
        raise LogError(
            f"the policy's value cannot be estimated: in none of the {len(matched):,} rows was the action logged that "
            "the policy would choose. Use a log with more rows or more exploration."
        )
    return float(np.average(reward[matched], weights=weight[matched]))
