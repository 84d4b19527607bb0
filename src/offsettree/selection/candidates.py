"""Policies to choose among, each with a name, in the order in which they are preferred."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._traits import may_pick_columns, takes_missing, takes_nominal
from offsettree._validation import check_range
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import make_learner
from offsettree.reductions import (
    ConstantPolicy,
    DoublyRobust,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
)
from offsettree.reductions._corrections import CorrectionForest

__all__ = [
    "Candidate",
    "default_candidates",
    "lighter",
    "most_tolerant_learner",
    "prepare_candidates",
    "read_candidates",
]

N_TREES_COMPARED = 40  # of a forest: half a percent behind 100, in less than half of the time


class Candidate(NamedTuple):
    """A policy to choose among others, not fitted, and the name by which the table of results knows it."""

    name: str
    policy: BasePolicy


def default_candidates(*, sparse: bool = False) -> list[Candidate]:
    """Return the candidates of ``PolicySearch(candidates="default")``, as (name, policy), the preferred first.

    The best constant action leads: whoever looks at x must be ahead of it. Then comes shared boosting, the best of them
    on average, and the others in the order in which they are preferred. Take some out, or add your own, at the place
    that it deserves: of candidates that the log cannot tell apart, the first is chosen.

    Parameters
    ----------
    sparse : bool, default=False
        For an X that is sparse and wide: linear learners only, where trees would be slow and poor.

    Examples
    --------
    >>> from offsettree.selection import default_candidates
    >>> [name for name, _ in default_candidates(sparse=True)]
    ['constant', 'reward regression, ridge', 'offset tree, logistic', 'offset forest, logistic']
    """
    constant = Candidate("constant", ConstantPolicy())
    ridge = Candidate("reward regression, ridge", RewardRegression(make_learner("ridge", "regressor")))
    contests = OffsetTree(make_learner("logistic"), tree="learned", offset="mean")
    logistic_tree = Candidate("offset tree, logistic", contests)
    if sparse:
        logistic_forest = OffsetForest(make_learner("logistic"), n_trees=10)
        return [constant, ridge, logistic_tree, Candidate("offset forest, logistic", logistic_forest)]
    # Several classes in one model, not a vote of pairs: where actions are many it learns from all rows at once.
    multinomial = ImportanceWeighted(make_learner("logistic"), n_draws=None, all_pairs=False)
    return [
        constant,
        Candidate("policy tree", PolicyTree()),
        Candidate("reward boosting", RewardBoosting()),
        ridge,
        Candidate("doubly robust", DoublyRobust()),
        Candidate("offset forest", OffsetForest()),
        Candidate("importance weighted, logistic", multinomial),
        logistic_tree,
        Candidate("offset tree", OffsetTree(tree="learned", offset="mean")),
    ]


def read_candidates(candidates: Any, *, sparse: bool = False) -> list[Candidate]:
    """Return (name, policy) of each candidate; what a policy alone was given for is named by what it is."""
    if isinstance(candidates, str) and candidates == "default":
        return default_candidates(sparse=sparse)
    if isinstance(candidates, str | BasePolicy) or not hasattr(candidates, "__iter__"):
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
            raise ParameterError(
                f"candidate {name!r} must be an instance, not a class: write {policy.__name__}(), not its name."
            )
        if not isinstance(policy, BasePolicy):
            raise ParameterError(
                f"candidate {name!r} must be a policy of this package, such as OffsetTree(); got {policy!r:.80}. A "
                "pipeline goes inside: OffsetTree(make_pipeline(StandardScaler(), LogisticRegression()))."
            )
        if names.count(name) > 1:
            raise ParameterError(f"candidates must differ by name; {name!r} is there {names.count(name)} times.")
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
    """Return copies with the actions and rewards of the search, and a seed and workers where they have none."""
    seeds = random.randint(np.iinfo(np.int32).max, size=len(candidates)).tolist()
    prepared = []
    for (name, policy), seed in zip(candidates, seeds, strict=True):
        if policy.actions is not None and not np.array_equal(policy.actions, actions):
            raise ParameterError(
                f"candidate {name!r} has actions of its own, {policy.actions!r:.60}; name them for all candidates: "
                "PolicySearch(actions=[...])."
            )
        own = check_range(policy.reward_range)
        if own not in ((0.0, 1.0), reward_range):
            raise ParameterError(
                f"candidate {name!r} has reward_range={own}, and the search {reward_range}. Give it to the search: "
                "PolicySearch(reward_range=(low, high))."
            )
        settings: dict[str, Any] = {"actions": actions, "reward_range": reward_range}
        own_settings = policy.get_params(deep=False)
        defaults = {"random_state": seed, "n_jobs": n_jobs}
        settings |= {key: value for key, value in defaults.items() if own_settings.get(key, "not a parameter") is None}
        prepared.append(Candidate(name, clone(policy).set_params(**settings)))
    return prepared


def lighter(policy: BasePolicy) -> BasePolicy:
    """Return what is compared in place of a candidate: of a forest, fewer trees, which are nearly as good."""
    changes: dict[str, Any] = {}
    if isinstance(policy, OffsetForest) and isinstance(policy.n_trees, int) and policy.n_trees > N_TREES_COMPARED:
        changes = {"n_trees": N_TREES_COMPARED}
    if isinstance(policy, DoublyRobust) and policy.estimator is None:
        changes = {"estimator": CorrectionForest(n_estimators=N_TREES_COMPARED)}
    light: BasePolicy = clone(policy).set_params(**changes)
    return light


def times_lighter(policy: BasePolicy, light: BasePolicy) -> float:
    """Return how many times as long a candidate takes to learn as what is compared in its place."""
    return _n_trees(policy) / _n_trees(light)


def _n_trees(policy: BasePolicy) -> float:
    forest = policy if isinstance(policy, OffsetForest) else policy._learner()
    n_trees = getattr(forest, "n_trees", getattr(forest, "n_estimators", 1))
    return float(n_trees) if isinstance(n_trees, int) else 1.0


def most_tolerant_learner(candidates: list[Candidate]) -> Any:
    """Return the learner that decides what X may hold: what one candidate can take, the others may fail on."""
    learners = [policy._learner() for _, policy in candidates]
    return max(learners, key=lambda each: (may_pick_columns(each), takes_nominal(each), takes_missing(each)))
