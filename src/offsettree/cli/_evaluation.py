"""Policies from files, evaluated on logs from files."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from offsettree.cli._options import column_types, log_arguments
from offsettree.cli._policy_text import mapping
from offsettree.cli._rows import encoder_for
from offsettree.evaluation import Estimate, estimate_propensity, evaluate
from offsettree.exceptions import OffsetTreeWarning
from offsettree.logs import LogColumns, read_columns

__all__ = ["evaluate_saved", "known_columns", "read_log_for"]

ROLES = ("action", "reward", "propensity")


def known_columns(policy: Any) -> dict[str, Any]:
    """Return which columns were the action, the reward and the propensity when the policy was learned."""
    columns = mapping(mapping(mapping(policy.manifest.get("facts")).get("log")).get("columns"))
    known = {role: columns[role] for role in ROLES if isinstance(columns.get(role), str)}
    propensity = columns.get("propensity")  # a column, or one number for all rows
    return known | ({"propensity": propensity} if isinstance(propensity, float) else {})


def read_log_for(policy: Any, path: Path, options: argparse.Namespace) -> LogColumns:
    """Read a log with the columns that the policy needs, called as in its training unless it is said otherwise."""
    arguments = log_arguments(options, known_columns(policy))
    encoder = encoder_for(policy, path)
    if arguments["features"] is None:
        arguments["features"] = encoder.names_in
        arguments["types"] = column_types(options, options.log, encoder)
    if options.propensity_estimated:
        arguments["propensity"] = None
    log = read_columns(options.log, without_propensity=options.propensity_estimated, **arguments)
    if not options.propensity_estimated:
        return log
    X = encoder.encode(log.X, where=options.log)
    return log._replace(propensity=estimate_propensity(X, log.action, random_state=options.seed).propensity)


def evaluate_saved(
    policy: Any, X: NDArray[Any], log: LogColumns, options: argparse.Namespace, baseline: Any = "logging"
) -> Estimate:
    """Evaluate one policy; what speaks against the estimate is in it, and not said twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)
        return evaluate(
            policy,
            X,
            log.action,
            reward=log.reward,
            propensity=log.propensity,
            method=options.method,
            interval=options.interval,
            level=options.level,
            reward_range=options.reward_range or mapping(policy.manifest.get("training")).get("reward_range"),
            baseline=baseline,
            random_state=options.seed,
        )
