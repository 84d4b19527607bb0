"""What a policy file holds: a model that chooses among a number of actions, of one of a few kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.layout import CompiledTree
from offsettree.policy_file._reading import Part, must_hold
from offsettree.policy_file._space import ColumnSpace

__all__ = ["Constant", "Known", "Model", "Votes", "describe", "read_model"]


class Model(ABC):
    """Chooses one of `n_actions` for every row of a checked array or CSR matrix.

    `n_columns` are those of the rows, once nominal columns have become numbers.
    """

    kind: ClassVar[str]
    n_actions: int

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what the manifest says of it, besides its kind."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return its own arrays, by name."""
        return {}

    def parts(self) -> dict[str, Any]:
        """Return the models and the like within, by name: one or a list."""
        return {}

    @classmethod
    @abstractmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """Read and check what was written."""

    @property
    def takes_missing(self) -> bool:
        """Whether it knows what to do with NaN."""
        return True

    @abstractmethod
    def choose(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each row's action."""

    @abstractmethod
    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the position of each row's action, of those that its mask leaves."""

    def compiled(self) -> CompiledTree | None:
        """Return the same as one that decides on single rows at once, where there is such a form."""
        return None

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Return the positions of the n best: each is chosen when those before it are not available."""
        first = self.choose(X) if mask is None else self.choose_within(X, mask)
        position = np.empty((len(first), n), dtype=np.intp)
        position[:, 0] = first
        left = np.ones((len(first), self.n_actions), dtype=bool) if mask is None else mask.copy()
        for place in range(1, n):
            left[np.arange(len(first)), position[:, place - 1]] = False
            position[:, place] = self.choose_within(X, left)
        return position

    def probabilities(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """Return the probability of each action: 1 for the one chosen."""
        position = self.choose(X) if mask is None else self.choose_within(X, mask)
        probability = np.zeros((len(position), self.n_actions))
        probability[np.arange(len(position)), position] = 1.0
        return probability


class Constant(Model):
    """Always the same action; where it is not available, the next in an order of all actions."""

    kind = "constant"

    def __init__(self, answer: int, n_actions: int, order: NDArray[np.int64] | None = None) -> None:
        self.answer = answer
        self.n_actions = n_actions
        self.order = order

    @classmethod
    def of(cls, policy: Any, space: ColumnSpace) -> Self:
        """Take over what a fitted policy decides by; the columns are kept, as rows are still judged by them."""
        space.keep_all()
        order = policy._order.astype(np.int64)
        return cls(int(order[0]), len(order), order)

    def settings(self) -> dict[str, Any]:
        """See `Model`."""
        return {"answer": self.answer}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See `Model`."""
        return {} if self.order is None else {"order": self.order}

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """See `Model`."""
        answer, order = part.integer("answer", 0, n_actions - 1), None
        if part.has_array("order"):
            order = part.positions("order", np.int64, n_actions, n_actions)
            all_once = len(np.unique(order)) == n_actions and order[0] == answer
            must_hold(all_once, f"{part.where}.order.npy", "every action once, the answer first")
        return cls(answer, n_actions, order)

    def choose(self, X: Any) -> NDArray[np.intp]:
        """See `Model`."""
        return np.full(X.shape[0], self.answer, dtype=np.intp)

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """See `Model`."""
        if self.order is None:
            return np.where(mask[:, self.answer], self.answer, mask.argmax(axis=1))
        return np.asarray(self.order[mask[:, self.order].argmax(axis=1)], dtype=np.intp)


class Known(Model):
    """A model that knows some of the actions only: others are chosen where none of those is available, the first."""

    kind = "known"

    def __init__(self, known: NDArray[np.int64], model: Model, n_actions: int) -> None:
        self.known = known
        self.model = model
        self.n_actions = n_actions

    def settings(self) -> dict[str, Any]:
        """See `Model`."""
        return {"count": len(self.known)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See `Model`."""
        return {"positions": self.known}

    def parts(self) -> dict[str, Any]:
        """See `Model`."""
        return {"model": self.model}

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """See `Model`."""
        n_known = part.integer("count", 1, n_actions)
        known = part.positions("positions", np.int64, n_actions, n_known)
        return cls(known, read_model(part.part("model"), n_known, n_columns), n_actions)

    @property
    def takes_missing(self) -> bool:
        """See `Model`."""
        return self.model.takes_missing

    def choose(self, X: Any) -> NDArray[np.intp]:
        """See `Model`."""
        return np.asarray(self.known[self.model.choose(X)], dtype=np.intp)

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """See `Model`."""
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

    def settings(self) -> dict[str, Any]:
        """See `Model`."""
        return {}

    def parts(self) -> dict[str, Any]:
        """See `Model`."""
        return {"members": self.members}

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """See `Model`."""
        return cls([read_model(member, n_actions, n_columns) for member in part.parts("members")], n_actions)

    @property
    def takes_missing(self) -> bool:
        """See `Model`."""
        return all(member.takes_missing for member in self.members)

    def choose(self, X: Any) -> NDArray[np.intp]:
        """See `Model`."""
        return self._most([member.choose(X) for member in self.members], X.shape[0])

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """See `Model`."""
        return self._most([member.choose_within(X, mask) for member in self.members], X.shape[0])

    def _most(self, answers: list[NDArray[np.intp]], n_rows: int) -> NDArray[np.intp]:
        votes = np.zeros((n_rows, self.n_actions), dtype=np.int32)
        for answer in answers:
            votes[np.arange(n_rows), answer] += 1
        return np.asarray(votes.argmax(axis=1))


def describe(model: Any, where: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what the manifest says of a model and of all within it; their arrays are added to `arrays`."""
    arrays |= {f"{where}.{name}": array for name, array in model.arrays().items()}
    said = {"kind": model.kind, **model.settings()}
    for name, inner in model.parts().items():
        if isinstance(inner, list):
            said[name] = [describe(each, f"{where}.{name}.{place}", arrays) for place, each in enumerate(inner)]
        else:
            said[name] = describe(inner, f"{where}.{name}", arrays)
    return said


def read_model(part: Part, n_actions: int, n_columns: int) -> Model:
    """Read a model of any kind."""
    from offsettree.policy_file._boosted import Boosted
    from offsettree.policy_file._online import OnlineBanditron, OnlineRegression, OnlineTree
    from offsettree.policy_file._pairs import Pairs
    from offsettree.policy_file._scores import Scores
    from offsettree.policy_file._tournaments import Tournaments

    online: tuple[type[Model], ...] = (OnlineTree, OnlineRegression, OnlineBanditron)
    offline: tuple[type[Model], ...] = (Constant, Known, Votes, Tournaments, Pairs, Scores, Boosted)
    kinds = {each.kind: each for each in (*offline, *online)}
    return kinds[part.choice("kind", tuple(kinds))].read(part, n_actions, n_columns)
