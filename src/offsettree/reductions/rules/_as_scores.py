"""A policy of a few rules, as a model in flat arrays: one decision tree whose leaves hold a number for every action."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree.learners import Bins
from offsettree.models.scores import Scores, TreeScores
from offsettree.models.tree_table import TreeTable
from offsettree.reading.columns import ColumnSpace
from offsettree.reading.trees import TreeList
from offsettree.reductions.rules._rule import Rule

BEYOND_CODES = 256.0
BIGGEST = float(np.finfo(np.float32).max)


def rules_as_scores(root: Rule, bins: Bins, space: ColumnSpace, n_actions: int) -> Scores:
    """Flatten rules; a test for a category becomes one of its indicator, or of whether there is a code."""
    place = space.codes(bins.categories) if bins.categories else np.arange(space.n_features)
    entries: list[list[Any]] = []
    values: list[Any] = []

    def add(rule: Rule) -> int:
        own = len(entries)
        entries.append([-1, 0.0, -1, -1, False])
        values.append(rule.values)
        if rule.left is None or rule.right is None or rule.column is None:
            return own
        if rule.threshold is not None:
            first, second = rule.left, rule.right
            test = [int(place[rule.column]), min(rule.threshold, BIGGEST), rule.missing_left]
        elif rule.category is None:  # neither missing nor unknown values have a code
            first, second = rule.right, rule.left
            test = [int(place[rule.column]), BEYOND_CODES, False]
        else:  # at most 0.5: another category
            first, second = rule.right, rule.left
            (indicator,) = space.indicators([rule.name], [np.array([rule.category], dtype=object)])
            test = [int(indicator), 0.5, False]
        column, threshold, missing_left = test
        left = add(first)
        entries[own] = [column, threshold, left, add(second), missing_left]
        return own

    add(root)
    trees = TreeList()
    columns = [np.array(column) for column in zip(*entries, strict=True)]
    trees.add(TreeTable(np.array([0, len(entries)]), *columns), np.array(values))
    return Scores([TreeScores(trees.sums(np.zeros(n_actions), np.ones(n_actions), narrow=True))], n_actions)
