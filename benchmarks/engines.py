"""A fit on one and two local workers against `fit_log` in one process, each in a process of its own.

The log is in Parquet files; reading is in all times, imports and compilation are not: the workers are started, and have
trained a short log, before the clock runs. Seconds are by the clock, and by the processor, of all processes; only the
latter mean something on a busy machine. The most that was resident is that of the driver,
and of the largest worker. The policy files must be the same. Costs per row and per task, for
`tools/simulate_schedule.py`, are of the run on one worker. Goals: at most 1.2 times the time of `fit_log` on one worker
and 0.65 on two, with 600 MB a worker. Linux only.

With `--learner boosting`, workers may be given as 2x2: two workers, and two shares of the rows in every fit, whose
histograms are spread; 2x1 never spreads them. With `--folder`, the log and the outcomes are kept there: what was cut
off goes on from them.

    python benchmarks/engines.py [--learner tree] [--rows 20000000] [--features 20] [--actions 64] [--files 16]
                                     [--workers 1 2] [--folder FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from _problems import moods, squash

from offsettree import LoggedData, OffsetTree, RewardBoosting, save
from offsettree.distributed import DistributedOffsetTree, DistributedRewardBoosting
from offsettree.engines import LocalEngine


def write_log(folder: Path, n_rows: int, n_features: int, n_actions: int, n_files: int) -> None:
    """Draw a log, file by file: rewards are smooth in x and noisy, propensities are not all alike."""
    random = np.random.default_rng(0)
    taste, senses = random.standard_normal((n_actions, 8)), random.standard_normal((n_features, 8))
    chance = random.dirichlet(np.full(n_actions, 20.0))
    for number in range(n_files):
        n = (number + 1) * n_rows // n_files - number * n_rows // n_files
        X = random.standard_normal((n, n_features), dtype=np.float32)
        action = random.choice(n_actions, n, p=chance)
        reward = squash((moods(X, senses) * taste[action]).sum(axis=1)) + 0.15 * random.standard_normal(n)
        columns = {"action": action, "reward": np.clip(reward, 0, 1), "propensity": chance[action]}
        frame = pd.DataFrame(X).add_prefix("x").assign(**columns)
        frame.to_parquet(folder / f"{number:03d}.parquet", row_group_size=1 << 16)


LATENCY = (
    0.01  # seconds between a task's end and the next one's begin on a worker: assumed, as engines say of themselves
)


class Watch:
    """The most that was resident of this process's children, asked for ten times a second."""

    def __enter__(self) -> Self:
        self.largest, self._ends = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self._thread.join()

    def _look(self) -> None:
        own = Path("/proc/self/task")
        while not self._ends.wait(0.1):
            children = {pid for task in own.glob("*/children") for pid in task.read_text().split()}
            self.largest = max([self.largest, *(_peak(pid) for pid in children)])


