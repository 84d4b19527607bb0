"""The learner of a contest when the caller names none."""

from __future__ import annotations

from sklearn.tree import DecisionTreeClassifier

__all__ = ["default_classifier"]


def default_classifier() -> DecisionTreeClassifier:
    """Return a fresh decision tree, regularised for the label noise that one-sided feedback brings."""
    return DecisionTreeClassifier(min_samples_leaf=5, max_depth=8)
