"""The choice without a fold, by policies and reward models that never saw it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from offsettree.base import BasePolicy
from offsettree.evaluation._reward_models import Predictions, predict_rewards
from offsettree.evaluation._targets import certain
from offsettree.evaluation._terms import MODEL_METHODS, estimate_terms
from offsettree.selection._comparison import Stack
from offsettree.selection._out_of_fold import Log, decide_in_part

__all__ = ["PairDecisions", "choosers_without_folds", "decide_out_of_pairs", "folds_without_a_candidate"]


@dataclass(frozen=True)
class PairDecisions:
    """What a candidate chose in each row, as learned without the row's fold and one more.

    `chosen` has a line per fold left out as well, of shape (n_folds, n_rows); a line says nothing of its own fold. In
    `failed` are the folds without which it could not be learned.
    """

    chosen: NDArray[np.int32]
    failed: frozenset[int]
    seconds: float
    warnings: tuple[str, ...]


def decide_out_of_pairs(policy: BasePolicy, log: Log, fold: NDArray[np.intp], n_jobs: int | None) -> PairDecisions:
    """Let a copy of the policy per pair of folds learn from the other folds, and decide in these two.

    One policy serves both folds of a pair: in the rows of each it decides for the choice without the other.
    """
    pairs = _pairs(fold)
    parts = Parallel(n_jobs=n_jobs)(delayed(_decide_in_pair)(policy, log, fold, pair) for pair in pairs)
    chosen = np.zeros((int(fold.max()) + 1, len(fold)), dtype=np.int32)
    failed: set[int] = set()
    for pair, (answers, _, _) in zip(pairs, parts, strict=True):
        if answers is None:
            failed.update(pair)
        else:
            _, test, other = _rows(fold, pair)
            chosen[other, test] = answers
    said = dict.fromkeys(text for _, _, texts in parts for text in texts)
    return PairDecisions(chosen, frozenset(failed), sum(seconds for _, seconds, _ in parts), tuple(said))


def folds_without_a_candidate(decisions: list[PairDecisions]) -> list[int]:
    """Return the folds without which no candidate could be learned."""
    return sorted(frozenset.intersection(*(each.failed for each in decisions)))


def choosers_without_folds(
    method: str,
    reward_model: Any,
    log: Log,
    fold: NDArray[np.intp],
    decisions: list[PairDecisions],
    n_jobs: int | None,
    random: np.random.RandomState,
) -> Iterator[Stack]:
    """Return, for each fold, the terms of all candidates as if that fold did not exist; in its own rows they are 0.

    A candidate that cannot be learned without the fold has no terms, and so is not chosen. Reward models are learned
    at once, those of a pair of folds without both; terms are made fold by fold, for they are many.
    """
    predicted: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    if method in MODEL_METHODS:
        predicted = _predict_out_of_pairs(reward_model, log, fold, decisions, n_jobs, random)
    return (_without_fold(each, method, log, fold, decisions, predicted) for each in range(int(fold.max()) + 1))


def _without_fold(
    left_out: int,
    method: str,
    log: Log,
    fold: NDArray[np.intp],
    decisions: list[PairDecisions],
    predicted: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> Stack:
    rows = np.flatnonzero(fold != left_out)
    numerator, counted = np.zeros((2, len(decisions), len(fold)))
    for i, each in enumerate(decisions):
        if left_out in each.failed:
            continue
        weight = (each.chosen[left_out, rows] == log.position[rows]) / log.propensity[rows]
        known = None
        if predicted is not None:
            on_logged, on_policy = predicted
            known = Predictions(on_logged[left_out, rows], on_policy[i, left_out, rows])
        terms = estimate_terms(method, weight, log.reward[rows], known)
        numerator[i, rows], counted[i, rows] = terms.numerator, terms.counted
    return Stack(numerator, counted)


def _predict_out_of_pairs(
    reward_model: Any,
    log: Log,
    fold: NDArray[np.intp],
    decisions: list[PairDecisions],
    n_jobs: int | None,
    random: np.random.RandomState,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rewards predicted for logged actions, by fold left out and row, and for every candidate's."""
    pairs = _pairs(fold)
    # Drawn before the work is dealt out: the result must not depend on who does it.
    seeds = random.randint(np.iinfo(np.int32).max, size=len(pairs)).tolist()
    tasks = []
    for pair, seed in zip(pairs, seeds, strict=True):
        _, test, other = _rows(fold, pair)
        chosen = np.stack([each.chosen[other, test] for each in decisions])
        tasks.append(delayed(_predict_in_pair)(reward_model, log, fold, pair, chosen, seed))
    parts = Parallel(n_jobs=n_jobs)(tasks)
    n_folds = int(fold.max()) + 1
    on_logged = np.zeros((n_folds, len(fold)))
    on_policy = np.zeros((len(decisions), n_folds, len(fold)))
    for pair, (of_logged, of_policies) in zip(pairs, parts, strict=True):
        _, test, other = _rows(fold, pair)
        on_logged[other, test] = of_logged
        on_policy[:, other, test] = of_policies
    return on_logged, on_policy


def _decide_in_pair(
    policy: BasePolicy, log: Log, fold: NDArray[np.intp], pair: tuple[int, int]
) -> tuple[NDArray[np.intp] | None, float, list[str]]:
    train, test, _ = _rows(fold, pair)
    try:
        return decide_in_part(policy, log, train, test)
    except Exception as error:
        text = " ".join(str(error).split())
        return None, 0.0, [f"failed on {len(train):,} of the rows: {type(error).__name__}: {text}"]


def _predict_in_pair(
    reward_model: Any, log: Log, fold: NDArray[np.intp], pair: tuple[int, int], chosen: NDArray[np.int32], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    train, test, _ = _rows(fold, pair)
    n_actions = len(log.actions)
    targets = []
    for answers in chosen:
        everywhere = np.zeros(len(fold), dtype=np.intp)
        everywhere[test] = answers
        targets.append(certain(everywhere, log.position, n_actions))
    random = np.random.RandomState(seed)
    found = predict_rewards(reward_model, log.X, log.position, log.reward, n_actions, targets, [(train, test)], random)
    return found[0].on_logged[test], np.stack([each.on_policy[test] for each in found])


def _pairs(fold: NDArray[np.intp]) -> list[tuple[int, int]]:
    return list(combinations(range(int(fold.max()) + 1), 2))


def _rows(fold: NDArray[np.intp], pair: tuple[int, int]) -> tuple[NDArray[np.intp], ...]:
    """Return the rows outside a pair of folds, those in it, and of each of the latter the fold it is not in."""
    inside = np.isin(fold, pair)
    test = np.flatnonzero(inside)
    return np.flatnonzero(~inside), test, np.where(fold[test] == pair[0], pair[1], pair[0])
