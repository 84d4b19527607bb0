"""The learner of a contest when the caller names none."""

from __future__ import annotations

from sklearn.tree import DecisionTreeRegressor

from offsettree.learners.histogram_tree import HistogramTree

__all__ = ["default_classifier", "default_regressor"]


def default_classifier() -> HistogramTree:
    """Return an unfitted decision tree, pruned for the label noise that feedback on one action brings."""
    return HistogramTree(ccp_alpha=0.003)


def default_regressor() -> DecisionTreeRegressor:
    """Return an unfitted regression tree whose leaves average enough rows to be told from noise."""
    return DecisionTreeRegressor(min_samples_leaf=5, max_depth=12)
