"""How long a distributed fit takes on any number of workers: the real task graph, with measured costs.

The tasks are those that `DistributedOffsetTree` makes, dependencies included; only their functions are replaced by
times. Costs are those that `benchmarks/engines.py` measured: seconds per row for a file to be sorted, for a subtree
and for a join, and seconds per task for the driver, one after the other. A row is assumed to climb a contest with the
share that was measured, so that joins near the root are short.

    python -m tools.simulate_schedule [--rows 10000000000] [--actions 100000] [--columns 20] [--files 20000]
                                      [--workers 10 100 1000 10000] [--costs benchmarks/results/engines.json]
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from offsettree.distributed._contests import contest_tasks, train_join
from offsettree.distributed._graph import QUEUED, Task
from offsettree.distributed.store import Blob
from offsettree.reductions.parts import Plan, rows_below
from offsettree.topology import ActionTree

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results" / "engines.json"
ROW_BYTES = 20  # of a row in the store, beside 4 for every column


@dataclass(frozen=True)
class Costs:
    """Seconds: per row of each kind of task, and per task, for the worker and for the driver."""

    route: float
    subtree: float
    join: float
    task: float
    driver: float
    climbs: float  # share of the rows of a contest that climb on


def simulate(tasks: list[Task], seconds: dict[str, float], n_workers: int, costs: Costs) -> tuple[float, float]:
    """Return when the last task ends, and the share of the workers' time that is used.

    The driver hands tasks out one after the other, each of which takes it some time, and has at most twice as many
    handed out as there are workers.
    """
    n_missing = {task.key: len(task.after) for task in tasks}
    waiting: dict[str, list[Task]] = {}
    for task in tasks:
        for key in task.after:
            waiting.setdefault(key, []).append(task)
    ready = deque(task for task in tasks if not task.after)
    idle = [0.0] * n_workers  # when each worker is free
    heapq.heapify(idle)
    ends: list[tuple[float, int, Task]] = []
    driver = busy = last = 0.0
    n_begun = n_running = 0
    while ready or ends:
        while ready and n_running < QUEUED * n_workers:
            task = ready.popleft()
            driver += costs.driver
            begin = max(driver, heapq.heappop(idle))
            end = begin + costs.task + seconds[task.key]
            busy += end - begin
            heapq.heappush(idle, end)
            heapq.heappush(ends, (end, n_begun, task))
            n_begun += 1
            n_running += 1
        end, _, task = heapq.heappop(ends)
        n_running -= 1
        driver, last = max(driver, end), max(last, end)
        for follower in waiting.pop(task.key, ()):
            n_missing[follower.key] -= 1
            if not n_missing[follower.key]:
                ready.appendleft(follower)
    return last, busy / (last * n_workers)


def graph(n_rows: int, n_actions: int, n_workers: int, costs: Costs) -> tuple[list[Task], dict[str, float]]:
    """Return the tasks that train the contests, and the seconds of each."""
    tree = ActionTree.balanced(n_actions)
    counts = np.full(n_actions, n_rows // n_actions, dtype=np.int64)
    plan: Any = Plan(SimpleNamespace(tree=tree, log=SimpleNamespace(counts=counts)), np.empty(0, np.int64), None)
    below = rows_below(tree, counts)
    tasks = contest_tasks(plan, Blob("", 0), "x", n_workers)
    seconds = {}
    for task in tasks:
        _, _, kind, number = task.key.split("-")
        child = int(number) if kind == "node" else ~int(number)
        if task.function is train_join:
            height = math.log2(max(2.0, below[child] / counts[0]))
            seconds[task.key] = costs.join * below[child] * costs.climbs ** (height - 1)
        else:
            seconds[task.key] = costs.subtree * below[child]
    return tasks, seconds


def routing(n_rows: int, n_files: int, costs: Costs) -> tuple[list[Task], dict[str, float]]:
    """Return the tasks that sort the files."""
    tasks = [Task(f"route-{number}", routing, lambda _: ()) for number in range(n_files)]
    return tasks, dict.fromkeys((task.key for task in tasks), costs.route * n_rows / n_files)


def read_costs(path: Path) -> Costs:
    """Read what the benchmark measured."""
    found = json.loads(path.read_text())["costs"]
    return Costs(**found)


def table(n_rows: int, n_actions: int, n_columns: int, n_files: int, workers: list[int], costs: Costs) -> list[str]:
    """Return the lines of a table, a line per number of workers."""
    n_bytes = n_rows * (ROW_BYTES + 4 * n_columns)
    lines = [
        "| workers | sort, hours | contests, hours | all, hours | used | tasks | MB a worker and second |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n_workers in workers:
        sorting = routing(n_rows, n_files, costs)
        training = graph(n_rows, n_actions, n_workers, costs)
        (first, used), (second, used_then) = (simulate(*each, n_workers, costs) for each in (sorting, training))
        share = (used * first + used_then * second) / (first + second)
        n_tasks = len(sorting[0]) + len(training[0])
        rate = 2 * n_bytes / n_workers / (first + second)
        cells = f"{first / 3600:.2f} | {second / 3600:.2f} | {(first + second) / 3600:.2f} | {share:.0%} | {n_tasks:,}"
        lines.append(f"| {n_workers:,} | {cells} | {rate / 1e6:.1f} |")
    return lines


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000_000)
    parser.add_argument("--actions", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--costs", type=Path, default=RESULTS)
    given = parser.parse_args()
    costs = read_costs(given.costs)
    print("\n".join(table(given.rows, given.actions, given.columns, given.files, given.workers, costs)))


if __name__ == "__main__":
    main()
