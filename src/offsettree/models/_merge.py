"""The decision trees of all contests as one graph: compiled by `_kernels_graph`, or run as it is for small ones."""

from __future__ import annotations

from typing import Any


def merge_trees(
    left: Any,
    right: Any,
    start: Any,
    feature: Any,
    threshold: Any,
    entry_left: Any,
    entry_right: Any,
    flags: Any,
    answer_left: Any,
    nodes: Any,
    node_flags: Any,
    room: Any,
) -> Any:
    """Join the trees of all contests; a split whose two ways lead to the same place is dropped.

    Returns the root and how many splits there are, which fill `nodes` from the end; -1 where an entry comes before its
    parent. The last contests come first, so that what a leaf points to is known. `room` is for a number per contest
    and one per entry.
    """
    n_contests = left.shape[0]
    root, target = room[:n_contests], room[n_contests:]
    n_splits = 0
    for contest in range(n_contests - 1, -1, -1):
        to_left = left[contest]
        to_right = right[contest]
        to_left = root[to_left] if to_left >= 0 else to_left
        to_right = root[to_right] if to_right >= 0 else to_right
        begin = start[contest]
        end = start[contest + 1]
        if begin == end:
            root[contest] = to_left
            continue
        for entry in range(end - 1, begin - 1, -1):
            if entry_left[entry] < 0:
                target[entry] = to_left if answer_left[entry] else to_right
                continue
            below_left = begin + entry_left[entry]
            below_right = begin + entry_right[entry]
            if below_left <= entry or below_right <= entry or below_left >= end or below_right >= end:
                return 0, -1
            if target[below_left] == target[below_right]:
                target[entry] = target[below_left]
                continue
            n_splits += 1
            place = nodes.shape[0] - n_splits
            nodes[place, 0] = feature[entry]
            nodes[place, 1] = threshold[entry]
            nodes[place, 2] = target[below_left]
            nodes[place, 3] = target[below_right]
            node_flags[place] = flags[entry]
            target[entry] = place
        root[contest] = target[begin]
    return root[0], n_splits
