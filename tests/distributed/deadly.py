"""Learners that do harm where they are trained: workers import them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge

from offsettree.distributed import _histograms, _route, reward_boosting

__all__ = [
    "DamagesStore",
    "FailsWhile",
    "KillsAlways",
    "KillsOnce",
    "RegressorThatKillsOnce",
    "boost_without_fold",
    "die",
    "fail",
    "measure_without_parts",
    "route",
    "sum_leaves",
    "sum_level",
    "sum_no_leaves",
]

SUM_LEVEL, SUM_LEAVES = _histograms.sum_level, _histograms.sum_leaves
BOOST, ROUTE = reward_boosting.boost_without_fold, _route.route


def die_once(marker: Path) -> None:
    """End the process, with signal 9, unless a file is there, which is made."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


class KillsOnce(LogisticRegression):
    """Ends its process, with signal 9, unless a file is there, which it makes."""

    def __init__(self, marker: str = "") -> None:
        super().__init__()
        self.marker = marker

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        die_once(Path(self.marker))
        return super().fit(X, y, sample_weight)


class RegressorThatKillsOnce(Ridge):
    """Ends its process, with signal 9, unless a file is there, which it makes."""

    def __init__(self, marker: str = "") -> None:
        super().__init__()
        self.marker = marker

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        die_once(Path(self.marker))
        return super().fit(X, y, sample_weight)


class KillsAlways(LogisticRegression):
    """Ends its process, with signal 9."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class FailsWhile(LogisticRegression):
    """Fails in contests of many rows while a file is there."""

    def __init__(self, marker: str = "") -> None:
        super().__init__()
        self.marker = marker

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if len(X) > 900 and Path(self.marker).exists():
            raise RuntimeError("told to fail")
        return super().fit(X, y, sample_weight)


class DamagesStore(LogisticRegression):
    """Removes rows from the store."""

    def __init__(self, folder: str = "") -> None:
        super().__init__()
        self.folder = folder

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        for path in Path(self.folder).glob("*/standing-*"):
            path.unlink()
        return super().fit(X, y, sample_weight)


def route(store: Any, part: Any, *given: Any) -> Any:
    """Sort a file; the first to do so with the third ends its process."""
    if part.number == 2:
        die_once(Path(store.url).parent.parent / "marker")
    return ROUTE(store, part, *given)


def boost_without_fold(store: Any, *given: Any) -> Any:
    """Boost; the first to do so ends its process."""
    die_once(Path(store.url).parent.parent / "marker")
    return BOOST(store, *given)


def sum_level(store: Any, share: Any, trees: Any, growth: Any) -> Any:
    """Sum a level; the first to do so for the third tree ends its process."""
    if len(trees) == 2 and growth.level == 1:
        die_once(Path(store.url).parent.parent / "died")
    return SUM_LEVEL(store, share, trees, growth)


def sum_leaves(store: Any, share: Any, trees: Any, growth: Any) -> Any:
    """Sum the leaves of a tree; fail at the third while a file is there."""
    if len(trees) == 2 and (Path(store.url).parent.parent / "marker").exists():
        raise RuntimeError("told to fail")
    return SUM_LEAVES(store, share, trees, growth)


def sum_no_leaves(store: Any, share: Any, trees: Any, growth: Any) -> Any:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)


def measure_without_parts(store: Any, share: Any, trees: Any) -> Any:
    """Remove the rows from the store before they are read."""
    for path in Path(store.url).glob("part-*"):
        path.unlink(missing_ok=True)
    return _histograms.measure(store, share, trees)


def die() -> None:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    """Raise an error."""
    raise ValueError("told to fail")
