"""The contests of a tree one path at a time: only the rows that wait beside that path are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._workers import parallel
from offsettree.reductions._contests import TASKS_PER_WORKER, share_out
from offsettree.topology import ActionTree

PART_ROWS = 1 << 16  # a subtree of no more rows is read and trained in one go

Standing = TypeVar("Standing")
OnRows = Callable[[int], None]


class Contests(Protocol[Standing]):
    """What trains contests on rows that it reads from disk: those that are still standing, at a child of the tree."""

    @property
    def tree(self) -> ActionTree:
        """The tree over the actions."""

    @property
    def prefer(self) -> str:
        """What joblib is to run workers as: threads or processes."""

    def settings(self) -> AbstractContextManager[Any]:
        """Return the context to train in."""

    def of_part(self, child: int) -> tuple[list[Any], Standing]:
        """Read the rows below a child and train all contests there; return these, and who is standing at the end."""

    def between(self, node: int, sides: list[Standing]) -> tuple[list[Any], Standing]:
        """Train one contest between those who stand at its two sides; the list is emptied, so that none is held."""


def climb_all(contests: Contests[Any], below: NDArray[np.int64], n_jobs: int | None, on_rows: OnRows) -> list[Any]:
    """Train every contest, children first; return what `contests` made of each, in any order.

    `below` has the rows below each child; `on_rows` is called with the number of rows that have just been read. With
    several workers each trains a subtree on its own, as many at a time as there are workers.
    """
    tree, n_workers = contests.tree, effective_n_jobs(n_jobs)
    if n_workers == 1 or tree.n_nodes == 1:
        return climb(contests, below, 0, on_rows)[0]
    subtrees = set(share_out(tree, lambda child: int(below[child]), TASKS_PER_WORKER * n_workers)[0])
    order = list(children_first(tree, below, 0, lambda child: child < 0 or child in subtrees))
    waves = [child for child in order if child in subtrees]
    trained: list[Any] = []
    waiting: dict[int, Any] = {}
    # Set here too: a thread that is done sets BLAS back to what it found, which must be one thread for the others.
    with contests.settings(), parallel(n_jobs=n_jobs, prefer=contests.prefer) as workers:
        for child in order:
            if child in waiting:
                continue  # came with its wave
            if child in subtrees:
                wave, waves = waves[:n_workers], waves[n_workers:]
                results = workers(delayed(climb)(contests, below, node) for node in wave)
                for node, (new, standing) in zip(wave, results, strict=True):
                    waiting[node] = standing
                    trained += new
                    on_rows(int(below[node]))
                del results, standing
            else:
                trained += _step(contests, tree, child, waiting, below, on_rows, is_part=child < 0)
    return trained


def climb(
    contests: Contests[Standing], below: NDArray[np.int64], root: int, on_rows: OnRows | None = None
) -> tuple[list[Any], Standing]:
    """Train the contests from the leaves up to a root, depth first."""
    tree = contests.tree
    trained: list[Any] = []
    waiting: dict[int, Any] = {}

    def is_part(child: int) -> bool:
        return child < 0 or bool(below[child] <= PART_ROWS)

    with contests.settings():
        for child in children_first(tree, below, root, is_part):
            trained += _step(contests, tree, child, waiting, below, on_rows, is_part=is_part(child))
    return trained, waiting.pop(root)


def _step(
    contests: Contests[Any],
    tree: ActionTree,
    child: int,
    waiting: dict[int, Any],
    below: NDArray[np.int64],
    on_rows: OnRows | None,
    *,
    is_part: bool,
) -> list[Any]:
    if is_part:
        trained, waiting[child] = contests.of_part(child)
        if on_rows is not None:
            on_rows(int(below[child]))
        return trained
    sides = [waiting.pop(int(tree.left[child])), waiting.pop(int(tree.right[child]))]
    trained, waiting[child] = contests.between(child, sides)
    return trained


def children_first(
    tree: ActionTree, below: NDArray[np.int64], root: int, is_part: Callable[[int], bool]
) -> Iterator[int]:
    """Yield a root after all that is below it, and so on down to the parts, below which nothing is looked at."""
    pending = [(root, False)]
    while pending:
        child, is_done = pending.pop()
        if is_done or is_part(child):
            yield child
            continue
        pending.append((child, True))
        # The side with fewer rows comes last: what the other leaves behind waits meanwhile.
        sides = sorted((int(tree.left[child]), int(tree.right[child])), key=lambda side: int(below[side]))
        pending += [(side, False) for side in sides]


def rows_below(tree: ActionTree, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the rows below each child: a node's number, or ``~action``, which counts from the end."""
    below = np.zeros(tree.n_nodes + tree.n_actions, dtype=np.int64)
    below[~np.arange(tree.n_actions)] = counts
    for node in range(tree.n_nodes - 1, -1, -1):
        below[node] = below[tree.left[node]] + below[tree.right[node]]
    return below
