"""Policy files made wrong on purpose, with checksums that are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree import RewardBoosting, simulate_log
from offsettree.logs import LoggedData
from offsettree.policy_file._archive import read_archive, write_archive

Change = Callable[[dict[str, Any], dict[str, NDArray[Any]]], None]


class UnvotedBoosting(RewardBoosting):
    """Reward boosting as it is on longer logs, where no offset trees vote."""

    _with_votes = False


def small_log(n_rows: int = 400, n_actions: int = 4, seed: int = 0, missing: float = 0.0) -> LoggedData:
    """A log whose right action is told by the first two of four features."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 4))
    right = np.digitize(X[:, 0] + X[:, 1], np.linspace(-1, 1, n_actions - 1))
    X[random.random_sample(X.shape) < missing] = np.nan
    return simulate_log(X, right, random_state=seed)


def contexts(n_rows: int = 500, seed: int = 9, missing: float = 0.0) -> NDArray[np.float64]:
    """Rows that no policy has learned from."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 4))
    X[random.random_sample(X.shape) < missing] = np.nan
    return X


def some_sets(n_rows: int, n_actions: int) -> NDArray[np.bool_]:
    """Which actions there are: about half of them, at least one."""
    random = np.random.RandomState(4)
    mask = random.random_sample((n_rows, n_actions)) < 0.5
    mask[np.arange(n_rows), random.randint(n_actions, size=n_rows)] = True
    return mask


def forge(path: Path, change: Change, target: Path) -> Path:
    """Change the manifest and the arrays of a file, and write it again as `save` would."""
    archive = read_archive(path, 1 << 30)
    manifest = {name: value for name, value in archive.manifest.items() if name != "members"}
    arrays = {name: array.copy() for name, array in archive.arrays.items()}
    change(manifest, arrays)
    write_archive(target, manifest, arrays, archive.others)
    return target
