"""Policies from files, evaluated on logs from files."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from offsettree.cli._options import column_types, log_arguments
from offsettree.evaluation import Estimate, evaluate
from offsettree.exceptions import OffsetTreeWarning
from offsettree.logs import LogColumns, read_columns

__all__ = ["evaluate_saved", "known_columns", "read_log_for"]


def known_columns(policy: Any) -> dict[str, Any]:
    """Return which columns were the action, the reward and the propensity when the policy was learned."""
    facts = policy.manifest.get("facts") or {}
    columns = (facts.get("log") or {}).get("columns") if isinstance(facts, dict) else None
    return columns if isinstance(columns, dict) else {}


def read_log_for(policy: Any, options: argparse.Namespace) -> LogColumns:
    """Read a log with the columns that the policy needs, called as in its training unless it is said otherwise."""
    arguments = log_arguments(options, known_columns(policy))
    if policy.encoder is not None and arguments["features"] is None:
        arguments["features"] = policy.encoder.names_in
        arguments["types"] = column_types(options, options.log, policy.encoder)
    return read_columns(options.log, **arguments)


def evaluate_saved(policy: Any, log: LogColumns, options: argparse.Namespace, baseline: Any = "logging") -> Estimate:
    """Evaluate one policy; what speaks against the estimate is in it, and not said twice."""
    X = log.X if policy.encoder is None else policy.encoder.encode(log.X, where=options.log)
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
            baseline=baseline,
            random_state=options.seed,
        )
