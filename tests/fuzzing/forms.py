"""Tables of numbers in every form, with something wrong, and the error of an answer that must not be."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.fuzzing.values import FLOATS, WHOLE, change_array, odd_json


class FoundError(AssertionError):
    """An answer that must not be."""


def numbers(shape: tuple[int, int], random: Random) -> Any:
    """Return a table of numbers, now and then with some at the ends of what there is."""
    generator = np.random.RandomState(random.randrange(2**32))
    X = generator.normal(size=shape)
    for _ in range(random.choice([0, 0, 1, 3])):
        X[random.randrange(shape[0]), random.randrange(shape[1])] = random.choice(FLOATS)
    return X


def odd_table(X: Any, random: Random) -> Any:
    """Return a table in some form, with something wrong."""
    with np.errstate(all="ignore"):
        what = random.randrange(8)
        if what == 0:
            return X.astype(
                random.choice(["f4", "f2", "i8", "u1", ">f8", "O", "S4", "U4", "M8[s]", "m8[s]", "c16", "g"])
            )
        if what == 1:
            return [X[:-1], X[:, :-1], X[:0], X[0], X[np.newaxis], X.T, X[::-1], np.asfortranarray(X)][
                random.randrange(8)
            ]
        if what == 2:
            rows = X.tolist()
            rows[random.randrange(len(rows))] = odd_json(random)
            return rows
        if what == 3:
            return odd_json(random)
        matrix = sp.csr_array(X).asformat(random.choice(["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]))  # type: ignore[call-overload]
        for _ in range(random.choice([0, 1, 1, 2])):
            _damage(matrix, random)
        return matrix


def _damage(matrix: Any, random: Random) -> None:
    if matrix.format == "lil":
        lists = random.choice([matrix.rows, matrix.data])
        row = random.randrange(len(lists))
        lists[row] = [*lists[row][random.choice([0, 1, 1]) :], random.choice(WHOLE)] * random.choice([1, 1, 1, 300])
        return
    if matrix.format == "dok":
        return
    names = [name for name in ("data", "indices", "indptr", "offsets") if hasattr(matrix, name)]
    name = random.choice([*names, "coords"] if matrix.format == "coo" else names)
    if name == "coords":
        coords = list(matrix.coords)
        axis = random.randrange(len(coords))
        coords[axis] = change_array(coords[axis], random)
        matrix.coords = tuple(coords)
    else:
        setattr(matrix, name, change_array(getattr(matrix, name), random))
