"""A log larger than memory, read from its file in chunks at every iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._labels import check_actions, unique_labels
from offsettree.encoding import TableEncoder
from offsettree.logs.log_file import LogFile
from offsettree.logs.readers import CHUNK_ROWS, Path, check_chunk_rows

if TYPE_CHECKING:
    from offsettree.logs._reader import Chunk
    from offsettree.logs.logged_data import LoggedData

__all__ = ["LogFacts", "LogScan"]


@dataclass(frozen=True)
class LogFacts:
    """Statistics from one pass over a log.

    Parameters
    ----------
    n_rows : int
        Number of decisions.
    counts : dict
        Rows of each action, most frequent first.
    reward_range, propensity_range : pair of float
        The smallest and the largest value.
    mean_reward : float
        The mean reward of a decision.
    """

    n_rows: int
    counts: dict[Any, int]
    reward_range: tuple[float, float]
    propensity_range: tuple[float, float]
    mean_reward: float


class LogScan:
    """A log in a file or a folder, as chunks of `LoggedData`; it can be iterated repeatedly.

    Only one chunk is in memory at a time. The roles of the columns are found when the scan is created.

    Parameters
    ----------
    path : str or path
        A file, or a folder of files of one format.
    chunk_rows : int, default=65536
        Rows of a chunk; the last one of a file may have fewer.
    action, reward, propensity : str, optional
        Their columns, by default guessed by name; the propensity may be one number for all rows.
    features : list of str, optional
        The columns to learn from; by default as in `LoggedData.read`.
    encoder : object with encode(table), optional
        Encodes the features of each chunk, as a `TableEncoder` does. Without one, X is a pandas frame, or a CSR matrix
        if sparse rows have very many features.
    of : type
        The class of the chunks; `LoggedData.scan` gives its own.
    **options : Any
        Options of `scan_tables`: format, types, first_pass, delimiter, decimal, encoding, cost, and the limits
        max_line_bytes, max_nesting and max_ratio.

    Attributes
    ----------
    feature_names : list of str
        The columns to learn from.
    notes : tuple of str
        Guesses and oddities.
    roles : dict
        The columns of "action", "reward" and "propensity".
    """

    def __init__(
        self,
        path: Path,
        chunk_rows: int = CHUNK_ROWS,
        *,
        action: str | None = None,
        reward: str | None = None,
        propensity: str | float | None = None,
        features: Sequence[str] | None = None,
        encoder: Any = None,
        of: type[LoggedData],
        **options: Any,
    ) -> None:
        check_chunk_rows(chunk_rows)
        self.of = of
        self.chunk_rows = chunk_rows
        self.encoder = encoder
        self.file = LogFile(path, action=action, reward=reward, propensity=propensity, features=features, **options)
        self.feature_names = self.file.features
        self.notes = self.file.notes
        self.roles = self.file.roles

    def __iter__(self) -> Iterator[LoggedData]:
        from offsettree.logs._log_columns import MOST_ACTIONS, refuse_ids

        seen: set[Any] = set()
        n_rows = 0
        for chunk in self.file.chunks(self.chunk_rows):
            parts = self.file.columns(chunk, self._features(chunk))
            n_rows += len(parts.action)
            seen.update(np.unique(parts.action).tolist() if parts.action.dtype.kind != "O" else parts.action.tolist())
            if len(seen) > MOST_ACTIONS:
                refuse_ids(len(seen), n_rows, self.file.action, chunk.source, list(seen))
            yield self.of(parts.X, parts.columns)

    def _features(self, chunk: Chunk) -> Features:
        if chunk.X is not None:
            return chunk.X
        table = chunk.table.select(self.feature_names)
        if isinstance(self.encoder, TableEncoder):
            return self.encoder.encode(table, where=chunk.source, first_row=chunk.first_row)
        if self.encoder is not None:
            return self.encoder.encode(table)
        from offsettree.logs._log_columns import frame_of

        # Text stays text, as categories would differ between chunks.
        return frame_of([table], categories=False)

    @property
    def n_features(self) -> int:
        """Number of raw feature columns."""
        return len(self.feature_names)

    @cached_property
    def facts(self) -> LogFacts:
        """Statistics of all rows, by a pass on first access."""
        counts: Counter[Any] = Counter()
        n_rows, total = 0, 0.0
        rewards, propensities = [np.inf, -np.inf], [np.inf, -np.inf]
        for chunk in self.file.reader.chunks(self.file.taken, self.chunk_rows):
            parts = self.file.columns(chunk, None)
            labels, n_each = np.unique(parts.action, return_counts=True)
            counts.update(dict(zip(labels.tolist(), n_each.tolist(), strict=True)))
            n_rows += len(parts.reward)
            total += float(parts.reward.sum())
            _extend_range(rewards, parts.reward)
            if parts.propensity is not None:
                _extend_range(propensities, parts.propensity)
        from offsettree.logs._log_columns import refuse_ids

        refuse_ids(len(counts), n_rows, self.file.action, self.file.path, list(counts))
        return LogFacts(
            n_rows,
            dict(counts.most_common()),
            (rewards[0], rewards[1]),
            (propensities[0], propensities[1]),
            total / n_rows,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, by a pass on first access."""
        return self.facts.n_rows

    @property
    def actions(self) -> NDArray[Any]:
        """The labels that occur, sorted, by a pass on first access."""
        labels = check_actions(list(self.facts.counts))
        return unique_labels(labels)

    def __repr__(self) -> str:
        return f"<LogScan: {self.file.path}, {self.n_features:,} features, chunks of {self.chunk_rows:,} rows>"


def _extend_range(limits: list[float], values: NDArray[np.float64]) -> None:
    limits[0], limits[1] = min(limits[0], float(values.min())), max(limits[1], float(values.max()))
