"""One of Vowpal Wabbit's online learners on one log: run by `online.py` with the interpreter that holds it.

    python benchmarks/_rival_online.py "--cb 8 --cb_type mtr -b 18" FOLDER CORE FEW

The folder holds log.txt and new.txt, and their first few rows in log-few.txt and new-few.txt. The actions chosen for
new rows are left there in chosen.txt; figures are printed. Seconds are processor time of all threads of this process,
which is kept on one core, less the time of a start without any rows. What takes long is timed on the few rows only.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

from vowpalwabbit import Workspace

LONG = 20.0  # seconds, from which on once is enough, and a few rows have to do
REPEATS = 5


def seconds(options: str) -> float:
    """Run over the file that the options name."""
    started = time.process_time()
    Workspace(options + " --quiet").finish()
    return time.process_time() - started


def best_of(options: str, idle: float) -> float:
    """Return the least time of a few runs, of a long one only the first, less what a start takes."""
    times = [seconds(options)]
    while len(times) < REPEATS and times[0] < LONG:
        times.append(seconds(options))
    return min(times) - idle


def cached_and_text(options: str, path: Path, idle: float) -> tuple[float, float]:
    """Return rows a second from text and from the cache of it."""
    n_rows = sum(1 for _ in path.open(encoding="utf-8"))
    from_text = best_of(f"{options} -d {path}", idle)
    cache = path.with_suffix(".cache")
    seconds(f"{options} -d {path} --cache_file {cache} -k")
    from_cache = best_of(f"{options} -d {path} --cache_file {cache}", idle)
    cache.unlink()
    return n_rows / from_text, n_rows / from_cache


def choose(options: str, folder: Path) -> None:
    """Write the actions chosen for new rows, counted from 0; the option `-p` writes something else for each learner."""
    workspace = Workspace(options + " --quiet")
    with (folder / "new.txt").open(encoding="utf-8") as rows:
        chosen = [workspace.predict(row.rstrip("\n")) - 1 for row in rows]
    workspace.finish()
    (folder / "chosen.txt").write_text("\n".join(map(str, chosen)), encoding="utf-8")


def main() -> None:
    """Learn and decide, from text and from the cache."""
    learner, folder, core, n_few = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    os.sched_setaffinity(0, {core})
    model = folder / "model"
    idle = min(seconds(learner) for _ in range(3))
    started = time.process_time()
    seconds(f"{learner} -d {folder / 'log.txt'} -f {model}")
    is_long = time.process_time() - started > LONG
    which = "-few" if is_long else ""
    text, cache = cached_and_text(learner, folder / f"log{which}.txt", idle)
    decide = f"{learner} -t -i {model}"
    choose(decide, folder)
    idle = min(seconds(decide) for _ in range(3))
    new_text, new_cache = cached_and_text(decide, folder / f"new{which}.txt", idle)
    figures = {
        "text_rows_per_second": text,
        "cache_rows_per_second": cache,
        "predict_text_rows_per_second": new_text,
        "predict_cache_rows_per_second": new_cache,
        "timed_rows": n_few if is_long else None,
        "version": version("vowpalwabbit"),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
