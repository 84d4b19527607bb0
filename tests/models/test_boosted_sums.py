"""Sums of leaves by eights, of four rows at a time: the same to the bit as one addition after the other."""

from __future__ import annotations

import numpy as np
import pytest

from offsettree.models._kernels_boosted import BLOCK, TREES_AT_ONCE, Trees, add_leaves

N_COLUMNS, N_TESTS, N_TREES = 3, 3, 2 * TREES_AT_ONCE + 3


@pytest.mark.parametrize(("n_rows", "n_directions"), [(1, 8), (6, 5), (BLOCK + 3, 19), (5, 24), (4, 1)])
def test_leaves_are_added_in_the_order_of_trees(n_rows: int, n_directions: int) -> None:
    random = np.random.default_rng(n_rows)
    codes = random.integers(64, size=(N_COLUMNS, n_rows)).astype(np.uint8)
    feature = random.integers(N_COLUMNS, size=(N_TREES, N_TESTS)).astype(np.int32)
    lowest, span = random.integers(64, size=(2, N_TREES, N_TESTS)).astype(np.uint8)
    values = random.normal(size=(N_TREES, N_TESTS + 1, n_directions)).astype(np.float32)
    output = np.where(np.arange(N_TREES) < 9, 0, n_directions).astype(np.int32)
    trees = Trees(np.empty((0, 0), np.float32), np.empty(0, bool), feature, lowest, span, values, output)
    expected = random.normal(size=(n_rows, 2 * n_directions)).astype(np.float32)
    out = expected.copy()

    add_leaves(codes, trees, out)

    for row, total in enumerate(expected):
        for t in range(N_TREES):
            node = 0
            while node < N_TESTS:
                above = (int(codes[feature[t, node], row]) - int(lowest[t, node])) % 256
                goes_right = above > span[t, node]
                node = 2 * node + 1 + int(goes_right)
            total[output[t] : output[t] + n_directions] += values[t, node - N_TESTS]
    np.testing.assert_array_equal(out, expected)
