"""The offset tree over actions with features: contests by what is known about the two that meet."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._validation import as_random_state
from offsettree.actions._contest import ContestLearner
from offsettree.actions._cores import TREES, PairTournament, TreeOrder
from offsettree.actions._encoding import ActionEncoding
from offsettree.actions._reward_column import learn_rewards, offset_of
from offsettree.actions._tournament import climb
from offsettree.actions.base import BaseActionPolicy
from offsettree.actions.policy import ActionLog, check_choice
from offsettree.logs import ActionSets

__all__ = ["ActionOffsetTree"]


class ActionOffsetTree(BaseActionPolicy):
    """Offset tree whose contests are decided by the features of context and actions, so that any action may take part.

    Each row has a balanced tree over its own eligible actions. A contest is decided by one classifier per height above
    the leaves, from the context and the features of the two actions that meet. Swapping the two flips the answer. It
    is trained by Algorithm 2: from the leaves up, by the rows whose logged action won all contests below. Theorem 4.1
    holds for ``offset=0.5``, with the largest number of eligible actions in the place of k; with other offsets its
    bound is up to twice as large.

    Parameters
    ----------
    estimator : classifier, optional
        Decides contests. By default logistic regression without an intercept on differences of products of features.
    predicted_rewards : bool, default=True
        Whether the reward that the default regression of `ActionRegression` predicts for an action is a feature of it
        in contests, beside its own. In training it is predicted by models of other rows.
    inputs : {"difference", "both"}, default="difference"
        What a classifier sees: the features of the left action and their products with those of the context minus
        those of the right action; or the context and both actions as well, for learners that are not linear.
    tree : {"seeded", "similar", "given"}, default="seeded"
        The order of the leaves: by the hash of id and seed, by the first principal component of the features, so that
        actions meet their like first, or as the sets have them.
    heights : {"cumulative", "separate"}, default="cumulative"
        Whether the classifier of a height learns from the contests of all heights up to it, or of its own alone, which
        halve in number with every height.
    offset : float, "mean" or "predicted", default="predicted"
        Rewards above it, on the scale of 0 to 1, speak for the action taken, those below for the other one. The paper's
        is 0.5; "mean" is that of the log. "predicted" lies between the rewards of the two that meet, as a regression on
        other rows predicts them: what speaks for either side is then much the same, which leaves less to chance.
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

    _learned = "core_"

    def __init__(
        self,
        estimator: Any = None,
        *,
        predicted_rewards: bool = True,
        inputs: Literal["difference", "both"] = "difference",
        tree: Literal["seeded", "similar", "given"] = "seeded",
        heights: Literal["cumulative", "separate"] = "cumulative",
        offset: float | Literal["mean", "predicted"] = "predicted",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.predicted_rewards = predicted_rewards
        self.inputs = inputs
        self.tree = tree
        self.heights = heights
        self.offset = offset
        self.reward_range = reward_range
        self.random_state = random_state

    def _fit(self, log: ActionLog) -> None:
        check_choice("tree", self.tree, TREES)
        cumulative = check_choice("heights", self.heights, ("cumulative", "separate")) == "cumulative"
        check_choice("inputs", self.inputs, ("difference", "both"))
        seed = int(as_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        encoding = ActionEncoding.learn(log.X, log.sets, log.pair)
        x, a = encoding.tables(log.X, log.sets)
        order = TreeOrder(self.tree, seed, np.linalg.svd(a[log.pair], full_matrices=False)[2][0])
        is_asked = self.predicted_rewards or (isinstance(self.offset, str) and self.offset == "predicted")
        learned = learn_rewards(log, x, a, seed) if is_asked else None
        column, predicted = (None, None) if learned is None else learned
        offset = offset_of(self.offset, log, predicted)
        with_rewards = self.predicted_rewards and column is not None
        learner = ContestLearner(
            self.estimator, self.inputs, cumulative=cumulative, with_rewards=with_rewards, seed=seed
        )
        core = PairTournament(encoding, order, learner.models, column if with_rewards else None)
        inputs = a if core.rewards is None or predicted is None else core.rewards.beside(a, predicted)
        climb(
            order.leaves(log.sets, a),
            log.sets.starts,
            log.pair,
            log.scaled,
            log.propensity,
            offset,
            lambda height, contests, is_left, weight: learner.learn(x, inputs, contests, is_left, weight),
            lambda height, contests: core.left_wins(height, x, inputs, log.sets.ids, contests),
        )
        self.core_, self.encoding_ = core, encoding
        self.estimators_, self.n_rows_ = learner.estimators, learner.n_rows

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        self._check_fitted()
        return self.core_.choose(X, sets)

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        self._check_fitted()
        return self.core_.choose_of_one(x, actions)
