"""Order points by recursive bisection along principal directions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BATCH = 1 << 22


def principal_order(
    points: NDArray[np.float64], random: np.random.RandomState, randomize: float = 0.0
) -> NDArray[np.intp]:
    """Order the points so that halving the order splits each part along its leading principal direction.

    The halves are those of `builders.balanced`. Of an odd number of points the left half gets one more, so the side
    nearer to the middle point becomes the left one. Of an even number, the left half has the smaller first coordinates:
    the result does not depend on the sign of an eigenvector.

    With `randomize`, the points' standardised scores on the principal directions of a part are summed with random
    normal weights. A direction of variance v has the weight's scale ``(v / largest v) ** ((1 - randomize) / (2 *
    randomize))``: 0 is the leading direction alone, 1/2 a random projection, 1 weights all directions alike.
    """
    n_points = len(points)
    order = np.arange(n_points) if randomize == 0 else random.permutation(n_points)
    bounds = np.array([0, n_points])
    while (sizes := np.diff(bounds)).max() > 1:
        for size in np.unique(sizes[sizes > 1]):
            begins = bounds[:-1][sizes == size]
            per_batch = max(1, _BATCH // (size * points.shape[1]))
            for first in range(0, len(begins), per_batch):
                places = begins[first : first + per_batch, np.newaxis] + np.arange(size)
                members = order[places]
                key = _middle_to_the_left(_scores(points[members], random, randomize))
                order[places] = np.take_along_axis(members, np.argsort(key, axis=1, kind="stable"), axis=1)
        middles = (bounds[:-1] + bounds[1:] + 1) // 2
        bounds = np.unique(np.concatenate([bounds, middles]))
    return np.asarray(order, dtype=np.intp)


def _middle_to_the_left(key: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negate the scores of a part of odd size if its middle point is nearer to the points above it."""
    size = key.shape[1]
    if size % 2 == 0:
        return key
    around = np.sort(key, axis=1)[:, size // 2 - 1 : size // 2 + 2]
    below, above = np.diff(around, axis=1).T
    # Gaps that differ by rounding only are equal.
    negate = below > above + 1e-9 * (below + above)
    return np.where(negate[:, np.newaxis], -key, key)


def _scores(parts: NDArray[np.float64], random: np.random.RandomState, randomize: float) -> NDArray[np.float64]:
    """Return the scores of the points of parts of equal size; `parts` has shape (n_parts, size, n_coordinates)."""
    centred = parts - parts.mean(axis=1, keepdims=True)
    _, size, n_coordinates = centred.shape
    if size <= n_coordinates:
        variance, score = np.linalg.eigh(centred @ centred.transpose(0, 2, 1))
    else:
        variance, direction = np.linalg.eigh(centred.transpose(0, 2, 1) @ centred)
        score = centred @ direction / np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, np.newaxis]
    scale = (parts**2).sum(axis=(1, 2))[:, np.newaxis]
    largest = variance[:, -1:]
    # Smaller variances are rounding errors: equal points keep their order.
    real = (variance > 1e-10 * largest) & (variance > 1e-20 * scale)
    score = np.where(real[:, np.newaxis], score * _signs(score, centred[:, :, 0])[:, np.newaxis], 0.0)
    if randomize == 0:
        return np.asarray(score[:, :, -1])
    share = np.divide(variance, largest, out=np.zeros_like(variance), where=real)
    weight = share ** ((1 - randomize) / (2 * randomize)) * random.standard_normal(share.shape)
    return np.asarray((score @ weight[:, :, np.newaxis])[:, :, 0])


def _signs(score: NDArray[np.float64], anchor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return signs that make scores increase with the anchor; if they are uncorrelated, the first point is lowest."""
    growth = (score * anchor[:, :, np.newaxis]).sum(axis=1)
    clear = np.abs(growth) > 1e-8 * np.sqrt((anchor**2).sum(axis=1))[:, np.newaxis]
    growth = np.where(clear, growth, -score[:, 0])
    return np.where(growth < 0, -1.0, 1.0)
