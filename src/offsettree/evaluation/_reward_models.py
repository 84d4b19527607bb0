"""Cross-fitted reward predictions: no row is predicted by a model that learned from it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from offsettree._features import Features, as_floats, is_finite, is_frame, is_sparse, numeric_columns, take_rows
from offsettree._labels import some_labels
from offsettree._messages import Parameter
from offsettree._traits import takes_missing
from offsettree.evaluation._labels import column_positions
from offsettree.evaluation._targets import Target, row_blocks
from offsettree.exceptions import FeatureError, ParameterError
from offsettree.learners import ConstantRegressor, NominalEncoder
from offsettree.logs import CheckedLog
from offsettree.reductions import RewardModel, check_reward_model, fit_rewards

N_FOLDS = 5
FIRST_MODEL = 100  # training rows of the first model of `forward_folds` with is_anytime
FEW_ROWS = 5  # an action with fewer rows has no regressor of its own
MOST_ROWS = 20_000  # sample size of each default tree

Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True)
class Predictions:
    """The predicted reward of each row's logged action, and the expected prediction under the policy."""

    on_logged: NDArray[np.float64]
    on_policy: NDArray[np.float64]


def random_folds(n_rows: int, random: np.random.RandomState) -> Folds:
    """Return pairs of training rows and rows to predict; every row is predicted once."""
    parts = np.array_split(random.permutation(n_rows), min(N_FOLDS, n_rows))
    if len(parts) == 1:
        return [(np.empty(0, np.intp), parts[0])]
    return [(np.concatenate(parts[:i] + parts[i + 1 :]), np.sort(part)) for i, part in enumerate(parts)]


def forward_folds(order: NDArray[np.intp], *, is_anytime: bool = False) -> Folds:
    """Return folds in which every row is predicted by a model of earlier rows; the first fold has no training rows.

    With `is_anytime`, the folds of earlier rows do not change when rows are appended.
    """
    if is_anytime:
        doubled = FIRST_MODEL * 2 ** np.arange(40)
        cuts = np.concatenate([[0], doubled[doubled < len(order)], [len(order)]])
    else:
        cuts = np.unique((len(order) * np.array([0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])).astype(int))
    return [(order[:start], order[start:stop]) for start, stop in pairwise(cuts)]


def predict_rewards(
    model: Any,
    X: Features,
    logged: NDArray[np.intp],
    reward: NDArray[np.float64],
    n_actions: int,
    targets: list[Target],
    folds: Folds,
    random: np.random.RandomState,
    prior: float = 0.0,
    *,
    of_all: bool = True,
) -> list[Predictions]:
    """Return predictions for every target; `prior` is predicted when there is no training row.

    A `model` that is an array holds the predictions themselves, as `check_predictions` returns them. Unless `of_all`
    logged actions are needed, those that no target takes have no regressor of their own: errors of their predictions
    have weight 0.
    """
    if isinstance(model, np.ndarray):
        return [_from_table(model, logged, target) for target in targets]
    if model is not None:
        check_reward_model(model)
    _check_finite(model, X)
    on_logged = np.empty(len(reward))
    on_policy = [np.empty(len(reward)) for _ in targets]
    for train, test in folds:
        taken = np.ones(n_actions, dtype=bool) if of_all else _taken(targets, test, n_actions)
        fitted = _fit(model, take_rows(X, train), logged[train], reward[train], taken, prior, random)
        for rows in row_blocks(test, n_actions):
            part = take_rows(X, rows)
            on_logged[rows] = fitted.predict(part, logged[rows])
            for target, values in zip(targets, on_policy, strict=True):
                if target.chosen is not None:
                    values[rows] = fitted.predict(part, target.chosen[rows])
                else:
                    values[rows] = fitted.mean(part, target.probability(rows))
    return [Predictions(on_logged, values) for values in on_policy]


def _taken(targets: list[Target], rows: NDArray[np.intp], n_actions: int) -> NDArray[np.bool_]:
    """Return which actions some target takes in some rows."""
    taken = np.zeros(n_actions, dtype=bool)
    for target in targets:
        taken[slice(None) if target.chosen is None else target.chosen[rows]] = True
    return taken


