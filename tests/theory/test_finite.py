from __future__ import annotations

import numpy as np
import pytest

from offsettree import BinaryOffset, OffsetTree
from offsettree import theory as th
from offsettree.exceptions import ParameterError


def test_values_and_regrets_of_a_problem_solved_by_hand() -> None:
    problem = th.FiniteProblem([0.25, 0.25, 0.5], [0, 0, 1], [[1.0, 0.2], [0.0, 0.2], [0.4, 0.9]])
    np.testing.assert_allclose(problem.mean_rewards, [[0.5, 0.2], [0.4, 0.9]])
    assert th.policy_value(problem, [0, 1]) == pytest.approx(0.7)
    assert th.policy_regret(problem, [1, 1]) == pytest.approx(0.15)
    assert th.policy_value(problem, [[0.5, 0.5], [0.0, 1.0]]) == pytest.approx(0.625)


def test_a_sampled_log_has_the_problems_frequencies_and_propensities() -> None:
    problem = th.FiniteProblem.random(3, 4, random_state=0)
    logging = np.random.RandomState(1).dirichlet(np.ones(4), size=3) * 0.6 + 0.1
    log = problem.sample(40_000, logging, random_state=2)
    context = log.X.argmax(axis=1)
    np.testing.assert_allclose(np.bincount(context) / len(log), problem.context_probability, atol=0.01)
    np.testing.assert_allclose(log.propensity, logging[context, log.action])
    weighted = np.bincount(context, weights=(log.action == 2) * log.reward / log.propensity) / np.bincount(context)
    np.testing.assert_allclose(weighted, problem.mean_rewards[:, 2], atol=0.1)


def test_the_learned_tree_keeps_the_bound_on_the_problem_it_was_sampled_from() -> None:
    """Theorem 4.1 is about all classifiers, the learned ones among them."""
    problem = th.FiniteProblem.random(5, 6, random_state=0)
    policy = OffsetTree(random_state=0).fit(**problem.sample(500, random_state=1).arrays())
    contexts = np.eye(5)
    classifier = np.array([node.predict(contexts) == 1 for node in policy.estimators_])
    chosen = policy.predict(contexts)
    np.testing.assert_array_equal(chosen, th.offset_tree_policy(policy.tree_, classifier))
    binary = th.binary_regret(th.offset_tree_problem(problem, policy.tree_, classifier), classifier)
    assert th.policy_regret(problem, chosen) <= th.offset_tree_bound(binary, 6) + 1e-12


def test_with_rows_enough_the_learned_policies_have_no_regret() -> None:
    problem = th.FiniteProblem.random(4, 5, random_state=3)
    chosen = OffsetTree(random_state=0).fit(**problem.sample(200_000, random_state=4).arrays()).predict(np.eye(4))
    assert th.policy_regret(problem, chosen) == pytest.approx(0, abs=1e-12)
    two = th.FiniteProblem.random(4, 2, random_state=5)
    chosen = BinaryOffset(random_state=0).fit(**two.sample(50_000, random_state=6).arrays()).predict(np.eye(4))
    assert th.policy_regret(two, chosen) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: th.FiniteProblem([0.5, 0.4], [0, 1], [[0, 1], [1, 0]]), "sum to 1"),
        (lambda: th.FiniteProblem([0.5, 0.5], [0, 2], [[0, 1], [1, 0]]), "without a gap"),
        (lambda: th.FiniteProblem([0.5, 0.5], [0, 1], [[0, 2], [1, 0]]), r"in \[0, 1\]"),
        (lambda: th.FiniteProblem([1.0], [0, 1], [[0, 1]]), "one entry per outcome"),
        (lambda: th.policy_value(th.lower_bound_problem(3), [0, 1]), "one action, or 3 probabilities"),
        (lambda: th.lower_bound_problem(3).sample(5, np.ones((3, 2)) / 2), "positive probabilities"),
        (lambda: th.importance_weighted_problem(th.lower_bound_problem(3)).error([[True]]), "one answer per question"),
        (lambda: th.tight_binary_offset(1.5), "regret must be"),
        (lambda: th.tight_zero_offset(0), "gap must be"),
        (lambda: th.tight_regression(1, 0.5), "at least 2"),
        (lambda: th.tight_importance_weighting(3, 0.9), "gap must be"),
        (lambda: th.sample_complexity_bound(0, 1, 0.1), "at least 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()  # type: ignore[operator]
