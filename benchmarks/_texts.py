"""Generated text-like rows, few non-zeros of many features, of which the true mean rewards are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["TextProblem", "make_texts", "new_texts"]


@dataclass(frozen=True)
class TextProblem:
    """A log under uniform logging; the mean reward of an action is a logistic function, linear in the words."""

    X: sp.csr_matrix
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    taste: NDArray[np.float64]

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return int(self.taste.shape[1])

    def value(self, X: sp.csr_matrix, chosen: NDArray[np.int64]) -> float:
        """Return the true value of decisions."""
        return float(mean_rewards(X, self.taste)[np.arange(X.shape[0]), chosen].mean())

    def best_value(self, X: sp.csr_matrix) -> float:
        """Return the value of the best action of every row."""
        return float(mean_rewards(X, self.taste).max(axis=1).mean())


def mean_rewards(X: sp.csr_matrix, taste: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean reward of every action for every row."""
    mean: NDArray[np.float64] = 1 / (1 + np.exp(-2 * (X @ taste)))
    return mean


def make_texts(n_rows: int, n_words: int, vocabulary: int, n_actions: int, seed: int = 0) -> TextProblem:
    """Draw a log; rewards are 0 and 1."""
    random = np.random.default_rng(seed)
    taste = random.standard_normal((vocabulary, n_actions))
    X = new_texts(n_rows, n_words, vocabulary, seed)
    action = random.integers(0, n_actions, n_rows)
    mean = mean_rewards(X, taste)[np.arange(n_rows), action]
    return TextProblem(X, action, (random.random(n_rows) < mean).astype(float), taste)


def new_texts(n_rows: int, n_words: int, vocabulary: int, seed: int = 1) -> sp.csr_matrix:
    """Draw rows of so many different words each, by Zipf's law, weighed by how rare they are, of length 1."""
    random = np.random.default_rng(seed + 20_000)
    share = 1 / (np.arange(vocabulary) + 30.0)
    share /= share.sum()
    rank = random.choice(vocabulary, size=(n_rows, 2 * n_words), p=share)
    # Twice as many as wanted are drawn, and the first that are different are kept.
    order = np.argsort(rank, axis=1, kind="stable")
    ordered = np.take_along_axis(rank, order, axis=1)
    repeated = np.zeros(rank.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    kept = ~repeated & (np.cumsum(~repeated, axis=1) <= n_words)
    if (kept.sum(axis=1) < n_words).any():
        raise ValueError("a row has too few different words; draw from a larger vocabulary.")
    # The number of a word says nothing about how common it is.
    word = np.random.default_rng(0).permutation(vocabulary)[rank[kept]].reshape(n_rows, n_words)
    rarity = -np.log(share)[np.argsort(np.random.default_rng(0).permutation(vocabulary))]
    word.sort(axis=1)
    data = rarity[word]
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    indptr = np.arange(0, word.size + 1, n_words)
    return sp.csr_matrix(
        (data.astype(np.float32).ravel(), word.astype(np.int32).ravel(), indptr), shape=(n_rows, vocabulary)
    )
