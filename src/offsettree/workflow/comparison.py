"""A policy beside what was logged, and beside the best constant action: all three valued on the same rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import Estimate, evaluate
from offsettree.evaluation._reward_models import predict_rewards, random_folds
from offsettree.evaluation._targets import certain
from offsettree.evaluation._terms import MODEL_METHODS
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import OffsetTreeWarning
from offsettree.logs import LoggedData
from offsettree.reductions import ConstantPolicy

__all__ = ["Comparison", "best_constant", "compare_with_constant"]

MOST_PREDICTIONS = 1 << 25  # rows times actions, of which a table is held: 256 MB
FORWARD = ("betting", "anytime")  # their reward models learn from earlier rows only: `evaluate` makes its own


@dataclass(frozen=True)
class Comparison:
    """What a policy is worth, beside what was logged and beside always taking one action.

    Parameters
    ----------
    estimate : Estimate
        The policy's value, and its difference to what was logged.
    action : int or str
        The best constant action.
    constant : Estimate
        The value of always taking it, and its difference to what was logged.
    gain : Interval
        The policy's value minus that of always taking the action.
    doubtful : bool
        Whether a serious warning stands against what the constant action is said to be worth.
    same : bool
        Whether the policy takes that action in every row.
    """

    estimate: Estimate
    action: Any
    constant: Estimate
    gain: Interval
    doubtful: bool = False
    same: bool = False


def best_constant(log: LoggedData) -> Any:
    """Return the action that `ConstantPolicy` picks: of the highest estimated value, few rows not trusted too far.

    Parameters
    ----------
    log : LoggedData
        Rows to pick by. Values on the same rows would favour what they were picked by: value it on others.

    Examples
    --------
    >>> best_constant(LoggedData([[0.0]] * 4, ["a", "b", "a", "b"], reward=[0, 1, 1, 1], propensity=0.5))
    'b'
    """
    low, high = float(log.reward.min()), float(log.reward.max())
    policy = ConstantPolicy(reward_range=(low, high if high > low else low + 1.0), actions=log.actions)
    nothing = np.zeros((len(log), 1))  # it looks at no feature
    return policy.fit(nothing, log.action, reward=log.reward, propensity=log.propensity).action_


def compare_with_constant(
    policy: Any, decisions: NDArray[Any], log: LoggedData, action: Any, *, method: str, **settings: Any
) -> Comparison:
    """Value a policy, what was logged, and always taking one action, on rows that none of them was made by.

    Parameters
    ----------
    policy : policy
        Fitted.
    decisions : array of shape (n_rows,)
        What it does in these rows.
    log : LoggedData
        The rows held out.
    action : int or str
        The constant action, picked on other rows.
    method : str
        Of `evaluate`.
    **settings : Any
        As `evaluate` takes them: interval, level, reward_range, random_state.
    """
    if method in MODEL_METHODS and settings.get("interval") not in FORWARD:
        settings |= _predicted(policy.actions_, decisions, log, action, settings.get("random_state"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # they are in the estimates as well
        estimate = evaluate(policy, **log.arrays(), method=method, **settings)
        beside = evaluate(decisions, **log.arrays(), method=method, baseline=action, **settings)
        constant = evaluate(action, **log.arrays(), method=method, **settings)
    known = set(estimate.serious)
    doubts = {*beside.serious, *constant.serious} - known
    same = bool((decisions == action).all())
    gain: Any = beside.difference
    return Comparison(estimate, action, constant, gain, bool(doubts), same)


def _predicted(
    space: NDArray[Any], decisions: NDArray[Any], log: LoggedData, action: Any, random_state: int | None
) -> dict[str, Any]:
    """Return rewards predicted once for all three, by models that did not learn from the row, as `evaluate` takes them.

    Of each row's predictions only those of the logged action, of the policy's and of the constant one are ever read;
    the others are left at 0.
    """
    n_rows = len(log)
    known = log.action.dtype.kind == space.dtype.kind and np.isin(log.action, space).all()
    if n_rows * len(space) > MOST_PREDICTIONS or not known:  # then `evaluate` makes its own
        return {}
    logged, chosen, always = (_places(labels, space) for labels in (log.action, decisions, np.array([action])))
    random = np.random.RandomState(random_state)
    targets = [certain(taken, logged, len(space)) for taken in (chosen, np.repeat(always, n_rows))]
    of_policy, of_constant = predict_rewards(
        None, log.X, logged, log.reward, len(space), targets, random_folds(n_rows, random), random
    )
    table, row = np.zeros((n_rows, len(space))), np.arange(n_rows)
    table[row, logged] = of_policy.on_logged
    table[row, chosen] = of_policy.on_policy
    table[:, always[0]] = of_constant.on_policy
    return {"reward_model": table, "actions": space}


def _places(labels: NDArray[Any], space: NDArray[Any]) -> NDArray[np.intp]:
    order = np.argsort(space)
    return np.asarray(order[np.searchsorted(space[order], labels)], dtype=np.intp)
