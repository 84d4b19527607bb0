"""Calls of the kernels of an online policy: for many rows, and the fast path for one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features
from offsettree.models import is_csr
from offsettree.online._layout import KINDS, N_FEATURES, N_MODELS, N_WEIGHTS, SHIFT, WIDTH, table_of
from offsettree.online._models import choose_all, choose_all_within

CSR = (sp.csr_matrix, sp.csr_array)


class KernelCalls:
    """Mixin of `OnlinePolicy`: a model of flat arrays, and the calls of its kernels."""

    _has_table_kernels = False  # whether there are kernels that choose by a table of weights times scales

    # The arrays of the model, as the kernels take them; and the module of the kernels, with learn_rows, learn_one,
    # choose_rows, choose_one, choose_within and run.
    _model: Any
    _kernels: Any
    _width: int
    _labels: list[Any]
    _row_checks: tuple[Any, ...]

    def _row_for_kernel(self, x: Any) -> tuple[Any, ...] | None:
        """Return a row, with buffers, for a kernel that checks single rows itself; None for the slow path."""
        n_features = self._row_checks[3]
        if type(x) is list or type(x) is tuple:
            try:
                x = np.asarray(x)
            except ValueError:  # ragged: the slow path raises the error
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
        """Return the best action that a boolean mask allows, given the best of all; -1 if the mask needs checks."""
        if type(available) is not np.ndarray or available.dtype != bool or available.shape != (len(self._labels),):
            return -1
        if available[position]:
            return position
        if not available.any():
            return -1
        out = np.empty(1, dtype=np.intp)
        self._kernels.choose_within(np.ascontiguousarray(available[np.newaxis]), out, *model, *row)
        return int(out[0])

    def _make_writable(self) -> None:
        """Copy a read-only model, such as one mapped from a file, before learning."""
        if not self._model.weights.flags.writeable:
            self._model = type(self._model)(*(None if array is None else array.copy() for array in self._model))

    def _room_for_one(self, n_entries: int) -> tuple[int, NDArray[np.uint64] | None]:
        # New buffers for each call, as threads may decide at the same time.
        return (self._width, None) if self._width else (n_entries + 1, np.empty(n_entries + 1, np.uint64))

    def _learn(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
    ) -> None:
        self._make_writable()
        table = table_of(self._model.layout, X)
        self._kernels.learn_rows(self._model, table, action, reward, np.ascontiguousarray(propensity))

    def _run(
        self,
        X: Features,
        label: NDArray[np.intp] | None,
        rewards: NDArray[np.float64],
        rates: NDArray[np.float64],
        draws: NDArray[np.float64],
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Decide, explore and learn row by row; return the positions of the actions, and their propensities.

        `rewards` is a table with a column per action; with labels, a single row (miss, hit).
        """
        n_rows = len(rates)
        chosen, reward, propensity = np.empty(n_rows, dtype=np.intp), np.empty(n_rows), np.empty(n_rows)
        self._make_writable()
        table = table_of(self._model.layout, X)
        self._kernels.run(self._model, table, label, rewards, rates, draws, chosen, reward, propensity)
        return chosen, propensity

    def _choose(self, X: Features) -> NDArray[np.intp]:
        check_is_fitted(self, "_model")
        folded = self._scaled_weights(X.nnz) if is_csr(X) else None
        return choose_all(self._kernels, self._model.for_choosing(), X, folded)

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        check_is_fitted(self, "_model")
        return choose_all_within(self._kernels, self._model.for_choosing(), X, mask)

    def _scaled_weights(self, n_entries: int) -> NDArray[np.float32] | None:
        """Return the table of weights times scales if computing it pays off for so many entries; else None."""
        from offsettree.online._kernels_lists import fold

        layout = self._model.layout
        if layout[WIDTH] > 0 or layout[SHIFT] > 0 or layout[N_WEIGHTS] > n_entries or not self._has_table_kernels:
            return None
        table = np.empty((int(layout[N_FEATURES]) + 1, int(layout[N_MODELS])), dtype=np.float32)
        fold(layout, self._model.weights, self._model.scales, table)
        return table
