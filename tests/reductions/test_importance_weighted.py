from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from offsettree import AllPairs, Costing, ImportanceWeighted, simulate_log
from offsettree import theory as th
from offsettree.exceptions import ParameterError

digits, digit = load_digits(return_X_y=True)


def test_it_is_all_pairs_on_the_draws_of_costing() -> None:
    """Algorithms 6 and 7: All-Pairs-Train(Learn, Costing(S')) with S' = {(x, a, r / p)}."""
    chances = np.random.RandomState(0).dirichlet(np.ones(10), size=len(digit)) * 0.5 + 0.05
    log = simulate_log(digits, digit, chances, random_state=0)
    policy = ImportanceWeighted(GaussianNB(), n_draws=3, random_state=0).fit(**log.arrays())
    assert isinstance(policy.classifier_, Costing)
    assert all(isinstance(draw, AllPairs) for draw in policy.classifier_.estimators_)
    weight = log.reward / log.propensity
    rows = weight > 0
    plain = Costing(AllPairs(GaussianNB()), n_draws=3, vote="hard", random_state=policy.classifier_.random_state)
    plain.fit(digits[rows], log.action[rows], sample_weight=weight[rows])
    np.testing.assert_array_equal(policy.predict(digits), plain.predict(digits))


@pytest.mark.filterwarnings("ignore:the learner failed in the pair:offsettree.exceptions.OffsetTreeWarning")
def test_without_draws_the_weights_go_through_all_pairs_to_the_learner() -> None:
    log = simulate_log(digits, digit, np.arange(1, 11) / 55, random_state=0)
    policy = ImportanceWeighted(LogisticRegression(max_iter=1000), n_draws=None).fit(**log.arrays())
    assert isinstance(policy.classifier_, AllPairs)
    assert isinstance(policy.classifier_.estimators_[0], LogisticRegression)
    kept = ImportanceWeighted(KNeighborsClassifier(), n_draws=None, random_state=0).fit(**log.arrays())
    assert any(isinstance(pair, Costing) for pair in kept.classifier_.estimators_)


def test_a_multiclass_learner_can_learn_all_actions_at_once() -> None:
    log = simulate_log(digits, digit, np.arange(1, 11) / 55, random_state=0)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    policy = ImportanceWeighted(tree, n_draws=None, all_pairs=False).fit(**log.arrays())
    weight = log.reward / log.propensity
    rows = weight > 0
    plain = DecisionTreeClassifier(max_depth=6, random_state=0)
    plain.fit(digits[rows], log.action[rows], sample_weight=weight[rows] / weight[rows].mean())
    np.testing.assert_array_equal(policy.predict(digits), plain.predict(digits))
    drawn = ImportanceWeighted(KNeighborsClassifier(), n_draws=None, all_pairs=False, random_state=0)
    assert isinstance(drawn.fit(**log.arrays()).classifier_, Costing)
    with pytest.raises(ParameterError, match="all_pairs must be True or False"):
        ImportanceWeighted(all_pairs="some").fit(**log.arrays())  # type: ignore[arg-type]


def test_with_rows_enough_it_has_no_regret() -> None:
    problem = th.FiniteProblem.random(4, 5, random_state=3)
    log = problem.sample(100_000, random_state=0)
    chosen = ImportanceWeighted(DecisionTreeClassifier(), n_draws=3, random_state=0).fit(**log.arrays())
    assert th.policy_regret(problem, chosen.predict(np.eye(4))) == pytest.approx(0, abs=1e-12)


def test_an_action_that_never_earned_is_never_chosen() -> None:
    X = np.arange(30.0)[:, np.newaxis]
    policy = ImportanceWeighted(actions=["a", "b", "c", "unseen"], random_state=0)
    policy.fit(X, ["a", "b", "c"] * 10, reward=[1, 0.5, 0] * 10, propensity=1 / 3)
    assert set(policy.predict(X)) <= {"a", "b"}
    nothing = ImportanceWeighted().fit(X, ["a", "b", "c"] * 10, reward=np.zeros(30), propensity=1 / 3)
    assert set(nothing.predict(X)) == {"a"}


@pytest.mark.parametrize("n_draws", [0, 2.5, "many"])
def test_draws_must_be_a_number(n_draws: Any) -> None:
    log = simulate_log(digits[:100], digit[:100], random_state=0)
    with pytest.raises(ParameterError, match="n_draws must be"):
        ImportanceWeighted(n_draws=n_draws).fit(**log.arrays())


def test_without_pairs_the_default_learner_takes_many_actions_at_once() -> None:
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=1)
    policy = ImportanceWeighted(all_pairs=False, random_state=0).fit(**log.arrays())
    assert (policy.predict(X) == y).mean() > 0.8
