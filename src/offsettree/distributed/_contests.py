"""The tasks that train contests: subtrees depth first, then joins up to the root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.distributed._graph import Runner, Task
from offsettree.distributed._statistics import fetch
from offsettree.distributed.store import Blob, Store
from offsettree.reductions.parts import Plan, children_first, climb, rows_below, share_out

FEWEST_SUBTREES = 16
PER_WORKER = 4  # subtrees, so that none is left with a large one at the end
MOST_SUBTREES = 4096  # every task and join takes the driver some milliseconds, one after the other


class Trained(NamedTuple):
    """Contests, and the rows that have won them all, in the store; none at the root."""

    standing: Blob | None
    contests: list[Any]


def train_contests(plan: Plan, runner: Runner, digest: str) -> list[Any]:
    """Train all contests of a tree on the engine."""
    shared = runner.store.put("plan", plan)
    tasks = contest_tasks(plan, shared, digest, runner.engine.n_workers)
    results = runner.run(tasks)
    return [contest for task in tasks for contest in results[task.key].contests]


def contest_tasks(plan: Plan, shared: Blob, digest: str, n_workers: int) -> list[Task]:
    """Return the tasks of a tree, children before their parents."""
    tree = plan.contests.tree
    below = rows_below(tree, plan.contests.log.counts)

    def key(child: int) -> str:
        return f"contest-{digest}-{'leaf' if child < 0 else 'node'}-{child if child >= 0 else ~child}"

    n_parts = max(FEWEST_SUBTREES, min(PER_WORKER * n_workers, MOST_SUBTREES))
    roots = set(share_out(tree, lambda child: int(below[child]), n_parts)[0])
    order = list(children_first(tree, below, 0, lambda child: child < 0 or child in roots))
    subtrees: list[tuple[int, Task]] = []
    joins: list[Task] = []
    for child in order:
        if child < 0 or child in roots:
            subtrees.append((int(below[child]), Task(key(child), train_subtree, (shared, child))))
            continue
        sides = key(int(tree.left[child])), key(int(tree.right[child]))

        def arguments(results: dict[str, Any], child: int = child, sides: tuple[str, str] = sides) -> tuple[Any, ...]:
            return shared, child, *(results[side].standing for side in sides)

        joins.append(Task(key(child), train_join, arguments, sides))
    # The largest subtrees first, so that none is left at the end; a join begins as soon as its sides are done.
    return [*(task for _, task in sorted(subtrees, key=lambda each: -each[0])), *joins]


def train_subtree(store: Store, shared: Blob, child: int) -> Trained:
    """Train the contests below a child of the tree, from the rows of its actions."""
    plan: Plan = fetch(store, shared)
    below: NDArray[np.int64] = rows_below(plan.contests.tree, plan.contests.log.counts)
    trained, standing = climb(plan.contests, below, child)
    return Trained(store.put("standing", standing) if child else None, trained)


def train_join(store: Store, shared: Blob, node: int, left: Blob, right: Blob) -> Trained:
    """Train one contest between those who stand at its two sides."""
    contests = fetch(store, shared).contests
    sides = [store.get(left), store.get(right)]
    with contests.settings():
        trained, standing = contests.between(node, sides)
    return Trained(store.put("standing", standing) if node else None, trained)
