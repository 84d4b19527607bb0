"""What decides for a policy over actions with features, live or loaded: an encoding, and flat arrays."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree.actions._contest_models import ContestModel, linear_of, read_contest
from offsettree.actions._encoding import LARGEST, ActionEncoding, n_products, row_blocks, some_rows
from offsettree.actions._id_model import IdModel
from offsettree.actions._pair_scores import BoostedPairs, PairScores, read_pair_scores, stack_products
from offsettree.actions._reward_column import RewardColumn
from offsettree.actions._tournament import Contests, leaves_in_order, play, seeded_of_one, seeded_order
from offsettree.logs import ActionSets
from offsettree.models import Contents, Part, must_hold

TREES = ("seeded", "similar", "given")
LARGEST_SEED = (1 << 32) - 1
MOST_HEIGHTS = 64  # of a balanced tree over as many actions as there can be
Matrix = NDArray[np.float64]


class PairRegression:
    """Scores of pairs, from 0 to 1 where rewards are on that scale, with the effects of ids."""

    kind: ClassVar[str] = "action regression"

    def __init__(self, encoding: ActionEncoding, scores: PairScores, effects: IdModel | None) -> None:
        self.encoding, self.scores, self.effects = encoding, scores, effects

    def pair_scores(self, X: Features, sets: ActionSets) -> NDArray[np.float64]:
        """Return the score of each pair of a log."""
        found = np.empty(len(sets.ids))
        n_x, n_a = self.encoding.x.n_columns, self.encoding.n_a
        # Kernels make no table of products.
        width = n_x + n_a if isinstance(self.scores, BoostedPairs) else n_x + n_products(n_x, n_a)
        for rows in row_blocks(sets, width):
            part = sets.take(rows)
            x, a = self.encoding.tables(some_rows(X, rows), part)
            begin, end = sets.starts[rows[0]], sets.starts[rows[-1] + 1]
            found[begin:end] = self._scored(x, a, np.repeat(np.arange(len(rows)), part.sizes), part.ids)
        return found

    def scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        """Return the scores of one context's actions, and their ids."""
        if not isinstance(self.scores, BoostedPairs):
            row, a, labels = self.encoding.of_one(x, actions)
            found = self.scores.scores(row, a, np.zeros(len(a), dtype=np.intp))
        else:
            plain = self.encoding.arrays_of_one(x, actions)
            row, a, labels = self.encoding.numbers_of_one(x, actions) if plain is None else (*plain, None)
            scored = self.scores.scores_of_one(row, a, self.encoding.scales, LARGEST)
            if scored is None:
                self.encoding.of_one(x, actions)  # for the error
                raise AssertionError("what is not finite was not refused")  # pragma: no cover
            found = scored
            row = (row - self.encoding.scales[0]) / self.encoding.scales[1]
        if self.effects is not None and labels is not None:
            self.effects.add_of_one(labels, row, found)
        return found, labels

    def _scored(self, x: Matrix, a: Matrix, row: NDArray[np.intp], ids: NDArray[Any] | None) -> NDArray[np.float64]:
        found = self.scores.scores(x, a, row)
        if self.effects is not None and ids is not None:
            found += self.effects.of(ids, x, row)
        return found

    def contents(self) -> Contents:
        """Return what is written of it."""
        parts: dict[str, Any] = {"encoding": self.encoding, "scores": self.scores}
        parts |= {} if self.effects is None else {"effects": self.effects}
        return Contents({"of_ids": self.effects is not None}, {}, parts)

    @classmethod
    def read(cls, part: Part) -> Self:
        """Read and check what was written."""
        encoding = ActionEncoding.read(part.part("encoding"))
        n_x, n_a = encoding.x.n_columns, encoding.n_a
        effects = IdModel.read(part.part("effects"), n_x) if part.truth("of_ids") else None
        return cls(encoding, read_pair_scores(part.part("scores"), n_x, n_a), effects)


