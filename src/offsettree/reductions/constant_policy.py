"""The best constant action: a policy that ignores x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from offsettree._features import Features, count_rows
from offsettree._labels import some_labels
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import HistogramTree
from offsettree.logs import CheckedLog
from offsettree.models import Constant
from offsettree.reading import ColumnSpace
from offsettree.reductions._action_values import shrunken_values

__all__ = ["ConstantPolicy"]


class ConstantPolicy(BasePolicy):
    """Policy that always takes one action: the baseline that any other policy must beat.

    Without an `action`, `fit` picks the one of the highest estimated value. The estimates are those of `score`
    (self-normalised, weighted by 1 / propensity), shrunk towards their common mean: the noisier an estimate, the more,
    so that an action tried three times does not win by luck. The amount of shrinkage is estimated from the log
    (empirical Bayes): by how much more the estimates differ than their noise explains. Taking the action of the largest
    posterior mean has the largest expected reward.

    Parameters
    ----------
    action : int or str, optional
        The label of the action to take. By default the one of the highest estimated value.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of labels, optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The action labels.
    action_ : int or str
        The action taken.
    values_ : ndarray of shape (n_actions,)
        The estimated value of each action, in the order of `actions_` and in units of the reward. If some actions are
        not available, the best of the others is taken; `rank` uses the same order.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The features are checked but not used. An action never logged gets the common mean, and is taken only if nothing
    else is available. Rows with a single available action (see `available` in `fit`) are left out, if there are others.

    Examples
    --------
    >>> from offsettree import ConstantPolicy
    >>> X, action = [[0.0]] * 400, ["call", "mail", "mail", "wait"] * 100
    >>> propensity = [0.25, 0.5, 0.5, 0.25] * 100
    >>> policy = ConstantPolicy().fit(X, action, reward=[0, 1, 1, 0] * 50 + [1, 0, 1, 0] * 50, propensity=propensity)
    >>> policy.action_, policy.decide([0.0]), policy.decide([0.0], available=["call", "wait"])
    ('mail', 'mail', 'call')
    >>> policy.values_.round(2)
    array([0.5 , 0.75, 0.  ])
    """

    estimator = None
    _default_learner = staticmethod(HistogramTree)  # X may hold anything that this learner takes

    def __init__(
        self,
        action: Any = None,
        *,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
    ) -> None:
        self.action = action
        self.reward_range = reward_range
        self.actions = actions

    def _fit(self, log: CheckedLog) -> None:
        _, action, reward, propensity, available = log.parts()
        if available is not None and (free := available.count() > 1).any():
            action, reward, propensity = action[free], reward[free], propensity[free]
        values = shrunken_values(action, reward, propensity, len(self.actions_))
        low, high = self.reward_range
        self.values_ = low + (high - low) * values
        preference = values.copy()
        preference[np.bincount(action, minlength=len(values)) == 0] = -np.inf
        if self.action is not None:
            preference[self._position_of(self.action)] = np.inf
        self._order: NDArray[np.intp] = np.argsort(-preference, kind="stable")
        self.action_ = self.actions_[self._order[0]].item()

    def _position_of(self, label: Any) -> int:
        known: list[Any] = self.actions_.tolist()
        label = label.item() if isinstance(label, np.generic) else label
        if not isinstance(label, int | str) or isinstance(label, bool) or label not in known:
            raise ParameterError(
                f"action must be None or one of the policy's {len(known)} actions, {some_labels(self.actions_)}; got "
                f"{label!r}. If it was never logged, name all actions: actions=[...]."
            )
        return known.index(label)

    def _as_model(self, space: ColumnSpace) -> Constant:
        space.keep_all()  # rows are still judged by their columns
        order = self._order.astype(np.int64)
        return Constant(int(order[0]), len(order), order)

    def _as_numbers(self, frame: Features) -> Features:
        return frame  # of which only the rows are counted

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return np.repeat(self._order[:1], count_rows(X))

    def _ask_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.asarray(self._order[mask[:, self._order].argmax(axis=1)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
