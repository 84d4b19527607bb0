"""What decides in a loop: the online learner, or a policy file; both by the same method."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from offsettree.facts import Facts, SetFacts
from offsettree.policy_file import load_any
from offsettree.service.features import Hashed, Listed, hashed, listed
from offsettree.service.flat import flat, flat_context
from offsettree.service.learner import HashedLearner, Joined, Learner, joined
from offsettree.service.requests import Action

__all__ = [
    "WARM_UP",
    "Decider",
    "FileDecider",
    "OnlineDecider",
    "hashed_action",
    "hashed_context",
    "listed_context",
    "make_decider",
]


WARM_UP = 20  # decisions: the first 16 of a process go without compiled code


class Decider(Protocol):
    """Chooses among the eligible actions of one context."""

    is_bounded: bool  # whether an answer takes microseconds, whatever it is asked; else it is asked in a thread

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, list[float] | None]:
        """Return the position of the best action, -1 if none is known, and predicted rewards if there are any."""
        ...


@lru_cache(maxsize=1 << 14)
def _hashed_id(action_id: str) -> Hashed:
    return hashed({}, first=f"action:{action_id}")


def hashed_action(action: Action, deepest: int = 16) -> Hashed:
    """Return an action's features: its id first, then its own ones."""
    if not action.features:
        return _hashed_id(action.id)
    return hashed(action.features, deepest, first=f"action:{action.id}")


def hashed_context(context: dict[str, Any], deepest: int = 16) -> Hashed:
    """Return a context's features, with a constant before them."""
    return hashed(context, deepest, first="bias")


def listed_context(context: dict[str, Any]) -> Listed:
    """Return the same as lists."""
    return listed(context, first="bias")


class OnlineDecider:
    """Decides by a learner that goes on learning.

    Parameters
    ----------
    learner : Learner
        The learner.
    """

    is_bounded = True

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._last: tuple[list[Action], Joined] | None = None

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, list[float] | None]:
        """Return the action of the largest score; none before the first row was learned from."""
        if self.learner.n_rows == 0:
            return -1, None
        last = self._last
        if last is None or actions is not last[0]:  # those of the settings are the same list in every call
            last = self._last = actions, joined([hashed_action(action) for action in actions])
        scores: list[float] = self.learner.scores_joined(hashed_context(context), last[1]).tolist()
        return scores.index(max(scores)), scores


class FileDecider:
    """Decides by a policy file, over labels or over actions with features.

    One over labels takes no action that it does not know: those are only explored.

    Parameters
    ----------
    data : bytes
        The file.
    """

    is_bounded = False

    def __init__(self, data: bytes) -> None:
        with tempfile.NamedTemporaryFile(suffix=".ot") as file:
            file.write(data)
            file.flush()
            self.policy = load_any(Path(file.name))
        self._over_sets = bool(getattr(self.policy, "takes_action_sets", False))
        if self._over_sets:
            log = Facts.read(self.policy.manifest.get("facts")).log
            self._columns, self._features = log.features, (log.sets or SetFacts()).pair_features
            every = [Action("a"), Action("b")]
        else:
            self._labels = {str(label): label for label in self.policy.actions_.tolist()}
            every = [Action(each) for each in self._labels]
        for actions in (every, every[:-1]):  # kernels are compiled at their first use: not while somebody waits
            with suppress(Exception):
                for _ in range(WARM_UP):
                    self.choose({}, actions)

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, list[float] | None]:
        """Return the policy's choice among the actions that it can take."""
        if self._over_sets:
            return self._choose_by_features(context, actions), None
        known = [self._labels[action.id] for action in actions if action.id in self._labels]
        if not known:
            return -1, None
        available = None if len(known) == len(self._labels) else known
        encoder = self.policy.encoder
        row = context if encoder is None else _with_gaps(flat_context(context), encoder.names_in)
        choice = str(self.policy.decide(row, available))
        return next(i for i, action in enumerate(actions) if action.id == choice), None

    def _choose_by_features(self, context: dict[str, Any], actions: list[Action]) -> int:
        told = [_with_gaps(flat(action.features or {}), self._features) | {"id": action.id} for action in actions]
        choice = str(self.policy.decide(_with_gaps(flat_context(context), self._columns), told))
        return next(i for i, action in enumerate(actions) if action.id == choice)


def _with_gaps(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the columns that a policy has learned from, None where the row lacks one; all if it does not name them."""
    return {name: row.get(name) for name in names} if names else row


def make_decider(kind: str, data: bytes) -> OnlineDecider | FileDecider:
    """Return what a version's data is."""
    return OnlineDecider(HashedLearner.restored(data)) if kind == "online" else FileDecider(data)
