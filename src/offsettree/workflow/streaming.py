"""Learning from a log larger than memory: one pass to learn the encoder, one to learn and evaluate a policy."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._progress import Progress
from offsettree._validation import check_level
from offsettree.base import is_ours
from offsettree.encoding import TableEncoder
from offsettree.evaluation import Estimate
from offsettree.exceptions import LogError, ParameterError
from offsettree.facts import ActionFacts, Facts, RunFacts, SourceFacts
from offsettree.logs import LoggedData, LogScan
from offsettree.online import OnlineOffsetTree, OnlineRewardRegression
from offsettree.registry import POLICIES
from offsettree.workflow.facts import outcome_facts, policy_facts, tree_facts, versions
from offsettree.workflow.first_pass import FirstPass
from offsettree.workflow.learning import range_of
from offsettree.workflow.running_value import RunningConstant, RunningValue

__all__ = ["learn_from_stream", "source_facts"]

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
) -> tuple[OnlinePolicy, TableEncoder, Facts, Estimate]:
    """Learn a policy row by row from a log of any size, in bounded memory.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    learner : {"online", "online-regression"}, default="online"
        An `OnlineOffsetTree` or an `OnlineRewardRegression`; or the name of another policy registered as online.
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
    entry = POLICIES.get(learner)
    if entry is None or not entry.online:
        online = ", ".join(name for name, each in POLICIES.known.items() if each.online)
        raise ParameterError(f"the learner must be one of {online}; got {learner!r}.")
    check_level(level)
    scan = LoggedData.scan(path, CHUNK_ROWS, **arguments)
    first = FirstPass(path).read(scan).settle(scan.notes)
    used_range = reward_range or range_of(*first.reward_ends)
    policy = entry.make(actions=sorted(first.n_by_action), reward_range=used_range, random_state=random_state)
    again = LoggedData.scan(path, CHUNK_ROWS, encoder=first.encoder, **arguments)
    passed = _second_pass(policy, again, first.n_rows, used_range)
    if passed.value.n_rows == 0:
        raise LogError(
            f"online learning needs more than {CHUNK_ROWS:,} rows, as that many are used before the first evaluation; "
            f"{path} has {first.n_rows:,}. Use another learner, which holds rows out."
        )
    decided = f"All rows but the first {CHUNK_ROWS:,} were decided on before they were learned from."
    compared = passed.value.compared(passed.constant.best(), level).doubted(first.doubts)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(policy).__name__).lower()
    facts = outcome_facts(
        compared,
        "the rows before, again and again",
        title=str(path),
        log=source_facts(first, first.n_rows, passed.value.n_rows, passed.chosen, scan.roles, used_range, [decided]),
        policy=policy_facts(policy, name=name, rows=first.n_rows, refit=False, seconds=passed.seconds),
        tree=tree_facts(policy, passed.last),
        warnings=list(compared.warnings),
        reproduce=RunFacts(command="", seed=random_state, versions=versions()),
    )
    return policy, first.encoder, facts, compared.estimate


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
        policy.partial_fit(**(log.judged() if is_ours(policy, "partial_fit") else log.arrays()))
        if progress is not None:
            progress.advance(len(log), "learning")
    if progress is not None:
        progress.close()
    passed.seconds = time.perf_counter() - started
    return passed


def source_facts(
    first: FirstPass,
    n_learned: int,
    n_valued: int,
    chosen: Mapping[Any, int],
    roles: dict[str, Any],
    reward_range: tuple[float, float],
    notes: Sequence[str],
) -> SourceFacts:
    """Return what is known of a log that was read chunk by chunk, and of the decisions on some of its rows."""
    n_rows = first.n_rows
    return SourceFacts(
        path=str(first.path),
        rows=n_rows,
        train_rows=n_learned,
        test_rows=n_valued,
        columns=roles,
        reward=first.reward_facts,
        reward_range=list(reward_range),
        notes=[*first.notes, *notes],
        features=first.encoder.names_in,
        actions=[
            ActionFacts(
                label=label,
                rows=count,
                share=count / n_rows,
                **first.always(label),
                policy_share=chosen.get(label, 0) / n_valued,
            )
            for label, count in sorted(first.n_by_action.items())
        ],
    )
