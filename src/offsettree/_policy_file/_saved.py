"""A policy that was read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._available import check_available, check_available_for_one, pieces
from offsettree._features import Features, as_one_row, check_numbers, count_rows, is_frame, is_sparse
from offsettree._fingerprint import Fingerprint
from offsettree._policy_file._inputs import Inputs
from offsettree._policy_file._models import Model
from offsettree._policy_file._plane_contests import PlaneContests
from offsettree._policy_file._tournaments import Tournaments
from offsettree.compiled._one_row import label_function
from offsettree.compiled.layout import HAS_INFINITY, HAS_NAN
from offsettree.exceptions import FeatureError, ParameterError

__all__ = ["SavedPolicy"]


class SavedPolicy:
    """A policy as `offsettree.load` returns it: decides as the one that was saved, without scikit-learn.

    It does not learn. Where an encoder was saved with it, rows are raw: frames, pyarrow tables, mappings of column
    names to values, lists of them; an array is taken to be encoded already.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    manifest : dict
        What the file says of itself: format, learner, training, estimate; see `docs/policy-file.md`.
    encoder : TableEncoder or None
        What turns raw rows into numbers.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import offsettree
    >>> from offsettree import OffsetTree
    >>> X, action = [[0.0], [0.0], [1.0], [1.0]] * 20, ["call", "mail", "call", "mail"] * 20
    >>> policy = OffsetTree(random_state=0).fit(X, action, reward=[1, 0, 0, 1] * 20, propensity=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     offsettree.save(policy, pathlib.Path(folder) / "policy.ot")
    ...     saved = offsettree.load(pathlib.Path(folder) / "policy.ot")
    >>> saved.decide([1.0]), saved.manifest["learner"]["class"]
    ('mail', 'OffsetTree')
    """

    _frame_like = None

    def __init__(
        self,
        model: Model | None,
        inputs: Inputs,
        actions: NDArray[Any],
        manifest: dict[str, Any],
        encoder: Any = None,
        trained_on: Fingerprint | None = None,
    ) -> None:
        self.actions_ = actions
        self.manifest = manifest
        self.encoder = encoder
        self.n_features_in_ = inputs.n_features
        if inputs.name_array is not None:
            self.feature_names_in_ = inputs.name_array
        self._model: Any = model
        self._inputs = inputs
        self._trained_on = trained_on  # by which `evaluate` notices rows that were learned from
        self._label_of: Any = None
        self._original: Any = None  # where it was written by other means than arrays

    @property
    def classes_(self) -> NDArray[Any]:
        """The actions, by the name under which scikit-learn's tools look for them."""
        return self.actions_

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the action chosen for each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame; raw rows where there is an encoder
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from, in the order of `actions_`: at least one in every row. By default
            all. Policies that learn online choose among all.
        """
        return np.asarray(self.actions_[self._positions(X, available)])

    def predict_proba(self, X: Features, available: Any = None) -> NDArray[np.float64]:
        """Return the probability of each action, as the policy that was saved does: shares of votes for a forest.

        Parameters
        ----------
        X, available
            As in `predict`.
        """
        X = self._checked(X)
        if self._original is not None:
            return np.asarray(self._original.predict_proba(X, available))
        n_rows = count_rows(X)
        sets = None if available is None else check_available(available, n_rows, self.actions_)
        probability = np.empty((n_rows, len(self.actions_)))
        for rows in pieces(n_rows, len(self.actions_)):
            probability[rows] = self._model.probabilities(X[rows], None if sets is None else sets.part(rows))
        return probability

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context. An array of one dimension is the fastest.
        available : labels, or truth values in the order of `actions_`, optional
            The actions there are to choose from. By default all.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        if self._original is not None:
            return self._original.decide(x if self.encoder is None else self._checked(self._one_row(x)), available)
        if available is None:
            label_of = self._label_of or self._prepare_labels()
            label = label_of(x if self.encoder is None or type(x) is not dict else self.encoder.encode_row(x))
            if label is not None:
                return label
        row = self._checked(self._one_row(x))
        if count_rows(row) != 1:
            raise FeatureError(f"decide takes one context; got {count_rows(row)} rows. Use predict for many.")
        if available is None:
            position = self._model.choose(row)
        else:
            position = self._model.choose_within(row, check_available_for_one(available, self.actions_).dense())
        return self.actions_[position[0]].item()

    def rank(self, X: Features, n: int, available: Any = None) -> NDArray[Any]:
        """Return the n best actions for each row, best first, of shape (n_rows, n).

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame; raw rows where there is an encoder
            The contexts.
        n : int
            How many, from 1 to the number of actions.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
            Which actions there are to choose from, as in `predict`: at least n in every row.
        """
        n_actions = len(self.actions_)
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= n_actions:
            raise ParameterError(
                f"n must be a whole number from 1 to the number of actions, which is {n_actions}; got {n!r}."
            )
        X = self._checked(X)
        if self._original is not None:
            return np.asarray(self._original.rank(X, n, available))
        n_rows = count_rows(X)
        sets = None if available is None else check_available(available, n_rows, self.actions_, int(n))
        position = np.empty((n_rows, n), dtype=np.intp)
        for rows in pieces(n_rows, n_actions):
            position[rows] = self._model.rank(X[rows], int(n), None if sets is None else sets.part(rows))
        return np.asarray(self.actions_[position])

    def on_numbers(self) -> SavedPolicy:
        """Return the same policy without its encoder: it takes the numbers that the encoder would make."""
        other = copy(self)
        other.encoder = None
        other._label_of = None
        return other

    def _positions(self, X: Features, available: Any = None) -> NDArray[np.intp]:
        X = self._checked(X)
        if self._original is not None:
            original = self._original
            return np.asarray(original._positions(X) if available is None else original._positions_among(X, available))
        if available is None:
            return np.asarray(self._model.choose(X))
        sets = check_available(available, count_rows(X), self.actions_)
        position = np.empty(count_rows(X), dtype=np.intp)
        for rows in pieces(*sets.mask.shape):
            position[rows] = self._model.choose_within(X[rows], sets.part(rows))
        return position

    def _positions_among(self, X: Features, available: Any) -> NDArray[np.intp]:
        return self._positions(X, available)

    def _checked(self, X: Features) -> Features:
        """Return X as the model takes it: raw rows encoded, and everything judged."""
        if self.encoder is not None and not isinstance(X, np.ndarray) and not is_sparse(X):
            encoded = self.encoder.encode(X)
            # Kernels trust the width: a narrower table would be read beyond its end.
            if encoded.shape[1] != self._inputs.n_columns:
                raise FeatureError(
                    f"the encoder must make as many columns as the policy takes, {self._inputs.n_columns}; it makes "
                    f"{encoded.shape[1]}. Use the encoder that the policy was loaded with."
                )
            return check_numbers(encoded, None, allow_nan=self._inputs.missing)
        if self._original is not None:
            return X  # judged by the policy itself
        return self._inputs.checked(X)

    def _one_row(self, x: Any) -> Any:
        if self.encoder is not None and (isinstance(x, Mapping) or not _is_plain_row(x)):
            if hasattr(x, "to_dict") and hasattr(x, "index") and not is_frame(x):  # a row of a pandas frame
                x = x.to_dict()
            return x
        if self._inputs.nominal is not None and not is_frame(x):
            return self._inputs.nominal.one_row(x)
        return as_one_row(x, self._inputs.name_array, None)

    def _prepare_labels(self) -> Any:
        """Make the function from a context to its label; None stands for what `decide` must look at more closely."""
        compiled = self._model.compiled()
        if compiled is None or self._inputs.nominal is not None:
            self._label_of = _nothing
        else:
            plane = isinstance(self._model, Tournaments) and isinstance(self._model.contests, PlaneContests)
            refused = HAS_INFINITY if self._inputs.missing and not plane else HAS_INFINITY | HAS_NAN
            self._label_of = label_function(compiled, refused, self.n_features_in_, self.actions_.tolist())
        return self._label_of

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_label_of": None}

    def __repr__(self) -> str:
        learner = self.manifest.get("learner")
        name = learner.get("class") if isinstance(learner, dict) else None
        return f"<SavedPolicy: {name}, {len(self.actions_)} actions, {self.n_features_in_} features>"


def _nothing(_: Any) -> None:
    return None


def _is_plain_row(x: Any) -> bool:
    return (
        isinstance(x, np.ndarray)
        or is_sparse(x)
        or (isinstance(x, list | tuple) and not any(isinstance(each, Mapping) for each in x[:1]))
    )
