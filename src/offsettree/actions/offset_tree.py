"""The offset tree over actions with features: contests by what is known about the two that meet."""

from __future__ import annotations

import zlib
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from offsettree._features import Features
from offsettree._validation import as_random_state, is_number
from offsettree.actions._contest import ContestLearner
from offsettree.actions._encoding import ActionEncoding, row_blocks, some_rows
from offsettree.actions._tournament import Contests, climb, leaves_in_order, play
from offsettree.actions.policy import ActionPolicy, check_choice, judge_log
from offsettree.exceptions import ParameterError
from offsettree.logs import ActionSets

__all__ = ["ActionOffsetTree"]

Matrix = NDArray[np.float64]


class ActionOffsetTree(BaseEstimator, ActionPolicy):
    """Offset tree whose contests are decided by the features of context and actions, so that any action may take part.

    Each row has a balanced tree over its own eligible actions. A contest is decided by one classifier per height above
    the leaves, from the context and the features of the two actions that meet. Swapping the two flips the answer. It
    is trained by Algorithm 2: from the leaves up, by the rows whose logged action won all contests below. Theorem 4.1
    holds, with the largest number of eligible actions in the place of k.

    Parameters
    ----------
    estimator : classifier, optional
        Decides contests. By default logistic regression without an intercept on differences of products of features.
    inputs : {"difference", "both"}, default="difference"
        What a classifier sees: the features of the left action and their products with those of the context minus
        those of the right action; or the context and both actions as well, for learners that are not linear.
    tree : {"seeded", "similar", "given"}, default="seeded"
        The order of the leaves: by the hash of id and seed, by the first principal component of the features, so that
        actions meet their like first, or as the sets have them.
    heights : {"cumulative", "separate"}, default="cumulative"
        Whether the classifier of a height learns from the contests of all heights up to it, or of its own alone, which
        halve in number with every height.
    offset : float or "mean", default="mean"
        Rewards above it, on the scale of 0 to 1, speak for the action taken, those below for the other one. The paper's
        is 0.5; "mean" is that of the log.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    random_state : int, RandomState instance or None, default=None
        Seeds the trees and the classifiers.

    Attributes
    ----------
    estimators_ : list
        The classifier of each height, from the leaves up.
    n_rows_ : list of int
        How many rows reached the contests of each height.

    References
    ----------
    Beygelzimer and Langford, "The Offset Tree for Learning with Partial Labels", KDD 2009.

    Examples
    --------
    >>> from offsettree import ActionOffsetTree, simulate_catalogue
    >>> train, test = simulate_catalogue(4000, random_state=0).split_days(5)
    >>> policy = ActionOffsetTree(random_state=0).fit(**train.log.arrays())
    >>> chosen = policy.predict(test.log.X, test.log.action_sets)
    >>> test.value(chosen) > test.uniform_value + 0.15
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        inputs: Literal["difference", "both"] = "difference",
        tree: Literal["seeded", "similar", "given"] = "seeded",
        heights: Literal["cumulative", "separate"] = "cumulative",
        offset: float | Literal["mean"] = "mean",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.inputs = inputs
        self.tree = tree
        self.heights = heights
        self.offset = offset
        self.reward_range = reward_range
        self.random_state = random_state

    def fit(
        self,
        X: Features,
        action: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        action_sets: ActionSets | None = None,
    ) -> Self:
        """Learn from a log.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        action : array of shape (n_rows,)
            The ids of the actions taken.
        reward : array of shape (n_rows,)
            What they earned.
        propensity : array of shape (n_rows,) or float
            The probability with which each was chosen.
        action_sets : ActionSets
            The eligible actions of each row.
        """
        log = judge_log(X, action, reward, propensity, action_sets, self.reward_range)
        check_choice("tree", self.tree, ("seeded", "similar", "given"))
        cumulative = check_choice("heights", self.heights, ("cumulative", "separate")) == "cumulative"
        check_choice("inputs", self.inputs, ("difference", "both"))
        offset = float(log.reward.mean()) if isinstance(self.offset, str) and self.offset == "mean" else self.offset
        if not is_number(offset) or not 0 <= offset <= 1:
            raise ParameterError(f"offset must be a number from 0 to 1, or 'mean'; got {self.offset!r}.")
        random = as_random_state(self.random_state)
        self.seed_ = int(random.randint(np.iinfo(np.int32).max))
        self.encoding_ = ActionEncoding(log.X, log.sets, log.pair)
        x, a = self.encoding_.tables(log.X, log.sets)
        self.direction_ = np.linalg.svd(a[log.pair], full_matrices=False)[2][0]
        learner = ContestLearner(self.estimator, self.inputs, cumulative=cumulative, seed=self.seed_)
        climb(
            self._leaves(log.sets, a),
            log.sets.starts,
            log.pair,
            log.reward,
            log.propensity,
            float(offset),
            lambda height, contests, is_left, weight: learner.learn(x, a, contests, is_left, weight),
            lambda height, contests: learner.decide(height, x, a, log.sets.ids, contests),
        )
        self.learner_, self.estimators_, self.n_rows_ = learner, learner.estimators, learner.n_rows
        return self

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        self._check_fitted()
        chosen = np.empty(len(sets), dtype=np.intp)
        for rows in row_blocks(sets, sets.n_item_features + sets.n_pair_features + 1):
            part = sets.take(rows)
            x, a = self.encoding_.tables(some_rows(X, rows), part)
            chosen[rows] = self._winners(x, a, part) + sets.starts[rows[0]]
        return chosen

    def decide(self, x: Any, actions: Any) -> Any:
        """Return the id of the best action for one context; its position where actions have no ids.

        Parameters
        ----------
        x : mapping of names to values, or sequence of numbers
            The context.
        actions : list of mappings, array of shape (n_actions, n_features), or ActionSets of one row
            The eligible actions; of an array, features of items come before those of pairs.
        """
        self._check_fitted()
        row, a, labels = self.encoding_.of_one(x, actions)
        ids = ActionSets([list(range(len(a))) if labels is None else labels])
        place = int(self._winners(row, a, ids)[0])
        return place if labels is None else labels[place]

    def _winners(self, x: Matrix, a: Matrix, sets: ActionSets) -> NDArray[np.intp]:
        def decide(height: int, contests: Contests) -> NDArray[np.bool_]:
            return self.learner_.decide(height, x, a, sets.ids, contests)

        return play(self._leaves(sets, a), sets.starts, decide)

    def _leaves(self, sets: ActionSets, a: Matrix) -> NDArray[np.intp]:
        if self.tree == "given":
            return np.arange(len(sets.ids))
        if self.tree == "similar":
            return leaves_in_order(sets, a @ self.direction_)
        labels, code = np.unique(sets.ids, return_inverse=True)
        names = [f"{label}".encode(errors="surrogatepass") for label in labels.tolist()]
        drawn = np.array([zlib.crc32(name, self.seed_) for name in names])
        return leaves_in_order(sets, drawn[code])

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            raise NotFittedError(f"{type(self).__name__} has not learned yet: call fit first.")
