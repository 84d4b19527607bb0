"""A log in a file: the roles of its columns, found once, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._messages import Parameter
from offsettree._validation import bad_propensities, is_number
from offsettree.exceptions import LogError, PropensityError
from offsettree.logs._other_columns import (
    alike_but_for_blanks,
    left_out_as_action,
    left_out_as_group,
    left_out_by_name,
    left_out_by_type,
    same_as_action,
    useless,
)
from offsettree.logs.checked_log import Columns
from offsettree.logs.guess import COMMON_NAMES, guess_columns, simple
from offsettree.logs.readers import Path, open_reader

if TYPE_CHECKING:
    from offsettree.logs._reader import Chunk

__all__ = ["LogColumns", "LogFile", "read_columns"]

HEAD_ROWS = 1000


class LogColumns(NamedTuple):
    """The columns of a log; the propensity may be unknown.

    Parameters
    ----------
    X : pandas frame or CSR matrix
        The features.
    action, reward : array of shape (n_rows,)
        The actions taken and their rewards.
    propensity : array of shape (n_rows,) or None
        The probability of each action, if the log has it.
    feature_names : list of str
        The columns of X.
    notes : tuple of str
        Guesses and oddities.
    roles : dict
        The columns of "action", "reward" and "propensity".
    beside : dict
        Further columns that were requested, as pandas series by name.
    """

    X: Features
    action: NDArray[Any]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64] | None
    feature_names: list[str]
    notes: tuple[str, ...]
    roles: dict[str, str | float | None]
    beside: dict[str, Any] = {}  # noqa: RUF012 - of a tuple, and never changed

    @property
    def columns(self) -> Columns:
        """The columns beside X, which were judged as they were read; 1 stands for unknown propensities."""
        known = np.ones(len(self.reward)) if self.propensity is None else self.propensity
        return Columns(self.action, self.reward, known)


class LogFile:
    """The columns of a file and their roles, found from the first rows only.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    action, reward : str, optional
        Their columns; by default guessed by name.
    propensity : str or float, optional
        Its column, or one number for all rows; by default guessed by name.
    features : list of str, optional
        The columns to learn from; by default all others, except those whose names suggest that they were not known
        before the decision, such as a second outcome, and those of lists and other types that cannot be features.
    without_propensity : bool, default=False
        Do not read the propensity, as it will be estimated; a column that looks like it is no feature either.
    beside : list of str, optional
        Further columns to read, features or not.
    group : str, optional
        The column of `beside` with the groups: no feature, unless `features` names it.
    **options : Any
        Options of `scan_tables`.
    """

    def __init__(
        self,
        path: Path,
        *,
        action: str | None = None,
        reward: str | None = None,
        propensity: str | float | None = None,
        features: Sequence[str] | None = None,
        without_propensity: bool = False,
        beside: Sequence[str] = (),
        group: str | None = None,
        **options: Any,
    ) -> None:
        self.path, self.beside = path, list(beside)
        self.reader = open_reader(path, **options)
        from offsettree.logs._reader import check_columns

        names = self.reader.names()
        where = self.reader.sources[0]
        if isinstance(features, str):
            features = [features]
        given = [name for name in (action, reward, propensity) if isinstance(name, str)]
        if beside:
            self.reader.refuse_spread(beside)
        check_columns([*given, *(features or []), *beside], names, where)
        roles = {"action": action, "reward": reward, "propensity": propensity}
        roles |= {role: name for role, name in self.reader.roles.items() if roles[role] is None}
        head = None
        may_nest = self.reader.nests and not self.reader.roles and features is None
        if may_nest or any(value is None for value in roles.values()):
            head = self.reader.head(HEAD_ROWS)
        guess = guess_columns(names, head, **roles)  # type: ignore[arg-type]
        self.action, self.reward, self.propensity = guess.action, guess.reward, guess.propensity
        if self.propensity is None and not without_propensity:
            raise PropensityError(
                f"a log must have the propensity, the probability with which the logging policy chose the action; no "
                f"column of {where} looks like it. Give its column or one number for all rows, ",
                Parameter("propensity"),
                ", such as 1 / n_actions if all were equally likely; or have it estimated (--propensity-estimated on "
                "the command line, estimate_propensity in Python).",
            )
        if self.propensity is not None and not isinstance(self.propensity, str):
            self.propensity = _checked_constant(self.propensity)
        taken = [name for name in (self.action, self.reward, self.propensity) if isinstance(name, str)]
        if len(set(taken)) < len(taken):
            raise LogError(
                f"action, reward and propensity must be different columns; got {', '.join(map(repr, taken))}."
            )
        if leak := [name for name in features or [] if name in taken]:
            raise LogError(
                f"features must be known before the decision; {leak[0]!r} is the log's action, reward or propensity. "
                "Take it out of features."
            )
        if group in taken:
            raise LogError(
                f"group must tell apart what rows belong to, such as customers; {group!r} is the log's action, reward "
                "or propensity. Name another column."
            )
        if without_propensity:
            guess = replace(guess, guessed=tuple(role for role in guess.guessed if role != "propensity"))
            self.propensity = None
        self.given_features = features is not None
        self.features, left_out = self._features(names, taken, head, features, group)
        self.roles: dict[str, str | float | None] = {
            "action": self.action,
            "reward": self.reward,
            "propensity": self.propensity,
        }
        self.taken = [name for name in self.roles.values() if isinstance(name, str)]
        self.notes = tuple(note for note in (guess.statement, *left_out) if note)

    def _features(
        self, names: list[str], taken: list[str], head: Any, given: Sequence[str] | None, group: str | None
    ) -> tuple[list[str], list[str]]:
        """Return the columns to learn from, and notes on those left out; of formats that declare features, all."""
        unnamed = [name for name in names if not name.strip()]  # such as an index that pandas wrote
        notes = ["A column without a name, such as an index of rows, was left out."] if unnamed else []
        names = [name for name in names if name not in {*taken, *unnamed}]
        if given is None and not self.reader.roles:
            late = [name for name in names if simple(name) in COMMON_NAMES]  # as actions and outcomes are called
            odd = [name for name in useless(head, names) if name not in late] if self.reader.nests else []
            notes += [left_out_by_name(late)] if late else []
            unexpected = [name for name in odd if name not in self.beside]  # those were asked for as what they are
            notes += [left_out_by_type(unexpected)] if unexpected else []
            names = [name for name in names if name not in {*late, *odd}]
        if given is None and group is not None and group in names:
            notes.append(left_out_as_group(group))
            names = [name for name in names if name != group]
        features = names if given is None else list(given)
        if not features:
            raise LogError(
                f"a log must have features to decide by; {self.reader.sources[0]} has no column but "
                f"{', '.join(taken)}{' and some of no use' if notes else ''}.",
                *(part for reason in notes for part in (" ", reason)),
            )
        return features, notes

    def chunks(self, chunk_rows: int) -> Iterator[Chunk]:
        """Read the features and the log's own columns."""
        return self.reader.chunks([*self.features, *self.taken], chunk_rows)

    def columns(self, chunk: Chunk, X: Features) -> LogColumns:
        """Return the log's columns of a chunk, checked."""
        from offsettree.logs._log_columns import actions_of, propensities_of, rewards_of

        action, reward = actions_of(chunk, self.action), rewards_of(chunk, self.reward)
        propensity: NDArray[np.float64] | None = None
        if isinstance(self.propensity, str):
            propensity = propensities_of(chunk, self.propensity)
        elif self.propensity is not None:
            propensity = np.full(len(chunk.table), self.propensity)
        return LogColumns(X, action, reward, propensity, self.features, self.notes, self.roles)


