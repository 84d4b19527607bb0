"""How fast `RewardBoosting` decides and fits, and how much memory many actions take.

Goals: a decision from an array at most 20 microseconds at k = 8 and 100 at k = 64, batches at least 5 times less per
row; a fit at least as fast as LightGBM's model per action (200 rounds) at k = 8, and 5 times as fast at k = 64;
k = 16,384 with 200,000 rows within 8 GB, and a policy file below 200 MB. Seconds are processor time of one thread:
the fastest of many repeats of decisions, as others on the machine can only add to it, and their median; one fit.

On logs of under 1,500 rows trees that vote may count too: there it says whether they do.

    python benchmarks/boosting_speed.py [--python PATH_TO_LIGHTGBM] [--actions 16384] [--rows 200000] [--json FILE]
    python benchmarks/boosting_speed.py --only short   # logs of 500 to 1,400 rows, k = 8
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import timeit
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from _accuracy_logs import Task
from _boosting_logs import Problem, both_scores, draw_log, make_log, nonlinear_scores
from _boosting_table import OURS
from _problems import make_problem, new_rows, write_figures
from accuracy import ONE_THREAD, peer
from boosting import fitted
from threadpoolctl import threadpool_limits

from offsettree import RewardBoosting
from offsettree.policy_file import save

RIVAL = "LightGBM per action"
PROBLEMS = ("20,000 rows, k = 8, both, uniform", "50,000 rows, k = 64, nonlinear, uniform")
SHORT = {
    f"{n_rows:,} rows, {kind}": Problem(n_rows, 8, scores, "uniform")
    for n_rows in (500, 1_000, 1_400)
    for kind, scores in (("both", both_scores), ("nonlinear", nonlinear_scores))
}
PARTS = ("short", "long", "memory")


def times(task: Task, python: str | None) -> dict[str, Any]:
    """Fit, decide one by one and in a batch, and let LightGBM fit the same log."""
    with threadpool_limits(1):
        policy, seconds = fitted(OURS, task, 0)
        x = task.X_test[0]
        policy.decide(x)
        policy.predict(task.X_test)
        one = timeit.repeat(lambda: policy.decide(x), number=500, repeat=21, timer=process_time)
        batch = timeit.repeat(lambda: policy.predict(task.X_test), number=1, repeat=11, timer=process_time)
    found = {
        "n_actions": task.n_actions,
        "n_trees": policy.n_trees_,
        "votes": "votes" in policy.starts_,
        "decide_us": 1e6 * min(one) / 500,
        "decide_median_us": 1e6 * float(np.median(one)) / 500,
        "batch_us": 1e6 * min(batch) / len(task.X_test),
        "batch_median_us": 1e6 * float(np.median(batch)) / len(task.X_test),
        "fit_seconds": seconds,
    }
    if python is not None:
        found["rival_fit_seconds"] = peer(RIVAL, task, {"lightgbm": python})["fit_seconds"]
    return found


def memory(n_rows: int, n_actions: int) -> dict[str, Any]:
    """Fit many actions in this process; return the most memory that it ever had, and the size of the policy file."""
    problem = make_problem(n_rows, 20, n_actions, zero_one=True)
    policy = RewardBoosting(actions=np.arange(n_actions), random_state=0, n_jobs=1)
    begun = process_time()
    policy.fit(problem.X, problem.action, reward=problem.reward, propensity=1 / n_actions)
    seconds = process_time() - begun
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    X = new_rows(2000, 20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy.ot")
        save(policy, path)
        size = path.stat().st_size
    return {
        "n_rows": n_rows,
        "n_actions": n_actions,
        "peak_bytes": peak,
        "file_bytes": size,
        "fit_seconds": seconds,
        "value": problem.value(X, policy.predict(X)),
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="the interpreter of LightGBM")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--actions", type=int, default=16_384)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)
    warnings.simplefilter("ignore")
    if options.measure:
        with threadpool_limits(1):
            print(json.dumps(memory(options.rows, options.actions)))
        return
    figures: dict[str, Any] = {}
    if "short" in options.only:
        figures["short"] = [
            told(name, times(draw_log(problem, np.random.default_rng(place)), None))
            for place, (name, problem) in enumerate(SHORT.items())
        ]
    if "long" in options.only:
        figures["speed"] = [told(name, times(make_log(name, 0), options.python)) for name in PROBLEMS]
    if "memory" in options.only:
        figures["memory"] = told_memory(options)
    write_figures(options.json, figures)


def told(name: str, each: dict[str, Any]) -> dict[str, Any]:
    """Print the times of one log, and return them."""
    rival = each.get("rival_fit_seconds")
    print(
        f"{name}: k = {each['n_actions']}{', with votes' if each['votes'] else ''}, "
        f"decide {each['decide_us']:.1f} us (median {each['decide_median_us']:.1f}), "
        f"batch {each['batch_us']:.2f} us a row (median {each['batch_median_us']:.2f}) "
        f"({each['decide_us'] / each['batch_us']:.1f} times less), fit {each['fit_seconds']:.2f} s"
        + ("" if rival is None else f", {RIVAL} {rival:.2f} s ({rival / each['fit_seconds']:.1f} times)"),
        flush=True,
    )
    return each


def told_memory(options: argparse.Namespace) -> dict[str, Any]:
    """Measure many actions in a process of their own, print and return it."""
    size = ["--rows", str(options.rows), "--actions", str(options.actions)]
    run = subprocess.run(  # noqa: S603
        [sys.executable, __file__, "--measure", *size], check=True, capture_output=True, text=True
    )
    large = json.loads(run.stdout.splitlines()[-1])
    print(
        f"k = {large['n_actions']:,}, {large['n_rows']:,} rows: {large['peak_bytes'] / 1e9:.2f} GB at most, file "
        f"{large['file_bytes'] / 1e6:.1f} MB, fit {large['fit_seconds']:.0f} s, value {large['value']:.3f}"
    )
    return dict(large)


if __name__ == "__main__":
    main()
