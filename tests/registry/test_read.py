"""What a registered learner may say that it is made of: a learner that we know, linear functions, or trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from offsettree import ImportanceWeighted, OffsetTree, RewardRegression, load, register_learner, save
from offsettree.reading import TreeList, TreesPiece, read_tree
from tests.suites.policies import make_log
from tests.toys import toys, undone


class Regressor(RegressorMixin, BaseEstimator):
    """Answers as the tree within."""

    def fit(self, X: Any, y: Any) -> Any:
        self.tree_within_ = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.tree_within_.predict(X)


class Classifier(ClassifierMixin, BaseEstimator):
    """Answers as the trees within do, of the second class by the sign of a regression."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.unique(y)
        second = y == self.classes_[-1]
        self.known_ = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y, sample_weight)
        self.sign_ = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, 2.0 * second - 1, sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        return self.known_.predict(X)


class BySign(Classifier):
    def predict(self, X: Any) -> Any:
        return self.classes_[(self.sign_.predict(X) > 0).astype(int)]


def as_trees(tree: Any, *, narrow: bool) -> TreesPiece:
    trees = TreeList()
    read_tree(tree.tree_, trees)
    return TreesPiece(trees, np.zeros(1), 1.0, narrow)


CASES: dict[str, tuple[Any, Any, Any, bool]] = {
    "a regressor that we know": (Regressor, RewardRegression, lambda fitted: fitted.tree_within_, True),
    "trees of numbers": (Regressor, RewardRegression, lambda each: as_trees(each.tree_within_, narrow=True), True),
    "a classifier that we know": (Classifier, OffsetTree, lambda fitted: fitted.known_, True),
    "trees of one number": (BySign, OffsetTree, lambda fitted: as_trees(fitted.sign_, narrow=False), True),
    "contests of narrow trees": (BySign, OffsetTree, lambda fitted: as_trees(fitted.sign_, narrow=True), False),
    "many classes": (Classifier, ImportanceWeighted, lambda fitted: fitted.known_, True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_policy_decides_by_what_its_learner_is_made_of(case: str, tmp_path: Path) -> None:
    learner, reduction, read, is_flat = CASES[case]
    log = make_log(OffsetTree(), n_rows=400)
    X = log.X.astype(np.float32).astype(np.float64)
    policy = reduction(learner(), **({"all_pairs": False, "n_draws": None} if case == "many classes" else {}))
    policy.fit(X, log.action, reward=log.reward, propensity=log.propensity)
    asked = policy.actions_[policy._ask(X)]
    assert policy.compiled_ is None  # nobody has said how it is read
    with undone():
        register_learner("toy", "classifier" if issubclass(learner, Classifier) else "regressor", read=read)(learner)
        policy._prepare_anew()
        assert (policy.compiled_ is not None) == is_flat
        np.testing.assert_array_equal(policy.predict(X), asked)
        if is_flat:
            save(policy, tmp_path / "policy.ot")
    if is_flat:
        np.testing.assert_array_equal(load(tmp_path / "policy.ot").predict(X), asked)


@pytest.mark.usefixtures("outside")
def test_steps_before_a_registered_learner_are_folded_into_it() -> None:
    log = make_log(OffsetTree())
    for policy in (
        RewardRegression(make_pipeline(StandardScaler(), toys.ToyLinearRegressor())),
        OffsetTree(make_pipeline(StandardScaler(), toys.ToyLinearClassifier()), offset=0.4, random_state=0),
    ):
        policy.fit(**log.arrays())
        assert policy.compiled_ is not None
        np.testing.assert_array_equal(policy.predict(log.X), policy.actions_[policy._ask(log.X)])
