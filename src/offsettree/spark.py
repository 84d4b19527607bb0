"""Decisions where Spark has the data: a policy file applied to the partitions of a frame."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offsettree._optional import require
from offsettree.exceptions import FeatureError, ParameterError
from offsettree.policy_file import load

if TYPE_CHECKING:
    from offsettree.policy_file.saved import SavedPolicy

__all__ = ["decide"]


def decide(frame: Any, policy: str | Path, *, column: str = "decision", features: Sequence[str] | None = None) -> Any:
    """Add the decisions of a policy to a frame of Spark, lazily, partition by partition.

    The file is read and checked here, and sent to the executors once: they need this package, not the file.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The contexts: raw rows, if the policy was saved with its encoder.
    policy : str or Path
        A file that `save` or ``offsettree learn`` has written.
    column : str, default="decision"
        The name of the new column, of labels.
    features : list of str, optional
        The columns that the policy takes, in their order, if the file does not name them.

    Returns
    -------
    pyspark.sql.DataFrame
        All columns of the frame, and the decisions.
    """
    types = require("pyspark.sql.types", extra="spark")
    loaded = load(policy)  # before its bytes are read: it may be a pipe, or of any size
    data = Path(policy).read_bytes()
    names = _columns_of(loaded, features)
    if missing := [name for name in names if name not in frame.columns]:
        raise FeatureError(
            f"the frame must have the columns that the policy takes; {', '.join(missing)} missing. It has "
            f"{', '.join(frame.columns)}."
        )
    if column in frame.columns:
        raise ParameterError(f"column must be a new name; the frame has {column!r} already.")
    kind = types.LongType() if loaded.actions_.dtype.kind in "iu" else types.StringType()
    schema = types.StructType([*frame.schema.fields, types.StructField(column, kind, nullable=False)])
    shared = frame.sparkSession.sparkContext.broadcast(data)

    def decided(parts: Iterator[Any]) -> Iterator[Any]:
        learned = _loaded(shared.value)
        for part in parts:
            chosen = learned.predict(part[names] if learned.encoder is not None else part[names].to_numpy(float))
            yield part.assign(**{column: chosen})

    return frame.mapInPandas(decided, schema)


def _columns_of(policy: SavedPolicy, features: Sequence[str] | None) -> list[str]:
    if features is not None:
        return list(features)
    if policy.encoder is not None:
        return list(policy.encoder.names_in)
    names = getattr(policy, "feature_names_in_", None)
    if names is None:
        raise ParameterError(
            "features must be given, as the policy was learned from an array without names of columns: those of the "
            f"frame that are its {policy.n_features_in_} columns, in their order."
        )
    return [str(name) for name in names]


@lru_cache(maxsize=2)
def _loaded(data: bytes) -> SavedPolicy:
    """Load a policy in an executor, once."""
    with tempfile.TemporaryDirectory(prefix="offsettree-") as folder:
        path = Path(folder) / "policy.ot"
        path.write_bytes(data)
        return load(path)
