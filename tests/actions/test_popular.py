from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from offsettree import ActionSets, ConstantPolicy, PopularAction, load_action_policy, save, simulate_catalogue
from offsettree.exceptions import ActionError, ParameterError, PolicyFileError
from offsettree.policy_file._archive import read_archive, write_archive

CATALOGUE = simulate_catalogue(3000, 20, 5, id_effect=0.2, random_state=0)


def test_it_takes_what_earned_most_and_knows_nothing_of_what_is_new() -> None:
    sets = ActionSets([["a", "b"], ["a", "b"], ["b", "c"], ["a", "c"]] * 50)
    action, reward = ["a", "b", "b", "c"] * 50, [0.0, 1.0, 1.0, 0.5] * 50
    policy = PopularAction().fit(np.zeros((200, 1)), action, reward=reward, propensity=0.5, action_sets=sets)
    assert policy.predict(np.zeros((2, 1)), ActionSets([["a", "b"], ["a", "new"]])).tolist() == ["b", "new"]
    assert policy.decide({}, ["a", "c"]) == "c"
    assert policy.decide({}, [{"id": "c"}, {"id": "b"}]) == "b"
    assert policy.decide({}, [1, 2]) == 1
    with pytest.raises(ActionError, match="must have ids"):
        policy.decide({}, np.zeros((2, 2)))


def test_where_sets_never_change_it_is_the_best_constant_action() -> None:
    log = simulate_catalogue(2000, 5, 5, new_share=0.0, id_effect=0.1, random_state=1).log
    policy = PopularAction().fit(**log.arrays())
    constant = ConstantPolicy().fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
    assert log.action_sets is not None
    assert set(policy.predict(log.X, log.action_sets)) == {constant.action_}
    np.testing.assert_allclose(policy.values_, constant.values_)


def test_its_file_decides_the_same(tmp_path: Path) -> None:
    policy = PopularAction(reward_range=(0.0, 2.0)).fit(**CATALOGUE.log.arrays())
    save(policy, tmp_path / "p.ot")
    again = load_action_policy(tmp_path / "p.ot")
    np.testing.assert_array_equal(
        again.predict_rewards(CATALOGUE.log.X, CATALOGUE.sets), policy.predict_rewards(CATALOGUE.log.X, CATALOGUE.sets)
    )
    assert again.manifest["learner"]["class"] == "PopularAction"


@pytest.mark.parametrize(
    "ids", [[3, 1] * 10, ["a", 1] + ["b"] * 18, [], "ids", [1.5] * 20, [True] * 20, [1 << 70] * 20]
)
def test_forged_ids_are_refused(tmp_path: Path, ids: object) -> None:
    save(PopularAction().fit(**CATALOGUE.log.arrays()), tmp_path / "p.ot")
    archive = read_archive(tmp_path / "p.ot", 1 << 30)
    manifest = {name: value for name, value in archive.manifest.items() if name != "members"}
    manifest["policy"] = {**manifest["policy"], "ids": ids}
    write_archive(tmp_path / "forged.ot", manifest, archive.arrays, {})
    with pytest.raises(PolicyFileError, match="ids"):
        load_action_policy(tmp_path / "forged.ot")


def test_it_must_learn_first(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        PopularAction().predict(CATALOGUE.log.X, CATALOGUE.sets)
    with pytest.raises(ParameterError, match="must have learned"):
        save(PopularAction(), tmp_path / "p.ot")


@pytest.mark.parametrize("actions", [[0.5], [None], [1, "a"], [[1], [1, 2]], [10**30], ["a", "  "]])
def test_ids_that_are_no_labels_are_refused(actions: Any) -> None:
    policy = PopularAction().fit(**simulate_catalogue(200, 10, 4, random_state=0).log.arrays())
    with pytest.raises(ActionError):
        policy.decide([0.0], actions)
