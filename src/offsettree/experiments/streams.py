"""Streams of labelled rows in random order, for the online learners of section 7.2."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree import datasets
from offsettree.exceptions import ParameterError

__all__ = ["GENERATED", "TEXT_STREAMS", "Stream", "noisy_stream", "open_stream"]

# Label noise by name.
GENERATED = {"synsep": 0.0, "synnonsep": 0.05}
N_GENERATED = 1_000_000
# Real texts, in both forms.
TEXT_STREAMS = {f"{name}-{values}": (name, values) for name in datasets.TEXTS for values in ("words", "tfidf")}


@dataclass(frozen=True, eq=False)
class Stream:
    """A source of labelled rows, in an order drawn by a seed."""

    name: str  # in file names
    identity: str  # of the rows in records; differs even for files of the same name
    n_rows: int
    whole: bool  # whether these are all rows of the source, or the default number if they are generated
    actions: NDArray[Any]
    draw: Callable[[int], tuple[Any, NDArray[Any]]]  # takes a seed; returns the rows and their labels


def open_stream(data: str, n_rows: int | None = None) -> Stream:
    """Open a source by name: generated rows, texts, rcv1 or the path of an svmlight file; take n_rows of it, or all."""
    if n_rows is not None and n_rows < 1:
        raise ParameterError(f"rows must be at least 1; got {n_rows}. Leave it out for all rows.")
    if data in GENERATED:
        return _generated(data, data, GENERATED[data], N_GENERATED if n_rows is None else n_rows, N_GENERATED)
    if data in TEXT_STREAMS:
        name, values = TEXT_STREAMS[data]
        return _loaded(data, data, *datasets.load_text(name, values), n_rows)  # type: ignore[arg-type]
    if data == "rcv1":
        return _loaded(data, data, *datasets.load_rcv1_topics(), n_rows)
    path = Path(data)
    if not path.exists():
        raise ParameterError(
            f"data must be {', '.join((*GENERATED, *TEXT_STREAMS))}, rcv1 or an svmlight file; {data!r} is none of "
            "these names, and there is no such file."
        )
    X, y = datasets.load_svmlight(path)
    content = 0
    for part in (X.data, X.indices, X.indptr, y):
        content = zlib.crc32(part.data, content)
    return _loaded(path.name, f"{path.name}:{content:08x}", X, y, n_rows)


def noisy_stream(label_noise: float, n_rows: int) -> Stream:
    """Generate SynSep with a share of wrong labels; the documents of a seed are the same for all shares."""
    return _generated("synsep", f"synsep, noise {label_noise:g}", label_noise, n_rows, n_rows)


def _generated(name: str, identity: str, label_noise: float, n_rows: int, n_whole: int) -> Stream:
    def draw(seed: int) -> tuple[Any, NDArray[Any]]:
        return datasets.make_synsep(n_rows, label_noise=label_noise, random_state=seed)

    return Stream(name, identity, n_rows, n_rows == n_whole, np.arange(9), draw)


def _loaded(name: str, identity: str, X: Any, y: NDArray[Any], n_rows: int | None) -> Stream:
    n_shown = len(y) if n_rows is None else n_rows
    if n_shown > len(y):
        raise ParameterError(f"rows must be at most the {len(y):,} of {name}; got {n_rows:,}.")

    def draw(seed: int) -> tuple[Any, NDArray[Any]]:
        order = np.random.RandomState(seed).permutation(len(y))[:n_shown]
        return X[order], y[order]

    return Stream(name, identity, n_shown, n_shown == len(y), np.unique(y), draw)
