"""A log of decisions: what was known, what was chosen, what it earned, how likely that choice was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features, count_rows, is_frame, is_sparse, take_rows
from offsettree._messages import Parameter
from offsettree._notebook import paragraph, table
from offsettree._plotting import OTHER, draw_intervals, new_axes
from offsettree._sparse import as_csr
from offsettree._texts import as_texts
from offsettree.exceptions import FeatureError, LogError
from offsettree.logs.action_files import ActionLogScan
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.checked_log import Columns, judge_columns
from offsettree.logs.log_file import read_columns
from offsettree.logs.log_scan import LogScan
from offsettree.logs.readers import CHUNK_ROWS, Path

__all__ = ["LoggedData"]

SHOWN = 12  # actions in a notebook's table


class LoggedData:
    """Rows (x, a, r_a, p(a)): the one form in which data travels through this package.

    Parameters
    ----------
    X : array of shape (n_rows, n_features), scipy CSR matrix, pandas or polars frame
        What was known when each decision was taken.
    action : array of shape (n_rows,)
        What was chosen: integers or strings.
    reward : array of shape (n_rows,)
        What the chosen action earned. Nothing is known of the others.
    propensity : array of shape (n_rows,) or float
        The probability with which the logging policy chose that action, in (0, 1]; one number for all rows will do
        where it never varied.
    action_sets : ActionSets, optional
        The actions that each row could choose from, with their features, where these differ from row to row. The
        logged action must be one of them.

    Examples
    --------
    >>> log = LoggedData([[0.0], [1.0], [2.0]], ["mail", "call", "mail"], reward=[0, 1, 1], propensity=0.5)
    >>> log
    <LoggedData: 3 rows, 1 feature, 2 actions, mean reward 0.667>
    >>> log[log.action == "mail"].reward
    array([0., 1.])
    >>> train, test = log.split(test_size=1, random_state=0)
    >>> len(train), len(test)
    (2, 1)
    """

    # Of logs that were read from a file.
    feature_names: list[str] | None = None
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        X: Features,
        action: ArrayLike,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        *,
        action_sets: ActionSets | None = None,
    ) -> None:
        if is_sparse(X):
            X = as_csr(X)
        elif not is_frame(X):
            try:
                X = np.asarray(X)
            except ValueError as error:
                raise FeatureError(f"X must be a table with rows of equal length: {error}") from None
            if X.ndim != 2:
                raise FeatureError(f"X must be a table of rows and features; got an array of shape {X.shape}.")
        self.X = X
        n_rows = count_rows(self.X)
        if n_rows == 0:
            raise LogError("the log is empty: X has no rows.")
        labels, self.reward, self.propensity = judge_columns(n_rows, action, reward, propensity, copy=True)
        self.action = as_texts(labels)
        self._as_judged = (self.action, self.reward, self.propensity)
        self.action_sets = action_sets
        if action_sets is not None:
            _check_sets(action_sets, n_rows)
            action_sets.find(self.action)

    @classmethod
    def from_frame(cls, frame: Features, *, action: str, reward: str, propensity: str) -> Self:
        """Make a log of one pandas or polars frame; all other columns are features.

        Parameters
        ----------
        frame : pandas or polars frame
            One row per decision.
        action, reward, propensity : str
            The names of their columns, which are taken out of X.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [25, 61], "sent": ["call", "mail"], "visit": [1, 0], "p": [0.5, 0.5]})
        >>> LoggedData.from_frame(frame, action="sent", reward="visit", propensity="p").X.columns.tolist()
        ['age']
        """
        names = [action, reward, propensity]
        if missing := [name for name in names if name not in frame.columns]:
            raise LogError(
                f"the frame has no column {', '.join(missing)}; it has {', '.join(map(str, frame.columns))}."
            )
        rest = [name for name in frame.columns if name not in names]
        return cls(frame[rest], frame[action], frame[reward], frame[propensity])

    @classmethod
    def read(
        cls,
        path: Path,
        *,
        action: str | None = None,
        reward: str | None = None,
        propensity: str | float | None = None,
        features: Sequence[str] | None = None,
        format: str | None = None,  # noqa: A002 - what users call it
        cost: str = "negative_reward",
        action_sets: bool = False,
        **options: Any,
    ) -> Self:
        r"""Read a log from a file or a folder: CSV, NDJSON, Parquet, Arrow, Vowpal Wabbit's text or dsjson.

        Needs the extra ``files``. What is refused and why is in ``docs/files.md``.

        Parameters
        ----------
        path : str or path
            A file, or a folder of files of one format, such as a partitioned one.
        action, reward : str, optional
            Their columns. By default they are guessed where a name tells; `notes` says what was guessed.
        propensity : str or float, optional
            Its column, or one number for all rows; guessed as the others.
        features : list of str, optional
            The columns of X; by default all others, but not those that look like further outcomes, propensities or
            names of the action, nor those of lists; `notes` says which.
        format : {"csv", "ndjson", "parquet", "arrow", "vw", "dsjson"}, optional
            By default it is recognised by content, then by name.
        cost : {"negative_reward", "one_minus_reward"}, default="negative_reward"
            What the costs of ``vw`` and ``dsjson`` are: rewards are then -cost, or 1 - cost.
        action_sets : bool, default=False
            Whether to read a set of eligible actions per row, with their features: of ``vw`` (multi-line, as for
            ``--cb_adf``) and ``dsjson``, which have them, or of tables, with the options eligible, items, item_id and
            pair_columns of `ActionLogScan`.
        **options : Any
            As `scan_tables` takes them: types, delimiter, decimal, encoding, and the limits max_line_bytes,
            max_nesting and max_ratio.

        Returns
        -------
        LoggedData
            Its X is a pandas frame, text as categories; or a CSR matrix where a log of sparse rows has more than 1,024
            features. `feature_names` has their names, `notes` what was guessed and what looks odd.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("age,sent,visit,p\n25,call,1,0.5\n61,mail,0,0.5\n")
        ...     file.flush()
        ...     LoggedData.read(file.name, action="sent")
        <LoggedData: 2 rows, 1 feature, 2 actions, mean reward 0.5>
        """
        if action_sets:
            roles = {"action": action, "reward": reward, "propensity": propensity, "features": features}
            scan = ActionLogScan(path, of=cls, format=format, cost=cost, **_given(roles), **options)
            return scan.whole()  # type: ignore[return-value]
        parts = read_columns(
            path,
            action=action,
            reward=reward,
            propensity=propensity,
            features=features,
            format=format,
            cost=cost,
            **options,
        )
        if parts.propensity is None:
            log = cls(parts.X, parts.action, parts.reward)
        else:
            log = cls(parts.X, Columns(parts.action, parts.reward, parts.propensity))
        log.feature_names, log.notes = parts.feature_names, parts.notes
        return log

    @overload
    @classmethod
    def scan(
        cls, path: Path, chunk_rows: int = ..., *, action_sets: Literal[False] = ..., **arguments: Any
    ) -> LogScan: ...

    @overload
    @classmethod
    def scan(
        cls, path: Path, chunk_rows: int = ..., *, action_sets: Literal[True], **arguments: Any
    ) -> ActionLogScan: ...

    @classmethod
    def scan(
        cls, path: Path, chunk_rows: int = CHUNK_ROWS, *, action_sets: bool = False, **arguments: Any
    ) -> LogScan | ActionLogScan:
        """Read a log in chunks, for those that do not fit into memory.

        Parameters
        ----------
        path : str or path
            A file, or a folder of files of one format.
        chunk_rows : int, default=65536
            How many rows a chunk has.
        action_sets : bool, default=False
            Whether to read a set of eligible actions per row, as in `read`.
        **arguments : Any
            As `read` takes them, and `encoder`, which makes the X of each chunk.

        Returns
        -------
        LogScan or ActionLogScan
            It can be iterated over as often as wanted, and yields a `LoggedData` per chunk.
        """
        if action_sets:
            return ActionLogScan(path, chunk_rows, of=cls, **arguments)
        return LogScan(path, chunk_rows, of=cls, **arguments)

    def __len__(self) -> int:
        return len(self.reward)

    def __getitem__(self, rows: int | slice | ArrayLike) -> LoggedData:
        """Return the log of some rows: positions, a truth value per row, a slice, or one position."""
        index = np.arange(len(self))
        try:
            where = rows if isinstance(rows, slice) else np.asarray(rows, dtype=None if np.size(rows) else np.intp)
            chosen = np.atleast_1d(index[where])
        except IndexError as error:
            raise IndexError(
                f"rows must be positions below {len(self)}, or {len(self)} truth values, one per row; {error}"
            ) from None
        columns = (column[chosen] for column in (self.action, self.reward, self.propensity))
        sets = None if self.action_sets is None else self.action_sets.take(chosen)
        return LoggedData(take_rows(self.X, chosen), Columns(*columns), action_sets=sets)

    def split(
        self, test_size: float = 0.25, random_state: int | np.random.RandomState | None = None
    ) -> tuple[LoggedData, LoggedData]:
        """Split the rows at random into two logs, to learn from one and to evaluate on the other.

        Parameters
        ----------
        test_size : float or int, default=0.25
            The share of rows, or the number of rows, of the second log.
        random_state : int, RandomState instance or None, default=None
            Decides which rows go where.

        Returns
        -------
        train, test : LoggedData
            Both in the order of this log.
        """
        from sklearn.model_selection import train_test_split  # here: to read a log must not take that long to import

        try:
            train, test = train_test_split(np.arange(len(self)), test_size=test_size, random_state=random_state)
        except ValueError as error:
            given = Parameter("test_size", test_size)
            raise LogError(f"the log of {len(self)} rows cannot be split with ", given, f": {error}") from None
        return self[np.sort(train)], self[np.sort(test)]

    def arrays(self) -> dict[str, Any]:
        """Return the parts by the names that `fit` and `score` take: ``policy.fit(**log.arrays())``."""
        parts = {"X": self.X, "action": self.action, "reward": self.reward, "propensity": self.propensity}
        return parts if self.action_sets is None else parts | {"action_sets": self.action_sets}

    @property
    def columns(self) -> Columns:
        """The columns beside X, judged when the log was made; what was put in their place since is judged now."""
        parts = (self.action, self.reward, self.propensity)
        judged = getattr(self, "_as_judged", (None, None, None))
        if any(now is not then for now, then in zip(parts, judged, strict=True)):
            return judge_columns(count_rows(self.X), *parts)
        labels = self.action.astype(object) if self.action.dtype.kind == "U" else self.action
        return Columns(labels, self.reward, self.propensity)

    def judged(self) -> dict[str, Any]:
        """Return the parts as `arrays` does, for this package's own policies, which do not judge them again."""
        return {"X": self.X, "action": self.columns}

    @property
    def actions(self) -> NDArray[Any]:
        """The labels that occur, sorted."""
        return np.unique(self.action)

    def plot(self, *, max_actions: int = 30, axes: Any = None) -> Any:
        """Draw what each action earned, weighted by 1 / propensity, and how often it was taken (extra ``plots``).

        Bars are two standard errors to either side. They are for a first look; `evaluate` has intervals that hold.

        Parameters
        ----------
        max_actions : int, default=30
            How many actions are drawn: those taken most often.
        axes : matplotlib axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib axes
            Save it by ``axes.figure.savefig(...)``.
        """
        drawn = self._by_action()[:max_actions]
        axes = new_axes(axes, height=1.3 + 0.35 * len(drawn))
        named = [
            (f"{label}  ({count:,})", mean, mean - 2 * error, mean + 2 * error) for label, count, mean, error in drawn
        ]
        draw_intervals(axes, named)
        axes.axvline(self.reward.mean(), color=OTHER, linestyle="--", label="as logged")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, frameon=False)
        axes.set_xlabel("mean reward if always taken")
        return axes

    def _by_action(self) -> list[tuple[str, int, float, float]]:
        """Return label, rows, weighted mean reward and its standard error of each action, the most frequent first."""
        labels, place, count = np.unique(self.action, return_inverse=True, return_counts=True)
        weight = 1 / self.propensity
        total = np.bincount(place, weights=weight)
        mean = np.bincount(place, weights=weight * self.reward) / total
        error = np.sqrt(np.bincount(place, weights=(weight * (self.reward - mean[place])) ** 2)) / total
        order = np.argsort(-count, kind="stable")
        return [(str(labels[i]), int(count[i]), float(mean[i]), float(error[i])) for i in order.tolist()]

    def _repr_html_(self) -> str:
        found = self._by_action()
        rows = [
            (label, f"{count:,}", f"{100 * count / len(self):.1f} %", f"{mean:.4g}") for label, count, mean, _ in found
        ]
        more = [] if len(rows) <= SHOWN else [paragraph(f"and {len(rows) - SHOWN:,} more actions")]
        head = ["action", "rows", "share", "mean reward, weighted by 1 / propensity"]
        return "".join([paragraph(repr(self)[1:-1]), table(head, rows[:SHOWN]), *more])

    def __repr__(self) -> str:
        n_features, n_actions = self.X.shape[1], len(set(self.action.tolist()))
        sets = "" if self.action_sets is None else ", a set of eligible actions per row"
        return (
            f"<LoggedData: {len(self):,} row{'s' * (len(self) != 1)}, {n_features:,} feature{'s' * (n_features != 1)}, "
            f"{n_actions:,} action{'s' * (n_actions != 1)}, mean reward {self.reward.mean():.3g}{sets}>"
        )


def _given(roles: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in roles.items() if value is not None}


def _check_sets(action_sets: Any, n_rows: int) -> None:
    if not isinstance(action_sets, ActionSets):
        raise LogError(
            f"action_sets must be the eligible actions of each row, as ActionSets(...); got a "
            f"{type(action_sets).__name__}."
        )
    if len(action_sets) != n_rows:
        raise LogError(f"action_sets must have a set per row of X, {n_rows:,}; it has {len(action_sets):,}.")
