"""Scikit-learn's fitted objects as models: the only place that looks inside them."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.reading.cannot_flatten import CannotFlatten, name_of
    from offsettree.reading.columns import ColumnSpace
    from offsettree.reading.contests import read_contests
    from offsettree.reading.flat import Flat, flatten, inputs_of
    from offsettree.reading.pieces import LinearPiece, TreesPiece
    from offsettree.reading.pipelines import steps_before
    from offsettree.reading.scores import join_pieces, read_classes, read_regressor
    from offsettree.reading.trees import TreeList, read_tree

__all__ = [
    "CannotFlatten",
    "ColumnSpace",
    "Flat",
    "LinearPiece",
    "TreeList",
    "TreesPiece",
    "flatten",
    "inputs_of",
    "join_pieces",
    "name_of",
    "read_classes",
    "read_contests",
    "read_regressor",
    "read_tree",
    "steps_before",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "cannot_flatten": ("CannotFlatten", "name_of"),
        "columns": ("ColumnSpace",),
        "contests": ("read_contests",),
        "flat": ("Flat", "flatten", "inputs_of"),
        "pieces": ("LinearPiece", "TreesPiece"),
        "pipelines": ("steps_before",),
        "scores": ("join_pieces", "read_classes", "read_regressor"),
        "trees": ("TreeList", "read_tree"),
    },
)
