"""The base class of policies: a scikit-learn estimator that learns from a log and chooses among actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from offsettree._available import certain, check_available_to_log, rank_by_choosing
from offsettree._features import (
    Features,
    as_floats,
    as_one_row,
    check_features,
    count_rows,
    equal_column,
    is_frame,
    is_sparse,
    take_rows,
)
from offsettree._fingerprint import Fingerprint, remember_rows
from offsettree._labels import encode_actions, find_actions
from offsettree._traits import check_learner, take_over_input_tags, takes_missing
from offsettree._validation import (
    check_n_jobs,
    check_range,
    check_reward_within,
    check_weight,
    refuse_scoring_without_log,
    warn_caller,
)
from offsettree.exceptions import FeatureError, LogError, ParameterError
from offsettree.logs.checked_log import CheckedLog, judge_columns, with_log_or_parts
from offsettree.policy import Policy, Prepared
from offsettree.reading import CannotFlatten

if TYPE_CHECKING:
    from offsettree.models import Model
    from offsettree.reading import ColumnSpace

__all__ = ["BasePolicy", "is_ours", "snips"]


class BasePolicy(BaseEstimator, Policy):
    """Judges a log once, then hands it to `_fit` as a `CheckedLog`.

    A subclass has the parameters `reward_range` and `actions`, and `estimator` if it trains a base learner. It defines
    `_fit` and `_choose`; or, to be flattened and decide by flat arrays, `_as_model`, with `_ask` and its like for
    learners that cannot be. To scikit-learn a policy is a classifier of contexts into actions, so that cross-validation
    spreads every action over the folds; its `score` is not accuracy but the estimated value of the policy.

    Notes
    -----
    What a subclass may define. X is checked before; k is the number of actions, and positions count in `actions_`.

    - ``_fit(log)`` is handed a `CheckedLog`, and keeps what it learns in attributes whose names end in ``_``.
    - ``_choose(X)`` returns the position of each row's action, as an array of integers.
    - ``_choose_within(X, mask)`` does so among the actions that a boolean mask of shape (rows, k) leaves. Without it,
      masks are refused.
    - ``_as_model(space)`` returns one of `offsettree.models`. Then the two above are not needed, and `save`
      writes the policy as arrays. Where a learner cannot be flattened it raises `CannotFlatten`, and ``_ask(X)`` and
      ``_ask_within(X, mask)`` are called in the place of ``_choose`` and ``_choose_within``.
    """

    # A policy without a base learner leaves these two as they are: X must then be dense and finite.
    estimator: Any = None
    reward_range: Sequence[float]
    actions: ArrayLike | None

    actions_: NDArray[Any]

    _expects_names = True
    _remembers_rows = True
    _trained_on: Fingerprint | None = None  # lets `evaluate` notice rows that were trained on
    _learner_kind = "classifier"
    _largest_size: float | None = None  # largest absolute value allowed in X; None for any
    _default_learner: Callable[[], Any] = GaussianNB  # never trained: it says what X may hold

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
            # No reference is held here, so that _fit can free what it no longer needs.
            log = [self._judge(X, action, reward, propensity, available=available)]
            self._fit(log.pop())
            self._prepare_anew()  # another thread that decided meanwhile may have flattened what was there before
        return self

    def _fit_checked(self, log: CheckedLog) -> Self:
        """Do as `fit`, on a log that was judged for a policy with the same actions and range of rewards."""
        with self._all_or_nothing():
            self._check_settings()
            learner, size, numbers = self._learner(), self._largest_size, self._must_look_at(log)
            X = check_features(self, log.X, learner=learner, reset=True, within=size, numbers=numbers)
            self._fit(self._noted(replace(log, X=X)))
            self._prepare_anew()
        return self

    def _must_look_at(self, log: CheckedLog) -> bool:
        """Tell whether the features of a judged log may hold what this policy refuses."""
        is_taken = log.is_finite or takes_missing(self._learner(), sparse=is_sparse(log.X))
        is_unknown = isinstance(log.X, np.ndarray) and log.X.dtype == object  # as `evaluate` may be given it
        return self._largest_size is not None or is_unknown or not is_taken

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the policy's former state if a fit fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _check_settings(self) -> None:
        check_range(self.reward_range)
        check_n_jobs(getattr(self, "n_jobs", None))
        check_learner(self._learner(), self._learner_kind, "estimator")

    def _judge(
        self, X: Features, *columns: Any, available: Any = None, first: bool = True, checked: bool = False, **how: bool
    ) -> CheckedLog:
        """Judge a log: action, reward and propensity, and X as `how` says to `_checked` unless it is `checked`.

        The `first` log fixes features and actions for later ones.
        """
        if hasattr(X, "arrays") and hasattr(X, "propensity"):
            raise LogError("fit takes the parts of a log, not the log itself: write fit(**log.arrays()).")
        self._check_settings()
        if first:
            X = check_features(self, X, learner=self._learner(), reset=True, within=self._largest_size)
        elif not checked:
            X = self._checked(X, **how)
        judged = judge_columns(count_rows(X), *columns)
        check_reward_within(judged.reward, self.reward_range)
        actions = find_actions(judged.action, self.actions) if first else self.actions_
        return self._noted(CheckedLog.of(X, judged, actions, self.reward_range, available), first=first)

    def _noted(self, log: CheckedLog, *, first: bool = True) -> CheckedLog:
        """Note what must be known of a log after learning from it; warn if the outcome was left among the features."""
        if first:
            self.actions_ = log.actions
            # For `decide` with a mapping: the columns and dtypes of the fitted frame; None if learners get arrays.
            self._frame_like = take_rows(log.X, np.arange(0)) if is_frame(log.X) else None
        for name, values in (("reward", log.reward), ("propensity", log.propensity)):
            varies = values.strides != (0,) and bool((values != values[0]).any())
            # In very few rows it may be chance.
            if len(values) >= 64 and varies and (column := equal_column(log.X, values)) is not None:
                warn_caller(
                    f"{column} of X equals the {name} in every row. It will not be known when a decision is taken: "
                    "leave it out of X."
                )
        if self._remembers_rows:
            self._trained_on = remember_rows(log.X, log.reward, None if first else self._trained_on)
        if first:
            self._prepare_anew()
        return log

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
        columns = judge_columns(count_rows(X), action, reward, propensity)
        logged = encode_actions(columns.action, self.actions_)
        weight = check_weight(sample_weight, len(logged)) / columns.propensity
        if available is None:
            return snips(self._positions(X) == logged, columns.reward, weight)
        check_available_to_log(available, logged, self.actions_)
        return snips(self._positions_among(X, available) == logged, columns.reward, weight)

    @property
    def compiled_(self) -> Any:
        """The flat form by which the policy decides; None where a learner is of a kind that cannot be flattened."""
        prepared = self._ready()
        if prepared is None:
            check_is_fitted(self)
            raise AttributeError("compiled_")
        model: Model | None = prepared.model
        return None if model is None else model.compiled() or model

    def _ready(self) -> Prepared | None:
        """Flatten the policy when it is first asked, so that fitting does not pay for it."""
        prepared: Prepared | None = self.__dict__.get("_prepared")
        if prepared is None or prepared.is_ready:
            return prepared
        from offsettree.reading import flatten  # here: the first decision pays for it, not the import

        try:
            prepared.model, prepared.inputs = flatten(self)
        except CannotFlatten:
            prepared.model = prepared.inputs = None
        else:
            if self._frame_like is None:
                prepared.fast, prepared.refused = prepared.model.fast(prepared.inputs.missing)
        prepared.finish(self.actions_)
        return prepared

    def _prepare_anew(self) -> None:
        """Drop what was made of the learners before; to be called when those that follow are in place."""
        self._prepared = Prepared()

    def _take_over(self, other: BasePolicy) -> None:
        """Become fitted to the log of another policy, as a part of it, as far as all policies are alike."""
        for name in ("actions_", "_frame_like", "n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self._prepared = Prepared(for_part=True)

    def __getstate__(self) -> dict[str, Any]:
        prepared: Prepared | None = self.__dict__.get("_prepared")
        if prepared is not None and not prepared.for_part and self._is_slow_to_flatten():
            self._ready()  # so that not every process that reads the pickle pays for it
        state: dict[str, Any] = super().__getstate__()
        return state

    def _is_slow_to_flatten(self) -> bool:
        """Tell whether to flatten the policy takes so long that a pickle should bring what came of it."""
        return False

    def _as_model(self, space: ColumnSpace) -> Model:
        """Return the fitted policy in flat arrays; `CannotFlatten` says what stands in the way."""
        raise CannotFlatten(type(self).__name__)

    def _as_numbers(self, frame: Features) -> Features:
        """Return a checked frame as the table of numbers that the flat model takes."""
        inputs = self._prepared.inputs
        return as_floats(frame) if inputs.nominal is None else inputs.nominal.encode(frame)

    def _flat_rows(self, X: Features) -> tuple[Model | None, Features]:
        """Return the flat model and X as it takes it; None and X as it is where learners must be asked."""
        prepared = self._ready()
        if prepared is None or prepared.model is None:
            return None, X
        rows = self._as_numbers(X) if is_frame(X) else X
        # A learner may let missing values pass, and refuse them further on: then it is the one to say so.
        is_taken = prepared.inputs.missing_in_sparse if is_sparse(rows) else prepared.inputs.missing
        values = rows.data if is_sparse(rows) else np.asarray(rows)
        if not is_taken and values.dtype.kind == "f" and takes_missing(self._learner(), sparse=is_sparse(rows)):
            return (None, X) if np.isnan(values).any() else (prepared.model, rows)
        return prepared.model, rows

    def _choose(self, X: Features) -> NDArray[np.intp]:
        model, rows = self._flat_rows(X)
        return self._ask(X) if model is None else model.choose(rows)

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        model, rows = self._flat_rows(X)
        return self._ask_within(X, mask) if model is None else model.choose_within(rows, mask)

    def _rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        model, rows = self._flat_rows(X)
        return self._ask_rank(X, n, mask) if model is None else model.rank(rows, n, mask)

    def _probabilities(self, X: Features, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        model, rows = self._flat_rows(X)
        return self._ask_probabilities(X, mask) if model is None else model.probabilities(rows, mask)

    def _ask(self, X: Features) -> NDArray[np.intp]:
        """Choose by asking the learners themselves: the slow path, where a policy cannot be flattened."""
        raise NotImplementedError(f"{type(self).__name__} must define _choose, or _ask.")

    def _ask_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Do as `_ask`, each row among the actions that its mask leaves."""
        if type(self)._ask_rank is not BasePolicy._ask_rank:
            return self._ask_rank(X, 1, mask)[:, 0]
        raise ParameterError(
            f"available must be None for {type(self).__name__}, which does not support masks. "
            "Use OffsetTree, OffsetForest or another policy learned by fit."
        )

    def _ask_rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return rank_by_choosing(
            lambda left: self._choose(X) if left is None else self._choose_within(X, left), len(self.actions_), n, mask
        )

    def _ask_probabilities(self, X: Features, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        return certain(self._choose(X) if mask is None else self._choose_within(X, mask), len(self.actions_))

    def _checked_row(self, x: Any) -> Features:
        check_is_fitted(self)
        row = as_one_row(x, getattr(self, "feature_names_in_", None), self._frame_like)
        if count_rows(row) != 1:
            raise FeatureError(f"decide takes one context; got {count_rows(row)} rows. Use predict for many.")
        return self._checked(row, names_expected=False)

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
    def _fit(self, *args: Any, **kwargs: Any) -> None:
        """Learn from a log: a subclass defines ``_fit(self, log)``, and is handed a `CheckedLog`."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        is_defined = not getattr(cls._fit, "__isabstractmethod__", False)
        if is_defined and getattr(cls._fit, "takes_both", None) is not cls._fit:  # its own, or of a class beside it
            cls._fit = with_log_or_parts(cls._fit)  # type: ignore[method-assign]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        take_over_input_tags(tags, self._learner())
        return tags


def is_ours(policy: Any, method: str) -> bool:
    """Tell whether a policy's method is of this package, and trusts a judged log; others get the parts, as ever."""
    owner = next((each for each in type(policy).__mro__ if method in each.__dict__), None)
    return owner is not None and method not in vars(policy) and owner.__module__.startswith("offsettree.")


def snips(matched: NDArray[np.bool_], reward: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the self-normalised inverse-propensity estimate from the matched rows."""
    if not weight[matched].any():
        raise LogError(
            f"the policy's value cannot be estimated: in none of the {len(matched):,} rows was the action logged that "
            "the policy would choose. Use a log with more rows or more exploration."
        )
    return float(np.average(reward[matched], weights=weight[matched]))
