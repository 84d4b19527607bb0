"""Sums of leaves, eight float32 at a time in one vector register.

numba turns loops into vector instructions, but not eight sums side by side that a loop carries along. So eight numbers
are one value here, of a type of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from offsettree._jit import part

VECTOR = ir.VectorType(ir.FloatType(), 8)  # LLVM splits it where the processor has shorter ones
ALIGNMENT = 4  # in bytes: eights begin at any float32


class Eight(types.Type):
    """Eight float32 in the eyes of numba."""

    def __init__(self) -> None:
        super().__init__(name="eight_float32")


class _EightModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)  # type: ignore[no-untyped-call]


register_model(Eight)(_EightModel)
EIGHT = Eight()


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    numbers = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(numbers.data, [arguments[1]]), VECTOR.as_pointer())


def _load_eight(_: Any, numbers: Any, first: Any) -> Any:
    """Read eight numbers of a contiguous array of float32 of one dimension; nothing checks that they are within."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature, arguments), align=ALIGNMENT)

    return EIGHT(numbers, types.uintp), generate


def _store_eight(_: Any, numbers: Any, first: Any, value: Any) -> Any:
    """Write eight numbers: see `_load_eight`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(context, builder, signature, arguments), align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(numbers, types.uintp, EIGHT), generate


def _add_eight(_: Any, one: Any, other: Any) -> Any:
    """Add number by number, rounded as each alone would be."""
    return EIGHT(EIGHT, EIGHT), lambda context, builder, signature, arguments: builder.fadd(*arguments)


_load: Any = intrinsic(_load_eight)
_store: Any = intrinsic(_store_eight)
_add: Any = intrinsic(_add_eight)


@part
def add_to_four(values: Any, first: Any, ends: Any, n_trees: Any, i: Any, sums: Any, begin: Any, width: Any) -> None:
    """Add the numbers of the leaves of some trees to the outputs from `begin` on of rows i to i + 3.

    By eights, each a vector that is written once; four rows in turn, so that an addition need not wait for the last.
    """
    n_leaves, n, zero, eight = np.uint64(values.shape[1]), np.uint64(values.shape[2]), np.uint64(0), np.uint64(8)
    i, j, k, m = np.uint64(i), np.uint64(i + 1), np.uint64(i + 2), np.uint64(i + 3)
    flat, size, tree, v = values.reshape(-1), n_leaves * n, np.uint64(first) * n_leaves * n, zero
    row, width = i * np.uint64(width) + np.uint64(begin), np.uint64(width)
    while v + eight <= n:
        p, q, r, s = row + v, row + width + v, row + width * np.uint64(2) + v, row + width * np.uint64(3) + v
        a, b, c, d = _load(sums, p), _load(sums, q), _load(sums, r), _load(sums, s)
        at = tree + v
        for t in range(zero, np.uint64(n_trees)):
            a = _add(a, _load(flat, at + n * np.uint64(ends[t, i])))
            b = _add(b, _load(flat, at + n * np.uint64(ends[t, j])))
            c = _add(c, _load(flat, at + n * np.uint64(ends[t, k])))
            d = _add(d, _load(flat, at + n * np.uint64(ends[t, m])))
            at += size
        _store(sums, p, a)
        _store(sums, q, b)
        _store(sums, r, c)
        _store(sums, s, d)
        v += eight
    while v < n:  # what is left is less than a vector
        for each in range(i, m + np.uint64(1)):
            place, at = row + (each - i) * width + v, tree + v
            total = sums[place]
            for t in range(zero, np.uint64(n_trees)):
                total += flat[at + n * np.uint64(ends[t, each])]
                at += size
            sums[place] = total
        v += np.uint64(1)
