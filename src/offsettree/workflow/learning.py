"""Learn a policy from a log, with an estimate of its value on held-out rows."""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._features import is_frame, take_rows
from offsettree._progress import Progress
from offsettree._validation import check_level
from offsettree.base import BasePolicy, is_ours
from offsettree.encoding import TableEncoder
from offsettree.evaluation import PropensityEstimate, estimate_propensity, evaluate
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError
from offsettree.logs import ActionSets, Columns, LoggedData
from offsettree.reductions import distill
from offsettree.selection import PolicySearch
from offsettree.workflow.comparison import MOST_PREDICTIONS, best_constant, compare_with_constant
from offsettree.workflow.holdout import HoldOut, hold_out
from offsettree.workflow.leaks import find_leaks
from offsettree.workflow.learned import Learned
from offsettree.workflow.learners import make_policy

__all__ = [
    "check_sizes",
    "evaluation_settings",
    "fit_policy",
    "known_range",
    "learn_policy",
    "our_warnings",
    "range_of",
    "refuse_single_action",
    "with_estimated_propensity",
]

MOST_ROWS_FOR_MODELS = 20_000  # beyond so many held-out rows, reward models cost much time and gain little


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
        The log. Its X may be a frame of numbers, text and dates with missing values; a `TableEncoder` learned from
        the training rows only encodes it.
    learner : str or policy, default="auto"
        A name of `LEARNERS`, or an unfitted policy of your own.
    base, offset
        As in `make_policy`.
    test_size : float, default=0.3
        The share of rows that are held out.
    split_by_time : str or array of shape (n_rows,), optional
        The time of each decision, in numbers or dates: a column of the log's X, or one value per row. The latest rows
        are held out; rows of the same time stay together. The column remains a feature. "auto" compares its
        candidates on later rows as well.
    group : str or array of shape (n_rows,), optional
        The group of each row, such as the customer: a column of the log's X, or one value per row. All rows of a
        group are on one side of the split. A column given by name is no longer a feature; pass its values to keep it.
        Intervals treat groups, not rows, as independent. "auto" holds out whole groups as well.
    refit : bool, default=True
        Train the returned policy again on all rows, with the same settings; for "auto", only the chosen candidate.
        The estimate is of the policy learned from the training rows.
    distilled : bool, default=False
        Return an `OffsetTree` that imitates the learned policy (see `distill`) and decides in time logarithmic in the
        number of actions. The estimate is of such a tree; `loss` is its difference from its teacher.
    reward_range : (float, float), optional
        Smallest and largest possible reward; by default (0, 1) if all rewards are within, else those of the log. If
        all rewards are equal, there is no interval without it.
    estimated_propensity : bool, default=False
        Estimate the propensities from the actions; ignore those of the log.
    method : str, optional
        Of `evaluate`; by default "doubly_robust" for up to 20,000 held-out rows, and "snips" for more rows or for
        "bernstein" intervals.
    interval, level
        Of `evaluate`; by default its own interval.
    time_budget : float, optional
        Seconds for "auto", with the training on all rows at the end.
    n_jobs : int, optional
        Workers.
    random_state : int or None, default=None
        Seed of the split and of everything else.

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
    check_sizes(level, test_size)
    refuse_single_action(log)
    used_range = reward_range or range_of(log.reward.min(), log.reward.max())
    shared = {"reward_range": used_range, "actions": log.actions, "n_jobs": n_jobs, "random_state": random_state}
    policy = _policy_for(learner, {"base": base, "offset": offset, "time_budget": time_budget}, shared)
    held = hold_out(log, test_size, split_by_time, group, random_state)
    whole, encoders, estimated = _encoded(log, held, estimated_propensity, random_state)
    train, test = whole[held.train], whole[held.test]
    leaks = find_leaks(held.features, log.action, log.reward)
    doubts = [*leaks, *(() if estimated is None else estimated.warnings)]
    started = time.perf_counter()
    warnings = fit_policy(policy, train, held, len(log) if refit else 0)
    seconds = time.perf_counter() - started
    if leaks:  # they name the leaking column; the policy's own warning only numbers it
        warnings = [text for text in warnings if "of X equals the reward" not in text]
    evaluated = distill(policy, train.X, random_state=random_state) if distilled else policy
    decisions = evaluated.predict(test.X)
    method = method or _default_method(test, len(policy.actions_), interval)
    known = known_range(log, reward_range, used_range)
    settings = evaluation_settings(held, method, interval, level, known, random_state)
    valued = decisions if known is None else evaluated
    compared = compare_with_constant(valued, decisions, test, best_constant(train), **settings).doubted(doubts)
    kept, held_out = evaluated, test.X
    if refit:
        kept, X, again = _refit(policy, log, held, encoders, whole.propensity)
        held_out = take_rows(X, held.test)
        kept = distill(kept, X, random_state=random_state) if distilled else kept
        warnings += [text for text in again if text not in warnings and "of X equals" not in text]
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
        reward_range=used_range,
        known_range=known,
        propensity=estimated,
        seconds=seconds,
        refit=refit,
        teacher=policy if distilled else None,
        loss=_loss(decisions, policy, test, settings) if distilled else None,
        notes=held.notes,
        warnings=[*doubts, *warnings],
    )


def check_sizes(level: float, test_size: float) -> None:
    """Refuse a wrong level or test size before hours of learning, not after."""
    check_level(level)
    if not 0 < test_size < 1:
        raise ParameterError(f"test_size must be a share of the rows between 0 and 1; got {test_size}.")


def refuse_single_action(log: LoggedData) -> None:
    """Refuse a log of one action."""
    if len(log.actions) < 2:
        raise LogError(
            f"a log must have at least two actions; all of its {len(log):,} rows have {log.actions.tolist()[0]!r}. "
            "Check the action column."
        )


