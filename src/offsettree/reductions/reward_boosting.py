"""Reward boosting: trees shared by all actions predict the reward of each, and the best is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, is_frame
from offsettree._validation import as_random_state, check_truth, check_whole, is_number, is_whole
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import HistogramTree
from offsettree.logs import CheckedLog, LoggedData
from offsettree.models import Boosted, BoostedWithVotes
from offsettree.models.boosted_scores import BoostedScores
from offsettree.reading import CannotFlatten, ColumnSpace
from offsettree.reductions._fold_forests import FoldForests
from offsettree.reductions._mapped_log import mapped_log
from offsettree.reductions._nodes import one_blas_thread
from offsettree.reductions._offset import warn_of_unlogged
from offsettree.reductions.boosting._boosting import BoostedLog, BoostingSettings
from offsettree.reductions.boosting._columns import Columns
from offsettree.reductions.boosting._final_regression import fit_constant
from offsettree.reductions.boosting._flatten import flatten_stages, weight_of_votes
from offsettree.reductions.boosting._held_out import HeldOut
from offsettree.reductions.boosting._room import IN_MEMORY, Room
from offsettree.reductions.boosting._shrunken import sigmoid
from offsettree.reductions.boosting._stacking import RunJobs, fit_stages

__all__ = ["RewardBoosting"]

LOSSES = ("auto", "logistic", "squared")
DEEPEST = 7
SHORT = 1500  # with fewer rows, a forest is added
MOST_IF_SHORT = 128  # with more actions, it is not
FEWEST_ROWS = 8  # with fewer rows, only constants are learned
DROPPED = 2.0  # a start that is so many standard errors worse in the first fold is dropped
MOST_ROWS_WITHOUT_FOLDS = 10_000  # for held-out scores by a final regression without each fold
HEAVIEST = 10.0  # largest weight of a row, in units of the mean


class Prepared(NamedTuple):
    """A log as boosting learns from it."""

    columns: Columns
    boosted: BoostedLog
    unit: float  # of rewards in [0, 1]
    random: np.random.RandomState
    is_constant: bool  # all rewards are the same


class RewardBoosting(BasePolicy):
    """Policy that takes the action of the largest reward predicted by boosted trees that all actions share.

    A tree splits where it helps many actions at once, and a leaf holds one number per action. So all actions learn from
    the structure in x that they have in common, which a model per action would have to find from its own few rows.
    Boosting starts both from a constant and from a linear model per action. All are cross-fitted, and a regression on
    held-out predictions (stacking) decides how much of each to use for which action. If x does not help, the policy is
    the best constant action.

    Parameters
    ----------
    n_trees : int, default=300
        Largest number of trees per fold and start; held-out rows decide when to stop.
    learning_rate : float, default=0.15
        Factor of a tree's values.
    max_depth : int, default=4
        Tests on the path to a leaf, at most 7.
    max_features : float, default=0.5
        Share of the columns, drawn for each tree, that it may split on.
    loss : {"auto", "logistic", "squared"}, default="auto"
        The loss. "auto" is logistic if every reward is at one end of `reward_range`, else squared.
    n_folds : int or "auto", default="auto"
        Folds of cross-fitting; the models of all folds are averaged. By default 8 for fewer than 5,000 rows, 5 for
        fewer than 30,000, else 3.
    importance_weighted : bool, default=False
        Weight rows by 1 / propensity, up to ten times the mean. By default rows have equal weights: the reward of an
        action given x does not depend on how often it was taken. Only the offset trees that vote on logs of under 1,500
        rows use propensities, as all offset trees do.
    patience : int, default=20
        Boosting stops after so many trees without improvement.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of labels, optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log.
    n_jobs : int, optional
        Folds boosted in parallel, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and the columns of each tree.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The action labels.
    gain_ : float
        How much better held-out rewards are predicted if x may favour one action over another than if it shifts all
        actions alike; in standard errors. Below 2 the policy always takes one action. Below 1,500 rows it is at least 2
        if held-out scores go along with the rewards: weaker evidence, of which so few rows seldom have more.
    starts_ : list of str
        The parts of the scores: trees boosted from a "constant" or a "linear" start or both, and below 1,500 rows a
        "forest" and, if they count, the "votes" of offset trees. Empty if x does not help.
    n_trees_ : int
        Number of trees that actions share; those of the votes are not counted.
    compiled_ : BoostedScores or VotedScores
        The policy in flat arrays, which decides.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Nominal columns of a frame and missing values need no encoding: a test may ask for one category, or send missing
    values to either side. The prediction for an action never logged is the mean over actions. `available` does not
    change what is learned. Settings were chosen by experiment: docs/reward-boosting.md.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import RewardBoosting, simulate_log
    >>> log = simulate_log(*load_digits(return_X_y=True), random_state=0)
    >>> train, test = log.split(test_size=0.3, random_state=0)
    >>> policy = RewardBoosting(random_state=0).fit(**train.arrays())
    >>> bool(policy.score(**test.arrays()) > 0.8)
    True
    >>> policy.predict_rewards(test.X[:1]).shape
    (1, 10)
    """

    estimator = None
    _default_learner = staticmethod(HistogramTree)
    _keeps_held_out = False
    _with_votes = True
    _voted: BoostedWithVotes | None = None  # what decides, if votes of offset trees count
    _room = IN_MEMORY
    _run_jobs: RunJobs | None = None
    _held_out: HeldOut  # only if `_keeps_held_out`

    def __init__(
        self,
        *,
        n_trees: int = 300,
        learning_rate: float = 0.15,
        max_depth: int = 4,
        max_features: float = 0.5,
        loss: str = "auto",
        n_folds: int | str = "auto",
        importance_weighted: bool = False,
        patience: int = 20,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_features = max_features
        self.loss = loss
        self.n_folds = n_folds
        self.importance_weighted = importance_weighted
        self.patience = patience
        self.reward_range = reward_range
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_rewards(self, X: Features) -> NDArray[np.float64]:
        """Return the predicted reward of every action, of shape (n_rows, n_actions), in the order of `actions_`."""
        return self._rewards(self._checked(X))

    def _rewards(self, X: Features) -> NDArray[np.float64]:
        low, high = self.reward_range
        return low + (high - low) * self._scaled_rewards(X)

    def _fit(self, log: CheckedLog) -> None:
        with one_blas_thread():
            self._fit_prepared(log, self._prepare(log))

    def _prepare(self, log: CheckedLog) -> Prepared:
        """Bring X into the forms that boosting learns from."""
        X, action, reward = log.X, log.position, log.scaled
        self._check_parameters(len(action))
        warn_of_unlogged(action, self.actions_)
        random = as_random_state(self.random_state)
        logistic = self.loss == "logistic" or (self.loss == "auto" and bool(((reward == 0) | (reward == 1)).all()))
        spread = float(reward.std())
        unit = 1.0 if logistic or not spread > 1e-12 else spread
        columns, codes, design = Columns.fit(X, random, self._room)
        boosted = BoostedLog(
            codes,
            columns.bins.is_category,
            design,
            action.astype(np.int32),
            reward / unit,
            _relative_weights(log.propensity) if self.importance_weighted else None,
            len(self.actions_),
            logistic,
            self._room,
        )
        return Prepared(columns, boosted, unit, random, is_constant=not spread > 1e-12)

    def _fit_prepared(self, log: CheckedLog, prepared: Prepared) -> None:
        action, (columns, boosted, unit, random, is_constant) = log.position, prepared
        self._unit, self._logistic, self._bins = unit, boosted.logistic, columns.bins
        if len(action) < FEWEST_ROWS or is_constant:
            final, forests = fit_constant(boosted), None
        else:
            is_short = len(action) < SHORT and len(self.actions_) <= MOST_IF_SHORT
            settings = self._settings(len(action))
            n_folds = self._folds(len(action))
            forests = FoldForests(log, self.n_jobs, random) if is_short and self._with_votes else None
            final = fit_stages(
                boosted,
                n_folds,
                settings,
                DROPPED,
                self.n_jobs,
                random,
                with_forest=is_short,
                keeps_all=self._keeps_held_out,
                without_folds=self._keeps_held_out and len(action) <= MOST_ROWS_WITHOUT_FOLDS,
                run=self._run_jobs,
                vote=None if forests is None else forests.vote,
            )
        self.gain_ = final.gain
        self._flat = flatten_stages(columns, final)
        self._voted = None
        if forests is not None and (weight := weight_of_votes(final)) > 0:
            forest = forests.joined()
            self._voted = BoostedWithVotes(Boosted(self._flat), forest, weight / len(forest.trees))
        self.starts_ = [stage.start for stage in final.stages if stage.models or self._voted is not None]
        if self._keeps_held_out:
            self._held_out = HeldOut.of(final, boosted.action, boosted.logistic, unit)
        self.n_trees_ = len(self._flat.arrays["feature"])

    def fit_log(self, chunks: Iterable[LoggedData], *, folder: Any = None, verbose: bool | None = None) -> Self:
        """Learn from a log that need not fit into memory: the policy of `fit`, its long arrays in files.

        X, its bins and the columns of linear models are mapped from files without a name, which are gone when the fit
        ends. The system keeps in memory what it has room for.

        Parameters
        ----------
        chunks : iterable of LoggedData
            The log in portions of any lengths, iterated over once, with X an array or a frame of numbers.
        folder : path, optional
            Where to make the files, by default in the system's folder for temporary files. They need about 40 bytes
            per row and column of X, and 100 more per row, for each of `n_jobs` workers.
        verbose : bool, optional
            Without effect: the fit tells nothing of its progress.

        Notes
        -----
        X is stored as float32; on an X of float32 the policy is that of `fit`. In memory are some numbers per row,
        and the final regression on at most 2 million rows.
        """
        with self._all_or_nothing(), mapped_log(self, chunks, folder) as (log, scratch):
            self._fit_mapped(log, scratch)
            self._prepare_anew()
        return self

    def _fit_mapped(
        self, log: CheckedLog, folder: str, run: RunJobs | None = None, prepared: Prepared | None = None
    ) -> None:
        """Fit with long arrays in files of a folder; `run` has the fits without a fold run elsewhere."""
        self._run_jobs = run
        try:
            with one_blas_thread():
                self._fit_prepared(log, self._prepare_mapped(log, folder) if prepared is None else prepared)
        finally:
            del self._run_jobs

    def _prepare_mapped(self, log: CheckedLog, folder: str) -> Prepared:
        self._room = Room(folder)
        try:
            with one_blas_thread():
                return self._prepare(log)
        finally:
            del self._room

    def _folds(self, n_rows: int) -> int:
        if isinstance(self.n_folds, str):
            return min(8 if n_rows < 5_000 else 5 if n_rows < 30_000 else 3, n_rows)
        return min(int(self.n_folds), n_rows)

    def _settings(self, n_rows: int) -> BoostingSettings:
        return BoostingSettings(
            int(self.n_trees),
            float(self.learning_rate),
            int(self.max_depth),
            min(max(n_rows / 250, 5.0), 10.0),
            5.0,
            int(min(max(n_rows / 250, 5), 20)),
            float(self.max_features),
            int(self.patience),
        )

    def _as_model(self, space: ColumnSpace) -> Boosted | BoostedWithVotes:
        boosted = self._as_boosted(space)
        return boosted if self._voted is None else self._voted

    def _as_boosted(self, space: ColumnSpace) -> Boosted:
        if self._bins.categories:
            places = space.codes(self._bins.categories)
            if not np.array_equal(places, np.arange(len(places))):
                raise CannotFlatten("columns in another order than those of the frame")
        return Boosted(self._flat)

    def _as_numbers(self, frame: Features) -> Features:
        return self._bins.numbers(frame)

    def _numbers(self, X: Features) -> Any:
        return self._bins.numbers(X) if is_frame(X) else X

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return self._scorer().choose(self._numbers(X))

    def _ask_rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return self._scorer().rank(self._numbers(X), n, mask)

    def _scorer(self) -> BoostedScores | BoostedWithVotes:
        return self._flat if self._voted is None else self._voted

    def _scaled_rewards(self, X: Features) -> NDArray[np.float64]:
        score = self._scorer().scores(self._numbers(X))
        return sigmoid(score) if self._logistic else np.clip(score * self._unit, 0, 1)

    def _check_parameters(self, n_rows: int) -> None:
        check_whole("n_trees", self.n_trees, 1)
        check_whole("max_depth", self.max_depth, 1, DEEPEST)
        check_whole("patience", self.patience, 1)
        for name in ("learning_rate", "max_features"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value <= 1:
                raise ParameterError(f"{name} must be a number above 0 and at most 1; got {value!r}.")
        if self.loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {self.loss!r}.")
        if self.n_folds != "auto" and not (is_whole(self.n_folds) and int(self.n_folds) >= 2):
            raise ParameterError(f"n_folds must be 'auto' or a whole number of at least 2; got {self.n_folds!r}.")
        check_truth("importance_weighted", self.importance_weighted)


def _relative_weights(propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    weight = propensity.min() / propensity
    weight = np.minimum(weight / weight.mean(), HEAVIEST)
    return np.asarray(weight / weight.mean())
