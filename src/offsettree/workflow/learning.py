"""A log in, a policy and an honest estimate of its worth out."""

from __future__ import annotations

import time
import warnings as python_warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._features import is_frame, take_rows
from offsettree._validation import is_number
from offsettree.base import BasePolicy
from offsettree.encoding import TableEncoder
from offsettree.evaluation import PropensityEstimate, estimate_propensity, evaluate
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError
from offsettree.logs import LoggedData
from offsettree.reductions import distill
from offsettree.selection import PolicySearch
from offsettree.workflow.comparison import MOST_PREDICTIONS, best_constant, compare_with_constant
from offsettree.workflow.holdout import HoldOut, hold_out
from offsettree.workflow.leaks import find_leaks
from offsettree.workflow.learned import Learned
from offsettree.workflow.learners import make_policy

__all__ = ["check_level", "learn_policy", "range_of"]

MOST_ROWS_FOR_MODELS = 20_000  # held out, with which reward models of an evaluation are worth their time


def learn_policy(
    log: LoggedData,
    *,
    learner: str | BasePolicy = "auto",
    base: str | None = None,
    offset: float | str | None = None,
    test_size: float = 0.3,
    split_by_time: Any = None,
    group: Any = None,
    refit: bool = True,
    distilled: bool = False,
    reward_range: tuple[float, float] | None = None,
    estimated_propensity: bool = False,
    method: str | None = None,
    interval: str | None = None,
    level: float = 0.95,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> Learned:
    """Split a log, learn from one part, evaluate on the other, and learn again from all rows.

    Parameters
    ----------
    log : LoggedData
        Its X may be a frame of numbers, words and dates with gaps; it is encoded as `TableEncoder` does, by the
        training rows alone.
    learner : str or policy, default="auto"
        A name of `LEARNERS`, or a policy of your own, not fitted.
    base, offset
        As in `make_policy`.
    test_size : float, default=0.3
        The share of rows that are held out.
    split_by_time : str or array of shape (n_rows,), optional
        A column of the log's X, or values beside it, that tells when each decision was taken, in numbers or dates: the
        latest rows are held out, so that the policy is learned from the past and valued on what came after. Rows of the
        same time stay together. The column stays a feature. "auto" compares on later rows as well.
    group : str or array of shape (n_rows,), optional
        A column of the log's X, or values beside it, that tells whose decision it was: all rows of a group, such as
        those of one customer, are on one side. The column is left out of the features, as an identifier is; pass its
        values instead of its name to keep it. Intervals then take groups to be independent of each other, not rows;
        "auto" holds out whole groups as well.
    refit : bool, default=True
        Learn the policy that is returned again from all rows, with the same settings; of "auto" the candidate that was
        chosen. The estimate is of the one that was learned from the training rows.
    distilled : bool, default=False
        Keep an `OffsetTree` that decides as the policy learned does (see `distill`), in time that grows with the
        logarithm of the number of actions. The estimate is of such a tree; `loss` is what it earns less than its
        teacher.
    reward_range : (float, float), optional
        Smallest and largest possible reward; by default (0, 1) if all rewards are within, else those of the log. Of
        rewards that are all equal there is no interval without it.
    estimated_propensity : bool, default=False
        Estimate the propensities from the actions; those of the log are not looked at.
    method : str, optional
        Of `evaluate`; by default "doubly_robust" on up to 20,000 rows held out, "snips" on more, where reward models
        take long and gain little, and for intervals by "bernstein".
    interval, level
        Of `evaluate`; by default its own interval.
    time_budget : float, optional
        Seconds for "auto".
    n_jobs : int, optional
        Workers.
    random_state : int or None, default=None
        Decides the split and everything else.

    Examples
    --------
    >>> import pandas as pd
    >>> from offsettree import LoggedData
    >>> from offsettree.datasets import make_campaign
    >>> frame = pd.DataFrame(make_campaign(4000, random_state=0).columns)
    >>> log = LoggedData.from_frame(frame, action="mail", reward="visited", propensity="propensity")
    >>> learned = learn_policy(log, learner="reward-regression", base="ridge", random_state=0)
    >>> learned.encoder.names_in[:3]
    ['sent_at', 'age', 'country']
    >>> bool(learned.estimate.value > learned.estimate.baseline.value)
    True
    """
    _check_settings(log, level, test_size)
    policy = _chosen_learner(learner, {"base": base, "offset": offset, "time_budget": time_budget})
    low, high = float(log.reward.min()), float(log.reward.max())
    low_high = reward_range or range_of(low, high)
    held = hold_out(log, test_size, split_by_time, group, random_state)
    whole, encoders, estimated = _encoded(log, held, estimated_propensity, random_state)
    train, test = whole[held.train], whole[held.test]
    leaks = find_leaks(held.features, log.action, log.reward)
    doubts = [*leaks, *(() if estimated is None else estimated.warnings)]
    if policy is None:
        policy = make_policy(
            str(learner),
            base,
            offset=offset,
            reward_range=low_high,
            actions=log.actions,
            time_budget=time_budget,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    started = time.perf_counter()
    # A leak that has been told of by its name is not told of again by its number.
    said = [text for text in _taught(policy, train, held) if not (leaks and "of X equals the reward" in text)]
    seconds = time.perf_counter() - started
    teacher, evaluated = (policy, distill(policy, train.X, random_state=random_state)) if distilled else (None, policy)
    decisions = evaluated.predict(test.X)
    settings: dict[str, Any] = {
        "method": method or _default_method(test, len(policy.actions_), interval),
        **({} if interval is None else {"interval": interval}),
        **({} if held.group is None else {"group": held.group[held.test]}),
        "level": level,
        # Of rewards that are all equal nothing tells the range, whatever was taken for it to learn with.
        "reward_range": low_high if reward_range is not None or low < high else None,
        "random_state": random_state,
    }
    whose = decisions if settings["reward_range"] is None else evaluated
    compared = compare_with_constant(whose, decisions, test, best_constant(train), **settings).doubted(doubts)
    kept, held_out = evaluated, test.X
    if refit:
        X = held.features if encoders is None else encoders[1].encode(held.features)
        kept, held_out = clone(getattr(policy, "best_policy_", policy)), take_rows(X, held.test)  # what a search chose
        again = _taught(kept, LoggedData(X, log.action, log.reward, whole.propensity))
        said += [text for text in again if text not in said and "of X equals" not in text]
        kept = distill(kept, X, random_state=random_state) if distilled else kept
    return Learned(
        policy=kept,
        encoder=None if encoders is None else encoders[1 if refit else 0],
        evaluated=evaluated,
        train=train,
        test=test,
        test_encoder=None if encoders is None else encoders[0],
        compared=compared,
        decisions=decisions,
        held_out=held_out,
        reward_range=low_high,
        propensity=estimated,
        seconds=seconds,
        refit=refit,
        teacher=teacher,
        loss=None if teacher is None else _loss(decisions, teacher, test, settings),
        notes=held.notes,
        warnings=[*doubts, *said],
    )


def check_level(level: Any) -> None:
    """Refuse what is no level of an interval, now rather than after hours of learning."""
    if not (is_number(level) and 0 < level < 1):
        raise ParameterError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")


def _check_settings(log: LoggedData, level: float, test_size: float) -> None:
    check_level(level)
    if not 0 < test_size < 1:
        raise ParameterError(f"test_size must be a share of the rows between 0 and 1; got {test_size}.")
    if len(log.actions) < 2:
        raise LogError(
            f"a log must have at least two actions to choose among; all of its {len(log):,} rows have "
            f"{log.actions.tolist()[0]!r}. Is it the right column?"
        )


def _chosen_learner(learner: Any, settings: dict[str, Any]) -> BasePolicy | None:
    """Return the policy that was given, or None where a name was; refuse settings that a policy has of its own."""
    if not isinstance(learner, BasePolicy):
        return None
    given = [f"{name}={value!r}" for name, value in settings.items() if value is not None]
    if given:
        raise ParameterError(
            f"{', '.join(given)} must not be given beside a policy, which has settings of its own: set them on the "
            f"{type(learner).__name__}, or give the name of a learner."
        )
    return learner


def _encoded(
    log: LoggedData, held: HoldOut, estimated_propensity: bool, random_state: int | None
) -> tuple[LoggedData, tuple[TableEncoder, TableEncoder] | None, PropensityEstimate | None]:
    """Return the log in numbers, the encoders by the training rows and by all, and propensities where estimated."""
    X, encoders = held.features, None
    if is_frame(X):
        by_all = TableEncoder.learn([X])
        encoders = (_with_infinity_of(by_all, TableEncoder.learn([_rows_of(X, held.train)])), by_all)
        X = encoders[0].encode(X)
    if not estimated_propensity:
        return LoggedData(X, log.action, log.reward, log.propensity), encoders, None
    found = estimate_propensity(X, log.action, random_state=random_state)
    return LoggedData(X, log.action, log.reward, found.propensity), encoders, found


def _default_method(test: LoggedData, n_actions: int, interval: str | None) -> str:
    few = len(test) <= MOST_ROWS_FOR_MODELS and len(test) * n_actions <= MOST_PREDICTIONS
    return "doubly_robust" if few and interval != "bernstein" else "snips"


def _loss(decisions: NDArray[Any], teacher: BasePolicy, test: LoggedData, settings: dict[str, Any]) -> Interval | None:
    """Return what decisions earn more, or rather less, than those of the teacher."""
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", OffsetTreeWarning)  # they are in the estimate as well
        return evaluate(decisions, **test.arrays(), baseline=teacher.predict(test.X), **settings).difference


def _taught(policy: BasePolicy, log: LoggedData, held: HoldOut | None = None) -> list[str]:
    """Teach a policy a log; return what warnings of ours said, each once; those of libraries are for developers.

    A search holds rows out as is done here, where that is told.
    """
    beside: dict[str, Any] = {}
    if held is not None and isinstance(policy, PolicySearch):
        ways = {"group": held.group, "time": held.time}
        beside = {name: values[held.train] for name, values in ways.items() if values is not None}
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        policy.fit(**log.arrays(), **beside)
    return list(dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, OffsetTreeWarning)))


def range_of(low: float, high: float) -> tuple[float, float]:
    """Return the range that rewards are taken to have, of which these are the smallest and the largest."""
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def _with_infinity_of(whole: TableEncoder, part: TableEncoder) -> TableEncoder:
    """Let rows held out have infinite numbers where others do, as the whole log is one that such numbers occur in."""
    odd = {column.name for column in whole.columns if column.infinite}
    columns = [replace(column, infinite=column.name in odd) for column in part.columns]
    return TableEncoder(columns, part.notes)


def _rows_of(frame: Any, rows: NDArray[np.intp]) -> Any:
    return frame.iloc[rows] if hasattr(frame, "iloc") else frame[rows]
