"""A log in, a policy and an honest estimate of its worth out."""

from __future__ import annotations

import time
import warnings as python_warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._features import is_frame, take_rows
from offsettree.base import BasePolicy
from offsettree.evaluation import Estimate, PropensityEstimate, estimate_propensity
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError
from offsettree.logs import LoggedData, TableEncoder
from offsettree.workflow.comparison import MOST_PREDICTIONS, Comparison, best_constant, compare_with_constant
from offsettree.workflow.holdout import group_codes, split_rows, time_ranks
from offsettree.workflow.leaks import find_leaks
from offsettree.workflow.learners import make_policy

__all__ = ["Learned", "learn_policy", "range_of"]

MOST_ROWS_FOR_MODELS = 20_000  # held out, with which reward models of an evaluation are worth their time
DEPENDENT = (
    "Rows of one group may be alike, where intervals take all rows to be independent: they are too narrow then, and "
    "the more so the more rows a group has."
)


@dataclass(frozen=True, eq=False)
class Learned:
    """A policy learned from a log, what it is worth, and what was noticed.

    Parameters
    ----------
    policy : policy
        The one to use. Learned again from all rows, unless `refit` says otherwise: then it is `evaluated`. It takes
        the numbers that `encoder` makes of raw rows.
    encoder : TableEncoder or None
        Turns raw rows into numbers; None where the log held numbers already.
    evaluated : policy
        Learned from the training rows alone: what the estimate is of, and the decisions are by.
    train, test : LoggedData
        The rows learned from and those held out, encoded by the training rows alone.
    test_encoder : TableEncoder or None
        That encoded them.
    compared : Comparison
        The value of `evaluated` on the rows held out, beside what was logged and beside the best constant action, which
        was picked on the training rows.
    decisions : array of shape (len(test),)
        What `evaluated` does in the rows held out.
    held_out : array of shape (len(test), n_features)
        The rows held out as `policy` takes them.
    reward_range : (float, float)
        The range of rewards that was taken.
    propensity : PropensityEstimate or None
        Where propensities were estimated.
    seconds : float
        What learning took, the second time not counted.
    refit : bool
        Whether `policy` was learned again from all rows.
    notes : list of str
        How rows were held out, and what became of the columns that say so.
    warnings : list of str
        What was said on the way.
    """

    policy: BasePolicy
    encoder: TableEncoder | None
    evaluated: BasePolicy
    train: LoggedData
    test: LoggedData
    test_encoder: TableEncoder | None
    compared: Comparison
    decisions: NDArray[Any]
    held_out: Any
    reward_range: tuple[float, float]
    propensity: PropensityEstimate | None
    seconds: float
    refit: bool
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def estimate(self) -> Estimate:
        """The value of `evaluated` on the rows held out, and its difference to what was logged."""
        return self.compared.estimate


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
        same time stay together. The column stays a feature.
    group : str or array of shape (n_rows,), optional
        A column of the log's X, or values beside it, that tells whose decision it was: all rows of a group, such as
        those of one customer, are on one side. The column is left out of the features, as an identifier is; pass its
        values instead of its name to keep it.
    refit : bool, default=True
        Learn the policy that is returned again from all rows, with the same settings; of "auto" the candidate that was
        chosen. The estimate is of the one that was learned from the training rows.
    reward_range : (float, float), optional
        Smallest and largest possible reward; by default (0, 1) if all rewards are within, else those of the log.
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
    if not 0 < level < 1:  # now, rather than after hours of learning
        raise ParameterError(f"level must be between 0 and 1, such as 0.95; got {level}.")
    if not 0 < test_size < 1:
        raise ParameterError(f"test_size must be a share of the rows between 0 and 1; got {test_size}.")
    if len(log.actions) < 2:
        raise LogError(
            f"a log must have at least two actions to choose among; all of its {len(log):,} rows have "
            f"{log.actions.tolist()[0]!r}. Is it the right column?"
        )
    low_high = reward_range or range_of(float(log.reward.min()), float(log.reward.max()))
    features, train_rows, test_rows, notes = _hold_out(log, test_size, split_by_time, group, random_state)
    encoder = kept_encoder = None
    if is_frame(features):
        kept_encoder = TableEncoder.learn([features])
        encoder = _with_infinity_of(kept_encoder, TableEncoder.learn([_rows_of(features, train_rows)]))
    X = features if encoder is None else encoder.encode(features)
    leaks = find_leaks(features, log.action, log.reward)
    heard = list(leaks)
    estimated = None
    propensity = log.propensity
    if estimated_propensity:
        estimated = estimate_propensity(X, log.action, random_state=random_state)
        propensity = estimated.propensity
        heard += list(estimated.warnings)
    whole = LoggedData(X, log.action, log.reward, propensity)
    train, test = whole[train_rows], whole[test_rows]
    policy = (
        learner
        if isinstance(learner, BasePolicy)
        else make_policy(
            learner,
            base,
            offset=offset,
            reward_range=low_high,
            actions=log.actions,
            time_budget=time_budget,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    )
    started = time.perf_counter()
    # A leak that has been told of by its name is not told of again by its number.
    heard += [said for said in _taught(policy, train) if not (heard and "of X equals the reward" in said)]
    seconds = time.perf_counter() - started
    few = len(test) <= MOST_ROWS_FOR_MODELS and len(test) * len(policy.actions_) <= MOST_PREDICTIONS
    decisions = policy.predict(test.X)
    compared = compare_with_constant(
        policy,
        decisions,
        test,
        best_constant(train),
        method=method or ("doubly_robust" if few and interval != "bernstein" else "snips"),
        **({} if interval is None else {"interval": interval}),
        level=level,
        reward_range=low_high,
        random_state=random_state,
    )
    # What learned from a leak is worth nothing where decisions are taken: no verdict stands beside one.
    doubted = replace(compared.estimate, serious=(*compared.estimate.serious, *leaks))
    compared = replace(compared, estimate=doubted)
    kept, held_out = policy, test.X
    if refit:
        # Not the search again: what it chose.
        kept = clone(getattr(policy, "best_policy_", policy))
        everything = LoggedData(
            features if kept_encoder is None else kept_encoder.encode(features), log.action, log.reward, propensity
        )
        heard += [said for said in _taught(kept, everything) if said not in heard and "of X equals" not in said]
        held_out = take_rows(everything.X, test_rows)
    return Learned(
        policy=kept,
        encoder=kept_encoder if refit else encoder,
        evaluated=policy,
        train=train,
        test=test,
        test_encoder=encoder,
        compared=compared,
        decisions=decisions,
        held_out=held_out,
        reward_range=low_high,
        propensity=estimated,
        seconds=seconds,
        refit=refit,
        notes=notes,
        warnings=heard,
    )


def _hold_out(
    log: LoggedData, test_size: float, split_by_time: Any, group: Any, random_state: int | None
) -> tuple[Any, NDArray[np.intp], NDArray[np.intp], list[str]]:
    """Return the features, the rows to learn from, those held out, and what is to be said of it."""
    n_rows, features = len(log), log.X
    if split_by_time is not None and group is not None:
        raise ParameterError(
            "give either split_by_time or group, not both: a customer whose rows are both early and late would have to "
            "be on both sides."
        )
    if split_by_time is not None:
        values, name = _values_of(log, split_by_time, "split_by_time")
        train, test = split_rows(n_rows, test_size, time=time_ranks(values, n_rows, name))
        return features, train, test, [f"Held out: the {len(test):,} latest rows, by {name}."]
    if group is not None:
        values, name = _values_of(log, group, "group")
        codes = group_codes(values, n_rows, name)
        train, test = split_rows(n_rows, test_size, random_state, group=codes)
        n_groups, n_test = len(np.unique(codes)), len(np.unique(codes[test]))
        notes = [f"Held out: all rows of {n_test:,} of the {n_groups:,} groups, by {name}."]
        notes += [DEPENDENT] if n_groups < n_rows else []
        if isinstance(group, str):
            features = features[[each for each in features.columns if str(each) != group]]
            notes.append(f"column {group!r} is left out: it tells the groups apart, as an identifier does.")
        return features, train, test, notes
    return features, *split_rows(n_rows, test_size, random_state), []


def _values_of(log: LoggedData, given: Any, parameter: str) -> tuple[Any, str]:
    """Return the values of a column named or given, and what to call it."""
    if not isinstance(given, str):
        name = getattr(given, "name", None)
        return given, f"column {name!r}" if isinstance(name, str) and name else parameter
    if not is_frame(log.X) or given not in log.X.columns:
        there = f"it has {', '.join(map(str, log.X.columns))}" if is_frame(log.X) else "it has no names"
        raise ParameterError(
            f"{parameter} must be the name of a column of the log's X, or one value per row; X has no column "
            f"{given!r}: {there}."
        )
    return log.X[given], f"column {given!r}"


def _taught(policy: BasePolicy, log: LoggedData) -> list[str]:
    """Teach a policy a log; return what warnings of ours said, each once; those of libraries are for developers."""
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        policy.fit(**log.arrays())
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