def _peak(pid: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def digest_of(policy: Any) -> str:
    """Return a hash of a policy's file."""
    with tempfile.TemporaryDirectory() as folder:
        save(policy, Path(folder) / "policy.ot")
        data = (Path(folder) / "policy.ot").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return hashlib.sha256(b"".join(archive.read(name) for name in archive.namelist())).hexdigest()


LEARNERS: dict[str, tuple[Any, Any]] = {
    "tree": (OffsetTree, DistributedOffsetTree),
    "boosting": (RewardBoosting, DistributedRewardBoosting),
}


def run(learner: str, way: str, folder: Path, short: Path) -> dict[str, Any]:
    """Fit in this process; return what came of it."""
    local, spread_out = LEARNERS[learner]
    if way == "fit_log":
        local(random_state=0).fit_log(LoggedData.scan(short))
        started, used = time.perf_counter(), time.process_time()
        policy = local(random_state=0).fit_log(LoggedData.scan(folder), folder=folder.parent)
        return {
            "seconds": time.perf_counter() - started,
            "processor": time.process_time() - used,
            "driver_mb": _peak("self"),
            "digest": digest_of(policy),
        }
    n_workers, _, n_shares = way.partition("x")
    engine = LocalEngine(int(n_workers))
    given = {"random_state": 0, "client": engine, "storage": folder.parent / "store"}
    with Watch() as watch:
        for logs in (short, folder):
            spread = spread_out(**given)
            if n_shares:
                spread._n_shares = 1 if logs == short else int(n_shares)
            started, used = time.perf_counter(), time.process_time()
            spread.fit(logs)
        seconds, used = time.perf_counter() - started, time.process_time() - used
    engine.close()
    return {
        "seconds": seconds,
        "processor": used + sum(spread.task_seconds_.values()),
        "driver_processor": used,
        "driver_mb": _peak("self"),
        "worker_mb": watch.largest,
        "digest": digest_of(spread.to_local()),
        "tasks": spread.n_tasks_,
        "spent": spread.task_seconds_,
        **(_climbs(spread) if learner == "tree" else {}),
    }


def _climbs(tree: Any) -> dict[str, float]:
    """Return which share of a contest's rows climbs on, and the rows of the joins."""
    heights = np.zeros(tree.tree_.n_nodes, dtype=int)
    for node in tree.tree_.bottom_up():
        children = [child for child in (tree.tree_.left[node], tree.tree_.right[node]) if child >= 0]
        heights[node] = 1 + max((heights[child] for child in children), default=0)
    by_height = np.bincount(heights, tree.node_rows_)[1:]
    return {
        "climbs": float((by_height[-1] / by_height[0]) ** (1 / max(len(by_height) - 1, 1))),
        "join_rows": float(by_height[4:].sum()),  # of the joins: there are 16 subtrees
    }


def costs_of(found: dict[str, Any], n_rows: int) -> dict[str, float]:
    """Return seconds per row of each kind of task, and seconds per task."""
    spent = found["spent"]
    driver = found["driver_processor"] / found["tasks"]["run"]
    return {
        "route": (spent["route"] + spent["over_stretch"]) / n_rows,
        "subtree": spent["train_subtree"] / n_rows,
        "join": spent["train_join"] / max(found["join_rows"], 1.0),
        "task": LATENCY,
        "driver": driver,
        "climbs": found["climbs"],
    }


def main() -> None:
    """Print and write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learner", choices=sorted(LEARNERS), default="tree")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--actions", type=int, default=64)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--workers", nargs="+", default=["1", "2"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--way")
    options = parser.parse_args()
    if options.way is not None:
        print(json.dumps(run(options.learner, options.way, options.folder / "logs", options.folder / "short")))
        return
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(options, options.folder or Path(temporary))
    print(json.dumps(figures, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run each way in a process of its own, unless its outcome is there; return all figures."""
    logs, short = folder / "logs", folder / "short"
    if not (folder / "written").exists():
        for place, n_rows, n_files in ((logs, options.rows, options.files), (short, 20_000, 2)):
            place.mkdir(parents=True, exist_ok=True)
            write_log(place, n_rows, options.features, options.actions, n_files)
        (folder / "written").touch()
    found = {}
    for way in ("fit_log", *options.workers):
        outcome = folder / f"{options.learner}-{way}.json"
        if not outcome.exists():
            command = [sys.executable, __file__, "--learner", options.learner, "--way", way, "--folder", str(folder)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            outcome.write_text(done.stdout.splitlines()[-1])
        found[way] = json.loads(outcome.read_text())
        print(way, {name: value for name, value in found[way].items() if name != "digest"}, flush=True)
    alone = found["fit_log"]
    return {
        "rows": options.rows,
        "features": options.features,
        "actions": options.actions,
        "same_file": len({each["digest"] for each in found.values()}) == 1,
        "runs": {
            way: {
                **each,
                "ratio": each["seconds"] / alone["seconds"],
                "processor_ratio": each["processor"] / alone["processor"],
            }
            for way, each in found.items()
        },
        **({"costs": costs_of(found[options.workers[0]], options.rows)} if options.learner == "tree" else {}),
    }


if __name__ == "__main__":
    main()
