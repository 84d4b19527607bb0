"""Policies over actions with features that were read from a file: they decide without scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._fingerprint import Fingerprint
from offsettree.actions._cores import PairRegression, PairTournament
from offsettree.actions.policy import ActionPolicy, RewardPredictor
from offsettree.exceptions import PolicyFileError
from offsettree.logs import ActionSets
from offsettree.models import Part, describe

__all__ = ["SavedActionPolicy", "SavedActionRegression", "describe_core", "read_core"]


class SavedActionPolicy(ActionPolicy):
    """A policy over actions with features as `offsettree.load_action_policy` returns it; it does not learn.

    Parameters
    ----------
    core : object
        What decides.
    reward_range : (float, float)
        Smallest and largest possible reward.

    Attributes
    ----------
    manifest : dict
        What the file says of itself.
    """

    def __init__(self, core: Any, reward_range: tuple[float, float]) -> None:
        self.core_ = core
        self.reward_range = reward_range
        self.manifest: dict[str, Any] = {}
        self._trained_on: Fingerprint | None = None  # by which `evaluate` notices rows that were learned from

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        chosen: NDArray[np.intp] = self.core_.choose(X, sets)
        return chosen

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        found: tuple[int, list[Any] | None] = self.core_.choose_of_one(x, actions)
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.core_.kind}>"


class SavedActionRegression(RewardPredictor, SavedActionPolicy):
    """The same of a policy that predicts rewards."""

    def _pair_scores(self, X: Features, sets: ActionSets) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = self.core_.pair_scores(X, sets)
        return scores

    def _scores_of_one(self, x: Any, actions: Any) -> tuple[NDArray[np.float64], list[Any] | None]:
        found: tuple[NDArray[np.float64], list[Any] | None] = self.core_.scores_of_one(x, actions)
        return found


def describe_core(policy: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what the manifest says of a policy that has learned; its arrays are added to `arrays`.

    Parameters
    ----------
    policy : ActionRegression, ActionOffsetTree or SavedActionPolicy
        The policy.
    arrays : dict
        What else is written, by name.
    """
    if name := _learner_within(policy.core_):
        raise PolicyFileError(
            f"{type(policy).__name__} with {name} cannot be saved: that learner has no form in plain arrays. Linear "
            "models, decision trees, forests and histogram gradient boosting have one, and so has the default, "
            "estimator=None. For files that never leave your hands, use pickle."
        )
    return describe(policy.core_, "policy", arrays)


def _learner_within(core: Any) -> str | None:
    """Return the name of a learner that is kept as it is."""
    within: list[Any] = [core.scores] if isinstance(core, PairRegression) else core.contests
    return next((type(each.learner).__name__ for each in within if each.kind == "learner"), None)


def read_core(part: Part, reward_range: tuple[float, float]) -> SavedActionPolicy:
    """Read a policy that `describe_core` has described; everything is checked.

    Parameters
    ----------
    part : Part
        The part of the manifest that tells of the policy.
    reward_range : (float, float)
        Smallest and largest possible reward.
    """
    if part.choice("kind", (PairRegression.kind, PairTournament.kind)) == PairRegression.kind:
        return SavedActionRegression(PairRegression.read(part), reward_range)
    return SavedActionPolicy(PairTournament.read(part), reward_range)
