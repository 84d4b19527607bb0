"""Compiled: one more column for a contest, a weighted sum of the others.

Sums are added up in one order, written down here, and not in the order that suits a machine: training, single rows and
batches, on whatever machine, then have the same score to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from offsettree._jit import borrowing_kernel, kernel, part

LANES = 8  # sums side by side: what one vector instruction adds


def _in_lanes(_: Any, weights: Any, first_weight: Any, row: Any, first: Any, n_steps: Any) -> Any:
    """Multiply and add `n_steps` times eight floats: numba by itself makes no vectors of sums whose order counts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def entry(place: int) -> Any:
            array = context.make_array(signature.args[place])(context, builder, arguments[place])
            return builder.gep(array.data, [arguments[place + 1]])

        kind = signature.return_type
        vector = ir.VectorType(context.get_data_type(kind), LANES)
        begins = entry(0), entry(2)
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, arguments[4]) as loop:
            at = builder.mul(loop.index, ir.Constant(loop.index.type, LANES))
            first, second = (
                builder.load(
                    builder.bitcast(builder.gep(begin, [at]), vector.as_pointer()),
                    align=kind.bitwidth // 8,
                )
                for begin in begins
            )
            builder.store(builder.fadd(builder.load(total), builder.fmul(first, second)), total)
        sums = builder.load(total)
        parts = [builder.extract_element(sums, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [builder.fadd(*pair) for pair in zip(parts[:half], parts[half:], strict=True)]
        return parts[0]

    return weights.dtype(weights, types.int64, row, types.int64, types.int64), generate


_sum_in_lanes: Any = intrinsic(_in_lanes)


@part
def dot(weights: Any, first_weight: Any, row: Any, first: Any, n_columns: Any) -> Any:
    """Multiply and add up numbers of two long arrays of the same type, from the places given on."""
    total = _sum_in_lanes(weights, first_weight, row, first, n_columns // LANES)
    for j in range(n_columns - n_columns % LANES, n_columns):
        total += weights[first_weight + j] * row[first + j]
    return total


@part
def weigh(weights: Any, first_weight: Any, row: Any, first: Any, n_columns: Any) -> Any:
    """Weigh one centred row; see `dot`."""
    total = dot(weights, first_weight, row, first, n_columns)
    return total if total == total else np.float32(0)  # infinite both ways says nothing


@borrowing_kernel
def centre_row(row: Any, centre: Any, centred: Any) -> None:
    """Write the numbers of a row as float32, each less its centre; what is not finite counts as the centre."""
    for j in range(centre.shape[0]):
        x = np.float32(row[j])
        centred[j] = x - centre[j] if np.abs(x) < np.inf else np.float32(0)


@kernel
def score_rows(X: Any, out: Any, weights: Any, centre: Any) -> None:
    """Write the score of every row."""
    centred = np.empty(centre.shape[0], np.float32)
    for i in range(X.shape[0]):
        centre_row(X[i], centre, centred)
        out[i] = weigh(weights, 0, centred, 0, centre.shape[0])
