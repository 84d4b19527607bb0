"""Algorithm 2 over a tree per row, and Theorem 4.1 for it, exactly, on problems with finitely many outcomes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree import ActionSets
from offsettree.actions._tournament import Contests, climb, leaves_in_order, n_rounds, play

EXACT = 1e-12


@dataclass
class Case:
    """Contexts with sets of their own, outcomes of each, and an arbitrary antisymmetric classifier per height."""

    sets: list[list[int]]
    probability: NDArray[np.float64]  # of each outcome
    context: NDArray[np.intp]
    rewards: NDArray[np.float64]  # of each outcome and item
    prefers: NDArray[np.bool_]  # by height, context, left and right
    order: NDArray[np.float64]  # of the items in every tree

    def decide(
        self, context: NDArray[np.intp], ids: NDArray[np.intp], height: int, contests: Contests
    ) -> NDArray[np.bool_]:
        left, right = ids[contests.left], ids[contests.right]
        answers: NDArray[np.bool_] = self.prefers[height, context[contests.row], left, right]
        return answers


@st.composite
def cases(draw: st.DrawFn) -> Case:
    random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
    n_items, n_contexts, n_outcomes = draw(st.integers(2, 7)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sets = [draw(st.lists(st.integers(0, n_items - 1), min_size=1, unique=True)) for _ in range(n_contexts)]
    size = n_contexts * n_outcomes
    rewards = random.random_sample((size, n_items))
    if draw(st.booleans()):
        rewards = np.round(rewards)
    upper = random.random_sample((5, n_contexts, n_items, n_items)) < 0.5
    flipped = ~np.swapaxes(upper, 2, 3)
    prefers = np.where(np.triu(np.ones((n_items, n_items), dtype=bool), 1), upper, flipped)
    return Case(
        sets, random.dirichlet(np.ones(size)), np.repeat(np.arange(n_contexts), n_outcomes), rewards, prefers,
        random.random_sample(n_items),
    )  # fmt: skip


def induced(
    case: Case, logging: NDArray[np.float64], offset: float | None = 0.5
) -> dict[tuple[int, int, int, int], list[float]]:
    """Return the weight of "left" and of "right" for each question: height, context and the two that meet.

    Every outcome is logged with every eligible action, and counts as often as the two are likely together.
    """
    rows = [(outcome, item) for outcome, x in enumerate(case.context) for item in case.sets[x]]
    outcome, taken = (np.array(each) for each in zip(*rows, strict=True))
    context = case.context[outcome]
    sets = ActionSets([case.sets[x] for x in context])
    chance = np.array(
        [logging[x, item] / logging[x, case.sets[x]].sum() for x, item in zip(context, taken, strict=True)]
    )
    total: dict[tuple[int, int, int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])

    def learn(height: int, contests: Contests, is_left: NDArray[np.bool_], weight: NDArray[np.float64]) -> None:
        for row, left, right, label, each in zip(
            contests.row, sets.ids[contests.left], sets.ids[contests.right], is_left, weight, strict=True
        ):
            likely = case.probability[outcome[row]] * chance[row]
            total[height, int(context[row]), int(left), int(right)][0 if label else 1] += likely * each

    def offset_of(contests: Contests) -> NDArray[np.float64]:
        if offset is not None:
            return np.full(len(contests.row), offset)
        # One of its own for each question, whichever of the two was taken.
        code = 5 * context[contests.row] + 7 * (sets.ids[contests.left] + sets.ids[contests.right])
        return np.asarray((code % 11) / 10)

    climb(
        leaves_in_order(sets, case.order[sets.ids]), sets.starts, sets.find(taken),
        case.rewards[outcome, taken], chance, offset_of, learn,
        lambda height, contests: case.decide(context, sets.ids, height, contests),
    )  # fmt: skip
    return total


def policy_regret(case: Case) -> float:
    sets = ActionSets(case.sets)
    context = np.arange(len(case.sets))
    winners = sets.ids[
        play(
            leaves_in_order(sets, case.order[sets.ids]), sets.starts,
            lambda height, contests: case.decide(context, sets.ids, height, contests),
        )
    ]  # fmt: skip
    regret = 0.0
    for x, eligible in enumerate(case.sets):
        rows = case.context == x
        values = case.probability[rows] @ case.rewards[rows]
        regret += values[eligible].max() - values[winners[x]]
    return float(regret)


seeds = st.integers(0, 2**32 - 1)


@given(cases(), seeds, st.sampled_from([0.5, 0.0, 0.3, None]))
def test_theorem_4_1_holds_with_the_largest_set_in_the_place_of_k(case: Case, seed: int, offset: float | None) -> None:
    logging = 0.05 + np.random.RandomState(seed).random_sample((len(case.sets), case.rewards.shape[1]))
    weights = induced(case, logging, offset)
    loss = best = total = 0.0
    for (height, x, left, right), (for_left, for_right) in weights.items():
        loss += for_right if case.prefers[height, x, left, right] else for_left
        best += min(for_left, for_right)
        total += for_left + for_right
    regret = policy_regret(case)
    # The first step of the proof: the sum of weighted regrets bounds the policy's.
    assert regret <= loss - best + EXACT
    # The second, by the costing theorem: the error rate's regret times the expected importance.
    binary_regret = (loss - best) / total if total > 0 else 0.0
    assert regret <= total * binary_regret + EXACT
    # The third: importances are at most 1 / 2 with the paper's offset, and at most 1 with any other.
    bound = (max(map(len, case.sets)) - 1) * (1 if offset == 0.5 else 2)
    assert total <= bound + EXACT
    assert regret <= bound * binary_regret + EXACT


@given(cases(), seeds)
def test_the_contests_do_not_depend_on_the_logging_policy(case: Case, seed: int) -> None:
    random = np.random.RandomState(seed)
    shape = (len(case.sets), case.rewards.shape[1])
    one, other = (induced(case, 0.05 + random.random_sample(shape)) for _ in range(2))
    for question in {*one, *other}:
        np.testing.assert_allclose(one[question], other[question], atol=EXACT)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_every_action_can_win_and_trees_are_balanced(sizes: list[int]) -> None:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    leaves = np.arange(starts[-1])
    for favourite in range(max(sizes)):
        wanted = np.minimum(favourite, np.array(sizes) - 1) + starts[:-1]
        heights = []

        def decide(height: int, contests: Contests, wanted: NDArray[np.intp] = wanted) -> NDArray[np.bool_]:
            heights.append(height)  # noqa: B023 - used before the next turn
            return np.asarray(contests.left == wanted[contests.row])

        np.testing.assert_array_equal(play(leaves, starts, decide), wanted)
        assert len(heights) == n_rounds(np.array(sizes)) == int(np.ceil(np.log2(max(sizes))))


def test_a_row_climbs_while_its_action_is_chosen_and_no_further() -> None:
    """Four actions: 0 meets 1 and 2 meets 3; whoever is left of two wins but for 3, who beats 2."""
    sets = ActionSets([[0, 1, 2, 3]] * 4)
    seen = []

    def learn(height: int, contests: Contests, is_left: NDArray[np.bool_], weight: NDArray[np.float64]) -> None:
        seen.append((height, contests.row.tolist(), (contests.left % 4).tolist(), (contests.right % 4).tolist(),
                     is_left.tolist(), weight.tolist()))  # fmt: skip

    climb(
        np.arange(16), sets.starts, np.array([0, 5, 10, 15]), np.array([1.0, 1.0, 0.25, 0.0]), np.full(4, 0.25),
        lambda contests: np.full(len(contests.row), 0.5), learn,
        lambda height, contests: (contests.left % 4 == 0) | (contests.right % 4 != 3),
    )  # fmt: skip
    assert seen == [
        (1, [0, 1, 2, 3], [0, 0, 2, 2], [1, 1, 3, 3], [True, False, False, True], [2.0, 2.0, 1.0, 2.0]),
        # Rows 1 and 2 were not chosen; 3 is the winner of the right half.
        (2, [0, 3], [0, 0], [3, 3], [True, True], [2.0, 2.0]),
    ]
