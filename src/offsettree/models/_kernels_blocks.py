"""Small trees over blocks of rows: every split is answered for all rows of a block, eight at a time. Numba only.

A walk goes from split to split, and waits at each to know where to. Without walking, a split costs a few vector
instructions for eight rows: less, as long as a tree has not many splits. From the last split to the first: what a row
ends at below a split is then known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from offsettree._jit import kernel, part
from offsettree.models._kernels_rows import scan
from offsettree.models.layout import HAS_NAN

BLOCK = 128  # rows; what a tree needs of them stays in the first cache
ROWS = 8
FLOATS = ir.VectorType(ir.FloatType(), ROWS)
NUMBERS = ir.VectorType(ir.IntType(32), ROWS)
ALIGNMENT = 4  # in bytes


class SmallTrees(NamedTuple):
    """Splits of trees, one tree after the other. Actions are the first places of a tree, its splits the next."""

    first_split: Any  # of each tree, and where the last ends
    root: Any  # the place where each tree begins
    column: Any  # that a split compares: one of X, or from their number on, a score of the tree
    threshold: Any
    missing_right: Any  # whether a missing value goes right
    left: Any  # places
    right: Any
    first_score: Any  # of each tree, and where the last ends
    score: Any  # which row of `weights` each score of a tree is
    weights: Any
    centre: Any


def _start(context: Any, builder: Any, kind: Any, array: Any, at: Any, vector: Any) -> Any:
    """Return the place of eight numbers of an array, from `at` on."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _eight_times(builder: Any, value: Any, vector: Any) -> Any:
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), ir.Constant(NUMBERS, [0] * ROWS))


def _weigh_eight(_: Any, weights: Any, first: Any, centred: Any, begin: Any, n_columns: Any, out: Any, to: Any) -> Any:
    """Write the weighted sums of eight rows, whose columns are BLOCK apart: added up in the order of `weigh`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, size = signature.args, ir.IntType(64)
        weight = context.make_array(kinds[0])(context, builder, arguments[0]).data
        zero = ir.Constant(FLOATS, [0.0] * ROWS)
        lanes = [cgutils.alloca_once_value(builder, zero) for _ in range(8)]  # type: ignore[no-untyped-call]

        def product(column: Any) -> Any:
            at = builder.add(arguments[3], builder.mul(column, ir.Constant(size, BLOCK)))
            row = builder.load(_start(context, builder, kinds[2], arguments[2], at, FLOATS), align=ALIGNMENT)
            number = builder.load(builder.gep(weight, [builder.add(arguments[1], column)]))
            return builder.fmul(_eight_times(builder, number, FLOATS), row)

        steps = builder.udiv(arguments[4], ir.Constant(size, 8))
        with cgutils.for_range(builder, steps) as loop:
            for lane, total in enumerate(lanes):
                column = builder.add(builder.mul(loop.index, ir.Constant(size, 8)), ir.Constant(size, lane))
                builder.store(builder.fadd(builder.load(total), product(column)), total)
        sums = [builder.load(total) for total in lanes]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [builder.fadd(*pair) for pair in zip(sums[:half], sums[half:], strict=True)]
        builder.store(sums[0], lanes[0])
        with cgutils.for_range(builder, arguments[4], start=builder.mul(steps, ir.Constant(size, 8))) as loop:
            builder.store(builder.fadd(builder.load(lanes[0]), product(loop.index)), lanes[0])
        total = builder.load(lanes[0])
        known = builder.select(builder.fcmp_ordered("ord", total, total), total, zero)
        builder.store(known, _start(context, builder, kinds[5], arguments[5], arguments[6], FLOATS), align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(weights, types.int64, centred, types.int64, types.int64, out, types.int64), generate


def _answer_eight(
    missing_right: bool, table: Any, column: Any, threshold: Any, ends: Any, left: Any, right: Any, to: Any
) -> Any:
    """Write for eight rows what is at `right` where their column is above a threshold, else what is at `left`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        row = builder.load(_start(context, builder, kinds[0], arguments[0], arguments[1], FLOATS), align=ALIGNMENT)
        below, above, place = (
            _start(context, builder, kinds[3], arguments[3], arguments[each], NUMBERS) for each in (4, 5, 6)
        )
        compare = builder.fcmp_unordered if missing_right else builder.fcmp_ordered
        is_above = compare(">", row, _eight_times(builder, arguments[2], FLOATS))
        sides = builder.load(above, align=ALIGNMENT), builder.load(below, align=ALIGNMENT)
        builder.store(builder.select(is_above, *sides), place, align=ALIGNMENT)
        return context.get_dummy_value()

    kinds = types.int64, types.float32, ends, types.int64, types.int64, types.int64
    return types.void(table, *kinds), generate


