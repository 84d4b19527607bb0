"""Action sets out of files whose rows bring their actions: Vowpal Wabbit's multi-line text, and dsjson."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from offsettree._features import Features
from offsettree._validation import bad_propensities, propensity_remedy
from offsettree.exceptions import EmptyLogError, LogError, ParameterError, PropensityError
from offsettree.logs._decisions import Decision, dsjson_decisions, vw_decisions
from offsettree.logs._reader import Reader
from offsettree.logs._set_block import FileRows, SetBlock
from offsettree.logs._vw import VwReader
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.checked_log import Columns, judge_columns

MOST_NAMES = 1024  # with more, names are hashed to the columns of a sparse matrix
N_HASHED = 1 << 18


class SetStream:
    """The decisions of Vowpal Wabbit's or a decision service's files.

    Parameters
    ----------
    reader : Reader
        The files.
    features, action_features : list of str, optional
        The columns to make of contexts and of actions; by default all names of a block.
    labelled : bool, default=True
        Whether decisions were taken; else they are to be.
    with_propensity : bool, default=True
        Whether the probabilities of the actions taken are read; else all are 1, until they are estimated.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        features: Sequence[str] | None = None,
        action_features: Sequence[str] | None = None,
        labelled: bool = True,
        with_propensity: bool = True,
    ) -> None:
        self.reader, self.labelled, self.with_propensity = reader, labelled, with_propensity
        self.is_vw = isinstance(reader, VwReader)
        self.features, self.action_features = features, action_features
        self.has_ids: bool | None = None  # of the first decision; all must be alike

    def blocks(self, n_rows: int | None) -> Iterator[SetBlock]:
        """Yield blocks of so many decisions; None is one block of all."""
        self.has_ids = None
        decisions = self._decisions()
        found = False
        while block := list(islice(decisions, n_rows)):
            found = True
            yield self._block(block)
        if not found:
            raise EmptyLogError(
                f"a log must have rows; {self.reader.sources[0]} has no decision. Was it written to the end?"
            )

    def _decisions(self) -> Iterator[tuple[str, Decision]]:
        read = vw_decisions if self.is_vw else dsjson_decisions
        for source in self.reader.sources:
            options = {"labelled": self.labelled, "with_propensity": self.with_propensity}
            for each in read(source, self.reader.options.encoding, **options):
                yield str(source), each

    def _block(self, block: list[tuple[str, Decision]]) -> SetBlock:
        files = list(dict.fromkeys(source for source, _ in block))
        decisions = [each for _, each in block]
        part = np.array([files.index(source) for source, _ in block]) if len(files) > 1 else np.zeros(len(block), int)
        number = np.array([each.row for each in decisions], dtype=np.intp)
        rows = FileRows(files, number, part, "the decision in line" if self.is_vw else "row")
        ids = self._ids(decisions, rows)
        absent = 0.0 if self.is_vw else np.nan
        X = _table_of([each.context for each in decisions], absent, self.features)
        pairs = _table_of([action for each in decisions for action in each.actions], absent, self.action_features)
        sets = ActionSets(ids, pairs=pairs if pairs.shape[1] else None, row_name=rows)
        return SetBlock(X, sets, self._columns(decisions, ids, rows) if self.labelled else None, {})

    def _ids(self, decisions: list[Decision], rows: FileRows) -> list[list[Any]]:
        """Return the ids of each row; positions, where actions have none."""
        if self.has_ids is None:
            self.has_ids = decisions[0].ids is not None
        for place, each in enumerate(decisions):
            if (each.ids is not None) != self.has_ids:
                what = "tags" if self.is_vw else "ids"
                has, lacks = ("have", "lacks") if self.has_ids else ("have no", "has")
                raise LogError(
                    f"either all actions of a log have {what} or none; those of the first decision {has} {what}, and "
                    f"{rows(place)} {lacks} them. Give every action its own, or none any."
                )
        if not self.has_ids:
            return [list(range(len(each.actions))) for each in decisions]
        ids = [list(each.ids or []) for each in decisions]
        kinds = {type(label) for each in ids for label in each}
        return ids if len(kinds) == 1 else [[str(label) for label in each] for each in ids]

    def _columns(self, decisions: list[Decision], ids: list[list[Any]], rows: FileRows) -> Columns:
        base = 1.0 if self.reader.options.cost == "one_minus_reward" else 0.0
        propensity = np.array([each.propensity for each in decisions])
        bad = bad_propensities(propensity)
        if bad is not None:
            row = int(bad.argmax())
            raise PropensityError(
                f"the probability of the action taken must be in (0, 1]; {rows(row)} has {propensity[row]:g} "
                f"({int(bad.sum()):,} such rows in all). {propensity_remedy(propensity[row])}"
            )
        action = [labels[each.place] for labels, each in zip(ids, decisions, strict=True)]
        return judge_columns(len(ids), action, [base - each.cost for each in decisions], propensity)


def refuse_beside(names: Sequence[str], reader: Reader) -> None:
    """Refuse columns that a stream of decisions does not have."""
    if names:
        raise ParameterError(
            f"{reader.sources[0]} has no columns, so that {names[0]!r} cannot be one: its lines are decisions with "
            "named features. Write the log as a table (NDJSON, Parquet) with a list column to name columns."
        )


def _table_of(rows: list[dict[str, float | str]], absent: float, wanted: Sequence[str] | None) -> Features:
    """Return features by name as a frame; hashed to a sparse matrix where there are very many names."""
    import pandas as pd

    names = list(dict.fromkeys(name for row in rows for name in row)) if wanted is None else list(wanted)
    if len(names) <= MOST_NAMES:
        texts = {name for row in rows for name, value in row.items() if isinstance(value, str)}
        return pd.DataFrame(
            {
                name: [None if name not in row else str(row[name]) for row in rows]
                if name in texts
                else [row.get(name, absent) for row in rows]
                for name in names
            },
            index=range(len(rows)),
        )
    indices, data, starts = [], [], [0]
    for row in rows:
        for name, value in row.items():
            is_text = isinstance(value, str)
            word = f"{name}={value}" if is_text else name
            indices.append(zlib.crc32(word.encode(errors="surrogatepass")) % N_HASHED)
            data.append(1.0 if is_text else float(value))
        starts.append(len(indices))
    table = sp.csr_matrix((data, indices, starts), shape=(len(rows), N_HASHED), dtype=np.float64)
    table.sum_duplicates()
    return table
