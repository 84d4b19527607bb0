"""Base of online policies: rows are checked, then learned from by kernels, in chunks or one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import SGDClassifier
from sklearn.utils.metadata_routing import UNUSED

from offsettree._features import Features, as_one_row, check_features, check_numbers, count_rows, is_frame
from offsettree._labels import find_actions
from offsettree._validation import LEAST_PROPENSITY, check_range, check_whole, is_number
from offsettree.base import BasePolicy
from offsettree.exceptions import FeatureError, ParameterError
from offsettree.logs import CheckedLog
from offsettree.online._kernel_calls import KernelCalls
from offsettree.online._layout import KINDS, LARGEST, WIDTH

ADAPTIVE_RATE = 0.5
LABELS = (int, str, np.int64, np.str_)
NUMBERS = (float, int, np.float64, np.float32, np.int64)


class OnlinePolicy(KernelCalls, BasePolicy):
    """Base of policies that learn row by row; a subclass creates a model of flat arrays and names its kernels.

    A chunk is checked as a whole before any of it is learned from: a refused chunk leaves the policy unchanged.
    """

    estimator = None
    _largest_size = LARGEST
    _remembers_rows = False  # progressive validation decides on rows before learning from them
    # Decides what X may hold: numbers without gaps, dense or sparse.
    _default_learner = SGDClassifier

    __metadata_request__partial_fit = {"action": UNUSED, "reward": True, "propensity": True}  # noqa: RUF012

    @abstractmethod
    def _new_model(self, n_features: int) -> Any:
        """Return a model that has learned nothing."""

    def partial_fit(
        self,
        X: Features,
        action: ArrayLike | None = None,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> Self:
        """Learn from further rows of a log, in their order; `actions` must be given.

        The result does not depend on how the rows are split into chunks. A chunk with any error is refused as a whole.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            What was known when each decision was taken.
        action : array of shape (n_rows,)
            The chosen actions: labels of `actions`. Required.
        reward : array of shape (n_rows,)
            Their rewards, within `reward_range`. Required.
        propensity : array of shape (n_rows,) or float
            The probability with which each was chosen, in (0, 1]. Required.
        """
        return self._learn_checked(X, action, reward, propensity, names_expected=True)

    def learn(self, x: Any, action: Any, reward: float, propensity: float) -> Self:
        """Learn from one row: the same as `partial_fit` on that row, but much faster for an array.

        Parameters
        ----------
        x : array of n_features numbers, other sequence, mapping of feature names to values, or X of one row
            The context.
        action : label
            The action taken.
        reward : float
            Its reward.
        propensity : float
            The probability with which it was chosen.
        """
        checks = self.__dict__.get("_row_checks")
        if checks is not None:
            position_of, low, high, _ = checks
            position = position_of.get(action) if type(action) in LABELS else None
            if (
                position is not None
                and type(reward) in NUMBERS
                and type(propensity) in NUMBERS
                and low <= reward <= high
                and LEAST_PROPENSITY < propensity <= 1
                and (row := self._row_for_kernel(x)) is not None
                and (model := self._model).weights.flags.writeable
                and self._kernels.learn_one(
                    position, (float(reward) - low) / (high - low), float(propensity), *model, *row
                )
            ):
                return self
        with self._all_or_nothing():
            if "_model" in self.__dict__:
                row = as_one_row(x, getattr(self, "feature_names_in_", None), None)
            else:
                row = self._start_with_row(x)
            if count_rows(row) != 1:
                raise FeatureError(f"learn takes one row; got {count_rows(row)}. Use partial_fit for many.")
            return self._learn_checked(row, [action], [reward], [propensity], names_expected=False)

    def _learn_checked(self, X: Features, *columns: Any, names_expected: bool) -> Self:
        with self._all_or_nothing():
            is_first = "_model" not in self.__dict__
            numbers = not _is_plain(X)
            if is_first:
                X = self._start(X, numbers=numbers)
            self._refuse_changes()
            self._cache_row_checks()
            how = {"names_expected": names_expected, "numbers": numbers}
            rows = self._judge(X, *columns, first=False, checked=is_first, **how).parts()[:4]
            if not numbers and self._can_check_afterwards(rows[0]):
                self._learn_then_check(*rows)
            else:
                if not numbers:
                    self._check_values(rows[0])
                self._learn(*rows)
        return self

    def _can_check_afterwards(self, X: NDArray[Any]) -> bool:
        """Whether bad values would show in the model, and copying the model is faster than checking X."""
        size = sum(array.nbytes for array in self._model if array is not None)
        return getattr(self._model, "scales", None) is not None and 4 * size <= X.nbytes

    def _learn_then_check(self, X: NDArray[Any], *columns: Any) -> None:
        """Learn from unchecked rows; if the model then shows a bad value, restore it and refuse the rows."""
        self._make_writable()
        before = [None if array is None else array.copy() for array in self._model]
        self._learn(X, *columns)
        # A value too large makes a scale too small, and NaN makes the totals NaN.
        smallest_scale = np.float32(1) / np.float32(self._largest_size)
        if np.isfinite(self._model.totals).all() and self._model.scales.min() >= smallest_scale:
            return
        for array, copied in zip(self._model, before, strict=True):
            if array is not None:
                array[...] = copied
        self._check_values(X)
        raise FeatureError("X must hold finite numbers. Remove those that are not.")  # pragma: no cover

    def _check_values(self, X: NDArray[Any]) -> None:
        check_numbers(X, getattr(self, "feature_names_in_", None), allow_nan=False, within=self._largest_size)

    def choose(self, x: Any) -> tuple[Any, float]:
        """Return the action for one context, and the probability with which it was chosen: always 1."""
        if "_model" not in self.__dict__:
            with self._all_or_nothing():
                self._start_with_row(x)
        return self.decide(x), 1.0

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context. A one-dimensional array is fastest.
        available : labels, or truth values in the order of `actions_`, optional
            The available actions. By default all. A boolean array is fastest.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        if "_row_checks" in self.__dict__ and (row := self._row_for_kernel(x)) is not None:
            model = self._model.for_choosing()
            position = self._kernels.choose_one(*model, *row)
            if position >= 0 and available is not None:
                position = self._within_mask(position, model, row, available)
            if position >= 0:
                return self._labels[position]
        if "_model" in self.__dict__:
            # Not inside _all_or_nothing, which restores the state on an error: another thread may be learning.
            self._cache_row_checks()
            return super().decide(x, available)
        with self._all_or_nothing():
            if self.actions is not None:
                x = self._start_with_row(x)
            return super().decide(x, available)

    def _ready(self) -> None:
        """Decide by the weights that learn, whatever was the case at the last decision: there is nothing to keep."""

    def _fit(self, log: CheckedLog) -> None:
        if log.available is not None:
            raise ParameterError(
                f"available must be None for {type(self).__name__}, which assumes that all actions are available. Use "
                "OffsetTree, whose partial_fit takes a mask."
            )
        self._start_model(log.X)
        self._learn(*log.parts()[:4])

    def _start(self, X: Features, *, numbers: bool = True) -> Features:
        """Create an empty model for rows of this form, and return the rows checked."""
        if self.actions is None:
            raise ParameterError(
                f"{type(self).__name__} must know all actions before the first row: give actions=[...]."
            )
        self.actions_ = find_actions(np.empty(0), self.actions)
        X = check_features(self, X, learner=self._learner(), reset=True, within=self._largest_size, numbers=numbers)
        self._frame_like = None
        self._start_model(X)
        return X

    def _start_with_row(self, x: Any) -> Any:
        """Create an empty model for a first context, and return the context as one row."""
        if hasattr(x, "to_dict") and hasattr(x, "index") and not is_frame(x):  # a row of a pandas frame
            x = x.to_dict()
        names = list(x) if isinstance(x, Mapping) else None
        row = as_one_row(x, None if names is None else np.array(names, dtype=object), None)
        self._start(row)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        return row

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_") and not name.endswith("_"):
            # A parameter changed. Take the slow path, which refuses changes once learning has begun.
            self.__dict__.pop("_row_checks", None)

    def _settings(self) -> tuple[Any, ...]:
        """Return the parameters that the model depends on."""
        return tuple(self.reward_range) if np.iterable(self.reward_range) else ()

    def _refuse_changes(self) -> None:
        if self._settings() != self._model_settings:
            raise ParameterError(
                f"parameters of a {type(self).__name__} must not change once it has begun to learn. Start again: clone "
                "it, or call fit."
            )

    def _start_model(self, X: Features) -> None:
        self._range = check_range(self.reward_range)
        self._model_settings = self._settings()
        self._model = self._new_model(X.shape[1])
        self._width = int(self._model.layout[WIDTH])
        self._labels = self.actions_.tolist()
        self.__dict__.pop("_row_checks", None)
        self._cache_row_checks()

    def _cache_row_checks(self) -> None:
        """Cache what the fast path for single rows checks by, until a parameter changes."""
        if "_row_checks" not in self.__dict__ and self._settings() == self._model_settings:
            position_of = {label: position for position, label in enumerate(self._labels)}
            self._row_checks = (position_of, *self._range, self.n_features_in_)


def _is_plain(X: Any) -> bool:
    """Whether X is an array that kernels take as it is."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in KINDS and X.flags.c_contiguous


def check_rate(learning_rate: Any) -> float:
    """Return the rate given by a learner's `learning_rate`."""
    if isinstance(learning_rate, str) and learning_rate == "adaptive":
        return ADAPTIVE_RATE
    if not is_number(learning_rate) or not 0 < learning_rate <= 1e6:
        raise ParameterError(
            f"learning_rate must be 'adaptive' or a number above 0, at most 1e6; got {learning_rate!r}."
        )
    return float(learning_rate)


def check_bits(n_bits: Any) -> int | None:
    """Return `n_bits`, checked."""
    if n_bits is None:
        return None
    check_whole("n_bits", n_bits, 1, 32)
    return int(n_bits)
