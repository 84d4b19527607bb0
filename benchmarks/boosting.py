"""True values of `RewardBoosting` beside the forest, ridge and LightGBM, on generated problems and the paper's data.

Every learner has its own defaults and one thread; seconds are processor time of the fit. LightGBM is a model of the
reward, with the action as a column or one model per action, with 200 rounds or stopped early; it is run by the
interpreter of an environment of its own. Seeds below 1,000 judge; settings were chosen on others.

    python benchmarks/boosting.py [--python lightgbm=PATH] [--seeds 0 1 ...] [--sources glass ...]
        [--learners RewardBoosting ...] [--prototype FILE] [--records FILE] [--json FILE] [--no-more]

Every figure is appended to the file of records as it comes: interrupted, it goes on where it was. `--prototype` names
a Python file with a class `SharedBoost` to compare with.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from _accuracy_logs import Task
from _accuracy_peer import PEERS
from _boosting_logs import SOURCES, make_log
from _boosting_table import BEST_CONSTANT, OURS, table
from _problems import write_figures
from accuracy import ONE_THREAD, missing_peers, peers
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits

from offsettree import OffsetForest, RewardBoosting, RewardRegression
from offsettree._features import take_rows
from offsettree._progress import Progress
from offsettree.experiments.records import Records

KEY = ("source", "seed", "learner")
PROTOTYPE = "prototype"
RIVALS = {name: each for name, each in PEERS.items() if name.startswith("LightGBM")}
POLICIES: dict[str, Callable[[], Any]] = {
    OURS: RewardBoosting,
    "OffsetForest": OffsetForest,
    "ridge per action": lambda: RewardRegression(RidgeCV(np.logspace(-2, 4, 13))),
}
LEARNERS = (*POLICIES, BEST_CONSTANT, *RIVALS)
N_FIRST = 200  # rows of the fit by which kernels are loaded


def measure(keys: list[dict[str, Any]], pythons: dict[str, str], prototype: Path | None) -> Iterator[dict[str, Any]]:
    """Let several learn from one log; give each key with the true value."""
    source, seed = keys[0]["source"], keys[0]["seed"]
    task = make_log(source, seed)
    size = {"n_rows": len(task.action), "n_actions": task.n_actions, "best_value": task.best_value()}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for key in keys:
            if key["learner"] == BEST_CONSTANT:
                found = {"value": task.value(np.full(len(task.mean_test), best_constant(task))), "fit_seconds": 0.0}
            elif key["learner"] == PROTOTYPE and prototype is not None:
                found = trial(prototype, task, seed)
            elif key["learner"] in POLICIES:
                found = ours(key["learner"], task, seed)
            else:
                continue
            yield {**key, **size, **found}
        rivals = [key for key in keys if key["learner"] in RIVALS]
        if rivals:
            results = peers([key["learner"] for key in rivals], task, pythons)
            yield from ({**key, **size, **found} for key, found in zip(rivals, results, strict=True))


def ours(name: str, task: Task, seed: int) -> dict[str, Any]:
    """Fit a policy of this package."""
    policy, seconds = fitted(name, task, seed)
    X_test = task.numbers_test if name.startswith("ridge") else task.X_test
    return {"value": task.value(policy.predict(X_test)), "fit_seconds": round(seconds, 3)}


def fitted(name: str, task: Task, seed: int) -> tuple[Any, float]:
    """Return a fitted policy and the processor time of its fit."""
    X = task.numbers if name.startswith("ridge") else task.X
    _load(name, task.X is task.numbers)
    policy = POLICIES[name]().set_params(actions=np.arange(task.n_actions), random_state=seed, n_jobs=1)
    begun = time.process_time()
    policy.fit(X, task.action, reward=task.reward, propensity=task.propensity)
    return policy, time.process_time() - begun


@cache
def _load(name: str, numbers: bool) -> None:
    """Fit once to something short, so that no kernel is loaded or compiled where time is taken."""
    task = make_log("2,000 rows, k = 5, nonlinear, skewed" if numbers else "glass", 0)
    rows = np.arange(min(N_FIRST, len(task.action)))
    policy = POLICIES[name]().set_params(actions=np.arange(task.n_actions), random_state=0, n_jobs=1)
    X = task.numbers if name.startswith("ridge") else task.X
    policy.fit(take_rows(X, rows), task.action[rows], reward=task.reward[rows], propensity=task.propensity[rows])


def best_constant(task: Task) -> int:
    """Return the action of the largest mean reward in the log, rows counted by 1 / propensity."""
    weight = 1 / task.propensity
    total = np.bincount(task.action, weight * task.reward, minlength=task.n_actions)
    return int(np.argmax(total / np.maximum(np.bincount(task.action, weight, minlength=task.n_actions), 1e-12)))


def trial(path: Path, task: Task, seed: int) -> dict[str, Any]:
    """Fit the class `SharedBoost` of a Python file, twice: the first time compiles."""
    learner = _class_of(path)
    rows = slice(0, N_FIRST)
    learner(seed=seed).fit(task.numbers[rows], task.action[rows], task.reward[rows], task.n_actions)
    begun = time.process_time()
    model = learner(seed=seed).fit(task.numbers, task.action, task.reward, task.n_actions)
    seconds = time.process_time() - begun
    chosen: NDArray[Any] = model.predict(task.numbers_test).argmax(axis=1)
    return {"value": task.value(chosen), "fit_seconds": round(seconds, 3)}


@cache
def _class_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("prototype", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"--prototype must be a Python file; got {path}.")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SharedBoost


def main() -> None:
    """Measure what is not yet on record, print the tables, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=[], metavar="NAME=PATH", help="the interpreter of LightGBM")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(20)))
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--prototype", type=Path, help="a Python file with the class SharedBoost")
    parser.add_argument("--records", type=Path, default=Path("benchmarks/results/boosting.records.jsonl"))
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--no-more", action="store_true", help="measure nothing, and make the table of what there is")
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)
    pythons = dict(each.split("=", 1) for each in options.python)
    missing = missing_peers(pythons)
    learners = [name for name in options.learners if options.no_more or name not in missing]
    learners += [PROTOTYPE] if options.prototype else []
    records = Records(options.records, KEY)
    keys = [
        {"source": source, "seed": seed, "learner": learner}
        for seed in options.seeds
        for source in options.sources
        for learner in learners
    ]
    todo = [] if options.no_more else [key for key in keys if key not in records]
    progress = Progress(len(todo))
    for _, same in groupby(todo, key=lambda key: (key["source"], key["seed"])):
        for record in measure(list(same), pythons, options.prototype):
            records.add(record)
            progress.advance(1, f"{record['source']}: {record['learner']}")
    progress.close()
    wanted = {tuple(key[field] for field in KEY) for key in keys}
    found = [dict(record) for record in records if records.key_of(record) in wanted]
    print(table(found))
    write_figures(options.json, {"missing": {n: w for n, w in missing.items() if n in RIVALS}, "figures": found})


if __name__ == "__main__":
    main()
