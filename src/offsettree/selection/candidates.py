"""The candidates of a search: named policies, in order of preference."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from offsettree._traits import may_pick_columns, takes_missing, takes_nominal
from offsettree._validation import check_range, warn_caller
from offsettree.actions import ActionPolicy, LabelledActions
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import make_learner
from offsettree.reductions import CorrectionForest, DoublyRobust, OffsetForest, RewardBoosting
from offsettree.registry import POLICIES

__all__ = [
    "Candidate",
    "default_candidates",
    "early_copy",
    "light_copy",
    "most_tolerant_learner",
    "n_parts",
    "prepare_candidates",
    "read_candidates",
]

N_TREES_COMPARED = 40  # of a forest: half a percent worse than 100, in less than half of the time
N_FOLDS_EARLY = 3  # of reward boosting, trained on a small part of the log


class Candidate(NamedTuple):
    """An unfitted policy, and its name in the results."""

    name: str
    policy: Any


def default_candidates(*, sparse: bool = False, over_sets: bool = False) -> list[Candidate]:
    """Return the candidates of ``PolicySearch(candidates="default")``, as (name, policy), in order of preference.

    The best constant action comes first: others must beat it. Remove some, or insert your own where they belong: with
    `simpler_within`, the first of nearly equal candidates is chosen. Those that other packages have registered (see
    `register_policy`) come where their rank puts them, by default last.

    Parameters
    ----------
    sparse : bool, default=False
        For a sparse and wide X: linear learners only, as trees would be slow and poor.
    over_sets : bool, default=False
        Those for logs with action sets.

    Examples
    --------
    >>> from offsettree.selection import default_candidates
    >>> [name for name, _ in default_candidates(sparse=True)]
    ['constant', 'reward regression, ridge', 'offset tree, logistic', 'offset forest, logistic']
    """
    POLICIES.load_beside()
    known = [entry for entry in POLICIES.known.values() if entry.over_sets == over_sets]
    offered = [(each, entry) for entry in known for each in entry.candidates]
    candidates = []
    for each, entry in sorted(offered, key=lambda offer: offer[0].rank):
        if each.sparse if sparse else each.dense:
            try:
                learner = None if each.base is None or entry.base is None else make_learner(each.base, entry.base)
                candidates.append(Candidate(each.name, entry.make(learner, **each.settings)))
            except Exception as error:  # another package's candidate must not break the search for everybody
                if isinstance(entry.target, str):
                    raise
                warn_caller(f"the candidate {each.name!r} of {entry.target!r} is left out: it cannot be made; {error}")
    return candidates


def read_candidates(candidates: Any, *, sparse: bool = False, over_sets: bool = False) -> list[Candidate]:
    """Return (name, policy) of each candidate; a policy without a name is named by its repr.

    With `over_sets`, a policy over labels is one among action sets.
    """
    if isinstance(candidates, str) and candidates == "default":
        return default_candidates(sparse=sparse, over_sets=over_sets)
    if isinstance(candidates, str | BasePolicy | ActionPolicy) or not hasattr(candidates, "__iter__"):
        raise ParameterError(
            f"candidates must be 'default', or a list of policies or of pairs (name, policy); got {candidates!r:.80}."
        )
    given = candidates.items() if hasattr(candidates, "items") else candidates
    pairs = [_as_candidate(each) for each in given]
    if not pairs:
        raise ParameterError("candidates must name at least one policy; the list is empty.")
    names = [name for name, _ in pairs]
    for name, policy in pairs:
        if isinstance(policy, type):
            raise ParameterError(f"candidate {name!r} must be an instance, not a class: write {policy.__name__}().")
        if over_sets and isinstance(policy, ActionPolicy):
            continue
        if isinstance(policy, ActionPolicy):
            raise ParameterError(
                f"candidate {name!r} is for logs with action sets, and this one has none: pass action_sets=ActionSets("
                "...) to fit, or take it out."
            )
        if not isinstance(policy, BasePolicy):
            raise ParameterError(
                f"candidate {name!r} must be a policy of this package, such as OffsetTree(); got {policy!r:.80}. A "
                "pipeline goes inside: OffsetTree(make_pipeline(StandardScaler(), LogisticRegression()))."
            )
        if names.count(name) > 1:
            raise ParameterError(f"candidates must have different names; {name!r} occurs {names.count(name)} times.")
    if over_sets:
        return [
            Candidate(name, policy if isinstance(policy, ActionPolicy) else LabelledActions(policy))
            for name, policy in pairs
        ]
    return pairs


def _as_candidate(candidate: Any) -> Candidate:
    if isinstance(candidate, tuple | list):
        if len(candidate) != 2 or not isinstance(candidate[0], str):
            raise ParameterError(f"a candidate must be a policy or a pair (name, policy); got {candidate!r:.80}.")
        return Candidate(*candidate)
    return Candidate(" ".join(repr(candidate).split()), candidate)


def prepare_candidates(
    candidates: list[Candidate],
    actions: NDArray[Any],
    reward_range: tuple[float, float],
    n_jobs: int | None,
    random: np.random.RandomState,
) -> list[Candidate]:
    """Return copies with the search's actions and reward range, and a seed and `n_jobs` unless they have their own."""
    seeds = random.randint(np.iinfo(np.int32).max, size=len(candidates)).tolist()
    prepared = []
    for (name, policy), seed in zip(candidates, seeds, strict=True):
        inner = policy.policy if isinstance(policy, LabelledActions) else policy
        settings: dict[str, Any] = {"reward_range": reward_range}
        if not isinstance(policy, ActionPolicy):
            if policy.actions is not None and not np.array_equal(policy.actions, actions):
                raise ParameterError(
                    f"candidate {name!r} must not have its own actions; got {policy.actions!r:.60}. Give them to the "
                    "search: PolicySearch(actions=[...])."
                )
            settings["actions"] = actions
        own = check_range(inner.reward_range)
        if own not in ((0.0, 1.0), reward_range):
            raise ParameterError(
                f"candidate {name!r} must have the search's reward_range, {reward_range}; got {own}. Give it to the "
                "search: PolicySearch(reward_range=(low, high))."
            )
        known = inner.get_params(deep=False)
        defaults = {"random_state": seed, "n_jobs": n_jobs}
        settings |= {key: value for key, value in defaults.items() if known.get(key, "not a parameter") is None}
        made = clone(inner).set_params(**settings)
        prepared.append(Candidate(name, LabelledActions(made) if inner is not policy else made))
    return prepared


