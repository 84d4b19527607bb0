"""A trial: candidates learn from some rows, decide in others, and what they decide there is valued."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._available import Available
from offsettree._features import Features, take_rows
from offsettree.base import BasePolicy
from offsettree.evaluation._reward_models import Predictions, predict_rewards
from offsettree.evaluation._targets import certain, row_blocks
from offsettree.evaluation._terms import MODEL_METHODS, Terms, estimate_terms
from offsettree.reductions import RewardBoosting
from offsettree.selection._shared import SharedModel
from offsettree.selection._timing import now

__all__ = ["Log", "Part", "Scoring", "Trial", "folds_of", "hold_trial", "said", "stratified_folds", "texts_of"]

Part = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows to learn from, rows to decide in


@dataclass(frozen=True)
class Log:
    """A checked log, rewards in their own units; `position` is that of each row's action among `actions`.

    `available` is what each row could choose from; None is all.
    """

    X: Features
    position: NDArray[np.intp]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    actions: NDArray[Any]
    available: Available | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)

    @property
    def reach(self) -> float:
        """By how much one further row could change a sum over rows: a heavy weight times the spread of rewards."""
        weight = self.propensity.min() / self.propensity
        heavy = float((weight**3).sum() / (weight**2).sum() / self.propensity.min())
        reward = _tamed(weight, self.reward)[1]
        return heavy * float(reward.max() - reward.min())

    def teach(self, policy: BasePolicy) -> BasePolicy:
        """Fit a copy of the policy on all rows."""
        return self._teach(clone(policy))

    def _teach(self, policy: BasePolicy) -> BasePolicy:
        return policy.fit(
            self.X,
            self.actions[self.position],
            reward=self.reward,
            propensity=self.propensity,
            available=None if self.available is None else self.available.mask,
        )

    def share(self, place: int, policy: RewardBoosting) -> SharedModel:
        """Fit a copy of the policy on all rows, and keep what it says of each without it."""
        learner: RewardBoosting = clone(policy)
        learner._keeps_held_out = True
        self._teach(learner)
        held_out = learner.__dict__.pop("_held_out")
        del learner.__dict__["_keeps_held_out"]
        return SharedModel(place, learner, held_out, held_out.choose(self.available), self.reward_range)

    def take(self, rows: NDArray[np.intp]) -> Log:
        """Return some of the rows."""
        return Log(
            take_rows(self.X, rows),
            self.position[rows],
            self.reward[rows],
            self.propensity[rows],
            self.actions,
            None if self.available is None else self.available.take(rows),
            self.reward_range,
        )

    def decide(self, policy: BasePolicy) -> NDArray[np.intp]:
        """Return the positions that a policy chooses, among what each row could choose from."""
        if self.available is None:
            return policy._positions(self.X)
        return policy._positions_among(self.X, self.available.mask)


@dataclass(frozen=True)
class Scoring:
    """How decisions are valued: by which estimator, and with which reward model."""

    method: str
    reward_model: Any = None
    seed: int = 0

    def shared(self, policies: Mapping[int, BasePolicy]) -> int | None:
        """Return the place of the candidate whose predictions serve as the reward model of all, if there is one."""
        if self.method not in MODEL_METHODS or self.reward_model is not None:
            return None
        return next((place for place, each in policies.items() if isinstance(each, RewardBoosting)), None)


@dataclass(frozen=True)
class Trial:
    """How one candidate did: the terms of its value and its weight in the rows it decided in, or why there are none.

    `tamed` are the numerators to choose by, without the few that would outweigh all others.
    """

    seconds: float
    warnings: tuple[str, ...] = ()
    error: str | None = None
    terms: Terms | None = None
    tamed: NDArray[np.float64] | None = None
    weight: NDArray[np.float64] | None = None


def stratified_folds(position: NDArray[np.intp], n_folds: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Return the fold of each row, such that every action is spread over the folds as evenly as can be."""
    order = random.permutation(len(position))
    order = order[np.argsort(position[order], kind="stable")]
    fold = np.empty(len(position), dtype=np.intp)
    fold[order] = np.arange(len(position)) % n_folds
    return fold


def folds_of(fold: NDArray[np.intp]) -> list[Part]:
    """Return pairs of rows to learn from and rows to decide in."""
    return [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(int(fold.max()) + 1)]


