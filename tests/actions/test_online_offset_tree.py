from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import (
    ActionSets,
    EpsilonGreedy,
    OnlineActionOffsetTree,
    load_action_policy,
    save,
    simulate_catalogue,
)
from offsettree.actions import _kernels_duels as kernels
from offsettree.actions._tournament import leaves_in_order, seeded_order
from offsettree.exceptions import ActionError, ParameterError, PropensityError, RewardError

TRAIN, TEST = simulate_catalogue(6000, 40, 6, random_state=0).split_days(8)


def share_of_gain(policy: Any) -> float:
    value = TEST.value(policy.predict(TEST.log.X, TEST.sets))
    return (value - TEST.uniform_value) / (TEST.best_value - TEST.uniform_value)


@pytest.fixture(scope="module")
def fitted() -> OnlineActionOffsetTree:
    return OnlineActionOffsetTree().fit(**TRAIN.log.arrays())


@pytest.mark.parametrize("heights", ["shared", "separate"])
@pytest.mark.parametrize("offset", ["mean", 0.5])
def test_it_decides_well_among_new_actions(heights: Any, offset: Any) -> None:
    policy = OnlineActionOffsetTree(heights=heights, offset=offset).fit(**TRAIN.log.arrays())
    assert share_of_gain(policy) > 0.5
    # Every row has a contest at the leaves; about half of them go on, and of six actions two have a bye.
    reached = policy.n_reached_
    assert reached[0] == len(TRAIN.log) == policy.n_rows_
    assert reached[0] / 4 < reached[1] < 0.6 * reached[0]
    assert not reached[3:].any()


