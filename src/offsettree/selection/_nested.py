"""Nested selection: the terms to choose by for a fold, of policies and reward models that never saw the fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._workers import parallel
from offsettree.base import BasePolicy
from offsettree.selection._rule import Stack
from offsettree.selection._trials import Log, Part, Scoring, Spread, Trial, run_trial


@dataclass(frozen=True)
class PairTrials:
    """The terms to choose by for each fold; seconds spent and warnings issued, by candidate."""

    stacks: list[Stack]
    seconds: dict[int, float]
    warnings: dict[int, tuple[str, ...]]


def run_pair_trials(
    policies: Mapping[int, BasePolicy],
    is_constant: NDArray[np.bool_],
    log: Log,
    fold: NDArray[np.intp],
    scoring: Scoring,
    n_jobs: int | None,
    spread: Spread | None = None,
) -> PairTrials:
    """Train copies of the policies without each pair of folds, and value their decisions in these two.

    One trial serves both folds of a pair: the terms in each fold's rows are used to choose for the other. Terms are 0
    in the rows of the fold to choose for. A candidate whose training failed without a pair has no terms for either
    fold, so it is not chosen there. If that leaves no candidate for some fold, there are no terms at all.
    """
    n_folds = int(fold.max()) + 1
    pairs = list(combinations(range(n_folds), 2))
    parts = [_part(fold, pair) for pair in pairs]
    jobs = [(dict(policies), log, part, scoring) for part in parts]
    here = parallel(n_jobs=n_jobs)
    found = here(delayed(run_trial)(*job) for job in jobs) if spread is None else spread(run_trial, jobs)
    numerator, counted = np.zeros((2, n_folds, len(policies), len(fold)))
    seconds = dict.fromkeys(policies, 0.0)
    texts: dict[int, dict[str, None]] = {place: {} for place in policies}
    failed = np.zeros((n_folds, len(policies)), dtype=bool)
    for pair, (train, test), trials in zip(pairs, parts, found, strict=True):
        other = np.where(fold[test] == pair[0], pair[1], pair[0])
        for i, place in enumerate(policies):
            trial: Trial = trials[place]
            seconds[place] += trial.seconds
            texts[place] |= dict.fromkeys(trial.warnings)
            if trial.terms is None:
                failed[list(pair), i] = True
                texts[place][f"failed on {len(train):,} of the rows: {trial.error}"] = None
            else:
                numerator[other, i, test], counted[other, i, test] = trial.clipped, trial.terms.counted
    numerator[failed], counted[failed] = 0.0, 0.0
    stacks = [Stack(*each, is_constant) for each in zip(numerator, counted, strict=True)]
    if failed.all(axis=1).any():
        stacks = []
    return PairTrials(stacks, seconds, {place: tuple(each) for place, each in texts.items()})


def _part(fold: NDArray[np.intp], pair: tuple[int, int]) -> Part:
    inside = np.isin(fold, pair)
    return np.flatnonzero(~inside), np.flatnonzero(inside)
