"""Points put in a row by halving them along principal directions, again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["principal_order"]

_BATCH = 1 << 22


def principal_order(
    points: NDArray[np.float64], random: np.random.RandomState, randomize: float = 0.0
) -> NDArray[np.intp]:
    """Order the points so that halving the order halves each part along a leading principal direction of it.

    The halves are those of `builders.balanced`: of an odd number the left one gets one more, so the side that the
    middle point is nearer to becomes the left one. Of an even number the left side has the smaller first coordinates:
    nothing hangs on the sign an eigenvector happens to have.

    Within a part, the points' standardised scores on its principal directions are added up with normal weights. The
    scale of the weight of a direction of variance v is ``(v / largest v) ** ((1 - randomize) / (2 * randomize))``: at
    0 this is the leading direction alone, at 1/2 a projection on a random direction, at 1 all directions count alike.
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
    """Turn the scores of a part of odd size round where its middle point is nearer to the points above it."""
    size = key.shape[1]
    if size % 2 == 0:
        return key
    around = np.sort(key, axis=1)[:, size // 2 - 1 : size // 2 + 2]
    below, above = np.diff(around, axis=1).T
    # Beyond rounding: of equal gaps neither is the smaller.
    turn = below > above + 1e-9 * (below + above)
    return np.where(turn[:, np.newaxis], -key, key)


def _scores(parts: NDArray[np.float64], random: np.random.RandomState, randomize: float) -> NDArray[np.float64]:
    """Score the points of equally large parts, of shape (n_parts, size, n_coordinates)."""
    centred = parts - parts.mean(axis=1, keepdims=True)
    _, size, n_coordinates = centred.shape
    if size <= n_coordinates:
        variance, score = np.linalg.eigh(centred @ centred.transpose(0, 2, 1))
    else:
        variance, direction = np.linalg.eigh(centred.transpose(0, 2, 1) @ centred)
        score = centred @ direction / np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, np.newaxis]
    scale = (parts**2).sum(axis=(1, 2))[:, np.newaxis]
    largest = variance[:, -1:]
    # What is below is rounding: equal points keep the order they came in.
    real = (variance > 1e-10 * largest) & (variance > 1e-20 * scale)
    score = np.where(real[:, np.newaxis], score * _signs(score, centred[:, :, 0])[:, np.newaxis], 0.0)
    if randomize == 0:
        return np.asarray(score[:, :, -1])
    share = np.divide(variance, largest, out=np.zeros_like(variance), where=real)
    weight = share ** ((1 - randomize) / (2 * randomize)) * random.standard_normal(share.shape)
    return np.asarray((score @ weight[:, :, np.newaxis])[:, :, 0])


def _signs(score: NDArray[np.float64], anchor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose signs by which scores grow with the anchor; where they do not depend on it, the first point is lowest."""
    growth = (score * anchor[:, :, np.newaxis]).sum(axis=1)
    clear = np.abs(growth) > 1e-8 * np.sqrt((anchor**2).sum(axis=1))[:, np.newaxis]
    growth = np.where(clear, growth, -score[:, 0])
    return np.where(growth < 0, -1.0, 1.0)
