"""A tree grown level by level on parts of the rows is that of all rows at once, to the bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from offsettree.reductions.boosting import _boosting
from offsettree.reductions.boosting._boosting import (
    BoostedLog,
    BoostingSettings,
    Course,
    GrowingRows,
    mean_of,
    units_of,
)
from offsettree.reductions.boosting._levels import begin_growth, choose_tests, finish_tree

BLOCK = 64


def make_log(n_rows: int, k: int, *, logistic: bool, weighted: bool) -> BoostedLog:
    random = np.random.default_rng(k)
    codes = random.integers(0, 12, (4, n_rows)).astype(np.uint8)
    codes[1][random.random(n_rows) < 0.2] = 63  # missing
    action = random.integers(0, k, n_rows).astype(np.int32)
    chance = 0.2 + 0.6 * (codes[action % 2, np.arange(n_rows)] > 5)
    reward = (random.random(n_rows) < chance).astype(float) if logistic else chance + random.normal(0, 0.3, n_rows)
    weight = random.uniform(0.5, 2.0, n_rows) if weighted else None
    is_category = np.array([False, False, True, False])
    return BoostedLog(codes, is_category, np.empty((n_rows, 0)), action, reward, weight, k, logistic)


@pytest.mark.parametrize("n_parts", [1, 2, 5])
@pytest.mark.parametrize(("k", "logistic", "weighted"), [(3, True, False), (3, False, True), (600, True, True)])
def test_trees_are_the_same_whatever_the_parts(
    n_parts: int, k: int, logistic: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_boosting, "SUMMED", BLOCK)
    log = make_log(10 * BLOCK + 7, k, logistic=logistic, weighted=weighted)
    settings = BoostingSettings(6, 0.3, 3, 5.0, 5.0, 4, 0.75, 3)
    is_out = np.random.default_rng(1).random(len(log.reward)) < 0.3

    def growing(rows: slice) -> GrowingRows:
        part = log._replace(
            codes=log.codes[:, rows],
            design=log.design[rows],
            action=log.action[rows],
            reward=log.reward[rows],
            weight=None if log.weight is None else log.weight[rows],
        )
        out = is_out[rows]
        learned, held_out = part.take(np.flatnonzero(~out)), part.take(np.flatnonzero(out))
        score, outside = np.full(len(learned.reward), 0.1), np.full(len(held_out.reward), 0.1)
        return GrowingRows(learned, held_out, score, outside, settings)

    whole = growing(slice(None))
    cuts = [*(number * 10 // n_parts * BLOCK for number in range(n_parts)), len(log.reward)]
    parts = [growing(slice(begin, end)) for begin, end in pairwise(cuts)]
    course = Course(len(log.codes), k, settings, 0)
    n_split = 0
    while course.goes_on():
        columns, share = course.draw()
        units = units_of(whole.gradient_sums(), int((~is_out).sum()))
        assert units == units_of(np.concatenate([part.gradient_sums() for part in parts]), int((~is_out).sum()))
        tree = whole.grow(columns, share, units)
        for part in parts:
            part.begin(share, units)
        growth, above = begin_growth(columns, share, units, settings.depth), None
        while len(growth.nodes) and growth.level < settings.depth:
            sums = np.sum([part.sum_level(growth.columns, growth.summed) for part in parts], axis=0)
            growth, above = choose_tests(growth, settings, log.is_category, above, sums)
            for part in parts:
                part.divide(growth.tree)
        for part in parts:
            while part.level < settings.depth:
                part.divide(growth.tree)
        same = finish_tree(growth, settings, np.sum([part.leaf_sums() for part in parts], axis=0))
        for part in parts:
            part.add(same)
        assert all(one.tobytes() == other.tobytes() for one, other in zip(tree, same, strict=True))
        n_split += int((growth.tree.feature >= 0).sum())
        assert mean_of(whole.loss_sums()) == mean_of(np.concatenate([part.loss_sums() for part in parts]))
    assert np.concatenate([part.outside for part in parts]).tobytes() == whole.outside.tobytes()
    assert n_split > 0
