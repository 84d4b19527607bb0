"""Evaluation of policy files and of constant actions on a log file."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.actions import LabelledActions, PopularAction
from offsettree.cli._action_sets import policy_sets
from offsettree.cli._options import column_types, log_arguments
from offsettree.cli._policy_text import mapping
from offsettree.cli._row_encoder import encoder_for
from offsettree.encoding import TableEncoder
from offsettree.evaluation import Estimate, evaluate
from offsettree.evaluation.parts import MODEL_METHODS, diagnostics
from offsettree.exceptions import ActionError, OffsetTreeWarning
from offsettree.facts import Facts, SourceFacts
from offsettree.learners import make_learner
from offsettree.logs import LogColumns, LoggedData, read_columns
from offsettree.workflow.comparison import (
    Comparison,
    best_constant,
    compare_over_sets,
    compare_with_constant,
    range_seen,
    with_doubts,
)
from offsettree.workflow.facts import propensity_note
from offsettree.workflow.holdout import group_codes
from offsettree.workflow.leaks import find_leaks
from offsettree.workflow.learning import with_estimated_propensity
from offsettree.workflow.set_facts import popular_of

ROLES = ("action", "reward", "propensity")
SAME = 1e-12


@dataclass(frozen=True)
class Contender:
    """A policy file or a constant action, with the log encoded for it."""

    name: str  # the path or the action's label, as given on the command line
    policy: Any  # None for a constant action
    decisions: NDArray[Any]  # in each row of the log
    log: LoggedData
    notes: list[str]  # from reading the log
    doubts: list[str]  # reasons not to trust any verdict: leaks of the outcome, poorly estimated propensities
    group: NDArray[np.intp] | None  # of each row; None if rows are independent

    @property
    def described(self) -> str:
        """The name for use in a sentence."""
        return f"always {self.name!r}" if self.policy is None else self.name


class _Rows(NamedTuple):
    """The last four fields of a `Contender`, from reading the log for it."""

    log: LoggedData
    notes: list[str]
    doubts: list[str]
    group: NDArray[np.intp] | None


def contenders(given: list[str], loaded: dict[str, Any], options: argparse.Namespace) -> list[Contender]:
    """Read the log once per policy, and find the given names that are none among the labels of its actions."""
    found: dict[str, Contender] = {}
    for name, policy in loaded.items():
        known = Facts.read(policy.manifest.get("facts")).log
        sets = policy_sets(options, options.log, known.sets if policy_takes_sets(policy) else None)
        if sets is not None:
            found[name] = _among_sets(name, policy, known, sets, options)
            continue
        rows = _read_for(policy, Path(name), options)
        found[name] = Contender(name, policy, policy.predict(rows.log.X), *rows)
    labels = [name for name in given if name not in loaded]
    if labels:
        first = next(iter(found.values()), None)
        rows = _read_alone(options) if first is None else _Rows(first.log, first.notes, first.doubts, first.group)
        for name in labels:
            if rows.log.action_sets is not None:
                found[name] = _constant_among_sets(name, rows, options)
                continue
            label = find_label(name, rows.log.actions, options.log)
            found[name] = Contender(name, None, np.full(len(rows.log), label, dtype=rows.log.action.dtype), *rows)
    return [found[name] for name in given]


def policy_takes_sets(policy: Any) -> bool:
    """Return whether a loaded policy is over action sets."""
    return bool(getattr(policy, "takes_action_sets", False))


def _among_sets(
    name: str, policy: Any, known: SourceFacts, sets: dict[str, Any], options: argparse.Namespace
) -> Contender:
    """Read a log with action sets, as the policy was learned from, and let the policy decide among them."""
    beside = [] if options.group is None else [options.group]
    over_sets = policy_takes_sets(policy)
    features = known.features if over_sets else policy.encoder.names_in if policy.encoder is not None else None
    columns = log_arguments(options, known_columns(policy))
    if columns["features"] is None:
        columns["features"] = features or None
    more: dict[str, Any] = (
        {} if known.sets is None or not over_sets else {"action_features": known.sets.pair_features or None}
    )
    if options.propensity_estimated:
        columns["propensity"] = None
        more["without_propensity"] = True
    found = LoggedData.scan(options.log, action_sets=True, **columns, **sets, beside=beside, **more).columns()
    log = found.log
    notes: list[str] = []
    warned: list[str] = []
    if options.propensity_estimated:
        log, estimated = with_estimated_propensity(log.X, log.columns, options.seed, log.action_sets)
        notes, warned = [propensity_note(estimated)], [*estimated.warnings]
    decider: Any = policy if over_sets else LabelledActions.of(policy)
    group = None
    if options.group is not None:
        group = group_codes(found.beside[options.group], len(log), f"column {options.group!r}")
    doubts = find_leaks(log.X, log.action, log.reward)
    decisions = decider.predict(log.X, log.action_sets)
    doubts += diagnostics.of_training_rows(policy, log.X, log.reward) or _same_rows(log, known)
    return Contender(name, policy, decisions, log, notes, [*doubts, *warned], group)


def _same_rows(log: LoggedData, known: SourceFacts) -> list[str]:
    """Return a reason not to trust a verdict if these are the rows that the policy was learned from."""
    low, high, mean = (getattr(known.reward, name) for name in ("min", "max", "mean"))
    is_same = known.rows == len(log) and (low, high) == (log.reward.min(), log.reward.max())
    if not is_same or mean is None or abs(mean - log.reward.mean()) > SAME * (1 + abs(mean)):
        return []
    text = (
        "the policy seems to have been trained on these rows: they are as many as those it learned from, with the same "
        "rewards. Its value is too high; evaluate it on other rows."
    )
    return [text]


def _constant_among_sets(name: str, rows: _Rows, options: argparse.Namespace) -> Contender:
    """Return the policy that takes one action wherever it is eligible, and the most popular one elsewhere."""
    sets: Any = rows.log.action_sets
    label = find_label(name, np.unique(sets.ids), options.log)
    popular = PopularAction(reward_range=range_seen(rows.log)).fit(**rows.log.arrays())
    decisions = popular.predict(rows.log.X, sets).copy()
    row = np.repeat(np.arange(len(sets)), sets.sizes)[sets.ids == label]
    decisions[row] = label
    note = f"{name!r} is taken where it is eligible, in {len(row):,} of {len(sets):,} rows; elsewhere the most popular."
    return Contender(name, None, decisions, rows.log, [*rows.notes, note], rows.doubts, rows.group)


def find_label(text: str, actions: NDArray[Any], where: object) -> Any:
    """Return the action whose label is written as `text`, as the type it has in the log."""
    for label in actions.tolist():
        if str(label) == text:
            return label
    shown = ", ".join(map(str, actions[:20].tolist())) + ", ..." * (len(actions) > 20)
    raise ActionError(f"{text!r} is neither a policy file nor an action of {where}, which has {shown}.")


def note_ambiguous(loaded: dict[str, Any], actions: NDArray[Any]) -> None:
    """Print a note where a name is both a file and an action: the file is used."""
    for name in loaded:
        if name in set(map(str, actions.tolist())):
            sys.stderr.write(f"offsettree: {name!r} is a file and an action; taken as the file.\n")


def known_columns(policy: Any) -> dict[str, Any]:
    """Return the columns of action, reward and propensity that the policy was learned from."""
    columns = Facts.read(policy.manifest.get("facts")).log.columns
    known = {role: columns[role] for role in ROLES if isinstance(columns.get(role), str)}
    propensity = columns.get("propensity")  # a column, or one number for all rows
    return known | ({"propensity": propensity} if isinstance(propensity, float) else {})


def _read_for(policy: Any, path: Path, options: argparse.Namespace) -> _Rows:
    """Read the columns that the policy needs; their names are those of its training unless options say otherwise."""
    arguments = log_arguments(options, known_columns(policy))
    encoder = encoder_for(policy, path)
    if arguments["features"] is None:
        arguments["features"] = encoder.names_in
        arguments["types"] = column_types(options, options.log, encoder)
    if options.propensity_estimated:
        arguments["propensity"] = None
    log = _read(options, arguments)
    rows = _with_propensity(encoder.encode(log.X, where=options.log), log, options)
    return rows._replace(doubts=[*find_leaks(log.X, log.action, log.reward), *rows.doubts])


def _read_alone(options: argparse.Namespace) -> _Rows:
    """Read a log for constant actions only, which need no particular columns."""
    log = _read(options, log_arguments(options))
    X = log.X if hasattr(log.X, "toarray") else TableEncoder.learn([log.X]).encode(log.X)
    return _with_propensity(X, log, options)


def _read(options: argparse.Namespace, arguments: dict[str, Any]) -> LogColumns:
    beside = [] if options.group is None else [options.group]
    without = options.propensity_estimated
    return read_columns(options.log, without_propensity=without, beside=beside, group=options.group, **arguments)


def _with_propensity(X: Any, log: LogColumns, options: argparse.Namespace) -> _Rows:
    """Return the rows and their groups; with estimated propensities, notes on them and reasons not to trust them."""
    group = None
    if options.group is not None:
        group = group_codes(log.beside[options.group], len(log.action), f"column {options.group!r}")
    if log.propensity is not None:
        return _Rows(LoggedData(X, log.columns), [], [], group)
    rows, found = with_estimated_propensity(X, log.columns, options.seed)
    return _Rows(rows, [propensity_note(found)], list(found.warnings), group)


def evaluation_arguments(options: argparse.Namespace, policy: Any, log: LoggedData) -> dict[str, Any]:
    """Return the arguments for `evaluate`; the default reward range is that of the policy's training.

    That range may be the one observed in the training log, so it is dropped if rewards of this log lie outside it.
    """
    trained: Any = None if policy is None else mapping(policy.manifest.get("training")).get("reward_range")
    is_pair = isinstance(trained, list) and len(trained) == 2 and all(isinstance(end, int | float) for end in trained)
    if is_pair and not trained[0] <= log.reward.min() <= log.reward.max() <= trained[1]:
        trained = None
    chosen = {} if options.interval is None else {"interval": options.interval}
    return chosen | {
        "method": options.method,
        "level": options.level,
        "reward_range": options.reward_range or trained,
        "random_state": options.seed,
    }


def evaluate_one(contender: Contender, arguments: dict[str, Any], baseline: Any = "logging") -> Estimate:
    """Evaluate a policy or a constant action; warnings are in the estimate and are not printed as well."""
    policy = contender.policy if contender.policy is not None else contender.decisions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)
        if contender.log.action_sets is not None:
            policy, parts = contender.decisions, contender.log.arrays()
            arguments = arguments | _linear(arguments)
        else:
            parts = contender.log.judged()
        estimate = evaluate(policy, **parts, baseline=baseline, group=contender.group, **arguments)
    return with_doubts(estimate, contender.doubts)


def _linear(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a reward model over features of context and action that does not take long."""
    needs_model = arguments["method"] in MODEL_METHODS
    return {"reward_model": make_learner("ridge", "regressor")} if needs_model else {}


