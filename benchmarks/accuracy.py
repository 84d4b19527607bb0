"""True values of PolicySearch, of each of its candidates, and of peers, on the same logs.

The logs are the 13 datasets of the package and generated problems, linear and not, under uniform logging and under one
that prefers some actions given x, ten times and more; rewards are 0 and 1, propensities exact. Long datasets are cut.
The value of a policy is known: in rows held out every label is, and of generated problems the mean of every reward.
Peers run with their own defaults by the interpreters of their environments, on names as columns of numbers, scaled;
the last one has a stronger learner than its default. One that is not there is named.

    python benchmarks/accuracy.py [--python rivals=PATH obp=PATH econml=PATH lightgbm=PATH] [--seeds 0] [--rows 1000]
        [--jobs 2] [--sources glass "linear, 5" ...] [--policies PolicySearch ...] [--records FILE] [--json FILE]
        [--no-more]

Every figure is appended to the file of records as it comes: interrupted, it goes on where it was. The table is of the
logs that all have learned from.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _accuracy_logs import LOGGINGS, SOURCES, Task, make_task
from _accuracy_peer import PEERS
from _accuracy_table import table
from _problems import write_figures
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from offsettree import PolicySearch
from offsettree._progress import Progress
from offsettree.experiments.records import Records
from offsettree.selection import default_candidates

SEARCH = "PolicySearch"
CANDIDATES = [name for name, _ in default_candidates()]
POLICIES = [SEARCH, *CANDIDATES, *PEERS]
KEY = ("source", "logging", "seed", "policy")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
LONGEST = 900  # seconds that a peer may take


def measure(key: dict[str, Any], n_rows: int, pythons: dict[str, str]) -> dict[str, Any]:
    """Learn one policy from one log; return its key with its true value, or with why there is none."""
    task = make_task(key["source"], key["logging"], key["seed"], n_rows)
    size = {"n_rows": len(task.action), "n_actions": task.n_actions, "best_value": task.best_value()}
    policy, started = key["policy"], time.perf_counter()
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            found = peer(policy, task, pythons) if policy in PEERS else ours(policy, task, key["seed"])
    except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
        found = {"value": None, "error": f"{type(error).__name__}: {error}"[-300:]}
    return {**key, **size, **found, "seconds": round(time.perf_counter() - started, 2)}


def ours(name: str, task: Task, seed: int) -> dict[str, Any]:
    """Learn the search or one candidate; of the search tell what it saw as well."""
    # Nested or not, the choice is the same; its own estimate, which is not judged here, would take twice as long.
    policy: Any = PolicySearch(nested=False) if name == SEARCH else dict(default_candidates())[name]
    policy.set_params(actions=np.arange(task.n_actions), random_state=seed)
    policy.fit(task.X, task.action, reward=task.reward, propensity=task.propensity)
    found: dict[str, Any] = {"value": task.value(policy.predict(task.X_test))}
    if name == SEARCH:
        keys = ("name", "outcome", "value", "behind", "behind_stderr", "seconds")
        estimate = policy.estimate_
        found |= {
            "chosen": policy.best_name_,
            "estimate": [estimate.value, estimate.low, estimate.high],
            "compared": [{key: row[key] for key in keys} for row in policy.results_],
        }
    return found


def peer(name: str, task: Task, pythons: dict[str, str]) -> dict[str, Any]:
    """Let another interpreter fit a peer."""
    return peers([name], task, pythons)[0]


def peers(names: list[str], task: Task, pythons: dict[str, str]) -> list[dict[str, Any]]:
    """Let another interpreter fit peers of one package, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        for part, array in (
            ("X", task.numbers),
            ("action", task.action),
            ("reward", task.reward),
            ("propensity", task.propensity),
            ("rows", task.numbers_test),
            ("k", np.array(task.n_actions)),
        ):
            np.save(Path(folder, f"{part}.npy"), array)
        command = [pythons[PEERS[names[0]][1]], str(Path(__file__).with_name("_accuracy_peer.py")), *names, folder]
        run = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, env=os.environ | ONE_THREAD, timeout=LONGEST, check=False
        )
        if run.returncode != 0:
            raise RuntimeError((run.stderr.strip().splitlines() or [f"it ended with {run.returncode}"])[-1])
        chosen = [np.load(Path(folder, f"chosen{place}.npy")) for place in range(len(names))]
    told = run.stdout.splitlines()[-len(names) :]
    return [{"value": task.value(each), **json.loads(line)} for each, line in zip(chosen, told, strict=True)]


def missing_peers(pythons: dict[str, str]) -> dict[str, str]:
    """Return which peers cannot be run, and why."""
    reasons = {}
    for name, (package, environment, _, _) in PEERS.items():
        python = pythons.get(environment)
        if python is None:
            reasons[name] = f"no interpreter was named for it (--python {environment}=PATH)"
        elif not Path(python).exists():
            note = Path(python).parent.parent / "failed"
            reasons[name] = note.read_text(encoding="utf-8").strip() if note.exists() else f"{python} is not there"
        else:
            check = f"from importlib.metadata import version; version({package!r})"
            run = subprocess.run([python, "-c", check], capture_output=True, text=True, check=False)  # noqa: S603
            if run.returncode != 0:
                note = Path(python).parent.parent / "failed"
                reasons[name] = (
                    note.read_text(encoding="utf-8").strip() if note.exists() else run.stderr.strip().splitlines()[-1]
                )
    return reasons


def complete(records: Iterable[Mapping[str, Any]], policies: set[str]) -> list[dict[str, Any]]:
    """Return the records of logs that all policies have learned from, in order: means are of the same logs."""
    by_log: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        if record["policy"] in policies:
            by_log.setdefault((record["seed"], record["source"], record["logging"]), []).append(dict(record))
    whole = [by_log[log] for log in sorted(by_log) if len(by_log[log]) == len(policies)]
    return [each for log in whole for each in sorted(log, key=lambda each: POLICIES.index(each["policy"]))]


def main() -> None:
    """Measure what is not yet on record, print the table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=[], metavar="NAME=PATH", help="interpreters of the peers")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rows", type=int, default=1000, help="longer logs are cut")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES)
    parser.add_argument("--records", type=Path, default=Path("benchmarks/results/accuracy.records.jsonl"))
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--no-more", action="store_true", help="measure nothing, and make the table of what there is")
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)
    pythons = dict(each.split("=", 1) for each in options.python)
    missing = missing_peers(pythons)
    records = Records(options.records, KEY)
    keys = [
        {"source": source, "logging": logging, "seed": seed, "policy": policy}
        for seed in options.seeds
        for source in options.sources
        for logging in LOGGINGS
        for policy in options.policies
        if policy not in missing
    ]
    todo = [] if options.no_more else [key for key in keys if key not in records]
    progress = Progress(len(todo))
    run = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for record in run(delayed(measure)(key, options.rows, pythons) for key in todo):
        records.add(record)
        progress.advance(1, f"{record['source']}, {record['logging']}: {record['policy']}")
    progress.close()
    policies = {policy for policy in options.policies if policy not in missing}
    n_logs = len(options.seeds) * len(options.sources) * len(LOGGINGS)
    found = {"rows": options.rows, "logs": n_logs, "missing": missing, "figures": complete(records, policies)}
    print(table(found))
    write_figures(options.json, found)


if __name__ == "__main__":
    main()
