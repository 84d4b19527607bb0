"""What goes into a file: the policy in flat arrays or by other means, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import offsettree
from offsettree._fingerprint import Fingerprint
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.facts import Facts
from offsettree.models import Inputs
from offsettree.models.model import Model
from offsettree.online.explorer import Explorer
from offsettree.policy_file._fallbacks import write_other
from offsettree.policy_file.saved import SavedPolicy
from offsettree.reading.cannot_flatten import CannotFlatten
from offsettree.reading.flat import flatten, inputs_of
from offsettree.selection import PolicySearch

# A subclass that has its own of these would decide otherwise once it is loaded.
DECIDES_BY = ("_positions", "predict", "predict_proba", "decide")


@dataclass(frozen=True)
class FileParts:
    """All parts of a file."""

    model: Model | None
    inputs: Inputs
    actions: NDArray[Any]
    about: dict[str, Any]
    encoder: Any
    trained_on: Fingerprint | None
    others: dict[str, bytes] = field(default_factory=dict)


def prepare(
    policy: Any, encoder: Any, facts: Facts | Mapping[str, Any] | None, estimate: Any, fallback: str | None
) -> FileParts:
    """Flatten a policy, or have it written by the means that the caller allows, and gather what is known of it."""
    if isinstance(facts, Facts):
        facts = facts.as_dict()
    if facts is not None and not isinstance(facts, Mapping):
        raise ParameterError(f"facts must be a mapping of names to what is known; got {facts!r:.80}.")
    if encoder is not None and not hasattr(encoder, "to_manifest"):
        raise ParameterError(f"encoder must be a TableEncoder; got {encoder!r:.80}.")
    if isinstance(policy, SavedPolicy):
        return _again(policy, encoder, facts, estimate)
    training: dict[str, Any] = {}
    if isinstance(policy, Explorer):
        training["explored_by"] = {**_learner(policy), "chosen": policy.n_chosen_}
        policy = policy.policy
    if not isinstance(policy, BasePolicy):
        raise ParameterError(
            f"policy must be a fitted policy of this package, such as OffsetTree(); got {policy!r:.80}."
        )
    check_is_fitted(policy)
    about = {"written_by": f"offsettree {offsettree.__version__}", "learner": _learner(policy)}
    trained_on = policy._trained_on
    core = policy
    if isinstance(policy, PolicySearch):
        core = policy.best_policy_
        training["search"] = {
            "chosen": policy.best_name_,
            "chosen_policy": _learner(core),
            "chosen_by_fold": policy.chosen_by_fold_,
            "results": list(policy.results_),
        }
        estimate = policy.estimate_ if estimate is None else estimate
    training |= _training(core)
    about |= {"training": training, "facts": dict(facts or {}), "estimate": estimate}
    actions = np.asarray(policy.actions_)
    try:
        flat = flatten(core, also_alike=DECIDES_BY)
    except CannotFlatten as reason:
        if fallback is None:
            raise PolicyFileError(_no_arrays(core, reason)) from None
        return FileParts(None, inputs_of(core), actions, about, encoder, trained_on, write_other(core, fallback))
    return FileParts(flat.model, flat.inputs, actions, about, encoder, trained_on)


def _again(policy: SavedPolicy, encoder: Any, facts: Mapping[str, Any] | None, estimate: Any) -> FileParts:
    if policy._original is not None:
        raise PolicyFileError("a policy loaded by skops or pickle must be saved from where it was learned.")
    about = {name: policy.manifest.get(name) for name in ("written_by", "learner", "training", "facts", "estimate")}
    if facts is not None:
        about["facts"] = dict(facts)
    if estimate is not None:
        about["estimate"] = estimate
    encoder = policy.encoder if encoder is None else encoder
    return FileParts(policy._model, policy._inputs, policy.actions_, about, encoder, policy._trained_on)


def _learner(learner: BaseEstimator) -> dict[str, Any]:
    parameters = {name: " ".join(repr(value).split()) for name, value in learner.get_params(deep=False).items()}
    return {"class": type(learner).__name__, "parameters": parameters}


def _training(policy: BasePolicy) -> dict[str, Any]:
    """Return what a fitted policy tells of its training."""
    known: dict[str, Any] = {"reward_range": list(policy.reward_range)}
    for name in ("offset_", "leaf_scale_", "oob_value_", "n_rounds_", "n_rows_seen_"):
        value = getattr(policy, name, None)
        if value is not None:
            known[name.rstrip("_")] = value
    tree = getattr(policy, "tree_", None)
    if tree is not None and tree.n_actions <= 1000:
        known["tree"] = str(tree)
    rows = getattr(policy, "node_rows_", None)
    if rows is not None and len(rows) <= 1000:
        known["node_rows"] = rows
    return known


def _no_arrays(policy: BasePolicy, reason: CannotFlatten) -> str:
    return (
        f"{type(policy).__name__} must be made of learners that can be written as plain arrays; {reason} cannot. Use "
        "decision trees, forests, boosting or linear learners; or write scikit-learn's own objects, "
        "save(..., fallback='skops') with the extra skops, and say at loading which types are trusted; or, for files "
        "that never leave your hands, save(..., fallback='pickle') and load(..., allow_pickle=True)."
    )
