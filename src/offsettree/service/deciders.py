"""What decides in a loop: the online learner, or a policy file; both by the same method."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from offsettree.policy_file import load
from offsettree.service.features import Hashed, hashed
from offsettree.service.learner import HashedLearner, Learner
from offsettree.service.requests import Action

__all__ = ["Decider", "FileDecider", "OnlineDecider", "hashed_action", "hashed_context", "make_decider"]


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

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, list[float] | None]:
        """Return the action of the largest score; none before the first row was learned from."""
        if self.learner.n_rows == 0:
            return -1, None
        found = self.learner.scores(hashed_context(context), [hashed_action(action) for action in actions])
        scores: list[float] = found.tolist()
        return scores.index(max(scores)), scores


class FileDecider:
    """Decides by a policy file; actions that it does not know are only explored.

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
            self.policy = load(Path(file.name))
        self._labels = {str(label): label for label in self.policy.actions_.tolist()}
        every = [Action(each) for each in self._labels]
        for actions in (every, every[:-1]):  # kernels are compiled at their first use: not while somebody waits
            with suppress(Exception):
                self.choose({}, actions)

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, list[float] | None]:
        """Return the policy's choice among the actions that it knows."""
        known = [self._labels[action.id] for action in actions if action.id in self._labels]
        if not known:
            return -1, None
        available = None if len(known) == len(self._labels) else known
        flat = flat_context(context) if self.policy.encoder is not None else context
        choice = str(self.policy.decide(self._with_gaps(flat), available))
        return next(i for i, action in enumerate(actions) if action.id == choice), None

    def _with_gaps(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row with None for columns that it lacks: a context need not have all of them."""
        if self.policy.encoder is None:
            return row
        return {name: row.get(name) for name in self.policy.encoder.names_in}


def flat_context(context: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return a context as one flat row with dotted names, as it is exported.

    Examples
    --------
    >>> flat_context({"age": 3, "user": {"city": "Rome"}})
    {'age': 3, 'user.city': 'Rome'}
    """
    row: dict[str, Any] = {}
    for key, value in context.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            row |= flat_context(value, name)
        elif not isinstance(value, list):
            row[name] = value
    return row


def make_decider(kind: str, data: bytes) -> OnlineDecider | FileDecider:
    """Return what a version's data is."""
    return OnlineDecider(HashedLearner.restored(data)) if kind == "online" else FileDecider(data)
