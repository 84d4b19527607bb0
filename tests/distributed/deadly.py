"""Learners that do harm where they are trained: workers import them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression

__all__ = ["DamagesStore", "FailsWhile", "KillsAlways", "KillsOnce", "die", "fail"]


class KillsOnce(LogisticRegression):
    """Ends its process, with signal 9, unless a file is there, which it makes."""

    def __init__(self, marker: str = "") -> None:
        super().__init__()
        self.marker = marker

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
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


def die() -> None:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    """Raise an error."""
    raise ValueError("told to fail")
