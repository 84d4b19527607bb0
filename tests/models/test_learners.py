"""Every learner that is flattened decides as its own `predict` does; every other is left as it is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from offsettree import ActionTree, Costing
from offsettree.learners import ConstantClassifier, HistogramTree
from offsettree.models import Tournaments
from offsettree.models.committee import CommitteeTree
from offsettree.models.graph import SplitGraph
from offsettree.models.layout import CompiledTree
from offsettree.models.linear import LinearTree
from offsettree.reading import ColumnSpace, read_contests
from tests.models.plain import compile_contests, node_by_node
from tests.strategies import nested_pairs, seeds

TREES: dict[str, Any] = {
    "tree": DecisionTreeClassifier(max_depth=4),
    "best-first tree": DecisionTreeClassifier(max_leaf_nodes=6),
    "pruned tree": DecisionTreeClassifier(ccp_alpha=0.01),
    "stump": DecisionTreeClassifier(max_depth=1),
    "extra tree": ExtraTreeClassifier(max_depth=5),
}
LINEAR: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "logistic, no intercept": LogisticRegression(fit_intercept=False),
    "logistic CV": LogisticRegressionCV(cv=2, Cs=2, scoring="accuracy", use_legacy_attributes=False, l1_ratios=(0,)),
    "linear SVC": LinearSVC(),
    "SGD": SGDClassifier(max_iter=20, tol=None),
    "ridge": RidgeClassifier(),
    "ridge CV": RidgeClassifierCV(),
    "perceptron": Perceptron(max_iter=20, tol=None),
    "discriminant": LinearDiscriminantAnalysis(),
    "scaled logistic": make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
    "scaled SVC": make_pipeline(MaxAbsScaler(), LinearSVC()),
}
COMMITTEES: dict[str, Any] = {
    "forest": RandomForestClassifier(6, max_depth=4),
    "deep forest": RandomForestClassifier(4),
    "extra trees": ExtraTreesClassifier(6),
    "bagged trees": BaggingClassifier(n_estimators=6),
    "bagged trees, some features": BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=6, max_features=0.5, max_samples=5, bootstrap_features=True
    ),
    "bagged logistic": BaggingClassifier(LogisticRegression(), n_estimators=4, max_features=0.7),
    "bagged SVC": BaggingClassifier(LinearSVC(), n_estimators=4),
    "bagged forests": BaggingClassifier(RandomForestClassifier(3, max_depth=2), n_estimators=3, max_features=0.7),
    "bagged histogram trees": BaggingClassifier(HistogramTree(max_depth=3), n_estimators=4, max_features=0.7),
    "costing, histogram trees": Costing(HistogramTree(max_depth=3), n_draws=4),
    "costing": Costing(DecisionTreeClassifier(max_depth=3), n_draws=4),
    "costing, hard": Costing(DecisionTreeClassifier(max_depth=3), n_draws=4, vote="hard"),
    "costing, logistic": Costing(LogisticRegression(), n_draws=3),
    "costing, SGD": Costing(SGDClassifier(loss="log_loss", max_iter=20, tol=None), n_draws=3),
    "costing, SVC": Costing(LinearSVC(), n_draws=4),
    "costing, forests": Costing(RandomForestClassifier(3, max_depth=3), n_draws=3),
    "costing, forests, hard": Costing(RandomForestClassifier(3, max_depth=3), n_draws=4, vote="hard"),
}
KINDS: dict[str, type[CompiledTree]] = (
    dict.fromkeys(TREES, SplitGraph) | dict.fromkeys(LINEAR, LinearTree) | dict.fromkeys(COMMITTEES, CommitteeTree)
)
TAKING_MISSING = [*TREES, "forest", "deep forest", "extra trees", "bagged trees", "costing"]


class Answer(DecisionTreeClassifier):
    """A tree that answers in its own way."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        return np.ones(len(X), dtype=int)


class Unlike(LogisticRegression):
    def decision_function(self, X: Any) -> Any:
        return -super().decision_function(X)


OTHERS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "SVC": SVC(),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=2),
    "tree of its own mind": Answer(),
    "plane of its own mind": Unlike(),
    "costing, shared": Costing(DecisionTreeClassifier(max_depth=3), n_draws=2, draw_models="shared"),
    "costing, naive Bayes": Costing(GaussianNB(), n_draws=2),
    "costing, bagged": Costing(BaggingClassifier(n_estimators=2), n_draws=2),
    "costing, Huber": Costing(SGDClassifier(loss="modified_huber", max_iter=20, tol=None), n_draws=2),
    "bagged naive Bayes": BaggingClassifier(GaussianNB(), n_estimators=2),
}


