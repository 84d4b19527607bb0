"""The fast search for a split finds what the plain one finds."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree.learners import _kernels_counts as counts
from offsettree.learners import _kernels_splits as splits


@settings(max_examples=60, deadline=None)
@given(
    n_rows=st.integers(2, 150),
    n_columns=st.integers(1, 150),
    n_values=st.integers(1, 63),
    with_missing=st.booleans(),
    with_categories=st.booleans(),
    random_cuts=st.booleans(),
    heavy=st.sampled_from([1.0, 1e9]),
    seed=st.integers(0, 1000),
)
def test_columns_side_by_side_give_the_split_of_columns_one_by_one(
    n_rows: int,
    n_columns: int,
    n_values: int,
    with_missing: bool,
    with_categories: bool,
    random_cuts: bool,
    heavy: float,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_values, (n_rows, n_columns)).astype(np.uint8)
    if with_missing:
        codes[random.random(codes.shape) < 0.05] = counts.MISSING
    is_category = random.random(n_columns) < (0.3 if with_categories else 0)
    # Few different votes, so that there are ties.
    vote = (heavy * random.choice([-2, -1, 1, 2], n_rows)).astype(np.float32)
    row = random.permutation(n_rows).astype(np.int32)
    grown = counts.Settings(6, 0.0, n_columns, random_cuts, 0.0, np.inf)
    room = counts.make_room(1, n_columns, grown)
    votes, weight = np.float32(vote.astype(float).sum()), np.float32(np.abs(vote).astype(float).sum())
    # Of the types that trees are grown with, for which it is compiled already.
    begin: Any
    end: Any
    begin, end = np.int32(0), np.int32(n_rows)
    rows = counts.Rows(codes, is_category, row, vote, np.zeros(n_rows, dtype=np.uint8))
    counts.count(rows, begin, end, grown, room.histograms[0])
    means = (votes, weight, np.float32(1))
    room.random[0] = seed
    expected = splits.best_of_drawn(rows, counts.Entry(begin, end, -1, *means), grown, room)
    left_over = room.random[0]
    for slot in (-1, 0):
        room.random[0] = seed
        assert splits.find_split(rows, counts.Entry(begin, end, slot, *means), grown, room) == expected
        assert room.random[0] == left_over
