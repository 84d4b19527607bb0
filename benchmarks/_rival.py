"""One rival on one log: run by `rivals.py` with the interpreter of an environment that holds the rivals.

    python benchmarks/_rival.py NAME FOLDER

The folder holds X, action, reward and new contexts; the actions chosen for these are written there, seconds printed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Fitted = tuple[float, Callable[[NDArray[Any]], NDArray[Any]]]  # seconds, and how to decide


def contextualbandits(X: NDArray[Any], action: NDArray[Any], reward: NDArray[Any], k: int, folder: Path) -> Fitted:
    """Fit depth-6 trees by contextualbandits' OffsetTree, which lets all rows climb."""
    if not hasattr(np, "in1d"):
        # contextualbandits 0.3.30 still calls what numpy 2.4 no longer has.
        setattr(np, "in1d", lambda values, among, **options: np.isin(np.ravel(values), among, **options))  # noqa: B010
    from contextualbandits.offpolicy import OffsetTree
    from sklearn.tree import DecisionTreeClassifier

    policy = OffsetTree(DecisionTreeClassifier(max_depth=6), nchoices=k, njobs=1)
    wide = X.astype(np.float64)
    started = time.process_time()
    policy.fit(X=wide, a=action, r=reward, p=np.full(len(X), 1 / k))
    return time.process_time() - started, lambda rows: policy.predict(rows.astype(np.float64))


def vowpal(reduction: str) -> Callable[..., Fitted]:
    """Fit linear contests by Vowpal Wabbit, in one pass over a file of text, as it is meant to be used."""

    def fit(X: NDArray[Any], action: NDArray[Any], reward: NDArray[Any], k: int, folder: Path) -> Fitted:
        from vowpalwabbit import Workspace

        path = folder / "log.txt"
        if not path.exists():
            with path.open("w", encoding="utf-8") as file:
                for x, chosen, earned in zip(X.tolist(), action.tolist(), reward.tolist(), strict=True):
                    file.write(f"{chosen + 1}:{-earned:g}:{1 / k:g} | {features(x)}\n")
        started = time.process_time()
        workspace = Workspace(f"{reduction.format(k=k)} -b 24 --quiet -d {path}")
        seconds = time.process_time() - started

        def decide(rows: NDArray[Any]) -> NDArray[Any]:
            answers = np.array([workspace.predict("| " + features(x)) for x in rows.tolist()])
            return answers.argmax(axis=1) if answers.ndim == 2 else answers - 1

        return seconds, decide

    return fit


def features(x: list[float]) -> str:
    """Write a context as Vowpal Wabbit reads it."""
    return " ".join(f"{column}:{value:.6g}" for column, value in enumerate(x))


RIVALS: dict[str, tuple[str, Callable[..., Fitted]]] = {
    "contextualbandits, depth-6 trees": ("contextualbandits", contextualbandits),
    "Vowpal Wabbit --ot": ("vowpalwabbit", vowpal("--ot {k}")),
    "Vowpal Wabbit --cb_type dr": ("vowpalwabbit", vowpal("--cb {k} --cb_type dr")),
}


def main() -> None:
    """Fit, decide, and tell how long both took."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    X, action, reward, rows, k = (np.load(folder / f"{part}.npy") for part in ("X", "action", "reward", "rows", "k"))
    package, fit = RIVALS[name]
    seconds, decide = fit(X, action, reward, int(k), folder)
    started = time.process_time()
    np.save(folder / "chosen.npy", decide(rows))
    row_seconds = (time.process_time() - started) / len(rows)
    print(json.dumps({"seconds": seconds, "row_seconds": row_seconds, "version": version(package)}))


if __name__ == "__main__":
    main()