def hold_trial(
    policies: Mapping[int, BasePolicy],
    log: Log,
    part: Part,
    scoring: Scoring,
    start: Callable[[int], bool] = lambda place: True,
    known: SharedModel | None = None,
) -> dict[int, Trial]:
    """Let a copy of every policy learn from one part and decide in the other; those that `start` refuses do not.

    All are valued by the same reward model, learned from the same rows: that of a candidate, where one predicts
    rewards by boosting. If it is `known`, it has decided already.
    """
    train, test = part
    ahead, rest = log.take(train), log.take(test)
    chosen: dict[int, NDArray[np.intp]] = {}
    trials: dict[int, Trial] = {}
    shared, model = scoring.shared(policies), None
    for place, policy in policies.items():
        if known is not None and place == known.place:
            chosen[place], trials[place] = known.chosen[test], Trial(0.0)
            continue
        if not start(place):
            continue
        started = now()
        # Said of a part of the log, and by candidates that may not be chosen: kept for who wants to know.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            error = None
            try:
                learned = ahead.teach(policy)
                chosen[place] = rest.decide(learned)
                model = learned if place == shared else model
            except Exception as reason:
                error = said(reason)
        trials[place] = Trial(now() - started, texts_of(caught), error)
    predictions: dict[int, Predictions | None]
    if known is not None:
        predictions = {place: known.predict(test, rest.position, answers) for place, answers in chosen.items()}
    else:
        predictions = _predictions(scoring, model, log, rest, part, chosen)
    for place, predicted in predictions.items():
        weight = (chosen[place] == rest.position) / rest.propensity
        terms = estimate_terms(scoring.method, weight, rest.reward, predicted)
        tamed = terms.numerator
        if predicted is not None:
            tamed = estimate_terms(scoring.method, *_tamed(weight, rest.reward), predicted).numerator
        trials[place] = Trial(trials[place].seconds, trials[place].warnings, None, terms, tamed, weight)
    return trials


def _tamed(weight: NDArray[np.float64], reward: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cut the few weights and rewards that are far larger than others of their kind.

    Weights are compared with those of other rows that match, rewards that differ from the usual one with each other:
    a click counts in full, however rare clicks are. Limits grow with the rows, so that nothing is cut in the end.
    """
    usual = np.median(reward)
    return _cut(weight), usual + _cut(reward - usual)


def _cut(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut numbers at the root mean square of those that are not zero, times the fourth root of how many there are."""
    there = values[values != 0]
    limit = np.sqrt((there**2).mean()) * len(there) ** 0.25 if len(there) else 0.0
    return np.clip(values, -limit, limit)


def texts_of(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return what was warned of, each once."""
    return tuple(dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught))


def said(error: Exception) -> str:
    """Return an error as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _predictions(
    scoring: Scoring,
    model: BasePolicy | None,
    log: Log,
    rest: Log,
    part: Part,
    chosen: dict[int, NDArray[np.intp]],
) -> dict[int, Predictions | None]:
    """Return the predicted rewards of what every candidate chose; None for estimators that need none."""
    if scoring.method not in MODEL_METHODS or not chosen:
        return dict.fromkeys(chosen)
    n_actions = len(log.actions)
    if not isinstance(model, RewardBoosting):
        everywhere = np.zeros((len(chosen), len(log.reward)), dtype=np.intp)
        everywhere[:, part[1]] = list(chosen.values())
        targets = [certain(each, log.position, n_actions) for each in everywhere]
        random = np.random.RandomState(scoring.seed)
        found = predict_rewards(
            scoring.reward_model, log.X, log.position, log.reward, n_actions, targets, [part], random
        )
        of_test = [Predictions(each.on_logged[part[1]], each.on_policy[part[1]]) for each in found]
        return dict(zip(chosen, of_test, strict=True))
    on_logged = np.empty(len(rest.reward))
    on_policy = {place: np.empty(len(rest.reward)) for place in chosen}
    for rows in row_blocks(np.arange(len(rest.reward)), n_actions):
        rewards = model.predict_rewards(take_rows(rest.X, rows))
        here = np.arange(len(rows))
        on_logged[rows] = rewards[here, rest.position[rows]]
        for place, answers in chosen.items():
            on_policy[place][rows] = rewards[here, answers[rows]]
    return {place: Predictions(on_logged, values) for place, values in on_policy.items()}
