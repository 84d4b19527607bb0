"""How much memory a fit takes above X, in a process of its own: the most that was resident, less what was before.

Goals: the native learner at most 0.4 of X (float32); the generic loop at most 30 bytes a row and the block of one
contest (its rows of X, their numbers, labels and weights), here with a learner that holds nothing. Linux only.

    python benchmarks/memory.py [--rows 1000000] [--features 50] [--actions 8 64 1024 16384] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _problems import make_problem, write_figures
from training_overhead import Coin

from offsettree import OffsetTree
from offsettree.learners import HistogramTree

LEARNERS = {"native": HistogramTree(max_depth=6), "generic loop": Coin()}


def resident(field: str) -> int:
    """Return the bytes now resident (VmRSS), or the most that have been (VmHWM)."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status must have {field}; this benchmark needs Linux.")


def measure(folder: Path, learner: str, n_actions: int) -> dict[str, float]:
    """Fit one policy here, and tell what it took."""
    X, action, reward = (np.load(folder / f"{name}.npy") for name in ("X", "action", "reward"))
    policy = OffsetTree(LEARNERS[learner], actions=range(n_actions), random_state=0)
    warnings.simplefilter("ignore")  # some of many actions are never logged
    small = slice(0, 5000)
    policy.fit(X[small], action[small], reward=reward[small], propensity=1 / n_actions)  # loads and compiles
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the highest so far
    before = resident("VmRSS")
    policy.fit(X, action, reward=reward, propensity=1 / n_actions)
    peak = resident("VmHWM") - before
    n_largest = int(policy.node_rows_.max())
    rows_of_X = 0 if n_largest == len(X) else n_largest * X.shape[1] * X.itemsize
    return {
        "peak_bytes": peak,
        "peak_over_X": peak / X.nbytes,
        "bytes_per_row_beside_block": (peak - rows_of_X - 24 * n_largest) / len(X),
    }


def main() -> None:
    """Print one line per learner and number of actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--actions", type=int, nargs="+", default=[8, 64, 1024, 16_384])
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, learner, n_actions = options.measure
        print(json.dumps(measure(Path(folder), learner, int(n_actions))))
        return
    print(f"Memory above X: {options.rows:,} rows, {options.features} features of float32")
    print("learner            k    peak MB  share of X  bytes a row beside one contest's block")
    records: list[dict[str, Any]] = []
    for n_actions in options.actions:
        with tempfile.TemporaryDirectory() as folder:
            problem = make_problem(options.rows, options.features, n_actions)
            for name in ("X", "action", "reward"):
                np.save(Path(folder) / f"{name}.npy", getattr(problem, name))
            for learner in LEARNERS:
                command = [sys.executable, __file__, "--measure", folder, learner, str(n_actions)]
                run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
                record = {"learner": learner, "n_actions": n_actions, **json.loads(run.stdout)}
                records.append(record)
                print(
                    f"{learner:<14}{n_actions:>6}{record['peak_bytes'] / 1e6:>11.0f}{record['peak_over_X']:>12.2f}"
                    f"{record['bytes_per_row_beside_block']:>20.1f}",
                    flush=True,
                )
    write_figures(options.json, {"rows": options.rows, "features": options.features, "figures": records})


if __name__ == "__main__":
    main()
