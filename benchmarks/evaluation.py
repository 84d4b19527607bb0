"""What evaluating costs: against `predict` on the same rows, in the same run.

Goals, for 1,000,000 rows: `evaluate` (SNIPS with its normal interval, the comparison with the log, and all diagnostics)
takes less than twice the time of `predict`; the bootstrap's 1,000 resamples take seconds, in memory that does not grow
with their number; what a policy remembers of its training rows takes less than 1 % of training. Times are processor
time of one thread, but for those named wall.

    python benchmarks/evaluation.py [--rows 1000000] [--features 50] [--actions 8 64] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _problems import make_problem, write_figures

from offsettree import OffsetTree, evaluate
from offsettree._fingerprint import remember_rows


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.process_time, n_calls: int = 7) -> float:
    """Return the least time of a call, after the first."""
    call()
    times = []
    for _ in range(n_calls):
        started = clock()
        call()
        times.append(clock() - started)
    return min(times)


def measure(n_rows: int, n_features: int, n_actions: int) -> dict[str, float]:
    """Train on a tenth as many other rows, and evaluate."""
    train = make_problem(n_rows // 10, n_features, n_actions, seed=1)
    test = make_problem(n_rows, n_features, n_actions, seed=2)
    started = time.process_time()
    policy = OffsetTree(random_state=0).fit(train.X, train.action, reward=train.reward, propensity=1 / n_actions)
    fit_seconds = time.process_time() - started
    log = {"reward": test.reward, "propensity": np.full(n_rows, 1 / n_actions)}

    def run(interval: str = "normal") -> Any:
        return evaluate(policy, test.X, test.action, **log, interval=interval, random_state=0)  # type: ignore[arg-type]

    figures = {
        "n_actions": float(n_actions),
        "predict": seconds(lambda: policy.predict(test.X)),
        "evaluate": seconds(run),
        "predict_wall": seconds(lambda: policy.predict(test.X), time.perf_counter),
        "evaluate_wall": seconds(run, time.perf_counter),
        "bootstrap": seconds(lambda: run("bootstrap"), n_calls=2),
        "bernstein": seconds(lambda: run("bernstein"), n_calls=2),
        "betting": seconds(lambda: run("betting"), n_calls=2),
        "remember_over_fit": seconds(lambda: remember_rows(train.X, train.reward)) / fit_seconds,
    }
    tracemalloc.start()
    run("bootstrap")
    figures["bootstrap_bytes_per_row"] = tracemalloc.get_traced_memory()[1] / n_rows
    tracemalloc.stop()
    return figures


def main() -> None:
    """Print one line per number of actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    print(f"{options.rows:,} rows, {options.features} features, float32; processor seconds")
    print("  k  predict  evaluate  ratio (wall)  bootstrap  bytes/row  bernstein  betting  remember/fit")
    records = []
    for n_actions in options.actions:
        found = measure(options.rows, options.features, n_actions)
        records.append(found)
        print(
            f"{n_actions:>3}{found['predict']:>9.3f}{found['evaluate']:>10.3f}"
            f"{found['evaluate'] / found['predict']:>7.2f}{found['evaluate_wall'] / found['predict_wall']:>7.2f}"
            f"{found['bootstrap']:>11.2f}{found['bootstrap_bytes_per_row']:>11.0f}{found['bernstein']:>11.2f}"
            f"{found['betting']:>9.2f}{100 * found['remember_over_fit']:>12.2f} %",
            flush=True,
        )
    write_figures(options.json, {"rows": options.rows, "features": options.features, "figures": records})


if __name__ == "__main__":
    main()
