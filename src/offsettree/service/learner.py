"""The online learner of a loop: a linear reward model over pairs of context and action features, all hashed.

It takes actions as they come, by their ids and features, so that new ones need no restart. Another learner takes its
place by the same few methods (`Learner`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.service._kernels_hashed import learn_rows, score_actions
from offsettree.service.features import Hashed, Listed

__all__ = ["HashedLearner", "Joined", "Learner", "joined", "joined_lists"]

SHARED = np.uint64(0x5851F42D4C957F2D)  # the part of a reward that every action shares


class Joined(NamedTuple):
    """The hashed features of several actions or contexts, one after another, and where those of each begin."""

    features: NDArray[np.uint64]
    values: NDArray[np.float32]
    starts: NDArray[np.int64]


def joined(actions: Sequence[Hashed]) -> Joined:
    """Join the features of actions."""
    features, values = map(np.concatenate, zip(*actions, strict=True))
    return Joined(features, values, _starts(actions))


def joined_lists(contexts: Sequence[Listed]) -> Joined:
    """Join the features of contexts."""
    hashes, values = zip(*contexts, strict=True)
    features = np.array(list(chain.from_iterable(hashes)), dtype=np.uint64)
    return Joined(features, np.array(list(chain.from_iterable(values)), dtype=np.float32), _starts(contexts))


def _starts(rows: Sequence[tuple[Any, Any]]) -> NDArray[np.int64]:
    return np.fromiter(accumulate((len(each) for each, _ in rows), initial=0), np.int64, len(rows) + 1)


class Learner(Protocol):
    """What a loop asks of a learner. Actions are hashed features, of which the id is the first."""

    n_rows: int

    def scores_joined(self, context: Hashed, actions: Joined) -> NDArray[np.float32]:
        """Return the predicted reward of each action, as `scores` does."""
        ...

    def scores(self, context: Hashed, actions: list[Hashed]) -> NDArray[np.float32]:
        """Return the predicted reward of each action, as a share of the range, up to a constant."""
        ...

    def learn_all(self, contexts: Joined, actions: Joined, rewards: Sequence[float]) -> None:
        """Learn from rows in their order; the rewards are shares of the range."""
        ...

    def state(self) -> bytes:
        """Return all that it has learned."""
        ...


class HashedLearner:
    """Least squares by a Kalman filter of independent weights, over 2 ** bits weights.

    Parameters
    ----------
    bits : int, default=18
        Of the table of weights.

    Examples
    --------
    >>> from offsettree.service.features import hashed
    >>> learner = HashedLearner(12)
    >>> mail, call = (hashed({}, first=each) for each in ("mail", "call"))
    >>> for row in range(200):
    ...     context = hashed({"age": row % 2}, first="bias")
    ...     learner.learn(context, mail, float(row % 2 == 0), 0.5)
    ...     learner.learn(context, call, float(row % 2 == 1), 0.5)
    >>> [int(learner.scores(hashed({"age": age}, first="bias"), [mail, call]).argmax()) for age in (0, 1)]
    [0, 1]
    """

    def __init__(self, bits: int = 18) -> None:
        self.bits = bits
        self.n_rows = 0
        self._total = 0.0
        self._shift = np.uint64(64 - bits)
        self._weights = np.zeros(1 << bits, dtype=np.float32)
        self._squares = np.zeros(1 << bits, dtype=np.float32)  # inverses of variances, less that before any row
        self._scales = np.zeros(1 << bits, dtype=np.float32)  # the largest absolute value of each context feature

    def scores(self, context: Hashed, actions: list[Hashed]) -> NDArray[np.float32]:
        """Return the predicted reward of each action, without the part that all actions share."""
        return self.scores_joined(context, joined(actions))

    def scores_joined(self, context: Hashed, actions: Joined) -> NDArray[np.float32]:
        """Return the same of actions that were joined beforehand."""
        scores = np.empty(len(actions.starts) - 1, np.float32)
        score_actions(self._weights, self._scales, self._shift, *context, *actions, scores)
        return scores

    def learn(self, context: Hashed, action: Hashed, reward: float, probability: float) -> None:
        """Move the prediction of the row's action towards its reward; the probability is not needed for that."""
        self.learn_all(joined([context]), joined([action]), [reward])

    def learn_all(self, contexts: Joined, actions: Joined, rewards: Sequence[float]) -> None:
        """Learn from rows, one after another."""
        tables, earned = (self._weights, self._squares, self._scales), np.array(rewards, dtype=np.float64)
        counts = self.n_rows, self._total
        self._total = float(learn_rows(*tables, self._shift, *contexts, SHARED, *actions, earned, *counts))
        self.n_rows += len(rewards)

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels: not while somebody waits for a decision."""
        learner = cls(8)
        for length in (1, 2):
            features = np.repeat(SHARED, length), np.ones(length, np.float32)
            learner.learn(features, features, 1.0, 1.0)
            learner.scores(features, [features, features])

    def state(self) -> bytes:
        """Return the weights that are not 0, and the counts."""
        file = io.BytesIO()
        used, seen = np.flatnonzero((self._squares != 0) | (self._weights != 0)), np.flatnonzero(self._scales)
        np.savez_compressed(
            file,
            counts=np.array([self.bits, self.n_rows, self._total]),
            used=used.astype(np.int32),
            weights=self._weights[used],
            squares=self._squares[used],
            seen=seen.astype(np.int32),
            scales=self._scales[seen],
        )
        return file.getvalue()

    @classmethod
    def restored(cls, data: bytes) -> Self:
        """Return the learner whose `state` this is."""
        with np.load(io.BytesIO(data), allow_pickle=False) as kept:
            bits, n_rows, total = kept["counts"].tolist()
            learner = cls(int(bits))
            learner.n_rows, learner._total = int(n_rows), total
            learner._weights[kept["used"]] = kept["weights"]
            learner._squares[kept["used"]] = kept["squares"]
            learner._scales[kept["seen"]] = kept["scales"]
        return learner
