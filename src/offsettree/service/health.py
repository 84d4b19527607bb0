"""Signs that something is wrong: propensities that do not match, contexts that drift, actions that are never taken."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from offsettree.service.features import pairs
from offsettree.service.requests import Action
from offsettree.service.rows import MaturedRow

__all__ = ["Health", "Rates"]

WINDOW = 1000  # rows of the reference, and of the present
MOST_FIELDS, MOST_VALUES = 40, 40
MOST_ACTIONS = 500
LARGE_DRIFT = 0.25  # of the population stability index, by custom
LARGE_SCORE = 4.5
MANY_ELIGIBLE = 50
WAITING = 256


class Rates:
    """Counts per minute over the last hour."""

    def __init__(self) -> None:
        self._minutes: deque[tuple[int, Counter[str]]] = deque(maxlen=60)

    def add(self, name: str, now: float, count: int = 1) -> None:
        """Count something that happened now."""
        minute = int(now // 60)
        if not self._minutes or self._minutes[-1][0] != minute:
            self._minutes.append((minute, Counter()))
        self._minutes[-1][1][name] += count

    def series(self, name: str, now: float) -> list[tuple[int, int]]:
        """Return minutes, as seconds since 1970, and counts."""
        kept = dict(tuple(self._minutes))  # copied at once: another thread may be counting
        last = int(now // 60)
        first = max(last - 59, min(kept, default=last))
        return [(minute * 60, kept[minute][name] if minute in kept else 0) for minute in range(first, last + 1)]

    def per_minute(self, name: str, now: float) -> float:
        """Return the rate over the last five minutes, or since the first one."""
        series = self.series(name, now)[-5:]
        span = max(now - series[0][0], 1.0)
        return 60 * sum(count for _, count in series) / span


class Health:
    """Counts over matured rows, in bounded memory."""

    def __init__(self) -> None:
        self._actions: dict[str, list[float]] = {}  # times eligible and taken; sums of taken - p and of p (1 - p)
        self._reference: dict[str, Counter[str]] = {}
        self._now: deque[dict[str, Any]] = deque(maxlen=WINDOW)  # the latest contexts
        self._n_reference = 0
        # Rows over the same actions that are yet to be counted: many at once are counted faster.
        self._waiting: list[tuple[int, list[Any]]] = []
        self._waiting_of: list[Action] = []

    def add(self, rows: Sequence[MaturedRow]) -> None:
        """Count matured rows."""
        for row in rows:
            if row.is_complete and not row.is_fault:
                if row.actions is not self._waiting_of or len(self._waiting) >= WAITING:
                    self._count_actions()
                    self._waiting_of = row.actions
                self._waiting.append((row.position, row.probabilities))
            if self._n_reference < WINDOW:
                self._count_reference(row.context)
            else:
                self._now.append(row.context)

    def _count_actions(self) -> None:
        if not self._waiting:
            return
        positions, vectors = zip(*self._waiting, strict=True)
        shares = np.array(vectors, dtype=np.float64)
        taken = np.bincount(positions, minlength=shares.shape[1])
        sums = np.column_stack([taken, taken - shares.sum(axis=0), (shares * (1 - shares)).sum(axis=0)]).tolist()
        for action, (times, surplus, variance) in zip(self._waiting_of, sums, strict=True):
            counts = self._actions.get(action.id)
            if counts is None:
                if len(self._actions) >= MOST_ACTIONS:
                    continue
                counts = self._actions[action.id] = [0.0, 0.0, 0.0, 0.0]
            counts[0] += len(vectors)
            counts[1] += times
            counts[2] += surplus
            counts[3] += variance
        self._waiting = []

    def _count_reference(self, context: dict[str, Any]) -> None:
        self._n_reference += 1
        for name, text in islice(_words(context), MOST_FIELDS):
            if name in self._reference or len(self._reference) < MOST_FIELDS:
                counts = self._reference.setdefault(name, Counter())
                counts[text if text in counts or len(counts) < MOST_VALUES else "(others)"] += 1

    def mismatches(self) -> list[dict[str, Any]]:
        """Return actions taken much more or less often than their probabilities say."""
        self._count_actions()
        found = []
        for name, (eligible, taken, surplus, variance) in self._actions.items():
            score = surplus / math.sqrt(variance) if variance > 1 else 0.0
            if abs(score) > LARGE_SCORE:
                found.append({"action": name, "taken": taken, "expected": taken - surplus, "of": eligible, "z": score})
        return found

    def never_taken(self) -> list[str]:
        """Return actions that were eligible often, and never taken."""
        self._count_actions()
        return [name for name, counts in self._actions.items() if counts[0] >= MANY_ELIGIBLE and counts[1] == 0]

    def actions(self) -> dict[str, dict[str, float]]:
        """Return how often each action was eligible and taken."""
        self._count_actions()
        return {name: {"eligible": counts[0], "taken": counts[1]} for name, counts in self._actions.items()}

    def drift(self) -> dict[str, float]:
        """Return the population stability index of each field: the latest rows beside the first ones."""
        if len(self._now) < WINDOW // 2:
            return {}
        present: dict[str, Counter[str]] = {name: Counter() for name in self._reference}
        for context in self._now:
            for name, text in _words(context):
                if name in present:
                    present[name][text if text in self._reference[name] else "(others)"] += 1
        return {name: _stability(counts, present[name]) for name, counts in self._reference.items()}

    def problems(self) -> list[str]:
        """Return what should be looked at, in sentences."""
        texts = [
            f"Action {each['action']!r} was taken {each['taken']:.0f} times in {each['of']:.0f}; its logged "
            f"probabilities say {each['expected']:.1f}. Do callers serve what the service answers?"
            for each in self.mismatches()
        ]
        texts += [
            f"Contexts drift: field {name!r} differs from the first {WINDOW:,} rows (stability index {size:.2f})."
            for name, size in self.drift().items()
            if size > LARGE_DRIFT
        ]
        if never := self.never_taken():
            texts.append(f"Never taken, though often eligible: {', '.join(map(repr, never[:10]))}.")
        return texts


def _words(context: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a context, numbers as their size."""
    for name, value in pairs(context, 16):
        if isinstance(value, str):
            yield name, value
        else:
            yield name, "0" if value == 0 else f"{math.copysign(1, value):+.0f}e{_size(value)}"


def _size(value: float) -> int:
    return math.floor(math.log10(abs(value)) * 2) // 2 if value else 0


def _stability(reference: Counter[str], present: Counter[str]) -> float:
    total, other = sum(reference.values()), sum(present.values())
    index = 0.0
    for text in set(reference) | set(present):
        # Half a count each, so that a value that is new or gone does not make it infinite.
        p, q = (reference[text] + 0.5) / (total + 0.5), (present[text] + 0.5) / (other + 0.5)
        index += (q - p) * math.log(q / p)
    return index
