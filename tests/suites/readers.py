"""One log, written by other software in every form that we read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

COLUMNS = ["age", "city", "score", "action", "reward", "propensity"]


def make_frame(n_rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Make a log of mixed columns with gaps."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 90, n_rows).astype(float),
            "city": random.choice(["Paris", "Rome", "São Paulo", "NA"], n_rows),
            "score": random.normal(size=n_rows).round(6),
            "action": random.integers(1, 4, n_rows),
            "reward": random.integers(0, 5, n_rows) / 4,
            "propensity": random.choice([0.25, 0.5, 1.0], n_rows),
        }
    )
    frame.loc[frame.index % 7 == 3, "age"] = np.nan
    frame.loc[frame.index % 11 == 5, "city"] = None
    return frame


@dataclass(frozen=True)
class Form:
    """A way to write a log.

    Parameters
    ----------
    write : callable
        From a frame and a path without suffix to the path written.
    of_numbers : bool
        Whether a feature is a number, zero where it is absent, as in Vowpal Wabbit's text.
    of_lines : bool
        Whether the end of a file can be a row like any other.
    """

    write: Callable[[pd.DataFrame, Path], Path]
    of_numbers: bool = False
    of_lines: bool = False


def _pandas(suffix: str, method: str, **options: Any) -> Form:
    def write(frame: pd.DataFrame, stem: Path) -> Path:
        path = stem.with_name(stem.name + suffix)
        getattr(frame, method)(path, **options)
        return path

    return Form(write, of_lines=suffix.startswith((".csv", ".tsv", ".ndjson", ".jsonl")))


def _polars(suffix: str, method: str, **options: Any) -> Form:
    def write(frame: pd.DataFrame, stem: Path) -> Path:
        path = stem.with_name(stem.name + suffix)
        getattr(pl.from_pandas(frame), method)(path, **options)
        return path

    return Form(write, of_lines=suffix.startswith((".csv", ".tsv", ".ndjson")))


def _table(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def _zstd(frame: pd.DataFrame, stem: Path) -> Path:
    path = stem.with_name(stem.name + ".csv.zst")
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(frame.to_csv(index=False).encode())
    return path


def _categories(frame: pd.DataFrame, stem: Path) -> Path:
    path = stem.with_suffix(".parquet")
    pa.parquet.write_table(_table(frame.astype({"city": "category"})), path, row_group_size=64)
    return path


def _partitioned(frame: pd.DataFrame, stem: Path) -> Path:
    pa.parquet.write_to_dataset(_table(frame.assign(order=range(len(frame)))), stem, partition_cols=["action"])
    return stem


def _arrow_stream(frame: pd.DataFrame, stem: Path) -> Path:
    path = stem.with_suffix(".arrows")
    table = _table(frame)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=50)
    return path


def _vw(frame: pd.DataFrame, stem: Path) -> Path:
    path = stem.with_suffix(".vw")
    lines = []
    for row in frame.to_dict("records"):
        features = [f"{name}:{row[name]!r}" for name in ("age", "score") if not pd.isna(row[name])]
        cost = "" if pd.isna(row["reward"]) else repr(-row["reward"])
        label = "" if pd.isna(row["action"]) else f"{row['action']:.0f}:{cost}:{row['propensity']!r}"
        lines.append(f"{label if cost else ''} 'tag | {' '.join(features)}\n")
    path.write_text("".join(lines))
    return path


def _dsjson(frame: pd.DataFrame, stem: Path) -> Path:
    path = stem.with_suffix(".dsjson")
    lines = []
    for row in frame.to_dict("records"):
        context = {name: row[name] for name in ("age", "city", "score") if not pd.isna(row[name])}
        decision = {
            "_label_cost": None if pd.isna(row["reward"]) else -row["reward"],
            "_label_probability": None if pd.isna(row["propensity"]) else row["propensity"],
            "_label_Action": None if pd.isna(row["action"]) else int(row["action"]),
            "_labelIndex": 0,
            "Version": "1",
            "EventId": "e",
            "c": context | {"_multi": [{"topic": "a"}, {"topic": "b"}, {"topic": "c"}]},
        }
        lines.append(json.dumps(decision) + "\n")
    path.write_text("".join(lines))
    return path


def _rows(frame: pd.DataFrame, stem: Path) -> Path:
    path = stem.with_name(stem.name + ".rows")
    kinds = {"f": "number", "i": "integer"}
    header = [f"{name}:{kinds.get(frame[name].dtype.kind, 'text')}" for name in frame.columns]
    rows = [["" if pd.isna(value) else str(value) for value in row] for row in frame.itertuples(index=False)]
    path.write_text("".join("\t".join(fields) + "\n" for fields in [["%rows", *header], *rows]))
    return path


FORMS: dict[str, Form] = {
    "csv by pandas": _pandas(".csv", "to_csv", index=False),
    "csv by polars": _polars(".csv", "write_csv"),
    "semicolons by pandas": _pandas(".csv", "to_csv", index=False, sep=";"),
    "bars by pandas": _pandas(".csv", "to_csv", index=False, sep="|"),
    "quotes and a BOM by pandas": _pandas(".csv", "to_csv", index=False, quoting=1, encoding="utf-8-sig"),
    "tsv.gz by pandas": _pandas(".tsv.gz", "to_csv", index=False, sep="\t"),
    "csv.zst by pandas and pyarrow": Form(_zstd, of_lines=True),
    "ndjson by polars": _polars(".ndjson", "write_ndjson"),
    "jsonl.gz by pandas": _pandas(".jsonl.gz", "to_json", orient="records", lines=True),
    "parquet by pandas": _pandas(".parquet", "to_parquet", index=False),
    "parquet by polars": _polars(".parquet", "write_parquet"),
    "parquet of categories by pyarrow": Form(_categories),
    "feather by pandas": _pandas(".feather", "to_feather"),
    "arrow by polars": _polars(".arrow", "write_ipc"),
    "arrow stream by polars": _polars(".arrow", "write_ipc_stream"),
    "arrow stream by pyarrow": Form(_arrow_stream),
    "vw": Form(_vw, of_numbers=True, of_lines=True),
    "dsjson": Form(_dsjson, of_lines=True),
    "toy rows, registered from outside": Form(_rows, of_lines=True),
}
FOLDERS: dict[str, Form] = {"partitioned by pyarrow": Form(_partitioned)}
