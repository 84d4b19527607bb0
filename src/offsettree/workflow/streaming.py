"""A log larger than memory: one pass to learn its columns, one to learn from its rows and to value what was learned."""

from __future__ import annotations

import sys
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

import offsettree
from offsettree._features import is_sparse
from offsettree._progress import Progress
from offsettree.evaluation import Estimate
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs import LogScan, TableEncoder
from offsettree.online import OnlineOffsetTree, OnlineRewardRegression
from offsettree.workflow.facts import constant_facts, estimate_facts, tree_facts, versions
from offsettree.workflow.inspection import doubts_of_propensities
from offsettree.workflow.leaks import find_leaks
from offsettree.workflow.learning import range_of
from offsettree.workflow.running_value import RunningConstant, RunningValue
from offsettree.workflow.verdict import advice, basis, verdict

__all__ = ["learn_from_stream"]

LEARNERS = {"online": "online offset tree", "online-regression": "online reward regression"}
CHUNK_ROWS = 1 << 14  # that are decided on before they are learned from


def _always(sums: NDArray[np.float64]) -> dict[str, float]:
    """Return what an action would earn if it were always taken, with its interval."""
    weight, earned, squares, squares_reward, squares_earned = sums.tolist()
    value = earned / weight
    stderr = max(squares_earned - 2 * value * squares_reward + value**2 * squares, 0.0) ** 0.5 / weight
    return {"mean_reward": value, "low": value - 1.96 * stderr, "high": value + 1.96 * stderr}


def learn_from_stream(
    path: Any,
    *,
    learner: str = "online",
    reward_range: tuple[float, float] | None = None,
    level: float = 0.95,
    random_state: int | None = None,
    **arguments: Any,
) -> tuple[OnlineOffsetTree | OnlineRewardRegression, TableEncoder, dict[str, Any], Estimate]:
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
        Of the intervals.
    random_state : int or None, default=None
        Of the learner.
    **arguments : Any
        As `LoggedData.scan` takes them.

    Returns
    -------
    policy, encoder, facts, estimate
        Every chunk of rows was decided on before it was learned from: that is what the estimate is of.
    """
    if learner not in LEARNERS:
        raise ParameterError(f"the learner must be one of {', '.join(LEARNERS)}; got {learner!r}.")
    scan = LogScan(path, CHUNK_ROWS, **arguments)
    labels: Counter[Any] = Counter()
    sums: dict[Any, NDArray[np.float64]] = {}
    total_reward = 0.0
    leaks: list[str] = []
    ends = [np.inf, -np.inf]

    def features() -> Any:
        nonlocal total_reward
        for log in scan:
            if is_sparse(log.X):
                raise LogError(
                    f"the rows of {path} name {log.X.shape[1]:,} features, more than the 1,024 that become columns. "
                    "Learn in Python: OnlineOffsetTree(n_bits=20).partial_fit on the chunks of LoggedData.scan(...)."
                )
            if not labels:
                leaks.extend(find_leaks(log.X, log.action, log.reward))
            total_reward += float(log.reward.sum())
            ends[:] = min(ends[0], float(log.reward.min())), max(ends[1], float(log.reward.max()))
            found, position = np.unique(log.action, return_inverse=True)
            weight, reward = 1 / log.propensity, log.reward
            terms = (weight, weight * reward, weight**2, weight**2 * reward, (weight * reward) ** 2)
            added = np.stack([np.bincount(position, term) for term in terms], axis=1)
            for label, count, add in zip(found.tolist(), np.bincount(position).tolist(), added, strict=True):
                labels[label] += count
                sums[label] = sums.get(label, 0.0) + add
            yield log.X

    encoder = TableEncoder.learn(features())
    if len(labels) < 2:
        raise LogError(f"a log must have at least two actions to choose among; all rows of {path} have the same.")
    low_high = reward_range or range_of(*ends)
    policy: OnlineOffsetTree | OnlineRewardRegression
    if learner == "online":
        policy = OnlineOffsetTree(
            actions=sorted(labels), reward_range=low_high, offset="mean", random_state=random_state
        )
    else:
        policy = OnlineRewardRegression(actions=sorted(labels), reward_range=low_high)
    value, constant = RunningValue(), RunningConstant()
    chosen, n_total = Counter[Any](), sum(labels.values())
    progress = Progress(n_total) if sys.stderr.isatty() else None
    started = time.perf_counter()
    last: NDArray[Any] = np.empty(0)
    for place, log in enumerate(LogScan(path, CHUNK_ROWS, encoder=encoder, **arguments)):
        if place:
            last = policy.predict(log.X)
            chosen.update(last.tolist())
            value.add(last == log.action, log.action == constant.best(), log.reward, log.propensity)
        constant.add(log.action, log.reward, log.propensity)
        policy.partial_fit(**log.arrays())
        if progress is not None:
            progress.advance(len(log), "learning")
    if progress is not None:
        progress.close()
    if value.n_rows == 0:
        raise LogError(
            f"{path} has {n_total:,} rows, too few to learn online and to value on the way: the first {CHUNK_ROWS:,} "
            "are only learned from. Use another learner, which holds rows out."
        )
    by_action = {label: [labels[label], sums[label][1], sums[label][0]] for label in labels}
    mean_inverse, squares = (sum(float(each[i]) for each in sums.values()) for i in (0, 2))
    doubts = doubts_of_propensities(n_total, len(labels), mean_inverse / n_total, squares, by_action)
    compared = value.compared(constant.best(), level, tuple(doubts))
    estimate, advised = compared.estimate, advice(compared)
    facts = {
        "title": str(path),
        "created": datetime.now(UTC).date().isoformat(),
        "version": offsettree.__version__,
        "verdict": verdict(estimate, compared),
        "basis": basis(estimate),
        "conclusion": advised.sentence,
        "use": advised.use,
        "is_better": advised.is_better,
        "log": {
            "path": str(path),
            "rows": n_total,
            "train_rows": n_total,
            "test_rows": value.n_rows,
            "columns": scan.roles,
            "reward": {"min": ends[0], "max": ends[1], "mean": total_reward / n_total},
            "reward_range": list(low_high),
            "notes": [
                *scan.notes,
                *encoder.notes,
                f"All rows but the first {CHUNK_ROWS:,} were decided on before they were learned from.",
            ],
            "features": encoder.names_in,
            "actions": [
                {
                    "label": label,
                    "rows": count,
                    "share": count / n_total,
                    **_always(sums[label]),
                    "policy_share": chosen[label] / value.n_rows,
                }
                for label, count in sorted(labels.items())
            ],
        },
        "estimate": estimate_facts(estimate),
        "constant": constant_facts(compared, "the rows before, again and again"),
        "propensity": None,
        "policy": {
            "name": LEARNERS[learner],
            "rows": n_total,
            "refit": False,
            "learner": type(policy).__name__,
            "parameters": {name: repr(each)[:120] for name, each in policy.get_params(deep=False).items()},
            "seconds": time.perf_counter() - started,
        },
        "candidates": [],
        "rule": None,
        "weights": None,
        "tree": tree_facts(policy, last),
        "importance": [],
        "warnings": [*leaks, *estimate.warnings],
        "reproduce": {"command": "", "seed": random_state, "versions": versions()},
    }
    return policy, encoder, facts, estimate
