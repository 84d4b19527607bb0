"""A policy that was read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, as_one_row, check_kind, check_numbers, count_rows, is_frame, is_sparse
from offsettree._fingerprint import Fingerprint
from offsettree.exceptions import FeatureError
from offsettree.models import Inputs, Model
from offsettree.policy import Policy, Prepared

__all__ = ["SavedPolicy"]


class SavedPolicy(Policy):
    """A policy as `offsettree.load` returns it: decides as the one that was saved, without scikit-learn.

    It does not learn. Where an encoder was saved with it, rows are raw: frames, pyarrow tables, mappings of column
    names to values, lists of them; an array is taken to be encoded already.

    Parameters
    ----------
    model : Model or None
        What decides, of `offsettree.models`; None where there is an `original`.
    inputs : Inputs
        The columns that it takes, and what they may hold.
    actions : ndarray of shape (n_actions,)
        The labels.
    manifest : dict
        What the file says of itself.
    encoder : TableEncoder, optional
        What turns raw rows into numbers.
    trained_on : Fingerprint, optional
        By which `evaluate` notices rows that were learned from.
    original : policy, optional
        The policy itself, where it was written by other means than arrays.

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

    def __init__(
        self,
        model: Model | None,
        inputs: Inputs,
        actions: NDArray[Any],
        manifest: dict[str, Any],
        encoder: Any = None,
        trained_on: Fingerprint | None = None,
        original: Any = None,
    ) -> None:
        self.actions_ = actions
        self.manifest = manifest
        self.encoder = encoder
        self.n_features_in_ = inputs.n_features
        if inputs.names is not None:
            self.feature_names_in_ = np.array(inputs.names, dtype=object)
        self._model: Any = model
        self._inputs = inputs
        self._trained_on = trained_on  # by which `evaluate` notices rows that were learned from
        self._original = original  # where it was written by other means than arrays
        self._prepared = Prepared()

    def on_numbers(self) -> SavedPolicy:
        """Return the same policy without its encoder: it takes the numbers that the encoder would make."""
        other = copy(self)
        other.encoder = None
        return other

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context; see `Policy`. A dictionary of raw values is encoded by itself, fast."""
        if type(x) is dict and self.encoder is not None and self._model is not None:
            x = self.encoder.encode_row(x)
        return super().decide(x, available)

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
        if self._model is None:
            return X  # judged by the policy itself
        check_kind(X)
        return self._inputs.checked(X)

    def _checked_row(self, x: Any) -> Features:
        row = self._checked(self._one_row(x))
        if count_rows(row) != 1:
            raise FeatureError(f"decide takes one context; got {count_rows(row)} rows. Use predict for many.")
        return row

    def _one_row(self, x: Any) -> Any:
        if self.encoder is not None and (isinstance(x, Mapping) or not _is_plain_row(x)):
            if hasattr(x, "to_dict") and hasattr(x, "index") and not is_frame(x):  # a row of a pandas frame
                x = x.to_dict()
            return x
        if self._inputs.nominal is not None and not is_frame(x):
            return self._inputs.nominal.one_row(x)
        return as_one_row(x, self._inputs.name_array, None)

    def _ready(self) -> Prepared:
        prepared = self._prepared
        if not prepared.is_ready:
            prepared.model, prepared.inputs = self._model, self._inputs
            if self._model is not None and self._inputs.nominal is None:
                prepared.fast, prepared.refused = self._model.fast(self._inputs.missing)
            prepared.finish(self.actions_)
        return prepared

    def _choose(self, X: Features) -> NDArray[np.intp]:
        return np.asarray(self._original._positions(X) if self._model is None else self._model.choose(X))

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        within = self._original._positions_among if self._model is None else self._model.choose_within
        return np.asarray(within(X, mask))

    def _rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        if self._model is None:
            return np.asarray(self._original._rank(self._original._checked(X), n, mask))
        return np.asarray(self._model.rank(X, n, mask))

    def _probabilities(self, X: Features, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        return np.asarray((self._original.predict_proba if self._model is None else self._model.probabilities)(X, mask))

    def _decide_checked(self, x: Any, available: Any) -> Any:
        if self._model is None:
            return self._original.decide(x if self.encoder is None else self._checked(self._one_row(x)), available)
        return super()._decide_checked(x, available)

    def __repr__(self) -> str:
        learner = self.manifest.get("learner")
        name = learner.get("class") if isinstance(learner, dict) else None
        return f"<SavedPolicy: {name}, {len(self.actions_)} actions, {self.n_features_in_} features>"


def _is_plain_row(x: Any) -> bool:
    return (
        isinstance(x, np.ndarray)
        or is_sparse(x)
        or (isinstance(x, list | tuple) and not any(isinstance(each, Mapping) for each in x[:1]))
    )
