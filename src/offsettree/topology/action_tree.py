"""A binary tree over the actions, in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, count_rows
from offsettree._labels import check_positions
from offsettree._validation import as_random_state, check_propensity, check_reward
from offsettree.exceptions import TopologyError
from offsettree.topology import builders

__all__ = ["ActionTree", "LeafRanges"]


class LeafRanges(NamedTuple):
    """Which leaves are below each node, counted from left to right: the left side ends where the right one begins."""

    begin: NDArray[np.int32]
    middle: NDArray[np.int32]
    end: NDArray[np.int32]


class ActionTree:
    """Binary tree whose leaves are the actions 0, ..., k - 1 and whose k - 1 nodes are contests.

    A contest is the binary decision between a node's left and right side. Nodes are numbered from the root, 0,
    downwards: every node comes after its parent. A child is a node's number or, for a leaf, ``~action`` (``-1 -
    action``). Any shape is allowed, even a chain.

    Parameters
    ----------
    left, right : array of shape (n_actions - 1,)
        The children of each node.

    Attributes
    ----------
    left, right : ndarray of shape (n_nodes,)
        The children of each node, as given; read-only.
    n_actions, n_nodes : int
        k and k - 1.
    parent : ndarray of shape (n_nodes,)
        The node above each node; -1 for the root.
    leaf_parent : ndarray of shape (n_actions,)
        The node above each action.
    height : ndarray of shape (n_nodes,)
        Longest path from each node down to a leaf. Nodes of the same height do not depend on each other.
    leaves : ndarray of shape (n_actions,)
        The actions from left to right.

    Examples
    --------
    >>> tree = ActionTree.from_pairs(((0, 1), (2, (3, 4))))
    >>> tree.depth, list(tree.bottom_up())
    (3, [1, 3, 2, 0])
    >>> print(tree)
    ((0, 1), (2, (3, 4)))
    """

    def __init__(self, left: ArrayLike, right: ArrayLike) -> None:
        for side, given in (("left", left), ("right", right)):
            children = np.array(given)
            if children.ndim != 1 or (children.dtype.kind not in "iu" and len(children) > 0):
                raise TopologyError(f"{side} must be a list of whole numbers; got {given!r}.")
        self.left, self.right = np.array(left).astype(np.intp), np.array(right).astype(np.intp)
        self.n_nodes = len(self.left)
        self.n_actions = self.n_nodes + 1
        if self.n_nodes == 0 or len(self.right) != self.n_nodes:
            raise TopologyError(
                "left and right must hold one child per node, for at least one node; "
                f"got {self.n_nodes} and {len(self.right)} children."
            )
        nodes, both = np.arange(self.n_nodes), np.concatenate([self.left, self.right])
        if not np.array_equal(np.sort(both), np.delete(np.arange(-self.n_actions, self.n_nodes), self.n_actions)):
            raise TopologyError(
                f"every node but the root (0) and every leaf (~0 to ~{self.n_actions - 1}) must be a child exactly "
                f"once; got left={self.left.tolist()}, right={self.right.tolist()}."
            )
        late = (both >= 0) & (both <= np.tile(nodes, 2))
        if late.any():
            raise TopologyError(f"children must be numbered after their parents; node {both[late][0]} is not.")
        above = np.full(self.n_nodes + self.n_actions, -1, dtype=np.intp)
        above[self.left], above[self.right] = nodes, nodes  # a leaf's ~action counts from the end
        self.parent, self.leaf_parent = above[: self.n_nodes], above[self.n_nodes :][::-1]
        for array in (self.left, self.right, self.parent, self.leaf_parent):
            array.flags.writeable = False

    @classmethod
    def balanced(cls, n_actions: int) -> Self:
        """Maximally balanced tree with the actions in their order, for any k >= 2; depth is log2 k, rounded up."""
        return cls(*builders.balanced(np.arange(builders.check_n_actions(n_actions))))

    @classmethod
    def random(cls, n_actions: int, random_state: int | np.random.RandomState | None = None) -> Self:
        """Maximally balanced tree with the actions in random order."""
        return cls(*builders.balanced(builders.random_order(n_actions, random_state)))

    @classmethod
    def similar(cls, mean_rewards: ArrayLike) -> Self:
        """Maximally balanced tree with actions of similar mean reward side by side.

        The paper's note after Theorem 4.1: it is best to pair choices which tend to have similar rewards.
        """
        return cls(*builders.balanced(builders.order_by_reward(mean_rewards)))

    @classmethod
    def learned(
        cls,
        X: Features,
        action: ArrayLike,
        reward: ArrayLike,
        *,
        propensity: ArrayLike | None = None,
        n_actions: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        randomize: float = 0.0,
    ) -> Self:
        """Maximally balanced tree that puts actions of similar rewards given x side by side.

        A linear model of the reward is fitted per action. The actions are then bisected recursively along the
        direction in which the models of each part differ most.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n_rows, n_features)
            The contexts of a log. Missing values and nominal columns of frames are fine.
        action : array of shape (n_rows,)
            The logged actions, as positions from 0 to n_actions - 1.
        reward : array of shape (n_rows,)
            Their rewards, of any scale and origin.
        propensity : array of shape (n_rows,) or float, optional
            The probability with which each was logged. If given, the rows of an action are weighted to represent all
            contexts, not those in which the action was preferred.
        n_actions : int, optional
            By default the largest position, plus 1.
        random_state : int, RandomState instance or None, default=None
            Draws samples if X has more than 64 columns or there are more than 256 actions, and the random directions of
            `randomize`.
        randomize : float, default=0.0
            From 0, the leading direction of each part, to 1, all directions alike, which is nearly a random tree; at
            1/2 the models are projected on a random direction. For forests, whose trees must differ.

        Notes
        -----
        The model of an action with few rows is near the mean of all models; without rows it is that mean. Such actions
        are placed in the middle, side by side.

        Examples
        --------
        >>> X = np.random.RandomState(0).normal(size=(400, 2))
        >>> action = np.arange(400) % 4
        >>> reward = np.where(action % 2 == 0, X[:, 0], X[:, 1])  # 0 and 2 are alike, and so are 1 and 3
        >>> print(ActionTree.learned(X, action, reward, random_state=0))
        ((0, 2), (3, 1))
        """
        # Imported here: saved policies are loaded without scikit-learn.

        from offsettree.topology.reward_models import RewardModels

        n_rows = count_rows(X)
        position, n_actions = check_positions(action, n_rows, n_actions)
        models = RewardModels.fit(
            X,
            position,
            check_reward(reward, n_rows),
            builders.check_n_actions(n_actions),
            propensity=None if propensity is None else check_propensity(propensity, n_rows),
            random_state=(random := as_random_state(random_state)),
        )
        return cls(*models.children(random, randomize))

    @classmethod
    def from_pairs(cls, pairs: Any) -> Self:
        """Tree of nested pairs of action positions: ``((0, 1), 2)``."""
        return cls(*builders.from_pairs(pairs))

    def to_pairs(self) -> Any:
        """Return the tree as nested pairs, as `from_pairs` takes them."""
        built: list[Any] = [None] * self.n_nodes
        for node in range(self.n_nodes - 1, -1, -1):
            built[node] = tuple(
                int(~child) if child < 0 else built[child] for child in (self.left[node], self.right[node])
            )
        return built[0]

    # Computed on demand, as many uses of a tree need none of it. Loops are over lists, which are faster than arrays.

    @cached_property
    def height(self) -> NDArray[np.intp]:
        """Longest path from each node down to a leaf."""
        parent, height = self.parent.tolist(), [1] * self.n_nodes
        for node in range(self.n_nodes - 1, 0, -1):
            if height[parent[node]] <= height[node]:
                height[parent[node]] = height[node] + 1
        heights = np.array(height, dtype=np.intp)
        heights.flags.writeable = False
        return heights

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """The actions from left to right."""
        leaves = np.empty(self.n_actions, dtype=np.intp)
        for child, place in ((self.left, self.leaf_ranges.begin), (self.right, self.leaf_ranges.middle)):
            leaves[place[child < 0]] = ~child[child < 0]
        leaves.flags.writeable = False
        return leaves

    @cached_property
    def leaf_ranges(self) -> LeafRanges:
        """The indices in `leaves` of the actions below each node."""
        left, right, parent = self.left.tolist(), self.right.tolist(), self.parent.tolist()
        n_below = np.bincount(self.leaf_parent, minlength=self.n_nodes).tolist()
        for node in range(self.n_nodes - 1, 0, -1):
            n_below[parent[node]] += n_below[node]
        begin, middle = [0] * self.n_nodes, [0] * self.n_nodes
        for node in range(self.n_nodes):
            middle[node] = begin[node] + (1 if left[node] < 0 else n_below[left[node]])
            for child, first in ((left[node], begin[node]), (right[node], middle[node])):
                if child >= 0:
                    begin[child] = first
        return LeafRanges(*np.array([begin, middle, np.add(begin, n_below)], dtype=np.int32))

    @property
    def depth(self) -> int:
        """The largest number of contests between the root and an action."""
        return int(self.height[0])

    def levels(self) -> Iterator[NDArray[np.intp]]:
        """Yield groups of nodes from the leaves up; each depends only on earlier groups."""
        order = np.argsort(self.height, kind="stable")
        starts = np.searchsorted(self.height[order], np.arange(1, self.depth + 2))
        for begin, end in pairwise(starts):
            yield order[begin:end]

    def bottom_up(self) -> Iterator[int]:
        """Yield the nodes from the leaves up, every node after both its children."""
        for level in self.levels():
            yield from level.tolist()

    def __iter__(self) -> Iterator[int]:
        return self.bottom_up()

    def path(self, action: int) -> Iterator[tuple[int, bool]]:
        """Yield the contests from an action's leaf up to the root, and whether the action is on their left side."""
        if not 0 <= action < self.n_actions:
            raise TopologyError(f"action must be a position from 0 to {self.n_actions - 1}; got {action}.")
        child, node = int(~action), int(self.leaf_parent[action])
        while node >= 0:
            yield node, bool(self.left[node] == child)
            child, node = node, int(self.parent[node])

    def actions_below(self, node: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the actions in a node's left and in its right subtree, each from left to right."""
        begin, middle, end = (int(bound[node]) for bound in self.leaf_ranges)
        return self.leaves[begin:middle], self.leaves[middle:end]

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies are checked and read-only, too.
        return type(self), (self.left, self.right)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ActionTree):
            return NotImplemented
        return np.array_equal(self.left, other.left) and np.array_equal(self.right, other.right)

    def __hash__(self) -> int:
        return hash((self.left.tobytes(), self.right.tobytes()))

    def __repr__(self) -> str:
        return f"<ActionTree of {self.n_actions} actions, depth {self.depth}>"

    def __str__(self) -> str:
        text: list[str] = [""] * self.n_nodes
        for node in range(self.n_nodes - 1, -1, -1):
            sides = (str(~child) if child < 0 else text[child] for child in (self.left[node], self.right[node]))
            text[node] = f"({', '.join(sides)})"
        return text[0]
