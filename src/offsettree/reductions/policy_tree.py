"""Policy tree: the best of all shallow trees, as readable rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from offsettree._available import best_of
from offsettree._features import Features
from offsettree._validation import as_random_state, check_truth, check_whole
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import Bins, HistogramTree
from offsettree.logs import CheckedLog
from offsettree.models import Scores
from offsettree.reading import ColumnSpace
from offsettree.reductions._cross_fit import CrossFit
from offsettree.reductions._offset import warn_of_unlogged
from offsettree.reductions._reward_models import check_reward_model
from offsettree.reductions.rules._as_scores import rules_as_scores
from offsettree.reductions.rules._grow import RewardEstimates, grow_rules
from offsettree.reductions.rules._rule import Rule
from offsettree.reductions.rules._search import Limits, Table, find_depth, find_tree

__all__ = ["PolicyTree"]

DEPTHS = (1, 2)
FEWEST_ROWS, SMALLEST_SHARE = 10, 100


class PolicyTree(BasePolicy):
    """Policy of a few rules that can be printed: the best of all trees of one or two levels.

    Every row and action has a doubly robust estimate of its reward: the cross-fitted prediction of a reward model plus,
    for the logged action, the model's error divided by the propensity. The value of a tree is the mean estimate of the
    actions that it takes, and the tree of the largest value is found exactly. Trees grown greedily, one split at a
    time, miss it if two columns matter only together.

    Parameters
    ----------
    depth : {1, 2}, default=2
        Largest number of tests per decision: two or four leaves.
    reward_model : "linear", "boosting" or regressor, default="linear"
        Predicts rewards. "linear" are linear models that share information between actions, "boosting" is
        `RewardBoosting`, a regressor is trained on each action's own rows.
    prune : bool, default=True
        Use fewer levels, or none, if their cross-validated value (three folds) is larger: the best of thousands of
        trees always looks good on the rows it was found on. With False, all levels are used that increase the value on
        these rows.
    min_rows : int, optional
        Smallest number of rows in a leaf. By default a hundredth of all, and at least 10.
    max_features : int, default=50
        Number of columns searched; the time of `depth=2` grows with its square. If X has more, those with the best
        single splits are searched.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. The model's predictions are clipped to it.
    actions : array of labels, optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log.
    n_jobs : int, optional
        Columns searched in parallel, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the folds of the reward model, and seeds it.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The action labels.
    root_ : Rule
        The tree: `column`, `name`, `threshold` or `category` of the test, `left` and `right`, and at every node the
        `action`, the estimated `values` of all actions, and `n_rows`.
    compiled_ : SplitGraph
        The policy in flat arrays, which decides.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A numeric column is cut between all its values if it has up to 63, else at as many quantiles; the search is exact
    over these cuts. A nominal column is tested for one of its 62 most frequent values. Rows with a missing value may go
    to either side, or be separated from all others. If the best action of a leaf is not available, the next by `values`
    is taken; `rank` uses the same order. In rows with a mask of available actions, an action counts by its advantage
    over the mean of the available ones.

    The search stores n k numbers and, for two levels, takes time proportional to n k p^2, with n rows, k actions and p
    columns.

    References
    ----------
    Zhou, Athey and Wager, "Offline multi-action policy learning: generalization and optimization", Operations Research
    71 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from offsettree import PolicyTree, simulate_log
    >>> random = np.random.RandomState(0)
    >>> visits = pd.DataFrame({"age": random.randint(18, 80, 2000), "member": random.choice(["no", "yes"], 2000)})
    >>> best = np.where(visits["age"] > 50, np.where(visits["member"] == "yes", "call", "mail"), "wait")
    >>> log = simulate_log(visits, best, random_state=0)
    >>> policy = PolicyTree(random_state=0).fit(**log.arrays())
    >>> print(policy.rules())
    if age <= 50.5:
        take wait  (...)
    else (age > 50.5):
        if member is yes:
            take call  (...)
        else (member is not yes):
            take mail  (...)
    >>> policy.decide({"age": 64, "member": "yes"})
    'call'
    """

    estimator = None
    _default_learner = staticmethod(HistogramTree)

    def __init__(
        self,
        depth: int = 2,
        *,
        reward_model: Any = "linear",
        prune: bool = True,
        min_rows: int | None = None,
        max_features: int = 50,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.depth = depth
        self.reward_model = reward_model
        self.prune = prune
        self.min_rows = min_rows
        self.max_features = max_features
        self.reward_range = reward_range
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def rules(self) -> str:
        """Return the tree as text: a line per test and leaf, with column names and action labels.

        Estimates are kept within `reward_range`.
        """
        check_is_fitted(self)
        return "\n".join(self.root_.lines(self.reward_range))

    def _fit(self, log: CheckedLog) -> None:
        self._check_parameters()
        check_reward_model(self.reward_model)
        warn_of_unlogged(log.position, self.actions_)
        random = as_random_state(self.random_state)
        n_actions, n_rows = len(self.actions_), len(log.position)
        self._bins = Bins.fit(log.X)
        table = Table.of(self._bins, self._bins.codes(self._bins.numbers(log.X)))
        estimates = CrossFit.make(self.reward_model, log, random, self.n_jobs)
        rewards = RewardEstimates.of(estimates.rewards(np.arange(n_actions)), log.available, self.reward_range)
        least = max(FEWEST_ROWS, n_rows // SMALLEST_SHARE) if self.min_rows is None else int(self.min_rows)
        limits, depth = Limits(least, int(self.max_features)), int(self.depth)
        if self.prune:
            depth = find_depth(table, rewards.advantage, depth, estimates.folds, limits, self.n_jobs)
        top = find_tree(table, rewards.advantage, depth, limits, self.n_jobs) if depth else None
        names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(self.n_features_in_)])
        self.root_: Rule = grow_rules(top, table, self._bins, rewards, [str(name) for name in names], self.actions_)

    def _as_model(self, space: ColumnSpace) -> Scores:
        return rules_as_scores(self.root_, self._bins, space, len(self.actions_))

    def _as_numbers(self, frame: Features) -> Features:
        numbers = self._bins.numbers(frame)
        nominal = self._prepared.inputs.nominal
        if nominal is None:
            return numbers
        # A category that is tested for has a column of its own; the levels of a column are in the order of their codes.
        of_category = [what if what >= 0 else np.nan for _, what in nominal.shown]
        seen = numbers[:, [column for column, _ in nominal.shown]]
        return np.where(np.isnan(of_category), seen, seen == of_category).astype(np.float32)

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return self._ask_rank(X, 1, None)[:, 0]

    def _ask_rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        numbers = self._bins.numbers(X)
        dense = np.asarray(numbers.toarray() if hasattr(numbers, "toarray") else numbers)
        return best_of(self.root_.values_of(dense, self._bins.categories), n, mask)

    def _check_parameters(self) -> None:
        if isinstance(self.depth, bool) or self.depth not in DEPTHS:
            raise ParameterError(
                f"depth must be 1 or 2, as the exact search for deeper trees takes too long; got {self.depth!r}."
            )
        check_truth("prune", self.prune)
        if self.min_rows is not None:
            check_whole("min_rows", self.min_rows, 1)
        check_whole("max_features", self.max_features, 1)
