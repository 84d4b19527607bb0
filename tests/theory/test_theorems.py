"""The theorems, exactly, on problems with finitely many outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree import ActionTree
from offsettree import theory as th
from offsettree.reductions._ladder import Contest, Ladder, climb
from offsettree.reductions._offset import Votes
from tests.strategies import SolvedTree, finite_problems, seeds, solved_trees

EXACT = 1e-12  # rounding only: nothing here is sampled
two_actions = ActionTree.balanced(2)


@given(solved_trees())
def test_the_induced_distribution_does_not_depend_on_the_logging_policy(case: SolvedTree) -> None:
    induced = [
        th.offset_tree_problem(case.problem, case.tree, case.classifier, logging=logging).weight
        for logging in (case.logging, case.other_logging, None)
    ]
    np.testing.assert_allclose(induced[0], induced[1], atol=EXACT)
    np.testing.assert_allclose(induced[0], induced[2], atol=EXACT)


@given(solved_trees(max_actions=4))
def test_the_importance_weighted_distribution_does_not_depend_on_the_logging_policy(case: SolvedTree) -> None:
    np.testing.assert_allclose(
        th.importance_weighted_problem(case.problem, logging=case.logging).weight,
        th.importance_weighted_problem(case.problem, logging=case.other_logging).weight,
        atol=EXACT,
    )


@given(solved_trees())
def test_the_label_weights_are_those_of_the_papers_closed_form(case: SolvedTree) -> None:
    """Section 3.2: the unnormalised probability of label 1, free of p; at every node, for the two that meet there."""
    induced = th.offset_tree_problem(case.problem, case.tree, case.classifier, logging=case.logging)
    inputs = th.contest_inputs(case.tree, case.classifier)
    expected = np.zeros_like(induced.weight)
    for probability, x, r in zip(case.problem.probability, case.problem.context, case.problem.rewards, strict=True):
        for node in range(case.tree.n_nodes):
            left, right = inputs[node, x]
            expected[node, x, 1] += probability * (
                (r[left] - 0.5) * (r[left] > 0.5) + (0.5 - r[right]) * (r[right] < 0.5)
            )
            expected[node, x, 0] += probability * (
                (r[right] - 0.5) * (r[right] > 0.5) + (0.5 - r[left]) * (r[left] < 0.5)
            )
    np.testing.assert_allclose(induced.weight, expected, atol=EXACT)


@given(solved_trees(), st.floats(0, 1))
def test_costing_divides_the_weighted_loss_by_the_expected_importance(case: SolvedTree, offset: float) -> None:
    """The folk theorem of section 2, with the expected importance of the proof of Theorem 4.1."""
    induced = th.offset_tree_problem(case.problem, case.tree, case.classifier, offset=offset, logging=case.logging)
    importance = th.contest_importance(case.problem, case.tree, case.classifier, offset=offset)
    assert induced.expected_importance == pytest.approx(importance, abs=EXACT)
    assert importance * induced.error(case.classifier) == pytest.approx(
        induced.weighted_loss(case.classifier), abs=EXACT
    )


@given(finite_problems(2, 2), seeds, st.floats(0, 1))
def test_weighted_regret_equals_policy_regret_with_two_actions(
    problem: th.FiniteProblem, seed: int, offset: float
) -> None:
    classifier = np.random.RandomState(seed).random_sample((1, problem.n_contexts)) < 0.5
    induced = th.offset_tree_problem(problem, two_actions, classifier, offset=offset)
    policy = th.offset_tree_policy(two_actions, classifier)
    assert th.weighted_regret(induced, classifier) == pytest.approx(th.policy_regret(problem, policy), abs=EXACT)


@given(finite_problems(2, 2), seeds)
def test_theorem_3_1_policy_regret_is_at_most_binary_regret(problem: th.FiniteProblem, seed: int) -> None:
    classifier = np.random.RandomState(seed).random_sample((1, problem.n_contexts)) < 0.5
    regret = th.policy_regret(problem, th.offset_tree_policy(two_actions, classifier))
    for offset in (0.5, 0.0):
        binary = th.binary_regret(th.offset_tree_problem(problem, two_actions, classifier, offset=offset), classifier)
        assert regret <= th.binary_offset_bound(binary, offset=offset) + EXACT


@given(st.floats(0, 1))
def test_theorem_3_1_is_tight_for_every_value(value: float) -> None:
    problem, classifier = th.tight_binary_offset(value)
    induced = th.offset_tree_problem(problem, two_actions, classifier)
    assert th.policy_regret(problem, th.offset_tree_policy(two_actions, classifier)) == pytest.approx(value, abs=EXACT)
    assert th.binary_regret(induced, classifier) == pytest.approx(value, abs=EXACT)


@given(st.floats(1e-3, 0.5))
def test_offset_zero_loses_the_factor_two(gap: float) -> None:
    problem, classifier = th.tight_zero_offset(gap)
    regret = th.policy_regret(problem, th.offset_tree_policy(two_actions, classifier))
    ratio = {}
    for offset in (0.0, 0.5):
        induced = th.offset_tree_problem(problem, two_actions, classifier, offset=offset)
        ratio[offset] = regret / th.binary_regret(induced, classifier)
    assert ratio[0.0] == pytest.approx(2 - gap)
    assert ratio[0.5] == pytest.approx(1 - gap)


@pytest.mark.parametrize("n_actions", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("shape", ["balanced", "chain"])
def test_offset_zero_loses_the_factor_two_in_a_tree_of_any_size(n_actions: int, shape: str) -> None:
    tree = ActionTree.balanced(n_actions) if shape == "balanced" else chain(n_actions)
    problem, classifier = th.tight_zero_offset(1e-6, tree)
    regret = th.policy_regret(problem, th.offset_tree_policy(tree, classifier))
    ratio = {}
    for offset in (0.0, 0.5):
        induced = th.offset_tree_problem(problem, tree, classifier, offset=offset)
        ratio[offset] = regret / th.binary_regret(induced, classifier)
        assert regret <= th.offset_tree_bound(th.binary_regret(induced, classifier), n_actions, offset=offset) + EXACT
    assert ratio[0.5] == pytest.approx(n_actions - 1, rel=1e-4)
    assert ratio[0.0] == pytest.approx(2 * (n_actions - 1), rel=1e-4)


@given(solved_trees(), st.sampled_from([0.5, 0.0, 1.0, 0.3]))
def test_theorem_4_1_holds_in_both_forms_for_every_classifier(case: SolvedTree, offset: float) -> None:
    regret = th.policy_regret(case.problem, th.offset_tree_policy(case.tree, case.classifier))
    induced = th.offset_tree_problem(case.problem, case.tree, case.classifier, offset=offset)
    importance = th.contest_importance(case.problem, case.tree, case.classifier, offset=offset)
    binary = th.binary_regret(induced, case.classifier)
    by_nodes = th.offset_tree_bound(binary, case.tree.n_actions, importance=importance)
    assert regret <= by_nodes + EXACT
    assert by_nodes <= th.offset_tree_bound(binary, case.tree.n_actions, offset=offset) + EXACT


@given(solved_trees())
def test_the_weighted_regrets_of_a_subtree_bound_the_regret_of_its_winner(case: SolvedTree) -> None:
    """The induction in the proof of Theorem 4.1, node by node and context by context."""
    induced = th.offset_tree_problem(case.problem, case.tree, case.classifier)
    lost = induced.weighted_regret_by_question(case.classifier)
    inputs = th.contest_inputs(case.tree, case.classifier)
    mean = case.problem.mean_rewards
    total = np.zeros_like(lost)
    for node in case.tree.bottom_up():
        below = [child for child in (case.tree.left[node], case.tree.right[node]) if child >= 0]
        total[node] = lost[node] + total[below].sum(axis=0)
        leaves = np.concatenate(case.tree.actions_below(node))
        for x, chance in enumerate(case.problem.context_probability):
            winner = inputs[node, x, 0 if case.classifier[node, x] else 1]
            assert chance * (mean[x, leaves].max() - mean[x, winner]) <= total[node, x] + EXACT


@pytest.mark.parametrize("n_actions", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("shape", ["balanced", "chain"])
def test_theorem_4_1_is_tight(n_actions: int, shape: str) -> None:
    tree = ActionTree.balanced(n_actions) if shape == "balanced" else chain(n_actions)
    problem, classifier = th.tight_offset_tree(tree)
    binary = th.binary_regret(th.offset_tree_problem(problem, tree, classifier), classifier)
    regret = th.policy_regret(problem, th.offset_tree_policy(tree, classifier))
    assert regret == pytest.approx(1)
    assert regret == pytest.approx(th.offset_tree_bound(binary, n_actions))


@pytest.mark.parametrize("n_actions", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("shape", ["balanced", "chain"])
def test_the_lower_bound_instance_shows_a_factor_of_k_minus_1_for_our_reduction(n_actions: int, shape: str) -> None:
    tree = ActionTree.balanced(n_actions) if shape == "balanced" else chain(n_actions)
    problem, oracle = th.lower_bound_instance(tree)
    reduction = th.OffsetTreeReduction(tree)
    policy = [reduction.act(oracle, x) for x in range(n_actions)]
    regret = th.policy_regret(problem, policy)
    answers = reduction.classifier(oracle, n_actions)
    binary = th.binary_regret(th.offset_tree_problem(problem, tree, answers), answers)
    assert regret == pytest.approx((n_actions - 1) / n_actions)
    assert binary == pytest.approx(1 / n_actions)
    assert regret == pytest.approx((n_actions - 1) * binary)


@given(solved_trees())
def test_advice_given_one_example_at_a_time_is_the_induced_problem(case: SolvedTree) -> None:
    """Definitions 5.1 and 5.2: R, run over every outcome and action, gives Q_D; R^-1 gives the policy."""

    class Scripted:
        def __init__(self) -> None:
            self.weight = np.zeros((case.tree.n_nodes, case.problem.n_contexts, 2))
            self.chance = 0.0

        def advise(self, question: tuple[object, int], label: bool, weight: float) -> None:
            x, node = question
            self.weight[node, x, int(label)] += self.chance * weight  # type: ignore[index]

        def predict(self, question: tuple[object, int]) -> bool:
            x, node = question
            return bool(case.classifier[node, x])  # type: ignore[index]

    oracle = Scripted()
    reduction = th.OffsetTreeReduction(case.tree)
    for probability, x, rewards in zip(
        case.problem.probability, case.problem.context.tolist(), case.problem.rewards, strict=True
    ):
        for action, reward in enumerate(rewards):
            propensity = case.logging[x, action]
            oracle.chance = probability * propensity
            reduction.advise(oracle, x, action, reward, propensity)
    expected = th.offset_tree_problem(case.problem, case.tree, case.classifier)
    np.testing.assert_allclose(oracle.weight, expected.weight, atol=EXACT)
    policy = [reduction.act(oracle, x) for x in range(case.problem.n_contexts)]
    assert policy == th.offset_tree_policy(case.tree, case.classifier).tolist()


@given(solved_trees(), st.floats(0, 1))
def test_the_median_reward_given_x_minimises_the_bound(case: SolvedTree, other: float) -> None:
    best = th.best_offset(case.problem, case.tree, case.classifier)
    smallest = th.contest_importance(case.problem, case.tree, case.classifier, offset=best)
    assert smallest <= th.contest_importance(case.problem, case.tree, case.classifier, offset=other) + EXACT


@given(finite_problems(), seeds)
def test_theorem_6_1_bounds_regression_for_every_regressor(problem: th.FiniteProblem, seed: int) -> None:
    values = np.random.RandomState(seed).random_sample((problem.n_contexts, problem.n_actions))
    regret = th.policy_regret(problem, th.argmax_policy(values))
    bound = th.regression_bound(th.regression_regret(problem, values), problem.n_actions)
    assert regret <= bound + EXACT


@given(st.integers(2, 9), st.floats(0.01, 1))
def test_theorem_6_1_is_tight(n_actions: int, gap: float) -> None:
    problem, values = th.tight_regression(n_actions, gap)
    regret = th.policy_regret(problem, th.argmax_policy(values))
    assert regret == pytest.approx(gap)
    assert regret == pytest.approx(th.regression_bound(th.regression_regret(problem, values), n_actions))


@given(finite_problems(), seeds)
def test_theorem_6_2_bounds_importance_weighting_for_every_classifier(problem: th.FiniteProblem, seed: int) -> None:
    k = problem.n_actions
    classifier = np.random.RandomState(seed).random_sample((len(th.pairs(k)), problem.n_contexts)) < 0.5
    induced = th.importance_weighted_problem(problem)
    regret = th.policy_regret(problem, th.all_pairs_policy(k, classifier))
    binary = th.binary_regret(induced, classifier)
    by_rewards = th.importance_weighting_bound(binary, k, problem=problem)
    assert regret <= by_rewards + EXACT
    assert by_rewards <= th.importance_weighting_bound(binary, k) + EXACT


@given(st.integers(2, 9), st.floats(1e-4, 0.1))
def test_theorem_6_2_is_tight(n_actions: int, gap: float) -> None:
    problem, classifier = th.tight_importance_weighting(n_actions, gap)
    binary = th.binary_regret(th.importance_weighted_problem(problem), classifier)
    regret = th.policy_regret(problem, th.all_pairs_policy(n_actions, classifier))
    assert regret == pytest.approx(gap)
    assert regret == pytest.approx(th.importance_weighting_bound(binary, n_actions, problem=problem))
    assert regret / th.importance_weighting_bound(binary, n_actions) >= 1 - gap * n_actions


@given(solved_trees(max_actions=5), seeds)
def test_importance_weighted_multiclass_regret_is_policy_regret(case: SolvedTree, seed: int) -> None:
    """First step of the proof of Theorem 6.2, from every row that the logging policy may produce."""
    problem, k = case.problem, case.problem.n_actions
    policy = np.random.RandomState(seed).randint(k, size=problem.n_contexts)
    loss = np.zeros((problem.n_contexts, k))
    for probability, x, rewards in zip(problem.probability, problem.context, problem.rewards, strict=True):
        for action, reward in enumerate(rewards):
            weight = reward / case.logging[x, action]
            loss[x, np.arange(k) != action] += probability * case.logging[x, action] * weight
    regret = loss[np.arange(problem.n_contexts), policy].sum() - loss.min(axis=1).sum()
    assert regret == pytest.approx(th.policy_regret(problem, policy), abs=EXACT)


@given(solved_trees())
def test_our_own_votes_on_every_possible_row_make_up_the_induced_problem(case: SolvedTree) -> None:
    """The reduction itself, run on a log of all outcomes and actions, whatever the logging policy: Q_D."""
    problem, tree = case.problem, case.tree
    n_outcomes, k = problem.rewards.shape
    x, action = np.repeat(problem.context, k), np.tile(np.arange(k), n_outcomes)
    propensity = case.logging[x, action]
    votes = Votes.cast(problem.rewards.ravel(), propensity, 0.5)
    chance = np.repeat(problem.probability, k) * propensity
    weight = np.zeros((tree.n_nodes, problem.n_contexts, 2))

    def hold(contest: Contest) -> NDArray[np.bool_]:
        label = votes.for_left(contest.rows, contest.from_left).astype(int)
        drawn = chance[contest.rows] * votes.weight[contest.rows]
        np.add.at(weight[contest.node], (x[contest.rows], label), drawn)
        return np.asarray(case.classifier[contest.node, x[contest.rows]])

    climb(Ladder.at_leaves(tree, action, votes.weight > 0), hold)
    expected = th.offset_tree_problem(problem, tree, case.classifier, logging=case.other_logging)
    np.testing.assert_allclose(weight, expected.weight, atol=EXACT)


@pytest.mark.parametrize("rewards", [[[0.5, 0.5]], [[0.0, 0.0]]])
def test_a_problem_without_examples_has_no_regret(rewards: list[list[float]]) -> None:
    problem = th.FiniteProblem.certain(rewards)
    offset = rewards[0][0]
    induced = th.offset_tree_problem(problem, two_actions, [[True]], offset=offset)
    assert induced.expected_importance == 0
    assert th.binary_regret(induced, [[True]]) == 0


@pytest.mark.parametrize("n_rows", [50, 1000, 10**6])
def test_the_sample_complexity_bounds_are_the_papers_formulas(n_rows: int) -> None:
    n_classifiers, delta = 30, 0.1
    log_c = np.log(n_classifiers)
    assert th.sample_complexity_bound(n_rows, n_classifiers, delta) == pytest.approx(
        np.sqrt((log_c + np.log(2 / delta)) / (2 * n_rows))
    )
    assert th.sample_complexity_bound(n_rows, n_classifiers, delta, with_offset=False) == pytest.approx(
        np.sqrt((log_c + np.log(3 / delta)) / (n_rows - 2 * np.sqrt(n_rows * np.log(3 / delta))))
    )


def test_the_sample_complexity_bound_is_that_of_classification_and_without_the_offset_of_half_the_rows() -> None:
    n_rows, n_classifiers, delta = 10**9, 1000, 0.05
    with_offset = th.sample_complexity_bound(n_rows, n_classifiers, delta)
    assert with_offset == pytest.approx(np.sqrt(np.log(2 * n_classifiers / delta) / (2 * n_rows)))
    without = th.sample_complexity_bound(n_rows, n_classifiers, delta, with_offset=False)
    as_if = np.log(n_classifiers / delta * 3) / np.log(n_classifiers / delta * 2)
    assert (without / with_offset) ** 2 == pytest.approx(2 * as_if, rel=1e-3)
    assert th.sample_complexity_bound(4, 2, 0.05, with_offset=False) == np.inf


@pytest.mark.parametrize("with_offset", [True, False])
def test_theorem_a_1_covers_all_classifiers_at_once_at_least_as_often_as_promised(with_offset: bool) -> None:
    random = np.random.RandomState(0)
    n_rows, n_contexts, delta, n_logs = 200, 4, 0.1, 2000
    classifiers = np.array([[(c >> x) & 1 for x in range(n_contexts)] for c in range(2**n_contexts)])
    right_chance = random.random_sample(n_contexts)
    truth = np.where(classifiers == 1, right_chance, 1 - right_chance).mean(axis=1)
    bound = th.sample_complexity_bound(n_rows, len(classifiers), delta, with_offset=with_offset)
    n_failed = 0
    for _ in range(n_logs):
        x = random.randint(n_contexts, size=n_rows)
        right = random.random_sample(n_rows) < right_chance[x]
        action = random.random_sample(n_rows) < 0.5
        votes = Votes.cast((action == right).astype(float), np.full(n_rows, 0.5), 0.5 if with_offset else 0.0)
        # All weights are equal, so that Costing keeps every row that has any.
        kept = votes.weighted()
        label = votes.for_left(kept, action[kept])
        estimate = (classifiers[:, x[kept]] == label).mean(axis=1)
        n_failed += np.abs(estimate - truth).max() > bound
    assert n_failed <= delta * n_logs


def chain(n_actions: int) -> ActionTree:
    pairs: object = 0
    for action in range(1, n_actions):
        pairs = (pairs, action)
    return ActionTree.from_pairs(pairs)
