"""Comparison of a policy with the logged decisions and with the best constant action, on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._messages import Message
from offsettree._texts import join_texts
from offsettree.base import BasePolicy
from offsettree.evaluation import DEFAULT_INTERVAL, Estimate, evaluate
from offsettree.evaluation.estimate import Interval
from offsettree.evaluation.parts import (
    BY_TERMS,
    MODEL_METHODS,
    certain,
    check_group,
    folds_by_group,
    known_positions,
    predict_pairs,
    predict_rewards,
)
from offsettree.exceptions import OffsetTreeWarning
from offsettree.learners import make_learner
from offsettree.logs import CheckedLog, LoggedData
from offsettree.policy import Policy
from offsettree.reductions import ConstantPolicy

__all__ = [
    "POPULAR", "Comparison", "best_constant", "compare_over_sets", "compare_with_constant", "range_seen", "with_doubts",
]  # fmt: skip

MOST_PREDICTIONS = 1 << 25  # rows times actions, held as one table: 256 MB
POPULAR = "the most popular of the eligible actions"
# With more actions taken, and no fewer rows, one boosted model of all takes a fraction of the time of a regressor for
# each, and predicts rewards about as well.
MANY_ACTIONS, ENOUGH_ROWS = 16, 2_500
FORWARD = ("betting", "anytime")  # need reward models trained on earlier rows only: `evaluate` makes its own


@dataclass(frozen=True)
class Comparison:
    """A policy's value beside those of the logged decisions and of one constant action.

    Parameters
    ----------
    estimate : Estimate
        The policy's value, and its difference from the logged decisions'.
    action : int or str
        The best constant action.
    constant : Estimate
        The value of always taking it, and its difference from the logged decisions'.
    gain : Interval
        The policy's value minus that of the constant action.
    doubts : tuple of str
        Serious warnings on the constant action's value that `estimate` does not have.
    same : bool
        Whether the policy takes that action in every row.
    picked_here : bool
        Whether the constant action was picked on the same rows that value it. It then looks better than it is, and
        no verdict rests on it.
    among : bool
        Whether rows have action sets: the constant one is then the most popular of each row's eligible actions, and
        `action` is None.
    """

    estimate: Estimate
    action: Any
    constant: Estimate
    gain: Interval
    doubts: tuple[str, ...] = ()
    same: bool = False
    picked_here: bool = False
    among: bool = False

    @property
    def always(self) -> str:
        """What the constant action is called within a sentence."""
        return POPULAR if self.among else f"always {self.action!r}"

    @property
    def is_open(self) -> bool:
        """Whether no verdict may rest on the constant action."""
        return bool(self.doubts) or self.picked_here

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings on the policy's estimate, then those on the constant action's."""
        others = (text for text in self.doubts if text not in self.estimate.warnings)
        constant = [Message(f"of {self.always}: ", text) for text in others]
        return (*self.estimate.warnings, *constant)

    def doubted(self, doubts: Sequence[str]) -> Comparison:
        """Return a copy with serious warnings on the log itself, such as leaks or poor propensities."""
        return replace(self, estimate=with_doubts(self.estimate, doubts))


def with_doubts(estimate: Estimate, doubts: Sequence[str]) -> Estimate:
    """Return a copy with further serious warnings, which rule out any verdict."""
    warnings, serious = (tuple(dict.fromkeys((*doubts, *known))) for known in (estimate.warnings, estimate.serious))
    return replace(estimate, warnings=warnings, serious=serious)


def best_constant(log: LoggedData) -> Any:
    """Return the action that `ConstantPolicy` picks: the highest estimated value, shrunk where rows are few.

    Estimate the action's value on other rows: on these it is optimistic.

    Examples
    --------
    >>> best_constant(LoggedData([[0.0]] * 4, ["a", "b", "a", "b"], reward=[0, 1, 1, 1], propensity=0.5))
    'b'
    """
    reward_range = range_seen(log)
    checked = CheckedLog.of(np.zeros((len(log), 1)), log.columns, log.actions, reward_range)
    return ConstantPolicy(reward_range=reward_range, actions=log.actions)._fit_checked(checked).action_


def range_seen(log: LoggedData) -> tuple[float, float]:
    """Return the smallest and the largest reward, made to differ."""
    low, high = float(log.reward.min()), float(log.reward.max())
    return low, high if high > low else low + 1.0