def fitted_contests(learner: Any, tree: ActionTree, random: np.random.RandomState, X: Any) -> list[Any]:
    """Every contest learns labels of its own, from half of the rows; here and there one is a constant."""
    classifiers: list[Any] = []
    for _ in range(tree.n_nodes):
        rows = np.flatnonzero(random.random_sample(X.shape[0]) < 0.5)
        noise = random.normal(size=len(rows))
        column = np.asarray(X[rows].sum(axis=1)).ravel()
        y = (np.nan_to_num(column) + noise > 0).astype(int)
        y[:4] = [0, 1, 0, 1]
        if random.randint(5) == 0:
            classifiers.append(ConstantClassifier(random.randint(2)))
        else:
            parameters = {"random_state": random.randint(1000)} if "random_state" in learner.get_params() else {}
            classifiers.append(clone(learner).set_params(**parameters).fit(X[rows], y))
    return classifiers


def grid(random: np.random.RandomState, n_rows: int = 90) -> NDArray[np.float64]:
    """Few values, so that ties are common, and shares and sums collide."""
    return random.normal(size=(n_rows, 5)).round(1)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=6)
@given(nested_pairs(7), seeds)
def test_the_decisions_are_those_of_the_classifiers(name: str, pairs: Any, seed: int) -> None:
    learner = (TREES | LINEAR | COMMITTEES)[name]
    random = np.random.RandomState(seed)
    tree = ActionTree.from_pairs(pairs)
    X = grid(random)
    classifiers = fitted_contests(learner, tree, random, X)
    compiled = compile_contests(tree, classifiers, 5)
    if all(isinstance(classifier, ConstantClassifier) for classifier in classifiers):
        assert isinstance(compiled, SplitGraph)
    assert isinstance(compiled, (KINDS[name], SplitGraph))
    X_new = np.vstack([X[:40], random.normal(size=(40, 5))])
    expected = node_by_node(tree, classifiers, X_new)
    np.testing.assert_array_equal(compiled.choose(X_new), expected)
    one_row = compiled.one_row(refused=0)
    assert [one_row(row) for row in X_new] == expected.tolist()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(compiled)).choose(np.asfortranarray(X_new)), expected)
    for form in (X_new.astype(np.float32), (X_new * 4).round().astype(np.int64)):
        np.testing.assert_array_equal(compiled.choose(form), node_by_node(tree, classifiers, form))


@pytest.mark.parametrize("name", [name for name in KINDS if name != "discriminant"])
def test_sparse_rows_too(name: str) -> None:
    random = np.random.RandomState(len(name))
    tree = ActionTree.balanced(6)
    X: Any = sp.random(120, 30, density=0.2, format="csr", random_state=random, dtype=np.float32)
    classifiers = fitted_contests((TREES | LINEAR | COMMITTEES)[name], tree, random, X)
    compiled = compile_contests(tree, classifiers, 30)
    assert isinstance(compiled, KINDS[name])
    expected = node_by_node(tree, classifiers, X)
    for form in (X, sp.csr_array(X), X.astype(np.float64)):
        np.testing.assert_array_equal(compiled.choose(form), expected)


@pytest.mark.parametrize("name", TAKING_MISSING)
def test_missing_values_go_where_they_were_taught_to(name: str) -> None:
    random = np.random.RandomState(len(name))
    tree = ActionTree.balanced(6)
    X = grid(random, 200)
    X[random.random_sample(X.shape) < 0.3] = np.nan
    classifiers = fitted_contests((TREES | COMMITTEES)[name], tree, random, X)
    compiled = compile_contests(tree, classifiers, 5)
    assert isinstance(compiled, KINDS[name])
    expected = node_by_node(tree, classifiers, X)
    np.testing.assert_array_equal(compiled.choose(X), expected)
    one_row = compiled.one_row(refused=0)
    assert [one_row(row) for row in X] == expected.tolist()


def test_boosting_is_summed_up_as_it_would_be_itself() -> None:
    random = np.random.RandomState(0)
    tree = ActionTree.balanced(5)
    X = grid(random)
    X[random.random_sample(X.shape) < 0.1] = np.nan
    classifiers = fitted_contests(HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5), tree, random, X)
    model = Tournaments([tree], read_contests(classifiers, ColumnSpace(5, None, [])), voting=False)
    expected = node_by_node(tree, classifiers, X)
    np.testing.assert_array_equal(model.choose(X), expected)
    fast, refused = model.fast(missing=True)
    one_row = fast.one_row(refused)
    assert [one_row(row) for row in X] == expected.tolist()
    assert one_row(np.array([0.0, np.inf, 0.0, 0.0, 0.0])) == -1


