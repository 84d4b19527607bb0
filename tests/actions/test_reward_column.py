"""What `ActionOffsetTree` predicts of rewards: a feature of actions in contests, and the offset of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from offsettree import ActionOffsetTree, ActionSets, simulate_catalogue
from offsettree.actions._encoding import ActionEncoding
from offsettree.actions._reward_column import learn_rewards, offset_of
from offsettree.actions._tournament import Contests
from offsettree.actions.policy import ActionLog, judge_log
from offsettree.exceptions import ParameterError

CATALOGUE = simulate_catalogue(1200, 30, 5, kind="nonlinear", random_state=2)


def judged(reward: Any = None) -> tuple[ActionLog, Any, Any]:
    parts = {**CATALOGUE.log.arrays()}
    if reward is not None:
        parts = {
            "X": CATALOGUE.log.X, "action": CATALOGUE.log.action, "propensity": CATALOGUE.log.propensity,
            "action_sets": CATALOGUE.sets, "reward": reward,
        }  # fmt: skip
    full: dict[str, Any] = {"reward": None, "propensity": None, **parts}
    log = judge_log(**full, reward_range=(0.0, 1.0))
    encoding = ActionEncoding.learn(log.X, log.sets, log.pair)
    return log, *encoding.tables(log.X, log.sets)


def contests_of(log: ActionLog, rows: Any) -> Contests:
    """Let the first two of each row meet."""
    return Contests(rows, log.sets.starts[rows], log.sets.starts[rows] + 1)


def test_the_offset_lies_between_the_rewards_that_are_predicted_for_the_two() -> None:
    log, x, a = judged()
    found = learn_rewards(log, x, a, seed=0)
    assert found is not None
    predicted = found[1]
    contests = contests_of(log, np.arange(len(log.reward)))
    between = offset_of("predicted", log, predicted)(contests)
    within = np.clip(predicted, 0, 1)
    assert between == pytest.approx((within[contests.left] + within[contests.right]) / 2)
    assert (between >= 0).all()
    assert (between <= 1).all()
    assert between.std() > 0.05  # not one number for all
    # Theorem 4.1 allows any offset that does not depend on which of the two was taken: the sides may be swapped.
    swapped = Contests(contests.row, contests.right, contests.left)
    np.testing.assert_array_equal(offset_of("predicted", log, predicted)(swapped), between)


def test_no_row_has_a_say_in_what_is_predicted_for_it() -> None:
    """Else the reward would decide on the offset, and on the features of the contest that it is to judge."""
    log, x, a = judged()
    found = learn_rewards(log, x, a, seed=0)
    changed = log.reward.copy()
    fold = np.random.RandomState(0).permutation(len(changed)) % 3
    changed[fold == 0] = 1 - changed[fold == 0]
    again = learn_rewards(judged(changed)[0], x, a, seed=0)
    assert found is not None
    assert again is not None
    own = np.repeat(fold, log.sets.sizes) == 0
    np.testing.assert_array_equal(found[1][own], again[1][own])
    assert (found[1][~own] != again[1][~own]).mean() > 0.9


def test_it_predicts_the_truth_better_than_a_constant_does() -> None:
    log, x, a = judged()
    found = learn_rewards(log, x, a, seed=0)
    assert found is not None
    assert np.corrcoef(found[1], CATALOGUE.expected)[0, 1] > 0.4


def test_a_fixed_offset_is_the_same_in_every_contest() -> None:
    log, _, _ = judged()
    contests = contests_of(log, np.arange(5))
    assert offset_of(0.5, log, None)(contests).tolist() == [0.5] * 5
    assert offset_of("mean", log, None)(contests).tolist() == [log.scaled.mean()] * 5
    assert offset_of("predicted", log, None)(contests).tolist() == [log.scaled.mean()] * 5
    for wrong in (-0.1, 1.5, True, None, "median", np.nan):
        with pytest.raises(ParameterError, match="offset must be"):
            offset_of(wrong, log, None)


def test_nothing_is_predicted_from_few_rows_or_from_equal_rewards() -> None:
    log, x, a = judged(np.ones(len(CATALOGUE.log)))
    assert learn_rewards(log, x, a, seed=0) is None
    few = ActionOffsetTree(random_state=0).fit(**CATALOGUE.log[:40].arrays())
    assert few.core_.rewards is None
    assert len(few.predict(CATALOGUE.log.X, CATALOGUE.sets)) == len(CATALOGUE.log)


def test_predicted_rewards_are_used_only_if_asked_for() -> None:
    without = ActionOffsetTree(predicted_rewards=False, random_state=0).fit(**CATALOGUE.log.arrays())
    assert without.core_.rewards is None
    paper = ActionOffsetTree(predicted_rewards=False, offset=0.5, random_state=0).fit(**CATALOGUE.log.arrays())
    assert paper.core_.rewards is None
    default = ActionOffsetTree(random_state=0).fit(**CATALOGUE.log.arrays())
    assert default.core_.rewards is not None


def test_contests_that_are_not_linear_are_decided_better_with_them() -> None:
    train, test = simulate_catalogue(10_000, 20, 5, kind="nonlinear", random_state=77).split_days(8)
    values = []
    for asked in (False, True):
        policy = ActionOffsetTree(predicted_rewards=asked, random_state=0).fit(**train.log.arrays())
        values.append(test.value(policy.predict(test.log.X, test.sets)))
    assert values[1] > values[0] + 0.005


def test_features_far_out_are_refused_in_one_decision_as_in_tables() -> None:
    sets, log = CATALOGUE.sets, CATALOGUE.log
    items: Any = sets.items
    plain: Any = ActionSets(sets.ids, sets.starts, pairs=items[sets.item])
    policy = ActionOffsetTree(random_state=0).fit(**{**log.arrays(), "action_sets": plain})
    features = np.array(plain.pairs[:5])
    features[2, 1] = 1e300
    with pytest.raises(ValueError, match="standard deviations"):
        policy.decide(log.X[0], features)
