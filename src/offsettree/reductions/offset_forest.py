"""Offset forest: many offset trees over different trees of the actions, voting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.parallel import delayed

from offsettree._available import Available
from offsettree._features import Features, count_rows, take_rows
from offsettree._validation import as_random_state, check_truth, check_whole, is_number
from offsettree._workers import parallel
from offsettree.base import BasePolicy, snips
from offsettree.exceptions import ParameterError
from offsettree.learners import HistogramTree, forest_classifier
from offsettree.logs import CheckedLog, LoggedData
from offsettree.models import Contests, Tournaments
from offsettree.reading import ColumnSpace, read_contests
from offsettree.reductions._binned_log import BinnedLog
from offsettree.reductions._contests import train_separately
from offsettree.reductions._forest_out_of_core import fit_forest_out_of_core
from offsettree.reductions._ladder import Ladder, share_kept
from offsettree.reductions._leaf_scale import COMMITTEE, choose_leaf_scale
from offsettree.reductions._native import NativeContests, flatten_native, is_native
from offsettree.reductions._nodes import NodeLearner, random_folds, releases_the_interpreter
from offsettree.reductions._offset import Votes, mean_rewards, resolve_offset, warn_if_one_sided, warn_of_unlogged
from offsettree.reductions._settled import fit_reward_models, rows_settling
from offsettree.reductions.offset_tree import OffsetTree
from offsettree.topology import ActionTree, RewardModels, tree_from

__all__ = ["OffsetForest"]

VOTES_AT_ONCE = 1 << 24  # counts of one piece of the rows, where each row needs one per action


class OffsetForest(BasePolicy):
    """Policy by vote of many offset trees, each over a tree of the actions of its own.

    A single offset tree decides with the few rows that reach its upper contests, and a wrong turn is final. Trees that
    pair the actions differently err differently: their vote is much better than each of them. This is the policy to
    try first where accuracy counts; a single `OffsetTree` is smaller and decides faster.

    Parameters
    ----------
    estimator : classifier, optional
        Trained at every node of every tree. By default a `HistogramTree` that draws its cuts at random, as extra-trees
        do, with leaves whose size is chosen on rows held out: small where rewards are clear, large where they are
        noise. With linear classifiers the forest is an ensemble of linear contests.
    n_trees : int, default=100
        How many trees vote.
    tree : {"learned", "random", "similar", "balanced"}, ActionTree or nested pairs, default="learned"
        The trees over the actions. "learned" draws for each a tree that puts actions side by side whose rewards are
        similar given x, "random" one in random order; with any other all trees are the same, and differ only by the
        estimator's seed and the rows drawn.
    randomize : float, default=0.5
        How much learned trees differ, from 0 (not at all) to 1 (nearly random).
    bootstrap : bool, default=False
        Train each tree on rows drawn with replacement. The rows left out then give an estimate of the policy's value,
        `oob_value_`, for nothing.
    linear_scores : bool, default=True
        Give every contest of histogram trees one more column: by how much the rewards that linear models predict for
        the actions on its left exceed those for the actions on its right, in the mean. Splits are across the columns
        of X; with this one they can also follow a direction that matters. Numeric columns of a dense X count, up to
        256 of them. With another `path_filter` than "in_sample", or another estimator, there are no such scores.
    offset : float, "mean", "median", "median_given_x" or regressor, default="mean"
        What a reward is compared with, as in `OffsetTree`.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    path_filter : {"in_sample", "out_of_fold"} or float, default="in_sample"
        Which rows climb, as in `OffsetTree`.
    actions : array of labels, optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log; needed when
        some were never logged.
    n_jobs : int, optional
        Trees that are trained at once, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the trees, the rows drawn, and the seeds of estimators that have none.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The action labels.
    estimators_ : list of OffsetTree
        The trees, fitted.
    offset_ : float
        The offset used, as a share of the reward range; the mean over all rows where it depends on x.
    leaf_scale_ : float or None
        The `leaf_scale` of the histogram trees, where these are the estimators.
    oob_value_ : float or None
        With `bootstrap`, the estimated value of the policy, in the units of the reward: on each row of the log only
        those trees vote that were trained without it. None without, and where no row could be judged.
    compiled_ : CompiledForest or None
        The forest in flat arrays, by which it decides; None where an estimator cannot be flattened.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A tie between actions goes to the one that comes first in `actions_`. Every setting was chosen by experiment, see
    docs/forest.md.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import OffsetForest, simulate_log
    >>> log = simulate_log(*load_digits(return_X_y=True), random_state=0)
    >>> train, test = log.split(test_size=0.3, random_state=0)
    >>> forest = OffsetForest(n_trees=30, random_state=0).fit(**train.arrays())
    >>> bool(forest.score(**test.arrays()) > 0.8)
    True
    """

    _default_learner = staticmethod(forest_classifier)

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_trees: int = 100,
        tree: Any = "learned",
        randomize: float = 0.5,
        bootstrap: bool = False,
        linear_scores: bool = True,
        offset: Any = "mean",
        reward_range: Sequence[float] = (0.0, 1.0),
        path_filter: Literal["in_sample", "out_of_fold"] | float = "in_sample",
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_trees = n_trees
        self.tree = tree
        self.randomize = randomize
        self.bootstrap = bootstrap
        self.linear_scores = linear_scores
        self.offset = offset
        self.reward_range = reward_range
        self.path_filter = path_filter
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, log: CheckedLog) -> None:
        self._check_parameters()
        X, action, reward, propensity, _ = log.parts()
        random = as_random_state(self.random_state)
        offset = resolve_offset(self.offset, X, reward, random, propensity)
        self.offset_ = float(np.mean(offset))
        votes = Votes.cast(reward, propensity, offset)
        warn_if_one_sided(votes.tally())
        warn_of_unlogged(action, self.actions_)
        native = is_native(self._learner(), self.path_filter)
        k = len(self.actions_)
        means = partial(mean_rewards, action, reward, propensity, k)
        # Fitted once, if at all: by the first who needs them, the scores or a learned tree.
        models = cache(partial(fit_reward_models, log, k, random))
        scored = models() if native and self.linear_scores else None
        trees = [
            tree_from(self.tree, self.actions_, means, models, random, self.randomize) for _ in range(self.n_trees)
        ]
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_trees)
        train = self._trainer(log, votes, scored, random)
        threads = native or releases_the_interpreter(self._learner())
        fitted = parallel(n_jobs=self.n_jobs, prefer="threads" if threads else "processes")(
            delayed(train)(tree, seed) for tree, seed in zip(trees, seeds, strict=True)
        )
        self.estimators_ = [
            OffsetTree.assembled(self, tree, contests, n_rows)
            for tree, (contests, n_rows) in zip(trees, fitted, strict=True)
        ]
        self.oob_value_ = self._out_of_bag(log, seeds) if self.bootstrap else None

    def fit_log(self, chunks: Iterable[LoggedData], *, folder: Any = None, verbose: bool | None = None) -> Self:
        """Learn from a log that need not fit into memory: the forest of `fit`, in bounded memory.

        The rows are written to a scratch file by action, once, and read again for every tree, each trained depth first
        as `OffsetTree.fit_log` does.

        Parameters
        ----------
        chunks, folder, verbose
            As in `OffsetTree.fit_log`.

        Notes
        -----
        X is stored as float32. On an X of float32 the decisions are those of `fit`. Of logs of more than 262,144 rows
        a sample of so many settles the linear models behind learned trees and scores, and ``leaf_scale="auto"``, in
        both (with more than 120 columns the sample here is smaller, and `fit` looks at all rows); all contests are
        trained on all rows.
        ``bootstrap``, offsets that depend on x and path filters other than "in_sample" are refused.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from offsettree import OffsetForest, simulate_log
        >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
        >>> forest = OffsetForest(n_trees=10, random_state=0).fit_log([log[:100], log[100:]])
        >>> forest.decide([5.1, 3.5, 1.4, 0.2])
        0
        """
        with self._all_or_nothing():
            fit_forest_out_of_core(self, chunks, folder, verbose)
            self._prepare_anew()
        return self

    def _trainer(
        self, log: CheckedLog, votes: Votes, models: RewardModels | None, random: np.random.RandomState
    ) -> Any:
        """Return the function that trains the contests of one tree from its seed."""
        X, action, available = log.X, log.position, log.available
        learner = self._learner()
        self.leaf_scale_ = None
        if is_native(learner, self.path_filter):
            binned = BinnedLog.make(X, action, votes.signed(), models, available)
            self.leaf_scale_ = choose_leaf_scale(binned, learner, random, COMMITTEE, rows_settling(X))
            return partial(_train_native, binned, learner, self.leaf_scale_, self.bootstrap)
        folds = random_folds(len(action), random) if self.path_filter == "out_of_fold" else None
        share = share_kept(self.path_filter)
        return partial(_train_any, NodeLearner(learner), X, action, votes, folds, share, self.bootstrap, available)

    def _out_of_bag(self, log: CheckedLog, seeds: NDArray[np.int64]) -> float | None:
        X, action, reward, propensity, available = log.parts()
        left_out = [_draw(seed, len(action)) == 0 for seed in seeds]
        matched = np.empty(len(action), dtype=bool)
        for piece, rows in self._pieces(X):
            counts = np.zeros((count_rows(rows), len(self.actions_)), dtype=np.int32)
            for member, judged in zip(self.estimators_, left_out, strict=True):
                here = np.flatnonzero(judged[piece])
                chosen = (
                    member._choose(rows) if available is None else member._choose_within(rows, available.part(piece))
                )
                counts[here, chosen[here]] += 1
            matched[piece] = (counts.argmax(axis=1) == action[piece]) & (counts.max(axis=1) > 0)
        if not matched.any():
            return None
        low, high = self.reward_range
        return low + (high - low) * snips(matched, reward, 1 / propensity)

    def _ask_votes(self, X: Features, mask: NDArray[np.bool_] | None) -> NDArray[np.int32]:
        """Count the votes of trees that choose each for itself."""
        counts = np.zeros((count_rows(X), len(self.actions_)), dtype=np.int32)
        for member in self.estimators_:
            chosen = member._ask(X) if mask is None else member._ask_within(X, mask)
            counts[np.arange(len(counts)), chosen] += 1
        return counts

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return np.concatenate([self._ask_votes(rows, None).argmax(axis=1) for _, rows in self._pieces(X)])

    def _ask_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.asarray(self._ask_votes(X, mask).argmax(axis=1))

    def _ask_probabilities(self, X: Features, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        return self._ask_votes(X, mask) / len(self.estimators_)

    def _pieces(self, X: Features) -> Iterator[tuple[slice, Features]]:
        """Yield the rows in pieces whose votes can be counted for every action."""
        n_rows = count_rows(X)
        step = max(1, VOTES_AT_ONCE // len(self.actions_))
        if n_rows <= step:
            yield slice(0, n_rows), X
            return
        for first in range(0, n_rows, step):
            piece = slice(first, min(first + step, n_rows))
            yield piece, take_rows(X, np.arange(piece.start, piece.stop))

    def _as_model(self, space: ColumnSpace) -> Tournaments:
        native = [each.estimators_ for each in self.estimators_ if isinstance(each.estimators_, NativeContests)]
        if len(native) == len(self.estimators_):
            contests: Contests = flatten_native(native, space)
        else:
            contests = read_contests([each for member in self.estimators_ for each in member.estimators_], space)
        return Tournaments([member.tree_ for member in self.estimators_], contests, voting=True)

    def _is_slow_to_flatten(self) -> bool:
        return any(member._is_slow_to_flatten() for member in self.estimators_)

    def _as_numbers(self, frame: Features) -> Features:
        first = self.estimators_[0].estimators_
        return first.bins.numbers(frame) if isinstance(first, NativeContests) else super()._as_numbers(frame)

    def _check_parameters(self) -> None:
        check_whole("n_trees", self.n_trees, 1)
        if not is_number(self.randomize) or not 0 <= self.randomize <= 1:
            raise ParameterError(f"randomize must be a number from 0 to 1; got {self.randomize!r}.")
        check_truth("bootstrap", self.bootstrap)
        check_truth("linear_scores", self.linear_scores)
        share_kept(self.path_filter)


def _draw(seed: int, n_rows: int) -> NDArray[np.int64]:
    """Return how often each row is drawn, of as many draws as there are rows."""
    drawn = np.random.RandomState(seed).randint(n_rows, size=n_rows)
    return np.bincount(drawn, minlength=n_rows)


def _node_seeds(seed: int, tree: ActionTree) -> NDArray[np.int64]:
    return np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=tree.n_nodes)


def _train_native(
    log: BinnedLog,
    learner: HistogramTree,
    leaf_scale: float,
    bootstrap: bool,
    tree: ActionTree,
    seed: int,
) -> tuple[NativeContests, NDArray[np.int64]]:
    if bootstrap:
        log = log.drawn(_draw(seed, len(log.own_vote)))
    return log.training(tree, learner, leaf_scale, _node_seeds(seed, tree)).grow().joined()


def _train_any(
    learner: NodeLearner,
    X: Features,
    action: NDArray[np.intp],
    votes: Votes,
    folds: NDArray[np.uint8] | None,
    share: float,
    bootstrap: bool,
    available: Available | None,
    tree: ActionTree,
    seed: int,
) -> tuple[list[Any], NDArray[np.int64]]:
    if bootstrap:
        votes = Votes(votes.for_own_side, votes.weight * _draw(seed, len(votes.weight)))
    ladder = Ladder.at_leaves(tree, action, votes.weight > 0, share, available)
    classifiers, n_rows, _ = train_separately(ladder, learner, X, votes, _node_seeds(seed, tree), 1, folds=folds)
    return classifiers, n_rows