@pytest.mark.parametrize("name", OTHERS)
def test_what_cannot_be_flattened_is_left(name: str) -> None:
    random = np.random.RandomState(0)
    tree = ActionTree.balanced(3)
    X = grid(random)
    y = (X[:, 0] > 0).astype(int)
    classifiers = [OTHERS[name].fit(X, y), ConstantClassifier(1)]
    assert compile_contests(tree, classifiers, 5) is None


def test_trees_planes_and_forests_go_together() -> None:
    random = np.random.RandomState(0)
    tree = ActionTree.balanced(5)
    X = grid(random)
    learners = [TREES["tree"], LINEAR["logistic"], COMMITTEES["forest"], LINEAR["linear SVC"]]
    classifiers = [learner.fit(X, X[:, i] + random.normal(size=90) > 0) for i, learner in enumerate(learners)]
    compiled = compile_contests(tree, classifiers, 5)
    assert isinstance(compiled, CommitteeTree)
    np.testing.assert_array_equal(compiled.choose(X), node_by_node(tree, classifiers, X))


@pytest.mark.parametrize("learner", [TREES["tree"], COMMITTEES["forest"], COMMITTEES["bagged trees"]])
@pytest.mark.parametrize("label", [0, 1])
def test_a_classifier_that_knows_one_label_is_a_constant(learner: Any, label: int) -> None:
    X = grid(np.random.RandomState(0))
    classifier = learner.fit(X, np.full(90, label))
    compiled = compile_contests(ActionTree.balanced(2), [classifier], 5)
    assert compiled is not None
    assert set(compiled.choose(X)) == {1 - label}


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], [0, 1, 2]])
def test_other_labels_than_zero_and_one_are_left(labels: list[Any]) -> None:
    X = grid(np.random.RandomState(0))
    classifier = DecisionTreeClassifier().fit(X, np.resize(labels, 90))
    assert compile_contests(ActionTree.balanced(2), [classifier], 5) is None


def test_other_columns_than_those_expected_are_left() -> None:
    X = grid(np.random.RandomState(0))
    for learner in (DecisionTreeClassifier(), LogisticRegression()):
        assert compile_contests(ActionTree.balanced(2), [learner.fit(X, X[:, 0] > 0)], 4) is None
    assert compile_contests(ActionTree.balanced(2), [LogisticRegression().fit(X, X[:, 0] > 0).sparsify()], 5) is None


class ByHand(LogisticRegression):
    """A plane whose weights are given."""

    def given(self, weights: NDArray[np.float64], bias: float) -> Any:
        self.coef_, self.intercept_ = weights[np.newaxis], np.array([bias])
        self.classes_, self.n_features_in_ = np.array([0, 1]), len(weights)
        return self


@given(seeds, st.sampled_from([1, 3, 8, 50, 101]), st.sampled_from([np.float32, np.float64]))
def test_only_a_tie_within_rounding_may_be_broken_otherwise(seed: int, n_features: int, kind: Any) -> None:
    """Rows are moved onto the plane of one contest: there, and only there, may the decisions differ."""
    random = np.random.RandomState(seed)
    tree = ActionTree.balanced(8)
    planes = [ByHand().given(random.normal(size=n_features), random.normal()) for _ in range(7)]
    X = random.normal(size=(60, n_features))
    for row in X[:40]:
        plane = planes[random.randint(7)]
        weights = plane.coef_[0]
        row -= weights * (row @ weights + plane.intercept_[0]) / (weights @ weights)
    X = X.astype(kind)
    compiled = compile_contests(tree, planes, n_features)
    assert isinstance(compiled, LinearTree)
    chosen, expected = compiled.choose(X), node_by_node(tree, planes, X)
    size = np.array([np.abs(X) @ np.abs(plane.coef_[0]) + abs(plane.intercept_[0]) for plane in planes])
    margin = np.array([X.astype(np.float64) @ plane.coef_[0] + plane.intercept_[0] for plane in planes])
    near = (np.abs(margin) <= (n_features + 2) * np.finfo(np.float64).eps * size).any(axis=0)
    np.testing.assert_array_equal(chosen[~near], expected[~near])
    one_row = compiled.one_row(refused=0)
    assert [one_row(row) for row in X] == chosen.tolist()
    np.testing.assert_array_equal(compiled.choose(X[::-1])[::-1], chosen)


def test_a_tie_of_exactly_zero_goes_to_the_right_as_in_scikit_learn() -> None:
    plane = ByHand().given(np.array([1.0, -1.0]), 0.0)
    compiled = compile_contests(ActionTree.balanced(2), [plane], 2)
    assert compiled is not None
    X = np.array([[2.0, 2.0], [2.0, 1.0], [0.0, 0.0], [-0.0, 0.0]])
    assert compiled.choose(X).tolist() == (1 - plane.predict(X)).tolist() == [1, 0, 1, 1]
