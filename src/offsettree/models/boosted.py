"""The arrays of boosted trees that all actions share, and of what is linear in x."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._lazy import names_on_demand

__all__ = ["FIELDS", "FLAG", "LINEAR_FIELDS", "MISSING", "TREE_FIELDS", "VALUE"]

# What is made of a column for linear models: its value, or whether it is missing; or, from 0 on, whether it is the
# category of that code. The last code is that of what is missing.
VALUE, FLAG = -2, -1
MISSING = 63

TREE_FIELDS: dict[str, Any] = {
    "edges": np.float32,
    "is_category": np.bool_,
    "feature": np.int32,
    "lowest": np.uint8,
    "span": np.uint8,
    "values": np.float32,
    "output": np.int32,
}
LINEAR_FIELDS: dict[str, Any] = {
    "column": np.int32,
    "what": np.int32,
    "centre": np.float64,
    "scale": np.float64,
    "directions": np.float64,
    "weights": np.float64,
}
FIELDS = TREE_FIELDS | LINEAR_FIELDS

# Where pickles of policies from before it had a file of its own look for it.
__getattr__ = names_on_demand("offsettree.models", {"boosted_scores": ("BoostedScores",)})
