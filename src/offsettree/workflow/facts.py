"""All that is known about a learned policy, gathered in a `Facts`."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import offsettree
from offsettree.evaluation import Estimate, PropensityEstimate
from offsettree.evaluation.estimate import Interval
from offsettree.evaluation.parts import values_by_action
from offsettree.exceptions import OffsetTreeError
from offsettree.facts import (
    ActionFacts,
    CandidateFacts,
    ConstantFacts,
    EstimateFacts,
    Facts,
    FeatureFacts,
    PolicyFacts,
    PropensityFacts,
    RewardFacts,
    RunFacts,
    SourceFacts,
    ValueFacts,
    WeightFacts,
)
from offsettree.logs import LoggedData
from offsettree.topology import ActionTree
from offsettree.workflow.comparison import Comparison
from offsettree.workflow.importance import feature_importance
from offsettree.workflow.learned import Learned
from offsettree.workflow.rules import rule_facts
from offsettree.workflow.verdict import advice, basis, verdict

__all__ = [
    "constant_facts",
    "earned_facts",
    "estimate_facts",
    "facts_in_memory",
    "interval_facts",
    "learned_facts",
    "outcome_facts",
    "policy_facts",
    "propensity_note",
    "tree_facts",
    "versions",
    "whole_log",
]

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pandas")
MOST_IMPORTANT = 40
DEEPEST_TREE = 200  # deeper trees are left out: they cannot be drawn, and many JSON parsers refuse such nesting
# The figures of a warning, and before them what it is about, by number or by name: digits of that are no figures.
ABOUT = r"of action .*? be |column \S+|never (?:took|logged) \(.*?\)|(?<!\w)'[^']*'"
FIGURES = re.compile(rf"({ABOUT})|(?<![\w'-])-?\d[\d.,]*+(?:e[-+]?\d+)?(?![\w'-])")
WIDEST_FOR_IMPORTANCE = 2_000  # columns; shuffling each of more would take too long


def learned_facts(
    learned: Learned, *, path: str, columns: dict[str, Any], notes: Sequence[str] = (), seed: int | None = None
) -> Facts:
    """Return all that is known about a learned policy.

    Parameters
    ----------
    learned : Learned
        The result of `learn_policy`.
    path : str
        The log's file.
    columns : dict
        Which columns were the action, the reward and the propensity.
    notes : list of str, default=()
        Remarks from reading the log.
    seed : int or None, default=None
        The run's seed.
    """
    teacher = learned.teacher
    search: Any = learned.evaluated if teacher is None else teacher
    policy: Any = learned.evaluated if teacher is not None else getattr(search, "best_policy_", search)
    name = getattr(search, "best_name_", type(search).__name__)
    kept = getattr(learned.policy, "best_policy_", learned.policy)
    return facts_in_memory(
        learned,
        search,
        {
            "policy": policy,
            "name": name if teacher is None else f"offset tree distilled from {name}",
            "teacher": None if teacher is None else name,
            "loss": interval_facts(learned.loss),
            "always": _plain(getattr(kept, "action_", None)),
        },
        {"features": _feature_names(learned), "actions": _action_facts(learned)},
        path=path,
        columns=columns,
        notes=[*notes, *learned.notes, *([] if learned.encoder is None else learned.encoder.notes)],
        seed=seed,
        tree=tree_facts(policy, learned.decisions),
        rules=rule_facts(kept, learned.encoder),
        importance=_importance(learned, seed),
    )


def facts_in_memory(
    learned: Learned,
    search: Any,
    policy: dict[str, Any],
    source: dict[str, Any],
    *,
    path: str,
    columns: dict[str, Any],
    notes: list[str],
    seed: int | None,
    **others: Any,
) -> Facts:
    """Return facts with those filled in that do not depend on whether actions are labels or in sets.

    `policy` and `source` have the others of `policy_facts` and `SourceFacts`.
    """
    train, test, estimated = learned.train, learned.test, learned.propensity
    rewards = np.concatenate([train.reward, test.reward])
    notes = notes if estimated is None else [*notes, propensity_note(estimated)]
    return outcome_facts(
        learned.compared,
        "training rows",
        title=f"{columns['action']} of {path}" if columns.get("action") else path,
        log=SourceFacts(
            path=path,
            rows=len(rewards),
            train_rows=len(train),
            test_rows=len(test),
            columns=columns,
            reward=RewardFacts(min=rewards.min().item(), max=rewards.max().item(), mean=rewards.mean().item()),
            reward_range=list(learned.reward_range),
            notes=list(dict.fromkeys(notes)),
            **source,
        ),
        propensity=None if estimated is None else _propensity_facts(estimated),
        policy=policy_facts(
            **policy,
            rows=len(rewards) if learned.refit else len(train),
            refit=learned.refit,
            seconds=learned.seconds,
        ),
        candidates=_candidate_facts(search),
        rule=getattr(search, "rule_", None),
        weights=_weight_facts(test, learned.decisions),
        warnings=_each_once(learned.warnings, learned.compared.warnings),
        reproduce=RunFacts(command="", seed=seed, versions=versions()),
        **others,
    )


def _each_once(first: Sequence[str], then: Sequence[str]) -> list[str]:
    """Return both lists without what the second repeats, be it of other rows, with other figures."""
    said = {FIGURES.sub(r"\1", text) for text in first}
    return list(dict.fromkeys([*first, *(text for text in then if FIGURES.sub(r"\1", text) not in said)]))


def outcome_facts(compared: Comparison, picked_on: str, **others: Any) -> Facts:
    """Return facts with those of an evaluation filled in; `picked_on` says where the constant action was picked."""
    advised = advice(compared)
    return Facts(
        created=datetime.now(UTC).date().isoformat(),
        version=offsettree.__version__,
        verdict=verdict(compared.estimate, compared),
        basis=basis(compared.estimate),
        conclusion=advised.sentence,
        use=advised.use,
        is_better=advised.is_better,
        estimate=estimate_facts(compared.estimate),
        constant=constant_facts(compared, picked_on),
        **others,
    )


def estimate_facts(estimate: Estimate) -> EstimateFacts:
    """Return an estimate as a record."""
    known = {each.name: getattr(estimate, each.name) for each in fields(estimate)}
    known |= {name: interval_facts(known[name]) for name in ("baseline", "difference")}
    return EstimateFacts(**known | {name: list(known[name]) for name in ("warnings", "serious")})


def interval_facts(interval: Interval | None) -> ValueFacts | None:
    """Return a value and its interval as a record."""
    if interval is None:
        return None
    return ValueFacts(value=interval.value, stderr=interval.stderr, low=interval.low, high=interval.high)


def constant_facts(compared: Comparison, picked_on: str) -> ConstantFacts:
    """Return the value of the best constant action, and the policy's gain over it."""
    constant = compared.constant
    return ConstantFacts(
        action=compared.action,
        popular=True if compared.among else None,
        picked_on=picked_on,
        **{name: getattr(constant, name) for name in ("value", "stderr", "low", "high")},
        difference=interval_facts(constant.difference),
        gain=interval_facts(compared.gain),
        same=compared.same,
        doubts=list(compared.doubts),
    )