def _policy_for(learner: Any, settings: dict[str, Any], common: dict[str, Any]) -> BasePolicy:
    """Return the policy that was given, which must have no further settings, or a new one by its name."""
    if not isinstance(learner, BasePolicy):
        return make_policy(str(learner), **settings, **common)
    given = [f"{name}={value!r}" for name, value in settings.items() if value is not None]
    if given:
        raise ParameterError(
            f"{', '.join(given)} must not be given together with a policy: set them on the "
            f"{type(learner).__name__}, or give the name of a learner."
        )
    return learner


def _encoded(
    log: LoggedData, held: HoldOut, estimated_propensity: bool, random_state: int | None
) -> tuple[LoggedData, tuple[TableEncoder, TableEncoder] | None, PropensityEstimate | None]:
    """Return the encoded log, the encoders of the training rows and of all rows, and any estimated propensities."""
    X, encoders = held.features, None
    if is_frame(X):
        of_all = TableEncoder.learn([X])
        encoders = (_accept_infinity_as(of_all, TableEncoder.learn([_rows_of(X, held.train)])), of_all)
        X = encoders[0].encode(X)
    if not estimated_propensity:
        return LoggedData(X, log.columns), encoders, None
    whole, found = with_estimated_propensity(X, log.columns, random_state)
    return whole, encoders, found


def with_estimated_propensity(
    X: Any, columns: Columns, random_state: int | None, sets: ActionSets | None = None
) -> tuple[LoggedData, PropensityEstimate]:
    """Return a log with estimated propensities in the place of its own, and what is known of these."""
    with Progress(1.0) as progress:
        progress.begin("estimating propensities")
        found = estimate_propensity(X, columns, action_sets=sets, random_state=random_state)
    return LoggedData(X, columns._replace(propensity=found.propensity), action_sets=sets), found


def known_range(
    log: LoggedData, given: tuple[float, float] | None, used: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the range of rewards that intervals may rely on.

    If all rewards are equal, the log says nothing about their range: `range_of` has guessed one.
    """
    return used if given is not None or log.reward.min() < log.reward.max() else None


def evaluation_settings(
    held: HoldOut, method: str, interval: str | None, level: float, known: Any, random_state: int | None
) -> dict[str, Any]:
    """Return the settings of `evaluate` for held-out rows."""
    settings = {"method": method, "level": level, "reward_range": known, "random_state": random_state}
    settings |= {} if held.group is None else {"group": held.group[held.test]}
    return settings if interval is None else settings | {"interval": interval}


def _default_method(test: LoggedData, n_actions: int, interval: str | None) -> str:
    few = len(test) <= MOST_ROWS_FOR_MODELS and len(test) * n_actions <= MOST_PREDICTIONS
    return "doubly_robust" if few and interval != "bernstein" else "snips"


def _loss(decisions: NDArray[Any], teacher: BasePolicy, test: LoggedData, settings: dict[str, Any]) -> Interval | None:
    """Return the value of decisions minus that of the teacher's."""
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", OffsetTreeWarning)  # the estimate of the policy holds them
        return evaluate(decisions, **test.judged(), baseline=teacher.predict(test.X), **settings).difference


def fit_policy(policy: Any, log: LoggedData, held: HoldOut | None = None, n_later: int = 0) -> list[str]:
    """Fit a policy; return our warnings, each once.

    A search splits its rows by the same groups or times as `held`, and leaves time to train on `n_later` rows as well.
    """
    split: dict[str, Any] = {}
    if held is not None and isinstance(policy, PolicySearch):
        columns = {"group": held.group, "time": held.time}
        split = {name: values[held.train] for name, values in columns.items() if values is not None}
    if isinstance(policy, PolicySearch):
        policy._n_later = n_later
    try:
        with our_warnings() as texts:
            is_judged = log.action_sets is None and is_ours(policy, "fit")
            policy.fit(**(log.judged() if is_judged else log.arrays()), **split)
    finally:
        vars(policy).pop("_n_later", None)
    return texts


@contextmanager
def our_warnings() -> Iterator[list[str]]:
    """Gather our warnings, each once, in a list filled at the end; those of libraries are for developers: dropped."""
    texts: list[str] = []
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        yield texts
    texts += dict.fromkeys(each.message.args[0] for each in caught if isinstance(each.message, OffsetTreeWarning))


def _refit(
    policy: BasePolicy,
    log: LoggedData,
    held: HoldOut,
    encoders: tuple[TableEncoder, TableEncoder] | None,
    propensity: NDArray[np.float64],
) -> tuple[BasePolicy, Any, list[str]]:
    """Train a copy on all rows; return it, the encoded rows, and warnings. Of a search, train the chosen candidate."""
    X = held.features if encoders is None else encoders[1].encode(held.features)
    again: BasePolicy = clone(getattr(policy, "best_policy_", policy))
    return again, X, fit_policy(again, LoggedData(X, log.columns._replace(propensity=propensity)))


def range_of(low: float, high: float) -> tuple[float, float]:
    """Return the assumed reward range, given the smallest and the largest reward seen."""
    low, high = float(low), float(high)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def _accept_infinity_as(whole: TableEncoder, part: TableEncoder) -> TableEncoder:
    """Let `part` accept infinite numbers in the columns where `whole` does: held-out rows may be the only ones."""
    infinite = {column.name for column in whole.columns if column.infinite}
    columns = [replace(column, infinite=column.name in infinite) for column in part.columns]
    return TableEncoder(columns, part.notes)


def _rows_of(frame: Any, rows: NDArray[np.intp]) -> Any:
    return frame.iloc[rows] if hasattr(frame, "iloc") else frame[rows]
