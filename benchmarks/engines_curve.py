"""How the training of a tree, and of a forest, speeds up on two local workers, by actions and by trees.

One tree cannot occupy more than (k - 1) / log2 k workers on average, and a forest no more than it has trees: the fewer
actions or trees, the less two workers gain. Sorting the files is not timed, only what follows: statistics and
contests. The workers are started, and have trained a short log, before the clock runs; every time is the least of some
repetitions. The policy files of one and of two workers must be the same.

    python benchmarks/engines_curve.py [--rows 2000000] [--features 20] [--repeats 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

from engines import digest_of, write_log

from offsettree.distributed import DistributedOffsetForest, DistributedOffsetTree
from offsettree.engines import LocalEngine

ACTIONS = [2, 4, 8, 16, 64, 256]
TREES = [1, 2, 3, 4, 8]
FOREST_ACTIONS = 64


class TimedTree(DistributedOffsetTree):
    """Notes the seconds after the files are sorted."""

    def _train(self, *given: Any) -> None:
        started = time.perf_counter()
        super()._train(*given)
        self.seconds_ = time.perf_counter() - started


class TimedForest(DistributedOffsetForest):
    """Notes the seconds after the files are sorted."""

    def _train(self, *given: Any) -> None:
        started = time.perf_counter()
        super()._train(*given)
        self.seconds_ = time.perf_counter() - started


def speed_up(cls: Any, settings: dict[str, Any], folder: Path, repeats: int) -> dict[str, Any]:
    """Fit on one and on two workers; return the seconds of each, and whether the files are the same."""
    seconds, digests = [], set()
    for n_workers in (1, 2):
        engine = LocalEngine(n_workers)
        given = {"random_state": 0, "client": engine, "storage": folder / "store", **settings}
        cls(**given).fit(folder / "short")
        fitted = [cls(**given).fit(folder / "long") for _ in range(repeats)]
        engine.close()
        seconds.append(min(each.seconds_ for each in fitted))
        digests |= {digest_of(each.to_local()) for each in fitted}
    return {"seconds": seconds, "speed_up": seconds[0] / seconds[1], "same_file": len(digests) == 1}


def main() -> None:
    """Print and write all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {"rows": options.rows, "features": options.features, "forest_actions": FOREST_ACTIONS}
    for kind, sizes in (("tree", ACTIONS), ("forest", TREES)):
        figures[kind] = {}
        for size in sizes:
            n_actions = size if kind == "tree" else FOREST_ACTIONS
            with tempfile.TemporaryDirectory() as name:
                for place, n_rows, n_files in (("long", options.rows, 8), ("short", 20_000, 2)):
                    (Path(name) / place).mkdir()
                    write_log(Path(name) / place, n_rows, options.features, n_actions, n_files)
                cls, settings = (TimedTree, {}) if kind == "tree" else (TimedForest, {"n_trees": size})
                found = speed_up(cls, settings, Path(name), options.repeats)
            found["bound"] = (size - 1) / math.log2(size) if kind == "tree" else float(size)
            figures[kind][str(size)] = found
            print(kind, size, found, flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
