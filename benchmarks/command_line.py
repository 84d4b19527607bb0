"""``offsettree learn`` on a CSV file, beside the time that pandas needs just to read it.

1,000,000 rows of 30 columns, 20 actions: 24 columns of numbers, 6 of words, some values missing. Each command is a
process of its own, started as a user would. Seconds by the clock, the rival in the same run.

    python benchmarks/command_line.py [--rows 1000000] [--learners offset-tree online auto] [--json FILE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _problems import write_figures

N_NUMBERS, N_WORDS, N_ACTIONS = 24, 6, 20
READ = "import sys, pandas; pandas.read_csv(sys.argv[1])"


def write_log(path: Path, n_rows: int, seed: int = 0) -> None:
    """Write a log whose best action depends on numbers and words."""
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(n_rows, N_NUMBERS)).round(4)
    words = random.integers(0, 12, size=(n_rows, N_WORDS))
    weights = random.normal(size=(N_NUMBERS, N_ACTIONS)) / 4
    effects = random.normal(size=(N_WORDS, 12, N_ACTIONS)) / 3
    score = numbers @ weights + sum(effects[i][words[:, i]] for i in range(N_WORDS))
    action = random.integers(0, N_ACTIONS, n_rows)
    earned = 1 / (1 + np.exp(-score[np.arange(n_rows), action])) > random.random(n_rows)
    numbers[random.random(numbers.shape) < 0.01] = np.nan
    names = np.array([f"w{i}" for i in range(12)])
    columns: dict[str, Any] = {f"x{i}": numbers[:, i] for i in range(N_NUMBERS)}
    columns |= {f"word{i}": names[words[:, i]] for i in range(N_WORDS)}
    log = {
        "action": np.char.add("offer-", action.astype(str)),
        "reward": earned.astype(int),
        "propensity": 1 / N_ACTIONS,
    }
    pd.DataFrame(columns | log).to_csv(path, index=False)


def timed(command: list[str], folder: Path) -> tuple[float, str]:
    """Run a process; return its seconds and what it printed."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603
    return time.perf_counter() - started, done.stdout


def main() -> None:
    """Print one line per command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--learners", nargs="+", default=["offset-tree", "online", "auto"])
    parser.add_argument("--time-budget", type=float, default=30.0, help="seconds for auto")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    offsettree = [sys.executable, "-m", "offsettree"]
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder / "log.csv", options.rows)
        seconds = min(timed([sys.executable, "-c", READ, "log.csv"], folder)[0] for _ in range(2))
        records.append({"command": "pandas.read_csv", "seconds": seconds})
        for learner in options.learners:
            budget = ["--time-budget", str(options.time_budget)] if learner == "auto" else []
            learn = [*offsettree, "learn", "log.csv", "--learner", learner, "-o", f"{learner}.ot", *budget]
            seconds, printed = timed(learn, folder)
            text = " ".join(printed.split())
            verdict = text[text.index("The learned policy earns") : text.index("; gain")]
            records.append({"command": f"learn --learner {learner}", "seconds": seconds, "verdict": verdict})
        decide = [*offsettree, "decide", f"{options.learners[0]}.ot", "log.csv", "-o", "decisions.parquet"]
        records.append({"command": "decide", "seconds": timed(decide, folder)[0]})
        inspect = [*offsettree, "inspect", "log.csv"]
        records.append({"command": "inspect", "seconds": timed(inspect, folder)[0]})
    asked = min(timed([*offsettree, "--help"], Path())[0] for _ in range(5))
    read = records[0]["seconds"]
    for record in records:
        record |= {"rows_per_second": options.rows / record["seconds"], "times_reading": record["seconds"] / read}
        print(
            f"{record['command']:30} {record['seconds']:8.1f} s  {record['rows_per_second']:12,.0f} rows/s  "
            f"{record['times_reading']:6.1f} times reading by pandas  {record.get('verdict', '')}"
        )
    print(f"{'--help':30} {asked:8.2f} s")
    if options.json:
        write_figures(
            options.json,
            {"rows": options.rows, "time_budget": options.time_budget, "help_seconds": asked, "records": records},
        )


if __name__ == "__main__":
    main()
