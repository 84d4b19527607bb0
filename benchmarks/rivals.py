"""Other offset trees beside ours: times to fit and to decide, and what the policies are worth.

contextualbandits' OffsetTree with depth-6 trees (it lets all rows climb: there is no path filter), and Vowpal Wabbit's
(`--ot`, linear contests, one pass over a file) with its doubly robust `--cb`, run by an interpreter of an environment
of their own; they are left out where none is given. All get the same log, uniform logging, rewards 0 and 1, which is
what contextualbandits takes. Seconds are processor time of one thread; values are true, on 2,000 new rows.

    python benchmarks/rivals.py [--rivals-python PATH] [--actions 8 64 1024] [--more-rows 10000 30000]
        [--policies "OffsetTree, logistic" ...] [--json FILE]

Figures of single policies take the place of theirs in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _problems import Problem, make_problem, new_rows, write_figures
from _rival import RIVALS
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from offsettree import OffsetForest, OffsetTree

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
OURS: dict[str, Callable[..., Any]] = {
    "OffsetTree, depth-6 trees": lambda **given: OffsetTree(DecisionTreeClassifier(max_depth=6), **given),
    "OffsetTree, logistic": lambda **given: OffsetTree(LogisticRegression(), **given),
    "OffsetTree, default": OffsetTree,
    "OffsetForest, 50 trees": lambda **given: OffsetForest(n_trees=50, **given),
}


def ours(name: str, problem: Problem, rows: NDArray[Any]) -> dict[str, float]:
    """Fit one of our policies."""
    policy = OURS[name](actions=range(problem.n_actions), random_state=0)
    X, action, reward, propensity = problem.log()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        started = time.process_time()
        policy.fit(X, action, reward=reward, propensity=propensity)
    seconds = time.process_time() - started
    chosen = policy.predict(rows)  # flattens and compiles
    started = time.process_time()
    for _ in range(20):
        policy.predict(rows)
    row_seconds = (time.process_time() - started) / 20 / len(rows)
    return {"seconds": seconds, "row_seconds": row_seconds, "value": problem.value(rows, chosen)}


def rival(name: str, python: Path, problem: Problem, rows: NDArray[Any], folder: Path) -> dict[str, Any] | None:
    """Let another interpreter fit a rival; None where it cannot."""
    for part, array in (
        ("X", problem.X),
        ("action", problem.action),
        ("reward", problem.reward),
        ("rows", rows),
        ("k", np.array(problem.n_actions)),
    ):
        np.save(folder / f"{part}.npy", array)
    command = [str(python), str(Path(__file__).with_name("_rival.py")), name, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD)  # noqa: S603
    if run.returncode != 0:
        print(f"{name} is left out: {run.stderr.strip().splitlines()[-1]}")
        return None
    chosen = np.load(folder / "chosen.npy")
    return {**json.loads(run.stdout.splitlines()[-1]), "value": problem.value(rows, chosen)}


def main() -> None:
    """Print one line per policy and log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals-python", type=Path, help="of an environment with contextualbandits and vowpalwabbit")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="+", default=[8, 64, 1024])
    parser.add_argument("--more-rows", type=int, nargs="*", default=[10_000, 30_000], help="at 64 actions")
    parser.add_argument("--policies", nargs="+", default=[*OURS, *RIVALS], help="those to run; all by default")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)
    if options.rivals_python is None:
        print("no rivals: --rivals-python names the interpreter that holds them (make bench-rivals makes one)")
    for make in OURS.values():  # compiles
        small = make_problem(1000, options.features, 4, zero_one=True)
        make(random_state=0).fit(*small.log()[:2], reward=small.reward, propensity=0.25)
    print(f"{'policy':<34}{'rows':>8}{'k':>6}{'fit s':>9}{'us a row':>10}{'value':>8}{'best':>7}")
    records: list[dict[str, Any]] = []
    for n_rows, k in [(options.rows, k) for k in options.actions] + [(n, 64) for n in options.more_rows]:
        problem = make_problem(n_rows, options.features, k, zero_one=True)
        rows = new_rows(2000, options.features)
        best = problem.best_value(rows)
        with tempfile.TemporaryDirectory() as folder:
            for name in options.policies:
                if name in RIVALS and options.rivals_python is None:
                    continue
                found = (
                    ours(name, problem, rows)
                    if name in OURS
                    else rival(name, options.rivals_python, problem, rows, Path(folder))
                )
                if found is None:
                    continue
                records.append({"policy": name, "n_rows": n_rows, "n_actions": k, "best_value": best, **found})
                print(
                    f"{name:<34}{n_rows:>8}{k:>6}{found['seconds']:>9.2f}{1e6 * found['row_seconds']:>10.3f}"
                    f"{found['value']:>8.4f}{best:>7.3f}",
                    flush=True,
                )
    write_figures(options.json, {"features": options.features, "figures": merged(options.json, records)})


def merged(path: Path | None, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put new records in the place of old ones of the same policy and log, and all in the order of the tables."""
    old = json.loads(path.read_text(encoding="utf-8"))["figures"] if path is not None and path.exists() else []
    by_key = {(r["n_rows"], r["n_actions"], r["policy"]): r for r in [*old, *records]}
    order = [*OURS, *RIVALS]
    return sorted(by_key.values(), key=lambda r: (-r["n_rows"], r["n_actions"], order.index(r["policy"])))


if __name__ == "__main__":
    main()
