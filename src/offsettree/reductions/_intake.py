"""The chunks of a log judged one by one, as `fit` judges a log at once; rows are counted over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree._features import check_features, count_rows, is_finite, is_frame, is_sparse
from offsettree._fingerprint import Fingerprint, joined_fingerprint, remember_rows
from offsettree._labels import find_actions, unique_labels
from offsettree._validation import check_reward_within, warn_caller
from offsettree.exceptions import FeatureError, LogError
from offsettree.logs import CheckedLog, LoggedData, judge_columns
from offsettree.reductions._nodes import may_assume_finite

FEW_ROWS = 64  # too short to tell a slip from an accident


class Intake:
    """Takes chunk after chunk in for a policy, and notes what must be known of all of them in the end."""

    def __init__(self, policy: Any, fingerprint: Fingerprint | None = None) -> None:
        self._policy = policy
        self._learner = policy._learner()
        policy._check_settings()
        self._is_given = policy.actions is not None
        self._labels: NDArray[Any] = find_actions(np.empty(0), policy.actions) if self._is_given else np.empty(0)
        self._fingerprint = fingerprint
        self._leaks = {"reward": Leak(), "propensity": Leak()}
        self.n_rows = 0
        self.finite = True  # so that the learner need not look again

    def take(self, chunk: Any) -> CheckedLog:
        """Check a chunk, whose actions become codes; the policy learns its columns from the first."""
        if not isinstance(chunk, LoggedData):
            raise LogError(
                f"chunks must be logs, such as LoggedData(X, action, reward, propensity); after {self.n_rows:,} rows "
                f"came a {type(chunk).__name__}. For a log in memory use fit(**log.arrays())."
            )
        columns = judge_columns(count_rows(chunk.X), chunk.columns, None, None)
        check_reward_within(columns.reward, self._policy.reward_range, first_row=self.n_rows)
        X = self._as_stored(chunk.X)
        self._meet(columns.action)
        log = CheckedLog.of(X, columns, self._labels, self._policy.reward_range, first_row=self.n_rows)
        for name, leak in self._leaks.items():
            leak.look(X, getattr(log, name))
        self._fingerprint = remember_rows(X, log.reward, self._fingerprint)
        self.finite = self.finite and may_assume_finite(self._learner, X)
        self.n_rows += len(chunk)
        return log

    def seen(self) -> Seen:
        """Return what must be known of all chunks."""
        if not self.n_rows:
            raise LogError(
                "the log is empty: chunks must yield at least one LoggedData. An iterator that has been read to its "
                "end yields nothing more: make it anew."
            )
        names = getattr(self._policy, "feature_names_in_", None)
        n_features = self._policy.n_features_in_
        return Seen(self.n_rows, self._labels, self._fingerprint, self._leaks, self.finite, n_features, names)

    def finish(self) -> NDArray[np.intp]:
        """Let the policy know what all chunks have told; return the position of each code in its `actions_`."""
        (position,) = Seen.settle([self.seen()], self._policy)
        return position

    def _as_stored(self, given: Any) -> NDArray[np.float32]:
        if is_sparse(given):
            raise FeatureError(
                "X must be an array or a frame of numbers for fit_log, which stores every number; got a sparse matrix. "
                "Use fit, or partial_fit with an estimator that has it."
            )
        first = self.n_rows == 0
        X = check_features(
            self._policy,
            given,
            learner=self._learner,
            reset=first,
            as_frame=None if first else False,
            first_row=self.n_rows,
        )
        if is_frame(X):
            raise FeatureError(
                f"X must be numbers for fit_log, which stores an array of float32; got a {type(given).__name__} that "
                f"{type(self._learner).__name__} is shown as it is, nominal columns or names included. Encode it "
                "beforehand, with TableEncoder for instance, and pass arrays."
            )
        with np.errstate(over="ignore"):
            stored: NDArray[np.float32] = np.ascontiguousarray(X, dtype=np.float32)
        if X.dtype != np.float32 and not is_finite(stored):
            too_large = np.isinf(stored) & np.isfinite(X)
            if too_large.any():
                row, column = np.argwhere(too_large)[0].tolist()
                raise FeatureError(
                    f"X must be within float32, as which fit_log stores it: up to 3.4e38; row {self.n_rows + row}, "
                    f"column {column} has {X[row, column]} ({int(too_large.sum()):,} in all). Scale that column."
                )
        return stored

    def _meet(self, labels: NDArray[Any]) -> None:
        """Note actions that have not come before, where they are not given: their codes are in that order."""
        if self._is_given:
            return
        new = unique_labels(labels)
        if not len(self._labels):
            self._labels = new
        elif new.dtype.kind == self._labels.dtype.kind or "U" not in (new.dtype.kind, self._labels.dtype.kind):
            new = new[~np.isin(new, self._labels)]
            self._labels = np.concatenate([self._labels, new]) if len(new) else self._labels


class Seen(NamedTuple):
    """What one intake has seen of a log, or of a part of it."""

    n_rows: int
    labels: NDArray[Any]  # by code
    fingerprint: Fingerprint | None
    leaks: dict[str, Leak]
    finite: bool
    n_features: int
    names: NDArray[np.object_] | None

    @classmethod
    def settle(cls, parts: Sequence[Seen], policy: Any) -> list[NDArray[np.intp]]:
        """Let a policy know what all parts of a log have told; return the position of each one's codes."""
        n_rows = sum(part.n_rows for part in parts)
        for name in ("reward", "propensity"):
            reduce(Leak.joined, [part.leaks[name] for part in parts]).warn(name, n_rows)
        prints = [part.fingerprint for part in parts if part.fingerprint is not None]
        policy._trained_on, policy._frame_like = joined_fingerprint(prints), None
        if policy.actions is not None:
            policy.actions_ = parts[0].labels
            return [np.arange(len(part.labels)) for part in parts]
        labels = parts[0].labels if len(parts) == 1 else np.unique(np.concatenate([part.labels for part in parts]))
        policy.actions_ = find_actions(labels.astype(object) if labels.dtype.kind == "U" else labels, None)
        order = np.sort(labels)
        return [np.searchsorted(order, part.labels) for part in parts]


class Leak:
    """Columns of X that have equalled some values in all rows so far; and whether the values vary at all."""

    def __init__(self) -> None:
        self._columns: NDArray[np.intp] | None = None
        self._ends = np.inf, -np.inf

    def look(self, X: NDArray[np.float32], values: NDArray[np.float64]) -> None:
        """Drop the columns that differ somewhere in these rows."""
        self._ends = min(self._ends[0], float(values.min())), max(self._ends[1], float(values.max()))
        if self._columns is None:
            head = slice(0, FEW_ROWS)
            self._columns = np.flatnonzero((X[head] == values[head, np.newaxis]).all(axis=0))
        self._columns = np.array([j for j in self._columns if np.array_equal(X[:, j], values)], dtype=np.intp)

    def joined(self, other: Leak) -> Leak:
        """Return what both have found."""
        leak = Leak()
        mine, theirs = self._columns, other._columns
        leak._columns = mine if theirs is None else theirs if mine is None else np.intersect1d(mine, theirs)
        leak._ends = min(self._ends[0], other._ends[0]), max(self._ends[1], other._ends[1])
        return leak

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self._ends

    def warn(self, name: str, n_rows: int) -> None:
        """Warn of a column that equals the values in every row."""
        if n_rows < FEW_ROWS or self._ends[0] == self._ends[1] or self._columns is None or not len(self._columns):
            return
        warn_caller(
            f"column {self._columns[0]} of X equals the {name} in every row. It will not be known when a decision is "
            "taken: leave it out of X."
        )
