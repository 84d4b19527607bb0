"""Models: what decides for a policy, live or loaded, and what a policy file holds; of one of a few kinds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._available import best_of, certain, rank_by_choosing
from offsettree.models.forest import CompiledForest
from offsettree.models.graph import SplitGraph
from offsettree.models.layout import HAS_INFINITY, HAS_NAN, CompiledTree, OneRow
from offsettree.models.part import Contents, Part, Stored, must_hold

__all__ = ["Constant", "Known", "Model", "Votes", "Whole", "describe", "read_model"]


@dataclass(eq=False)
class Whole(CompiledTree):
    """A model that has no form of its own for rows that nobody has looked at."""

    model: Any

    def choose_screening(self, X: Any, refused: int) -> NDArray[np.intp] | None:
        if not np.isfinite(X).all():
            found = HAS_NAN * bool(np.isnan(X).any()) | HAS_INFINITY * bool(np.isinf(X).any())
            if found & refused:
                return None
        return np.asarray(self.model.choose(X))

    def one_row(self, refused: int) -> OneRow:
        def choose_one(x: NDArray[Any]) -> int:
            position = self.choose_screening(x[np.newaxis], refused)
            return -1 if position is None else int(position[0])

        return choose_one


class Model(Stored):
    """Chooses one of `n_actions` for every row of a checked array or CSR matrix.

    `n_columns` are those of the rows, once nominal columns have become numbers.
    """

    kinds: ClassVar[dict[str, type[Model]]] = {}  # every kind that a file may hold, by name
    n_actions: int
    _row_by_row: ClassVar[type[Whole]] = Whole  # decides on rows that nobody has looked at, without a compiled form

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            Model.kinds[cls.kind] = cls

    @property
    def takes_missing(self) -> bool:
        """Whether it knows what to do with NaN."""
        return True

    @abstractmethod
    def choose(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each row's action."""

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the position of each row's action, of those that its mask leaves; a model has this or `rank`."""
        return self.rank(X, 1, mask)[:, 0]

    def compiled(self) -> CompiledTree | None:
        """Return the same as one that decides on single rows at once, where there is such a form; made once."""
        if "_compiled" not in self.__dict__:
            self._compiled = self._compile()
        return self._compiled

    def _compile(self) -> CompiledTree | None:
        return None

    def fast(self, missing: bool) -> tuple[CompiledTree, int]:
        """Return what decides on rows that nobody has looked at, and what it must refuse in them.

        Where `missing` values are allowed, they are refused all the same by forms that do not know them.
        """
        compiled = self.compiled() or self._row_by_row(self)
        return compiled, HAS_INFINITY if missing and compiled.takes_missing else HAS_INFINITY | HAS_NAN

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Return the positions of the n best: each is chosen when those before it are not available."""
        return rank_by_choosing(lambda left: self._choose_left(X, left), self.n_actions, n, mask)

    def probabilities(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """Return the probability of each action: 1 for the one chosen."""
        return certain(self._choose_left(X, mask), self.n_actions)

    def _choose_left(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return self.choose(X) if mask is None else self.choose_within(X, mask)


class Constant(Model):
    """Always the same action; where it is not available, the next in an order of all actions."""

    kind = "constant"

    def __init__(self, answer: int, n_actions: int, order: NDArray[np.int64] | None = None) -> None:
        self.answer = answer
        self.n_actions = n_actions
        self.order = order
        self._full_order = np.append(answer, np.delete(np.arange(n_actions), answer)) if order is None else order

    def contents(self) -> Contents:
        return Contents({"answer": self.answer}, {} if self.order is None else {"order": self.order})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        answer, order = part.integer("answer", 0, n_actions - 1), None
        if part.has_array("order"):
            order = part.positions("order", np.int64, n_actions, n_actions)
            all_once = len(np.unique(order)) == n_actions and order[0] == answer
            must_hold(all_once, f"{part.where}.order.npy", "every action once, the answer first")
        return cls(answer, n_actions, order)

    def choose(self, X: Any) -> NDArray[np.intp]:
        return np.full(X.shape[0], self.answer, dtype=np.intp)

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        if mask is None:
            return np.tile(self._full_order[:n].astype(np.intp), (X.shape[0], 1))
        score = np.empty(self.n_actions)
        score[self._full_order] = -np.arange(self.n_actions)
        return best_of(np.broadcast_to(score, mask.shape), n, mask)

    def graph(self) -> SplitGraph:
        """Return the same as a tree without contests, to vote among others."""
        nothing = np.empty((0, 4), dtype=np.int32), np.empty(0, dtype=np.uint8), np.empty((0, 8), dtype=np.uint32)
        return SplitGraph(*nothing, ~self.answer, self.n_actions)


class Known(Model):
    """A model that knows some of the actions only: others are chosen where none of those is available, the first."""

    kind = "known"

    def __init__(self, known: NDArray[np.int64], model: Model, n_actions: int) -> None:
        self.known = known
        self.model = model
        self.n_actions = n_actions

    def contents(self) -> Contents:
        return Contents({"count": len(self.known)}, {"positions": self.known}, {"model": self.model})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        n_known = part.integer("count", 1, n_actions)
        known = part.positions("positions", np.int64, n_actions, n_known)
        return cls(known, read_model(part.part("model"), n_known, n_columns), n_actions)

    @property
    def takes_missing(self) -> bool:
        return self.model.takes_missing

    def _compile(self) -> CompiledTree | None:
        inner = self.model.compiled()
        # Of equals the first: in the same order among all actions.
        ascending = bool((self.known[:-1] < self.known[1:]).all())
        return inner.with_actions(self.known, self.n_actions) if inner is not None and ascending else None

    def choose(self, X: Any) -> NDArray[np.intp]:
        return np.asarray(self.known[self.model.choose(X)], dtype=np.intp)

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        within = mask[:, self.known]
        some = within.any(axis=1)
        within[~some] = True  # whatever is answered there does not count
        return np.where(some, self.known[self.model.choose_within(X, within)], mask.argmax(axis=1))


class Votes(Model):
    """The action that most of several models choose; of equals the first."""

    kind = "votes"

    def __init__(self, members: list[Model], n_actions: int) -> None:
        self.members = members
        self.n_actions = n_actions

    def contents(self) -> Contents:
        return Contents({}, {}, {"members": self.members})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        return cls([read_model(member, n_actions, n_columns) for member in part.parts("members")], n_actions)

    @property
    def takes_missing(self) -> bool:
        return all(member.takes_missing for member in self.members)

    def _compile(self) -> CompiledTree | None:
        trees = [each.graph() if isinstance(each, Constant) else each.compiled() for each in self.members]
        whole = [tree for tree in trees if tree is not None]
        return CompiledForest(whole, self.n_actions) if len(whole) == len(trees) else None

    def choose(self, X: Any) -> NDArray[np.intp]:
        return self._most([member.choose(X) for member in self.members], X.shape[0])

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return self._most([member.choose_within(X, mask) for member in self.members], X.shape[0])

    def _most(self, answers: list[NDArray[np.intp]], n_rows: int) -> NDArray[np.intp]:
        votes = np.zeros((n_rows, self.n_actions), dtype=np.int32)
        for answer in answers:
            votes[np.arange(n_rows), answer] += 1
        return np.asarray(votes.argmax(axis=1))


def describe(model: Any, where: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what the manifest says of a model and of all within it; their arrays are added to `arrays`."""
    settings, own, parts = model.contents()
    arrays |= {f"{where}.{name}": array for name, array in own.items()}
    said = {"kind": model.kind, **settings}
    for name, inner in parts.items():
        if isinstance(inner, list):
            said[name] = [describe(each, f"{where}.{name}.{place}", arrays) for place, each in enumerate(inner)]
        else:
            said[name] = describe(inner, f"{where}.{name}", arrays)
    return said


def read_model(part: Part, n_actions: int, n_columns: int) -> Model:
    """Read a model of any kind that has been imported."""
    return Model.kinds[part.choice("kind", tuple(Model.kinds))].read(part, n_actions, n_columns)
