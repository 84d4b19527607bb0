"""What online policies share: rows are judged, then learned from in compiled code, in chunks or one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import SGDClassifier
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from offsettree._available import Available
from offsettree._features import Features, as_one_row, check_features, check_numbers, count_rows, is_frame
from offsettree._validation import check_range, find_actions
from offsettree.base import BasePolicy
from offsettree.exceptions import FeatureError, ParameterError
from offsettree.models import over_csr, over_tables
from offsettree.online._layout import (
    KINDS,
    LARGEST,
    N_FEATURES,
    N_MODELS,
    N_WEIGHTS,
    SHIFT,
    WIDTH,
    longest_row,
    room_for,
    table_of,
)

__all__ = ["OnlinePolicy"]

CSR = (sp.csr_matrix, sp.csr_array)
LABELS = (int, str, np.int64, np.str_)
NUMBERS = (float, int, np.float64, np.float32, np.int64)


class OnlinePolicy(BasePolicy):
    """Base of policies that learn row by row: a subclass makes a model of flat arrays and names its kernels.

    A chunk is judged as a whole before any of it is learned from: what is refused leaves the policy as it was.
    """

    estimator = None
    _largest_size = LARGEST
    _folds = False  # whether there are kernels that choose from a table of weights times scales
    _remembers_rows = False  # most rows are decided on before they are learned from
    # For what X may hold: numbers without gaps, dense or sparse.
    _default_learner = SGDClassifier

    # The numbers of the model, in the form that the kernels take; and their module, with learn_rows, learn_one,
    # choose_rows, choose_one and run.
    _model: Any
    _kernels: Any

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
        """Go on learning from some more rows of a log, in their order; `actions` must have been named.

        The result does not depend on how the rows are cut into chunks. A chunk with anything wrong in it is refused
        whole.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            What was known when each decision was taken.
        action : array of shape (n_rows,)
            What was chosen: labels of `actions`. Must be given.
        reward : array of shape (n_rows,)
            What the chosen action earned, within `reward_range`. Must be given.
        propensity : array of shape (n_rows,) or float
            The probability with which it was chosen, in (0, 1]. Must be given.
        """
        return self._learn_checked(X, action, reward, propensity, names_expected=True)

    def learn(self, x: Any, action: Any, reward: float, propensity: float) -> Self:
        """Learn from one row: the same as `partial_fit` with a table of that row, and much faster for an array.

        Parameters
        ----------
        x : array of n_features numbers, other sequence, mapping of feature names to values, or X of one row
            The context.
        action : label
            What was done.
        reward : float
            What it earned.
        propensity : float
            The probability with which it was chosen.
        """
        known = self.__dict__.get("_known")
        if known is not None:
            position_of, low, high, _ = known
            position = position_of.get(action) if type(action) in LABELS else None
            if (
                position is not None
                and type(reward) in NUMBERS
                and type(propensity) in NUMBERS
                and low <= reward <= high
                and 1e-300 < propensity <= 1
                and (row := self._row_for_kernel(x)) is not None
                and (model := self._model).weights.flags.writeable
                and self._kernels.learn_one(
                    *model, *row, position, (float(reward) - low) / (high - low), float(propensity)
                )
            ):
                return self
        with self._all_or_nothing():
            if "_model" in self.__dict__:
                row = as_one_row(x, getattr(self, "feature_names_in_", None), None)
            else:
                row = self._begin_with(x)
            if count_rows(row) != 1:
                raise FeatureError(f"learn takes one row; got {count_rows(row)}. Use partial_fit for many.")
            return self._learn_checked(row, [action], [reward], [propensity], names_expected=False)

    def _learn_checked(
        self,
        X: Features,
        action: ArrayLike | None,
        reward: ArrayLike | None,
        propensity: ArrayLike | None,
        *,
        names_expected: bool,
    ) -> Self:
        with self._all_or_nothing():
            is_first = "_model" not in self.__dict__
            numbers = not _is_plain(X)
            if is_first:
                X = self._begin(X, numbers=numbers)
            self._refuse_changes()
            self._remember()
            log = self._check_log(
                X,
                action,
                reward,
                propensity,
                first=False,
                names_expected=names_expected,
                checked=is_first,
                numbers=numbers,
            )
            X, position, gain, chance, _ = reversed(log)
            if not numbers and self._notices(X):
                self._learn_looking(X, position, gain, chance)
            else:
                if not numbers:
                    self._look_at(X)
                self._learn(X, position, gain, chance)
        return self

    def _notices(self, X: NDArray[Any]) -> bool:
        """Tell whether what is no number leaves a trace in the model, and to copy that is faster than to look at X."""
        size = sum(array.nbytes for array in self._model if array is not None)
        return getattr(self._model, "scales", None) is not None and 4 * size <= X.nbytes

    def _learn_looking(
        self,
        X: NDArray[Any],
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
    ) -> None:
        """Learn from rows that nobody has looked at; where one was no row of numbers, put all back and refuse them."""
        self._own_numbers()
        before = [None if array is None else array.copy() for array in self._model]
        self._learn(X, action, reward, propensity)
        # What is too large has left a scale that is too small, and what is no number sums that are none.
        smallest_scale = np.float32(1) / np.float32(self._largest_size)
        if np.isfinite(self._model.totals).all() and self._model.scales.min() >= smallest_scale:
            return
        for array, copied in zip(self._model, before, strict=True):
            if array is not None:
                array[...] = copied
        self._look_at(X)
        raise FeatureError("X must hold finite numbers. Look for those that are not.")  # pragma: no cover

    def _look_at(self, X: NDArray[Any]) -> None:
        check_numbers(X, getattr(self, "feature_names_in_", None), allow_nan=False, within=self._largest_size)

    def choose(self, x: Any) -> tuple[Any, float]:
        """Return the action for one context, and the probability with which it was chosen: this policy is certain."""
        if "_model" not in self.__dict__:
            with self._all_or_nothing():
                self._begin_with(x)
        return self.decide(x), 1.0

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context. An array of one dimension is the fastest.
        available : labels, or truth values in the order of `actions_`, optional
            The actions there are to choose from. By default all. An array of truth values is the fastest.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        if "_known" in self.__dict__ and (row := self._row_for_kernel(x)) is not None:
            model = self._model.for_choosing()
            position = self._kernels.choose_one(*model, *row)
            if position >= 0 and available is not None:
                position = self._within_mask(position, model, row, available)
            if position >= 0:
                return self._labels[position]
        if "_model" in self.__dict__:
            # Nothing is put back where the context is refused: another thread may be learning meanwhile.
            self._remember()
            return super().decide(x, available)
        with self._all_or_nothing():
            if self.actions is not None:
                x = self._begin_with(x)
            return super().decide(x, available)

    def _ready(self) -> None:
        """Decide by the weights that learn, whatever was the case at the last decision: there is nothing to keep."""

    def _fit(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
        available: Available | None = None,
    ) -> None:
        if available is not None:
            raise ParameterError(
                f"available must be None for {type(self).__name__}, which learns with all actions to choose from. Use "
                "OffsetTree, whose partial_fit takes a mask."
            )
        self._make_ready(X)
        self._learn(X, action, reward, propensity)

    def _begin(self, X: Features, *, numbers: bool = True) -> Features:
        """Make an empty model for rows such as these, and return them checked."""
        if self.actions is None:
            raise ParameterError(
                f"{type(self).__name__} must know all actions before the first row: name them, actions=[...]."
            )
        self.actions_ = find_actions(np.empty(0), self.actions)
        X = check_features(self, X, learner=self._learner(), reset=True, within=self._largest_size, numbers=numbers)
        self._frame_like = None
        self._make_ready(X)
        return X

    def _begin_with(self, x: Any) -> Any:
        """Be ready for a first context, before anything was learned; return it as one row."""
        if hasattr(x, "to_dict") and hasattr(x, "index") and not is_frame(x):  # a row of a pandas frame
            x = x.to_dict()
        names = list(x) if isinstance(x, Mapping) else None
        row = as_one_row(x, None if names is None else np.array(names, dtype=object), None)
        self._begin(row)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        return row

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_") and not name.endswith("_"):
            # A parameter. What has begun to learn goes on with those it began with, or not at all: from now on by the
            # longer way, which looks.
            self.__dict__.pop("_known", None)

    def _settings(self) -> tuple[Any, ...]:
        """Return the parameters that a model is made by."""
        return tuple(self.reward_range) if np.iterable(self.reward_range) else ()

    def _refuse_changes(self) -> None:
        if self._settings() != self._made_by:
            raise ParameterError(
                f"parameters of a {type(self).__name__} that has begun to learn must not change. Start afresh: clone "
                "it, or call fit."
            )

    def _make_ready(self, X: Features) -> None:
        self._range = check_range(self.reward_range)
        self._made_by = self._settings()
        self._model = self._new_model(X.shape[1])
        self._width = int(self._model.layout[WIDTH])
        self._labels = self.actions_.tolist()
        self.__dict__.pop("_known", None)
        self._remember()

    def _remember(self) -> None:
        """Keep what single rows are judged by, as long as no parameter changes."""
        if "_known" not in self.__dict__ and self._settings() == self._made_by:
            position_of = {label: position for position, label in enumerate(self._labels)}
            self._known = (position_of, *self._range, self.n_features_in_)

    def _row_for_kernel(self, x: Any) -> tuple[Any, ...] | None:
        """Return a row that needs no more checks than a kernel for one row makes, and room for it; else None."""
        n_features = self._known[3]
        if type(x) is list or type(x) is tuple:
            try:
                x = np.asarray(x)
            except ValueError:  # ragged: let the error be that of the longer way
                return None
            x = x.astype(np.float64) if x.dtype.kind in "iu" else x
        if type(x) is np.ndarray:
            if x.shape == (n_features,) and x.dtype in KINDS:
                x = (x if x.flags.c_contiguous else np.ascontiguousarray(x)).reshape(1, n_features)
                return *self._room_for_one(n_features), x, None, None
        elif type(x) in CSR and x.shape == (1, n_features) and (data := x.data).dtype in KINDS:
            return *self._room_for_one(len(data)), data, x.indices, x.indptr
        return None

    def _within_mask(self, position: int, model: Any, row: tuple[Any, ...], available: Any) -> int:
        """Return the best that a plain mask leaves, `position` being the best of all; -1 where it needs more checks."""
        if type(available) is not np.ndarray or available.dtype != bool or available.shape != (len(self._labels),):
            return -1
        if available[position]:
            return position  # whoever wins against all wins against some
        if not available.any():
            return -1
        out = np.empty(1, dtype=np.intp)
        self._kernels.choose_within(*model, *row, np.ascontiguousarray(available[np.newaxis]), out)
        return int(out[0])

    def _own_numbers(self) -> None:
        """Copy a model that cannot be written to, such as one mapped from a file, before learning goes on."""
        if not self._model.weights.flags.writeable:
            self._model = type(self._model)(*(None if array is None else array.copy() for array in self._model))

    def _room_for_one(self, n_entries: int) -> tuple[int, NDArray[np.uint64] | None]:
        # Threads may decide at the same time: no room of its own for what they write to.
        return (self._width, None) if self._width else (n_entries + 1, np.empty(n_entries + 1, np.uint64))

    def _learn(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
    ) -> None:
        self._own_numbers()
        table = table_of(self._model.layout, X)
        self._kernels.learn_rows(*self._model, *table, action, reward, np.ascontiguousarray(propensity))

    def _run(
        self,
        X: Features,
        label: NDArray[np.intp] | None,
        rewards: NDArray[np.float64],
        rates: NDArray[np.float64],
        draws: NDArray[np.float64],
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Decide, explore and learn row by row; return the actions, as positions, and their propensities.

        The rewards are a table with a column per action; or, where there are labels, one row: for a miss, for a hit.
        """
        n_rows = len(rates)
        chosen, reward, propensity = np.empty(n_rows, dtype=np.intp), np.empty(n_rows), np.empty(n_rows)
        self._own_numbers()
        table = table_of(self._model.layout, X)
        self._kernels.run(*self._model, *table, label, rewards, rates, draws, chosen, reward, propensity)
        return chosen, propensity

    def _choose(self, X: Features) -> NDArray[np.intp]:
        check_is_fitted(self, "_model")
        kernels, model, layout = self._kernels, self._model.for_choosing(), self._model.layout
        out = np.empty(count_rows(X), dtype=np.intp)
        n_features = X.shape[1]

        def walk_table(values: NDArray[Any], first: int, last: int) -> int:
            table = values.reshape(-1, n_features), None, None
            kernels.choose_rows(*model, *room_for(layout, n_features), *table, out[first:last])
            return 0

        def walk_csr(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], first: int, last: int) -> int:
            room = room_for(layout, longest_row(indptr))
            if table is None:
                kernels.choose_rows(*model, *room, data, indices, indptr, out[first:last])
            else:
                kernels.choose_from_table(*model, table, *room, data, indices, indptr, out[first:last])
            return 0

        if hasattr(X, "indptr"):
            table = self._folded(X.nnz)
            over_csr(walk_csr, X, KINDS)
        else:
            over_tables(walk_table, X, KINDS)
        return out

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        check_is_fitted(self, "_model")
        position = np.empty(len(mask), dtype=np.intp)
        self._kernels.choose_within(
            *self._model.for_choosing(), *table_of(self._model.layout, X), np.ascontiguousarray(mask), position
        )
        return position

    def _folded(self, n_entries: int) -> NDArray[np.float32] | None:
        """Return weights times scales where to make them takes less time than so many entries of lists; else None."""
        layout = self._model.layout
        if layout[WIDTH] > 0 or layout[SHIFT] > 0 or layout[N_WEIGHTS] > n_entries or not self._folds:
            return None
        table = np.empty((int(layout[N_FEATURES]) + 1, int(layout[N_MODELS])), dtype=np.float32)
        self._kernels.fold(layout, self._model.weights, self._model.scales, table)
        return table


def _is_plain(X: Any) -> bool:
    """Tell whether X is an array that kernels take as it is."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in KINDS and X.flags.c_contiguous
