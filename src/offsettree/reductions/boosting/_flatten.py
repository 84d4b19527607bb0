"""The fitted policy as flat arrays: the linear steps after the trees are multiplied out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.models.boosted import FIELDS
from offsettree.models.boosted_scores import BoostedScores
from offsettree.reductions.boosting._columns import Columns
from offsettree.reductions.boosting._final_regression import VOTES, FinalModel, Stage

ALL = 255  # span of a test that sends every row left


def flatten_stages(columns: Columns, final: FinalModel) -> BoostedScores:
    """Return the fitted policy as flat arrays; without stages, constant scores."""
    if not final.stages:
        return _without_trees(columns, final.slopes[:, 0])
    begin = final.inputs.shape[1] - sum(stage.basis.shape[1] for stage in final.stages)
    weights = final.slopes[:, :begin].copy()  # of 1 and x
    of_directions = []
    of_trees = [stage for stage in final.stages if stage.models]
    for stage in of_trees:
        slopes = final.slopes[:, begin : begin + stage.basis.shape[1]] / stage.scale
        weights[:, 0] -= slopes @ (stage.centre @ stage.basis)
        of_directions.append(slopes)
        begin += stage.basis.shape[1]
    return _assembled(columns, np.hstack([weights, *of_directions]).T, of_trees)


def weight_of_votes(final: FinalModel) -> float:
    """Return how much the share of all votes adds to a score."""
    if not final.stages or final.stages[-1].start != VOTES:
        return 0.0
    return float(final.slopes[0, -final.slopes.shape[0]])


def _assembled(columns: Columns, weights: NDArray[np.float64], stages: list[Stage]) -> BoostedScores:
    """Join the trees of all stages; shallower trees are padded with tests that send every row left."""
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in ("feature", "lowest", "span", "values", "output")}
    n_tests = max(stage.models[0].feature.shape[1] for stage in stages)
    first = 0
    for stage in stages:
        narrow = (stage.basis / len(stage.models)).astype(np.float32)
        for model in stage.models:
            missing = ((0, 0), (0, n_tests - model.feature.shape[1]))
            parts["feature"].append(np.pad(model.feature, missing))
            parts["lowest"].append(np.pad(model.lowest, missing))
            parts["span"].append(np.pad(model.span, missing, constant_values=ALL))
            values = model.projected(narrow)
            parts["values"].append(np.repeat(values, (n_tests + 1) // values.shape[1], axis=1))
            parts["output"].append(np.full(len(model.feature), first, dtype=np.int32))
        first += stage.basis.shape[1]
    return _flat(columns, weights, {name: np.concatenate(each) for name, each in parts.items()})


def _without_trees(columns: Columns, constant: NDArray[np.float64]) -> BoostedScores:
    none = {name: getattr(columns, name)[:0] for name in ("source", "what", "centre", "scale")}
    nothing = columns._replace(**none, directions=np.empty((0, 0)))
    trees: dict[str, NDArray[Any]] = {name: np.zeros((0, 1)) for name in ("feature", "lowest", "span")}
    trees |= {"values": np.zeros((0, 2, 0)), "output": np.zeros(0)}
    return _flat(nothing, constant[np.newaxis], trees)


def _flat(columns: Columns, weights: NDArray[np.float64], trees: dict[str, NDArray[Any]]) -> BoostedScores:
    arrays = {
        "edges": columns.bins.edges,
        "is_category": columns.bins.is_category,
        **trees,
        **dict(zip(("column", "what", "centre", "scale", "directions"), columns[1:], strict=True)),
        "weights": weights,
    }
    return BoostedScores({name: np.ascontiguousarray(arrays[name], dtype=dtype) for name, dtype in FIELDS.items()})