def test_rows_one_by_one_teach_the_same_as_a_log(fitted: OnlineActionOffsetTree) -> None:
    log, sets = TRAIN.log[:200], TRAIN.log[:200].action_sets
    assert sets is not None
    whole = OnlineActionOffsetTree().fit(**log.arrays())
    single = OnlineActionOffsetTree()
    for row in range(200):
        single.learn(log.X[row], sets.take([row]), log.action[row], log.reward[row], log.propensity[row])
    np.testing.assert_allclose(single.weights_, whole.weights_, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(single.n_reached_, whole.n_reached_)
    parts = OnlineActionOffsetTree().partial_fit(**log[:90].arrays()).partial_fit(**log[90:].arrays())
    np.testing.assert_array_equal(parts.weights_, whole.weights_)
    chosen = fitted.predict(TEST.log.X, TEST.sets)
    assert [fitted.decide(TEST.log.X[row], TEST.sets.take([row])) for row in range(20)] == chosen[:20].tolist()


def test_a_row_climbs_only_while_its_action_would_have_won() -> None:
    """Followed by hand: what reaches a height was chosen in all contests below, before the row taught anything."""
    # The first row has the largest values: a new largest one would change the scale of a feature before its row climbs.
    X = np.clip(TRAIN.log.X[:300], -1, 1)
    X[0] = 1.0
    log, sets = TRAIN.log[:300], TRAIN.log[:300].action_sets
    assert sets is not None
    policy = OnlineActionOffsetTree()
    for row in range(300):
        one, before = sets.take([row]), policy.n_reached_.copy() if row else np.zeros(32)
        expected = np.zeros(32)
        leaves = leaves_in_order(one, seeded_order(one.ids, 0)[0])
        place = [one.ids[pair] for pair in leaves].index(log.action[row])
        width, height, chosen = 1, 0, True
        while width < len(leaves) and chosen:
            first = ((place // width) ^ 1) * width
            if first < len(leaves):
                expected[height] += 1
                rivals = [one.ids[pair] for pair in leaves[first : first + width]]
                if row:
                    among = [log.action[row], *rivals]
                    features: Any = one.items
                    duel = ActionSets([among], items=features, item_ids=one.item_ids)
                    chosen = policy.decide(X[row], duel) == log.action[row]
                else:
                    chosen = log.action[row] < min(rivals)  # nothing has been learned: all are ties
            height, width = height + 1, 2 * width
        policy.learn(X[row], one, log.action[row], log.reward[row], log.propensity[row])
        np.testing.assert_array_equal(policy.n_reached_ - before, expected)


@pytest.mark.parametrize("heights", ["shared", "separate"])
def test_swapping_the_sides_flips_the_answer(heights: Any) -> None:
    """Of two actions in either order the same one wins, also where they are alike and nothing but ids differ."""
    policy = OnlineActionOffsetTree(heights=heights, id_effects=False).fit(**TRAIN.log[:500].arrays())
    random = np.random.default_rng(0)
    for row in range(50):
        features = random.normal(size=(2, 6))
        if row % 10 == 0:
            features[1] = features[0]
        for seed in (0, 1):
            policy.set_params(seed=seed)  # by which either one is the left leaf
            one, other = (
                policy.decide(TEST.log.X[row], ActionSets([ids], items=features, item_ids=[3, 7]))
                for ids in ([3, 7], [7, 3])
            )
            assert one == other
            if row % 10 == 0:
                assert one == 3


def test_sides_are_swapped_in_the_kernel_as_well(fitted: OnlineActionOffsetTree) -> None:
    features, size = fitted._pairs(TEST.log.X, TEST.sets)
    n_rows, model = len(TEST.sets), fitted._model()
    starts = np.arange(n_rows + 1) * 2
    pairs = (TEST.sets.starts[:-1, np.newaxis] + np.array([1, 4])).astype(np.intp)
    rank = seeded_order(TEST.sets.ids, 0)[1]
    answers = []
    for order in (pairs, pairs[:, ::-1]):
        chosen = np.empty(n_rows, dtype=np.intp)
        leaves = np.ascontiguousarray(order).ravel()
        kernels.play_rows(model, features, starts, kernels.Order(leaves, rank), size, chosen)
        answers.append(chosen)
    np.testing.assert_array_equal(answers[0], answers[1])
    assert 0 < (answers[0] == pairs[:, 0]).mean() < 1


def test_new_features_and_explorers_need_no_preparation() -> None:
    explorer = EpsilonGreedy(OnlineActionOffsetTree(), epsilon=0.3, random_state=0)
    for step in range(600):
        news = [{"id": f"{topic}-{step // 50}", "topic": topic} for topic in ("sport", "music", "film")]
        user = {"age": "young" if step % 2 else "old"}
        action, propensity = explorer.choose(user, news)
        reward = float(action.startswith("music" if step % 2 else "film"))
        explorer.learn(user, action, reward, propensity, actions=news)
    for age, best in (("young", "m"), ("old", "f")):
        topics = [("s", "sport"), ("m", "music"), ("f", "film")]
        assert explorer.decide({"age": age}, [{"id": label, "topic": topic} for label, topic in topics]) == best


def test_a_policy_from_a_file_decides_and_learns_as_the_one_saved(
    tmp_path: Path, fitted: OnlineActionOffsetTree
) -> None:
    save(fitted, tmp_path / "policy.ot")
    again, copied = load_action_policy(tmp_path / "policy.ot"), pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == fitted.get_params()
    np.testing.assert_array_equal(again.predict(TEST.log.X, TEST.sets), fitted.predict(TEST.log.X, TEST.sets))
    for each in (again, copied):
        each.partial_fit(**TRAIN.log[:50].arrays())
    np.testing.assert_array_equal(again.weights_, copied.weights_)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"heights": "some"}, "heights must be"),
        ({"offset": 2.0}, "offset must be"),
        ({"offset": "median"}, "offset must be"),
        ({"seed": -1}, "seed must be"),
        ({"prior": 0}, "prior must be"),
        ({"n_bits": 99}, "n_bits must be"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        OnlineActionOffsetTree(**settings).fit(**TRAIN.log[:10].arrays())


def test_wrong_rows_are_refused_and_teach_nothing() -> None:
    policy = OnlineActionOffsetTree()
    news = [{"id": "a", "price": 1.0}, {"id": "b", "price": 2.0}]
    with pytest.raises(ActionError, match="must be one of the ids"):
        policy.learn({}, news, "c", 1.0, 0.5)
    with pytest.raises(RewardError):
        policy.learn({}, news, "a", 2.0, 0.5)
    with pytest.raises(PropensityError):
        policy.learn({}, news, "a", 1.0, 0.0)
    assert not hasattr(policy, "weights_")
