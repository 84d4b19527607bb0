"""Estimate propensities that were not recorded, from the logged actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree._features import Features, count_rows, is_sparse, take_rows
from offsettree._labels import check_actions, encode_actions, find_actions
from offsettree._sparse import as_csr
from offsettree._traits import check_learner
from offsettree._validation import as_random_state, is_number
from offsettree.actions.policy import check_sets
from offsettree.evaluation._propensity_among import chances_among
from offsettree.exceptions import LogError, ParameterError
from offsettree.learners import NominalEncoder
from offsettree.logs import ActionSets, Columns, judge_columns

__all__ = ["PropensityEstimate", "estimate_propensity"]

N_BINS = 10
MOST_ROWS = 100_000  # for calibration, which fits only n_actions + 1 parameters


@dataclass(frozen=True, eq=False, repr=False)
class PropensityEstimate:
    """Estimated propensities with diagnostics. It can be passed as `propensity` itself.

    Parameters
    ----------
    propensity : array of shape (n_rows,)
        The estimated probability of each row's action.
    actions : array of shape (n_actions,)
        The labels.
    clip : float
        The smallest propensity; smaller estimates are raised to it.
    n_clipped : int
        The number of propensities raised. Their weights are too small, which biases estimates towards the other rows.
    log_loss : float
        Mean of -log(propensity before clipping), out of fold; smaller is better.
    constant_log_loss : float
        The same for a model without X, which predicts the frequency of each action.
    calibration : array of shape (n_bins, 3)
        By bins of predicted probability, over all rows and actions: the mean prediction, the share of rows in which
        the action was taken, and the number of predictions.
    warnings : tuple of str
        Reasons not to trust the propensities.
    """

    propensity: NDArray[np.float64]
    actions: NDArray[Any]
    clip: float
    n_clipped: int
    log_loss: float
    constant_log_loss: float
    calibration: NDArray[np.float64]
    warnings: tuple[str, ...] = field(default=())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.propensity, dtype=dtype) if copy else np.asarray(self.propensity, dtype=dtype)

    def __len__(self) -> int:
        return len(self.propensity)

    def __repr__(self) -> str:
        low, high = self.propensity.min(), self.propensity.max()
        lines = [
            f"{len(self):,} propensities of {len(self.actions):,} actions, between {low:.3g} and {high:.3g}",
            f"log loss {self.log_loss:.4g}, of frequencies alone {self.constant_log_loss:.4g}",
            f"{self.n_clipped:,} raised to {self.clip:.3g}",
            *(f"warning: {text}" for text in self.warnings),
        ]
        return "<PropensityEstimate: " + "\n  ".join(lines) + ">"


def estimate_propensity(
    X: Features,
    action: ArrayLike,
    estimator: Any = None,
    *,
    n_folds: int = 5,
    calibrate: bool = True,
    clip: float | None = None,
    actions: ArrayLike | None = None,
    action_sets: ActionSets | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> PropensityEstimate:
    """Estimate the probability with which the logging policy took each row's action.

    Parameters
    ----------
    X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
        Everything that the logging policy's choice depended on. Anything missing (confounding) makes estimates wrong.
    action : array of shape (n_rows,)
        The logged actions.
    estimator : classifier with predict_proba, optional
        Predicts actions. By default logistic regression on standardised features. With action sets it must be left
        out: the model is a conditional logit over the features of context and action.
    n_folds : int, default=5
        Cross-fitting: no row's propensity comes from a model that learned from the row.
    calibrate : bool, default=True
        Calibrate the probabilities by vector scaling of their logarithms, fitted out of fold; with action sets by one
        scale, and a share of uniform choice.
    clip : float, optional
        The smallest propensity, at most 1 / n_actions, with action sets the size of the largest. By default
        5 / (sqrt(n_rows) log(n_rows)) (Gruber and others, 2022), and at most half of 1 / n_actions.
    actions : array of shape (n_actions,), optional
        All action labels; by default those of the log.
    action_sets : ActionSets, optional
        The eligible actions of each row, where they differ or have features.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Returns
    -------
    PropensityEstimate
        With the array `propensity` and a report.

    Notes
    -----
    Recorded propensities are always better: log them. Estimates are right only if X holds all that the choice
    depended on and every action was possible in every context. For an action that was always taken in some contexts and
    never in others, clipping keeps the weights finite but not right.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import estimate_propensity, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> estimate_propensity(log.X, log.action, random_state=0).propensity.mean().round(1)
    np.float64(0.3)
    """
    X = as_csr(X) if is_sparse(X) else X
    n_rows = count_rows(X)
    if n_rows == 0:
        raise LogError("the log is empty: X has no rows to estimate propensities from.")
    if action_sets is not None:
        return _estimate_among(X, action, estimator, n_folds, calibrate, clip, actions, action_sets, random_state)
    judged = isinstance(action, Columns)
    labels = judge_columns(n_rows, action, None, None).action if judged else check_actions(action, n_rows)
    space = find_actions(labels, actions)
    logged = encode_actions(labels, space)
    _check_folds(n_folds, n_rows)
    least = _least(clip, n_rows, len(space))
    model = _default_classifier(X) if estimator is None else estimator
    check_learner(model, "classifier", "estimator")
    if not hasattr(model, "predict_proba"):
        raise ParameterError(f"estimator must have predict_proba; {type(model).__name__} has not.")
    random = as_random_state(random_state)
    count = np.bincount(logged, minlength=len(space))
    frequency = count / n_rows
    logs = np.log(_out_of_fold(model, X, logged, frequency, n_folds, random))
    if calibrate:
        logs = _calibrated(logs, logged, random)
    constant = float(-(frequency[count > 0] * np.log(frequency[count > 0])).sum())
    taken = np.arange(n_rows) * len(space) + logged
    return _estimated(np.exp(logs).ravel(), taken, space, least, constant)


def _estimate_among(
    X: Features,
    action: Any,
    estimator: Any,
    n_folds: Any,
    calibrate: bool,
    clip: float | None,
    actions: Any,
    action_sets: Any,
    random_state: Any,
) -> PropensityEstimate:
    """Estimate the probability with which each row's action was taken among its eligible ones."""
    n_rows = check_sets(X, action_sets)
    for name, value in (("estimator", estimator), ("actions", actions)):
        if value is not None:
            raise ParameterError(
                f"{name} must be left out with action_sets, whose actions are predicted by a conditional logit over "
                f"their features; got {value!r:.60}."
            )
    pair = action_sets.find(action.action if isinstance(action, Columns) else action)
    _check_folds(n_folds, n_rows)
    least = _least(clip, n_rows, int(action_sets.sizes.max()))
    random = as_random_state(random_state)
    chance, frequency = chances_among(X, action_sets, pair, int(n_folds), random, calibrate=calibrate)
    return _estimated(chance, pair, np.unique(action_sets.ids), least, float(-np.log(frequency).mean()))


