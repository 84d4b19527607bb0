"""The base class of policies: a scikit-learn estimator that learns from a log and chooses among actions."""

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

from offsettree._available import (
    Available,
    check_available,
    check_available_for_one,
    check_available_to_log,
    pieces,
)
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
    refuse_scoring_without_log,
)
from offsettree.exceptions import FeatureError, LogError, OffsetTreeWarning, ParameterError

__all__ = ["BasePolicy", "snips"]


class BasePolicy(BaseEstimator, ABC):
    """Checks the log, then hands it to `_fit` with actions as positions and rewards scaled to [0, 1].

    A subclass has the parameters `estimator`, `reward_range` and `actions`, and defines `_fit` and `_choose`. To
    scikit-learn a policy is a classifier of contexts into actions, so that cross-validation is stratified by action;
    its `score` is not accuracy but the estimated value of the policy.
    """

    estimator: Any
    reward_range: Sequence[float]
    actions: ArrayLike | None

    actions_: NDArray[Any]

    _remembers_rows = True
    _trained_on: Fingerprint | None = None  # lets `evaluate` notice rows that were trained on
    _learner_kind = "classifier"
    _largest_size: float | None = None  # largest absolute value allowed in X; None for any
    _default_learner: Callable[[], Any]

    # Requested by default, so that GridSearchCV and Pipeline pass them on once metadata routing is enabled.
    __metadata_request__fit = {"action": UNUSED, "reward": True, "propensity": True, "available": True}  # noqa: RUF012
    __metadata_request__score = {"action": UNUSED, "reward": True, "propensity": True, "available": True}  # noqa: RUF012
    __metadata_request__predict = {"available": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"available": True}  # noqa: RUF012

    def fit(
        self,
        X: Features,
        action: ArrayLike | None = None,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        available: Any = None,
    ) -> Self:
        """Learn from a log.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts: what was known when each decision was taken.
        action : array of shape (n_rows,)
            The chosen actions: integers or strings. Required.
        reward : array of shape (n_rows,)
            The reward of each chosen action, within `reward_range`. Required.
        propensity : array of shape (n_rows,) or float
            The probability with which the logging policy chose the action, in (0, 1]. Required.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            The actions available in each row, in the order of `actions_` (see `actions`). The logged one must be
            among them. By default all.
        """
        refuse_scoring_without_log()
        with self._all_or_nothing():
            log = self._check_log(X, action, reward, propensity, available)
            # No references are held here, so that _fit can free what it no longer needs.
            self._fit(log.pop(), log.pop(), log.pop(), log.pop(), log.pop())
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the policy's former state if a fit fails."""
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
        available: Any = None,
        *,
        first: bool = True,
        names_expected: bool = True,
        checked: bool = False,
        numbers: bool = True,
    ) -> list[Any]:
        """Return the arguments of `_fit`, in reverse. The `first` log fixes columns and actions for later ones.

        `checked` says that X has been checked already; `numbers=False` skips the check of an array's values.
        """
        if hasattr(X, "arrays") and hasattr(X, "propensity"):
            raise LogError("fit takes the parts of a log, not the log itself: write fit(**log.arrays()).")
        low, high = check_range(self.reward_range)
        check_n_jobs(getattr(self, "n_jobs", None))
        check_learner(self._learner(), self._learner_kind, "estimator")
        if first:
            X = check_features(self, X, learner=self._learner(), reset=True, within=self._largest_size)
        elif not checked:
            X = self._checked(X, names_expected=names_expected, numbers=numbers)
        n_rows = count_rows(X)
        labels = check_actions(action, n_rows)
        reward = check_reward(reward, n_rows, copy=False)
        propensity = check_propensity(propensity, n_rows, copy=False)
        check_reward_within(reward, self.reward_range)
        if first:
            self.actions_ = find_actions(labels, self.actions)
            # For `decide` with a mapping: the columns and dtypes of the fitted frame; None if learners get arrays.
            self._frame_like = take_rows(X, np.arange(0)) if is_frame(X) else None
        position = encode_actions(labels, self.actions_)
        sets = None
        if available is not None:
            sets = check_available(available, n_rows, self.actions_)
            check_available_to_log(sets, position, self.actions_)
        _warn_of_leaks(X, reward, propensity)
        if self._remembers_rows:
            self._trained_on = remember_rows(X, reward, None if first else self._trained_on)
        return [sets, propensity, reward if (low, high) == (0, 1) else (reward - low) / (high - low), position, X]

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the action chosen for each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            The available actions, in the order of `actions_`: at least one in every row. By default all.
        """
        position = self._positions(X) if available is None else self._positions_among(X, available)
        return np.asarray(self.actions_[position])

    def predict_proba(self, X: Features, available: Any = None) -> NDArray[np.float64]:
        """Return the probability of each action, in the order of `actions_`.

        This policy is deterministic: 1 for the action of `predict`, 0 for all others. The array has n_rows times
        n_actions numbers; prefer `predict` if there are many actions.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            The available actions, as in `predict`.
        """
        position = self._positions(X) if available is None else self._positions_among(X, available)
        probability = np.zeros((len(position), len(self.actions_)))
        probability[np.arange(len(position)), position] = 1.0
        return probability

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context, as `predict` does for a table of one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context.
        available : labels, or booleans in the order of `actions_`, optional
            The available actions. By default all.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        check_is_fitted(self)
        row = as_one_row(x, getattr(self, "feature_names_in_", None), self._frame_like)
        if count_rows(row) != 1:
            raise FeatureError(f"decide takes one context; got {count_rows(row)} rows. Use predict for many.")
        row = self._checked(row, names_expected=False)
        if available is None:
            position = self._choose(row)
        else:
            position = self._choose_among(row, check_available_for_one(available, self.actions_))
        return self.actions_[position[0]].item()

    def rank(self, X: Features, n: int, available: Any = None) -> NDArray[Any]:
        """Return the n best actions for each row, best first.

        The first is that of `predict`; each later one is the policy's choice if those before it were not available.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        n : int
            How many, from 1 to the number of actions.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            The available actions, as in `predict`: at least n in every row.

        Returns
        -------
        ndarray of shape (n_rows, n)
            Labels of `actions_`, distinct within a row.
        """
        check_is_fitted(self)
        n_actions = len(self.actions_)
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= n_actions:
            raise ParameterError(
                f"n must be a whole number from 1 to the number of actions, which is {n_actions}; got {n!r}."
            )
        X = self._checked(X)
        n_rows = count_rows(X)
        sets = None if available is None else check_available(available, n_rows, self.actions_, int(n))
        position = np.empty((n_rows, n), dtype=np.intp)
        for rows in pieces(n_rows, n_actions):
            part = take_rows(X, np.arange(rows.start, rows.stop)) if rows.stop - rows.start < n_rows else X
            position[rows] = self._rank(part, int(n), None if sets is None else sets.part(rows))
        return np.asarray(self.actions_[position])

    def score(
        self,
        X: Features,
        action: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        available: Any = None,
    ) -> float:
        """Estimate the policy's value, its mean reward per decision, on a log it was not trained on.

        The estimate is self-normalised inverse propensity (SNIPS): the mean reward of the matched rows, in which the
        policy chooses the logged action, weighted by 1 / propensity. A row's `sample_weight`, 1 by default, is the
        number of rows it stands for. `available` is as in `fit`.
        """
        check_is_fitted(self)
        n_rows = count_rows(X)
        logged = encode_actions(check_actions(action, n_rows), self.actions_)
        reward = check_reward(reward, n_rows)
        propensity = check_propensity(propensity, n_rows)
        weight = check_weight(sample_weight, n_rows) / propensity
        if available is None:
            return snips(self._positions(X) == logged, reward, weight)
        check_available_to_log(check_available(available, n_rows, self.actions_), logged, self.actions_)
        return snips(self._positions_among(X, available) == logged, reward, weight)

    @property
    def classes_(self) -> NDArray[Any]:
        """The actions, under the name that scikit-learn's tools expect."""
        return self.actions_

    def _positions(self, X: Features) -> NDArray[np.intp]:
        """Check X and return the position in `actions_` of each row's action."""
        return self._choose(self._checked(X))

    def _positions_among(self, X: Features, available: Any) -> NDArray[np.intp]:
        X = self._checked(X)
        return self._choose_among(X, check_available(available, count_rows(X), self.actions_))

    def _choose_among(self, X: Features, sets: Available) -> NDArray[np.intp]:
        """Choose for each row among its available actions, in pieces small enough for a dense mask."""
        position = np.empty(count_rows(X), dtype=np.intp)
        for rows in pieces(*sets.mask.shape):
            whole = rows.stop - rows.start == len(position)
            part = X if whole else take_rows(X, np.arange(rows.start, rows.stop))
            position[rows] = self._choose_within(part, sets.part(rows))
        return position

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the position of each row's action, which its mask allows; X is checked."""
        raise ParameterError(
            f"available must be None for {type(self).__name__}, which does not support masks. "
            "Use OffsetTree, OffsetForest or another policy learned by fit."
        )

    def _rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Return the positions of the n best actions, among all if there is no mask."""
        first = self._choose(X) if mask is None else self._choose_within(X, mask)
        position = np.empty((len(first), n), dtype=np.intp)
        position[:, 0] = first
        left = np.ones((len(first), len(self.actions_)), dtype=bool) if mask is None else mask.copy()
        for place in range(1, n):
            left[np.arange(len(first)), position[:, place - 1]] = False
            position[:, place] = self._choose_within(X, left)
        return position

    def _checked(self, X: Features, *, names_expected: bool = True, numbers: bool = True) -> Features:
        check_is_fitted(self)
        as_frame = self._frame_like is not None
        if as_frame and not is_frame(X):
            raise FeatureError(
                f"X must be a frame, as the policy was fitted on a {type(self._frame_like).__name__} whose columns its "
                "learners may pick by name. Pass such a frame (or, to decide, a mapping of names to values)."
            )
        return check_features(
            self,
            X,
            learner=self._learner(),
            reset=False,
            names_expected=names_expected,
            as_frame=as_frame,
            within=self._largest_size,
            numbers=numbers,
        )

    def _learner(self) -> Any:
        """Return the estimator, or the default one; it determines what X may contain."""
        return self._default_learner() if self.estimator is None else self.estimator

    @abstractmethod
    def _fit(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
        available: Available | None,
    ) -> None:
        """Learn from a checked log: `action` holds positions in `actions_`, `reward` is scaled to [0, 1]."""

    @abstractmethod
    def _choose(self, X: Features) -> NDArray[np.intp]:
        """Return the position in `actions_` of each row's action; X is checked."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        take_over_input_tags(tags, self._learner())
        return tags


def _warn_of_leaks(X: Features, reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> None:
    """Warn of the most common mistake: the outcome left among the features."""
    if len(reward) < 64:
        return  # in so few rows it may be chance
    for name, values in (("reward", reward), ("propensity", propensity)):
        if values.strides != (0,) and (values != values[0]).any() and (column := equal_column(X, values)) is not None:
            warnings.warn(
                f"{column} of X equals the {name} in every row. It will not be known when a decision is taken: "
                "leave it out of X.",
                OffsetTreeWarning,
                stacklevel=4,
            )


def snips(matched: NDArray[np.bool_], reward: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the self-normalised inverse-propensity estimate from the matched rows."""
    if not weight[matched].any():
        raise LogError(
            f"the policy's value cannot be estimated: in none of the {len(matched):,} rows was the action logged that "
            "the policy would choose. Use a log with more rows or more exploration."
        )
    return float(np.average(reward[matched], weights=weight[matched]))
