"""Margins of rows that are lists of entries, for decisions: (weight times scale) times value.

Products are accumulated in four interleaved sums, so that additions overlap. The order of operations is fixed, so a
precomputed table of weights times scales gives the same numbers to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import kernel, part
from offsettree.online._layout import BIAS, FACTOR, MASK, N_FEATURES, N_MODELS, SHIFT, STEP, UNSEEN


@kernel
def fold(layout: Any, weights: Any, scales: Any, table: Any) -> Any:
    """Fill a table of weights times scales, a row per feature and one for the bias; features must not be hashed."""
    n_features = np.uint64(layout[N_FEATURES])
    factor, step = layout[FACTOR], layout[STEP]
    for j in range(n_features + np.uint64(1)):
        scale = np.float32(1)
        if scales is not None and j < n_features:
            scale = scales[j] if scales[j] < np.float32(UNSEEN) else np.float32(0)
        for model in range(layout[N_MODELS]):
            table[j, model] = weights[0, j * factor + model * step] * scale


@part
def has_zeros(data: Any, begin: Any, n: Any) -> Any:
    """Whether some of the n stored entries from `begin` on are zero; lists leave zeros out."""
    n_zeros = 0
    for i in range(n):
        n_zeros += data[begin + i] == 0
    return n_zeros > 0


@part
def table_margin(layout: Any, table: Any, model: Any, data: Any, indices: Any, begin: Any, n: Any) -> Any:
    """Return the margin of a CSR row, from entry `begin` on; no entry is zero."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    whole = begin + n // four * four
    for i in range(begin, whole, four):
        a += np.float32(data[i]) * table[np.uint64(indices[i]), model]
        b += np.float32(data[i + one]) * table[np.uint64(indices[i + one]), model]
        c += np.float32(data[i + two]) * table[np.uint64(indices[i + two]), model]
        d += np.float32(data[i + three]) * table[np.uint64(indices[i + three]), model]
    for i in range(whole, begin + n):
        a += np.float32(data[i]) * table[np.uint64(indices[i]), model]
    return ((a + b) + (c + d)) + np.float32(layout[BIAS]) * table[layout[N_FEATURES], model]


@part
def list_margin(layout: Any, weights: Any, model: Any, values: Any, entry_scales: Any, keys: Any, n: Any) -> Any:
    """Return the margin of a list without the bias entry; the bias is added here."""
    base, shift, mask = np.uint64(model) * layout[STEP], layout[SHIFT], layout[MASK]
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        a += values[i] * (weights[0, ((keys[i] + base) >> shift) & mask] * entry_scales[i])
        b += values[i + 1] * (weights[0, ((keys[i + 1] + base) >> shift) & mask] * entry_scales[i + 1])
        c += values[i + 2] * (weights[0, ((keys[i + 2] + base) >> shift) & mask] * entry_scales[i + 2])
        d += values[i + 3] * (weights[0, ((keys[i + 3] + base) >> shift) & mask] * entry_scales[i + 3])
    for i in range(whole, n):
        a += values[i] * (weights[0, ((keys[i] + base) >> shift) & mask] * entry_scales[i])
    at_bias = ((layout[N_FEATURES] * layout[FACTOR] + base) >> shift) & mask
    return ((a + b) + (c + d)) + np.float32(layout[BIAS]) * weights[0, at_bias]
