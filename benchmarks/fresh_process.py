"""How long a new process takes from scikit-learn's import to its first decision, with machine code kept on disk.

The policy is read from a pickle. Goal: a second. The rivals are the parts it is made of: loading our own code and
numba, reading the pickle, and the first decision, which finds the kernels on disk and, unless it was done before
pickling, flattens the policy. Processor time, as machines are shared; seconds by the clock are told too.

Then the same for a policy file, counted from NumPy's import, with an empty cache of machine code and with a full one.
Goals: 3 seconds and 0.7.

    python benchmarks/fresh_process.py [--actions 8 1024 16384] [--json FILE]

`--actions` without numbers leaves out all but policy files.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _problems import new_rows, write_figures
from decisions import fitted_trees
from sklearn.tree import DecisionTreeClassifier
from training_overhead import make_log

from offsettree import DoublyRobust, OffsetForest, OffsetTree, PolicyTree, RewardBoosting, RewardRegression, save
from offsettree.learners import HistogramTree

CHILD = """
import json, sys, time
import numpy, scipy.sparse, sklearn.ensemble, sklearn.tree, sklearn.linear_model, sklearn.pipeline, sklearn.compose
by_clock, started = time.perf_counter(), time.process_time()
import pickle, numba, offsettree
loaded = time.process_time()
with open(sys.argv[1], "rb") as file:
    policy, x = pickle.load(file)
read = time.process_time()
policy.decide(x) if hasattr(policy, "decide") else policy.choose_one(x)
decided = time.process_time()
print(json.dumps({"load": loaded - started, "read": read - loaded, "decide": decided - read,
                  "seconds": decided - started, "by_clock": time.perf_counter() - by_clock}))
"""


FROM_FILE = """
import json, sys, time
import numpy
by_clock, started = time.perf_counter(), time.process_time()
from offsettree import load
load(sys.argv[1]).decide(numpy.zeros(int(sys.argv[2])))
print(json.dumps({"seconds": time.process_time() - started, "by_clock": time.perf_counter() - by_clock}))
"""


def from_file(policy: Any, n_features: int) -> dict[str, dict[str, float]]:
    """Return the seconds to the first decision of a policy file: with an empty cache, and with a full one."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        path = Path(folder) / "policy.ot"
        save(policy, path)
        command = [sys.executable, "-c", FROM_FILE, str(path), str(n_features)]
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        runs = [
            subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603
            for _ in range(4)
        ]
    empty, *full = (json.loads(run.stdout) for run in runs)
    return {"empty": empty, "full": min(full, key=lambda parts: float(parts["seconds"]))}


def first_decision(policy: Any, x: Any) -> dict[str, float]:
    """Return the parts of the shortest of three runs, after one that fills the cache."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.pickle"
        path.write_bytes(pickle.dumps((policy, x.copy())))
        command = [sys.executable, "-c", CHILD, str(path)]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(4)]  # noqa: S603
    return min((json.loads(run.stdout) for run in runs[1:]), key=lambda parts: float(parts["seconds"]))


def main() -> None:
    """Print one line per policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train-rows", type=int, default=100_000, help="at least 12 for each action are taken")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="*", default=[8, 1024, 16_384])
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    print("First decision of a new process, seconds of processor time after scikit-learn's import")
    print(f"{'policy':<40}{'k':>6}{'all':>8}{'load':>8}{'read':>8}{'decide':>8}{'by the clock':>14}")
    records: list[dict[str, Any]] = []
    x = new_rows(1, options.features)[0]
    for n_actions in options.actions:
        n_rows = max(options.train_rows, 12 * n_actions)
        for name, learner in (
            ("scikit-learn's", DecisionTreeClassifier(max_depth=6)),
            ("native", HistogramTree(max_depth=6)),
        ):
            policy = fitted_trees(n_actions, n_rows, options.features, learner)
            kept = {f"{name}, as fitted": policy}
            if name == "native":
                kept["compiled form alone"] = pickle.loads(pickle.dumps(policy)).compiled_
            for what, thing in kept.items():
                record = {"policy": what, "n_actions": n_actions, **first_decision(thing, x)}
                records.append(record)
                print(
                    f"{what:<40}{n_actions:>6}{record['seconds']:>8.2f}{record['load']:>8.2f}{record['read']:>8.2f}"
                    f"{record['decide']:>8.2f}{record['by_clock']:>14.2f}",
                    flush=True,
                )
    print("\nFirst decision of a policy file, seconds of processor time after NumPy's import (by the clock)")
    print(f"{'policy':<40}{'empty cache':>20}{'full cache':>20}")
    files: list[dict[str, Any]] = []
    X, action, reward, propensity = make_log(2000, options.features, 6)
    for maker in (OffsetTree, OffsetForest, RewardBoosting, RewardRegression, PolicyTree, DoublyRobust):
        found = from_file(maker().fit(X, action, reward=reward, propensity=propensity), options.features)
        files.append({"policy": maker.__name__, **found})
        cells = (f"{found[which]['seconds']:.2f} ({found[which]['by_clock']:.2f})" for which in ("empty", "full"))
        print(f"{maker.__name__:<40}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    write_figures(options.json, {"features": options.features, "figures": records, "files": files})


if __name__ == "__main__":
    main()
