"""What the running policy is worth beside the held-back share and the best constant action, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from offsettree.service.rows import MaturedRow
from offsettree.service.wealth import GAINS, VALUES, Wealth

__all__ = ["LoopValues", "gain_terms"]

LEVEL = 0.95
MOST_ACTIONS = 200
MOST_POINTS = 400
FEW = 20  # times that an action must have been taken to lead


class LoopValues:
    """Running estimates, by the logged probabilities alone; all rewards are shares of their range.

    A policy's value is the mean of its weight times the reward, where the weight is 1 / p if the action taken is the
    policy's, else 0. A gain is the mean of the difference of two weights times the reward.
    """

    def __init__(self) -> None:
        self.last = 0  # the last matured row counted
        self.n_rows = 0
        self.served = 0.0
        self.policy = Wealth(VALUES)
        self.over_baseline = Wealth(GAINS)  # over the held-back share; in apprentice mode, over the caller
        self.over_constant = Wealth(GAINS)
        self.baseline = 0.0
        self.constants: dict[str, list[float]] = {}  # times taken, sums of weights, of weighted rewards
        self.history: list[list[float]] = []

    def add(self, rows: Sequence[MaturedRow], now: float) -> None:
        """Count matured rows. The constant that leads is chosen before them: its gain stays a fair game."""
        leader = self.best_constant
        terms: dict[str, list[tuple[float, float, float]]] = {"policy": [], "baseline": [], "constant": []}
        for row in rows:
            self.last = max(self.last, row.decision.matured or 0)
            if row.is_fault or row.greedy < 0:
                continue
            self.n_rows += 1
            self.served += row.share
            self._count_constant(row)
            top = row.largest_weight(row.greedy)
            terms["policy"].append((row.weight(row.greedy) * row.share, 0.0, top))
            if row.exploration.by == "caller":
                self.baseline += row.share
                terms["baseline"].append((row.weight(row.greedy) * row.share - row.share, -1.0, top))
                if leader is not None:
                    constant = row.taken_by_constant(leader)
                    terms["constant"].append(gain_terms(row, row.greedy, constant))
                continue
            held = row.held_back()
            here = held[row.position] / row.decision.probability
            self.baseline += here * row.share
            most = max(
                abs((top if i == row.greedy else 0.0) - q / p)
                for i, (q, p) in enumerate(zip(held, row.probabilities, strict=True))
                if p
            )
            gain = (row.weight(row.greedy) - here) * (row.share - 0.5)
            terms["baseline"].append((gain, -most / 2, most / 2))
            if leader is not None:
                terms["constant"].append(gain_terms(row, row.greedy, row.taken_by_constant(leader)))
        for wealth, name in (
            (self.policy, "policy"),
            (self.over_baseline, "baseline"),
            (self.over_constant, "constant"),
        ):
            if terms[name]:
                wealth.add(*np.array(terms[name]).T)
        self._note(now)

    def _count_constant(self, row: MaturedRow) -> None:
        sums = self.constants.get(row.action.id)
        if sums is None:
            if len(self.constants) >= MOST_ACTIONS:
                return
            sums = self.constants[row.action.id] = [0.0, 0.0, 0.0]
        weight = 1 / row.decision.probability
        sums[0] += 1
        sums[1] += weight
        sums[2] += weight * row.share

    @property
    def best_constant(self) -> str | None:
        """The action of the largest self-normalised value so far; None before any was taken often enough."""
        known = {name: sums[2] / sums[1] for name, sums in self.constants.items() if sums[0] >= FEW}
        return max(known, key=lambda name: known[name]) if known else None

    def constant_value(self, name: str) -> float:
        """Return the value of always taking one action."""
        _, weights, earned = self.constants[name]
        return earned / weights

    def _note(self, now: float) -> None:
        """Keep a point of the history now and then; the older ones get sparser."""
        if self.n_rows == 0 or (self.history and self.n_rows < self.history[-1][1] * 1.01 + 10):
            return
        low, high = self.policy.ends(LEVEL)
        best = self.best_constant
        self.history.append(
            [
                now,
                float(self.n_rows),
                self.served / self.n_rows,
                self.policy.mean,
                low,
                high,
                self.baseline / self.n_rows,
                self.constant_value(best) if best is not None else float("nan"),
                *self.over_baseline.ends(LEVEL),
                *self.over_constant.ends(LEVEL),
            ]
        )
        if len(self.history) > MOST_POINTS:
            del self.history[1 : MOST_POINTS // 2 : 2]

    def facts(self) -> dict[str, Any]:
        """Return all of it in names."""
        if self.n_rows == 0:
            return {"rows": 0}
        best = self.best_constant
        return {
            "rows": self.n_rows,
            "served": self.served / self.n_rows,
            "policy": self.policy.mean,
            "policy_interval": self.policy.ends(LEVEL),
            "baseline": self.baseline / self.n_rows,
            "gain_over_baseline": self.over_baseline.ends(LEVEL),
            "best_constant": best,
            "best_constant_value": None if best is None else self.constant_value(best),
            "gain_over_constant": self.over_constant.ends(LEVEL) if self.over_constant.n_rows else None,
            "level": LEVEL,
        }

    def state(self) -> bytes:
        """Return all that must survive a restart."""
        plain = {name: getattr(self, name) for name in ("last", "n_rows", "served", "baseline", "constants", "history")}
        wealth = {name: getattr(self, name).state() for name in ("policy", "over_baseline", "over_constant")}
        return msgspec.msgpack.encode(plain | wealth)

    def restore(self, data: bytes) -> None:
        """Take over what `state` gave."""
        kept = msgspec.msgpack.decode(data)
        for name in ("last", "n_rows", "served", "baseline", "constants", "history"):
            setattr(self, name, kept[name])
        for name in ("policy", "over_baseline", "over_constant"):
            getattr(self, name).restore(kept[name])


def gain_terms(row: MaturedRow, new: int, old: int) -> tuple[float, float, float]:
    """Return the gain of one choice over another in a row, and the least and the most that it could have been."""
    if new == old:
        return 0.0, 0.0, 0.0
    if not row.is_complete:
        gain = (row.weight(new) - row.weight(old)) * row.share
        return gain, -row.largest_weight(old), row.largest_weight(new)
    most = max(row.largest_weight(new), row.largest_weight(old)) / 2
    return (row.weight(new) - row.weight(old)) * (row.share - 0.5), -most, most
