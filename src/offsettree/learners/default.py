"""The learner of a contest when the caller names none."""

from __future__ import annotations

from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["default_classifier", "default_regressor"]


def default_classifier() -> DecisionTreeClassifier:
    """Return an unfitted decision tree, pruned for the label noise that feedback on one action brings.

    Of the settings tried (`benchmarks/default_learner.py` prints the table) cost-complexity pruning with alpha 0.003
    is as good as an unpruned tree on noiseless labels and clearly better on noisy rewards. Stronger pruning gains
    a little more on noise, but loses where there are many actions and a contest's signal is in few of its rows;
    a limit on leaf size starves contests that few rows reach. The depth is limited only so that a contest of
    a million rows stays affordable.
    """
    return DecisionTreeClassifier(ccp_alpha=0.003, max_depth=12)


def default_regressor() -> DecisionTreeRegressor:
    """Return an unfitted regression tree whose leaves average enough rows to be told from noise."""
    return DecisionTreeRegressor(min_samples_leaf=5, max_depth=12)
