"""Policies from files, and constant actions by their labels, evaluated on logs from files."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.cli._options import column_types, log_arguments
from offsettree.cli._policy_text import mapping
from offsettree.cli._rows import encoder_for
from offsettree.encoding import TableEncoder
from offsettree.evaluation import Estimate, estimate_propensity, evaluate
from offsettree.exceptions import ActionError, OffsetTreeWarning
from offsettree.logs import LogColumns, LoggedData, read_columns
from offsettree.workflow.comparison import Comparison, best_constant, compare_with_constant, with_doubts
from offsettree.workflow.facts import propensity_note
from offsettree.workflow.leaks import find_leaks

__all__ = ["Contender", "compare_saved", "contenders", "evaluate_one", "find_label", "say_if_both", "settings"]

ROLES = ("action", "reward", "propensity")


@dataclass(frozen=True)
class Contender:
    """A policy of a file, or always one action, beside the log as it needs to be read for it.

    Parameters
    ----------
    name : str
        As it was given.
    policy : policy or None
        Loaded; None for a constant action.
    decisions : array of shape (n_rows,)
        What it does in the rows of the log.
    log : LoggedData
        The rows, encoded for it.
    notes : list of str
        What was noticed while reading.
    doubts : list of str
        What forbids any verdict on this log: features that tell the outcome, poorly estimated propensities.
    """

    name: str
    policy: Any
    decisions: NDArray[Any]
    log: LoggedData
    notes: list[str]
    doubts: list[str]

    @property
    def words(self) -> str:
        """What a sentence calls it."""
        return f"always {self.name!r}" if self.policy is None else self.name


def contenders(given: list[str], loaded: dict[str, Any], options: argparse.Namespace) -> list[Contender]:
    """Read the log for each policy, and find the labels among its actions.

    Parameters
    ----------
    given : list of str
        Files of policies, and labels of actions.
    loaded : dict
        The policies of the files, by what was given; whatever is not in it is a label.
    options : argparse.Namespace
        Of the command.
    """
    found: dict[str, Contender] = {}
    for name, policy in loaded.items():
        log, notes, doubts = _read_for(policy, Path(name), options)
        found[name] = Contender(name, policy, policy.predict(log.X), log, notes, doubts)
    labels = [name for name in given if name not in loaded]
    if labels:
        first = next(iter(found.values()), None)
        rows, notes, doubts = _read_alone(options) if first is None else (first.log, first.notes, first.doubts)
        for name in labels:
            label = find_label(name, rows.actions, options.log)
            always = np.full(len(rows), label, dtype=rows.action.dtype)
            found[name] = Contender(name, None, always, rows, notes, doubts)
    return [found[name] for name in given]


def find_label(text: str, actions: NDArray[Any], where: object) -> Any:
    """Return the action that a word of the command line names; whole numbers where those of the log are."""
    for label in actions.tolist():
        if str(label) == text:
            return label
    shown = ", ".join(map(str, actions[:20].tolist())) + ", ..." * (len(actions) > 20)
    raise ActionError(f"{text!r} is neither a policy file nor an action of {where}, which has {shown}.")


def say_if_both(loaded: dict[str, Any], actions: NDArray[Any]) -> None:
    """Say so where a file is called as an action is: the file was taken."""
    for name in loaded:
        if name in set(map(str, actions.tolist())):
            sys.stderr.write(f"offsettree: {name!r} is a file and an action; taken as the file.\n")


def known_columns(policy: Any) -> dict[str, Any]:
    """Return which columns were the action, the reward and the propensity when the policy was learned."""
    columns = mapping(mapping(mapping(policy.manifest.get("facts")).get("log")).get("columns"))
    known = {role: columns[role] for role in ROLES if isinstance(columns.get(role), str)}
    propensity = columns.get("propensity")  # a column, or one number for all rows
    return known | ({"propensity": propensity} if isinstance(propensity, float) else {})


def _read_for(policy: Any, path: Path, options: argparse.Namespace) -> tuple[LoggedData, list[str], list[str]]:
    """Read a log with the columns that the policy needs, called as in its training unless it is said otherwise."""
    arguments = log_arguments(options, known_columns(policy))
    encoder = encoder_for(policy, path)
    if arguments["features"] is None:
        arguments["features"] = encoder.names_in
        arguments["types"] = column_types(options, options.log, encoder)
    if options.propensity_estimated:
        arguments["propensity"] = None
    log = read_columns(options.log, without_propensity=options.propensity_estimated, **arguments)
    leaks = find_leaks(log.X, log.action, log.reward)
    rows, notes, doubts = _with_propensity(encoder.encode(log.X, where=options.log), log, options)
    return rows, notes, [*leaks, *doubts]


def _read_alone(options: argparse.Namespace) -> tuple[LoggedData, list[str], list[str]]:
    """Read a log for which there is no policy: constant actions need nothing but its rows."""
    log = read_columns(options.log, without_propensity=options.propensity_estimated, **log_arguments(options))
    X = log.X if hasattr(log.X, "toarray") else TableEncoder.learn([log.X]).encode(log.X)
    return _with_propensity(X, log, options)


def _with_propensity(X: Any, log: LogColumns, options: argparse.Namespace) -> tuple[LoggedData, list[str], list[str]]:
    """Return the rows, what is to be noted of their propensities, and what speaks against these."""
    if log.propensity is not None:
        return LoggedData(X, log.action, log.reward, log.propensity), [], []
    found = estimate_propensity(X, log.action, random_state=options.seed)
    return LoggedData(X, log.action, log.reward, found), [propensity_note(found)], list(found.warnings)


def settings(options: argparse.Namespace, policy: Any, log: LoggedData) -> dict[str, Any]:
    """Return how `evaluate` is to be called; the range of rewards is by default that of the policy's training.

    That one may have been taken from the training log: where rewards of this log leave it, it is not the true one.
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


def evaluate_one(contender: Contender, how: dict[str, Any], baseline: Any = "logging") -> Estimate:
    """Evaluate a policy or a constant action; what speaks against the estimate is in it, and not said twice."""
    own = contender.policy if contender.policy is not None else contender.decisions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)
        return with_doubts(evaluate(own, **contender.log.arrays(), baseline=baseline, **how), contender.doubts)


def compare_saved(contender: Contender, how: dict[str, Any], named: Contender | None = None) -> tuple[Comparison, str]:
    """Value a policy beside what was logged and the best constant action; say by which rows that one was picked.

    It is the one that was the best when the policy was learned. Where the policy file does not tell, or the log does
    not have it, it is the action `named` by the user; or else the best one of this very log, which is generous to it:
    it is picked by the rows it is valued on, and nothing definite is said of it.
    """
    log, facts = contender.log, mapping(contender.policy.manifest.get("facts"))
    action, picked_on = mapping(facts.get("constant")).get("action"), "training rows"
    if action not in log.actions.tolist():
        if named is not None and named.policy is None:
            action, picked_on = named.decisions[0].item(), "named"
        else:
            action, picked_on = best_constant(log), "these rows"
    found = compare_with_constant(contender.policy, contender.decisions, log, action, **how)
    return replace(found, picked_here=picked_on == "these rows").doubted(contender.doubts), picked_on
