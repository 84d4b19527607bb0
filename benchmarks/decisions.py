"""How fast a fitted policy decides: compiled, against the same classifiers asked through their own `predict`.

The rivals are, on the same fitted trees in the same run: the grouped descent (all rows that reach a node in one call
of its classifier's `predict`), our own grouped descent (the same, past scikit-learn's checks), and a loop over rows.
Seconds are processor time of one thread. Goals: 200,000 rows at least 10 times the grouped descent at k = 8, 20 times
at 64 and 1024, 100 times at 16,384; 1,000 rows at least 50, 200 and 1,000 times; 5 million rows a second at k = 1024;
`decide`, checks included, in 3 us. Other libraries are in `rivals.py`, new processes in `fresh_process.py`.

Then raw rows of nine mixed columns (numbers, one with gaps, words, truth values, a date), as a service gets them. A
loaded policy encodes them first; at most 15 us.

Then every learner of the catalog, live and loaded from a policy file: both decide by the same flat model, so that a
live policy takes at most 1.5 times as long as a loaded one. `--actions` without numbers leaves out all but raw rows
and these.

    python benchmarks/decisions.py [--actions 8 64 1024 16384] [--rows 200000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _problems import write_figures
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from training_overhead import make_log

from offsettree import OffsetTree, RewardRegression, TableEncoder, load, save
from offsettree.exceptions import OffsetTreeWarning, PolicyFileError
from offsettree.learners import make_learner
from offsettree.reductions._sides import descend
from offsettree.registry import CLASSIFIERS, REGRESSORS

GOALS = {8: (10, 50), 64: (20, 200), 1024: (20, 200), 16_384: (100, 1000)}


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.thread_time, budget: float = 1.0) -> float:
    """Return the least time of a call among as many as fit into the budget, at least three after the first."""
    call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < budget and len(times) < 1000):
        started = clock()
        call()
        times.append(clock() - started)
    return min(times)


def per_call(call: Callable[[], Any], n_calls: int = 5000) -> float:
    """Return the least time of a call that is too short for the clock."""

    def many() -> None:
        for _ in range(n_calls):
            call()

    return seconds(many) / n_calls


def grouped_descent(policy: OffsetTree, X: NDArray[Any]) -> NDArray[np.intp]:
    """Group the rows by node and call scikit-learn's predict once per node."""
    chosen = np.empty(len(X), dtype=np.intp)
    pending = [(0, np.arange(len(X)))]
    while pending:
        node, rows = pending.pop()
        left = policy.estimators_[node].predict(X[rows]) == 1
        for child, moved in ((policy.tree_.left[node], rows[left]), (policy.tree_.right[node], rows[~left])):
            if child < 0:
                chosen[moved] = ~child
            elif len(moved) > 0:
                pending.append((int(child), moved))
    return chosen


def row_loop(policy: OffsetTree, x: NDArray[Any]) -> int:
    """Ask the classifiers on one row's way through scikit-learn's predict."""
    node = 0
    while node >= 0:
        left = policy.estimators_[node].predict(x[np.newaxis])[0] == 1
        node = int(policy.tree_.left[node] if left else policy.tree_.right[node])
    return ~node


