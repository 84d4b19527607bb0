"""Trials: candidates are trained on some rows, and their decisions in other rows are valued."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._features import take_rows
from offsettree.base import BasePolicy, is_ours
from offsettree.evaluation.parts import (
    MODEL_METHODS,
    Predictions,
    Terms,
    certain,
    estimate_terms,
    predict_rewards,
    row_blocks,
)
from offsettree.logs import CheckedLog
from offsettree.reductions import RewardBoosting
from offsettree.selection._shared import SharedModel
from offsettree.selection._timing import now

Part = tuple[NDArray[np.intp], NDArray[np.intp]]  # training rows, test rows
Spread = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]  # calls a function with each arguments


@dataclass(frozen=True)
class Log(CheckedLog):
    """A checked log that candidates learn from and decide on."""

    @property
    def unseen_effect(self) -> float:
        """How much one unseen row could change a sum over rows: a heavy weight times the range of rewards."""
        weight = self.propensity.min() / self.propensity
        heavy = float((weight**3).sum() / (weight**2).sum() / self.propensity.min())
        reward = _clip_outliers(weight, self.reward)[1]
        return heavy * float(reward.max() - reward.min())

    def fit(self, policy: BasePolicy) -> BasePolicy:
        """Fit a copy of the policy on all rows."""
        return self._fit_in_place(clone(policy))

    def _fit_in_place(self, policy: BasePolicy) -> BasePolicy:
        if is_ours(policy, "fit"):
            return policy._fit_checked(self)
        return policy.fit(
            self.X,
            self.actions[self.position],
            reward=self.reward,
            propensity=self.propensity,
            available=None if self.available is None else self.available.mask,
        )

    def fit_shared(self, place: int, policy: RewardBoosting) -> SharedModel:
        """Fit a copy of the policy on all rows, and keep its held-out predictions."""
        learner: RewardBoosting = clone(policy)
        learner._keeps_held_out = True
        self._fit_in_place(learner)
        held_out = learner.__dict__.pop("_held_out")
        del learner.__dict__["_keeps_held_out"]
        return SharedModel(place, learner, held_out, held_out.choose(self.available), self.reward_range)

    def predict_choices(
        self, scoring: Scoring, part: Part, chosen: list[NDArray[np.intp]], random: np.random.RandomState
    ) -> list[Predictions]:
        """Return what a reward model, learned from the training rows, predicts for choices in the test rows."""
        n_actions = len(self.actions)
        everywhere = np.zeros((len(chosen), len(self.reward)), dtype=np.intp)
        everywhere[:, part[1]] = chosen
        targets = [certain(each, self.position, n_actions) for each in everywhere]
        found = predict_rewards(
            scoring.reward_model, self.X, self.position, self.reward, n_actions, targets, [part], random
        )
        return [Predictions(each.on_logged[part[1]], each.on_policy[part[1]]) for each in found]

    def decide(self, policy: BasePolicy) -> NDArray[np.intp]:
        """Return the positions of the actions that a policy chooses among the available ones."""
        if not is_ours(policy, "_positions"):
            sets = self.available
            return policy._positions(self.X) if sets is None else policy._positions_among(self.X, sets.mask)
        X = policy._checked(self.X, numbers=policy._must_look_at(self))
        return policy._choose(X) if self.available is None else policy._choose_among(X, self.available)


@dataclass(frozen=True)
class Scoring:
    """The estimator and the reward model by which decisions are valued."""

    method: str
    reward_model: Any = None
    seed: int = 0

    def shared(self, policies: Mapping[int, BasePolicy]) -> int | None:
        """Return the index of the candidate that serves as the shared reward model, if there is one."""
        if self.method not in MODEL_METHODS or self.reward_model is not None:
            return None
        return next((place for place, each in policies.items() if isinstance(each, RewardBoosting)), None)


@dataclass(frozen=True)
class Trial:
    """The result of one candidate: the terms of its value and its weights in the test rows, or the error.

    `clipped` are the numerators to choose by, with outliers clipped.
    """

    seconds: float
    warnings: tuple[str, ...] = ()
    error: str | None = None
    terms: Terms | None = None
    clipped: NDArray[np.float64] | None = None
    weight: NDArray[np.float64] | None = None


def stratified_folds(position: NDArray[np.intp], n_folds: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Return the fold of each row, stratified by action."""
    order = random.permutation(len(position))
    order = order[np.argsort(position[order], kind="stable")]
    fold = np.empty(len(position), dtype=np.intp)
    fold[order] = np.arange(len(position)) % n_folds
    return fold


def folds_of(fold: NDArray[np.intp]) -> list[Part]:
    """Return the training and test rows of each fold."""
    return [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(int(fold.max()) + 1)]


