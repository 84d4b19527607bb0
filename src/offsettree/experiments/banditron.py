"""Section 7.2: the Banditron, the agnostic offset tree and the realizable one, online, over one pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from offsettree._progress import Progress
from offsettree.experiments.records import Record, Records
from offsettree.experiments.streams import Stream
from offsettree.online import Banditron, EpochGreedy, OnlineOffsetTree, progressive_validation

__all__ = [
    "AGNOSTIC",
    "BANDITRONS",
    "GAMMAS",
    "HINGE_AGNOSTIC",
    "HINGE_REALIZABLE",
    "METHODS",
    "NEARLY_GREEDY",
    "REALIZABLE",
    "open_records",
    "run",
    "run_one",
    "select",
]

# Shares of exploration around those that the Banditron's authors chose, by trying, for data such as this.
GAMMAS = (0.002, 0.006, 0.014, 0.03, 0.05, 0.1, 0.2)
# Next to no exploration: not what the algorithm promises anything for, and not chosen from, but told.
BELOW = (0.0001, 0.001)
AGNOSTIC, REALIZABLE = "offset tree, agnostic", "offset tree, realizable"
HINGE_AGNOSTIC, HINGE_REALIZABLE = f"{AGNOSTIC}, hinge", f"{REALIZABLE}, hinge"
KEY = ("data", "rows", "seed", "method")
LEARNER_SEEDS = 10_000
N_POINTS = 60

Make = Callable[[NDArray[Any], int], Any]


def _banditron(actions: NDArray[Any], seed: int, *, gamma: float) -> Any:
    return Banditron(gamma=gamma, actions=actions, random_state=seed)


def _tree(actions: NDArray[Any], seed: int, *, loss: Any, realizable: bool) -> Any:
    tree = OnlineOffsetTree(loss=loss, realizable=realizable, actions=actions, random_state=seed)
    return EpochGreedy(tree, exploration="realizable" if realizable else "agnostic", random_state=seed)


BANDITRONS: Mapping[str, float] = {f"Banditron, gamma {gamma:g}": gamma for gamma in GAMMAS}
NEARLY_GREEDY: Mapping[str, float] = {f"Banditron, gamma {gamma:g}": gamma for gamma in BELOW}
METHODS: Mapping[str, Make] = {
    **{name: partial(_banditron, gamma=gamma) for name, gamma in {**NEARLY_GREEDY, **BANDITRONS}.items()},
    AGNOSTIC: partial(_tree, loss="perceptron", realizable=False),
    REALIZABLE: partial(_tree, loss="perceptron", realizable=True),
    # Not the paper's: the default of our own online tree.
    HINGE_AGNOSTIC: partial(_tree, loss="hinge", realizable=False),
    HINGE_REALIZABLE: partial(_tree, loss="hinge", realizable=True),
}


def run(
    records: Records, stream: Stream, *, methods: Sequence[str] = tuple(METHODS), n_seeds: int = 5, n_jobs: int = 1
) -> None:
    """Do what the records do not have yet, seed by seed, and add each result as it comes.

    A seed's rows, and their order, are the same for all methods.
    """
    tasks: list[dict[str, Any]] = [
        {"data": stream.identity, "rows": stream.n_rows, "seed": seed, "method": method}
        for seed in range(n_seeds)
        for method in methods
    ]
    pending = [task for task in tasks if task not in records]
    progress = Progress(len(pending), asked_for=True)
    try:
        for seed in dict.fromkeys(task["seed"] for task in pending):
            X, y = stream.draw(seed)
            # Threads: the kernels let go of the interpreter, and the rows, the largest thing here, are there once.
            results: Iterator[Record] = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator_unordered")(
                delayed(run_one)(stream, X, y, seed, task["method"]) for task in pending if task["seed"] == seed
            )
            for record in results:
                records.add(record)
                progress.advance(1, f"seed {seed}, {record['method']}")
    finally:
        progress.close()


def run_one(stream: Stream, X: Any, y: NDArray[Any], seed: int, method: str) -> Record:
    """Let a method decide, observe and learn row by row; return its error so far along the way."""
    started = time.perf_counter()
    # Streams of random numbers of their own: the same seed would tie what is explored to the rows drawn with it.
    learner = METHODS[method](stream.actions, LEARNER_SEEDS + seed)
    result = progressive_validation(learner, X, y, progress=False)
    return {
        "data": stream.identity,
        "rows": stream.n_rows,
        "seed": seed,
        "method": method,
        "error": result.error,
        "seconds": round(time.perf_counter() - started, 3),
        "curve": [[int(rows), round(float(error), 8)] for rows, error in _thin(result.curve)],
    }


def open_records(folder: str | Path, name: str) -> Records:
    """Open the records of a folder, one file per source of rows."""
    return Records(Path(folder) / f"banditron-{name}.jsonl", KEY)


def select(records: Records, stream_identity: str, n_rows: int, n_seeds: int) -> list[Record]:
    """Return the records of a run, in the order of methods and seeds."""
    chosen = [
        record
        for record in records
        if record["data"] == stream_identity and record["rows"] == n_rows and record["seed"] < n_seeds
    ]
    order = {method: place for place, method in enumerate(METHODS)}
    return sorted(chosen, key=lambda record: (order.get(record["method"], len(order)), record["seed"]))


def _thin(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keep points that are about equally far apart on a logarithmic axis, the last among them."""
    wanted = np.geomspace(1, curve[-1, 0], N_POINTS)
    kept: NDArray[np.intp] = np.unique(np.searchsorted(curve[:, 0], wanted - 1e-9).clip(max=len(curve) - 1))
    return curve[kept]
