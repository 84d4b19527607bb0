"""Read rows of X for online learners: dense or as lists of entries (see `_layout`), and scaled.

A value x is scaled to x / s, where s is the largest absolute value of the feature so far: the result does not depend on
the units of a feature. Learning updates s first, deciding does not. What is stored is 1 / s, as multiplying is faster.

`keys` is None in the dense form, and `scales` is None if values are not scaled: numba then drops the other branch and
vectorises the rest. Kernels take whole arrays and indices, not slices and records, to avoid reference counting.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from offsettree._jit import kernel, part, part_reordering_sums
from offsettree.online._kernels_lists import has_zeros, list_margin
from offsettree.online._layout import (
    BIAS,
    FACTOR,
    LARGEST,
    LARGEST_SCALE,
    MASK,
    N_FEATURES,
    SCALE_FACTOR,
    SCALE_SHIFT,
    SHIFT,
    SPACING,
    STEP,
    UNSEEN,
    WIDTH,
)


class RowToChoose(NamedTuple):
    """RowToLearn for a row that is decided on."""

    values: Any
    scales: Any  # of a list


class RowToLearn(NamedTuple):
    """RowToLearn for a row that is learned from."""

    values: Any
    squares: Any
    directions: Any  # of the update
    square_sums: Any  # of gradients


@kernel
def choosing_buffers(size: Any, keys: Any) -> Any:
    """Return buffers for rows of that size; in the dense form there are no scales to be kept."""
    values = np.zeros(size, np.float32)
    return RowToChoose(values, values if keys is None else np.empty(size, np.float32))


@kernel
def learning_buffers(size: Any) -> Any:
    """Return buffers for rows of that size."""
    values, squares = np.zeros(size, np.float32), np.empty(size, np.float32)
    return RowToLearn(values, squares, np.empty(size, np.float32), np.empty((1, size), np.float32))


@part
def is_plain_row(layout: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Whether a row needs no further checks: values within bounds; CSR indices sorted, unique and in range."""
    if data.ndim == 2:
        n_good = 0
        for i in range(data.shape[1]):
            n_good += abs(data[0, i]) <= LARGEST
        return n_good == data.shape[1]
    n_stored = data.shape[0]
    if indices.shape[0] != n_stored or indptr.shape[0] != 2 or indptr[0] != 0 or np.int64(indptr[1]) != n_stored:
        return False
    previous = np.int64(-1)
    for i in range(n_stored):
        if not (abs(data[i]) <= LARGEST and previous < indices[i]):
            return False
        previous = np.int64(indices[i])
    return previous < np.int64(layout[N_FEATURES])


@part
def read_row(layout: Any, scales: Any, growing: Any, table: Any, at: Any, values: Any) -> Any:
    """Fill `values`, and the table's keys in the list form; return the number of entries.

    `growing` is `scales` again if they are to be updated, else None; the list form always updates them. The row is of a
    CSR matrix, or of the array `data` if that has two dimensions.
    """
    return _read(layout, scales, growing, table.data, table.indices, table.indptr, at, values, table.keys)


@part
def read_to_choose(model: Any, table: Any, at: Any, entries: Any) -> Any:
    """Read a row for a decision: a list's values stay unscaled, their scales go to `entries`; no bias entry.

    So a table of weights times scales gives the same numbers to the bit.
    """
    return _read_to_choose(
        model.layout, model.scales, table.data, table.indices, table.indptr, at, entries.values, entries.scales,
        table.keys,
    )  # fmt: skip


@part
def _read(
    layout: Any, scales: Any, growing: Any, data: Any, indices: Any, indptr: Any, at: Any, values: Any, keys: Any
) -> Any:
    n_features = np.int64(layout[N_FEATURES])
    if keys is None:
        if data.ndim == 2:
            _spread(scales, growing, data, at, n_features, values)
        else:
            _spread_list(scales, growing, data, indices, indptr, at, values)
        values[n_features] = np.float32(layout[BIAS])
        return np.int64(layout[WIDTH])
    n = _list(n_features, data, indices, indptr, at, values, keys)
    if scales is not None:
        _scale_list(layout, scales, values, keys, n)
    factor = layout[FACTOR]
    for i in range(n):
        keys[i] *= factor
    if layout[BIAS] > 0:
        keys[n] = layout[N_FEATURES] * factor
        values[n] = np.float32(layout[BIAS])
        n += 1
    return n


@part
def _read_to_choose(
    layout: Any, scales: Any, data: Any, indices: Any, indptr: Any, at: Any, values: Any, entry_scales: Any, keys: Any
) -> Any:
    if keys is None:
        return _read(layout, scales, None, data, indices, indptr, at, values, None)
    n = _list(np.int64(layout[N_FEATURES]), data, indices, indptr, at, values, keys)
    if scales is None:
        for i in range(n):
            entry_scales[i] = 1
    else:
        factor, shift = layout[SCALE_FACTOR], layout[SCALE_SHIFT]
        for i in range(n):
            scale = scales[(keys[i] * factor) >> shift]
            # A feature never seen counts 0: a weight in its hash bucket belongs to another feature.
            entry_scales[i] = scale if scale < np.float32(UNSEEN) else np.float32(0)
    for i in range(n):
        keys[i] *= layout[FACTOR]
    return n


