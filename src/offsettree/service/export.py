"""A loop's log in files that ``offsettree learn`` and ``evaluate`` read as they are: Parquet, NDJSON and dsjson.

Matured rows only: a row without its final reward cannot be learned from. Contexts become columns with dotted names;
what the service alone knows is in one column of lists, ``decision``, which is never taken for a feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from offsettree.logs import write_table
from offsettree.service.deciders import flat_context
from offsettree.service.records import Decision
from offsettree.service.requests import decode_context, encode

__all__ = ["FORMATS", "exported", "write_log"]

FORMATS = {
    "parquet": "application/vnd.apache.parquet",
    "ndjson": "application/x-ndjson",
    "dsjson": "application/x-ndjson",
}
OWN = ("event_id", "time", "policy_version", "mode", "activated", "matured", "n_rewards", "customer")


def exported(rows: Iterable[Decision]) -> Iterator[Decision]:
    """Yield the rows that an export has: matured, with a known propensity, and no fault."""
    for row in rows:
        if row.matured is not None and row.probability > 0 and not row.exploration.startswith('{"by":"fault"'):
            yield row


def write_log(rows: Iterable[Decision], path: Path, form: str) -> int:
    """Write rows to a file; return how many.

    Parameters
    ----------
    rows : iterable of Decision
        Of one loop.
    path : Path
        The file.
    form : {"parquet", "ndjson", "dsjson"}
        The format.
    """
    chosen = exported(rows)
    if form == "parquet":
        return _write_parquet(chosen, path)
    line = _plain if form == "ndjson" else _dsjson
    n_rows = 0
    with path.open("wb") as file:
        for row in chosen:
            file.write(encode(line(row)) + b"\n")
            n_rows += 1
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
        "decision": [_own(row)],
    }


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


def _write_parquet(rows: Iterable[Decision], path: Path) -> int:
    import pyarrow as pa

    # All rows at once: the columns of a table must be known before its first row is written.
    plain = [_plain(row) for row in rows]
    names = list(dict.fromkeys(name for row in plain for name in row))
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in plain]
        if name == "decision":
            columns[name] = pa.array([[encode(row["decision"][0]).decode()] for row in plain])
        else:
            columns[name] = _column(values)
    if not plain:
        columns = {
            "action": pa.array([], pa.string()),
            "reward": pa.array([], pa.float64()),
            "propensity": pa.array([], pa.float64()),
        }
    target = path if path.suffix == ".parquet" else path.with_suffix(".parquet")
    return write_table(target, pa.table(columns))


def _column(values: list[Any]) -> Any:
    """Return a column; where kinds of values are mixed, they become words."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int, float}:
            return pa.array([None if value is None else float(value) for value in values])
        return pa.array([None if value is None else str(value) for value in values])
