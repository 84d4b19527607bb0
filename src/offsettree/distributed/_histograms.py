"""Boosting on parts of the rows: tasks sum histograms, a tree of tasks adds them up, tests are chosen from the totals.

Gradients and curvatures are integers, so that sums do not depend on who adds what. Sums of losses, and of the sizes of
gradients, are of blocks of rows that do not depend on it either, and blocks are added up exactly. So the trees are
those of one machine. A worker keeps the rows that it worked on last, and their scores; another one, or a new one in
its place, makes them anew from the trees so far.
"""

from __future__ import annotations

import math
import tempfile
from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.distributed._graph import Results, Runner, Task
from offsettree.distributed.store import Blob, Store
from offsettree.reductions.parts import (
    SUMMED,
    BoostedLog,
    BoostingSettings,
    Course,
    FoldFits,
    GrowingRows,
    Growth,
    Room,
    add_trees,
    begin_growth,
    choose_tests,
    finish_tree,
    held_out_scores,
    losses_of,
    mean_of,
    stacked,
    units_of,
)

PART_ROWS = SUMMED
FAN_IN = 8  # sums that one task adds up
KEPT = 4  # parts in the course of a fit that a worker keeps


class LaidOut(NamedTuple):
    """A log for boosting, in parts in the store."""

    parts: tuple[Blob, ...]
    settings: BoostingSettings
    seeds: NDArray[np.int64]
    is_category: NDArray[np.bool_]
    n_actions: int
    n_rows: int
    n_held_out: NDArray[np.int64]  # of each fold


class Part(NamedTuple):
    """Some of the rows."""

    log: BoostedLog
    fold: NDArray[np.int32]


class Begun(NamedTuple):
    """What a fit starts from: linear models, if any, and the scores of each part."""

    linear: Blob
    scores: tuple[Blob, ...]


class Share(NamedTuple):
    """The rows of one task, in one fit."""

    name: str
    parts: tuple[Blob, ...]
    scores: tuple[Blob, ...]
    fold: int
    settings: BoostingSettings


class Grown(NamedTuple):
    """How far a fit came: its last tree, the units of the next one, and the held-out loss."""

    tree: Blob | None
    units: tuple[float, float, float]
    loss: float


class Chosen(NamedTuple):
    """The tests of a level, and its sums."""

    growth: Growth
    sums: Blob


