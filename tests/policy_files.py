"""What is in the file of a policy, and a log whose policy is worth comparing."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from offsettree import LoggedData, save

__all__ = ["content_of", "many_actions"]


def content_of(policy: Any) -> dict[str, bytes]:
    """Return the parts of a policy's file by name; of the manifest all but the facts."""
    with tempfile.TemporaryDirectory() as folder:
        save(policy, Path(folder) / "policy.ot")
        data = (Path(folder) / "policy.ot").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts["manifest.json"])
    manifest.pop("facts", None)
    parts["manifest.json"] = json.dumps(manifest).encode()
    return parts


def many_actions(n_rows: int, n_actions: int = 7, n_columns: int = 5, seed: int = 0) -> LoggedData:
    """Return a log with labels as text, in float32, with propensities that differ and rewards that x tells of."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    chance = random.dirichlet(np.full(n_actions, 5.0))
    action = random.choice(n_actions, n_rows, p=chance)
    taste = random.normal(size=(n_actions, n_columns))
    reward = (1 / (1 + np.exp(-(X * taste[action]).sum(axis=1))) > random.random(n_rows)).astype(float)
    return LoggedData(X, np.array([f"action {place}" for place in action]), reward, chance[action])
