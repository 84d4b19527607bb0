"""How many workers gain on the contests of one tree, and on those of a forest: measured tasks, scheduled.

Every task is really run, on one local worker, and the processor seconds of each are noted; they hardly depend on what
else the machine does. The schedule is then that of `tools/simulate_schedule.py`: the real task graph on so many
workers, each of which takes the next task that is ready. Sorting the files, a task each, is left out, and no driver is
waited for. Bounds are (k - 1) / log2 k for a tree over k actions, and the number of trees for a forest.

    PYTHONPATH=. python benchmarks/engines_curve.py [--rows 1000000] [--features 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

from engines import write_log

from offsettree.distributed import DistributedOffsetForest, DistributedOffsetTree
from offsettree.distributed._graph import Runner, Task
from offsettree.engines import LocalEngine
from tools.simulate_schedule import Costs, simulate

ACTIONS = [2, 4, 16, 64, 256]
TREES, FOREST_ACTIONS = [2, 8], 64
WORKERS = [1, 2, 4, 8, 16, 32]
FREE = Costs(route=0.0, subtree=0.0, join=0.0, task=0.0, driver=0.0, climbs=0.0)
TRAINING = ("train_subtree", "train_join", "train_tree")


class OneAsMany(LocalEngine):
    """One process for which tasks are cut as for as many workers as are looked at."""

    @property
    def n_workers(self) -> int:
        """As many as the graph is made for."""
        return max(WORKERS)


def measured(cls: Any, settings: dict[str, Any], folder: Path) -> tuple[list[Task], dict[str, float]]:
    """Fit; return the tasks that trained contests, and the processor seconds of each."""
    found: list[tuple[list[Task], dict[str, float]]] = []
    run: Any = Runner.run

    def noting(runner: Runner, tasks: Any) -> Any:
        given = list(tasks)
        results = run(runner, given)
        if given and given[0].function.__name__ in TRAINING:
            found.append((given, {task.key: runner.task_seconds[task.key] for task in given}))
        return results

    engine = OneAsMany(1)
    try:
        setattr(Runner, "run", noting)  # noqa: B010 - for the time of this fit
        for name in ("short", "long"):  # the first has the worker compile
            cls(random_state=0, client=engine, storage=folder / "store", **settings).fit(folder / name)
    finally:
        setattr(Runner, "run", run)  # noqa: B010
        engine.close()
    return found[-1]


def main() -> None:
    """Print and write all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {"rows": options.rows, "features": options.features, "forest_actions": FOREST_ACTIONS}
    for kind, sizes in (("tree", ACTIONS), ("forest", TREES)):
        figures[kind] = {}
        for size in sizes:
            with tempfile.TemporaryDirectory() as name:
                for place, n_rows, n_files in (("long", options.rows, 4), ("short", 20_000, 2)):
                    (Path(name) / place).mkdir()
                    n_actions = size if kind == "tree" else FOREST_ACTIONS
                    write_log(Path(name) / place, n_rows, options.features, n_actions, n_files)
                cls, settings = (
                    (DistributedOffsetTree, {}) if kind == "tree" else (DistributedOffsetForest, {"n_trees": size})
                )
                tasks, seconds = measured(cls, settings, Path(name))
            ends = {n: simulate(tasks, seconds, n, FREE)[0] for n in WORKERS}
            figures[kind][str(size)] = {
                "bound": (size - 1) / math.log2(size) if kind == "tree" else float(size),
                "seconds": sum(seconds.values()),
                "tasks": len(tasks),
                "speed_up": {str(n): ends[1] / end for n, end in ends.items()},
            }
            print(kind, size, figures[kind][str(size)], flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
