"""A policy that decides by a compiled form of itself, where it has one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features, is_frame
from offsettree._traits import takes_missing
from offsettree.base import BasePolicy
from offsettree.models._one_row import label_function
from offsettree.models.layout import HAS_INFINITY, HAS_NAN, CompiledTree

__all__ = ["CompilablePolicy"]


FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class _Prepared:
    """What is made on first use and lives as long as the fit; kept out of the policy's own attributes.

    Two threads may prepare the same at once; both get the same, and one of the two is kept.
    """

    def __init__(self, *, for_part: bool = False) -> None:
        self.for_part = for_part
        self.is_compiled = False
        self.compiled: CompiledTree | None = None
        self.refused = 0
        self.label_of: Callable[[Any], Any] | None = None
        self.labels_are_positions = False

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"label_of": None}


class CompilablePolicy(BasePolicy):
    """Base of policies that may be flattened: a subclass defines `_compile`, and `_ask_contests` for when it cannot.

    Flattening waits for the first decision, so that fitting does not pay for it; or for being pickled, where it is
    slow, so that not every process that reads the pickle pays for it.
    """

    _prepared: _Prepared

    @property
    def compiled_(self) -> CompiledTree | None:
        """The policy in flat arrays; None where a classifier is of a kind that cannot be flattened."""
        prepared: _Prepared | None = self.__dict__.get("_prepared")
        if prepared is None:
            check_is_fitted(self)
            raise AttributeError("compiled_")
        if not prepared.is_compiled:
            rows = self._frame_like
            prepared.compiled = self._compile() if rows is None or self._as_numbers(rows) is not None else None
            prepared.refused = HAS_INFINITY if takes_missing(self._learner()) else HAS_INFINITY | HAS_NAN
            prepared.labels_are_positions = self.actions_.dtype == np.intp and np.array_equal(
                self.actions_, np.arange(len(self.actions_))
            )
            prepared.is_compiled = True
        return prepared.compiled

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the action chosen for each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from, in the order of `actions_`: at least one in every row. By default
            all, which is faster.
        """
        if available is not None:
            return super().predict(X, available)
        position = self._positions(X)
        # To look up 0 as the label of 0 is a tenth of the time that a thousand decisions take.
        return position if self._prepared.labels_are_positions else np.asarray(self.actions_[position])

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
            label = (prepared.label_of or self._prepare_labels())(x)
            if label is not None:
                return label
        return super().decide(x, available)

    def _check_log(
        self,
        X: Features,
        action: ArrayLike | None,
        reward: ArrayLike | None,
        propensity: ArrayLike | None,
        available: Any = None,
        *,
        first: bool = True,
        **how: Any,
    ) -> list[Any]:
        log = super()._check_log(X, action, reward, propensity, available, first=first, **how)
        if first:
            self._prepare_anew()
        return log

    def _prepare_anew(self) -> None:
        """Drop what was made of the classifiers before; to be called when those that follow are in place."""
        self._prepared = _Prepared()

    def _take_over(self, other: BasePolicy) -> None:
        """Become fitted to the log of another policy, as a part of it, as far as all policies are alike."""
        for name in ("actions_", "_frame_like", "n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self._prepared = _Prepared(for_part=True)

    def __getstate__(self) -> dict[str, Any]:
        prepared: _Prepared | None = self.__dict__.get("_prepared")
        if prepared is not None and not prepared.for_part and self._is_slow_to_flatten():
            _ = self.compiled_
        state: dict[str, Any] = super().__getstate__()
        return state

    def _is_slow_to_flatten(self) -> bool:
        """Tell whether `_compile` must look into many classifiers."""
        return True

    def _positions(self, X: Features) -> NDArray[np.intp]:
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and "_prepared" in self.__dict__
            and X.shape[1] == self.n_features_in_
            and len(X) > 0
            and "feature_names_in_" not in self.__dict__
            and (compiled := self.compiled_) is not None
        ):
            # The checks left, for NaN and infinity, are made on the way. What they refuse gets its error below.
            position = compiled.choose_unless(X, self._prepared.refused)
            if position is not None:
                return position
        return super()._positions(X)

    def _choose(self, X: Features) -> NDArray[np.intp]:
        numbers = self._as_numbers(X) if is_frame(X) else X
        compiled = None if numbers is None else self.compiled_
        return self._ask_contests(X) if compiled is None else compiled.choose(numbers)

    def _prepare_labels(self) -> Callable[[Any], Any]:
        """Make the function from a context to its label; None stands for what `decide` must look at more closely."""
        compiled = self.compiled_
        if compiled is None or self._frame_like is not None:
            label_of: Callable[[Any], Any] = _nothing
        else:
            label_of = label_function(compiled, self._prepared.refused, self.n_features_in_, self.actions_.tolist())
        self._prepared.label_of = label_of
        return label_of

    @abstractmethod
    def _compile(self) -> CompiledTree | None:
        """Flatten the fitted policy, if that can be done."""

    def _as_numbers(self, frame: Features) -> Features | None:
        """Return a frame as the array that the compiled policy takes; None where the learners need the frame."""
        return None

    @abstractmethod
    def _ask_contests(self, X: Features) -> NDArray[np.intp]:
        """Choose by asking the classifiers themselves."""


def _nothing(_: Any) -> None:
    return None
