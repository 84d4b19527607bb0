"""Reward boosting: trees that all actions share predict what each would earn, and the best is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from offsettree._available import Available
from offsettree._features import Features, is_frame
from offsettree._validation import is_number
from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import HistogramTree
from offsettree.models import Boosted
from offsettree.reading import CannotFlatten, ColumnSpace
from offsettree.reductions._offset import warn_of_unlogged
from offsettree.reductions.boosting._boosting import MOST_SHARES, BoostedLog, BoostingSettings
from offsettree.reductions.boosting._columns import Columns
from offsettree.reductions.boosting._finish import finish_without_x
from offsettree.reductions.boosting._flatten import flatten_stages
from offsettree.reductions.boosting._held_out import HeldOut
from offsettree.reductions.boosting._shrunken import sigmoid
from offsettree.reductions.boosting._stacking import fit_stages

__all__ = ["RewardBoosting"]

LOSSES = ("auto", "logistic", "squared")
DEEPEST = 7
SHORT = 1500  # rows, below which a forest is among what is learned
FEWEST_ROWS = 8  # to learn anything but constants from
DROPPED = 2.0  # standard errors in the first fold
HEAVIEST = 10.0  # weight of a row, in units of the mean


class RewardBoosting(BasePolicy):
    """Policy that takes the action of the largest reward predicted by boosted trees that all actions share.

    A tree splits where it pays for many actions at once, and a leaf holds one number per action: thus all actions learn
    from the structure in x that they have in common, where a model per action would have to find it from its own few
    rows. Boosting starts both from a constant and from linear models of each action; both are cross-fitted, and one
    regression on rows held out decides how much of each to use for which action. Where nothing that is known of x
    helps, what is left is the best constant action.

    Parameters
    ----------
    n_trees : int, default=300
        The most trees of one fold and start; rows held out say when there are enough.
    learning_rate : float, default=0.15
        What part of a tree's values is used.
    max_depth : int, default=4
        Tests on the way to a leaf, at most 7.
    max_features : float, default=0.5
        The share of the columns, drawn for each tree, that it may split on.
    loss : {"auto", "logistic", "squared"}, default="auto"
        What trees minimise. "auto" is logistic where every reward is at one end of `reward_range`, else squared.
    n_folds : int or "auto", default="auto"
        Folds of cross-fitting: as many models are averaged. By default 8 for fewer than 5,000 rows, 5 for fewer than
        30,000, else 3.
    importance_weighted : bool, default=False
        Count rows by 1 / propensity, up to ten times the mean. By default all count the same, and propensities are not
        used: what is predicted is the reward of an action given x, which does not depend on how often it was taken.
    patience : int, default=20
        How many trees in a row may not help before boosting stops.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of labels, optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log.
    n_jobs : int, optional
        Folds that are boosted at once, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and the columns of each tree.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The action labels.
    gain_ : float
        By how much rows held out are better predicted where x may favour one action over another, than where it tells
        only how much all of them earn; in standard errors. Below 2 the policy takes one action always.
    starts_ : list of str
        What has a part in the scores: trees boosted from a "constant" or a "linear" start or both, and below 1,500 rows
        a "forest". Empty where x has none.
    n_trees_ : int
        Trees in all.
    compiled_ : BoostedScores
        The policy in flat arrays, by which it decides.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Nominal columns of a frame and missing values are taken as they are: a test may ask for one category, or send what
    is missing to either side. An action that was never logged is predicted to earn what actions do on average. Which
    actions were available makes no difference to what is learned. Settings were chosen by experiment:
    docs/reward-boosting.md.

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
    _held_out: HeldOut  # what is said of each row by models without it, where it is kept

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
        low, high = self.reward_range
        return low + (high - low) * self._scaled_rewards(self._checked(X))

    def _fit(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
        available: Available | None = None,
    ) -> None:
        self._check_parameters(len(action))
        warn_of_unlogged(action, self.actions_)
        random = check_random_state(self.random_state)
        logistic = self.loss == "logistic" or (self.loss == "auto" and bool(((reward == 0) | (reward == 1)).all()))
        spread = float(reward.std())
        self._unit = 1.0 if logistic or not spread > 1e-12 else spread
        self._logistic = logistic
        columns, codes, design = Columns.fit(X, random)
        log = BoostedLog(
            codes,
            columns.bins.is_category,
            design,
            action.astype(np.int32),
            reward / self._unit,
            _relative_weights(propensity) if self.importance_weighted else None,
            len(self.actions_),
            logistic,
        )
        self._bins = columns.bins
        if len(action) < FEWEST_ROWS or not spread > 1e-12:
            finished = finish_without_x(log)
        else:
            is_short = len(action) < SHORT and len(self.actions_) <= MOST_SHARES
            how = self._settings(len(action))
            n_folds = self._folds(len(action))
            finished = fit_stages(log, n_folds, how, DROPPED, self.n_jobs, random, with_forest=is_short)
        self.gain_, self.starts_ = finished.gain, [stage.start for stage in finished.stages]
        self._flat = flatten_stages(columns, finished)
        if self._keeps_held_out:
            scores = finished.seen, finished.slopes, finished.left_out
            self._held_out = HeldOut(*scores, log.action, logistic, self._unit)
        self.n_trees_ = len(self._flat.arrays["feature"])

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

    def _as_model(self, space: ColumnSpace) -> Boosted:
        if self._bins.categories:
            places = space.codes(self._bins.categories)
            if not np.array_equal(places, np.arange(len(places))):
                raise CannotFlatten("columns in another order than those of the frame")
        return Boosted(self._flat)

    def _as_numbers(self, frame: Features) -> Features:
        return self._bins.numbers(frame)

    def _numbers(self, X: Features) -> Any:
        return self._bins.numbers(X) if is_frame(X) else X

    def _scaled_rewards(self, X: Features) -> NDArray[np.float64]:
        score = self._flat.scores(self._numbers(X))
        return sigmoid(score) if self._logistic else np.clip(score * self._unit, 0, 1)

    def _check_parameters(self, n_rows: int) -> None:
        for name, least, most in (("n_trees", 1, None), ("max_depth", 1, DEEPEST), ("patience", 1, None)):
            value = getattr(self, name)
            if not _is_whole(value) or value < least or (most is not None and value > most):
                bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
                raise ParameterError(f"{name} must be a whole number {bounds}; got {value!r}.")
        for name in ("learning_rate", "max_features"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value <= 1:
                raise ParameterError(f"{name} must be a number above 0 and at most 1; got {value!r}.")
        if self.loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {self.loss!r}.")
        if self.n_folds != "auto" and not (_is_whole(self.n_folds) and int(self.n_folds) >= 2):
            raise ParameterError(f"n_folds must be 'auto' or a whole number of at least 2; got {self.n_folds!r}.")
        if not isinstance(self.importance_weighted, bool | np.bool_):
            raise ParameterError(f"importance_weighted must be true or false; got {self.importance_weighted!r}.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _relative_weights(propensity: NDArray[np.float64]) -> NDArray[np.float64]:
    weight = propensity.min() / propensity
    weight = np.minimum(weight / weight.mean(), HEAVIEST)
    return np.asarray(weight / weight.mean())
