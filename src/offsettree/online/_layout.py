"""Where an online learner keeps its numbers: flat arrays that its kernels read and write in place.

There are two forms. Up to `MOST_COLUMNS` columns a model has all its weights side by side, and a row is spread out to
the same width, zeros included: vector instructions make up for the zeros. Beyond, or where features are hashed, a row
is the list of its entries, and the weights that the models give to one feature lie side by side. X may come as
an array or as a CSR matrix, in either form with the same numbers.

A layout is one array of whole numbers, by the names below. Of model m the weight for feature j is at
``[m, j]`` in the first form, and at ``[0, (j * factor + m * step) >> shift]`` in the second; there the scale of
feature j is at ``(j * scale_factor) >> shift``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ParameterError

__all__ = [
    "BIAS",
    "FACTOR",
    "LARGEST",
    "MOST_COLUMNS",
    "N_FEATURES",
    "N_MODELS",
    "N_SCALES",
    "N_WEIGHTS",
    "SCALE_FACTOR",
    "SHIFT",
    "STEP",
    "UNSEEN",
    "WIDTH",
    "make_layout",
    "new_scales",
    "new_weights",
    "room_for",
]

N_FEATURES, WIDTH, BIAS, FACTOR, SCALE_FACTOR, STEP, SHIFT, N_MODELS, N_WEIGHTS, N_SCALES = range(10)

LARGEST = 1e15  # size of a value: float32 holds the squares of millions of them
UNSEEN = 1e15  # scale, one over the largest size so far, before any: what is smaller counts as of this size
MOST_COLUMNS = 1024
MOST_WEIGHTS = 2**31
LANES = 16  # numbers that vector instructions take at once; a width that they divide leaves no rest

# Odd, with bits well mixed: Fibonacci hashing takes the high bits of a product.
FEATURE_HASH = 0x9E3779B97F4A7C15
MODEL_HASH = 0xC2B2AE3D27D4EB4F


def make_layout(n_features: int, n_models: int, *, bias: bool, n_bits: int | None = None) -> NDArray[np.uint64]:
    """Lay out the weights of linear models over the same features, and a constant where there is a bias."""
    n_columns = n_features + 1
    n_weights = n_columns * n_models
    if n_bits is not None:
        places = 2**n_bits
        layout = (n_features, 0, bias, FEATURE_HASH, FEATURE_HASH, MODEL_HASH, 64 - n_bits, n_models, places, places)
    elif n_weights > MOST_WEIGHTS:
        raise ParameterError(
            f"{n_features:,} features for each of {n_models:,} linear models are more weights than can be kept "
            f"({MOST_WEIGHTS:,}). Hash the features into a number of weights that you choose: n_bits=24, say."
        )
    elif n_features <= MOST_COLUMNS:
        width = -(-n_columns // LANES) * LANES
        layout = (n_features, width, bias, 1, 1, 1, 0, n_models, n_models * width, n_columns)
    else:
        layout = (n_features, 0, bias, n_models, 1, 1, 0, n_models, n_weights, n_columns)
    return np.array(layout, dtype=np.uint64)


def new_weights(layout: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return zeros, one row per model in the first form, all in one row in the second."""
    n_rows = int(layout[N_MODELS]) if layout[WIDTH] > 0 else 1
    return np.zeros((n_rows, int(layout[N_WEIGHTS]) // n_rows), dtype=np.float32)


def new_scales(layout: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return the scales of features of which no value has been seen."""
    return np.full(int(layout[N_SCALES]), UNSEEN, dtype=np.float32)


def room_for(layout: NDArray[np.uint64], n_entries: int) -> tuple[int, NDArray[np.uint64] | None]:
    """Return how many numbers a row of so many entries takes, and room for its features' keys where rows are lists."""
    if layout[WIDTH] > 0:
        return int(layout[WIDTH]), None
    return n_entries + 1, np.empty(n_entries + 1, dtype=np.uint64)
