"""Exact probability vectors, and draws from them that only the event's id and the loop's secret decide."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

__all__ = ["draw", "epoch_rate", "mixed", "uniform_draw", "vector", "without"]

RANGE = float(1 << 53)


def vector(
    kind: str, n_actions: int, greedy: int, rate: float, scores: Sequence[float] | None, gamma: float
) -> list[float]:
    """Return the probability of each action.

    "epsilon" and "epoch-greedy" take the greedy action, at a position or -1 for none, but for the rate: the share of
    uniform exploration. "squarecb" gives an action less, the further its score, a predicted reward, is below the best
    one's; `gamma` grows with the number of rows. Without scores it is as the others.

    Examples
    --------
    >>> vector("epsilon", 4, 1, 0.2, None, 0.0)
    [0.05, 0.8500000000000001, 0.05, 0.05]
    >>> [round(p, 3) for p in vector("squarecb", 3, 0, 0.0, [0.5, 0.4, 0.5], 100.0)]
    [0.59, 0.077, 0.333]
    """
    if greedy < 0:
        return [1 / n_actions] * n_actions
    floor = rate / n_actions
    if kind != "squarecb" or scores is None:
        probabilities = [floor] * n_actions
        probabilities[greedy] += 1 - rate
        return probabilities
    best = scores[greedy]
    probabilities = [1 / (n_actions + gamma * max(best - score, 0.0)) for score in scores]
    probabilities[greedy] = 0.0
    probabilities[greedy] = 1 - sum(probabilities)
    return [floor + (1 - rate) * probability for probability in probabilities]


def epoch_rate(row: int) -> float:
    """Return the rate of Epoch-Greedy in a row counted from 1: falling as its power of -1/3."""
    return float(min(1.0, max(row, 1) ** (-1 / 3)))


def mixed(probabilities: list[float], share: float, baseline: int) -> list[float]:
    """Return the vector with a share held back: for the baseline, or for all actions alike if that is -1."""
    if share == 0:
        return probabilities
    held = share / len(probabilities) if baseline < 0 else 0.0
    result = [(1 - share) * probability + held for probability in probabilities]
    if baseline >= 0:
        result[baseline] += share
    return result


def uniform_draw(secret: bytes, event_id: str) -> float:
    """Return a number from [0, 1) that nobody without the secret can foresee or steer."""
    # Keyed BLAKE2: a MAC like HMAC, without handing over Python's lock for a few bytes.
    digest = blake2b(event_id.encode(), key=secret, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / RANGE


def draw(probabilities: Sequence[float], number: float) -> int:
    """Return the position that a uniform number falls on; never one of probability 0."""
    total, last = 0.0, 0
    for position, probability in enumerate(probabilities):
        if probability > 0:
            total += probability
            last = position
            if number < total:
                return position
    return last


def without(probabilities: list[float], taken: int) -> list[float]:
    """Return the vector of the next slot: without the action taken, in the same proportions."""
    rest = [probability for position, probability in enumerate(probabilities) if position != taken]
    total = sum(rest)
    return [probability / total for probability in rest] if total > 0 else [1 / len(rest)] * len(rest)
