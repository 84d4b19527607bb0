from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import (
    ActionRegression,
    EpsilonGreedy,
    OffsetTree,
    OnlineActionRegression,
    load,
    load_action_policy,
    save,
    simulate_catalogue,
    simulate_log,
)
from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.policy_file._archive import read_archive, write_archive

CATALOGUE = simulate_catalogue(800, 20, 4, random_state=0)


@pytest.fixture
def policy() -> OnlineActionRegression:
    settings: Any = {"id_prior": 20.0, "n_bits": 14, "reward_range": (0.0, 2.0), "interactions": "context-action"}
    return OnlineActionRegression(**settings).fit(**CATALOGUE.log.arrays())


def test_a_policy_from_a_file_decides_and_learns_as_the_one_saved(
    tmp_path: Path, policy: OnlineActionRegression
) -> None:
    save(policy, tmp_path / "policy.ot", facts={"log": "simulated"})
    again = load_action_policy(tmp_path / "policy.ot")
    assert again.get_params() == policy.get_params()
    X, sets = CATALOGUE.log.X, CATALOGUE.sets
    np.testing.assert_array_equal(again.predict_rewards(X, sets), policy.predict_rewards(X, sets))
    for each in (again, policy):
        each.partial_fit(**CATALOGUE.log[:50].arrays())
    np.testing.assert_array_equal(again.weights_, policy.weights_)


def test_of_an_explorer_the_policy_is_kept(tmp_path: Path, policy: OnlineActionRegression) -> None:
    save(EpsilonGreedy(policy), tmp_path / "policy.ot")
    np.testing.assert_array_equal(load_action_policy(tmp_path / "policy.ot").weights_, policy.weights_)


def test_each_kind_of_file_is_read_by_its_own_function(tmp_path: Path, policy: OnlineActionRegression) -> None:
    save(policy, tmp_path / "policy.ot")
    with pytest.raises(PolicyFileError, match="load_action_policy"):
        load(tmp_path / "policy.ot")
    log = simulate_log(np.arange(20.0).reshape(10, 2), [0, 1] * 5, random_state=0)
    save(OffsetTree(random_state=0).fit(**log.arrays()), tmp_path / "labels.ot")
    with pytest.raises(PolicyFileError, match="read it with load"):
        load_action_policy(tmp_path / "labels.ot")


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="must have learned"):
        save(OnlineActionRegression(), tmp_path / "policy.ot")
    with pytest.raises(PolicyFileError, match="ActionRegression has no form in plain arrays"):
        save(ActionRegression(), tmp_path / "policy.ot")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "arrays", "message"),
    [
        ({"n_bits": 60}, {}, "n_bits"),
        ({"n_bits": 13}, {}, "weights"),
        ({"learning_rate": "fast"}, {}, "learning_rate"),
        ({"interactions": "none"}, {}, "interactions"),
        ({"reward_high": -5.0}, {}, "reward_high"),
        ({}, {"policy.weights": np.full((2, 1 << 14), np.nan, np.float32)}, "finite"),
        ({}, {"policy.weights": np.full((2, 1 << 14), -1, np.float32)}, "sums of squares"),
        ({}, {"policy.totals": np.zeros(3)}, "totals"),
        ({}, {"policy.more": np.zeros(3)}, "must not be in the file"),
    ],
)
def test_a_forged_file_is_refused(
    tmp_path: Path, policy: OnlineActionRegression, changes: Any, arrays: Any, message: str
) -> None:
    path = tmp_path / "policy.ot"
    save(policy, path)
    archive = read_archive(path, 1 << 30)
    manifest = {**archive.manifest, "policy": archive.manifest["policy"] | changes}
    write_archive(path, manifest, archive.arrays | arrays, {})
    with pytest.raises(PolicyFileError, match=message):
        load_action_policy(path)


def test_the_manifest_can_be_read_by_people(tmp_path: Path, policy: OnlineActionRegression) -> None:
    save(policy, tmp_path / "policy.ot", facts={"log": "simulated"})
    with zipfile.ZipFile(tmp_path / "policy.ot") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["facts"] == {"log": "simulated"}
    assert manifest["policy"]["kind"] == "online action regression"