def policy_facts(policy: Any, **others: Any) -> PolicyFacts:
    """Return the class and the settings of a policy, beside the other fields of `PolicyFacts`."""
    parameters = {name: _short(value) for name, value in policy.get_params(deep=False).items()}
    return PolicyFacts(learner=type(policy).__name__, parameters=parameters, **others)


def propensity_note(found: PropensityEstimate) -> str:
    """Say that propensities were estimated, and how well."""
    calibration_error = np.abs(found.calibration[:, 0] - found.calibration[:, 1]).max()
    return (
        f"The propensities were estimated from the features, not recorded. Log loss {found.log_loss:.3f}; "
        f"{found.constant_log_loss:.3f} by the actions' frequencies alone. Calibration error at most "
        f"{100 * calibration_error:.1f} percentage points in any tenth of the predictions. {found.n_clipped:,} were "
        f"raised to {found.clip:.3g}. Values are right only if the features include all that the logged choice "
        "depended on."
    )


def _propensity_facts(found: PropensityEstimate) -> PropensityFacts:
    """Return the report on estimated propensities as a record."""
    known = {name: getattr(found, name) for name in ("log_loss", "constant_log_loss", "clip", "n_clipped")}
    return PropensityFacts(estimated=True, calibration=found.calibration.tolist(), **known)