def shares_of(n_workers: int, n_fits: int, n_rows: int) -> int:
    """Return how many shares the rows of each of several fits have, so that all workers have as much to do."""
    if n_workers <= n_fits:
        return 1
    return min(n_workers // math.gcd(n_workers, n_fits), -(-n_rows // PART_ROWS))


def lay_out(store: Store, fits: FoldFits) -> LaidOut:
    """Write the rows to the store in parts."""
    parts, log = [], fits.log
    for begin in range(0, len(log.reward), PART_ROWS):
        here = slice(begin, begin + PART_ROWS)
        part = log._replace(
            codes=np.ascontiguousarray(log.codes[:, here]),
            design=np.empty((len(log.reward[here]), 0)),
            action=log.action[here],
            reward=log.reward[here],
            weight=None if log.weight is None else log.weight[here],
            room=Room(),
        )
        parts.append(store.put("part", Part(part, fits.fold[here].astype(np.int32))))
    counts = np.bincount(fits.fold)
    return LaidOut(
        tuple(parts), fits.settings, fits.seeds, log.is_category, log.n_actions, len(log.reward), counts
    )  # fmt: skip


def begin_fit(store: Store, fits: FoldFits, f: int, s: int) -> Begun:
    """Fit what trees start from, and write the scores of all rows."""
    _, out, weights, score = fits.begun(f, s)
    whole = np.empty(len(fits.fold))
    whole[fits.fold != f], whole[fits.fold == f] = score, held_out_scores(out, weights)
    begins = range(0, len(whole), PART_ROWS)
    scores = tuple(store.put("scores", whole[begin : begin + PART_ROWS]) for begin in begins)
    return Begun(store.put("linear", fits.linear(weights, s)), scores)


def boost_on_parts(
    runner: Runner, key: str, laid: LaidOut, begun: Begun, place: tuple[int, int], near: range
) -> Generator[list[Task], Results, Blob]:
    """Boost from one start without one fold; workers have shares of the rows, one for each number in `near`."""
    fit = _Fit(runner, key, laid, begun, place[0], near)
    course = Course(len(laid.is_category), laid.n_actions, laid.settings, laid.seeds[place])
    grown = yield from fit.grown(0, (), None)
    course.improves(grown.loss)
    trees: tuple[Blob, ...] = ()
    while course.goes_on():
        columns, share = course.draw()
        grown = yield from fit.grown(len(trees) + 1, trees, (columns, share, grown.units))
        trees += () if grown.tree is None else (grown.tree,)
        course.improves(grown.loss)
    return (yield from fit.finished(trees[: course.n_kept]))


class _Fit:
    """Makes the tasks of one fit."""

    def __init__(self, runner: Runner, key: str, laid: LaidOut, begun: Begun, fold: int, near: range) -> None:
        self._runner, self._key, self._laid, self._begun, self._near = runner, key, laid, begun, near
        self._n_learned = laid.n_rows - int(laid.n_held_out[fold])
        groups = np.array_split(np.arange(len(laid.parts)), len(near))
        self._shares = [
            Share(
                f"{key}-{group[0]}-{group[-1]}",
                laid.parts[group[0] : group[-1] + 1],
                begun.scores[group[0] : group[-1] + 1],
                fold,
                laid.settings,
            )
            for group in groups
        ]

    def grown(self, number: int, trees: tuple[Blob, ...], drawn: Any) -> Generator[list[Task], Results, Grown]:
        """Return the tree of a number, from the store if it is there; number 0 is the start, without a tree."""
        key = f"{self._key}-tree-{number}"
        found: Grown | None = self._runner.found(key)
        if found is not None:
            return found
        tree = None if drawn is None else (yield from self._tree(key, trees, drawn))
        after = trees if tree is None else (*trees, tree)
        sums = yield from self._on_shares(key, measure, after)
        gradients, losses = (np.concatenate(each) for each in zip(*sums, strict=True))
        grown = Grown(tree, units_of(gradients, self._n_learned), mean_of(losses))
        self._runner.store.record(key, grown)
        return grown

    def _tree(self, key: str, trees: tuple[Blob, ...], drawn: Any) -> Generator[list[Task], Results, Blob]:
        columns, share, units = drawn
        growth, above = begin_growth(columns, share, units, self._laid.settings.depth), None
        while len(growth.nodes) and growth.level < self._laid.settings.depth:
            given = self._laid.settings, self._laid.is_category, growth, above
            chosen = yield from self._from_sums(f"{key}-{growth.level}", sum_level, (trees, growth), choose, given)
            self._runner.store.discard([above])
            growth, above = chosen.growth, chosen.sums
        self._runner.store.discard([above])
        last = self._laid.settings, growth
        tree: Blob = yield from self._from_sums(f"{key}-leaves", sum_leaves, (trees, growth), set_values, last)
        return tree

    def _on_shares(self, key: str, function: Any, *given: Any) -> Generator[list[Task], Results, list[Any]]:
        tasks = self._share_tasks(key, function, given)
        results = yield tasks
        return [results[task.key] for task in tasks]

    def _from_sums(
        self, key: str, function: Any, given: tuple[Any, ...], last: Any, first: tuple[Any, ...]
    ) -> Generator[list[Task], Results, Any]:
        """Have shares summed, sums added up in a tree of tasks, and a last task make something of them."""
        tasks = self._share_tasks(key, function, given)
        keys = tuple(task.key for task in tasks)
        while len(keys) > FAN_IN:
            several = [keys[begin : begin + FAN_IN] for begin in range(0, len(keys), FAN_IN)]
            added = [_joining(f"{each[0]}+", add_up, (), each) for each in several]
            tasks, keys = [*tasks, *added], tuple(task.key for task in added)
        results = yield [*tasks, _joining(f"{key}-last", last, first, keys)]
        self._runner.store.discard([results[task.key] for task in tasks])
        return results[f"{key}-last"]

    def _share_tasks(self, key: str, function: Any, given: tuple[Any, ...]) -> list[Task]:
        return [
            Task(f"{key}-{share.name}", function, (share, *given), (), near, is_recorded=False)
            for share, near in zip(self._shares, self._near, strict=True)
        ]

    def finished(self, trees: tuple[Blob, ...]) -> Generator[list[Task], Results, Blob]:
        """Have the trees joined into a model; the losses of held-out rows are asked for in the first fold only."""
        losses: list[Any] = []
        if self._shares[0].fold == 0:
            losses = yield from self._on_shares(f"{self._key}-losses", held_out_losses, trees)
        given = self._begun.linear, self._laid.settings.depth, self._laid.n_actions, trees, tuple(losses)
        results = yield [Task(self._key, join, given)]
        self._runner.store.discard([*losses, *trees, *self._begun.scores, self._begun.linear])
        model: Blob = results[self._key].model
        return model


def _joining(key: str, function: Any, given: tuple[Any, ...], keys: tuple[str, ...]) -> Task:
    return Task(
        key, function, lambda results: (*given, *(results[each] for each in keys)), keys, is_recorded=False
    )  # fmt: skip


class Boosted(NamedTuple):
    """Trees and their losses, in the store."""

    model: Blob


def measure(store: Store, share: Share, trees: tuple[Blob, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum sizes of gradients, and held-out losses, by block."""
    with _at_hand(store, share, trees) as kept:
        return kept.measure(), kept.rows.loss_sums()


def sum_level(store: Store, share: Share, trees: tuple[Blob, ...], growth: Growth) -> Blob:
    """Sum the rows of some nodes of a tree's present level."""
    growth = growth.copy()
    with _at_hand(store, share, trees) as kept:
        kept.bring_to(growth, growth.level)
        return store.put("sums", kept.rows.sum_level(growth.columns, growth.summed))


def sum_leaves(store: Store, share: Share, trees: tuple[Blob, ...], growth: Growth) -> Blob:
    """Sum the rows of every leaf."""
    growth = growth.copy()
    with _at_hand(store, share, trees) as kept:
        kept.bring_to(growth, share.settings.depth)
        return store.put("sums", kept.rows.leaf_sums())


def held_out_losses(store: Store, share: Share, trees: tuple[Blob, ...]) -> Blob:
    """Write the losses of held-out rows after some trees."""
    _, out, _, score = _rows_of(store, share)
    add_trees(out, [store.get(tree) for tree in trees], score)
    return store.put("losses", losses_of(out, score))


def add_up(store: Store, *sums: Blob) -> Blob:
    """Add up sums."""
    return store.put("sums", _total(store, sums))


def choose(
    store: Store,
    settings: BoostingSettings,
    is_category: NDArray[np.bool_],
    growth: Growth,
    above: Blob | None,
    *sums: Blob,
) -> Chosen:
    """Choose the tests of a level."""
    higher = None if above is None else store.get(above)
    after, whole = choose_tests(growth, settings, is_category, higher, _total(store, sums))
    return Chosen(after, store.put("sums", whole))


def set_values(store: Store, settings: BoostingSettings, growth: Growth, *sums: Blob) -> Blob:
    """Write the tree that was grown."""
    return store.put("tree", finish_tree(growth, settings, _total(store, sums)))


def join(
    store: Store, linear: Blob, depth: int, n_actions: int, trees: tuple[Blob, ...], losses: tuple[Blob, ...]
) -> Boosted:
    """Write the model of some trees, and the losses."""
    model = stacked([store.get(tree) for tree in trees], 2**depth - 1, n_actions)._replace(linear=store.get(linear))
    return Boosted(store.put("boosted", (model, np.concatenate([np.empty(0), *map(store.get, losses)]))))


def _total(store: Store, sums: tuple[Blob, ...]) -> NDArray[np.int64]:
    total: NDArray[np.int64] = store.get(sums[0])
    for each in sums[1:]:
        total += store.get(each)
    return total


class _Kept:
    """The rows of a share in the course of a fit."""

    def __init__(self, rows: GrowingRows) -> None:
        self.rows = rows
        self.n_trees = 0
        self._measured = self._growing = -1  # after how many trees gradients were found, and a tree was begun

    def measure(self) -> NDArray[np.float64]:
        """Find gradients; return the sums of their sizes."""
        self._measured = self.n_trees
        return self.rows.gradient_sums()

    def bring_to(self, growth: Growth, level: int) -> None:
        """Have the rows at a level of the tree that is being grown."""
        if self._growing != self.n_trees or self.rows.level > level:
            if self._measured != self.n_trees:
                self.measure()
            self.rows.begin(growth.share, growth.units)
            self._growing = self.n_trees
        while self.rows.level < level:
            self.rows.divide(growth.tree)


_kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()


@contextmanager
def _at_hand(store: Store, share: Share, trees: tuple[Blob, ...]) -> Iterator[_Kept]:
    """Give the rows of a share after some trees; they are kept unless something fails."""
    place = store.url, share.name
    kept = _kept.pop(place, None)
    if kept is None or kept.n_trees > len(trees):
        learned, out, score, outside = _rows_of(store, share)
        kept = _Kept(GrowingRows(learned, out, score, outside, share.settings))
    for tree in trees[kept.n_trees :]:
        kept.rows.add(store.get(tree))
        kept.n_trees += 1
    yield kept
    _kept[place] = kept
    while len(_kept) > KEPT:
        _kept.popitem(last=False)


def _rows_of(store: Store, share: Share) -> Any:
    """Return the rows to learn from, those held out, and the scores of both to start from."""
    log, fold = _joined(store, share.parts)
    score = np.concatenate([store.get(each) for each in share.scores])
    is_out = fold == share.fold
    learned, out = log.take(np.flatnonzero(~is_out)), log.take(np.flatnonzero(is_out))
    return learned, out, score[~is_out], score[is_out]


@lru_cache(maxsize=1)
def _joined(store: Store, parts: tuple[Blob, ...]) -> tuple[BoostedLog, NDArray[np.int32]]:
    """Read parts; their bins are in a file without a name."""
    read: list[Part] = [store.get(part) for part in parts]
    logs, room = [part.log for part in read], Room(tempfile.gettempdir())
    codes = room.empty((len(logs[0].codes), sum(len(log.reward) for log in logs)), np.uint8)
    np.concatenate([log.codes for log in logs], axis=1, out=codes)
    action, reward = (np.concatenate([getattr(log, name) for log in logs]) for name in ("action", "reward"))
    weight = None if logs[0].weight is None else np.concatenate([log.weight for log in logs])
    design = np.empty((len(reward), 0))
    log = logs[0]._replace(codes=codes, design=design, action=action, reward=reward, weight=weight, room=room)
    return log, np.concatenate([part.fold for part in read])
