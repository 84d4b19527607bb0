"""The memory layout of online learners: flat arrays that kernels read and write in place.

There are two forms. The dense form, up to `MOST_COLUMNS` columns, stores all weights of a model side by side; rows are
expanded to the same width, zeros included, and vector instructions make up for the zeros. In the list form, for more
columns or hashed features, a row is the list of its entries, and all models' weights of one feature lie side by side.
In both forms X may be an array or a CSR matrix, with the same result.

A layout is one array of whole numbers, indexed by the names below. The weight of model m for feature j is at
``[m * spacing, j]`` in the dense form, and at ``[0, ((j * factor + m * step) >> shift) & mask]`` in the list form,
where the scale of feature j is at ``(j * scale_factor) >> scale_shift``. With a spacing of 2, each weight has a second
number (its sum of squared gradients) in the next row or place, so that both are in the processor's cache together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ParameterError

(
    N_FEATURES,
    WIDTH,
    BIAS,
    FACTOR,
    STEP,
    SHIFT,
    MASK,
    SCALE_FACTOR,
    SCALE_SHIFT,
    SPACING,
    N_MODELS,
    N_WEIGHTS,
    N_SCALES,
) = range(13)

KINDS = (np.dtype(np.float32), np.dtype(np.float64))  # dtypes that kernels take
LARGEST = 1e15  # absolute value: float32 holds the sum of squares of millions of them
LARGEST_SCALE = 5e14  # of a feature that has been seen, however small its values
UNSEEN = 1e15  # initial scale (1 / the largest absolute value so far) of a feature not seen yet
MOST_COLUMNS = 1024
MOST_WEIGHTS = 2**31
LANES = 16  # widths are multiples of the numbers that vector instructions take at once

# Odd, with well-mixed bits: Fibonacci hashing takes the high bits of a product.
FEATURE_HASH = 0x9E3779B97F4A7C15
MODEL_HASH = 0xC2B2AE3D27D4EB4F


class KernelRows(NamedTuple):
    """Rows as kernels take them: an array `data`, or the three arrays of a CSR matrix; before them, room for a row."""

    size: int  # of the buffers for a row
    keys: NDArray[np.uint64] | None  # a buffer for the keys of a row in the list form
    data: NDArray[Any]
    indices: NDArray[Any] | None
    indptr: NDArray[Any] | None


class TreeToChoose(NamedTuple):
    """What kernels need of an online offset tree to choose; see `TreeModel`."""

    layout: NDArray[np.uint64]
    weights: NDArray[np.float32]
    scales: NDArray[np.float32] | None
    links: NDArray[np.int64]


class TreeModel(NamedTuple):
    """The state of an online offset tree."""

    layout: NDArray[np.uint64]
    weights: NDArray[np.float32]  # with adaptive rates, each beside the sum of its squared gradients
    scales: NDArray[np.float32] | None  # 1 / the largest absolute value of each feature; None if not scaled
    contests: NDArray[np.float64]  # of each: see `_kernels_losses`
    totals: NDArray[np.float64]  # number of rows, sum of squared (scaled) features, sum of rewards
    links: NDArray[np.int64]  # left, right and parent of each node, and the node above each leaf
    # Loss, rate, offset (NaN for the mean so far), realizable, costing, seed of its draws.
    settings: NDArray[np.float64]

    def for_choosing(self) -> tuple[NDArray[Any] | None, ...]:
        """Return the arrays of `TreeToChoose`, as a plain tuple, which is made in less time."""
        return self.layout, self.weights, self.scales, self.links


class RegressionToChoose(NamedTuple):
    """What kernels need of an online reward regression to choose; see `RegressionModel`."""

    layout: NDArray[np.uint64]
    weights: NDArray[np.float32]
    scales: NDArray[np.float32] | None
    starts: NDArray[np.float64]
    totals: NDArray[np.float64]


class RegressionModel(NamedTuple):
    """The state of an online reward regression."""

    layout: NDArray[np.uint64]
    weights: NDArray[np.float32]  # with adaptive rates, each beside the sum of its squared gradients
    scales: NDArray[np.float32] | None  # 1 / the largest absolute value of each feature; None if not scaled
    starts: NDArray[np.float64]  # of each action: the mean reward, in [-1, 1], when it was first seen; NaN before
    totals: NDArray[np.float64]  # number of rows, sum of squared (scaled) features, sum of rewards
    rate: NDArray[np.float64]

    def for_choosing(self) -> tuple[NDArray[Any] | None, ...]:
        """Return the arrays of `RegressionToChoose`."""
        return self[:5]


class BanditronModel(NamedTuple):
    """The state of a Banditron."""

    layout: NDArray[np.uint64]
    weights: NDArray[np.float32]

    def for_choosing(self) -> tuple[NDArray[Any], ...]:
        """Return all arrays."""
        return self


def make_layout(
    n_features: int, n_models: int, *, bias: bool, spacing: int = 1, n_bits: int | None = None
) -> NDArray[np.uint64]:
    """Return the layout of linear models over the same features, with an intercept if `bias`."""
    n_columns = n_features + 1
    n_weights = n_columns * n_models
    width, factor, scale_factor, step, shift, scale_shift, mask = 0, n_models * spacing, 1, spacing, 0, 0, 2**64 - 1
    n_scales = n_columns
    if n_bits is not None:
        factor, scale_factor, step = FEATURE_HASH, FEATURE_HASH, MODEL_HASH
        n_weights = n_scales = 2**n_bits
        shift, scale_shift, mask = 64 - n_bits - (spacing - 1), 64 - n_bits, 2**64 - spacing
    elif n_weights > MOST_WEIGHTS:
        raise ParameterError(
            f"there can be at most {MOST_WEIGHTS:,} weights; got {n_features:,} features for each of {n_models:,} "
            "linear models. Hash the features into fewer weights, such as by n_bits=24."
        )
    elif n_features <= MOST_COLUMNS:
        width = -(-n_columns // LANES) * LANES
        n_weights = n_models * width
    layout = np.zeros(13, dtype=np.uint64)
    layout[[N_FEATURES, WIDTH, BIAS, SPACING, N_MODELS]] = n_features, width, bias, spacing, n_models
    layout[[N_WEIGHTS, N_SCALES]] = n_weights, n_scales
    # One by one: in a list, numbers beyond 2**63 would become floats.
    layout[FACTOR], layout[SCALE_FACTOR], layout[STEP], layout[MASK] = factor, scale_factor, step, mask
    layout[[SHIFT, SCALE_SHIFT]] = shift, scale_shift
    return layout


def new_weights(layout: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return zero weights: `spacing` rows per model in the dense form, a single row in the list form."""
    n_rows = int(layout[N_MODELS] * layout[SPACING]) if layout[WIDTH] > 0 else 1
    return np.zeros((n_rows, int(layout[N_WEIGHTS] * layout[SPACING]) // n_rows), dtype=np.float32)


def new_scales(layout: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return the scales of features not seen yet."""
    return np.full(int(layout[N_SCALES]), UNSEEN, dtype=np.float32)


def room_for(layout: NDArray[np.uint64], n_entries: int) -> tuple[int, NDArray[np.uint64] | None]:
    """Return the buffer size for a row of `n_entries`, and a buffer for its keys in the list form."""
    if layout[WIDTH] > 0:
        return int(layout[WIDTH]), None
    return n_entries + 1, np.empty(n_entries + 1, dtype=np.uint64)


def table_of(layout: NDArray[np.uint64], X: Any) -> KernelRows:
    """Return an array or a CSR matrix as kernels take it."""
    values = X.data if hasattr(X, "indptr") else X
    values = np.ascontiguousarray(values, dtype=values.dtype if values.dtype in KINDS else np.float64)
    if hasattr(X, "indptr"):
        return KernelRows(*room_for(layout, longest_row(X.indptr)), values, X.indices, X.indptr)
    return KernelRows(*room_for(layout, X.shape[1]), values, None, None)


def longest_row(indptr: NDArray[Any]) -> int:
    """Count the entries of the longest row of a CSR matrix."""
    return int(np.diff(indptr).max(initial=0))
