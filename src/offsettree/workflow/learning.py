"""A log in, a policy and an honest estimate of its worth out."""

from __future__ import annotations

import time
import warnings as python_warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import is_frame
from offsettree.base import BasePolicy
from offsettree.evaluation import Estimate, PropensityEstimate, estimate_propensity, evaluate
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError
from offsettree.logs import LoggedData, TableEncoder
from offsettree.workflow.learners import make_policy

__all__ = ["Learned", "learn_policy", "range_of"]

MOST_ROWS_FOR_MODELS = 20_000  # held out, with which reward models of an evaluation are worth their time


@dataclass(frozen=True, eq=False)
class Learned:
    """A policy learned from a log, what it is worth, and what was noticed.

    Parameters
    ----------
    policy : policy
        Fitted on the numbers that `encoder` makes of raw rows.
    encoder : TableEncoder or None
        Turns raw rows into numbers; None where the log held numbers already.
    train, test : LoggedData
        The rows learned from and those held out, encoded.
    estimate : Estimate
        The policy's value on the rows held out, and its difference to what was logged.
    decisions : array of shape (len(test),)
        What the policy does in the rows held out.
    reward_range : (float, float)
        The range of rewards that was taken.
    propensity : PropensityEstimate or None
        Where propensities were estimated.
    seconds : float
        What learning took.
    warnings : list of str
        What was said on the way.
    """

    policy: BasePolicy
    encoder: TableEncoder | None
    train: LoggedData
    test: LoggedData
    estimate: Estimate
    decisions: NDArray[Any]
    reward_range: tuple[float, float]
    propensity: PropensityEstimate | None
    seconds: float
    warnings: list[str] = field(default_factory=list)


def learn_policy(
    log: LoggedData,
    *,
    learner: str | BasePolicy = "auto",
    base: str | None = None,
    test_size: float = 0.3,
    reward_range: tuple[float, float] | None = None,
    estimated_propensity: bool = False,
    method: str | None = None,
    interval: str = "normal",
    level: float = 0.95,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> Learned:
    """Split a log, learn from one part, and evaluate on the other.

    Parameters
    ----------
    log : LoggedData
        Its X may be a frame of numbers, words and dates with gaps; it is encoded as `TableEncoder` does, by the
        training rows alone.
    learner : str or policy, default="auto"
        A name of `LEARNERS`, or a policy of your own, not fitted.
    base : str, optional
        As in `make_policy`.
    test_size : float, default=0.3
        The share of rows that are held out.
    reward_range : (float, float), optional
        Smallest and largest possible reward; by default (0, 1) if all rewards are within, else those of the log.
    estimated_propensity : bool, default=False
        Estimate the propensities from the actions; those of the log are not looked at.
    method : str, optional
        Of `evaluate`; by default "doubly_robust" on up to 20,000 rows held out, "snips" on more, where reward models
        take long and gain little, and for intervals by "bernstein".
    interval, level
        Of `evaluate`.
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
    train_rows, test_rows = _split(len(log), test_size, random_state)
    encoder = TableEncoder.learn([_rows_of(log.X, train_rows)]) if is_frame(log.X) else None
    X = log.X if encoder is None else encoder.encode(log.X)
    heard: list[str] = []
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
            reward_range=low_high,
            actions=log.actions,
            time_budget=time_budget,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    )
    started = time.perf_counter()
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        policy.fit(**train.arrays())
    heard += _sayings(caught)
    seconds = time.perf_counter() - started
    if method is None:
        method = "snips" if len(test) > MOST_ROWS_FOR_MODELS or interval == "bernstein" else "doubly_robust"
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", OffsetTreeWarning)  # they are in the estimate as well
        estimate = evaluate(
            policy, **test.arrays(), method=method, interval=interval, level=level, random_state=random_state
        )
    return Learned(policy, encoder, train, test, estimate, policy.predict(test.X), low_high, estimated, seconds, heard)


def range_of(low: float, high: float) -> tuple[float, float]:
    """Return the range that rewards are taken to have, of which these are the smallest and the largest."""
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def _split(n_rows: int, test_size: float, random_state: int | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    n_test = round(n_rows * test_size)
    if n_test < 1 or n_test >= n_rows:
        raise LogError(f"the log of {n_rows} rows cannot be split with test_size={test_size}: a part would be empty.")
    order = np.random.default_rng(random_state).permutation(n_rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _rows_of(frame: Any, rows: NDArray[np.intp]) -> Any:
    return frame.iloc[rows] if hasattr(frame, "iloc") else frame[rows]


def _sayings(caught: list[python_warnings.WarningMessage]) -> list[str]:
    """Return what warnings of ours said, each once; those of libraries are for developers."""
    return list(dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, OffsetTreeWarning)))
