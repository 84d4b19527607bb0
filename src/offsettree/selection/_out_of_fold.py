"""What a candidate decides in rows it did not learn from, and what those decisions are worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from offsettree._available import Available
from offsettree._features import Features, take_rows
from offsettree.base import BasePolicy
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._reward_models import Folds, Predictions, predict_rewards
from offsettree.evaluation._targets import certain
from offsettree.evaluation._terms import MODEL_METHODS, Terms, estimate_terms

__all__ = [
    "Compared",
    "Decisions",
    "Log",
    "decide_in_part",
    "decide_out_of_fold",
    "estimate_all",
    "folds_of",
    "stratified_folds",
]


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

    def teach(self, policy: BasePolicy, rows: NDArray[np.intp] | None = None) -> BasePolicy:
        """Fit a copy of the policy on some rows, or on all."""
        part = self if rows is None else self.take(rows)
        learner: BasePolicy = clone(policy)
        return learner.fit(
            part.X,
            part.actions[part.position],
            reward=part.reward,
            propensity=part.propensity,
            available=None if part.available is None else part.available.mask,
        )

    def take(self, rows: NDArray[np.intp]) -> Log:
        """Return some of the rows."""
        return Log(
            take_rows(self.X, rows),
            self.position[rows],
            self.reward[rows],
            self.propensity[rows],
            self.actions,
            None if self.available is None else self.available.take(rows),
        )

    def decide(self, policy: BasePolicy, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the positions that a policy chooses in some rows, among what they could choose from."""
        X = take_rows(self.X, rows)
        if self.available is None:
            return policy._positions(X)
        return policy._positions_among(X, self.available.take(rows).mask)


@dataclass(frozen=True)
class Decisions:
    """The position of the action that a candidate chose in each row, and what it took to get there."""

    chosen: NDArray[np.intp]
    seconds: float
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """What is known of one candidate's decisions: by row, the terms of its value and its weight."""

    place: int
    terms: Terms
    weight: NDArray[np.float64]

    @property
    def effective_rows(self) -> float:
        """As many rows of equal weight would tell as much."""
        return WeightSums.of(self.weight).effective_rows


def stratified_folds(position: NDArray[np.intp], n_folds: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Return the fold of each row, such that every action is spread over the folds as evenly as can be."""
    order = random.permutation(len(position))
    order = order[np.argsort(position[order], kind="stable")]
    fold = np.empty(len(position), dtype=np.intp)
    fold[order] = np.arange(len(position)) % n_folds
    return fold


def folds_of(fold: NDArray[np.intp]) -> Folds:
    """Return pairs of rows to learn from and rows to decide in."""
    return [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(int(fold.max()) + 1)]


def decide_out_of_fold(policy: BasePolicy, log: Log, folds: Folds, n_jobs: int | None) -> Decisions:
    """Let a copy of the policy per fold learn from the other rows and decide in its own."""
    parts = Parallel(n_jobs=n_jobs)(delayed(decide_in_part)(policy, log, train, test) for train, test in folds)
    chosen = np.empty(len(log.reward), dtype=np.intp)
    for (_, test), (answers, _, _) in zip(folds, parts, strict=True):
        chosen[test] = answers
    said = dict.fromkeys(text for _, _, texts in parts for text in texts)
    return Decisions(chosen, sum(seconds for _, seconds, _ in parts), tuple(said))


def decide_in_part(
    policy: BasePolicy, log: Log, train: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[NDArray[np.intp], float, list[str]]:
    """Return what a copy of the policy decides after learning, the seconds that took, and what was warned of."""
    started = monotonic()
    # Said of a part of the log, and by candidates that may not be chosen: kept for who wants to know.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = log.decide(log.teach(policy, train), test)
    return answers, monotonic() - started, [f"{each.category.__name__}: {each.message}" for each in caught]


def estimate_all(
    method: str,
    reward_model: Any,
    log: Log,
    folds: Folds,
    decisions: dict[int, Decisions],
    random: np.random.RandomState,
) -> list[Compared]:
    """Return what every candidate's decisions are worth, by place; all by the same reward models, one per fold."""
    n_actions = len(log.actions)
    targets = [certain(each.chosen, log.position, n_actions) for each in decisions.values()]
    predicted: list[Predictions | None] = [None] * len(targets)
    if method in MODEL_METHODS:
        predicted = [*predict_rewards(reward_model, log.X, log.position, log.reward, n_actions, targets, folds, random)]
    compared = []
    for place, target, prediction in zip(decisions, targets, predicted, strict=True):
        weight = target.on_logged / log.propensity
        compared.append(Compared(place, estimate_terms(method, weight, log.reward, prediction), weight))
    return compared
