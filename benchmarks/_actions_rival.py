"""Vowpal Wabbit's --cb_adf and LightGBM on logs with action sets, run by an interpreter of their own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

# Without a path to other programs, so that only this interpreter's environment is used.
OPTIONS = {
    "Vowpal Wabbit, mtr -q ::": "--cb_type mtr -q ::",
    "Vowpal Wabbit, mtr -q sa": "--cb_type mtr -q sa",
    "Vowpal Wabbit, dr -q ::": "--cb_type dr -q ::",
    "Vowpal Wabbit, dr -q sa": "--cb_type dr -q sa",
}


def write_lines(catalogue: Any, path: Path, *, with_labels: bool) -> None:
    """Write decisions as ``vw --cb_adf`` reads them."""
    sets, log = catalogue.sets, catalogue.log
    items = [" ".join(f"f{place}:{value:.6g}" for place, value in enumerate(row)) for row in sets.items.tolist()]
    pair = sets.find(log.action).tolist()
    item, starts = sets.item.tolist(), sets.starts.tolist()
    with path.open("w", encoding="utf-8") as file:
        for row, context in enumerate(log.X.tolist()):
            lines = ["shared |s " + " ".join(f"f{place}:{value:.6g}" for place, value in enumerate(context))]
            for here in range(starts[row], starts[row + 1]):
                taken = with_labels and here == pair[row]
                label = f"0:{-log.reward[row]:g}:{log.propensity[row]:.8g} " if taken else ""
                lines.append(f"{label}|a {items[item[here]]}")
            file.write("\n".join(lines) + "\n\n")


def vowpal(python: Path, options: str, folder: Path, core: int, *, timed: bool) -> dict[str, Any] | None:
    """Let another interpreter learn from log.txt and decide on new.txt; None where it cannot."""
    command = [str(python), __file__, "vowpal" if timed else "vowpal, once", options, str(folder), str(core)]
    return _run(command)


def lightgbm(python: Path, folder: Path) -> dict[str, Any] | None:
    """Let another interpreter train on train.npz and predict test.npz; None where it cannot."""
    return _run([str(python), __file__, "lightgbm", "", str(folder), "-1"])


def _run(command: list[str]) -> dict[str, Any] | None:
    run = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    if run.returncode != 0:
        print(f"{command[2]} {command[3]} is left out: {run.stderr.strip().splitlines()[-1]}")
        return None
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def _vowpal_here(options: str, folder: Path, core: int, *, timed: bool) -> dict[str, Any]:
    from vowpalwabbit import Workspace

    if core >= 0:
        os.sched_setaffinity(0, {core})
    model, cache = folder / "model.vw", folder / "log.cache"

    def seconds(arguments: str) -> float:
        started = time.process_time()
        Workspace(f"--quiet {arguments}").finish()
        return time.process_time() - started

    learn = f"--cb_adf {options} -b 18 -d {folder / 'log.txt'}"
    found: dict[str, Any] = {}
    if timed:
        (folder / "nothing.txt").write_text("", encoding="utf-8")
        start = min(seconds(f"--cb_adf {options} -b 18 -d {folder / 'nothing.txt'}") for _ in range(3))
        seconds(f"{learn} --cache_file {cache} -k")
        found["cache_seconds"] = min(seconds(f"{learn} --cache_file {cache}") for _ in range(3)) - start
        cache.unlink()
        found["text_seconds"] = min(seconds(f"{learn} -f {model}") for _ in range(3)) - start
    else:
        seconds(f"{learn} -f {model}")
    Workspace(f"--quiet -t -i {model} -d {folder / 'new.txt'} -p {folder / 'chosen.txt'}").finish()
    return found


def _lightgbm_here(folder: Path) -> dict[str, Any]:
    from lightgbm import LGBMRegressor

    train, test = np.load(folder / "train.npz"), np.load(folder / "test.npz")
    started = time.process_time()
    model = LGBMRegressor(n_jobs=1, verbose=-1, random_state=0).fit(train["table"], train["reward"])
    spent = time.process_time() - started
    np.save(folder / "predicted.npy", model.predict(test["table"]))
    return {"seconds": spent}


if __name__ == "__main__":
    which, given, where, on = sys.argv[1:]
    if which == "lightgbm":
        found = _lightgbm_here(Path(where))
    else:
        found = _vowpal_here(given, Path(where), int(on), timed=which == "vowpal")
    print(json.dumps(found))