def light_copy(policy: BasePolicy) -> BasePolicy:
    """Return a cheaper copy to compare in place of a candidate, nearly as good.

    Forests have fewer trees. Logistic regressions have the same optimum by Newton's method: columns that are not
    centred take L-BFGS up to a thousand steps.
    """
    changes: dict[str, Any] = {
        f"{name}__solver": "newton-cg"
        for name, each in policy.get_params(deep=True).items()
        if isinstance(each, LogisticRegression) and each.solver == "lbfgs"
    }
    if isinstance(policy, OffsetForest) and isinstance(policy.n_trees, int) and policy.n_trees > N_TREES_COMPARED:
        changes["n_trees"] = N_TREES_COMPARED
    if isinstance(policy, DoublyRobust) and policy.estimator is None:
        changes["estimator"] = CorrectionForest(n_estimators=N_TREES_COMPARED)
    light: BasePolicy = clone(policy).set_params(**changes)
    return light


def early_copy(policy: BasePolicy) -> BasePolicy:
    """Return a still cheaper copy to train on a small part of the log: reward boosting with fewer folds."""
    if not isinstance(policy, RewardBoosting) or policy.n_folds != "auto":
        return policy
    early: BasePolicy = clone(policy).set_params(n_folds=N_FOLDS_EARLY)
    return early


def cost_ratio(policy: BasePolicy, light: BasePolicy) -> float:
    """Return how many times as long a candidate takes to train as its light copy."""
    return _n_trees(policy) / _n_trees(light)


def n_parts(policy: Any, n_rows: int) -> int:
    """Return in how many parts a policy trains, each of which takes time in proportion to the rows."""
    return policy._folds(n_rows) if isinstance(policy, RewardBoosting) else 1


def _n_trees(policy: Any) -> float:
    if isinstance(policy, ActionPolicy):
        return 1.0
    forest = policy if isinstance(policy, OffsetForest) else policy._learner()
    n_trees = getattr(forest, "n_trees", getattr(forest, "n_estimators", 1))
    return float(n_trees) if isinstance(n_trees, int | np.integer) else 1.0


def most_tolerant_learner(candidates: list[Candidate]) -> Any:
    """Return the learner that accepts most kinds of X; candidates that cannot take an X fail one by one."""
    learners = [policy._learner() for _, policy in candidates]
    return max(learners, key=lambda each: (may_pick_columns(each), takes_nominal(each), takes_missing(each)))
