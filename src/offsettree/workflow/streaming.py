"""Learning from a log larger than memory: one pass to learn the encoder, one to learn and evaluate a policy."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

import offsettree
from offsettree._progress import Progress
from offsettree.encoding import TableEncoder
from offsettree.evaluation import Estimate
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs import LogScan
from offsettree.online import OnlineOffsetTree, OnlineRewardRegression
from offsettree.workflow.comparison import Comparison
from offsettree.workflow.facts import constant_facts, estimate_facts, tree_facts, versions
from offsettree.workflow.first_pass import FirstPass
from offsettree.workflow.learning import check_level, range_of
from offsettree.workflow.running_value import RunningConstant, RunningValue
from offsettree.workflow.verdict import advice, basis, verdict

__all__ = ["learn_from_stream"]

LEARNERS = {"online": "online offset tree", "online-regression": "online reward regression"}
CHUNK_ROWS = 1 << 14  # the policy decides on so many rows before it learns from them

OnlinePolicy = OnlineOffsetTree | OnlineRewardRegression


@dataclass
class _Progressive:
    """Progressive validation: counts from deciding on each chunk before learning from it."""

    value: RunningValue
    constant: RunningConstant
    chosen: Counter[Any]
    last: NDArray[Any]
    seconds: float = 0.0


def learn_from_stream(
    path: Any,
    *,
    learner: str = "online",
    reward_range: tuple[float, float] | None = None,
    level: float = 0.95,
    random_state: int | None = None,
    **arguments: Any,
) -> tuple[OnlinePolicy, TableEncoder, dict[str, Any], Estimate]:
    """Learn a policy row by row from a log of any size, in bounded memory.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    learner : {"online", "online-regression"}, default="online"
        An `OnlineOffsetTree` or an `OnlineRewardRegression`.
    reward_range : (float, float), optional
        Smallest and largest possible reward; by default (0, 1) if all rewards are within, else those of the log.
    level : float, default=0.95
        Confidence level of the intervals.
    random_state : int or None, default=None
        Seed of the learner.
    **arguments : Any
        Arguments of `LoggedData.scan`.

    Returns
    -------
    policy, encoder, facts, estimate
        The estimate is of the decisions on each chunk before it was learned from (progressive validation).
    """
    if learner not in LEARNERS:
        raise ParameterError(f"the learner must be one of {', '.join(LEARNERS)}; got {learner!r}.")
    check_level(level)
    scan = LogScan(path, CHUNK_ROWS, **arguments)
    first = FirstPass(scan, path)
    used_range = reward_range or range_of(*first.reward_ends)
    policy = _new_policy(learner, sorted(first.n_by_action), used_range, random_state)
    passed = _second_pass(
        policy, LogScan(path, CHUNK_ROWS, encoder=first.encoder, **arguments), first.n_rows, used_range
    )
    if passed.value.n_rows == 0:
        raise LogError(
            f"online learning needs more than {CHUNK_ROWS:,} rows, as that many are used before the first evaluation; "
            f"{path} has {first.n_rows:,}. Use another learner, which holds rows out."
        )
    compared = passed.value.compared(passed.constant.best(), level).doubted(first.doubts)
    facts = {
        **_outcome_facts(compared),
        "title": str(path),
        "log": _log_facts(first, passed) | {"columns": scan.roles, "reward_range": list(used_range)},
        "policy": {
            "name": LEARNERS[learner],
            "rows": first.n_rows,
            "refit": False,
            "learner": type(policy).__name__,
            "parameters": {name: repr(each)[:120] for name, each in policy.get_params(deep=False).items()},
            "seconds": passed.seconds,
        },
        "tree": tree_facts(policy, passed.last),
        "reproduce": {"command": "", "seed": random_state, "versions": versions()},
    }
    return policy, first.encoder, facts, compared.estimate


def _new_policy(
    learner: str, actions: list[Any], reward_range: tuple[float, float], random_state: int | None
) -> OnlinePolicy:
    if learner == "online":
        return OnlineOffsetTree(actions=actions, reward_range=reward_range, offset="mean", random_state=random_state)
    return OnlineRewardRegression(actions=actions, reward_range=reward_range)


def _second_pass(policy: OnlinePolicy, scan: LogScan, n_rows: int, reward_range: tuple[float, float]) -> _Progressive:
    """Let the policy decide on each chunk but the first, and then learn from it."""
    passed = _Progressive(RunningValue(), RunningConstant(reward_range), Counter(), np.empty(0))
    progress = Progress(n_rows) if sys.stderr.isatty() else None
    started = time.perf_counter()
    for place, log in enumerate(scan):
        if place:
            passed.last = policy.predict(log.X)
            passed.chosen.update(passed.last.tolist())
            always = log.action == passed.constant.best()
            passed.value.add(passed.last == log.action, always, log.reward, log.propensity)
        passed.constant.add(log.action, log.reward, log.propensity)
        policy.partial_fit(**log.judged())
        if progress is not None:
            progress.advance(len(log), "learning")
    if progress is not None:
        progress.close()
    passed.seconds = time.perf_counter() - started
    return passed


def _outcome_facts(compared: Comparison) -> dict[str, Any]:
    """Return the facts of the evaluation as `learned_facts` does; those that need all rows in memory are empty."""
    estimate, advised = compared.estimate, advice(compared)
    return {
        "created": datetime.now(UTC).date().isoformat(),
        "version": offsettree.__version__,
        "verdict": verdict(estimate, compared),
        "basis": basis(estimate),
        "conclusion": advised.sentence,
        "use": advised.use,
        "is_better": advised.is_better,
        "estimate": estimate_facts(estimate),
        "constant": constant_facts(compared, "the rows before, again and again"),
        "warnings": list(compared.warnings),
        "propensity": None,
        "candidates": [],
        "rule": None,
        "weights": None,
        "importance": [],
    }


def _log_facts(first: FirstPass, passed: _Progressive) -> dict[str, Any]:
    n_rows, n_valued = first.n_rows, passed.value.n_rows
    return {
        "path": str(first.path),
        "rows": n_rows,
        "train_rows": n_rows,
        "test_rows": n_valued,
        "reward": first.reward_facts,
        "notes": [
            *first.notes,
            f"All rows but the first {CHUNK_ROWS:,} were decided on before they were learned from.",
        ],
        "features": first.encoder.names_in,
        "actions": [
            {
                "label": label,
                "rows": count,
                "share": count / n_rows,
                **first.always(label),
                "policy_share": passed.chosen[label] / n_valued,
            }
            for label, count in sorted(first.n_by_action.items())
        ],
    }
