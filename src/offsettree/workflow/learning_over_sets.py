"""Learn a policy from a log with action sets, with an estimate of its value on held-out rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone

from offsettree._features import is_sparse
from offsettree._messages import Parameter
from offsettree.actions import ActionPolicy, LabelledActions, PopularAction
from offsettree.evaluation import PropensityEstimate
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs import ActionSets, LoggedData
from offsettree.registry import POLICIES
from offsettree.selection import PolicySearch, default_candidates
from offsettree.workflow.comparison import compare_over_sets
from offsettree.workflow.holdout import hold_out
from offsettree.workflow.leaks import find_leaks
from offsettree.workflow.learned import Learned
from offsettree.workflow.learners import make_policy
from offsettree.workflow.learning import (
    check_sizes,
    evaluation_settings,
    fit_policy,
    known_range,
    range_of,
    refuse_single_action,
    with_estimated_propensity,
)

__all__ = ["learn_over_sets"]

MOST_PAIRS_FOR_MODELS = 2_000_000  # beyond so many held-out pairs, reward models cost much time
MOST_LABELS = 200
# Those that learn of an action without features by its id.
ONLY_IDS = ("popular-action", "online-action-regression", "online-action-offset-tree")
# Of policies over labels, those that are tried beside policies over features.
BESIDE_FEATURES = ("reward boosting", "reward regression, ridge")


def learn_over_sets(
    log: LoggedData,
    *,
    learner: str | ActionPolicy = "auto",
    labels: bool = False,
    base: str | None = None,
    offset: float | str | None = None,
    test_size: float = 0.3,
    split_by_time: Any = None,
    group: Any = None,
    refit: bool = True,
    estimated_propensity: bool = False,
    reward_range: tuple[float, float] | None = None,
    method: str | None = None,
    interval: str | None = None,
    level: float = 0.95,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> Learned:
    """Do as `learn_policy`, on a log with a set of eligible actions per row.

    Parameters
    ----------
    log : LoggedData
        The log, with action sets.
    learner : str or policy, default="auto"
        A name of `LEARNERS`, or an unfitted policy of your own. "auto" is a search among the most popular action, the
        policies over actions with features and, where the same actions come again and again, policies over labels.
        A learner over labels takes the sets as masks.
    labels : bool, default=False
        Let "auto" try policies over labels only.
    base, offset
        As in `make_policy`.
    estimated_propensity : bool, default=False
        Estimate the propensities from the features and the eligible actions, in the place of those of the log.
    test_size, split_by_time, group, refit, reward_range, interval, level, time_budget, n_jobs, random_state
        As in `learn_policy`; `split_by_time` and `group` have a value per row.
    method : str, optional
        Of `evaluate`; by default "doubly_robust", and "snips" where very many pairs are held out or for "bernstein"
        intervals.

    Examples
    --------
    >>> from offsettree import simulate_catalogue
    >>> log = simulate_catalogue(2000, 50, 5, random_state=0).log
    >>> learned = learn_over_sets(log, learner="action-regression", base="ridge", random_state=0)
    >>> bool(learned.estimate.value > learned.estimate.baseline.value)
    True
    """
    sets = _sets_of(log)
    check_sizes(level, test_size)
    refuse_single_action(log)
    used_range = reward_range or range_of(log.reward.min(), log.reward.max())
    shared = {"reward_range": used_range, "n_jobs": n_jobs, "random_state": random_state}
    given = {"base": base, "offset": offset, "time_budget": time_budget}
    policy = _policy_for(learner, log, given, shared, labels=labels)
    held = hold_out(log, test_size, split_by_time, group, random_state)
    estimated: PropensityEstimate | None = None
    if estimated_propensity:
        log, estimated = with_estimated_propensity(log.X, log.columns, random_state, sets)
    train, test = log[held.train], log[held.test]
    doubts = [*find_leaks(log.X, log.action, log.reward), *(() if estimated is None else estimated.warnings)]
    started = time.perf_counter()
    warnings = fit_policy(policy, train, held, len(log) if refit else 0)
    seconds = time.perf_counter() - started
    held_sets = _sets_of(test)
    decisions = policy.predict(test.X, held_sets)
    popular = PopularAction(reward_range=used_range).fit(**train.arrays()).predict(test.X, held_sets)
    known = known_range(log, reward_range, used_range)
    method = method or _default_method(held_sets, interval)
    settings = evaluation_settings(held, method, interval, level, known, random_state)
    compared = compare_over_sets(decisions, popular, test, **settings).doubted(doubts)
    kept = policy
    if refit:
        kept = clone(getattr(policy, "best_policy_", policy))
        warnings += [text for text in fit_policy(kept, log) if text not in warnings]
    notes = list(held.notes)
    if not _has_features(sets):
        notes.append("The actions have no features: they are learned about one by one, and sets are masks.")
    return Learned(
        policy=kept,
        encoder=None,
        evaluated=policy,
        train=train,
        test=test,
        test_encoder=None,
        compared=compared,
        decisions=decisions,
        held_out=test.X,
        reward_range=used_range,
        known_range=known,
        propensity=estimated,
        seconds=seconds,
        refit=refit,
        notes=notes,
        warnings=[*doubts, *warnings],
    )


def _has_features(sets: ActionSets) -> bool:
    """Return whether anything is known of the actions beside their ids."""
    return sets.n_item_features + sets.n_pair_features > 0


def _is_stable(sets: ActionSets) -> bool:
    """Return whether the same few actions come again and again, so that each can be learned about by itself."""
    half = sets.starts[len(sets) // 2]
    first, second = np.unique(sets.ids[:half]), np.unique(sets.ids[half:])
    return len(first) <= MOST_LABELS and np.array_equal(first, second)


def _sets_of(log: LoggedData) -> ActionSets:
    if log.action_sets is None:
        raise LogError("the log must have action sets, the eligible actions of each row; it has none.")
    return log.action_sets


def _policy_for(
    learner: Any, log: LoggedData, settings: dict[str, Any], shared: dict[str, Any], *, labels: bool
) -> Any:
    if isinstance(learner, ActionPolicy):
        return learner
    entry = POLICIES.get(learner) if isinstance(learner, str) else None
    if entry is None or entry.online:
        raise ParameterError(
            f"the learner for action sets must be one of {', '.join(_learners())}; got {learner!r}. Those that learn "
            "online from labels take no sets."
        )
    made = make_policy(learner, **settings, **shared)
    if isinstance(made, PolicySearch):
        return made.set_params(candidates=_candidates(log, labels=labels))
    sets = _sets_of(log)
    if not entry.over_sets:
        return LabelledActions(made)
    if not _has_features(sets) and learner not in ONLY_IDS:
        raise ParameterError(
            "the actions of the log have no features, which ", Parameter("learner", learner), " needs. Give them, ",
            Parameter("items", option="actions"), ", or use popular-action or a learner over labels, such as "
            "reward-boosting.",
        )  # fmt: skip
    return made


def _learners() -> list[str]:
    return [name for name, entry in POLICIES.known.items() if not entry.online]


def _candidates(log: LoggedData, *, labels: bool) -> list[Any]:
    """Return the candidates that suit a log."""
    sets, sparse = _sets_of(log), is_sparse(log.X) or is_sparse(log.action_sets.pairs if log.action_sets else None)
    features = _has_features(sets) and not labels
    found = [
        each for each in default_candidates(sparse=sparse, over_sets=True) if features or each.name == "most popular"
    ]
    if sparse and features and not any(each.name == "most popular" for each in found):
        found.insert(0, next(each for each in default_candidates(over_sets=True) if each.name == "most popular"))
    if not features or _is_stable(sets):
        found += [
            each._replace(name=f"labels: {each.name}")
            for each in default_candidates(sparse=is_sparse(log.X))
            if each.name != "constant" and (not features or each.name in BESIDE_FEATURES)
        ]
    return found


def _default_method(sets: ActionSets, interval: str | None) -> str:
    return "doubly_robust" if len(sets.ids) <= MOST_PAIRS_FOR_MODELS and interval != "bernstein" else "snips"
