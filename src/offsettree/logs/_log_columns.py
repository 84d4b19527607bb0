"""The columns of a log out of a table: checked where the rows still have numbers that a person can find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offsettree._labels import bad_whole_numbers
from offsettree._messages import Message, Parameter
from offsettree._validation import bad_propensities, bad_rewards, propensity_remedy, shown
from offsettree.encoding.spellings import is_numeral
from offsettree.exceptions import ActionError, LogError, PropensityError, RewardError
from offsettree.logs._reader import Chunk
from offsettree.logs._tables import as_numerals, is_bytes

MOST_ACTIONS = 100_000
FEW_ROWS = 100  # below, half as many actions as rows may well be meant
COUNTED = "rows are counted from 1, without a header"


def actions_of(chunk: Chunk, name: str) -> NDArray[Any]:
    """Return the labels: whole numbers or text, none missing."""
    column = chunk.table.column(name)
    if column.null_count:
        row = _first(pc.is_null(column))
        raise ActionError(
            f"{_at(chunk, name, row)} must name the action; it is missing ({_rows(column.null_count)}; "
            f"{COUNTED}). Drop such rows, or name what happened there."
        )
    kind = column.type
    if pa.types.is_boolean(kind):
        # Words, as a policy for them is to answer True or False.
        return np.where(column.cast(pa.int8()).to_numpy(), "True", "False").astype(object)
    if pa.types.is_integer(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_floating(kind):
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        odd, large = bad_whole_numbers(values)
        if odd.any():
            row = int(odd.argmax())
            raise ActionError(
                f"{_at(chunk, name, row)} must be a whole number or a name; it is {values[row]} ({COUNTED}). Name the "
                "actions, or give the column that does: ",
                Parameter("action"),
            )
        if large.any():
            row = int(large.argmax())
            raise ActionError(
                f"{_at(chunk, name, row)} must be a whole number up to 2**53, or a name: beyond, numbers with a "
                f"decimal point no longer tell neighbours apart; it is {values[row]} ({COUNTED}). Write the column as "
                "text, or name the actions."
            )
        return values.astype(np.int64)
    if not pa.types.is_string(kind):
        column = column.cast(pa.string())
    # Through codes: a Python object per label and not per row.
    coded = column.combine_chunks().dictionary_encode()
    labels = np.array(coded.dictionary.to_pylist(), dtype=object)
    if blank := [code for code, label in enumerate(labels) if not label.strip()]:
        rows = np.isin(coded.indices.to_numpy(), blank)
        raise ActionError(
            f"{_at(chunk, name, int(rows.argmax()))} must name the action; it is {labels[blank[0]]!r}, nothing but "
            f"blanks ({_rows(rows.sum())}; {COUNTED}). Drop such rows, or name what happened there."
        )
    if cut := [code for code, label in enumerate(labels) if "\0" in label]:
        rows = np.isin(coded.indices.to_numpy(), cut)
        raise ActionError(
            f"{_at(chunk, name, int(rows.argmax()))} must be text without the character 0, at which arrays of text "
            f"end; it is {shown(labels[cut[0]])} ({_rows(rows.sum())}; {COUNTED}). Name that action otherwise."
        )
    return np.asarray(labels[coded.indices.to_numpy()])


def rewards_of(chunk: Chunk, name: str) -> NDArray[np.float64]:
    """Return the rewards as finite numbers."""
    values = _floats(chunk, name, "reward", RewardError)
    bad = bad_rewards(values)
    if bad.any():
        row = int(bad.argmax())
        raise RewardError(
            f"{_at(chunk, name, row)} must be a finite number, what the action earned; it is "
            f"{'missing' if np.isnan(values[row]) else values[row]} ({_rows(bad.sum())}; {COUNTED}). Drop "
            "rows whose outcome was never observed; do not count them as zero unless it was zero."
        )
    return values


def propensities_of(chunk: Chunk, name: str) -> NDArray[np.float64]:
    """Return the propensities, all in (0, 1]."""
    values = _floats(chunk, name, "propensity", PropensityError)
    bad = bad_propensities(values)
    if bad is not None:
        row = int(bad.argmax())
        value = values[row]
        raise PropensityError(
            f"{_at(chunk, name, row)} must be a probability in (0, 1]; it is "
            f"{'missing' if np.isnan(value) else value} ({_rows(bad.sum())}; {COUNTED}). {propensity_remedy(value)}"
        )
    return np.minimum(values, 1.0)


def refuse_ids(n_actions: int, n_rows: int, name: str, where: object, examples: list[Any]) -> None:
    """Refuse an action column that is more likely an identifier."""
    if n_actions > MOST_ACTIONS or (n_rows >= FEW_ROWS and n_actions > n_rows / 2):
        shown = ", ".join(repr(label) for label in examples[:3])
        raise ActionError(
            f"column {name!r} of {where} must name the actions to choose from; it has {n_actions:,} distinct values in "
            f"{n_rows:,} rows ({shown}, ...), as an identifier has. Give the column of the action: ",
            Parameter("action"),
            f" (at most {MOST_ACTIONS:,} actions, and at most half as many as rows).",
        )


def frame_of(tables: list[pa.Table], *, categories: bool) -> Any:
    """Make a pandas frame of features; text becomes categories, sorted, where all rows are there to tell them."""
    table = pa.concat_tables(tables)
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        kind = column.type
        is_time = pa.types.is_time(kind)
        if pa.types.is_nested(kind) or is_bytes(kind):
            raise LogError(
                f"features must be numbers, text, truth values or dates; column {name!r} holds {kind}. Leave it out "
                "by ",
                Parameter("features", [...]),
                ", or write its parts as columns of their own.",
            )
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8()).cast(pa.float64())  # truth values with gaps would be objects
        elif pa.types.is_null(kind):
            column = column.cast(pa.float64())
        elif is_time or pa.types.is_duration(kind):
            column = column.cast(pa.string() if is_time else pa.int64())
        if categories and (is_time or pa.types.is_string(kind)):
            column = column.dictionary_encode()
        if column.type != kind:
            table = table.set_column(place, name, column)
    if categories:
        table = table.unify_dictionaries()
    # One block per column: joining them would take the memory twice.
    frame = table.to_pandas(date_as_object=False, split_blocks=True, self_destruct=True)
    for name, dtype in frame.dtypes.items():
        if categories and hasattr(dtype, "categories"):
            frame[name] = frame[name].cat.set_categories(sorted(dtype.categories))
    return frame


def _floats(chunk: Chunk, name: str, role: str, error: type[LogError]) -> NDArray[np.float64]:
    column = chunk.table.column(name)
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        column = _read_numerals(chunk, name, role, error)
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)  # a copy, to be written to


def _read_numerals(chunk: Chunk, name: str, role: str, error: type[LogError]) -> pa.ChunkedArray:
    """Read text as numbers: a column of numbers is text where one of its values is not a number."""
    column = chunk.table.column(name)
    if pa.types.is_string(column.type):
        column = as_numerals(column)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            pass
    values = column.to_pylist()
    row = next((row for row, value in enumerate(values) if value is not None and not is_numeral(value)), 0)
    value = values[row]
    if isinstance(value, str) and is_numeral(value.replace(",", ".")):
        remedy = Message("If commas are its decimal points, pass ", Parameter("decimal", ","), ".")
    else:
        remedy = Message("Correct the value, drop the row, or give the column that holds numbers: ", Parameter(role))
    raise error(f"{_at(chunk, name, row)} must be a number, the {role}; it is {value!r} ({COUNTED}). ", remedy)


def _at(chunk: Chunk, name: str, row: int) -> str:
    return f"column {name!r}, row {chunk.row(row)} of {chunk.source},"


def _first(mask: pa.ChunkedArray) -> int:
    return int(np.asarray(mask.to_numpy()).argmax())


def _rows(number: Any) -> str:
    return f"{int(number):,} such row" + ("" if number == 1 else "s") + " in this part of the file"