@part
def _list(n_features: Any, data: Any, indices: Any, indptr: Any, at: Any, values: Any, keys: Any) -> Any:
    """List the nonzero entries, in simple loops that can be vectorised."""
    n = np.int64(0)
    if data.ndim == 2:
        for j in range(n_features):
            keys[n], values[n] = np.uint64(j), np.float32(data[at, j])
            n += data[at, j] != 0
        return n
    # Unsigned indices spare the check for negative ones, which count from the end.
    begin = np.uint64(indptr[at])
    n_stored = np.uint64(indptr[at + 1]) - begin
    if has_zeros(data, begin, n_stored):
        for i in range(n_stored):
            keys[n], values[n] = np.uint64(indices[begin + i]), np.float32(data[begin + i])
            n += data[begin + i] != 0
        return n
    for i in range(n_stored):
        keys[i] = np.uint64(indices[begin + i])
    for i in range(n_stored):
        values[i] = np.float32(data[begin + i])
    return np.int64(n_stored)


@part
def _scale_list(layout: Any, scales: Any, values: Any, keys: Any, n: Any) -> Any:
    factor, shift = layout[SCALE_FACTOR], layout[SCALE_SHIFT]
    for i in range(n):
        at = (keys[i] * factor) >> shift
        scale = scales[at]
        if abs(values[i]) * scale > 1 or scale >= np.float32(UNSEEN):
            scale = min(np.float32(1) / abs(values[i]), np.float32(LARGEST_SCALE))
            scales[at] = scale
        values[i] *= scale


@part
def _spread(scales: Any, growing: Any, X: Any, at: Any, n_features: Any, values: Any) -> Any:
    if scales is None:
        for j in range(n_features):
            values[j] = X[at, j]
    elif growing is None:
        for j in range(n_features):
            values[j] = np.float32(X[at, j]) * scales[j]
    else:
        n_above = np.int32(0)
        for j in range(n_features):
            value = np.float32(X[at, j]) * scales[j]
            values[j] = value
            n_above += np.int32(abs(value) > 1)
        if n_above > 0:
            for j in range(n_features):
                size = np.float32(abs(X[at, j]))
                if size * scales[j] > 1:
                    growing[j] = np.float32(1) / size
                values[j] = np.float32(X[at, j]) * scales[j]


@part
def _spread_list(scales: Any, growing: Any, data: Any, indices: Any, indptr: Any, at: Any, values: Any) -> Any:
    values[:] = 0
    if scales is None:
        for i in range(np.uint64(indptr[at]), np.uint64(indptr[at + 1])):
            values[np.uint64(indices[i])] = data[i]
    else:
        for i in range(np.uint64(indptr[at]), np.uint64(indptr[at + 1])):
            j, value = np.uint64(indices[i]), np.float32(data[i])
            if growing is not None and abs(value) * scales[j] > 1:
                growing[j] = np.float32(1) / abs(value)
            values[j] = value * scales[j]


@part_reordering_sums
def product(layout: Any, weights: Any, model: Any, values: Any, keys: Any, n: Any) -> Any:
    """Return the dot product of the row and a model's weights; the compiler may reorder the sum."""
    total = np.float32(0)
    if keys is None:
        row = np.uint64(model) * layout[SPACING]
        for i in range(n):
            total += weights[row, i] * values[i]
    else:
        base, shift, mask = np.uint64(model) * layout[STEP], layout[SHIFT], layout[MASK]
        for i in range(n):
            total += weights[0, ((keys[i] + base) >> shift) & mask] * values[i]
    return total


@part
def margin_of(model: Any, at: Any, entries: Any, keys: Any, n: Any) -> Any:
    """Return the margin of a row from `read_to_choose` by the linear model `at` some place."""
    if keys is None:
        return product(model.layout, model.weights, at, entries.values, None, n)
    return list_margin(model.layout, model.weights, at, entries.values, entries.scales, keys, n)


@part_reordering_sums
def add_row(layout: Any, weights: Any, model: Any, values: Any, keys: Any, n: Any, factor: Any) -> Any:
    """Add a multiple of the row to the weights of a model."""
    if keys is None:
        # Read once: for the compiler, writing weights might change the layout.
        row = np.uint64(model) * layout[SPACING]
        for i in range(n):
            weights[row, i] += factor * values[i]
    else:
        base, shift, mask = np.uint64(model) * layout[STEP], layout[SHIFT], layout[MASK]
        for i in range(n):
            weights[0, ((keys[i] + base) >> shift) & mask] += factor * values[i]


@part_reordering_sums
def square(values: Any, n: Any, squares: Any) -> Any:
    """Write the squares of the values, and return their sum."""
    for i in range(n):
        squares[i] = values[i] * values[i]
    total = np.float32(0)
    for i in range(n):
        total += values[i] * values[i]
    return total
