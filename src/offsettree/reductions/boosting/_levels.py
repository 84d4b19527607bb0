"""A tree grown level by level: tests are chosen from sums over rows, wherever those are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._boosting import BoostingSettings, empty_tree, kernel_settings, new_work

LOW = np.int64((1 << 32) - 1)  # the half of a packed sum that is its curvature


class Growth(NamedTuple):
    """A tree that is being grown, and what is to be summed next."""

    columns: NDArray[np.intp]  # that it may split on
    share: NDArray[np.uint32]  # of each action
    units: tuple[float, float, float]
    tree: Any  # its tests so far; the feature of a node that is not split is -1
    level: int
    nodes: NDArray[np.intp]  # of this level, that may be split: children of the same parent follow one another
    summed: NDArray[np.intp]  # those whose rows are summed: of two children, the one that seems to have fewer
    above: NDArray[np.intp]  # of each of these, the place of its parent among the nodes of the level above

    def copy(self) -> Growth:
        """Return a copy that can be written to, as kernels are compiled for: what came to a worker may not be."""
        tree = self.tree._replace(**{name: np.array(each) for name, each in self.tree._asdict().items()})
        arrays: dict[str, Any] = {
            name: np.array(each) for name, each in self._asdict().items() if isinstance(each, np.ndarray)
        }
        return self._replace(tree=tree, **arrays)


def begin_growth(
    columns: NDArray[np.intp], share: NDArray[np.uint32], units: tuple[float, float, float], depth: int
) -> Growth:
    """Return a tree of which the root is to be summed."""
    tree = empty_tree(depth, 0)
    tree.feature[:] = -1
    root = np.zeros(1, dtype=np.intp)
    return Growth(columns, share, units, tree, 0, root, root, root)


def choose_tests(
    growth: Growth,
    settings: BoostingSettings,
    is_category: NDArray[np.bool_],
    above: NDArray[np.int64] | None,
    sums: NDArray[np.int64],
) -> tuple[Growth, NDArray[np.int64]]:
    """Choose the tests of a level; return what comes next, and the sums of all nodes of this level.

    `sums` are those of the nodes in `growth.summed`, over all rows, and `above` those of all nodes of the level above.
    """
    from offsettree.reductions.boosting import _kernels_grow, _kernels_levels

    whole = sums
    if above is not None:
        whole = np.empty((len(growth.nodes), *sums.shape[1:]), dtype=np.int64)
        place = np.searchsorted(growth.nodes, growth.summed)
        whole[place] = sums
        np.subtract(above[growth.above], sums, out=sums)
        whole[place ^ 1] = sums  # its sibling
    n_shares = whole.shape[2] // _kernels_grow.N_BINS
    work, of_kernel = new_work(0, 0, n_shares, 0, 1), kernel_settings(settings)
    growth, category = growth.copy(), np.array(is_category)
    tree, first = growth.tree, 2**growth.level - 1
    _kernels_levels.choose_tests(
        work, growth.columns, category, whole, of_kernel, growth.units, first, growth.nodes, tree
    )  # fmt: skip
    split = np.flatnonzero(tree.feature[first + growth.nodes] >= 0)
    parents = growth.nodes[split]
    is_right = np.array(
        [_is_lighter_right(whole[each], growth, tree, n_shares, int(each)) for each in split], dtype=np.intp
    )
    nodes = (2 * parents[:, np.newaxis] + np.arange(2)).ravel()
    summed = 2 * parents + is_right.reshape(len(parents))
    return growth._replace(level=growth.level + 1, nodes=nodes, summed=summed, above=split), whole


def _is_lighter_right(sums: NDArray[np.int64], growth: Growth, tree: Any, n_shares: int, place: int) -> bool:
    """Tell whether less curvature goes to the right of a node's test than to the left."""
    node = 2**growth.level - 1 + growth.nodes[place]
    column = int(np.searchsorted(growth.columns, tree.feature[node]))
    weight = (sums[column] & LOW).reshape(-1, n_shares).sum(axis=1)
    goes_left = np.arange(len(weight), dtype=np.uint8) - tree.lowest[node] <= tree.span[node]
    return bool(2 * weight[goes_left].sum() > weight.sum())


def finish_tree(growth: Growth, settings: BoostingSettings, sums: NDArray[np.int64]) -> Any:
    """Return the tree, with values from the sums of its leaves by action."""
    from offsettree.reductions.boosting._kernels_grow import ALL
    from offsettree.reductions.boosting._kernels_levels import set_values

    tree = empty_tree(settings.depth, sums.shape[1])
    set_values(sums, kernel_settings(settings), growth.units, tree.values)
    is_split = growth.tree.feature >= 0
    tree.feature[:] = np.where(is_split, growth.tree.feature, 0)
    tree.lowest[:] = np.where(is_split, growth.tree.lowest, 0)
    tree.span[:] = np.where(is_split, growth.tree.span, ALL)
    return tree
