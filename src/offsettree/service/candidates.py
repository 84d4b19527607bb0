"""Candidates: policies learned from the log, valued on later rows only, and promoted only once shown to be better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from offsettree.service.deciders import Decider
from offsettree.service.requests import Action
from offsettree.service.rows import MaturedRow
from offsettree.service.values import Limits, Usual, gain
from offsettree.service.wealth import GAINS, Wealth

__all__ = ["Candidate", "spent"]

ZERO = int(np.flatnonzero(GAINS == 0)[0])
FEWEST_ROWS = 50
MOST_CONSTANTS = 100
Ask = Callable[[Decider, dict[str, Any], list[Action]], tuple[int, list[float] | None]]


def spent(alpha: float, number: int) -> float:
    """Return the share of alpha that a loop's candidate of this number, from 1 on, may spend: they add up to alpha."""
    return alpha * 6 / (math.pi * number) ** 2


class Candidate:
    """A version in the shadow of the running policy.

    It is shown to be better if its gain over the running policy, and its gain over every constant action, have
    anytime-valid lower ends above 0. All of these gains must be shown, so that each may use the whole level. Rows must
    be of probabilities that the service made: those of a caller have no lower limit, so that an apprentice's candidate
    is promoted by hand.

    Its share of alpha depends on its `number` among the candidates that the loop has had. No row up to `trained_to`,
    the last matured one that it has learned from, counts; nor do those decided before `since`, when another policy ran.
    """

    def __init__(
        self, version: int, number: int, trained_to: int, decider: Decider, limits: Limits, since: float = -math.inf
    ) -> None:
        self.limits = limits
        self.since = since
        self.version = version
        self.number = number
        self.trained_to = trained_to
        self.decider = decider
        self.over_running = limits.wealth("any_action")
        self.over_constants: dict[str, Wealth] = {}
        self.fault: str | None = None
        self._usual = Usual()  # of the rows counted

    def add(self, rows: Sequence[MaturedRow], constants: Sequence[str], ask: Ask | None = None) -> None:
        """Value the candidate on matured rows; `constants` are the actions that any policy could always take.

        `ask` asks a policy that may take long; without it, it is asked here.
        """
        if self.fault is not None:
            return
        for name in constants:
            if len(self.over_constants) < MOST_CONSTANTS and name not in self.over_constants:
                self.over_constants[name] = self.limits.wealth("any_action")
        usual = self._usual.value
        running: list[float] = []
        against: dict[str, list[float]] = {name: [] for name in self.over_constants}
        for row in rows:
            is_later = (row.decision.matured or 0) > self.trained_to and row.decision.time > self.since
            if not is_later or row.is_fault or not self.limits.allow(row).any_action:
                continue
            try:
                if ask is None or self.decider.is_bounded:
                    choice, _ = self.decider.choose(row.context, row.actions)
                else:
                    choice, _ = ask(self.decider, row.context, row.actions)
            except Exception as error:  # whatever a model does wrong, it only loses its candidacy
                self.fault = f"{type(error).__name__}: {error}"
                return
            choice = max(choice, 0)
            self._usual.add(row.decision.probability, row.share)
            running.append(gain(row, choice, max(row.greedy, 0), usual))
            for name, terms in against.items():
                terms.append(gain(row, choice, row.taken_by_constant(name), usual))
        self.over_running.add(np.array(running))
        for name, terms in against.items():
            self.over_constants[name].add(np.array(terms))

    def is_better(self, alpha: float) -> bool:
        """Whether all gains are shown to be above 0, each by a bettor who began with 1 and now has 1 / its alpha."""
        if self.fault is not None or self.over_running.n_rows < FEWEST_ROWS or not self.over_constants:
            return False
        goal = -math.log(spent(alpha, self.number))
        gains = (self.over_running, *self.over_constants.values())
        return all(gain.log_wealth(ZERO) >= goal for gain in gains)

    def facts(self, alpha: float) -> dict[str, Any]:
        """Return what is known of it."""
        level = 1 - 2 * spent(alpha, self.number)  # of two sides, of which promotion looks at the lower one
        worst = min(self.over_constants.values(), key=lambda gain: gain.log_wealth(ZERO), default=None)
        return {
            "version": self.version,
            "rows": self.over_running.n_rows,
            "level": level,
            "gain_over_running": self.over_running.ends(level),
            "gain_over_best_constant": None if worst is None else worst.ends(level),
            "is_better": self.is_better(alpha),
            "fault": self.fault,
        }

    def state(self) -> bytes:
        """Return the evidence so far."""
        return msgspec.msgpack.encode(
            {
                "version": self.version,
                "number": self.number,
                "trained_to": self.trained_to,
                "since": self.since,
                "fault": self.fault,
                "usual": [self._usual.weight, self._usual.total],
                "running": self.over_running.state(),
                "constants": {name: wealth.state() for name, wealth in self.over_constants.items()},
            }
        )

    def restore(self, kept: dict[str, Any]) -> None:
        """Take over the evidence of a decoded `state`."""
        self.fault, self.since = kept.get("fault"), kept.get("since", 0.0)
        self.over_running.restore(kept["running"])
        self._usual = Usual(*kept.get("usual", ()))
        for name, state in kept["constants"].items():
            self.over_constants[name] = self.limits.wealth("any_action")
            self.over_constants[name].restore(state)