class _Shared:
    """One model of all actions, fitted to rewards scaled to [0, 1]."""

    def __init__(self, model: RewardModel, low: float, width: float) -> None:
        self.model = model
        self.low = low
        self.width = width

    def predict(self, X: Features, action: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the predicted reward of one action per row."""
        return self.low + self.width * self.model.predict_own(X, action)

    def mean(self, X: Features, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean predicted reward over the actions of each row."""
        actions = np.flatnonzero(probability.any(axis=0))
        share = probability[:, actions]
        predicted = self.low + self.width * self.model.predict(X, actions)
        return np.asarray((share * predicted).sum(axis=1))


class _PerAction:
    """One regressor per action."""

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def predict(self, X: Features, action: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the predicted reward of one action per row."""
        values = np.empty(len(action))
        order = np.argsort(action, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(action[order])) + 1):
            if len(rows):
                values[rows] = self.models[action[rows[0]]].predict(take_rows(X, rows))
        return values

    def mean(self, X: Features, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean predicted reward over the actions of each row."""
        values = np.zeros(len(probability))
        for action in np.flatnonzero(probability.any(axis=0)):
            values += probability[:, action] * self.predict(X, np.full(len(values), action))
        return values


def _fit(
    model: Any,
    X: Features,
    action: NDArray[np.intp],
    reward: NDArray[np.float64],
    taken: NDArray[np.bool_],
    prior: float,
    random: np.random.RandomState,
) -> _PerAction | _Shared:
    """Fit a model of all actions, or a regressor for each that is `taken`."""
    n_actions = len(taken)
    if isinstance(model, str) and n_actions > 1 and len(reward) and (width := float(np.ptp(reward))) > 0:
        low, seed = float(reward.min()), int(random.randint(2**31 - 1))
        log = CheckedLog(X, action, (reward - low) / width, np.broadcast_to(1.0, len(reward)), np.arange(n_actions))
        return _Shared(fit_rewards(model, log, seed, weighted=False), low, width)
    count = np.bincount(action, minlength=n_actions)
    mean = float(reward.mean()) if len(reward) else prior
    # Shrink an action's mean towards the overall mean, with the weight of a few rows.
    means = (np.bincount(action, reward, minlength=n_actions) + FEW_ROWS * mean) / (count + FEW_ROWS)
    models: list[Any] = [ConstantRegressor(value) for value in means]
    for each in np.flatnonzero(count >= FEW_ROWS) if not isinstance(model, str) else ():
        rows = np.flatnonzero(action == each)
        regressor = default_model(X, len(rows)) if model is None else clone(model)
        seeds = [name for name in regressor.get_params() if name.rpartition("__")[2] == "random_state"]
        regressor.set_params(**{name: random.randint(2**31) for name in seeds if regressor.get_params()[name] is None})
        if taken[each]:  # seeds are drawn for all: those of one do not depend on which others are taken
            models[each] = regressor.fit(take_rows(X, rows), reward[rows])
    return _PerAction(models)


def default_model(X: Features, n_rows: int) -> Any:
    """Return an unfitted regressor for the rows of one action.

    Randomised trees do well on smooth and on discontinuous rewards, from a hundred rows per action on. Ridge regression
    fails on the discontinuous ones, single trees on the smooth ones, and boosting takes longest. On sparse rows,
    randomised trees are slow, and linear models do well.
    """
    if is_sparse(X):
        return Ridge(alpha=10.0)
    limit = {"bootstrap": True, "max_samples": MOST_ROWS} if n_rows > MOST_ROWS else {}
    trees = ExtraTreesRegressor(n_estimators=30, min_samples_leaf=5, **limit)
    return make_pipeline(NominalEncoder(), trees) if is_frame(X) else trees


def _from_table(table: NDArray[np.float64], logged: NDArray[np.intp], target: Target) -> Predictions:
    row = np.arange(len(logged))
    if target.chosen is not None:
        return Predictions(table[row, logged], table[row, target.chosen])
    on_policy = np.empty(len(logged))
    for rows in row_blocks(row, table.shape[1]):
        on_policy[rows] = (target.probability(rows) * table[rows]).sum(axis=1)
    return Predictions(table[row, logged], on_policy)


def check_predictions(table: Any, n_rows: int, columns: NDArray[Any], space: NDArray[Any]) -> NDArray[np.float64]:
    """Return a caller's predicted rewards with columns in the order of the space; `columns` are the given labels."""
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"reward_model given as an array must hold predicted rewards; got {table!r:.80}."
        ) from None
    positions = column_positions(table, columns, space, "reward_model")
    if values.shape != (n_rows, len(positions)):
        raise ParameterError(
            "reward_model must be a regressor, or predicted rewards with one row per row of X and one column per "
            f"action, {(n_rows, len(positions))}; got an array of shape {values.shape}."
        )
    if len(positions) < len(space):
        lacking = np.delete(space, positions)
        raise ParameterError(
            f"predicted rewards must cover all actions that the policies know; columns of {some_labels(lacking)} are "
            "missing. Add columns, and name all actions in their order: actions=[...]."
        )
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ParameterError(f"predicted rewards must be finite; row {row}, column {column} has {values[row, column]}.")
    return values if np.array_equal(positions, np.arange(len(space))) else values[:, np.argsort(positions)]


def _check_finite(model: Any, X: Features) -> None:
    """Refuse infinity, and NaN if the model cannot take it, before a learner raises its own error."""
    if is_frame(X):
        values = as_floats(X[numeric_columns(X)])
    else:
        values = X.data if is_sparse(X) else np.asarray(X)
        if values.dtype.kind not in "biuf" or is_finite(values):
            return
    learner = default_model(X, 0) if model is None else model
    nan_too = not isinstance(model, str) and not takes_missing(learner, sparse=is_sparse(X))
    odd = ~np.isfinite(values) if nan_too else np.isinf(values)
    if odd.any():
        place = int(np.argwhere(odd)[0][0])
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1 if is_sparse(X) else place
        raise FeatureError(
            f"X must be finite for {'this reward model' if nan_too else 'a reward model'}; row {row} has "
            f"{float(values[odd].flat[0])} ({int(odd.sum()):,} such values in all). Replace them, drop those rows, or "
            "use ",
            Parameter("method", "snips"),
            " or 'ips', which need no model.",
        )
