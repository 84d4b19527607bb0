"""Learners for chunks as simple as can be, and a row-by-row reading of the tree that is taught with them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tests.reductions.test_algorithm_2 import as_rows, leaves


def cell(x: Any) -> bool:
    return bool(x[0] > 0)


class Tally(ClassifierMixin, BaseEstimator):
    """A weighted vote among the rows with the same sign of the first feature, which keeps what it was shown."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.fail_at = fail_at

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.__dict__.pop("votes_", None)
        return Tally.partial_fit(self, X, y, [0, 1], np.ones(len(y)) if sample_weight is None else sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        assert list(classes) == [0, 1]
        if not hasattr(self, "votes_"):
            self.classes_ = np.array([0, 1])
            self.votes_: dict[Any, float] = defaultdict(float)
            self.shown_: list[Any] = []
        for x, label, weight in zip(as_rows(X), y.tolist(), sample_weight.tolist(), strict=True):
            self.votes_[cell(x), label] += weight
            self.shown_.append((tuple(x), label, weight))
        if self.fail_at is not None and len(self.shown_) >= self.fail_at:
            raise ArithmeticError("too many rows")
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        return np.array([self.votes_[cell(x), 1] >= self.votes_[cell(x), 0] for x in as_rows(X)]).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Unweighted(Tally):
    """The same, without a word of weights in training."""

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        return super().fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # type: ignore[override]
        return super().partial_fit(X, y, classes, np.ones(len(y)))


class PlainGrowth:
    """Algorithm 2 on one chunk after the other, with a `Tally` at each node of T, nested pairs of actions."""

    def __init__(self, T: Any, share: float) -> None:
        self.T, self.share = T, share
        self.votes: dict[Any, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
        self.weights: dict[Any, list[float]] = defaultdict(list)
        self.shown: dict[Any, list[Any]] = defaultdict(list)

    def learn(self, S: list[tuple[Any, Any, float, float]], v: Any) -> None:
        """Learn from a chunk of (x, a, r_a, p(a)), below v and at v."""
        if not isinstance(v, tuple):
            return
        left, right = v
        self.learn(S, left)
        self.learn(S, right)
        S_v = []
        for x, a, r, p in S:
            if a not in leaves(v):
                continue
            y = 1 if a in leaves(left) else 0
            weight = abs(r - 1 / 2) / p * self.share ** self.n_lost(left if y == 1 else right, a, x)
            if weight > 0:
                S_v.append((x, y if r >= 1 / 2 else 1 - y, weight))
        self.weights[v] += [weight for _, _, weight in S_v]
        mean = sum(self.weights[v]) / max(1, len(self.weights[v]))
        for x, y, weight in S_v:
            self.votes[v][cell(x), y] += weight / mean
            self.shown[v].append((tuple(x), y, weight / mean))

    def answer(self, v: Any, x: Any) -> int:
        heard = {y for _, y, _ in self.shown[v]}
        if len(heard) < 2:
            return heard.pop() if heard else 1
        return int(self.votes[v][cell(x), 1] >= self.votes[v][cell(x), 0])

    def n_lost(self, v: Any, a: Any, x: Any) -> int:
        """Count the nodes on the path from v to a that do not choose a's side on x."""
        n = 0
        while isinstance(v, tuple):
            own = 1 if a in leaves(v[0]) else 0
            n += self.answer(v, x) != own
            v = v[1 - own]
        return n

    def predict(self, x: Any) -> Any:
        v = self.T
        while isinstance(v, tuple):
            v = v[0] if self.answer(v, x) == 1 else v[1]
        return v
