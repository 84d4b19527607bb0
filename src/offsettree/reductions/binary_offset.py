"""Binary Offset: a policy between two actions, by one weighted binary classification (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from offsettree._features import Features, take_rows
from offsettree._validation import as_random_state
from offsettree.base import BasePolicy
from offsettree.exceptions import ActionError
from offsettree.learners import default_classifier
from offsettree.logs import CheckedLog
from offsettree.models import Tournaments
from offsettree.reading import ColumnSpace, read_contests
from offsettree.reductions._nodes import NodeLearner, may_assume_finite, node_settings, prefers_left
from offsettree.reductions._offset import Votes, resolve_offset, warn_if_one_sided, warn_of_unlogged
from offsettree.topology import ActionTree

__all__ = ["BinaryOffset"]


class BinaryOffset(BasePolicy):
    """Policy between two actions, learned as one weighted binary classification.

    A reward of at least the offset is a vote for the action taken, a lower one a vote for the other, with weight
    abs(reward - offset) / propensity. The policy's regret is at most the classifier's regret (Theorem 3.1), although
    half of the labels were never seen. The same as an `OffsetTree` over two actions.

    Parameters
    ----------
    estimator : classifier, optional
        Any binary classifier; one whose `fit` takes no sample weights is wrapped in `Costing`. By default
        `offsettree.learners.default_classifier()`.
    offset : float, "mean", "median", "median_given_x" or regressor, default=0.5
        What a reward is compared with, as in `OffsetTree`.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    actions : array of shape (2,), optional
        The two labels; by default those of the log.
    random_state : int, RandomState instance or None, default=None
        Seeds the estimator where it has no seed of its own, and the folds of an offset that depends on x.

    Attributes
    ----------
    actions_ : ndarray of shape (2,)
        The labels.
    estimator_ : fitted classifier
        Answers 1 for the first action, else 0. A constant where all votes were for one action.
    offset_ : float
        The offset used, as a share of the reward range.
    compiled_ : CompiledTree or None
        The policy in flat arrays, as in `OffsetTree`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from offsettree import BinaryOffset
    >>> X, action = [[0.0], [0.0], [1.0], [1.0]], ["call", "mail", "call", "mail"]
    >>> policy = BinaryOffset(random_state=0).fit(X * 20, action * 20, reward=[1, 0, 0, 1] * 20, propensity=0.5)
    >>> policy.predict([[0.0], [1.0]])
    array(['call', 'mail'], dtype='<U4')
    """

    _default_learner = staticmethod(default_classifier)

    def __init__(
        self,
        estimator: Any = None,
        *,
        offset: Any = 0.5,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.offset = offset
        self.reward_range = reward_range
        self.actions = actions
        self.random_state = random_state

    def _fit(self, log: CheckedLog) -> None:
        X, action, reward, propensity, available = log.parts()
        if len(self.actions_) != 2:
            raise ActionError(
                f"BinaryOffset chooses between two actions; got {len(self.actions_)}. Use OffsetTree for more."
            )
        random = as_random_state(self.random_state)
        learner = NodeLearner(self._learner())
        offset = resolve_offset(self.offset, X, reward, random, propensity)
        self.offset_ = float(np.mean(offset))
        votes = Votes.cast(reward, propensity, offset)
        warn_if_one_sided(votes.tally())
        warn_of_unlogged(action, self.actions_)
        rows = votes.weighted()
        if available is not None:
            rows = rows[available.count()[rows] == 2]  # who has no choice says nothing of it
        label = votes.for_left(rows, action[rows] == 0)
        seed = int(random.randint(np.iinfo(np.int32).max))
        with node_settings(assume_finite=may_assume_finite(learner.estimator, X)):
            self.estimator_ = learner.fit(take_rows(X, rows), label, votes.scaled_weights(rows)[0], seed)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _as_model(self, space: ColumnSpace) -> Tournaments:
        return Tournaments([ActionTree.balanced(2)], read_contests([self.estimator_], space), voting=False)

    def _is_slow_to_flatten(self) -> bool:
        return True

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return np.where(prefers_left(self.estimator_, X), 0, 1)

    def _ask_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.where(mask.all(axis=1), self._choose(X), mask.argmax(axis=1))