def _check_folds(n_folds: Any, n_rows: int) -> None:
    if not (isinstance(n_folds, int | np.integer) and 2 <= n_folds <= n_rows):
        raise ParameterError(f"n_folds must be a whole number from 2 to the number of rows; got {n_folds!r}.")


def _estimated(
    chance: NDArray[np.float64], taken: NDArray[np.intp], space: NDArray[Any], least: float, constant: float
) -> PropensityEstimate:
    """Return the propensities of the actions taken, out of the probabilities of all, with the report."""
    raw = chance[taken]
    propensity = np.maximum(raw, least)
    n_clipped = int((raw < least).sum())
    loss = float(-np.log(raw).mean())
    table = _calibration(chance, taken)
    found = _warnings(propensity, n_clipped, least, loss, constant)
    return PropensityEstimate(propensity, space, least, n_clipped, loss, constant, table, found)


def _least(clip: float | None, n_rows: int, n_actions: int) -> float:
    if clip is None:
        return float(min(5 / (np.sqrt(n_rows) * np.log(max(n_rows, 3))), 0.5 / n_actions))
    if not (is_number(clip) and 0 < clip <= 1 / n_actions):
        raise ParameterError(
            f"clip must be above 0 and at most 1 / n_actions = {1 / n_actions:.3g}, the most that the least likely "
            f"action can have; got {clip!r}. Use a small one, such as 0.01, or leave it out."
        )
    return float(clip)


def _default_classifier(X: Features) -> Any:
    scaler = StandardScaler(with_mean=not is_sparse(X))
    logistic = LogisticRegression(max_iter=1000)
    return make_pipeline(NominalEncoder(impute=not is_sparse(X)), scaler, logistic)


