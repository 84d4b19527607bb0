"""Decision trees in flat tables: what makes them trees that a kernel can walk safely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.layout import BY_CATEGORY, MISSING_LEFT
from offsettree.models.part import must_hold


def check_entries(
    where: str, start: NDArray[np.int64], fields: Mapping[str, NDArray[Any]], n_columns: int, n_sets: int
) -> None:
    """Refuse trees whose entries are not all splits with two children that come later, or leaves."""
    feature, left, right = fields["feature"], fields["left"], fields["right"]
    n_entries = len(feature)
    must_hold(start[-1] == n_entries, f"{where}.start.npy", f"ascending numbers from 0 to {n_entries}")
    must_hold(start[:-1] < start[1:], f"{where}.start.npy", "trees of at least one entry each")
    leaf = feature < 0
    must_hold(feature < n_columns, f"{where}.feature.npy", f"columns from 0 to {n_columns - 1}, and -1 at leaves")
    must_hold((feature >= -1) & ((left < 0) == leaf) & ((right < 0) == leaf), where, "splits with two children")
    begin, end = (np.repeat(bound, np.diff(start)) for bound in (start[:-1], start[1:]))
    own = np.arange(n_entries)
    n_parents = np.zeros(n_entries, dtype=np.int64)
    for name, child in (("left", left), ("right", right)):
        place = begin + child.astype(np.int64)
        must_hold(
            leaf | ((place > own) & (place < end)),
            f"{where}.{name}.npy",
            "children after their parent, in its own tree",
        )
        n_parents += np.bincount(place[~leaf], minlength=n_entries)
    must_hold(n_parents <= 1, where, "trees, in which no two ways lead to one entry")
    must_hold(leaf | ~np.isnan(fields["threshold"]), f"{where}.threshold.npy", "no NaN")
    if "category_set" in fields:
        category = fields["category_set"]
        must_hold(
            (category >= -1) & (category < n_sets), f"{where}.category_set.npy", f"sets from 0 to {n_sets - 1}, or -1"
        )


def check_nodes(
    where: str, nodes: NDArray[np.int32], flags: NDArray[np.uint8], n_columns: int, n_sets: int, n_leaves: int
) -> None:
    """Do the same for splits of four words, as `models.graph.SplitGraph` has them; leaves are below zero."""
    own = np.arange(len(nodes))[:, np.newaxis]
    children = nodes[:, 2:].astype(np.int64)
    must_hold((nodes[:, 0] >= 0) & (nodes[:, 0] < n_columns), f"{where}.nodes.npy", f"columns below {n_columns}")
    must_hold(
        (children > own) & (children < len(nodes)) | (children < 0) & (~children < n_leaves),
        f"{where}.nodes.npy",
        f"children after their parent, or one of {n_leaves} leaves",
    )
    must_hold(flags & ~np.uint8(MISSING_LEFT | BY_CATEGORY) == 0, f"{where}.flags.npy", "known flags")
    by_category = (flags & BY_CATEGORY) != 0
    word = nodes[:, 1]
    must_hold(~by_category | ((word >= 0) & (word < n_sets)), f"{where}.nodes.npy", f"sets below {n_sets}")
    must_hold(by_category | ~np.isnan(np.ascontiguousarray(word).view(np.float32)), f"{where}.nodes.npy", "no NaN")
