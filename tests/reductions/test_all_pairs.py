from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from offsettree import AllPairs, Costing

X, y = load_iris(return_X_y=True)


def test_it_is_the_tournament_read_plainly() -> None:
    """One classifier for each pair, trained on the rows of the two; the class with the most wins, lowest of ties."""
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    weight = np.random.RandomState(0).random_sample(len(y))
    model = AllPairs(DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, names, sample_weight=weight)
    wins = np.zeros((len(X), 3))
    for first, second in combinations(range(3), 2):
        rows = (y == first) | (y == second)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(X[rows], (y[rows] == first).astype(int), sample_weight=weight[rows])
        won = tree.predict(X) == 1
        wins[:, first] += won
        wins[:, second] += ~won
    np.testing.assert_array_equal(model.predict(X), model.classes_[wins.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X), wins / 3)


@pytest.mark.parametrize("learner", [GaussianNB(), KNeighborsClassifier(), LinearSVC(), LogisticRegression()])
def test_any_binary_classifier_will_do(learner: Any) -> None:
    assert AllPairs(learner, random_state=0).fit(X, y).score(X, y) > 0.9


def test_weights_are_given_through_or_drawn_by_costing() -> None:
    weight = np.random.RandomState(0).random_sample(len(y))
    through = AllPairs(LogisticRegression(max_iter=500)).fit(X, y, sample_weight=weight)
    assert all(isinstance(pair, LogisticRegression) for pair in through.estimators_)
    drawn = AllPairs(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    assert all(isinstance(pair, Costing) for pair in drawn.estimators_)
    unweighted = AllPairs(KNeighborsClassifier()).fit(X, y)
    assert all(isinstance(pair, KNeighborsClassifier) for pair in unweighted.estimators_)


def test_a_weight_of_two_is_a_row_given_twice_even_for_a_learner_with_a_penalty() -> None:
    weight = 1.0 + (np.arange(len(y)) % 3 == 0)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = AllPairs(LogisticRegression(C=0.1, max_iter=2000, tol=1e-8)).fit(X, y, sample_weight=weight)
    repeated = AllPairs(LogisticRegression(C=0.1, max_iter=2000, tol=1e-8)).fit(X[rows], y[rows])
    for one, other in zip(weighted.estimators_, repeated.estimators_, strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


def test_rows_of_weight_zero_are_not_there() -> None:
    weight = (np.arange(len(y)) % 2).astype(float)
    with_zeros = AllPairs(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    without = AllPairs(Costing(KNeighborsClassifier())).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(with_zeros.predict(X), without.predict(X))


def test_the_number_of_jobs_changes_nothing() -> None:
    digits, digit = load_digits(return_X_y=True)
    one = AllPairs(DecisionTreeClassifier(max_features=5), random_state=0).fit(digits[:500], digit[:500])
    two = AllPairs(DecisionTreeClassifier(max_features=5), random_state=0, n_jobs=2).fit(digits[:500], digit[:500])
    np.testing.assert_array_equal(one.predict(digits), two.predict(digits))


def test_one_class_is_answered_always() -> None:
    model = AllPairs(LogisticRegression()).fit(X[:10], ["only"] * 10)
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))


@parametrize_with_checks(
    [
        AllPairs(DecisionTreeClassifier(random_state=0), random_state=0),
        AllPairs(LogisticRegression(), random_state=0),
        AllPairs(GaussianNB(), random_state=0),
    ],
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)
