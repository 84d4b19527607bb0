"""A policy beside what was logged, and beside the best constant action: all three valued on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import Estimate, evaluate
from offsettree.evaluation._groups import check_group, folds_by_group
from offsettree.evaluation._reward_models import predict_rewards
from offsettree.evaluation._targets import certain
from offsettree.evaluation._terms import MODEL_METHODS
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import OffsetTreeWarning
from offsettree.logs import LoggedData
from offsettree.reductions import ConstantPolicy

__all__ = ["Comparison", "best_constant", "compare_with_constant", "with_doubts"]

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
    doubts : tuple of str
        Serious warnings against what the constant action is said to be worth, beside those of `estimate`.
    same : bool
        Whether the policy takes that action in every row.
    picked_here : bool
        Whether the constant action was picked by the very rows that it is valued on: then nothing definite can be said
        of it, as it looks better than it is.
    """

    estimate: Estimate
    action: Any
    constant: Estimate
    gain: Interval
    doubts: tuple[str, ...] = ()
    same: bool = False
    picked_here: bool = False

    @property
    def is_open(self) -> bool:
        """Whether nothing definite can be said of the constant action."""
        return bool(self.doubts) or self.picked_here

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against trusting the policy's estimate, and then that of the constant action."""
        said = [f"of always {self.action!r}: {text}" for text in self.doubts if text not in self.estimate.warnings]
        return (*self.estimate.warnings, *said)

    def doubted(self, doubts: Sequence[str]) -> Comparison:
        """Return the same with doubts of the log itself, beside which no verdict stands: leaks, poor propensities."""
        return replace(self, estimate=with_doubts(self.estimate, doubts))


def with_doubts(estimate: Estimate, doubts: Sequence[str]) -> Estimate:
    """Return the same with further serious warnings: while one stands, no verdict does."""
    warnings, serious = (tuple(dict.fromkeys((*doubts, *said))) for said in (estimate.warnings, estimate.serious))
    return replace(estimate, warnings=warnings, serious=serious)


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
    policy : policy or array of shape (n_rows,)
        Fitted; or its decisions again, where the range of rewards that it was given is no more than a guess.
    decisions : array of shape (n_rows,)
        What it does in these rows.
    log : LoggedData
        The rows held out.
    action : int or str
        The constant action, picked on other rows.
    method : str
        Of `evaluate`.
    **settings : Any
        As `evaluate` takes them: interval, level, reward_range, group, random_state.
    """
    # Of a policy that draws its actions more predictions would be read than are made here: `evaluate` makes its own.
    is_certain = isinstance(policy, np.ndarray) or hasattr(policy, "_positions")
    if is_certain and method in MODEL_METHODS and settings.get("interval") not in FORWARD:
        space = getattr(policy, "actions_", None)
        if space is None:
            space = np.unique(np.concatenate([log.action, decisions, [action]]))
        settings |= _predicted(space, decisions, log, action, settings.get("random_state"), settings.get("group"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # they are in the estimates as well
        estimate = evaluate(policy, **log.arrays(), method=method, **settings)
        beside = evaluate(decisions, **log.arrays(), method=method, baseline=action, **settings)
        constant = evaluate(action, **log.arrays(), method=method, **settings)
    doubts = tuple(text for text in constant.serious or beside.serious if text not in estimate.serious)
    same = bool((decisions == action).all())
    gain: Any = beside.difference
    return Comparison(estimate, action, constant, gain, doubts, same)


def _predicted(
    space: NDArray[Any], decisions: NDArray[Any], log: LoggedData, action: Any, random_state: int | None, group: Any
) -> dict[str, Any]:
    """Return rewards predicted once for all three, by models that did not learn from the row, as `evaluate` takes them.

    Of each row's predictions only those of the logged action, of the policy's and of the constant one are ever read;
    the others are left at 0.
    """
    n_rows = len(log)
    labels = (log.action, decisions, np.array([action]))
    known = all(each.dtype.kind == space.dtype.kind and np.isin(each, space).all() for each in labels)
    if n_rows * len(space) > MOST_PREDICTIONS or not known:  # then `evaluate` makes its own
        return {}
    logged, chosen, always = (_places(each, space) for each in labels)
    random = np.random.RandomState(random_state)
    targets = [certain(taken, logged, len(space)) for taken in (chosen, np.repeat(always, n_rows))]
    folds = folds_by_group(n_rows, random, check_group(group, n_rows))
    of_policy, of_constant = predict_rewards(None, log.X, logged, log.reward, len(space), targets, folds, random)
    table, row = np.zeros((n_rows, len(space))), np.arange(n_rows)
    table[row, logged] = of_policy.on_logged
    table[row, chosen] = of_policy.on_policy
    table[:, always[0]] = of_constant.on_policy
    return {"reward_model": table, "actions": space}


def _places(labels: NDArray[Any], space: NDArray[Any]) -> NDArray[np.intp]:
    order = np.argsort(space)
    return np.asarray(order[np.searchsorted(space[order], labels)], dtype=np.intp)