def _action_facts(learned: Learned) -> list[ActionFacts]:
    """Return each action's value if always taken, its share of the log, and the policy's share of it."""
    action, reward, propensity = whole_log(learned)
    labels, position = np.unique(action, return_inverse=True)
    n_rows = np.bincount(position, minlength=len(labels))
    values = values_by_action(position, reward, propensity, len(labels), learned.known_range)
    chosen = dict(zip(*np.unique(learned.decisions, return_counts=True), strict=True))
    return [
        ActionFacts(
            label=label.item(),
            rows=int(n_rows[i]),
            share=float(n_rows[i] / len(action)),
            **earned_facts(values[i]),
            policy_share=float(chosen.get(label, 0) / len(learned.decisions)),
        )
        for i, label in enumerate(labels)
    ]


def whole_log(learned: Learned) -> list[NDArray[Any]]:
    """Return actions, rewards and propensities of training and held-out rows."""
    columns = ("action", "reward", "propensity")
    return [np.concatenate([getattr(learned.train, each), getattr(learned.test, each)]) for each in columns]


def earned_facts(earned: Interval | None) -> dict[str, float | None]:
    """Return an action's mean reward with its ends; None where they are not known."""
    if earned is None:
        return {}
    ends = {"low": earned.low, "high": earned.high}
    return {"mean_reward": earned.value} | {name: end if np.isfinite(end) else None for name, end in ends.items()}


def tree_facts(policy: Any, decisions: NDArray[Any]) -> dict[str, Any] | None:
    """Return the tree over actions (of a forest, the first) with the held-out rows that each contest decided.

    A contest's `rows` are the held-out rows whose decision is an action below it; its `strength` is the share of them
    that its stronger side won.
    """
    tree = getattr(policy, "tree_", None)
    members = getattr(policy, "estimators_", None)
    if tree is None and members is not None and len(members):
        tree = getattr(members[0], "tree_", None)
    # scikit-learn's tree regressors have a `tree_` too, which is not over actions.
    if not isinstance(tree, ActionTree) or tree.height[0] > DEEPEST_TREE:
        return None
    count = dict(zip(*np.unique(decisions, return_counts=True), strict=True))
    facts: dict[int, dict[str, Any]] = {}
    won: dict[int, int] = {}
    for node in tree.bottom_up():
        sides = []
        for child in (int(tree.left[node]), int(tree.right[node])):
            if child < 0:
                label = policy.actions_[~child]
                facts[child], won[child] = {"action": label.item()}, int(count.get(label, 0))
            sides.append(child)
        left, right = sides
        won[node] = won[left] + won[right]
        strength = max(won[left], won[right]) / won[node] if won[node] else 0.0
        facts[node] = {"left": facts[left], "right": facts[right], "rows": won[node], "strength": strength}
    return facts[0]


def _weight_facts(test: LoggedData, decisions: NDArray[Any]) -> WeightFacts | None:
    """Return the histogram of the importance weights of some decisions."""
    weight = 1 / test.propensity[test.action == decisions]
    if len(weight) == 0:
        return None
    low, high = weight.min(), weight.max()
    edges = np.geomspace(low, high, 21) if high > low else np.array([low * 0.99, low * 1.01])
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    counts, _ = np.histogram(weight, edges)
    top = np.sort(weight)[-max(1, len(weight) // 100) :]
    share = float(top.sum() / weight.sum())
    return WeightFacts(edges=edges.tolist(), counts=counts.tolist(), top_percent_share=share)


def _candidate_facts(policy: Any) -> list[CandidateFacts]:
    """Return the candidates of a search; none of another policy."""
    names = [each.name for each in fields(CandidateFacts)]
    rows = getattr(policy, "results_", [])
    return [CandidateFacts(**{name: _plain(row.get(name)) for name in names}) for row in rows]


def _importance(learned: Learned, seed: int | None) -> list[FeatureFacts]:
    if learned.held_out.shape[1] > WIDEST_FOR_IMPORTANCE:
        return []
    origin = None if learned.encoder is None else learned.encoder.origin
    names = _feature_names(learned)
    try:
        found = feature_importance(learned.policy, learned.held_out, names, origin, seed)
    except OffsetTreeError:  # the policy does not accept shuffled rows
        return []
    return found[:MOST_IMPORTANT]


def _feature_names(learned: Learned) -> list[str]:
    if learned.encoder is not None:
        return list(learned.encoder.names_in)
    return [f"x{i}" for i in range(learned.held_out.shape[1])]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results may depend on."""
    versions = {"python": platform.python_version(), "offsettree": offsettree.__version__}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _short(value: Any, most: int = 120) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."
