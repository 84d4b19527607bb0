"""Many binary contests in flat arrays, each of which can be asked alone, or a tree of them at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.layout import CompiledTree
from offsettree.models.part import Part, Stored, must_hold
from offsettree.topology import ActionTree

__all__ = ["CONSTANTS", "Contests", "ContestsOrConstants", "read_constants"]

# Of a contest: that it is a real one, or which label it always answers (1: the left side wins).
CONSTANTS = (-1, 0, 1)


class Contests(Stored):
    """Contests of one kind. Contest c of tree t is number ``t * n_nodes + c``, with ``n_nodes`` of the tree."""

    n_contests: int

    @classmethod
    @abstractmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        """Read and check what was written."""

    @abstractmethod
    def compile(self, tree: ActionTree, first: int) -> CompiledTree | None:
        """Return the tree whose contests begin at number `first` as one that decides at once, if there is such."""

    @abstractmethod
    def prefers_left(self, contest: int, X: Any) -> NDArray[np.bool_]:
        """Ask one contest about all rows of a checked array or CSR matrix."""

    @property
    def takes_missing(self) -> bool:
        """Whether they know what to do with NaN."""
        return True

    def takes(self, X: Any) -> bool:
        """Tell whether a compiled tree decides on such rows: not all of them know what to do with NaN."""
        return True

    def choose(self, tree: ActionTree, first: int, X: Any, mask: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Send each row from the root to an action by asking contest after contest.

        With a mask, to one that it leaves: contests of which one side is closed are not asked.
        """
        action = np.empty(X.shape[0], dtype=np.intp)
        begin, middle, end = tree.leaf_ranges
        n_before = np.zeros((0 if mask is None else len(mask), tree.n_actions + 1), dtype=np.int32)
        if mask is not None:
            np.cumsum(mask[:, tree.leaves], axis=1, out=n_before[:, 1:])
        pending = [(0, np.arange(X.shape[0]))]
        while pending:
            node, rows = pending.pop()
            if mask is None:
                sent_left = self.prefers_left(first + node, X if len(rows) == X.shape[0] else X[rows])
            else:
                sent_left = n_before[rows, middle[node]] > n_before[rows, begin[node]]
                asked = np.flatnonzero(sent_left & (n_before[rows, end[node]] > n_before[rows, middle[node]]))
                if len(asked):
                    sent_left[asked] = self.prefers_left(first + node, X[rows[asked]])
            for child, moved in ((tree.left[node], rows[sent_left]), (tree.right[node], rows[~sent_left])):
                if child < 0:
                    action[moved] = ~child
                elif len(moved):
                    pending.append((int(child), moved))
        return action


class ContestsOrConstants(Contests):
    """Contests some of which have always the same answer."""

    constant: NDArray[np.int8]  # of each contest, one of `CONSTANTS`

    @property
    def n_contests(self) -> int:  # type: ignore[override]
        """How many there are."""
        return len(self.constant)

    def prefers_left(self, contest: int, X: Any) -> NDArray[np.bool_]:
        if self.constant[contest] >= 0:
            return np.full(X.shape[0], self.constant[contest] == 1)
        return self._ask(contest, X)

    @abstractmethod
    def _ask(self, contest: int, X: Any) -> NDArray[np.bool_]:
        """Do as `prefers_left` for a real contest."""

    def _past_constants(
        self, tree: ActionTree, first: int
    ) -> tuple[list[int], NDArray[np.int32], NDArray[np.int32], int]:
        """Return the real contests of a tree, of which the first is number `first`, and what comes next on each side.

        Constants are walked past beforehand. Children are numbers among the contests returned, or ``~action``; the last
        value is where the walk begins.
        """
        constant = self.constant[first : first + tree.n_nodes].tolist()
        real = [node for node, label in enumerate(constant) if label < 0]
        entry = np.empty(tree.n_nodes, dtype=np.int32)
        entry[real] = np.arange(len(real))
        children = tree.right.tolist(), tree.left.tolist()  # by label
        for node in range(tree.n_nodes - 1, -1, -1):
            if constant[node] >= 0:
                child = children[constant[node]][node]
                entry[node] = entry[child] if child >= 0 else child
        right, left = (
            np.array([entry[side[node]] if side[node] >= 0 else side[node] for node in real], dtype=np.int32)
            for side in children
        )
        return real, left, right, int(entry[0])


def read_constants(part: Part, n_contests: int) -> NDArray[np.int8]:
    """Read which contests are constants."""
    constant = part.array("constant", np.int8, n_contests)
    must_hold(np.isin(constant, CONSTANTS), f"{part.where}.constant.npy", "-1, 0 or 1")
    return constant
