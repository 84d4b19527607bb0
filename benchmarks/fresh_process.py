"""How long a new process takes from scikit-learn's import to its first decision, with machine code kept on disk.

The policy is read from a pickle. Goal: a second. The rivals are the parts it is made of: loading our own code and
numba, reading the pickle, and the first decision, which finds the kernels on disk and, unless it was done before
pickling, flattens the policy. Processor time, as machines are shared; seconds by the clock are told too.

    python benchmarks/fresh_process.py [--actions 8 1024 16384] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _problems import new_rows, write_figures
from decisions import fitted_trees
from sklearn.tree import DecisionTreeClassifier

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
    parser.add_argument("--actions", type=int, nargs="+", default=[8, 1024, 16_384])
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
    write_figures(options.json, {"features": options.features, "figures": records})


if __name__ == "__main__":
    main()
