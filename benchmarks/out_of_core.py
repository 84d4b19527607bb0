"""`OffsetTree.fit_log` against `fit` on the same rows, each in a process of its own: rows a second, and memory.

The log is on disk in chunks of 65,536 rows, float32. `fit` reads all of it into arrays first; `fit_log` is given the
chunks one by one. Reading is in the times of both, imports are not; the most that was resident counts everything. The
decisions of both on 100,000 new rows are compared. Seconds are processor time. Goals: all decisions equal, in no more
time, and at 20 million rows x 20, k = 64 with logistic contests within 530 MB. Linux only.

    python benchmarks/out_of_core.py [--cases logistic:5000000 native:5000000 logistic:20000000] [--features 20]
                                     [--actions 64] [--jobs 1] [--folder FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _problems import moods, new_rows, squash, write_figures
from memory import resident
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from offsettree import LoggedData, OffsetTree
from offsettree.learners import default_classifier

CHUNK = 1 << 16
CASES = ["logistic:5000000", "native:5000000", "logistic:20000000"]
LEARNERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=200),
    "native": default_classifier,
    "tree": lambda: DecisionTreeClassifier(max_depth=8, min_samples_leaf=20),
}


def write_log(folder: Path, n_rows: int, n_features: int, n_actions: int) -> None:
    """Draw a log, chunk by chunk: rewards are smooth in x and noisy, propensities are not all alike."""
    random = np.random.default_rng(0)
    taste, senses = random.standard_normal((n_actions, 8)), random.standard_normal((n_features, 8))
    chance = random.dirichlet(np.full(n_actions, 20.0))
    for number, first in enumerate(range(0, n_rows, CHUNK)):
        n = min(CHUNK, n_rows - first)
        X = random.standard_normal((n, n_features), dtype=np.float32)
        action = random.choice(n_actions, n, p=chance)
        mean = squash((moods(X, senses) * taste[action]).sum(axis=1))
        reward = np.clip(mean + 0.15 * random.standard_normal(n), 0, 1)
        for name, part in (("X", X), ("action", action), ("reward", reward), ("propensity", chance[action])):
            np.save(folder / f"{number:05d}.{name}.npy", part)


def read_log(folder: Path) -> Iterator[LoggedData]:
    """Yield the chunks."""
    for path in sorted(folder.glob("*.X.npy")):
        parts = (np.load(path.with_name(path.name.replace(".X.", f".{name}."))) for name in names()[1:])
        yield LoggedData(np.load(path), *parts)


def names() -> list[str]:
    """List the parts of a log."""
    return ["X", "action", "reward", "propensity"]


def read_whole(folder: Path) -> dict[str, NDArray[Any]]:
    """Read the log into arrays, which are made once: chunks are put where they belong."""
    whole = {}
    for name in names():
        paths = sorted(folder.glob(f"*.{name}.npy"))
        heads = [np.load(path, mmap_mode="r") for path in paths]
        whole[name] = np.empty((sum(map(len, heads)), *heads[0].shape[1:]), dtype=heads[0].dtype)
        first = 0
        for path in paths:
            chunk = np.load(path)
            whole[name][first : first + len(chunk)] = chunk
            first += len(chunk)
    return whole


def measure(folder: Path, way: str, learner: str, n_jobs: int) -> dict[str, float]:
    """Fit one policy here, and tell what it took; its decisions go to a file."""
    n_features = np.load(folder / "00000.X.npy", mmap_mode="r").shape[1]
    small = next(read_log(folder))[:2000]
    OffsetTree(LEARNERS[learner](), random_state=0).fit(**small.arrays())  # loads and compiles
    policy = OffsetTree(LEARNERS[learner](), n_jobs=n_jobs, random_state=0)
    before = time.process_time()
    if way == "fit_log":
        policy.fit_log(read_log(folder), folder=folder)
    else:
        policy.fit(**read_whole(folder))
    seconds = time.process_time() - before
    peak = resident("VmHWM")
    np.save(folder / f"decisions.{way}.npy", policy.predict(new_rows(100_000, n_features)))
    return {"seconds": seconds, "peak_bytes": peak, "largest_contest": int(policy.node_rows_.max())}


def main() -> None:
    """Print a line per learner and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=CASES, help="learner:rows")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--actions", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the log and the scratch files go for a while")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, way, learner, n_jobs = options.measure
        print(json.dumps(measure(Path(folder), way, learner, int(n_jobs))))
        return
    print(f"Out of core: {options.features} features of float32, k = {options.actions}, {options.jobs} worker(s)")
    print("rows        learner   way        seconds     rows/s    peak MB   largest contest")
    facts = {"features": options.features, "n_actions": options.actions, "n_jobs": options.jobs}
    records: list[dict[str, Any]] = []
    for case in options.cases:
        learner, _, rows = case.partition(":")
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            write_log(Path(name), int(rows), options.features, options.actions)
            for way in ("fit", "fit_log"):
                command = [sys.executable, __file__, "--measure", name, way, learner, str(options.jobs)]
                run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
                records.append({"rows": int(rows), "learner": learner, "way": way, **json.loads(run.stdout)})
                print_line(records[-1])
            one, other = (np.load(Path(name) / f"decisions.{way}.npy") for way in ("fit", "fit_log"))
            records[-1]["share_equal"] = float((one == other).mean())
            print(f"decisions equal: {100 * records[-1]['share_equal']:g} %", flush=True)
        write_figures(options.json, {**facts, "figures": records})  # so far: a long one may be cut short


def print_line(record: dict[str, Any]) -> None:
    """Print what one fit took."""
    print(
        f"{record['rows']:<12,}{record['learner']:<10}{record['way']:<8}{record['seconds']:>10.1f}"
        f"{record['rows'] / record['seconds']:>11,.0f}{record['peak_bytes'] / 1e6:>11,.0f}"
        f"{record['largest_contest']:>18,}",
        flush=True,
    )


if __name__ == "__main__":
    main()
