"""Contests that are decided by many: forests, bagging and costing, and mixtures of trees and planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models._tables import check_nodes
from offsettree.models.committee import CommitteeTree
from offsettree.models.contests import ContestsOrConstants, read_constants
from offsettree.models.layout import BY_LEAF, BY_LOGISTIC, BY_SPLITS
from offsettree.models.part import Contents, Part, must_hold
from offsettree.topology import ActionTree

__all__ = ["CommitteeContests"]

NAMES = (
    "part_start",
    "divisor",
    "member_start",
    "part_divisor",
    "weight",
    "hard",
    "kind",
    "place",
    "nodes",
    "flags",
    "sets",
    "shares",
    "weights",
    "bias",
)


@dataclass(frozen=True, eq=False)
class CommitteeContests(ContestsOrConstants):
    """The arrays of a `CommitteeTree`, of those contests that are no constants, one after the other."""

    kind = "committees"

    constant: NDArray[np.int8]
    parts: dict[str, NDArray[Any]]

    def contents(self) -> Contents:
        return Contents({}, {"constant": self.constant, **self.parts})

    @classmethod
    def read(cls, part: Part, n_contests: int, n_columns: int) -> Self:
        constant = read_constants(part, n_contests)
        n_real = int(np.count_nonzero(constant < 0))
        part_start = part.starts("part_start", n_real)
        n_parts = int(part_start[-1])
        member_start = part.starts("member_start", n_parts)
        n_members = int(member_start[-1])
        shares = part.finite("shares", np.float64, None, 2)
        bias = part.finite("bias", np.float64, None)
        nodes = part.array("nodes", np.int32, None, 4)
        flags = part.array("flags", np.uint8, len(nodes))
        sets = part.array("sets", np.uint32, None, 8)
        check_nodes(part.where, nodes, flags, n_columns, len(sets), len(shares))
        kind = part.positions("kind", np.int8, BY_LOGISTIC + 1, n_members)
        place = part.array("place", np.int32, n_members)
        n_places = np.where(kind == BY_LEAF, len(shares), np.where(kind == BY_SPLITS, len(nodes), len(bias)))
        must_hold((place >= 0) & (place < n_places), f"{part.where}.place.npy", "places within their arrays")
        parts = {
            "part_start": part_start,
            "divisor": part.finite("divisor", np.float64, n_real),
            "member_start": member_start,
            "part_divisor": part.finite("part_divisor", np.float64, n_parts),
            "weight": part.finite("weight", np.float64, n_parts),
            "hard": part.array("hard", np.bool_, n_parts),
            "kind": kind,
            "place": place,
            "nodes": nodes,
            "flags": flags,
            "sets": sets,
            "shares": shares,
            "weights": part.finite("weights", np.float64, len(bias), n_columns),
            "bias": bias,
        }
        for name in ("divisor", "part_divisor"):
            must_hold(parts[name] > 0, f"{part.where}.{name}.npy", "numbers above 0")
        return cls(constant, parts)

    @property
    def takes_missing(self) -> bool:
        return len(self.parts["bias"]) == 0

    def compile(self, tree: ActionTree, first: int) -> CommitteeTree:
        _, left, right, root = self._past_constants(tree, first)
        # The committees of this tree alone: contests are numbered by them.
        begin = int(np.count_nonzero(self.constant[:first] < 0))
        return self._tree(left, right, root, begin, tree.n_actions)

    def _ask(self, contest: int, X: Any) -> NDArray[np.bool_]:
        begin = int(np.count_nonzero(self.constant[:contest] < 0))
        tree = self._tree(np.array([-1], np.int32), np.array([-2], np.int32), 0, begin, 2)
        return np.asarray(tree.choose(X) == 0)

    def _tree(
        self, left: NDArray[np.int32], right: NDArray[np.int32], root: int, begin: int, n_actions: int
    ) -> CommitteeTree:
        end = begin + len(left)
        parts = {
            **self.parts,
            "part_start": self.parts["part_start"][begin : end + 1],
            "divisor": self.parts["divisor"][begin:end],
        }
        return CommitteeTree(left, right, root, n_actions, *(parts[name] for name in NAMES))
