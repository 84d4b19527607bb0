"""Simulated logs from labelled data, with one reward revealed per row (section 7.1 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, count_rows
from offsettree._labels import check_actions, encode_actions, find_actions
from offsettree._validation import as_random_state
from offsettree.exceptions import ActionError, LogError, ParameterError, PropensityError
from offsettree.logs.logged_data import LoggedData

__all__ = ["simulate_log"]


def simulate_log(
    X: Features,
    y: ArrayLike,
    logging: Any = "uniform",
    random_state: int | np.random.RandomState | None = None,
    *,
    actions: ArrayLike | None = None,
) -> LoggedData:
    """Let a logging policy choose one action per row, and reveal only that action's reward.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,) or (n_rows, n_actions)
        The label of each row, which earns 1 while all others earn 0; or the reward of every action.
    logging : "uniform", array of shape (n_actions,) or (n_rows, n_actions), or a policy
        The logging policy: uniform; given probabilities, the same for all rows or row by row; or a fitted policy, by
        its `predict_proba` if it has one, else by its `predict` (propensity 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the choices.
    actions : array of shape (n_actions,), optional
        The labels of the actions: by default the sorted labels of y, or 0, 1, ... for a matrix of rewards.

    Returns
    -------
    LoggedData
        With the X given, and exact propensities.

    Examples
    --------
    >>> log = simulate_log([[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "yes", "no"], random_state=0)
    >>> log.propensity
    array([0.5, 0.5, 0.5, 0.5])
    >>> simulate_log([[0.0], [1.0]], [[0.2, 0.8], [0.3, 0.1]], logging=[0.0, 1.0]).reward
    array([0.8, 0.1])
    """
    n_rows = count_rows(X)
    if n_rows == 0:
        raise LogError("X must have rows to simulate a log from; it has none.")
    rewards = np.asarray(y)
    if rewards.ndim == 2:
        labels = find_actions(np.arange(rewards.shape[1]), actions)
        if rewards.shape != (n_rows, len(labels)):
            raise LogError(
                f"a matrix of rewards must have a row per row of X and a column per action; got {rewards.shape} for "
                f"{n_rows} rows and {len(labels)} actions."
            )
    else:
        right = check_actions(y, n_rows, what="y")
        labels = find_actions(right, actions)
        right = encode_actions(right, labels)
    chosen, propensity = _choose(logging, X, n_rows, labels, as_random_state(random_state))
    earned = rewards[np.arange(n_rows), chosen] if rewards.ndim == 2 else chosen == right
    return LoggedData(X, labels[chosen], earned.astype(np.float64), propensity)


def _choose(
    logging: Any, X: Features, n_rows: int, labels: NDArray[Any], random: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the positions that the logging policy chooses, and their propensities."""
    if isinstance(logging, str):
        if logging != "uniform":
            raise ParameterError(f"logging must be 'uniform', probabilities or a policy; got {logging!r}.")
        return random.randint(len(labels), size=n_rows).astype(np.intp), np.full(n_rows, 1 / len(labels))
    if isinstance(logging, type):
        raise ParameterError(f"logging must be a fitted policy, not a class; got {logging.__name__}.")
    if hasattr(logging, "predict") and not hasattr(logging, "predict_proba"):
        return _positions(logging.predict(X), labels), np.ones(n_rows)
    probability = _probabilities(logging, X, n_rows, labels)
    # Tolerance 1e-6: probabilities are often float32, or rounded in print.
    total = probability.sum(axis=1)
    wrong = (probability < 0).any(axis=1) | ~(np.abs(total - 1) <= 1e-6)
    if wrong.any():
        row = int(wrong.argmax())
        raise PropensityError(
            f"logging probabilities must be at least 0 and sum to 1; row {row} has {probability[row]} "
            f"(sum {total[row]:g})."
        )
    probability = probability / total[:, np.newaxis]
    chosen = _draw(probability, random)
    return chosen, probability[np.arange(n_rows), chosen]


def _probabilities(logging: Any, X: Features, n_rows: int, labels: NDArray[Any]) -> NDArray[np.float64]:
    if hasattr(logging, "predict_proba"):
        known = getattr(logging, "actions_", getattr(logging, "classes_", None))
        if known is None:
            raise ParameterError(f"a logging policy must know its actions_ (or classes_); {logging!r} does not.")
        probability = np.zeros((n_rows, len(labels)))
        probability[:, _positions(known, labels)] = logging.predict_proba(X)
        return probability
    try:
        return np.broadcast_to(np.asarray(logging, dtype=np.float64), (n_rows, len(labels)))
    except (TypeError, ValueError):
        raise ParameterError(
            "logging must be 'uniform', a policy, or probabilities of shape (n_actions,) or (n_rows, n_actions) = "
            f"{(n_rows, len(labels))}; got {getattr(logging, 'shape', None) or repr(logging)}."
        ) from None


def _positions(policy_actions: ArrayLike, labels: NDArray[Any]) -> NDArray[np.intp]:
    try:
        return encode_actions(check_actions(policy_actions), labels)
    except ActionError as error:
        raise ActionError(f"the logging policy chooses among actions that y does not have: {error}") from None


def _draw(probability: NDArray[np.float64], random: np.random.RandomState) -> NDArray[np.intp]:
    """Draw one column per row by inverting the cumulative distribution."""
    cumulative = np.cumsum(probability, axis=1)
    level = random.random_sample(len(probability)) * cumulative[:, -1]
    chosen = (cumulative <= level[:, np.newaxis]).sum(axis=1)
    # Rounding can raise the level to the last sum; the last action with a positive probability is the limit.
    last = probability.shape[1] - 1 - (probability[:, ::-1] > 0).argmax(axis=1)
    return np.asarray(np.minimum(chosen, last), dtype=np.intp)
