from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree import (
    ActionOffsetTree,
    ActionRegression,
    ActionSets,
    EpsilonGreedy,
    OffsetTree,
    OnlineActionOffsetTree,
    OnlineActionRegression,
    PopularAction,
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
    for never in (OnlineActionRegression(), ActionRegression(), ActionOffsetTree()):
        with pytest.raises(ParameterError, match="must have learned"):
            save(never, tmp_path / "policy.ot")
    neighbours = ActionRegression(KNeighborsRegressor(), id_effects=False).fit(**CATALOGUE.log.arrays())
    with pytest.raises(PolicyFileError, match="ActionRegression with KNeighborsRegressor cannot be saved"):
        save(neighbours, tmp_path / "policy.ot")
    contests = ActionOffsetTree(GaussianNB()).fit(**CATALOGUE.log.arrays())
    with pytest.raises(PolicyFileError, match="ActionOffsetTree with GaussianNB cannot be saved"):
        save(contests, tmp_path / "policy.ot")
    assert not list(tmp_path.iterdir())


BATCH: dict[str, Any] = {
    "default": ActionRegression(random_state=0),
    "ridge": ActionRegression(RidgeCV(), random_state=0),
    "without products": ActionRegression(Ridge(), interactions=False, id_effects=False),
    "pipeline": ActionRegression(make_pipeline(StandardScaler(), Ridge()), id_effects=False),
    "forest": ActionRegression(ExtraTreesRegressor(5, min_samples_leaf=5), id_effects=False, random_state=0),
    "boosting": ActionRegression(HistGradientBoostingRegressor(max_iter=5), id_effects=False, random_state=0),
    "tree": ActionOffsetTree(random_state=0),
    "tree of forests": ActionOffsetTree(RandomForestClassifier(5), inputs="both", tree="similar", random_state=0),
    "tree of planes": ActionOffsetTree(LogisticRegression(), inputs="both", tree="given", random_state=0),
}


@pytest.mark.parametrize("name", BATCH)
def test_learners_of_logs_decide_the_same_bits_from_a_file(tmp_path: Path, name: str) -> None:
    log, sets = CATALOGUE.log, CATALOGUE.sets
    policy = clone(BATCH[name]).fit(**log.arrays())
    path = tmp_path / "policy.ot"
    save(policy, path, facts={"log": "simulated"})
    again = load_action_policy(path)
    np.testing.assert_array_equal(again.predict(log.X, sets), policy.predict(log.X, sets))
    np.testing.assert_array_equal(again.rank(log.X, sets, 3), policy.rank(log.X, sets, 3))
    if hasattr(policy, "predict_rewards"):
        whole = policy.predict_rewards(log.X, sets)
        np.testing.assert_array_equal(again.predict_rewards(log.X, sets), whole)
        one = [again.rewards(log.X[row], sets.take([row])) for row in range(20)]
        np.testing.assert_array_equal(np.concatenate(one), whole[: sets.starts[20]])
    save(again, tmp_path / "again.ot")
    assert (tmp_path / "again.ot").read_bytes() == path.read_bytes()


def frames(n_rows: int = 300) -> dict[str, Any]:
    random = np.random.default_rng(0)
    users = pd.DataFrame({"age": random.normal(40, 9, n_rows), "plan": random.choice(["free", "paid"], n_rows)})
    goods = pd.DataFrame({"price": random.normal(5, 1, 12), "kind": random.choice(["a", "b"], 12)})
    goods.loc[3, "price"] = np.nan
    names = [f"i\u00e4{place}" for place in range(12)]
    ids = [random.choice(names, 3, replace=False).tolist() for _ in range(n_rows)]
    pairs = pd.DataFrame({"affinity": random.normal(size=3 * n_rows)})
    sets = ActionSets(ids, items=goods, item_ids=names, pairs=pairs)
    action, reward = sets.ids[sets.starts[:-1]], random.random(n_rows)
    return {"X": users, "action": action, "reward": reward, "propensity": 1 / 3, "action_sets": sets}


@pytest.mark.parametrize("policy", [ActionRegression(random_state=0), ActionOffsetTree(random_state=0)])
def test_frames_and_mappings_are_encoded_as_before(tmp_path: Path, policy: Any) -> None:
    log = frames()
    policy = clone(policy).fit(**log)
    save(policy, tmp_path / "policy.ot")
    again = load_action_policy(tmp_path / "policy.ot")
    np.testing.assert_array_equal(
        again.predict(log["X"], log["action_sets"]), policy.predict(log["X"], log["action_sets"])
    )
    user = {"age": 33.0, "plan": "paid"}
    goods = [
        {"id": "new", "price": 5.0, "kind": "b", "affinity": 0.3},
        {"id": "i\u00e42", "price": None, "kind": "c", "affinity": 0.1},
    ]
    assert again.decide(user, goods) == policy.decide(user, goods)


def test_a_policy_from_a_file_decides_without_scikit_learn(tmp_path: Path) -> None:
    for name in ("default", "ridge", "forest", "tree", "tree of forests"):
        save(clone(BATCH[name]).fit(**CATALOGUE.log.arrays()), tmp_path / f"{name}.ot")
    code = (
        "import sys, numpy as np, pathlib\n"
        "from offsettree import load_action_policy\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.ot')):\n"
        "    policy = load_action_policy(path)\n"
        "    policy.decide(np.zeros(6), np.eye(6)[:4])\n"
        "    assert policy.manifest['learner']['class'].startswith('Action')\n"
        "assert 'sklearn' not in sys.modules, sorted(m for m in sys.modules if m.startswith('sklearn'))[:3]\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)  # noqa: S603
    assert run.returncode == 0, run.stderr


def test_forged_files_of_learners_of_logs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.ot"
    for name in ("default", "tree"):
        save(clone(BATCH[name]).fit(**CATALOGUE.log.arrays()), path)
        archive = read_archive(path, 1 << 30)
        for where, array in archive.arrays.items():
            for forged in (array[:-1], np.zeros(array.shape, np.int8), np.full(array.shape, -1).astype(array.dtype)):
                if forged.dtype == array.dtype and np.array_equal(forged, array):
                    continue
                write_archive(path, archive.manifest, archive.arrays | {where: forged}, {})
                try:
                    forgery = load_action_policy(path)
                except PolicyFileError:
                    continue
                forgery.predict(CATALOGUE.log.X, CATALOGUE.sets)  # numbers that may be: it decides


@pytest.mark.parametrize(
    ("changes", "arrays", "message"),
    [
        ({"n_bits": 60}, {}, "n_bits"),
        ({"n_bits": 13}, {}, "weights"),
        ({"prior": "fast"}, {}, "prior"),
        ({"prior": 0.0}, {}, "prior"),
        ({}, {"policy.scales": np.full((3, 1 << 14), -1, np.float32)}, "spreads and counts"),
        ({"interactions": "none"}, {}, "interactions"),
        ({"reward_high": -5.0}, {}, "reward_high"),
        ({}, {"policy.weights": np.full((2, 1 << 14), np.nan, np.float32)}, "finite"),
        ({}, {"policy.weights": np.full((2, 1 << 14), -1, np.float32)}, "precisions"),
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


@pytest.mark.parametrize("make", [OnlineActionRegression, OnlineActionOffsetTree])
def test_a_file_of_an_earlier_learner_says_so(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "policy.ot"
    save(make(n_bits=8).fit(**CATALOGUE.log.arrays()), path)
    archive = read_archive(path, 1 << 30)
    settings = {name: value for name, value in archive.manifest["policy"].items() if name != "prior"}
    write_archive(path, archive.manifest | {"policy": settings | {"learning_rate": 0.5}}, archive.arrays, {})
    with pytest.raises(
        PolicyFileError, match=r"before offsettree 0\.2\.0, by an earlier learner.*learn the policy again"
    ):
        load_action_policy(path)


def test_a_file_that_is_replaced_keeps_its_mode_and_the_mask_of_the_process_is_left_alone(
    tmp_path: Path, policy: OnlineActionRegression, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other threads make files meanwhile: while the mask is read, it is 0."""
    path, masks = tmp_path / "policy.ot", list[int]()

    def umask(mask: int) -> int:
        masks.append(mask)
        return 0o027

    monkeypatch.setattr(os, "umask", umask)
    save(policy, path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert masks == [0, 0o027]
    path.chmod(0o604)
    save(policy, path)
    assert path.stat().st_mode & 0o777 == 0o604
    assert masks == [0, 0o027]


def test_a_small_file_does_not_become_a_large_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.ot"
    save(ActionOffsetTree(random_state=0).fit(**CATALOGUE.log.arrays()), path)
    archive = read_archive(path, 1 << 30)
    contests = archive.manifest["policy"]["contests"]
    for n_more, heights in ((64, 1), (64, 64 + len(contests))):  # each height takes all products of features
        policy = archive.manifest["policy"] | {
            "contests": contests + [{"kind": "undecided"}] * n_more,
            "heights": heights,
        }
        write_archive(path, archive.manifest | {"policy": policy}, archive.arrays, {})
        with pytest.raises(PolicyFileError, match="64"):
            load_action_policy(path)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([*(f"{i:05}" for i in range(7_000)), "x" * 10_000], "67,108,864 in all if each were as long as the longest"),
        (["a", "x" * 10_001], "at most 10,000 characters"),
        (["a\0", "b"], "the character 0"),
    ],
)
def test_ids_that_an_array_makes_too_much_of_are_refused(ids: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.ot"
    save(PopularAction().fit(**CATALOGUE.log.arrays()), path)
    archive = read_archive(path, 1 << 30)
    manifest = archive.manifest | {"policy": archive.manifest["policy"] | {"ids": ids}}
    write_archive(path, manifest, archive.arrays | {"policy.values": np.zeros(len(ids))}, {})
    with pytest.raises(PolicyFileError, match=message):
        load_action_policy(path)


def test_the_manifest_can_be_read_by_people(tmp_path: Path, policy: OnlineActionRegression) -> None:
    save(policy, tmp_path / "policy.ot", facts={"log": "simulated"})
    with zipfile.ZipFile(tmp_path / "policy.ot") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["facts"] == {"log": "simulated"}
    assert manifest["policy"]["kind"] == "online action regression"