def _answer_left(_: Any, table: Any, column: Any, threshold: Any, ends: Any, left: Any, right: Any, to: Any) -> Any:
    return _answer_eight(False, table, column, threshold, ends, left, right, to)


def _answer_right(_: Any, table: Any, column: Any, threshold: Any, ends: Any, left: Any, right: Any, to: Any) -> Any:
    return _answer_eight(True, table, column, threshold, ends, left, right, to)


_weigh: Any = intrinsic(_weigh_eight)
_answer: Any = intrinsic(_answer_left)
_answer_missing_right: Any = intrinsic(_answer_right)


@part
def _turn(values: Any, first: Any, n_rows: Any, width: Any, centre: Any, table: Any, centred: Any) -> None:
    """Copy rows into columns of float32, once as they are and once centred as `centre_row` does it."""
    for c in range(width):
        for i in range(n_rows):
            table[c * BLOCK + i] = values[(first + i) * width + c]
    for c in range(centre.shape[0]):
        for i in range(n_rows):
            x = table[c * BLOCK + i]
            centred[c * BLOCK + i] = x - centre[c] if np.abs(x) < np.inf else np.float32(0)


@part
def _find_ends(trees: Any, tree: Any, n_rows: Any, n_actions: Any, rows: Any, has_missing: Any, ends: Any) -> Any:
    """Find where the rows of a block end in one tree; return where in `ends` that is written."""
    width, table, centred = rows
    n_columns, weights = np.int64(trees.centre.shape[0]), trees.weights
    first = trees.first_score[tree]
    for each in range(first, trees.first_score[tree + 1]):
        to = (width + each - first) * BLOCK
        begin = np.int64(trees.score[each]) * n_columns
        for i in range(0, n_rows, ROWS):
            _weigh(weights, begin, centred, np.int64(i), n_columns, table, to + i)
    place = n_actions + trees.first_split[tree + 1] - trees.first_split[tree]
    for split in range(trees.first_split[tree + 1] - 1, trees.first_split[tree] - 1, -1):
        place -= 1
        column, threshold = np.int64(trees.column[split]) * BLOCK, trees.threshold[split]
        left, right = np.int64(trees.left[split]) * BLOCK, np.int64(trees.right[split]) * BLOCK
        if has_missing and trees.missing_right[split]:
            for i in range(0, n_rows, ROWS):
                _answer_missing_right(table, column + i, threshold, ends, left + i, right + i, place * BLOCK + i)
            continue
        for i in range(0, n_rows, ROWS):
            _answer(table, column + i, threshold, ends, left + i, right + i, place * BLOCK + i)
    return np.int64(trees.root[tree]) * BLOCK


@kernel
def vote_blocks(trees: Any, values: Any, out: Any, votes: Any, n_actions: Any, refused: Any) -> Any:
    """Do as `_kernels_forest.vote_rows`. Where `votes`, one long array, has entries, nothing is written to `out`."""
    width = values.shape[0] // out.shape[0]
    n_trees = trees.root.shape[0]
    most_splits, most_scores = 0, 0
    for tree in range(n_trees):
        most_splits = max(most_splits, trees.first_split[tree + 1] - trees.first_split[tree])
        most_scores = max(most_scores, trees.first_score[tree + 1] - trees.first_score[tree])
    table = np.zeros((width + most_scores) * BLOCK, np.float32)
    centred = np.zeros(trees.centre.shape[0] * BLOCK, np.float32)
    ends = np.empty((n_actions + most_splits) * BLOCK, np.int32)
    for action in range(n_actions):
        for i in range(BLOCK):
            ends[action * BLOCK + i] = action
    own = np.empty(BLOCK * n_actions if votes.shape[0] == 0 else 0, np.int32)
    found = 0
    for first in range(0, out.shape[0], BLOCK):
        n_rows = min(BLOCK, out.shape[0] - first)
        here = scan(values[first * width : (first + n_rows) * width])
        found |= here
        if found & refused:
            return found
        _turn(values, first, n_rows, width, trees.centre, table, centred)
        counts, begin = (own, 0) if votes.shape[0] == 0 else (votes, first * n_actions)
        for i in range(own.shape[0]):
            own[i] = 0
        for tree in range(n_trees):
            at = _find_ends(trees, tree, n_rows, n_actions, (width, table, centred), here & HAS_NAN, ends)
            for i in range(n_rows):
                counts[begin + i * n_actions + ends[at + i]] += 1
        if votes.shape[0] > 0:
            continue
        for i in range(n_rows):
            best = 0
            for action in range(1, n_actions):
                if own[i * n_actions + action] > own[i * n_actions + best]:
                    best = action
            out[first + i] = best
    return found
