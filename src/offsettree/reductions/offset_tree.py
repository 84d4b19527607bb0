"""Offset tree: a policy from logged rewards, by k - 1 binary contests (Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if

from offsettree._available import Available
from offsettree._features import Features, count_rows
from offsettree._validation import as_random_state
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantClassifier, default_classifier
from offsettree.logs import CheckedLog, LoggedData
from offsettree.models import Tournaments
from offsettree.reading import ColumnSpace, read_contests
from offsettree.reductions._binned_log import BinnedLog
from offsettree.reductions._contests import train_separately
from offsettree.reductions._cross_fit import CrossFit
from offsettree.reductions._ladder import Ladder, share_kept
from offsettree.reductions._leaf_scale import choose_leaf_scale
from offsettree.reductions._native import NativeContests, flatten_native, is_native
from offsettree.reductions._nodes import NodeLearner, random_folds
from offsettree.reductions._offset import Votes, mean_rewards, resolve_offset, warn_if_one_sided, warn_of_unlogged
from offsettree.reductions._out_of_core import fit_out_of_core
from offsettree.reductions._partial import Memory, check_growing, teach_chunk, teaches_chunks, warn_of_short_start
from offsettree.reductions._reward_models import check_reward_model
from offsettree.reductions._robust_contests import RowEstimates, check_robust, train_robustly
from offsettree.reductions._settled import fit_reward_models, rows_settling
from offsettree.reductions._shared import train_shared
from offsettree.reductions._sides import descend
from offsettree.topology import ActionTree, tree_from

__all__ = ["OffsetTree"]


class OffsetTree(BasePolicy):
    """Policy learned from logged rewards, one binary classifier per node of a tree over actions.

    Every node is a contest between the winners of its two subtrees. It learns from those rows of the log whose own
    action the nodes below still choose: a reward of at least the offset is a vote for the side the action came from,
    a lower one a vote against it, with weight abs(reward - offset) / propensity. A decision walks from the root to
    a leaf: about log2 k classifiers are asked.

    Parameters
    ----------
    estimator : classifier, optional
        Trained at every node. Any binary classifier will do: one whose `fit` takes no sample weights is wrapped in
        `Costing`. By default `offsettree.learners.default_classifier()`, a regularised decision tree.
    tree : {"balanced", "random", "similar", "learned"}, ActionTree or nested pairs of labels, default="balanced"
        The shape. "similar" puts actions of similar mean reward side by side, "learned" those whose rewards are
        similar given x, by a linear model of the reward per action (see `ActionTree.learned`). In an `ActionTree` the
        leaves are positions in `actions_`, in nested pairs such as ``(("red", "blue"), "green")`` they are labels. For
        a chain of hundreds use an `ActionTree`: Python cannot copy pairs nested that deep.
    offset : float, "mean", "median", "median_given_x" or regressor, default=0.5
        What a reward is compared with, as a share of `reward_range`: 0.5 is its middle. "mean" and "median" are those
        of the logged rewards, rows weighted by 1 / propensity, as if actions had been drawn evenly. "median_given_x"
        is the median of rows with similar contexts, weighted alike and cross-fitted: of all offsets the median reward
        given x minimises the regret bound. A regressor is cross-fitted to predict the reward given x, and its
        prediction is the offset of each row. See docs/offsets.md for which to take when.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    node_models : {"separate", "shared"}, default="separate"
        "separate": a clone of the estimator per node. "shared": the nodes of a level share a classifier, with the node
        as an extra feature (a zero-one column per node, so meant for a moderate number of actions). Levels are trained
        from the leaves up: a level's classifier learns from the contests of all nodes up to it. `n_jobs` has no part in
        it. It helps where contests resemble each other and costs where they do not. A linear learner can only shift its
        intercept from node to node: use one that finds interactions.
    path_filter : {"in_sample", "out_of_fold"} or float, default="in_sample"
        Who decides that a row's action is still chosen, so that the row climbs on. "in_sample": the classifiers of the
        nodes below, as in the paper, though they were trained on that very row and may remember it. "out_of_fold":
        for each row, classifiers trained without it, in three folds; four fits per node instead of one. A number from
        0 to 1: in sample, but a row keeps this part of its weight for each contest below that it has lost, and all
        rows climb to the root; Theorem 4.1 holds for 0, which is "in_sample", only. See docs/path-filter.md for which
        is worth its price when. "separate" node models only.
    reward_model : "linear", "boosting" or regressor, optional
        By default none, as in the paper: a contest learns from those rows whose own action reaches it. With a model of
        the rewards every row has a say in every contest: by how much the winner of the left side would have earned
        more in it than that of the right side, as estimated doubly robustly (the model's prediction, and for the
        action logged (reward - prediction) / propensity on top). The model is cross-fitted, in three folds. "linear"
        is a linear model per action, shrunk towards the mean of all; "boosting" is `RewardBoosting`, one for all
        actions; a regressor is trained on each action's rows alone. This varies less, and costs k - 1 fits on all
        rows, where otherwise about log2 k rows in k reach a contest. `offset` has no part in it, and `n_jobs` in the
        models only; "separate" node models only, and no `partial_fit`.
    actions : array of shape (n_actions,), optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log; needed when
        some were never logged.
    n_jobs : int, optional
        How many workers train at once, each whole subtrees: threads of our own for histogram trees; through joblib
        threads for scikit-learn's trees and forests, processes for other learners, or whatever backend
        `joblib.parallel_config` sets. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the estimators that have no seed of their own, a random tree, the samples behind a learned one, and
        the folds of an offset that depends on x, or of the path filter.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    tree_ : ActionTree
        The tree; its leaves are positions in `actions_`.
    estimators_ : list of n_actions - 1 fitted classifiers
        By node of `tree_`. They answer 1 where the left side wins, else 0.
    node_rows_ : ndarray of shape (n_actions - 1,)
        How many rows trained each node.
    offset_ : float
        The offset used, as a share of the reward range; the mean over all rows where it depends on x.
    n_rounds_ : int
        Rounds of training: 1, or as many as there are levels where `node_models="shared"`.
    compiled_ : CompiledTree or None
        The policy in flat arrays, by which it decides; made when first needed. None where an estimator is of a kind
        that cannot be flattened: then the rows that reach a node are sent to its estimator's `predict` together.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A contest that no row reaches is won by the left side, always. One that hears votes for one side only is won by
    that side, always; one of fewer than 50 rows on which the learner fails, by the side with more weight (a warning
    tells). An action that was never logged may win against one that earned little: a warning names such actions.
    A reward that equals the offset has weight zero and is left out everywhere. Ties within a contest are the
    estimator's to decide. Weights are scaled to mean 1 at each node, so that settings such as the strength of
    a penalty mean the same whatever the propensities.

    Where the estimator has `partial_fit`, so has the policy: it learns from a log that grows.
    An estimator that memorises its rows lets all of them climb to the next node: regularise it, or let
    ``path_filter="out_of_fold"`` judge them.

    References
    ----------
    Beygelzimer and Langford, "The Offset Tree for Learning with Partial Labels", KDD 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import OffsetTree, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> train, test = log.split(test_size=0.3, random_state=0)
    >>> policy = OffsetTree(random_state=0).fit(**train.arrays())
    >>> policy.decide([5.1, 3.5, 1.4, 0.2])
    0
    >>> bool(policy.score(**test.arrays()) > test.reward.mean())
    True
    """

    _default_learner = staticmethod(default_classifier)

    __metadata_request__partial_fit = {"action": UNUSED, "reward": True, "propensity": True, "available": True}  # noqa: RUF012

    tree_: ActionTree
    estimators_: Sequence[Any]
    node_rows_: NDArray[np.int64]
    _memory: Memory | None = None

    def __init__(
        self,
        estimator: Any = None,
        *,
        tree: Any = "balanced",
        offset: Any = 0.5,
        reward_range: Sequence[float] = (0.0, 1.0),
        node_models: Literal["separate", "shared"] = "separate",
        path_filter: Any = "in_sample",
        reward_model: Any = None,
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.tree = tree
        self.offset = offset
        self.reward_range = reward_range
        self.node_models = node_models
        self.path_filter = path_filter
        self.reward_model = reward_model
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, log: CheckedLog) -> None:
        if self.node_models not in ("separate", "shared"):
            raise ParameterError(f"node_models must be 'separate' or 'shared'; got {self.node_models!r}.")
        share = share_kept(self.path_filter)
        if self.node_models == "shared" and (share > 0 or self.path_filter == "out_of_fold"):
            raise ParameterError(
                f"path_filter must be 'in_sample' where node_models is 'shared', as one classifier judges the rows of "
                f"all contests; got {self.path_filter!r}. Use node_models='separate'."
            )
        self._memory, random = None, as_random_state(self.random_state)
        native = self.node_models == "separate" and is_native(self._learner(), self.path_filter)
        learner: Any = self._learner() if native else NodeLearner(self._learner())
        if self.reward_model is not None:
            check_robust(self.node_models, self.path_filter)
            check_reward_model(self.reward_model)
        offset = self._settle(log, random)
        if self.reward_model is not None:
            self._fit_to(CrossFit.make(self.reward_model, log, random, self.n_jobs), random, log.available)
            return
        X, action, reward, propensity, available = log.parts()
        del log  # here and below: what is used up makes room
        votes = Votes.cast(reward, propensity, offset)
        del reward, propensity, offset  # which may be as large as the votes
        warn_if_one_sided(votes.tally())
        warn_of_unlogged(action, self.actions_)
        seeds = self._node_seeds(random)
        if native:
            own_vote = votes.signed()
            del votes
            binned = BinnedLog.make(X, action, own_vote, available=available)
            sample = rows_settling(X) if learner.leaf_scale == "auto" else None
            del X, action, own_vote, available  # the binned log has what it needs of them
            scale = choose_leaf_scale(binned, learner, random, sample=sample)
            training = binned.training(self.tree_, learner, scale, seeds)
            del binned  # the policy itself may be large, and takes its place
            grown = training.grow(effective_n_jobs(self.n_jobs))
            del training
            self.estimators_, self.node_rows_ = grown.joined()
        elif self.node_models == "separate":
            folds = random_folds(len(action), random) if self.path_filter == "out_of_fold" else None
            ladder = Ladder.at_leaves(self.tree_, action, votes.weight > 0, share, available)
            del action  # the ladder has what it needs of it
            self.estimators_, self.node_rows_, weight = train_separately(
                ladder, learner, X, votes, seeds, self.n_jobs, folds=folds
            )
            self._memory = Memory.of_fit(seeds, self.estimators_, self.node_rows_, weight)
        else:
            self.estimators_, self.node_rows_, self.n_rounds_ = train_shared(
                self.tree_, learner, X, action, votes, int(seeds[0]), available
            )

    def _fit_to(
        self, estimates: RowEstimates, random: np.random.RandomState, available: Available | None = None
    ) -> None:
        """Train every contest of `tree_` on all rows, by estimates of what actions would earn in them."""
        folds = random_folds(count_rows(estimates.X), random) if self.path_filter == "out_of_fold" else None
        self._memory = None
        self.n_rounds_, self.offset_ = 1, getattr(self, "offset_", 0.5)
        learner, seeds = NodeLearner(self._learner()), self._node_seeds(random)
        self.estimators_, self.node_rows_ = train_robustly(
            self.tree_, learner, estimates, seeds, folds=folds, available=available
        )

    def fit_log(self, chunks: Iterable[LoggedData], *, folder: Any = None, verbose: bool | None = None) -> Self:
        """Learn from a log that need not fit into memory: the policy of `fit`, in bounded memory.

        The rows are written to a scratch file by action, once. Contests are then trained depth first, so that only the
        rows that wait beside one path of the tree are in memory: of every contest, those that have reached it.

        Parameters
        ----------
        chunks : iterable of LoggedData
            The log in portions of any lengths, iterated over once: ``LoggedData.scan(path)``, a list, a generator. X
            is an array of numbers, or a frame of numbers, with the same columns in every chunk.
        folder : path, optional
            Where to make the scratch folder, by default that of the system for temporary files. It needs 20 bytes
            a row and 4 more per row and column of X, and is removed at the end, whatever happens.
        verbose : bool, optional
            Whether to tell of the progress on standard error. By default where that is a terminal.

        Notes
        -----
        X is stored as float32. On an X of float32 the decisions are those of `fit` on all rows at once, whatever the
        chunks and `n_jobs`: rows meet their contests in the same order, with the same weights and seeds, and bins of
        histogram trees are cut at the same places. On X of another type they are those of ``fit(X.astype("float32"))``.
        ``tree="learned"``, and a histogram tree with ``leaf_scale="auto"``, are settled by a sample of 262,144 rows in
        both; only of more than 128 MB of X the sample here is smaller, and `fit` looks at all rows.

        The most memory is what the largest contest and those that wait beside it hold: at the leaves all rows of two
        actions. With `n_jobs` workers every one of them has a path of its own.

        Errors count rows over all chunks. A chunk that is refused, a disk that is full and an interrupt leave the
        policy as it was. `node_models="shared"`, `reward_model`, offsets that depend on x, and path filters other than
        "in_sample" need all rows at once and are refused.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from offsettree import OffsetTree, simulate_log
        >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
        >>> policy = OffsetTree(random_state=0).fit_log([log[:100], log[100:]])
        >>> policy.decide([5.1, 3.5, 1.4, 0.2])
        0
        """
        with self._all_or_nothing():
            fit_out_of_core(self, chunks, folder, verbose)
            self._prepare_anew()
        return self

    @available_if(teaches_chunks)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Features,
        action: ArrayLike | None = None,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        available: Any = None,
    ) -> Self:
        """Learn from one more chunk of a log; there is such a method where the estimator has one.

        Every contest that the chunk reaches is taught by its estimator's `partial_fit`, children first, with those
        rows of the chunk whose own action the nodes below, as taught on this chunk, still choose. After `fit` it
        goes on from the classifiers fitted. A chunk that is refused, or on which an estimator fails, leaves the policy
        as it was.

        Parameters
        ----------
        X, action, reward, propensity, available
            As in `fit`, with the same columns in every chunk. Name all actions up front, by `actions`: else they are
            those of the first chunk, and later ones are refused.

        Notes
        -----
        The first chunk settles the tree and the offset, where "similar", "learned", "mean" or "median" leave them to
        the rows: make it a long one, or name a tree and a number. Offsets that depend on x,
        `path_filter="out_of_fold"`, `node_models="shared"` and `reward_model` need the whole log and are refused;
        `n_jobs` has no part in it.

        Weights are divided by the mean weight of all rows that have reached the node so far, so that a row counts as
        much in a short chunk as in a long one. An estimator whose `partial_fit` takes no sample weights is shown each
        row with probability weight / largest weight so far.

        A contest that no row has reached is won by the left side. One whose estimator has been taught votes for
        one side only is won by the side with more weight so far. That estimator is told of both labels, and is asked
        once it knows both. A constant that stands for a contest after `fit` makes way for a new estimator.
        """
        with self._all_or_nothing():
            first = "tree_" not in self.__dict__
            log = self._judge(X, action, reward, propensity, available=available, first=first)
            X, position, gain, chance, sets = log.parts()
            share = check_growing(self.node_models, self.path_filter, self.offset, self.reward_model)
            random = as_random_state(self.random_state)
            if first:
                warn_of_short_start(self.tree, self.offset, len(position))
                self._settle(log, random)
                self.estimators_ = [ConstantClassifier()] * self.tree_.n_nodes
                self.node_rows_ = np.zeros(self.tree_.n_nodes, dtype=np.int64)
            votes = Votes.cast(gain, chance, self.offset_)
            if first:
                warn_if_one_sided(votes.tally())
            memory = self._memory or Memory.of_fit(self._node_seeds(random), self.estimators_)
            self.estimators_, self._memory = teach_chunk(
                self.tree_, self._learner(), self.estimators_, memory, X, position, votes, share, sets
            )
            self.node_rows_ = self.node_rows_ + (self._memory.n_rows - memory.n_rows)
            self._prepare_anew()
        return self

    def _settle(self, log: CheckedLog, random: np.random.RandomState) -> float | NDArray[np.float64]:
        """Settle the tree and the offset by the rows of a log; return the offset, or that of each row."""
        X, action, reward, propensity, _ = log.parts()
        n_actions = len(self.actions_)
        means = partial(mean_rewards, action, reward, propensity, n_actions)
        models = partial(fit_reward_models, log, n_actions, random)
        self.tree_ = tree_from(self.tree, self.actions_, means, models, random)
        offset = resolve_offset(self.offset, X, reward, random, propensity)
        self.offset_, self.n_rounds_ = float(np.mean(offset)), 1
        return offset

    def _node_seeds(self, random: np.random.RandomState) -> NDArray[np.int64]:
        return random.randint(np.iinfo(np.int32).max, size=self.tree_.n_nodes)

    @classmethod
    def assembled(
        cls, forest: Any, tree: ActionTree, estimators: Sequence[Any], node_rows: NDArray[np.int64]
    ) -> OffsetTree:
        """Return a tree of a forest, whose contests have been trained already."""
        settings = {name: getattr(forest, name) for name in ("reward_range", "path_filter", "actions")}
        policy = cls(forest._learner(), tree=tree, offset=forest.offset_, **settings)
        policy.tree_, policy.estimators_, policy.node_rows_ = tree, estimators, node_rows
        policy.offset_, policy.n_rounds_ = forest.offset_, 1
        policy._take_over(forest)
        return policy

    def _as_model(self, space: ColumnSpace) -> Tournaments:
        contests = self.estimators_
        if isinstance(contests, NativeContests):
            return Tournaments([self.tree_], flatten_native([contests], space), voting=False)
        return Tournaments([self.tree_], read_contests(contests, space), voting=False)

    def _is_slow_to_flatten(self) -> bool:
        return not isinstance(self.estimators_, NativeContests)

    def _as_numbers(self, frame: Features) -> Features:
        contests = self.estimators_
        return contests.bins.numbers(frame) if isinstance(contests, NativeContests) else super()._as_numbers(frame)

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return descend(self.tree_, self.estimators_, X)

    def _ask_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return descend(self.tree_, self.estimators_, X, Available(mask))