def compare_with_constant(
    policy: Any, decisions: NDArray[Any], log: LoggedData, action: Any, *, method: str, **settings: Any
) -> Comparison:
    """Estimate the values of a policy, of the logged decisions and of a constant action on held-out rows.

    `policy` is `decisions` again where the policy's own reward range is only a guess. The constant `action` was picked
    on other rows. `settings` are further ones of `evaluate`: interval, level, reward_range, group, random_state.
    """
    # Of a policy that draws its actions more predictions would be read than are made here: `evaluate` makes its own.
    is_certain = isinstance(policy, np.ndarray) or hasattr(policy, "_positions")
    if is_certain and method in MODEL_METHODS and settings.get("interval") not in FORWARD:
        space = getattr(policy, "actions_", None)
        if space is None:
            space = np.unique(join_texts([np.unique(log.action), np.unique(decisions), np.array([action])]))
        settings |= _predicted_rewards(space, decisions, log, action, settings)
    asked = _Decided(policy, decisions) if isinstance(policy, Policy) else policy
    return _compared(asked, decisions, action, log.judged(), method=method, **settings)


def compare_over_sets(
    decisions: NDArray[Any], popular: NDArray[Any], log: LoggedData, *, method: str, **settings: Any
) -> Comparison:
    """Do as `compare_with_constant` on rows with action sets, with the most `popular` of each by other rows."""
    if method in MODEL_METHODS and settings.get("interval") not in FORWARD:
        settings |= {"reward_model": _predicted_pairs(log, settings.get("random_state"), settings.get("group"))}
    found = _compared(decisions, decisions, popular, log.arrays(), method=method, **settings)
    return replace(found, action=None, among=True)


def _compared(policy: Any, decisions: NDArray[Any], action: Any, arrays: dict[str, Any], **settings: Any) -> Comparison:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # the estimates hold them as well
        estimate = evaluate(policy, **arrays, **settings)
        against = evaluate(decisions, **arrays, baseline=action, **settings)
        constant = evaluate(action, **arrays, **settings)
    doubts = tuple(text for text in constant.serious or against.serious if text not in estimate.serious)
    gain: Any = against.difference
    return Comparison(estimate, action, constant, gain, doubts, bool((decisions == action).all()))


def _predicted_pairs(log: LoggedData, random_state: int | None, group: Any) -> NDArray[np.float64]:
    """Return cross-fitted reward predictions of all pairs of row and action, by ridge regression."""
    sets: Any = log.action_sets
    random = np.random.RandomState(random_state)
    folds = folds_by_group(len(log), random, check_group(group, len(log)))
    model, prior = make_learner("ridge", "regressor"), float(log.reward.mean())
    return predict_pairs(model, log.X, sets, sets.find(log.action), log.reward, folds, random, prior)


@dataclass(frozen=True)
class _Decided:
    """A policy that has decided on the rows of a log: it is not asked again, and does not look at them again."""

    policy: Policy
    decisions: NDArray[Any]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    def _positions(self, X: Any) -> NDArray[np.intp]:
        return known_positions(self.decisions, self.policy.actions_, "policy")

    def _checked(self, X: Any) -> Any:
        return self.policy._checked(X, **({"numbers": False} if isinstance(self.policy, BasePolicy) else {}))


def _predicted_rewards(
    space: NDArray[Any], decisions: NDArray[Any], log: LoggedData, action: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return cross-fitted reward predictions for all three evaluations, as arguments of `evaluate`.

    Only the predictions for the logged action, the policy's and the constant one are ever read; the others stay 0.
    """
    of_all = settings.get("interval", DEFAULT_INTERVAL) not in BY_TERMS
    n_rows = len(log)
    labels = (log.action, decisions, np.array([action]))
    known = all(each.dtype.kind == space.dtype.kind and np.isin(each, space).all() for each in labels)
    if n_rows * len(space) > MOST_PREDICTIONS or not known:  # then `evaluate` fits models of its own
        return {}
    logged, chosen, always = (known_positions(each, space, "policy") for each in labels)
    random = np.random.RandomState(settings.get("random_state"))
    targets = [certain(taken, logged, len(space)) for taken in (chosen, np.repeat(always, n_rows))]
    folds = folds_by_group(n_rows, random, check_group(settings.get("group"), n_rows))
    model = "boosting" if len(np.unique(chosen)) > MANY_ACTIONS and n_rows >= ENOUGH_ROWS else None
    of_policy, of_constant = predict_rewards(
        model, log.X, logged, log.reward, len(space), targets, folds, random, of_all=of_all
    )
    table, row = np.zeros((n_rows, len(space))), np.arange(n_rows)
    table[row, logged] = of_policy.on_logged
    table[row, chosen] = of_policy.on_policy
    table[:, always[0]] = of_constant.on_policy
    return {"reward_model": table, "actions": space}
