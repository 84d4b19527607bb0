"""Section 7.2: the Banditron, the agnostic and the realizable offset tree, online in one pass."""

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
from offsettree.experiments.seeds import splits_of
from offsettree.experiments.streams import Stream
from offsettree.online import Banditron, EpochGreedy, OnlineOffsetTree, progressive_validation

__all__ = [
    "AGNOSTIC",
    "AGNOSTIC_COSTING",
    "AGNOSTIC_EXPLORED",
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

# Shares of exploration around those that the Banditron's authors tuned for data such as this.
GAMMAS = (0.002, 0.006, 0.014, 0.03, 0.05, 0.1, 0.2)
# Almost no exploration: reported, but not eligible as the best, as the algorithm's guarantee does not cover it.
BELOW = (0.0001, 0.001)
AGNOSTIC, REALIZABLE = "offset tree, agnostic", "offset tree, realizable"
AGNOSTIC_EXPLORED, AGNOSTIC_COSTING = f"{AGNOSTIC}, explored rows only", f"{AGNOSTIC}, costing"
HINGE_AGNOSTIC, HINGE_REALIZABLE = f"{AGNOSTIC}, hinge", f"{REALIZABLE}, hinge"
KEY = ("data", "rows", "seed", "method")
LEARNER_SEEDS = 10_000
N_POINTS = 60

Make = Callable[[NDArray[Any], int], Any]


def _banditron(actions: NDArray[Any], seed: int, *, gamma: float) -> Any:
    return Banditron(gamma=gamma, actions=actions, random_state=seed)


def _tree(
    actions: NDArray[Any],
    seed: int,
    *,
    loss: Any = "perceptron",
    realizable: bool = False,
    weighting: Any = "steps",
    learn_from: Any = "all",
) -> Any:
    tree = OnlineOffsetTree(loss=loss, realizable=realizable, weighting=weighting, actions=actions, random_state=seed)
    exploration: Any = "realizable" if realizable else "agnostic"
    return EpochGreedy(tree, exploration=exploration, learn_from=learn_from, random_state=seed)


BANDITRONS: Mapping[str, float] = {f"Banditron, gamma {gamma:g}": gamma for gamma in GAMMAS}
NEARLY_GREEDY: Mapping[str, float] = {f"Banditron, gamma {gamma:g}": gamma for gamma in BELOW}
METHODS: Mapping[str, Make] = {
    **{name: partial(_banditron, gamma=gamma) for name, gamma in {**NEARLY_GREEDY, **BANDITRONS}.items()},
    AGNOSTIC: _tree,
    AGNOSTIC_EXPLORED: partial(_tree, learn_from="exploration"),
    AGNOSTIC_COSTING: partial(_tree, weighting="costing"),
    REALIZABLE: partial(_tree, realizable=True),
    # Not in the paper: the default of our online tree.
    HINGE_AGNOSTIC: partial(_tree, loss="hinge"),
    HINGE_REALIZABLE: partial(_tree, loss="hinge", realizable=True),
}


def run(
    records: Records,
    stream: Stream,
    *,
    methods: Sequence[str] = tuple(METHODS),
    n_seeds: int = 5,
    seed: int = 0,
    n_jobs: int = 1,
    curves: bool = True,
) -> None:
    """Run the tasks that the records lack, seed by seed; add each result as it comes, with or without its curve.

    All methods see a seed's rows in the same order.
    """
    tasks: list[dict[str, Any]] = [
        {"data": stream.identity, "rows": stream.n_rows, "seed": seed, "method": method}
        for seed in splits_of(seed, n_seeds)
        for method in methods
    ]
    pending = [task for task in tasks if task not in records]
    with Progress(len(pending), asked_for=True) as progress:
        for each in dict.fromkeys(task["seed"] for task in pending):
            X, y = stream.draw(each)
            # Threads: the kernels release the interpreter's lock, and the rows are in memory only once.
            results: Iterator[Record] = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator_unordered")(
                delayed(run_one)(stream, X, y, each, task["method"]) for task in pending if task["seed"] == each
            )
            for record in results:
                records.add(record if curves else {name: record[name] for name in record if name != "curve"})
                progress.advance(1, f"seed {each}, {record['method']}")


def run_one(stream: Stream, X: Any, y: NDArray[Any], seed: int, method: str) -> Record:
    """Let a method decide, observe and learn row by row; return its error curve."""
    started = time.perf_counter()
    # Another seed than that of the rows, so that exploration is independent of them.
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


def select(records: Records, stream_identity: str, n_rows: int, n_seeds: int, seed: int = 0) -> list[Record]:
    """Return the records of a run, in the order of methods and seeds."""
    seeds = splits_of(seed, n_seeds)
    chosen = [
        record
        for record in records
        if record["data"] == stream_identity and record["rows"] == n_rows and record["seed"] in seeds
    ]
    order = {method: place for place, method in enumerate(METHODS)}
    return sorted(chosen, key=lambda record: (order.get(record["method"], len(order)), record["seed"]))


def _thin(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keep points about equally spaced on a logarithmic axis, including the last."""
    wanted = np.geomspace(1, curve[-1, 0], N_POINTS)
    kept: NDArray[np.intp] = np.unique(np.searchsorted(curve[:, 0], wanted - 1e-9).clip(max=len(curve) - 1))
    return curve[kept]
