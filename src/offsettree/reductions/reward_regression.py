"""Reward regression: predict what each action would earn, and take the best (Algorithms 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.utils.parallel import delayed

from offsettree._available import best_of
from offsettree._features import Features, append_indicator, count_rows, take_rows
from offsettree._traits import takes_categories
from offsettree._validation import as_random_state, check_truth
from offsettree._workers import parallel
from offsettree.base import BasePolicy
from offsettree.learners import ConstantRegressor, Template, default_regressor
from offsettree.logs import CheckedLog, LoggedData
from offsettree.reductions._choice_column import append_nominal
from offsettree.reductions._cross_fit import FEW_ROWS
from offsettree.reductions._flatten_rewards import flatten_reward_regression
from offsettree.reductions._nodes import may_assume_finite, node_settings
from offsettree.reductions._out_of_core import routed
from offsettree.reductions._partial import needs_whole_log
from offsettree.reductions._reward_models import rows_by_action
from offsettree.reductions._routed_log import RoutedLog
from offsettree.reductions._routed_statistics import LogStatistics

__all__ = ["RewardRegression"]


class RewardRegression(BasePolicy):
    """Policy that takes the action of the largest predicted reward.

    The simplest approach, and a strong one where the regressor can represent the rewards. Its policy regret is bounded
    by the square root of the regressor's regret only. Propensities are checked but not used in learning.

    Parameters
    ----------
    estimator : regressor, optional
        Predicts rewards. By default `offsettree.learners.default_regressor()`.
    per_action : bool, default=True
        One regressor per action, trained on its rows alone; or one for all, which sees the action too: as one nominal
        column if the regressor splits those itself (Weka's trees, scikit-learn's histogram gradient boosting on up to
        255 actions), else as a zero-one column per action. The nominal column needs pandas, unless X is a polars frame.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    actions : array of shape (n_actions,), optional
        All action labels; by default those of the log.
    n_jobs : int, optional
        Regressors that are trained at once. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the regressors that have no seed of their own.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    estimators_ : list of fitted regressors
        By action, or the one for all. They predict rewards scaled to [0, 1].
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    An action that was never logged is predicted to earn the overall mean. Ties go to the first action. Which actions
    were available makes no difference to what is learned, as each action's rewards are learned from its own rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import RewardRegression, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> policy = RewardRegression(random_state=0).fit(**log.arrays())
    >>> policy.decide([5.1, 3.5, 1.4, 0.2])
    0
    >>> policy.predict_rewards([[5.1, 3.5, 1.4, 0.2]]).shape
    (1, 3)
    """

    _learner_kind = "regressor"
    _default_learner = staticmethod(default_regressor)
    _as_category = False  # policies pickled before there was a choice

    def __init__(
        self,
        estimator: Any = None,
        *,
        per_action: bool = True,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.per_action = per_action
        self.reward_range = reward_range
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_rewards(self, X: Features) -> NDArray[np.float64]:
        """Return the predicted reward of every action, of shape (n_rows, n_actions), in the order of `actions_`."""
        low, high = self.reward_range
        return low + (high - low) * self._scaled_rewards(self._checked(X))

    def _fit(self, log: CheckedLog) -> None:
        check_truth("per_action", self.per_action)
        X, action, reward, n_actions = log.X, log.position, log.scaled, len(self.actions_)
        template = Template(self._learner())
        seeds = as_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_actions).tolist()
        finite = may_assume_finite(self._learner(), X)
        self._was_logged = np.bincount(action, minlength=n_actions) > 0
        self._mean_reward = float(reward.mean())
        self.estimators_: list[Any]
        if not self.per_action:
            self._as_category = takes_categories(self._learner(), n_actions)
            union = self._with_action(X, action)
            self.estimators_ = [_train_regressor(template, union, reward, seeds[0], self._mean_reward, finite)]
            return
        learner = self._learner()
        last_step = getattr(learner, "steps", [(None, learner)])[-1][1]  # of a pipeline
        is_quick = isinstance(last_step, Ridge | RidgeCV) and len(action) <= FEW_ROWS
        self.estimators_ = parallel(n_jobs=None if is_quick else self.n_jobs)(
            delayed(_train_regressor)(template, take_rows(X, rows), reward[rows], seed, self._mean_reward, finite)
            for rows, seed in zip(rows_by_action(action, n_actions), seeds, strict=True)
        )

    def fit_log(self, chunks: Iterable[LoggedData], *, folder: Any = None, verbose: bool | None = None) -> Self:
        """Learn from a log that need not fit into memory: the policy of `fit`, in bounded memory.

        The rows are written to a scratch file by action, once; then the rows of one action after the other are read.

        Parameters
        ----------
        chunks, folder, verbose
            As in `OffsetTree.fit_log`.

        Notes
        -----
        X is stored as float32. On an X of float32 the regressions are those of `fit`. The most memory is what the rows
        of one action take, and `n_jobs` times that. ``per_action=False`` needs all rows at once and is refused.
        """
        with self._all_or_nothing():
            check_truth("per_action", self.per_action)
            if not self.per_action:
                raise needs_whole_log("per_action", True, False, "one regression of all actions has all rows")
            with routed(self, chunks, folder, verbose) as (log, finite, _):
                plan = self._plan(LogStatistics(log), finite=finite)
                self.estimators_ = parallel(n_jobs=self.n_jobs)(
                    delayed(plan.train)(action) for action in range(log.n_actions)
                )
            self._prepare_anew()
        return self

    def _plan(self, statistics: LogStatistics, *, finite: bool) -> RegressionPlan:
        """Settle what the regressions of a routed log are trained with."""
        log = statistics.log
        template = Template(self._learner())
        seeds = as_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=log.n_actions).tolist()
        self._was_logged = log.counts > 0
        self._mean_reward = statistics.plain_mean_reward()
        return RegressionPlan(log, template, seeds, self._mean_reward, finite)

    def _scaled_rewards(self, X: Features) -> NDArray[np.float64]:
        n_rows, n_actions = count_rows(X), len(self.actions_)
        if self.per_action:
            return np.stack([np.asarray(model.predict(X), dtype=np.float64) for model in self.estimators_], axis=1)
        (shared,) = self.estimators_
        columns = (self._with_action(X, np.full(n_rows, action)) for action in range(n_actions))
        values = np.stack([np.asarray(shared.predict(column), dtype=np.float64) for column in columns], axis=1)
        values[:, ~self._was_logged] = self._mean_reward
        return values

    def _with_action(self, X: Features, action: NDArray[np.intp]) -> Features:
        append = append_nominal if self._as_category else append_indicator
        return append(X, action, len(self.actions_), "action")

    _as_model = flatten_reward_regression

    def _ask(self, X: Features) -> NDArray[np.intp]:
        return np.asarray(self._scaled_rewards(X).argmax(axis=1))

    def _ask_rank(self, X: Features, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return best_of(self._scaled_rewards(X), n, mask)


@dataclass(frozen=True)
class RegressionPlan:
    """The regressions of a routed log, settled: each reads the rows of its action when its turn comes."""

    log: RoutedLog
    template: Template
    seeds: list[int]
    mean: float
    finite: bool

    def train(self, action: int) -> Any:
        """Train the regression of one action."""
        rows = self.log.rows_of(np.array([action]))
        return _train_regressor(self.template, rows.X, rows.reward, self.seeds[action], self.mean, self.finite)


def _train_regressor(
    template: Template, X: Features, reward: NDArray[np.float64], seed: int, mean: float, finite: bool
) -> Any:
    if len(reward) == 0:
        return ConstantRegressor(mean)
    with node_settings(assume_finite=finite):
        return template.copy(seed).fit(X, reward)
