"""Rules as flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.learners._binning import Bins
from offsettree.models.graph import SplitGraph, as_words
from offsettree.reductions.rules._rule import Rule

__all__ = ["flatten_rules"]

N_WORDS = 8  # of 32 bits: a set of codes


def flatten_rules(root: Rule, bins: Bins, actions: NDArray[Any]) -> tuple[SplitGraph, SplitGraph]:
    """Return two graphs: one from a row to the position of its action, one to that of its leaf."""
    tests: list[Rule] = []
    ends: list[Rule] = list(root.leaves())
    children: list[tuple[int, int]] = []

    def place(rule: Rule) -> int:
        if rule.left is None or rule.right is None:
            return ~next(at for at, end in enumerate(ends) if end is rule)
        own = len(tests)
        tests.append(rule)
        children.append((0, 0))
        children[own] = place(rule.left), place(rule.right)
        return own

    top = place(root)
    threshold, category_set = np.zeros(len(tests)), np.full(len(tests), -1)
    sets: list[NDArray[np.uint32]] = []
    for at, rule in enumerate(tests):
        if rule.threshold is not None:
            threshold[at] = rule.threshold
        else:
            category_set[at] = len(sets)
            sets.append(_only(None if rule.category is None else bins.categories[rule.column or 0][rule.category]))
    missing_left = np.array([rule.missing_left for rule in tests], dtype=bool)
    words, flags = as_words(threshold, missing_left, category_set)
    nodes = np.empty((len(tests), 4), dtype=np.int32)
    nodes[:, 0] = [rule.column or 0 for rule in tests]
    nodes[:, 1] = words
    nodes[:, 2:] = np.array(children, dtype=np.int32).reshape(-1, 2)
    known = np.array(sets, dtype=np.uint32).reshape(-1, N_WORDS)
    by_leaf = SplitGraph(nodes, flags, known, top, max(2, len(ends)))
    position = {label: at for at, label in enumerate(actions.tolist())}
    answer = np.array([~position[end.action] for end in ends], dtype=np.int32)
    named = nodes.copy()
    named[:, 2:] = np.where(nodes[:, 2:] >= 0, nodes[:, 2:], answer[~np.minimum(nodes[:, 2:], -1)])
    return SplitGraph(named, flags, known, top if top >= 0 else int(answer[~top]), len(actions)), by_leaf


def _only(code: int | None) -> NDArray[np.uint32]:
    words = np.zeros(N_WORDS, dtype=np.uint32)
    if code is not None:
        words[code // 32] |= np.uint32(1 << (code % 32))
    return words
