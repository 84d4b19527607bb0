"""A log with a set of eligible actions per row, that candidates over action sets learn from and decide on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from offsettree._available import Available
from offsettree._features import Features
from offsettree.actions import ActionPolicy
from offsettree.actions.policy import judge_log
from offsettree.evaluation.parts import Predictions, certain, mask_of, predict_set_rewards
from offsettree.learners import make_learner
from offsettree.logs import ActionSets
from offsettree.selection._trials import Log, Part, Scoring


@dataclass(frozen=True)
class SetLog(Log):
    """A log whose actions are ids: `position` is that of the id taken among all ids that were eligible anywhere."""

    sets: ActionSets | None = None

    @classmethod
    def judged(
        cls, X: Features, action: ArrayLike, reward: Any, propensity: Any, sets: Any, reward_range: tuple[float, float]
    ) -> Self:
        """Judge the parts of a log."""
        log = judge_log(X, action, reward, propensity, sets, reward_range)
        ids, mask = mask_of(sets, len(log.reward))
        position = np.searchsorted(ids, log.sets.ids[log.pair])
        return cls(X, position, log.reward, log.propensity, ids, Available(mask), reward_range, sets=log.sets)

    @property
    def own(self) -> ActionSets:
        """The sets, which are always there."""
        assert self.sets is not None  # noqa: S101 - a field of a subclass needs a default
        return self.sets

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the log of some rows."""
        return replace(super().take(rows), sets=self.own.take(rows))

    def fit(self, policy: Any) -> Any:
        """Fit a copy of the policy on all rows."""
        return clone(policy).fit(
            self.X,
            self.actions[self.position],
            reward=self.reward,
            propensity=self.propensity,
            action_sets=self.own,
        )

    def decide(self, policy: ActionPolicy) -> NDArray[np.intp]:
        """Return the positions of the ids that a policy chooses."""
        return np.searchsorted(self.actions, policy.predict(self.X, self.own))

    def predict_choices(
        self, scoring: Scoring, part: Part, chosen: list[NDArray[np.intp]], random: np.random.RandomState
    ) -> list[Predictions]:
        """Return what a reward model, learned from the training rows, predicts for choices in the test rows."""
        train, test = part
        both = self.take(np.concatenate([train, test]))
        here = len(train) + np.arange(len(test))
        pair = both.own.find(both.actions[both.position])
        everywhere = np.tile(both.position, (len(chosen), 1))
        everywhere[:, here] = chosen
        targets = [certain(each, both.position, len(both.actions)) for each in everywhere]
        model = make_learner("ridge", "regressor") if scoring.reward_model is None else scoring.reward_model
        folds = [(np.arange(len(train)), here)]
        low, high = self.reward_range
        found = predict_set_rewards(
            model, both.X, both.own, pair, both.reward, targets, folds, random, (low + high) / 2
        )
        return [Predictions(each.on_logged[here], each.on_policy[here]) for each in found]
