"""Sums that may be reordered have the same bits wherever in memory their arrays are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from offsettree.online._kernels_rates import _directions
from offsettree.online._kernels_rows import square
from offsettree.reductions.boosting._kernels_grow import _unpack

FARTHEST = 600  # numbers: more than are ever handled at once
Room = Callable[[int], Any]  # n -> an array of so many numbers, `apart` from the one before


def squares_in(room: Room, n: int) -> list[Any]:
    values, squares = room(n), room(n)
    values[:] = np.random.RandomState(0).standard_normal(n)
    return [square(values, n, squares), squares.copy()]


def directions_in(room: Room, n: int) -> list[Any]:
    values, squares, powers, directions = room(n), room(n), room(n)[np.newaxis], room(n)
    values[:] = np.random.RandomState(0).standard_normal(n)
    squares[:], powers[:] = values**2, 0.3
    return [_directions(powers, np.uint64(0), values, squares, n, np.float32(0.7), directions), powers.copy()]


def unpacked_in(room: Room, n: int) -> list[Any]:
    packed, out = room(2 * n).view(np.int64), room(2 * n).reshape(2, n)
    packed[:] = np.random.RandomState(0).randint(1 << 60, size=n)
    return [_unpack(packed, out, False), out.copy()]


def places(apart: int) -> tuple[Room, NDArray[np.float32]]:
    """Return what gives arrays of one block of memory, in falling order of place if `apart` is negative."""
    block = np.zeros(20 * FARTHEST, np.float32)
    taken: list[int] = [len(block) // 2 // 2 * 2]

    def room(n: int) -> Any:
        begin = taken[-1] + apart if apart > 0 else taken[-1] + apart - n
        taken.append(begin + n if apart > 0 else begin)
        return block[begin : begin + n]

    return room, block


@pytest.mark.parametrize("n", [16, 20, 33, 61])
@pytest.mark.parametrize("summed", [squares_in, directions_in, unpacked_in])
def test_sums_do_not_depend_on_how_close_arrays_are(summed: Callable[[Room, int], list[Any]], n: int) -> None:
    expected = summed(places(FARTHEST)[0], n)
    for apart in (*range(2, 260, 2), *range(-260, 0, 2)):
        for mine, theirs in zip(summed(places(apart)[0], n), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"{apart} numbers apart")
