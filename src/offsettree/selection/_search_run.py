"""The run of a policy search: the race, the last training on all rows, and the honest estimate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import is_sparse
from offsettree._messages import Message, Parameter
from offsettree._progress import Progress
from offsettree._validation import as_random_state, check_level, check_truth, is_number, is_whole, warn_caller
from offsettree.base import BasePolicy
from offsettree.evaluation.parts import MODEL_METHODS
from offsettree.exceptions import ParameterError
from offsettree.reductions import check_reward_model
from offsettree.selection._honest_estimate import honest_estimate
from offsettree.selection._outcomes import all_failed_error, new_row, warn_of_left_out, write_reasons
from offsettree.selection._race import Race, expected_work, plan_race
from offsettree.selection._row_split import RowSplit
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._set_log import SetLog
from offsettree.selection._timing import Budget
from offsettree.selection._trials import Log, Scoring, Spread, error_line
from offsettree.selection.candidates import Candidate, prepare_candidates, read_candidates
from offsettree.selection.results import SearchResults

SCORINGS = ("doubly_robust", "snips", "ips", "switch")


def run_search(search: Any, whole: Log, by: tuple[Any, Any], spread: Spread | None) -> None:
    """Run the race of a `PolicySearch`, train the best candidate on all rows, and set the fitted attributes.

    `by` has the group and the time of each row, or None. `spread` runs trials elsewhere, several at once.
    """
    position, reward, over_sets = whole.position, whole.reward, isinstance(whole, SetLog)
    check_parameters(search, len(position))
    budget = Budget(search.time_budget)
    random = as_random_state(search.random_state)
    compared, split = _sample_to_compare_on(search, whole, RowSplit.of(*by, len(position)), random)
    candidates = read_candidates(search.candidates, sparse=is_sparse(whole.X), over_sets=over_sets)
    candidates = prepare_candidates(candidates, search.actions_, whole.reward_range, search.n_jobs, random)
    fold = split.folds(compared.position, search.cv, random)
    rule = Rule.of(float(search.simpler_within), reward)
    in_haste, n_actions = search.time_budget is not None, 0 if over_sets else len(search.actions_)
    rungs = plan_race(fold, random, in_haste=in_haste, is_rare=rule.is_rare, n_actions=n_actions)
    rungs = split.separate(rungs, fold, random)
    scoring = Scoring(search.scoring, search.reward_model, int(random.randint(np.iinfo(np.int32).max)))
    results = SearchResults(new_row(each.name) for each in candidates)
    shares = split.group is None and split.rank is None
    n_rows, level = len(position), search.level
    refits = (n_rows, search._n_later)
    race = Race(candidates, compared, scoring, rule, results, budget, refits, level, shares=shares, spread=spread)
    with Progress(expected_work(len(candidates), rungs)) as progress:
        race.run(rungs, progress)
        search.best_policy_, best = _refit(candidates, race, whole, progress)
        is_shared = race.shared is not None
        write_reasons(results, best)
        warn_of_left_out(results, search.time_budget)
        choice_terms, notes = _choice_terms(search, race, fold, progress, is_forward=split.rank is not None)
    search.best_name_ = candidates[best].name
    favourite = None if race.evidence.favourite is None else candidates[race.evidence.favourite].name
    search.rule_ = rule.describe(favourite, by_predictions=is_shared)
    valued = race.evidence.valued(list(race.active), fold, race.folds)
    split = split.take(np.flatnonzero(race.evidence.is_valued))
    search.estimate_, choices = honest_estimate(
        replace(valued, group=split.group),
        rule,
        search.scoring,
        search.level,
        random,
        choice_terms,
        notes,
    )
    names = [results[place]["name"] for place in race.active]
    search.chosen_by_fold_ = [names[choice] for choice in choices]
    search.results_ = results


def _sample_to_compare_on(
    search: Any, log: Log, split: RowSplit, random: np.random.RandomState
) -> tuple[Log, RowSplit]:
    n_rows = len(log.reward)
    if search.max_rows is None or n_rows <= search.max_rows:
        return log, split
    # Not stratified by action, which would make the propensities wrong.
    rows = np.sort(random.choice(n_rows, search.max_rows, replace=False))
    return log.take(rows), split.take(rows)


def _refit(candidates: list[Candidate], race: Race, log: Log, progress: Progress) -> tuple[BasePolicy, int]:
    """Train the best candidate on all rows or, if that fails, the best of the others."""
    race.remove_unmatched()
    while race.active or race.reinstate_best():
        place = race.choose()
        race.describe(list(race.active))
        if race.shared is not None and race.shared.place == place and log is race.log:
            race.shared.warn()
            return race.shared.policy, place
        progress.begin(f"{race.results[place]['name']}, all {len(log.reward):,} rows")
        try:
            return log.fit(candidates[place].policy), place
        except Exception as error:
            race.remove(place, "failed", "it failed", error_line(error))
    raise all_failed_error(race.results)


def _choice_terms(
    search: Any, race: Race, fold: NDArray[np.intp], progress: Progress, *, is_forward: bool = False
) -> tuple[list[Stack] | None, tuple[str, ...]]:
    """Return the terms to choose by for each fold or, without nested trials, None and a note on the estimate."""
    if not search.nested:
        reason: str = "nested=False"
    elif search.cv == 2:
        reason = "cv=2 leaves no third fold to train on"
    elif is_forward:
        reason = "only the latest rows are held out"
    elif not race.complete(fold, progress):
        reason = Message(Parameter("time_budget", search.time_budget), " s was used up")
    elif len(race.active) > 1:
        found = race.choice_terms(fold, search.n_jobs, progress)
        if not isinstance(found, str):
            return found, ()
        reason = found
    else:
        return None, ()  # no other candidate could have been chosen
    if sum(outcome in ("chosen", "compared", "dropped") for outcome in race.results.column("outcome")) == 1:
        return None, ()  # there was no choice
    text = (
        "The value is somewhat too high on average: the candidate for each fold was chosen by policies trained on "
        f"that fold, because {reason}."
    )
    if search.nested and search.cv > 2:
        warn_caller(f"estimate_: {text}")
    return None, (text,)


def check_parameters(search: Any, n_rows: int) -> None:
    """Refuse wrong settings before anything is trained."""
    if search.max_rows is not None and not (is_whole(search.max_rows) and search.max_rows >= 100):
        raise ParameterError(
            f"max_rows must be None or a whole number of at least 100 rows to compare on; got {search.max_rows!r}."
        )
    n_rows = n_rows if search.max_rows is None else min(n_rows, search.max_rows)
    if not (is_whole(search.cv) and 2 <= search.cv <= n_rows):
        raise ParameterError(
            f"cv must be a whole number of folds, from 2 to the number of rows, {n_rows:,}; got {search.cv!r}."
        )
    check_truth("nested", search.nested)
    if search.scoring not in SCORINGS:
        why = " 'direct' would choose the candidate that agrees with the reward model." * (search.scoring == "direct")
        raise ParameterError(f"scoring must be one of {', '.join(map(repr, SCORINGS))}; got {search.scoring!r}.{why}")
    if search.reward_model is not None and search.scoring in MODEL_METHODS:
        check_reward_model(search.reward_model)
    if not (is_number(search.simpler_within) and 0 <= search.simpler_within < np.inf):
        raise ParameterError(f"simpler_within must be a number of at least 0; got {search.simpler_within!r}.")
    if search.time_budget is not None and not (is_number(search.time_budget) and search.time_budget > 0):
        raise ParameterError(f"time_budget must be None or seconds, more than 0; got {search.time_budget!r}.")
    check_level(search.level)
