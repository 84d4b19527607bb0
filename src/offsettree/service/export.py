"""A loop's log in files that ``offsettree learn`` and ``evaluate`` read as they are: Parquet, NDJSON and dsjson.

Matured rows only: a row without its final reward cannot be learned from. Contexts become columns with dotted names.
``eligible`` lists the actions that could be taken. What the service alone knows is in one more column of lists,
``decision``. Neither is taken for a feature. Rows are read and written in chunks, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from offsettree.logs import write_table
from offsettree.service.flat import flat, flat_context
from offsettree.service.records import Decision
from offsettree.service.requests import decode_context, encode

__all__ = ["FORMATS", "clipped", "exported", "has_features", "lines", "write_log"]

FORMATS = {
    "parquet": "application/vnd.apache.parquet",
    "ndjson": "application/x-ndjson",
    "dsjson": "application/x-ndjson",
}
MOST_COLUMNS = 1000  # of contexts, in Parquet: those of the first rows; the command line takes no more
CHUNK = 2000  # rows at once: of a row group, or of a part of lines
LARGEST = 1 << 63


def exported(rows: Iterable[Decision]) -> Iterator[Decision]:
    """Yield the rows that an export has: matured, with a known propensity, and no fault."""
    for row in rows:
        if row.matured is not None and row.probability > 0 and not row.exploration.startswith('{"by":"fault"'):
            yield row


def clipped(rows: Iterable[Decision], reward_range: tuple[float, float]) -> Iterator[Decision]:
    """Yield rows with rewards within their range, as the running policy learns from them."""
    low, high = reward_range
    for row in rows:
        yield row if row.reward is None else msgspec.structs.replace(row, reward=min(max(row.reward, low), high))


def lines(rows: Iterable[Decision], form: str) -> Iterator[bytes]:
    """Yield rows as lines of JSON, many at a time."""
    line = _plain if form == "ndjson" else _dsjson
    chosen = exported(rows)
    while part := list(islice(chosen, CHUNK)):
        yield b"".join(encode(line(row)) + b"\n" for row in part)


def write_log(rows: Callable[[], Iterable[Decision]], path: Path, form: str, *, eligible: bool = True) -> int:
    """Write rows to a file; return how many.

    `rows` returns those of one loop, in their order; it is called twice for Parquet, whose columns must be known before
    the first row is written. Without the column `eligible` there, actions are learned about one by one.
    """
    if form == "parquet":
        return _write_parquet(rows, path, eligible)
    n_rows = 0
    with path.open("wb") as file:
        for part in lines(rows(), form):
            file.write(part)
            n_rows += part.count(b"\n")
    return n_rows


def _own(row: Decision) -> dict[str, Any]:
    facts = {
        "event_id": row.event_id,
        "time": row.time,
        "policy_version": row.version,
        "mode": row.mode,
        "activated": row.activated,
        "matured": row.matured,
        "n_rewards": row.n_rewards,
        "customer": row.customer,
    }
    parts = {name: msgspec.Raw(getattr(row, name).encode()) for name in ("actions", "probabilities", "exploration")}
    return facts | parts


def _plain(row: Decision) -> dict[str, Any]:
    context = flat_context(decode_context(row.context))
    return context | {
        "action": row.action,
        "reward": row.reward,
        "propensity": row.probability,
        "eligible": _eligible(row),
        "decision": [_own(row)],
    }


def _eligible(row: Decision) -> list[Any]:
    """Return the ids of the actions that could be taken; with their features, if they have some."""
    actions = msgspec.json.decode(row.actions)
    if not has_features(row):
        return [each if isinstance(each, str) else each["id"] for each in actions]
    return [{**flat(each.get("features") or {}), "id": each["id"]} for each in actions]


def has_features(row: Decision) -> bool:
    """Whether any action of a row has features: else its actions are stored as ids."""
    return row.actions.startswith("[{")


def _dsjson(row: Decision) -> dict[str, Any]:
    """Return a row as decision services log it: the cost is the negative reward, the chosen action comes by number."""
    actions = msgspec.json.decode(row.actions)
    probabilities = msgspec.json.decode(row.probabilities)
    ids = [each if isinstance(each, str) else each["id"] for each in actions]
    features = [None if isinstance(each, str) else each.get("features") for each in actions]
    order = [row.position, *(i for i in range(len(ids)) if i != row.position)]
    multi = [{"id": name, **({"f": each} if each else {})} for name, each in zip(ids, features, strict=True)]
    return {
        "_label_cost": -(row.reward or 0.0),
        "_label_probability": row.probability,
        "_label_Action": row.position + 1,
        "_labelIndex": row.position,
        "Version": "1",
        "EventId": row.event_id,
        "Timestamp": row.time,
        "a": [i + 1 for i in order],
        "c": {**decode_context(row.context), "_multi": multi},
        "p": [probabilities[i] for i in order],
        "_decision": _own(row),
    }


def _write_parquet(rows: Callable[[], Iterable[Decision]], path: Path, eligible: bool) -> int:
    kinds: dict[str, set[type]] = {}
    large: set[str] = set()  # columns with whole numbers that no integer of 64 bits holds
    last = 0
    for row in exported(rows()):
        last = max(last, row.matured or 0)
        for name, value in flat_context(decode_context(row.context)).items():
            if name not in kinds and len(kinds) >= MOST_COLUMNS:
                continue
            kinds.setdefault(name, set()).add(type(value))
            if type(value) is int and not -LARGEST <= value < LARGEST:
                large.add(name)
    kinds |= {"action": {str}, "reward": {float}, "propensity": {float}}
    schema = _schema(kinds, large, ["eligible", "decision"] if eligible else ["decision"])
    # Rows that have matured since are left out: they may have other columns.
    again = (row for row in exported(rows()) if (row.matured or 0) <= last)
    target = path if path.suffix == ".parquet" else path.with_suffix(".parquet")
    return write_table(target, _tables(again, schema))


def _schema(kinds: dict[str, set[type]], large: set[str], lists: list[str]) -> Any:
    """Return the types of columns by the kinds of values that they have; where kinds are mixed, they become words."""
    import pyarrow as pa

    fields = []
    for name, found in kinds.items():
        told = found - {type(None)}
        if not told:
            kind = pa.null()
        elif told == {bool}:
            kind = pa.bool_()
        elif told == {int} and name not in large:
            kind = pa.int64()
        elif told <= {int, float}:
            kind = pa.float64()
        else:
            kind = pa.string()
        fields.append((name, kind))
    return pa.schema([*fields, *((name, pa.list_(pa.string())) for name in lists)])


def _tables(rows: Iterator[Decision], schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    text = {field.name for field in schema if field.type == pa.string()}
    number = {field.name for field in schema if field.type == pa.float64()}
    is_first = True
    while (part := list(islice(rows, CHUNK))) or is_first:
        is_first = False
        columns: dict[str, list[Any]] = {name: [] for name in schema.names}
        for row in part:
            values = flat_context(decode_context(row.context)) | {
                "action": row.action,
                "reward": row.reward,
                "propensity": row.probability,
                "eligible": [each["id"] if isinstance(each, dict) else each for each in _eligible(row)],
                "decision": [encode(_own(row)).decode()],
            }
            for name, column in columns.items():
                value = values.get(name)
                if value is not None and name in text:
                    value = str(value)
                elif value is not None and name in number:
                    value = float(value)
                column.append(value)
        yield pa.table({name: pa.array(column, schema.field(name).type) for name, column in columns.items()})