class TreeOrder:
    """The order of a row's actions as leaves of its tree."""

    def __init__(self, tree: str, seed: int, direction: Matrix) -> None:
        self.tree, self.seed, self.direction = tree, seed, direction

    def leaves(self, sets: ActionSets, a: Matrix) -> NDArray[np.intp]:
        """Return the pairs of each row from the left leaf to the right one."""
        if self.tree == "given":
            return np.arange(len(sets.ids))
        if self.tree == "similar":
            place = np.zeros(len(a))
            for column in range(a.shape[1]):  # in one order, whatever the number of pairs
                place += a[:, column] * self.direction[column]
            return leaves_in_order(sets, place)
        return leaves_in_order(sets, seeded_order(sets.ids, self.seed)[0])

    def of_one(
        self, labels: list[Any] | None, a: Matrix, scales: tuple[Matrix, ...]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Return the leaves of one row, whose features are not scaled, and ranks; None if ids are of several types."""
        found = seeded_of_one(labels, len(a), self.seed)
        if found is None or self.tree == "seeded":
            return found
        leaves = np.arange(len(a))
        if self.tree == "similar":
            place, scaled = np.zeros(len(a)), (a - scales[2]) / scales[3]
            for column in range(a.shape[1]):
                place += scaled[:, column] * self.direction[column]
            leaves = np.argsort(place, kind="stable")
        return leaves, found[1]


class PairTournament:
    """A tree over each row's actions, and a model of contests per height above the leaves.

    With `rewards`, what these predict is a feature of actions in contests, beside their own.
    """

    kind: ClassVar[str] = "action offset tree"

    def __init__(
        self,
        encoding: ActionEncoding,
        order: TreeOrder,
        contests: list[ContestModel],
        rewards: RewardColumn | None = None,
    ) -> None:
        self.encoding, self.order, self.contests, self.rewards = encoding, order, contests, rewards

    def choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        """Return the pair chosen for each row."""
        chosen = np.empty(len(sets), dtype=np.intp)
        for rows in row_blocks(sets, sets.n_item_features + sets.n_pair_features + 1):
            part = sets.take(rows)
            x, a = self.encoding.tables(some_rows(X, rows), part)
            chosen[rows] = self._winners(x, a, part) + sets.starts[rows[0]]
        return chosen

    def choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        """Return the position of the action chosen for one context, and the ids."""
        stack = self._stack()
        if stack is not None:
            from offsettree.actions._kernels_one import play_one

            plain, scales = self.encoding.arrays_of_one(x, actions), self.encoding.scales
            row, a, labels = self.encoding.numbers_of_one(x, actions) if plain is None else (*plain, None)
            order = self.order.of_one(labels, a, scales)
            if order is not None and self.rewards is not None:
                a, scales = self._with_rewards(row, a, scales)
            if order is not None and (place := play_one(row, a, scales, LARGEST, stack, *order)) >= 0:
                return place, labels
        row, a, labels = self.encoding.of_one(x, actions)
        sets = ActionSets([list(range(len(a))) if labels is None else labels])
        return int(self._winners(row, a, sets)[0]), labels

    def inputs(self, x: Matrix, a: Matrix, sets: ActionSets) -> Matrix:
        """Return what contests know of each pair: its features, and the predicted reward if that is one of them."""
        if self.rewards is None:
            return a
        return self.rewards.add_to(x, a, np.repeat(np.arange(len(sets)), sets.sizes))

    def _with_rewards(self, row: Matrix, a: Matrix, scales: Any) -> tuple[Matrix, Any]:
        """Return one row's actions with the predicted rewards, and the scales of all; NaN where one must be refused."""
        assert self.rewards is not None  # noqa: S101 - asked for only where there are some
        if "_scales" not in self.__dict__:
            ends = ([self.rewards.mean], [self.rewards.spread])
            self._scales = *scales[:2], *map(np.append, scales[2:], ends)
        found = self.rewards.scores.scores_of_one(row, a, scales, LARGEST)
        wide = np.full((len(a), a.shape[1] + 1), np.nan)
        wide[:, :-1] = a
        if found is not None:
            wide[:, -1] = found
        return wide, self._scales

    def _stack(self) -> Any:
        """Return the weights of all heights as one, if contests are linear; made once."""
        if "_stacked" not in self.__dict__:
            linear = [linear_of(each) for each in self.contests]
            self._stacked = stack_products(linear, self.encoding.x.n_columns, self._n_a)
        return self._stacked

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_stacked", "_scales")}

    @property
    def _n_a(self) -> int:
        return self.encoding.n_a + (self.rewards is not None)

    def left_wins(self, height: int, x: Matrix, a: Matrix, ids: NDArray[Any], contests: Contests) -> NDArray[np.bool_]:
        """Return whether the left one wins, the smaller id at a tie; above the heights learned, by the last."""
        tie = np.asarray(ids[contests.left] < ids[contests.right])
        if not self.contests or not len(contests.row):
            return tie
        margin = self.contests[min(height, len(self.contests)) - 1].margin(x, a, contests)
        return np.where(margin == 0, tie, margin > 0)

    def _winners(self, x: Matrix, a: Matrix, sets: ActionSets) -> NDArray[np.intp]:
        inputs = self.inputs(x, a, sets)

        def decide(height: int, contests: Contests) -> NDArray[np.bool_]:
            return self.left_wins(height, x, inputs, sets.ids, contests)

        return play(self.order.leaves(sets, a), sets.starts, decide)

    def contents(self) -> Contents:
        """Return what is written of it."""
        settings = {
            "tree": self.order.tree,
            "seed": self.order.seed,
            "heights": len(self.contests),
            "of_rewards": self.rewards is not None,
        }
        parts: dict[str, Any] = {"encoding": self.encoding}
        parts |= {"contests": self.contests} if self.contests else {}
        parts |= {} if self.rewards is None else {"rewards": self.rewards}
        return Contents(settings, {"direction": self.order.direction}, parts)

    @classmethod
    def read(cls, part: Part) -> Self:
        """Read and check what was written."""
        encoding = ActionEncoding.read(part.part("encoding"))
        n_x, n_a = encoding.x.n_columns, encoding.n_a
        order = TreeOrder(
            part.choice("tree", TREES), part.integer("seed", 0, LARGEST_SEED), part.finite("direction", np.float64, n_a)
        )
        given = part.parts("contests") if part.integer("heights", 0, MOST_HEIGHTS) else []
        must_hold(len(given) <= MOST_HEIGHTS, f"{part.where}.contests", f"at most {MOST_HEIGHTS} heights")
        rewards = RewardColumn.read(part.part("rewards"), n_x, n_a) if part.truth("of_rewards") else None
        n_inputs = n_a + (rewards is not None)
        return cls(encoding, order, [read_contest(each, n_x, n_inputs) for each in given], rewards)
