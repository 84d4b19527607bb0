"""What every policy does, live or loaded from a file: choose among actions. Without scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available, check_available, check_available_for_one, pieces
from offsettree._features import Features, count_rows, is_frame, take_rows
from offsettree._one_row import label_function
from offsettree._texts import take_texts
from offsettree._validation import is_whole
from offsettree.exceptions import ParameterError

__all__ = ["Policy", "Prepared"]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(eq=False)
class Prepared:
    """What a policy decides by, made when it first decides and dropped when it learns again.

    Two threads may make it at once: both make the same, and one of the two is kept.
    """

    for_part: bool = False  # of a policy that is a part of another one, which is pickled as a whole
    is_ready: bool = False
    model: Any = None  # of `offsettree.models`; None where learners must be asked
    inputs: Any = None
    fast: Any = None  # a `CompiledTree`, for rows that nobody has looked at
    refused: int = 0  # what it must not find in them
    label_of: Callable[[Any], Any] | None = None
    labels_are_positions: bool = False

    def finish(self, actions: NDArray[Any]) -> None:
        """Mark as ready, for these labels."""
        self.labels_are_positions = actions.dtype == np.intp and np.array_equal(actions, np.arange(len(actions)))
        self.is_ready = True

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"label_of": None}


class Policy(ABC):
    """Chooses one of `actions_` for every context.

    A subclass checks rows (`_checked`, `_checked_row`) and chooses for those that were checked (`_choose`,
    `_choose_within`, `_rank`, `_probabilities`). What it has in `_prepared` decides on plain arrays at once.
    """

    actions_: NDArray[Any]
    n_features_in_: int

    _expects_names = False  # whether to warn of a table without them, where there were names in fit

    @property
    def classes_(self) -> NDArray[Any]:
        """The actions, by the name under which scikit-learn's tools look for them."""
        return self.actions_

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the action chosen for each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame, Dask dataframe
            The contexts; raw rows where a policy was loaded with an encoder. A Dask dataframe is decided on lazily:
            the result is a series of Dask.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from, in the order of `actions_`: at least one in every row. By default
            all, which is faster.
        """
        if type(X) is not np.ndarray and _is_of_dask(X):
            lazy: NDArray[Any] = self._predict_lazily(X, available)  # of Dask, but used alike
            return lazy
        position = self._positions(X) if available is None else self._positions_among(X, available)
        prepared = self.__dict__.get("_prepared")
        # To look up 0 as the label of 0 is a tenth of the time that a thousand decisions take.
        if prepared is not None and prepared.labels_are_positions:
            return position
        return take_texts(self.actions_, position)

    def _predict_lazily(self, X: Any, available: Any) -> Any:
        """Return the decisions on a Dask dataframe, to be made where its partitions are."""
        if available is not None:
            raise ParameterError(
                "available must be None for a Dask dataframe, whose partitions are decided on by themselves; call "
                "map_partitions with a function that has its own."
            )
        kind = self.actions_.dtype if self.actions_.dtype.kind in "iu" else np.dtype(object)
        return X.map_partitions(_decided_part, self, meta=("decision", kind), enforce_metadata=False)

    def predict_proba(self, X: Features, available: Any = None) -> NDArray[np.float64]:
        """Return the probability with which each action is taken, in the order of `actions_`.

        Of a forest, these are the shares of the trees that vote for each action; of Banditron, those of its
        exploration. Other policies are deterministic: 1 for the action of `predict`, 0 for all others. The array has
        n_rows times n_actions numbers; prefer `predict` where there are many actions.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from, as in `predict`.
        """
        X = self._checked(X)
        n_rows, n_actions = count_rows(X), len(self.actions_)
        sets = None if available is None else check_available(available, n_rows, self.actions_)
        probability = np.empty((n_rows, n_actions))
        for rows in pieces(n_rows, n_actions):
            probability[rows] = self._probabilities(_part(X, rows), None if sets is None else sets.part(rows))
        return probability

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context. An array of one dimension is the fastest.
        available : labels, or truth values in the order of `actions_`, optional
            The actions there are to choose from. By default all, which is faster.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        prepared = self.__dict__.get("_prepared")
        if prepared is not None and available is None:
            label = (prepared.label_of or self._prepare_labels(prepared))(x)
            if label is not None:
                return label
        return self._decide_checked(x, available)

    def rank(self, X: Features, n: int, available: Any = None) -> NDArray[Any]:
        """Return the n best actions for each row, best first.

        The first is that of `predict`; each of the others is the one that the policy would choose if those before it
        were not available.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        n : int
            How many, from 1 to the number of actions.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from, as in `predict`: at least n in every row.

        Returns
        -------
        ndarray of shape (n_rows, n)
            Labels of `actions_`, no two of a row the same.
        """
        X = self._checked(X)
        n_actions = len(self.actions_)
        if not is_whole(n) or not 1 <= n <= n_actions:
            raise ParameterError(
                f"n must be a whole number from 1 to the number of actions, which is {n_actions}; got {n!r}."
            )
        n_rows = count_rows(X)
        sets = None if available is None else check_available(available, n_rows, self.actions_, int(n))
        position = np.empty((n_rows, n), dtype=np.intp)
        for rows in pieces(n_rows, n_actions):
            position[rows] = self._rank(_part(X, rows), int(n), None if sets is None else sets.part(rows))
        return take_texts(self.actions_, position)

    def _decide_checked(self, x: Any, available: Any) -> Any:
        """Decide on one context by the longer way, which looks at everything."""
        row = self._checked_row(x)
        if available is None:
            position = self._choose(row)
        else:
            position = self._choose_among(row, check_available_for_one(available, self.actions_))
        return self.actions_[position[0]].item()

    def _positions(self, X: Features) -> NDArray[np.intp]:
        """Check X and return the position in `actions_` of each row's action."""
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and (prepared := self._ready()) is not None
            and prepared.fast is not None
            and X.shape[1] == self.n_features_in_
            and len(X) > 0
            and not (self._expects_names and "feature_names_in_" in self.__dict__)
        ):
            # The checks left, for NaN and infinity, are made on the way. What they refuse gets its error below.
            position: NDArray[np.intp] | None = prepared.fast.choose_screening(X, prepared.refused)
            if position is not None:
                return position
        return self._choose(self._checked(X))

    def _positions_among(self, X: Features, available: Any) -> NDArray[np.intp]:
        X = self._checked(X)
        return self._choose_among(X, check_available(available, count_rows(X), self.actions_))

    def _choose_among(self, X: Features, sets: Available) -> NDArray[np.intp]:
        """Do as `_choose`, each row among its own actions, in pieces of which the mask can be written out."""
        position = np.empty(count_rows(X), dtype=np.intp)
        for rows in pieces(*sets.mask.shape):
            position[rows] = self._choose_within(_part(X, rows), sets.part(rows))
        return position

    def _prepare_labels(self, prepared: Prepared) -> Callable[[Any], Any]:
        """Make the function from a context to its label; None stands for what `decide` must look at more closely."""
        ready = self._ready()
        label_of: Callable[[Any], Any] = _nothing
        if ready is not None and ready.fast is not None:
            by_numpy = ready.fast.one_row_by_numpy(ready.refused)
            one_row = by_numpy or ready.fast.one_row(ready.refused)
            label_of = label_function(one_row, self.n_features_in_, self.actions_.tolist())
            if by_numpy is not None:
                return label_of  # and not kept: one of the next is compiled
        elif ready is not None and ready.model is not None and ready.inputs.nominal is not None:
            fast, refused = ready.model.fast(ready.inputs.missing)
            of_numbers = label_function(fast.one_row(refused), ready.inputs.n_columns, self.actions_.tolist())
            numbers_of = ready.inputs.nominal.quick_row()
            label_of = lambda x: of_numbers(numbers_of(x))  # noqa: E731
        prepared.label_of = label_of
        return label_of

    @abstractmethod
    def _ready(self) -> Prepared | None:
        """Return what the policy decides by, made if need be; None where it is not fitted."""

    @abstractmethod
    def _checked(self, X: Features) -> Features:
        """Return X checked, in the form that `_choose` takes."""

    @abstractmethod
    def _checked_row(self, x: Any) -> Features:
        """Return one context as a table of one row, checked."""

    @abstractmethod
    def _choose(self, X: Features) -> NDArray[np.intp]:
        """Return the position in `actions_` of each row's action, X being checked."""

    @abstractmethod
    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the position of each row's action, one of those that its mask leaves; X is checked."""

    @abstractmethod
    def _rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Return the positions of the n best actions; without a mask, of all."""

    @abstractmethod
    def _probabilities(self, X: Features, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """Return the probability of every action."""


def _nothing(_: Any) -> None:
    return None


def _part(X: Features, rows: slice) -> Features:
    """Return some consecutive rows; X itself where these are all."""
    if rows.stop - rows.start == count_rows(X):
        return X
    return take_rows(X, np.arange(rows.start, rows.stop)) if is_frame(X) else X[rows]


def _is_of_dask(X: Any) -> bool:
    return type(X).__module__.startswith("dask") and hasattr(X, "map_partitions")


def _decided_part(frame: Any, policy: Policy) -> Any:
    """Return a series of the decisions on one partition."""
    chosen = policy.predict(frame) if len(frame) else np.empty(0, dtype=policy.actions_.dtype)
    return type(frame.iloc[:, 0])(chosen, index=frame.index, name="decision")
