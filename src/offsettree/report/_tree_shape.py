"""The tree over actions as a list of nodes, reduced to what can be drawn. Nothing recurses, as trees may be deep."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from offsettree.facts import as_number


@dataclass
class Node:
    """A contest between two sides, or an action."""

    label: str
    rows: float | None
    strength: float | None
    left: int = -1
    right: int = -1
    n_actions: int = 1

    @property
    def is_contest(self) -> bool:
        """Whether this node has two sides."""
        return self.left >= 0


@dataclass(frozen=True)
class Place:
    """Where a node is drawn: its depth and its row."""

    node: int
    depth: int
    row: int


def flatten(tree: Mapping[str, Any] | None) -> list[Node]:
    """Return the nodes, each before its children, the root first."""
    nodes: list[Node] = []
    pending: list[tuple[Any, int, str]] = [(tree, -1, "")]
    while pending:
        found, parent, side = pending.pop()
        at = len(nodes)
        if parent >= 0:
            setattr(nodes[parent], side, at)
        facts = found if isinstance(found, Mapping) else {}
        left, right = facts.get("left"), facts.get("right")
        action = facts.get("action")
        nodes.append(Node("(no name)" if action is None else str(action), as_number(facts.get("rows")), _share(facts)))
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            pending += [(right, at, "right"), (left, at, "left")]
    for node in reversed(nodes):
        if node.is_contest:
            node.n_actions = nodes[node.left].n_actions + nodes[node.right].n_actions
    return nodes


def _share(facts: Mapping[str, Any]) -> float | None:
    found = as_number(facts.get("strength"))
    return None if found is None else min(max(found, 0.0), 1.0)


def worth_drawing(nodes: list[Node], most: int) -> set[int]:
    """Return the contests to draw: from the root downwards those with most rows, until `most` ends are left."""
    drawn: set[int] = set()
    heap = [(0.0, 0)] if nodes[0].is_contest else []
    while heap and len(drawn) < most - 1:
        _, at = heapq.heappop(heap)
        drawn.add(at)
        for child in (nodes[at].left, nodes[at].right):
            node = nodes[child]
            if node.is_contest:
                heapq.heappush(heap, (-float(node.n_actions if node.rows is None else node.rows), child))
    return drawn


def places(nodes: list[Node], drawn: set[int]) -> list[Place]:
    """Give every node a row of its own, a contest between its two sides; the text stands to its right."""
    order: list[Place] = []
    pending: list[tuple[int, int, bool]] = [(0, 0, False)]
    while pending:
        at, depth, seen = pending.pop()
        if seen or at not in drawn:
            order.append(Place(at, depth, len(order)))
            continue
        node = nodes[at]
        pending += [(node.right, depth + 1, False), (at, depth, True), (node.left, depth + 1, False)]
    return order


def members(nodes: list[Node], at: int, most: int) -> list[str]:
    """Return the first few actions below a node."""
    found: list[str] = []
    pending = [at]
    while pending and len(found) < most:
        node = nodes[pending.pop()]
        if node.is_contest:
            pending += [node.right, node.left]
        else:
            found.append(node.label)
    return found
