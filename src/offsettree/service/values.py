"""What the running policy is worth beside the held-back share and the best constant action, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from offsettree.service.constants import ConstantGains
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings
from offsettree.service.wealth import GAINS, VALUES, Wealth

__all__ = ["Limits", "LoopValues", "Usual", "gain"]

LEVEL = 0.95
MOST_ACTIONS = 200
MOST_POINTS = 400
USUAL_ACTIONS = 50  # eligible at most, where the settings name none
WEALTH = ("policy", "over_baseline", "over_leader", "over_constants")
FEW = 20  # times that an action must have been taken to lead


class Allowed(NamedTuple):
    """Which weights of a row are within the limits."""

    greedy: bool
    held: bool
    any_action: bool


class Limits(NamedTuple):
    """The most that weights may be: of the greedy action, of the held-back policy, and of any action.

    Rows whose vectors were made otherwise, such as with more eligible actions, are left out of bounds and tests.
    """

    greedy: float
    held: float
    any_action: float
    is_apprentice: bool = False

    @classmethod
    def of(cls, settings: LoopSettings) -> Limits:
        """Return the limits that follow from a loop's settings."""
        n, left = len(settings.actions) or USUAL_ACTIONS, 1 - settings.hold_back
        rate = 0.0 if settings.mode == "frozen" else settings.epsilon
        greedy = n / left if left > 0 else math.inf
        any_action = n / (left * rate) if left * rate > 0 else math.inf
        held = 1 / settings.hold_back if settings.hold_back > 0 else any_action
        return cls(greedy, held, any_action, settings.mode == "apprentice")

    def allow(self, row: MaturedRow) -> Allowed:
        """Return which weights of a row are within the limits, by how its vector was made."""
        most = row.largest_weights()
        return Allowed(_within(most[0], self.greedy), _within(most[1], self.held), _within(most[2], self.any_action))

    def wealth(self, other: str) -> Wealth:
        """Return bettors on the gain of a greedy action over another policy."""
        if self.is_apprentice:  # weights of a caller have no limit, but its own is always 1
            return Wealth(GAINS, -1.0, math.inf)
        most = max(self.greedy, getattr(self, other))
        return Wealth(GAINS, -most, most)


class Usual:
    """A usual reward, known before a row: the mean of earlier rewards, each by the square of its action's weight.

    Any number that is known before a row may be taken off its reward without changing a mean gain, as the weights of
    both policies have the mean 1. This one makes the variance about as small as one number can: rewards of actions
    that are seldom taken have the largest weights, so that a mean of all rewards would be far from them.

    Parameters
    ----------
    weight, total : float
        Sums of squared weights, and of rewards times those, so far.

    Examples
    --------
    >>> usual = Usual()
    >>> usual.add(1.0, 1.0)
    >>> usual.add(0.1, 0.0)
    >>> round(usual.value, 3)
    0.01
    """

    def __init__(self, weight: float = 0.0, total: float = 0.0) -> None:
        self.weight, self.total = weight, total

    @property
    def value(self) -> float:
        """The usual reward, as a share of the range."""
        return self.total / self.weight if self.weight else 0.5

    def add(self, probability: float, share: float) -> None:
        """Count a row."""
        squared = 1 / probability**2
        self.weight += squared
        self.total += squared * share


class LoopValues:
    """Running estimates, by the logged probabilities alone; all rewards are shares of their range.

    Parameters
    ----------
    limits : Limits
        Of weights.

    A policy's value is the mean of its weight times the reward, where the weight is 1 / p if the action taken is the
    policy's, else 0. A gain is the mean of the difference of two weights times the reward.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.last = 0  # the last matured row counted
        self.n_rows = 0
        self.served = 0.0
        self.usual = Usual()
        self.policy = Wealth(VALUES, 0.0, limits.greedy)
        # Over the held-back share; in apprentice mode, over the caller.
        self.over_baseline = limits.wealth("held")
        self.over_leader = limits.wealth("any_action")  # the constant that led: from above, as the best is no worse
        self.over_constants = ConstantGains(limits.wealth("any_action"))
        self.baseline = 0.0
        self.constants: dict[str, list[float]] = {}  # times taken, sums of weights, of weighted rewards
        self.history: list[list[float]] = []

    def add(self, rows: Sequence[MaturedRow], now: float) -> None:
        """Count matured rows. The constant that leads is chosen before them: its gain stays a fair game."""
        leader = self.best_constant
        usual = self.usual.value
        policy, over_baseline, over_leader = [], [], []
        for row in rows:
            self.last = max(self.last, row.decision.matured or 0)
            if row.is_fault or row.greedy < 0 or row.exploration.slot > 0:
                continue
            self.n_rows += 1
            self.served += row.share
            self._count_constant(row)
            weight = row.weight(row.greedy)
            if self.limits.is_apprentice:
                self.baseline += row.share
                policy.append(weight * row.share)
                over_baseline.append((weight - 1) * row.share)
                continue
            self.baseline += row.held_back_weight() * row.share
            allowed = self.limits.allow(row)
            if allowed.greedy:
                policy.append(weight * row.share)
            if allowed.greedy and allowed.held:
                over_baseline.append((weight - row.held_back_weight()) * (row.share - usual))
            if allowed.any_action:
                self.usual.add(row.decision.probability, row.share)
                self.over_constants.add(row, usual)
                if leader is not None:
                    over_leader.append(gain(row, row.greedy, row.taken_by_constant(leader), usual))
        self.policy.add(np.array(policy))
        self.over_baseline.add(np.array(over_baseline))
        self.over_leader.add(np.array(over_leader))
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

    def _over_constant(self) -> tuple[float, float]:
        """Return the interval of the gain over the best constant."""
        low = self.over_constants.lower_end(LEVEL)
        return low, max(low, self.over_leader.ends(LEVEL)[1])

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
                *self._over_constant(),
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
            "gain_over_constant": self._over_constant() if self.over_leader.n_rows else None,
            "level": LEVEL,
        }

    def state(self) -> bytes:
        """Return all that must survive a restart."""
        plain = {name: getattr(self, name) for name in ("last", "n_rows", "served", "baseline", "constants", "history")}
        wealth = {name: getattr(self, name).state() for name in WEALTH}
        return msgspec.msgpack.encode(plain | wealth | {"usual": [self.usual.weight, self.usual.total]})

    def restore(self, data: bytes) -> None:
        """Take over what `state` gave."""
        kept = msgspec.msgpack.decode(data)
        for name in ("last", "n_rows", "served", "baseline", "constants", "history"):
            setattr(self, name, kept[name])
        self.usual = Usual(*kept.get("usual", ()))
        for name in WEALTH:
            if name in kept:  # not all are in a state of an earlier release
                getattr(self, name).restore(kept[name])


def _within(most: float, limit: float) -> bool:
    return most < math.inf and most <= limit * (1 + 1e-9)


def gain(row: MaturedRow, new: int, old: int, usual: float) -> float:
    """Return the gain of one choice over another in a row.

    The usual reward is taken off: weights of both have the mean 1, so that the mean gain stays, and its variance falls.
    """
    return 0.0 if new == old else (row.weight(new) - row.weight(old)) * (row.share - usual)
