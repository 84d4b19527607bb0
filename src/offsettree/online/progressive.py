"""Progressive validation: for each row decide, observe the reward, then learn; so decisions are on unseen rows."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, count_rows, is_frame, take_rows
from offsettree._labels import check_actions, encode_actions, some_labels
from offsettree._progress import Progress
from offsettree._sparse import as_csr
from offsettree._validation import check_range, check_reward_within
from offsettree.base import BasePolicy
from offsettree.exceptions import LogError, ParameterError, RewardError
from offsettree.logs import LoggedData
from offsettree.online._policy import OnlinePolicy
from offsettree.online.exploration import EpochGreedy
from offsettree.online.explorer import Explorer, Explores
from offsettree.online.square_cb import SquareCB

__all__ = ["ProgressiveResult", "progressive_validation"]

CHUNK = 50_000  # rows between two reports of progress
N_POINTS = 400  # of the curve


@dataclass(frozen=True)
class ProgressiveResult:
    """The result of a run over the rows.

    Parameters
    ----------
    error : float
        Mean loss against each row's best action; with labels, the share of wrong decisions.
    value : float
        Mean reward.
    curve : ndarray of shape (n_points, 2)
        Numbers of rows, and the error over that many first rows.
    records : LoggedData
        The contexts, actions, rewards and propensities of the run: a log to learn from.
    """

    error: float
    value: float
    curve: NDArray[np.float64]
    records: LoggedData

    def __repr__(self) -> str:
        return f"<ProgressiveResult: {len(self.records):,} rows, error {self.error:.4f}, value {self.value:.4f}>"


def progressive_validation(
    learner: Any,
    X: Features,
    y: ArrayLike | None = None,
    *,
    rewards: ArrayLike | None = None,
    progress: bool | None = None,
) -> ProgressiveResult:
    """For each row in turn, let a learner decide, and let it learn from the reward of its action.

    The learner is updated in place. If the run is interrupted, it has learned from the rows so far.

    Parameters
    ----------
    learner : explorer, Banditron or other object with `choose` and `learn`
        A plain online policy never explores. All actions must be known.
    X : array of shape (n_rows, n_features), CSR matrix or frame of numbers
        The contexts, in their order.
    y : array of shape (n_rows,), optional
        The right action of each row: it earns 1, all others 0.
    rewards : array of shape (n_rows, n_actions), optional
        Instead of `y`: the reward of each action, in the order of `actions_`.
    progress : bool, optional
        Show progress on standard error. By default on a terminal.

    Returns
    -------
    result : ProgressiveResult
        Its `error`, `value`, `curve` and `records`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import EpochGreedy, OnlineOffsetTree, progressive_validation
    >>> explorer = EpochGreedy(OnlineOffsetTree(actions=range(10)), random_state=0)
    >>> result = progressive_validation(explorer, *load_digits(return_X_y=True))
    >>> bool(result.error < 0.9), len(result.records)
    (True, 1797)
    """
    for verb in ("choose", "learn"):
        if isinstance(learner, type) or not hasattr(learner, verb):
            raise ParameterError(
                f"learner must have choose(x) and learn(x, action, reward, propensity), such as "
                f"EpochGreedy(OnlineOffsetTree(actions=...)); {_name_of(learner)} has no {verb}."
            )
    if isinstance(learner, Explorer):
        learner._check_policy()
    policy = learner.policy if isinstance(learner, Explorer) else learner
    with policy._all_or_nothing() if isinstance(policy, BasePolicy) else nullcontext():
        X = _checked(policy, X)
        labels = _actions_of(learner)
        truth = _Truth.of(y, rewards, labels, count_rows(X), getattr(policy, "reward_range", (0.0, 1.0)))
    # The kernels draw with fixed rates; those of SquareCB depend on what is predicted.
    compiled = isinstance(policy, OnlinePolicy) and not isinstance(learner, SquareCB)
    step = _compiled_step if compiled else _plain_step
    n_rows = count_rows(X)
    shown = sys.stderr.isatty() if progress is None else progress
    parts = []
    with Progress(n_rows, asked_for=True) if shown else nullcontext() as bar:
        for first in range(0, n_rows, CHUNK):
            rows = slice(first, min(first + CHUNK, n_rows))
            parts.append(step(learner, policy, X, truth, rows))
            if bar is not None:
                bar.advance(rows.stop - rows.start, f"{rows.stop:,} rows")
    action = np.concatenate([part[0] for part in parts])
    propensity = np.concatenate([part[1] for part in parts])
    reward = truth.reward(action)
    lost = truth.best - reward
    return ProgressiveResult(
        error=float(lost.mean()),
        value=float(reward.mean()),
        curve=_curve(lost),
        records=LoggedData(X, labels[action], reward, propensity),
    )


@dataclass(frozen=True)
class _Truth:
    """The reward of every action: by labels (positions of the right actions) or by a table."""

    label: NDArray[np.intp] | None
    rewards: NDArray[np.float64]  # one row per row of X; with labels, a single row (miss, hit)
    low: float
    high: float

    @classmethod
    def of(cls, y: Any, rewards: Any, actions: NDArray[Any], n_rows: int, reward_range: Any) -> _Truth:
        low, high = check_range(reward_range)
        if (y is None) == (rewards is None):
            raise ParameterError(
                "progressive_validation takes either y, the right actions, or rewards, a table; give one of them."
            )
        if y is not None:
            if not low <= 0 < 1 <= high:
                raise ParameterError(
                    "with labels, rewards are 0 and 1 and must be in the policy's reward_range; got "
                    f"({low:g}, {high:g}). Pass rewards instead."
                )
            label = encode_actions(check_actions(y, n_rows, what="y"), actions)
            return cls(label, np.array([[0.0, 1.0]]), low, high)
        table = _as_table(rewards, actions)
        if table.shape != (n_rows, len(actions)):
            raise LogError(
                f"rewards must have one row per row of X and one column per action, ({n_rows}, {len(actions)}); got "
                f"an array of shape {table.shape}."
            )
        if not np.isfinite(table).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            raise RewardError(
                f"rewards must be finite; row {row}, action {actions.tolist()[column]!r} has {table[row, column]}."
            )
        check_reward_within(table.ravel(), (low, high))
        return cls(None, table, low, high)

    @property
    def best(self) -> NDArray[np.float64] | float:
        return 1.0 if self.label is not None else self.rewards.max(axis=1)

    def reward(self, action: NDArray[np.intp], first: int = 0) -> NDArray[np.float64]:
        rows = np.arange(first, first + len(action))
        if self.label is None:
            return self.rewards[rows, action]
        return np.asarray(self.label[rows] == action, dtype=np.float64)

    def scaled(self, rows: slice) -> tuple[NDArray[np.intp] | None, NDArray[np.float64]]:
        """Return labels and rewards of some rows, with rewards scaled to [0, 1]."""
        table = self.rewards if self.label is not None else self.rewards[rows]
        return (None if self.label is None else self.label[rows]), (table - self.low) / (self.high - self.low)


def _as_table(rewards: Any, actions: NDArray[Any]) -> NDArray[np.float64]:
    if is_frame(rewards):
        names = list(rewards.columns)
        if sorted(map(str, names)) != sorted(map(str, actions.tolist())):
            raise RewardError(
                f"the columns of a frame of rewards must be the actions, {some_labels(actions)}; got {names}. Rename "
                "them, or pass an array with columns in the order of the actions."
            )
        order = {str(name): name for name in names}
        rewards = rewards[[order[str(label)] for label in actions.tolist()]]
    try:
        return np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise RewardError("rewards must be a table of numbers, one column per action; got other values.") from None


def _name_of(learner: Any) -> str:
    return f"the class {learner.__name__}, to be called first," if isinstance(learner, type) else type(learner).__name__


def _checked(policy: Any, X: Features) -> Features:
    if isinstance(policy, OnlinePolicy):
        is_first = "_model" not in policy.__dict__
        if is_first:
            X = policy._start(X)
        policy._refuse_changes()
        if not is_first:
            X = policy._checked(X)
    elif not is_frame(X) and not hasattr(X, "tocsr"):
        X = np.asarray(X)
    if count_rows(X) == 0:
        raise LogError("X has no rows: there is nothing to decide.")
    return as_csr(X) if hasattr(X, "tocsr") else X


def _actions_of(learner: Any) -> NDArray[Any]:
    labels = getattr(learner, "actions_", None)
    if labels is None:
        raise ParameterError(
            f"{type(learner).__name__} must know all actions before the first row: it has no actions_."
        )
    return np.asarray(labels)


def _compiled_step(
    learner: Any, policy: OnlinePolicy, X: Features, truth: _Truth, rows: slice
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    n_rows = rows.stop - rows.start
    explores = isinstance(learner, Explores)
    rates = learner._next_rates(n_rows) if explores else np.zeros(n_rows)
    draws = learner._next_draws(n_rows) if explores else np.ones((n_rows, 2))
    if isinstance(learner, EpochGreedy) and learner._learns_from_explored_only():
        return _learn_from_explored(policy, X, truth, rows, rates, draws)
    return policy._run(X[rows], *truth.scaled(rows), rates, draws)


def _learn_from_explored(
    policy: OnlinePolicy,
    X: Features,
    truth: _Truth,
    rows: slice,
    rates: NDArray[np.float64],
    draws: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Decide on all rows up to the next explored one at once: the policy does not change on the way."""
    n_actions, explored = len(policy.actions_), np.flatnonzero(draws[:, 0] < rates)
    greedy = np.empty(len(rates), dtype=np.intp)
    chosen = np.empty(len(rates), dtype=np.intp)
    first = 0
    for row in (*explored.tolist(), len(rates)):
        last = min(row + 1, len(rates))
        if last > first:
            greedy[first:last] = policy._choose(X[rows.start + first : rows.start + last])
            chosen[first:last] = greedy[first:last]
        if row < len(rates):
            chosen[row] = min(int(draws[row, 1] * n_actions), n_actions - 1)
            at = rows.start + row
            reward = (truth.reward(chosen[row:last], at) - truth.low) / (truth.high - truth.low)
            policy._learn(X[at : at + 1], chosen[row:last], reward, np.array([1 / n_actions]))
        first = last
    return chosen, rates / n_actions + (1 - rates) * (chosen == greedy)


def _plain_step(
    learner: Any, policy: Any, X: Features, truth: _Truth, rows: slice
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    labels = _actions_of(learner).tolist()
    n_rows = rows.stop - rows.start
    chosen, propensity = np.empty(n_rows, dtype=np.intp), np.empty(n_rows)
    for i in range(n_rows):
        x = take_rows(X, np.array([rows.start + i]))
        action, propensity[i] = learner.choose(x)
        chosen[i] = labels.index(action)
        reward = float(truth.reward(chosen[i : i + 1], rows.start + i)[0])
        learner.learn(x, action, reward, propensity[i])
    return chosen, propensity


def _curve(lost: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.unique(np.geomspace(1, len(lost), N_POINTS).round().astype(int))
    return np.column_stack([rows, np.cumsum(lost)[rows - 1] / rows])