def _out_of_fold(
    model: Any,
    X: Features,
    logged: NDArray[np.intp],
    frequency: NDArray[np.float64],
    n_folds: int,
    random: np.random.RandomState,
) -> NDArray[np.float64]:
    """Return the out-of-fold probabilities of all actions in each row; none is 0."""
    n_rows = len(logged)
    chance = np.empty((n_rows, len(frequency)))
    # Folds are stratified by action.
    order = random.permutation(n_rows)
    fold = np.empty(n_rows, dtype=np.intp)
    fold[order[np.argsort(logged[order], kind="stable")]] = np.arange(n_rows) % n_folds
    for each in range(n_folds):
        train, test = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        table = np.zeros((len(test), len(frequency)))
        seen = np.unique(logged[train])
        if len(seen) == 1:
            table[:, seen] = 1.0
        else:
            fitted = clone(model).fit(take_rows(X, train), logged[train])
            answer = np.asarray(fitted.predict_proba(take_rows(X, test)), dtype=np.float64)
            if answer.shape != (len(test), len(seen)) or not np.isfinite(answer).all():
                raise ParameterError(
                    f"estimator must give finite probabilities of shape {(len(test), len(seen))}; got {answer.shape}."
                )
            table[:, seen] = answer
        # Smoothing by two pseudo-rows: a model that has not seen an action gives it probability 0.
        chance[test] = (len(train) * table + frequency + 1 / len(frequency)) / (len(train) + 2)
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _calibrated(
    logs: NDArray[np.float64], logged: NDArray[np.intp], random: np.random.RandomState
) -> NDArray[np.float64]:
    """Return a * logs + b, normalised; the scalar a and one b per action maximise the likelihood of the actions."""
    n_rows, n_actions = logs.shape
    rows = random.choice(n_rows, MOST_ROWS, replace=False) if n_rows > MOST_ROWS else np.arange(n_rows)
    part, taken = logs[rows], logged[rows]
    share = np.bincount(taken, minlength=n_actions) / len(rows)

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = theta[0] * part + theta[1:]
        found = log_softmax(scores, axis=1)
        off = softmax(scores, axis=1)
        slope = np.empty(n_actions + 1)
        slope[0] = (off * part).sum() / len(rows) - part[np.arange(len(rows)), taken].mean()
        slope[1:] = off.mean(axis=0) - share
        # A ridge penalty of one row's weight: else the b of an action without rows goes to minus infinity.
        change = theta - np.append(1.0, np.zeros(n_actions))
        value = -found[np.arange(len(rows)), taken].mean() + change @ change / (2 * len(rows))
        return float(value), slope + change / len(rows)

    best = minimize(loss, np.append(1.0, np.zeros(n_actions)), jac=True, method="L-BFGS-B")
    return np.asarray(log_softmax(best.x[0] * logs + best.x[1:], axis=1))


def _calibration(chance: NDArray[np.float64], taken: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return mean prediction, share taken and number of predictions, by deciles of all predictions."""
    is_taken = np.zeros(len(chance), dtype=bool)
    is_taken[taken] = True
    groups = [group for group in np.array_split(np.argsort(chance), N_BINS) if len(group)]
    return np.array([(chance[g].mean(), is_taken[g].mean(), len(g)) for g in groups])


def _warnings(
    propensity: NDArray[np.float64], n_clipped: int, least: float, loss: float, constant: float
) -> tuple[str, ...]:
    found = []
    if n_clipped > 0.01 * len(propensity):
        found.append(
            f"{n_clipped:,} of {len(propensity):,} propensities were below {least:.3g} and raised to it: those "
            "rows are under-weighted. Are there contexts in which their actions were (almost) never taken?"
        )
    if loss > constant + 0.01:
        found.append(
            f"the model predicts actions worse (log loss {loss:.3g}) than their frequencies do ({constant:.3g}): "
            "give a simpler estimator."
        )
    if (propensity > 0.99).mean() > 0.5:
        found.append(
            "most actions can be predicted with certainty: the logging policy hardly explored, and no estimate "
            "of another policy's value will be good; or a column gives the action away, such as the price of what was "
            "sent: leave it out."
        )
    return tuple(found)