def run_trial(
    policies: Mapping[int, BasePolicy],
    log: Log,
    part: Part,
    scoring: Scoring,
    start: Callable[[int], bool] = lambda place: True,
    known: SharedModel | None = None,
    spread: Spread | None = None,
) -> dict[int, Trial]:
    """Train a copy of every policy for which `start` returns True, and value its decisions in the test rows.

    All are valued by the same reward model, trained on the same rows: a `RewardBoosting` candidate, if there is one.
    `known` is that model if it is already trained. `spread` has the candidates trained elsewhere.
    """
    train, test = part
    ahead, rest = log.take(train), log.take(test)
    chosen: dict[int, NDArray[np.intp]] = {}
    trials: dict[int, Trial] = {}
    shared, model = scoring.shared(policies), None
    elsewhere: dict[int, Any] = {}
    if spread is not None:
        begun = [place for place in policies if not (known is not None and place == known.place) and start(place)]
        jobs = [(policies[place], ahead, rest, place == shared) for place in begun]
        elsewhere = dict(zip(begun, spread(learn_and_decide, jobs), strict=True))
    for place, policy in policies.items():
        if known is not None and place == known.place:
            chosen[place], trials[place] = known.chosen[test], Trial(0.0)
            continue
        if spread is None and start(place):
            trials[place], answers, learned = learn_and_decide(policy, ahead, rest, place == shared)
        elif place in elsewhere:
            trials[place], answers, learned = elsewhere[place]
        else:
            continue
        if answers is not None:
            chosen[place] = answers
        model = model if learned is None else learned
    predictions: dict[int, Predictions | None]
    if known is not None:
        predictions = {place: known.predict(test, rest.position, answers) for place, answers in chosen.items()}
    else:
        predictions = _predictions(scoring, model, log, rest, part, chosen)
    for place, predicted in predictions.items():
        weight = (chosen[place] == rest.position) / rest.propensity
        terms = estimate_terms(scoring.method, weight, rest.reward, predicted)
        clipped = terms.numerator
        if predicted is not None:
            clipped = estimate_terms(scoring.method, *_clip_outliers(weight, rest.reward), predicted).numerator
        trials[place] = Trial(trials[place].seconds, trials[place].warnings, None, terms, clipped, weight)
    return trials


def learn_and_decide(
    policy: BasePolicy, ahead: Log, rest: Log, is_kept: bool
) -> tuple[Trial, NDArray[np.intp] | None, BasePolicy | None]:
    """Train a copy of a policy on some rows and decide on others; return the policy too if it `is_kept`."""
    started = now()
    error, answers, learned = None, None, None
    # These warnings are about a part of the log and may be about a loser: they are kept in the results only.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            learned = ahead.fit(policy)
            answers = rest.decide(learned)
        except Exception as reason:
            error = error_line(reason)
    kept = learned if is_kept and answers is not None else None
    return Trial(now() - started, warning_texts(caught), error), answers, kept


def _clip_outliers(
    weight: NDArray[np.float64], reward: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clip weights and rewards that are far larger than the others.

    Weights are compared with those of other matched rows. Rewards are compared among those that differ from the median,
    so a click counts in full, however rare clicks are. Limits grow with the number of rows.
    """
    usual = np.median(reward)
    return _clip(weight), usual + _clip(reward - usual)


def _clip(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clip at the root mean square of the nonzero numbers, times the fourth root of their count."""
    nonzero = values[values != 0]
    limit = np.sqrt((nonzero**2).mean()) * len(nonzero) ** 0.25 if len(nonzero) else 0.0
    return np.clip(values, -limit, limit)


def warning_texts(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return the texts of warnings, each once."""
    return tuple(dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught))


def error_line(error: Exception) -> str:
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
    """Return the predicted rewards of every candidate's choices; None for estimators without a reward model."""
    if scoring.method not in MODEL_METHODS or not chosen:
        return dict.fromkeys(chosen)
    n_actions = len(log.actions)
    if not isinstance(model, RewardBoosting):
        found = log.predict_choices(scoring, part, list(chosen.values()), np.random.RandomState(scoring.seed))
        return dict(zip(chosen, found, strict=True))
    on_logged = np.empty(len(rest.reward))
    on_policy = {place: np.empty(len(rest.reward)) for place in chosen}
    X = model._checked(rest.X, numbers=model._must_look_at(rest))
    for rows in row_blocks(np.arange(len(rest.reward)), n_actions):
        rewards = model._rewards(take_rows(X, rows))
        here = np.arange(len(rows))
        on_logged[rows] = rewards[here, rest.position[rows]]
        for place, answers in chosen.items():
            on_policy[place][rows] = rewards[here, answers[rows]]
    return {place: Predictions(on_logged, values) for place, values in on_policy.items()}
