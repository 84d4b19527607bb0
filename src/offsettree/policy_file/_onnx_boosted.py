"""Boosted scores as steps of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.boosted import FLAG, MISSING
from offsettree.models.boosted_scores import BoostedScores
from offsettree.models.tree_table import TreeTable
from offsettree.policy_file._onnx_trees import ensemble
from offsettree.reading.cannot_flatten import CannotFlatten

ALL = 255
FARTHEST = np.finfo(np.float32).max


def boosted_scores(graph: Any, flat: BoostedScores) -> str:
    """Return the step that has the score of every row and action."""
    arrays = flat.arrays
    if arrays["is_category"].any():
        raise CannotFlatten("trees that ask for categories")
    parts = [_linear_part(graph, arrays)] if len(arrays["column"]) else []
    n_linear = arrays["directions"].shape[1] if len(arrays["directions"]) else len(arrays["column"])
    n_outputs = len(arrays["weights"]) - 1 - n_linear
    if len(arrays["feature"]):
        sums = graph.step("TreeEnsembleRegressor", "X", **_ensemble(arrays, n_outputs))
        parts.append(graph.cast(sums, np.float64))
        weights = arrays["weights"][1:]
    else:
        weights = arrays["weights"][1 : 1 + n_linear]
    if not parts:  # a constant: zero times x, so that there is a row for every row
        wide = graph.cast(graph.step("IsNaN", "X"), np.float64)
        parts, weights = [wide], np.zeros((len(arrays["edges"]), flat.n_actions))
    columns = parts[0] if len(parts) == 1 else graph.step("Concat", *parts, axis=1)
    total = graph.step("MatMul", columns, graph.constant(np.ascontiguousarray(weights)))
    return str(graph.step("Add", total, graph.constant(arrays["weights"][0])))


def _linear_part(graph: Any, arrays: dict[str, NDArray[Any]]) -> str:
    wide = graph.step("Gather", graph.cast("X", np.float64), graph.constant(arrays["column"].astype(np.int64)), axis=1)
    missing, centre = graph.step("IsNaN", wide), graph.constant(arrays["centre"])
    values = graph.step("Where", missing, centre, wide)
    is_flag = graph.constant(arrays["what"] == FLAG)
    values = graph.step("Where", is_flag, graph.cast(missing, np.float64), values)
    made = graph.step("Mul", graph.step("Sub", values, centre), graph.constant(arrays["scale"]))
    if len(arrays["directions"]):
        made = graph.step("MatMul", made, graph.constant(arrays["directions"]))
    return str(made)


def _ensemble(arrays: dict[str, NDArray[Any]], n_outputs: int) -> dict[str, Any]:
    """Return the trees with thresholds in the place of bins: a code of at most t is a number of at most edge t."""
    n_trees, n_tests = arrays["feature"].shape
    missing_left = (arrays["lowest"] == MISSING) | (arrays["span"] == ALL)
    last = arrays["span"].astype(np.int64) - np.where(arrays["lowest"] == MISSING, 256 - MISSING, 0)
    edges = np.concatenate([arrays["edges"], np.full((len(arrays["edges"]), 1), FARTHEST)], axis=1)
    threshold = edges[arrays["feature"], np.clip(last, 0, MISSING)]
    threshold = np.where(last < 0, -FARTHEST, np.minimum(threshold, FARTHEST))
    n_nodes = 2 * n_tests + 1
    node = np.tile(np.arange(n_nodes), n_trees)
    inner = node < n_tests

    def spread(values: NDArray[Any], leaf: Any) -> NDArray[Any]:
        out = np.full(len(node), leaf, dtype=values.dtype)
        out[inner] = values.ravel()
        return out

    trees = TreeTable(
        np.arange(n_trees + 1, dtype=np.int64) * n_nodes,
        spread(arrays["feature"], -1),
        spread(threshold.astype(np.float64), 0.0),
        np.where(inner, 2 * node + 1, -1),
        np.where(inner, 2 * node + 2, -1),
        spread(missing_left, False),
    )
    n_values = arrays["values"].shape[2]
    leaf = np.flatnonzero(~inner)
    first = np.repeat(arrays["output"], n_tests + 1)
    outputs = (first[:, np.newaxis] + np.arange(n_values)).ravel()
    return ensemble(trees, np.repeat(leaf, n_values), outputs, arrays["values"].ravel(), n_outputs)
