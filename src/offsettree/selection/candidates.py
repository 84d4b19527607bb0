"""Policies to choose among, each with a name, from the simplest to the most elaborate."""

from __future__ import annotations

from typing import Any

from offsettree._traits import may_pick_columns, takes_missing, takes_nominal
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import make_learner
from offsettree.reductions import ImportanceWeighted, OffsetForest, OffsetTree, RewardRegression

__all__ = ["default_candidates", "most_tolerant_learner", "read_candidates"]

Candidates = list[tuple[str, BasePolicy]]


def default_candidates(*, sparse: bool = False) -> Candidates:
    """Return the candidates of ``PolicySearch(candidates="default")``, as (name, policy), the simplest first.

    Take some out, or add your own, at the place that its simplicity deserves: of candidates that the log cannot tell
    apart, the first is chosen.

    Parameters
    ----------
    sparse : bool, default=False
        For an X that is sparse and wide: linear learners only, where trees would be slow and poor.

    Examples
    --------
    >>> from offsettree.selection import default_candidates
    >>> [name for name, _ in default_candidates(sparse=True)]
    ['reward regression, ridge', 'offset tree, logistic', 'offset forest, logistic']
    """
    ridge = ("reward regression, ridge", RewardRegression(make_learner("ridge", "regressor")))
    logistic_tree = ("offset tree, logistic", OffsetTree(make_learner("logistic"), tree="learned", offset="mean"))
    logistic_forest = ("offset forest, logistic", OffsetForest(make_learner("logistic"), n_trees=10))
    if sparse:
        return [ridge, logistic_tree, logistic_forest]
    extra_trees = make_learner("extra-trees", "regressor").set_params(extratreesregressor__min_samples_leaf=3)
    voters = make_learner("extra-trees").set_params(extratreesclassifier__min_samples_leaf=3)
    return [
        ridge,
        ("offset tree", OffsetTree(tree="learned", offset="mean")),
        logistic_tree,
        ("offset forest", OffsetForest()),
        ("reward regression, extra-trees", RewardRegression(extra_trees)),
        ("importance weighted, extra-trees", ImportanceWeighted(voters, n_draws=None, all_pairs=False)),
        ("reward regression, boosting", RewardRegression(make_learner("boosting", "regressor"))),
        logistic_forest,
    ]


def read_candidates(candidates: Any, *, sparse: bool = False) -> Candidates:
    """Return (name, policy) of each candidate; what a policy alone was given for is named by what it is."""
    if isinstance(candidates, str) and candidates == "default":
        return default_candidates(sparse=sparse)
    if isinstance(candidates, str | BasePolicy) or not hasattr(candidates, "__iter__"):
        raise ParameterError(
            f"candidates must be 'default', or a list of policies or of pairs (name, policy); got {candidates!r:.80}."
        )
    pairs = list(candidates.items()) if hasattr(candidates, "items") else [_as_pair(each) for each in candidates]
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


def _as_pair(candidate: Any) -> tuple[str, Any]:
    if isinstance(candidate, tuple | list):
        if len(candidate) != 2 or not isinstance(candidate[0], str):
            raise ParameterError(f"a candidate must be a policy or a pair (name, policy); got {candidate!r:.80}.")
        return candidate[0], candidate[1]
    return " ".join(repr(candidate).split()), candidate


def most_tolerant_learner(candidates: Candidates) -> Any:
    """Return the learner that decides what X may hold: what one candidate can take, the others may fail on."""
    learners = [policy._learner() for _, policy in candidates]
    return max(learners, key=lambda each: (may_pick_columns(each), takes_nominal(each), takes_missing(each)))