def _compare_among_sets(contender: Contender, arguments: dict[str, Any]) -> tuple[Comparison, str]:
    log = contender.log
    popular = popular_of(Facts.read(contender.policy.manifest.get("facts")).log.sets)
    picked_on = "training rows" if popular is not None else "these rows"
    if popular is None:
        popular = PopularAction(reward_range=range_seen(log)).fit(**log.arrays())
    chosen = popular.predict(log.X, log.action_sets)  # type: ignore[arg-type]
    found = compare_over_sets(contender.decisions, chosen, log, group=contender.group, **arguments)
    return replace(found, picked_here=picked_on == "these rows").doubted(contender.doubts), picked_on


def compare_saved(
    contender: Contender, arguments: dict[str, Any], named: Contender | None = None
) -> tuple[Comparison, str]:
    """Compare a policy with the logged decisions and the best constant action; also return how that one was picked.

    It is the best constant action of the policy's training. If the policy file does not name it, or the log does not
    have it, it is the action `named` by the user. Failing that, it is the best one of this log: that estimate is
    optimistic, as the same rows pick and value the action, so no verdict rests on it.
    """
    if contender.log.action_sets is not None:
        return _compare_among_sets(contender, arguments)
    log, constant = contender.log, Facts.read(contender.policy.manifest.get("facts")).constant
    action: Any = None if constant is None else constant.action
    picked_on = "training rows"
    if action not in log.actions.tolist():
        if named is not None and named.policy is None:
            action, picked_on = named.decisions[0].item(), "named"
        else:
            action, picked_on = best_constant(log), "these rows"
    group = contender.group
    found = compare_with_constant(contender.policy, contender.decisions, log, action, group=group, **arguments)
    return replace(found, picked_here=picked_on == "these rows").doubted(contender.doubts), picked_on