def read_columns(path: Path, **arguments: Any) -> LogColumns:
    """Read a log as `LoggedData.read` does, also one without propensities.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    **arguments : Any
        Arguments of `LoggedData.read`; with ``without_propensity=True`` the propensity is not read.

    Returns
    -------
    LogColumns
        Its propensity is None if it was not read.
    """
    log = LogFile(path, **arguments)
    from offsettree.logs._log_columns import frame_of, refuse_ids

    tables, parts = [], []
    extra: dict[str, list[Any]] = {name: [] for name in log.beside}
    for chunk in log.reader.all_chunks(list(dict.fromkeys([*log.features, *log.taken, *log.beside]))):
        parts.append(log.columns(chunk, None))
        for name, pieces in extra.items():
            pieces.append(chunk.table.column(name).to_pandas())
        tables.append(chunk.X if chunk.X is not None else chunk.table.select(log.features))
    action = np.concatenate([part.action for part in parts])
    labels = set(action.tolist())
    refuse_ids(len(labels), len(action), log.action, path, list(labels))
    reward = np.concatenate([part.reward for part in parts])
    propensity = None if log.propensity is None else np.concatenate([part.propensity for part in parts])
    features, notes = log.features, (*log.notes, *alike_but_for_blanks(labels))
    if sp.issparse(tables[0]):
        X = sp.csr_matrix(sp.vstack(tables))
    else:
        X = frame_of(tables, categories=True)
        same = [] if log.given_features else same_as_action(X, action)
        if 0 < len(same) < len(features):
            features = [name for name in features if name not in same]
            X, notes = X[features], (*notes, left_out_as_action(same, log.action))
    beside = {}
    if extra:
        import pandas as pd

        beside = {name: pd.concat(pieces, ignore_index=True) for name, pieces in extra.items()}
    return LogColumns(X, action, reward, propensity, features, notes, log.roles, beside)


def _checked_constant(propensity: Any) -> float:
    if not is_number(propensity) or bad_propensities(np.array([propensity], dtype=np.float64)) is not None:
        raise PropensityError(
            f"propensity must be a column or one number in (0, 1]; got {propensity!r}. Percentages must be divided "
            "by 100."
        )
    return min(float(propensity), 1.0)
