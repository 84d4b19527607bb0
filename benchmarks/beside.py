"""Value and time of fitting beside other libraries, on the same logs, over five seeds.

All have their own defaults and one thread; seconds are processor time of the fit, without loading or compiling. Values
are the true ones, on new rows. Each library is run by the interpreter of an environment of its own. An interrupted run
goes on where it was, by the figures in FILE.partial.

    python benchmarks/beside.py --python rivals=PATH obp=PATH econml=PATH lightgbm=PATH [--seeds 0 1 ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

from _boosting_logs import make_log
from _problems import write_figures
from accuracy import ONE_THREAD, peers
from boosting import ours
from threadpoolctl import threadpool_limits

OURS = ("RewardBoosting", "OffsetForest")
RIVALS = {
    "Vowpal Wabbit --cb_type mtr": "rivals",
    "LightGBM per action": "lightgbm",
    "Open Bandit Pipeline IPWLearner": "obp",
    "EconML DRPolicyForest": "econml",
}
LOGS = ("2,000 rows, k = 5, nonlinear, skewed", "vehicle", "vowel")


def main() -> None:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python", nargs="+", default=[], metavar="NAME=PATH", help="interpreters that hold the others"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ |= ONE_THREAD
    pythons = dict(each.split("=", 1) for each in options.python)
    missing = {name: "no interpreter was named for it" for name, home in RIVALS.items() if home not in pythons}
    partial = None if options.json is None else options.json.with_name(f"{options.json.name}.partial")
    figures = _measured(partial)
    for log in LOGS:
        for seed in options.seeds:
            if any(each["log"] == log and each["seed"] == seed for each in figures):
                continue
            figures += measure(log, seed, [name for name in RIVALS if name not in missing], pythons)
            write_figures(partial, {"seeds": options.seeds, "missing": missing, "figures": figures})
    if partial is not None and partial.exists():
        partial.replace(options.json)


def measure(log: str, seed: int, rivals: list[str], pythons: dict[str, str]) -> list[dict[str, Any]]:
    """Let all learn from one log; return a figure each."""
    task, figures = make_log(log, seed), []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = {name: ours(name, task, seed) for name in OURS}
        found |= {name: peers([name], task, pythons)[0] for name in rivals}
    for name, figure in found.items():
        figures.append({"log": log, "seed": seed, "policy": name, "n_rows": len(task.action), **figure})
        print(f"{log}, seed {seed}: {name} {figure['value']:.3f}, {figure['fit_seconds']:.2f} s", flush=True)
    return figures


def _measured(path: Path | None) -> list[dict[str, Any]]:
    """Return the figures of an interrupted run."""
    if path is None or not path.exists():
        return []
    return list(json.loads(path.read_text(encoding="utf-8"))["figures"])


if __name__ == "__main__":
    main()
