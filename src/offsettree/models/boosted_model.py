"""Boosted trees that all actions share, in a policy file: the same flat arrays by which the live policy decides."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.boosted import FIELDS, FLAG, MISSING, VALUE
from offsettree.models.boosted_scores import BoostedScores
from offsettree.models.layout import CompiledTree
from offsettree.models.model import Model
from offsettree.models.part import Contents, Part, must_hold

__all__ = ["Boosted"]

N_EDGES = MISSING
DEEPEST = 7


class Boosted(Model):
    """The action of the largest score; of equals the first."""

    kind = "boosted"

    def __init__(self, scores: BoostedScores) -> None:
        self.flat = scores
        self.n_actions = scores.n_actions

    def contents(self) -> Contents:
        n_trees, n_tests = self.flat.arrays["feature"].shape
        return Contents({"trees": n_trees, "depth": int(n_tests + 1).bit_length() - 1}, self.flat.arrays)

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        n_trees = part.integer("trees", 0, 1 << 31)
        n_tests = 2 ** part.integer("depth", 1, DEEPEST) - 1
        tests = n_trees, n_tests
        arrays = {
            "edges": part.array("edges", np.float32, n_columns, N_EDGES),
            "is_category": part.array("is_category", np.bool_, n_columns),
            "feature": part.positions("feature", np.int32, n_columns, *tests),
            "lowest": part.array("lowest", np.uint8, *tests),
            "span": part.array("span", np.uint8, *tests),
            "values": part.finite("values", np.float32, n_trees, n_tests + 1, None),
            "column": part.positions("column", np.int32, n_columns, None),
            "directions": part.finite("directions", np.float64, None, None),
            "weights": part.finite("weights", np.float64, None, n_actions),
        }
        n_made, directions = len(arrays["column"]), arrays["directions"]
        for name in ("centre", "scale"):
            arrays[name] = part.finite(name, np.float64, n_made)
        arrays["what"] = part.array("what", np.int32, n_made)
        must_hold(
            (arrays["what"] >= VALUE) & (arrays["what"] < MISSING) & (VALUE < FLAG),
            f"{part.where}.what.npy",
            f"numbers from {VALUE} to {MISSING - 1}",
        )
        must_hold(
            directions.shape == (0, 0) or len(directions) == n_made > 0,
            f"{part.where}.directions.npy",
            f"nothing, or {n_made} rows",
        )
        n_linear = directions.shape[1] if len(directions) else n_made
        n_outputs = len(arrays["weights"]) - 1 - n_linear
        must_hold(n_outputs >= 0, f"{part.where}.weights.npy", f"at least {1 + n_linear} rows")
        n_last = n_outputs - arrays["values"].shape[2]
        must_hold(n_trees == 0 or n_last >= 0, f"{part.where}.values.npy", f"at most {n_outputs} numbers per leaf")
        arrays["output"] = part.positions("output", np.int32, max(n_last, 0) + 1, n_trees)
        return cls(BoostedScores({name: arrays[name] for name in FIELDS}))

    def choose(self, X: Any) -> NDArray[np.intp]:
        return self.flat.choose(X)

    def rank(self, X: Any, n: int, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        return self.flat.rank(X, n, mask)

    def _compile(self) -> CompiledTree:
        return self.flat