def fitted_trees(n_actions: int, n_rows: int, n_features: int, learner: Any = None) -> OffsetTree:
    """Fit depth-6 decision trees, by default scikit-learn's."""
    X, action, reward, propensity = make_log(n_rows, n_features, n_actions)
    policy = OffsetTree(learner or DecisionTreeClassifier(max_depth=6), actions=range(n_actions), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # at k = 16,384 some action is never logged
        return policy.fit(X, action, reward=reward, propensity=propensity)


def made_up_planes(n_actions: int, n_features: int) -> OffsetTree:
    """Fit as little as can be, then give every contest a plane drawn at random: the time does not depend on which."""
    random = np.random.default_rng(0)
    X = random.standard_normal((2 * n_actions, n_features), dtype=np.float32)
    policy = OffsetTree(LogisticRegression(), random_state=0)
    policy.fit(X[:8], np.arange(8) % 2, reward=np.tile([0, 1, 1, 0], 2), propensity=0.5)
    other = OffsetTree(LogisticRegression(), actions=range(n_actions), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)
        other.fit(X, np.arange(2 * n_actions) % n_actions, reward=np.ones(2 * n_actions), propensity=0.5)
    planes = []
    for _ in range(other.tree_.n_nodes):
        plane = pickle.loads(pickle.dumps(policy.estimators_[0]))
        plane.coef_ = (random.standard_normal((1, n_features)) / np.sqrt(n_features)).astype(np.float32)
        plane.intercept_ = 0.1 * random.standard_normal(1).astype(np.float32)
        planes.append(plane)
    other.estimators_ = planes
    return other


def measure(policy: OffsetTree, X: NDArray[Any], n_slow: int) -> dict[str, float]:
    """Time all ways of deciding; `n_slow` rows for what is slow on all."""
    few, x = X[:1000].copy(), X[7].copy()
    x_list = x.tolist()
    expected = policy.actions_[descend(policy.tree_, policy.estimators_, X[:n_slow])]
    started = time.thread_time()
    compiled = policy.compiled_
    flatten_seconds = time.thread_time() - started
    # scikit-learn adds float32 margins in float32: some of millions are within its rounding of zero.
    n_different = np.count_nonzero(policy.predict(X[:n_slow]) != expected)
    if compiled is None or n_different > (1e-4 * n_slow if isinstance(policy.estimator, LogisticRegression) else 0):
        raise RuntimeError(f"a compiled policy must decide as its classifiers do; it differs on {n_different} rows.")
    os.environ["OMP_NUM_THREADS"] = "1"
    one_thread = seconds(lambda: policy.predict(X))
    wall = seconds(lambda: policy.predict(X), time.perf_counter)
    del os.environ["OMP_NUM_THREADS"]
    return {
        "n_actions": float(len(policy.actions_)),
        "flatten_seconds": flatten_seconds,
        "n_different": float(n_different),
        "batch_rows_per_second": len(X) / one_thread,
        "batch_wall_speedup_by_threads": wall / seconds(lambda: policy.predict(X), time.perf_counter),
        "batch_over_grouped": seconds(lambda: grouped_descent(policy, X[:n_slow])) / n_slow * len(X) / one_thread,
        "batch_over_own_grouped": seconds(lambda: descend(policy.tree_, policy.estimators_, X[:n_slow]))
        / n_slow
        * len(X)
        / one_thread,
        "few_seconds": (few_seconds := seconds(lambda: policy.predict(few))),
        "few_over_grouped": seconds(lambda: grouped_descent(policy, few)) / few_seconds,
        "few_over_own_grouped": seconds(lambda: descend(policy.tree_, policy.estimators_, few)) / few_seconds,
        "decide_seconds": per_call(lambda: policy.decide(x)),
        "decide_list_seconds": per_call(lambda: policy.decide(x_list)),
        "row_loop_seconds": per_call(lambda: row_loop(policy, x), 30),
    }


def compare(policy: Any, X: NDArray[np.float64]) -> dict[str, float] | None:
    """Time single decisions, and all at once, of a policy, live and loaded; None if it has no flat form."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            save(policy, Path(folder) / "policy.ot")
        except PolicyFileError:
            return None
        loaded = load(Path(folder) / "policy.ot")
    chosen = policy.predict(X)
    if (loaded.predict(X) != chosen).any():
        raise RuntimeError(f"live and loaded must decide alike; {policy} does not.")
    x = X[7].copy()
    n_calls = 5000 if per_call(lambda: policy.decide(x), 20) < 1e-5 else 200
    return {
        "decide_seconds": per_call(lambda: policy.decide(x), n_calls),
        "loaded_decide_seconds": per_call(lambda: loaded.decide(x), n_calls),
        "few_seconds": seconds(lambda: policy.predict(X)),
        "loaded_few_seconds": seconds(lambda: loaded.predict(X)),
        "asked_few_seconds": seconds(lambda: policy._ask(X)),
        "n_unlike": float(np.count_nonzero(policy.actions_[policy._ask(X)] != chosen)),
    }


def live_and_loaded(n_rows: int = 2000, n_features: int = 9, n_actions: int = 6) -> list[dict[str, Any]]:
    """Print a line for every learner of the catalog."""
    X, action, reward, propensity = make_log(n_rows, n_features, n_actions)
    few, records = X[:1000].astype(np.float64), []
    print(f"\nLive and loaded: k = {n_actions}, {n_features} features, fitted to {n_rows:,} rows. Microseconds.")
    print("policy and learner                   decide  loaded  ratio    1,000  loaded  ratio    asked  rows unlike")
    learners: list[tuple[type[Any], Any, str]] = [
        *((OffsetTree, "classifier", name) for name in CLASSIFIERS),
        *((RewardRegression, "regressor", name) for name in REGRESSORS),
    ]
    for reduction, kind, name in learners:
        policy = reduction(make_learner(name, kind), random_state=0)
        try:
            policy.fit(X, action, reward=reward, propensity=propensity)
        except ImportError:
            continue  # Weka's learners need an extra and Java
        found = compare(policy, few)
        if found is None:
            continue
        records.append({"policy": reduction.__name__, "learner": name, **found})
        one, one_loaded, many, many_loaded, asked, unlike = found.values()
        print(
            f"{reduction.__name__:<17}{name:<18}{one * 1e6:>8.1f}{one_loaded * 1e6:>8.1f}{one / one_loaded:>7.2f}"
            f"{many * 1e6:>9.0f}{many_loaded * 1e6:>8.0f}{many / many_loaded:>7.2f}{asked * 1e6:>9.0f}{unlike:>8.0f}",
            flush=True,
        )
    return records


def raw_rows(n_rows: int = 2000) -> list[dict[str, Any]]:
    """Print how long a decision on one raw row takes, and how much of that is encoding it."""
    random = np.random.default_rng(0)
    stamps = np.datetime64("2026-01-01") + random.integers(0, 10**7, n_rows).astype("timedelta64[s]")
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 90, n_rows),
            "income": random.lognormal(10, 1, n_rows).round(2),
            "visits": np.where(random.random(n_rows) < 0.2, np.nan, random.poisson(3, n_rows)),
            "score": random.normal(size=n_rows),
            "country": random.choice(["de", "fr", "it", "us"], n_rows),
            "device": random.choice(["phone", "tablet", "desk"], n_rows),
            "plan": random.choice(["basic", "pro"], n_rows),
            "member": random.choice([True, False], n_rows),
            "seen": stamps,
        }
    )
    action, reward = random.integers(0, 4, n_rows), random.random(n_rows)
    encoder = TableEncoder.learn([frame])
    rows = json.loads(frame.head(1000).to_json(orient="records", date_format="iso"))
    policies = {"OffsetTree": OffsetTree(random_state=0), "ridge": RewardRegression(make_learner("ridge", "regressor"))}
    records = []
    for name, policy in policies.items():
        policy.fit(encoder.encode(frame), action, reward=reward, propensity=0.25)
        with tempfile.TemporaryDirectory() as folder:
            save(policy, Path(folder) / "policy.ot", encoder=encoder)
            loaded = load(Path(folder) / "policy.ot")
        decided = seconds(lambda: [loaded.decide(row) for row in rows]) / len(rows)  # noqa: B023 - called at once
        encoded = seconds(lambda: [loaded.encoder.encode_row(row) for row in rows]) / len(rows)  # noqa: B023
        records.append({"policy": name, "decide_seconds": decided, "encode_seconds": encoded})
        print(f"raw rows of 9 mixed columns, {name:<11}{decided * 1e6:>6.1f} us, {encoded * 1e6:.1f} of it encoding")
    return records


def line(name: str, figures: dict[str, float]) -> str:
    """Return a line of the table."""
    n_actions = int(figures["n_actions"])
    return (
        f"{name:<13}{n_actions:>6}{figures['batch_rows_per_second'] / 1e6:>8.2f}"
        f"{figures['batch_wall_speedup_by_threads']:>8.2f}"
        f"{figures['batch_over_grouped']:>9.0f}{figures['batch_over_own_grouped']:>6.0f}"
        f"{figures['few_seconds'] * 1e6:>8.0f}{figures['few_over_grouped']:>8.0f}"
        f"{figures['few_over_own_grouped']:>6.0f}"
        f"{figures['decide_seconds'] * 1e6:>8.2f}{figures['decide_list_seconds'] * 1e6:>6.2f}"
        f"{figures['row_loop_seconds'] * 1e6:>9.0f}{figures['flatten_seconds'] * 1e3:>9.0f}"
    )


def main() -> None:
    """Print one line per learner and number of actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--train-rows", type=int, default=100_000, help="at least 12 for each action are taken")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="*", default=[8, 64, 1024, 16_384])
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    X = make_log(options.rows, options.features, 2, seed=5)[0]
    records: list[dict[str, Any]] = []
    print(
        f"Decisions: batches of {options.rows:,} and of 1,000 rows, {options.features} features, float32, one thread."
    )
    print("Trees are fitted, on at least 100,000 rows and 12 for each action; planes are drawn at random.")
    print(
        "                      million 2 cores   over grouped  1,000  over grouped  decide    us  row loop  flatten\n"
        "learner            k   rows/s   times  predict  own      us predict   own  array  list        us       ms"
    )
    for n_actions in options.actions:
        n_slow = len(X) if n_actions <= 1024 else len(X) // 4
        policies = {
            "depth-6 tree": fitted_trees(n_actions, max(options.train_rows, 12 * n_actions), options.features),
            "linear": made_up_planes(n_actions, options.features),
        }
        for name, policy in policies.items():
            figures = measure(policy, X, n_slow)
            print(line(name, figures), flush=True)
            records.append({"learner": name, **figures})
    of_raw_rows = raw_rows()
    compared = live_and_loaded()
    print("Goals: over grouped predict", {k: batch for k, (batch, _) in GOALS.items()}, end="; ")
    print(
        "1,000 rows", {k: few for k, (_, few) in GOALS.items()}, "; decide 3 us; a raw row 15 us; live over loaded 1.5"
    )
    found: dict[str, Any] = {"rows": options.rows, "features": options.features, "figures": records}
    found |= {"raw_rows": of_raw_rows, "live_and_loaded": compared}
    write_figures(options.json, found)


if __name__ == "__main__":
    main()
