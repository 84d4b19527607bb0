"""The learner of a contest when the caller names none."""

from __future__ import annotations

from sklearn.tree import DecisionTreeRegressor

from offsettree.learners.histogram_tree import HistogramTree

__all__ = ["default_classifier", "default_regressor", "forest_classifier"]


def default_classifier() -> HistogramTree:
    """Return an unfitted decision tree, pruned for the label noise that feedback on one action brings.

    Of the settings tried (`benchmarks/default_learner.py` prints the table) cost-complexity pruning with alpha 0.005
    has the best mean value. Less pruning is no better on noiseless labels and clearly worse on noisy rewards; more
    loses where there are many actions and a contest's signal is in few of its rows, and so do larger leaves, which
    starve contests that few rows reach. Those contests have some hundred to a thousand rows; in longer ones a leaf
    costs 5 rows and no more, or splits that are certain would be forbidden: the column "long log" shows it. The depth
    is limited only so that a contest of a million rows stays affordable.
    """
    return HistogramTree(ccp_alpha=0.005, leaf_price=5.0)


def forest_classifier() -> HistogramTree:
    """Return the learner of contests in a forest: trees that differ, with leaves as large as the noise asks for."""
    return HistogramTree(max_depth=24, random_cuts=True, leaf_scale="auto")


def default_regressor() -> DecisionTreeRegressor:
    """Return an unfitted regression tree whose leaves average enough rows to be told from noise."""
    return DecisionTreeRegressor(min_samples_leaf=5, max_depth=12)
