"""A policy that was loaded: what it takes, what it refuses, what it needs, and how it was written."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from offsettree import OffsetForest, OffsetTree, TableEncoder, evaluate, load, save
from offsettree.encoding.table_encoder import EncodedColumn
from offsettree.exceptions import ActionError, FeatureError, OffsetTreeWarning, ParameterError, PolicyFileError
from offsettree.policy_file import _archive
from offsettree.reductions import RewardRegression
from tests.policy_file.forgery import contexts, forge, small_log

ROOT = Path(__file__).parent.parent.parent
ALONE = """
import sys
import numpy as np
import offsettree
for path in sys.argv[1:]:
    policy = offsettree.load(path)
    X = np.random.RandomState(9).normal(size=(50, 4))
    chosen = policy.predict(X)
    assert [policy.decide(x) for x in X[:3]] == chosen[:3].tolist()
    policy.predict_proba(X, np.ones((50, 4), dtype=bool))
    policy.rank(X, 2)
    print(chosen.tolist())
assert not [name for name in sys.modules if name.split(".")[0] in ("sklearn", "pandas", "pyarrow")]
"""


@pytest.fixture(scope="module")
def forest() -> OffsetForest:
    return OffsetForest(n_trees=3, random_state=0).fit(**small_log().arrays())


def test_decisions_need_no_scikit_learn(forest: OffsetForest, tmp_path: Path) -> None:
    logistic = OffsetTree(LogisticRegression(), random_state=0).fit(**small_log().arrays())
    rewards = RewardRegression(random_state=0).fit(**small_log().arrays())
    policies: list[Any] = [forest, logistic, rewards]
    paths = [str(tmp_path / str(place)) for place in range(3)]
    for policy, path in zip(policies, paths, strict=True):
        save(policy, path)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", ALONE, *paths], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = [policy.predict(contexts(50)).tolist() for policy in policies]
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected


def test_wrong_rows_are_refused(tmp_path: Path) -> None:
    log = small_log()
    frame = pd.DataFrame(log.X, columns=["u", "v", "w", "z"])
    policy = OffsetTree(LogisticRegression()).fit(frame, log.action, reward=log.reward, propensity=log.propensity)
    save(policy, tmp_path / "policy.ot")
    saved = load(tmp_path / "policy.ot")
    np.testing.assert_array_equal(saved.predict(frame), policy.predict(frame))
    assert saved.decide(dict(zip("zwvu", log.X[0, ::-1], strict=True))) == policy.decide(log.X[0])
    assert saved.decide(frame.iloc[0]) == policy.decide(log.X[0])
    bad = log.X.copy()
    bad[3, 2] = np.nan
    for wrong, message in [
        (log.X[:, :3], "3 features, but this policy is expecting 4"),
        (frame[["z", "w", "v", "u"]], "in another order"),
        (frame.rename(columns={"u": "other"}), "Missing: u. Not seen at fit time: other"),
        (frame.astype({"u": str}), "column u does not"),
        (bad, "row 3, column 'w' has nan"),
        (log.X[:0], "at least one row"),
        (log.X[0], "table of rows"),
        ([["a", "b", "c", "d"]], "table of numbers"),
        ({"u": 1.0}, "Use decide"),
    ]:
        with pytest.raises(FeatureError, match=message):
            saved.predict(wrong)
    with pytest.raises(FeatureError, match="z missing"):
        saved.decide({"u": 0, "v": 0, "w": 0})
    with pytest.raises(FeatureError, match="got 2 rows"):
        saved.decide(log.X[:2])
    with pytest.raises(FeatureError, match="nan"):
        saved.decide(bad[3])
    with pytest.raises(ActionError, match="at least one action"):
        saved.predict(log.X, np.zeros((len(log), 4), dtype=bool))
    with pytest.raises(ParameterError, match="n must be"):
        saved.rank(log.X, 5)


def test_it_is_evaluated_as_the_policy_that_was_saved(forest: OffsetForest, tmp_path: Path) -> None:
    test = small_log(seed=1)
    save(forest, tmp_path / "policy.ot")
    saved = load(tmp_path / "policy.ot")
    assert evaluate(saved, **test.arrays()).value == evaluate(forest, **test.arrays()).value
    with pytest.warns(OffsetTreeWarning, match="trained on about"):
        evaluate(saved, **small_log().arrays())


def test_raw_rows_go_through_the_encoder(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    table = pd.DataFrame({"age": random.normal(size=300), "colour": random.choice(["red", "blue"], 300)})
    encoder = TableEncoder.learn([table])
    X = encoder.encode(table)
    action = random.randint(2, size=300)
    reward = (action == (table["age"] > 0)).to_numpy().astype(float)
    policy = OffsetTree(random_state=0).fit(X, action, reward=reward, propensity=0.5)
    save(policy, tmp_path / "policy.ot", encoder=encoder)
    saved = load(tmp_path / "policy.ot")
    assert saved.encoder.names_in == ["age", "colour"]
    expected = policy.predict(X)
    np.testing.assert_array_equal(saved.predict(table), expected)
    np.testing.assert_array_equal(saved.predict(X), expected)
    np.testing.assert_array_equal(saved.on_numbers().predict(X), expected)
    assert saved.decide({"age": float(table["age"][0]), "colour": "red"}) in (0, 1)
    assert saved.decide(table.iloc[0]) == expected[0]
    with pytest.raises(ParameterError, match="as many columns as the policy takes"):
        save(OffsetTree().fit(**small_log().arrays()), tmp_path / "other.ot", encoder=encoder)


def test_an_encoder_that_the_policy_did_not_learn_with_is_refused_wherever_it_comes_from(
    bayes: OffsetTree, forest: OffsetForest, tmp_path: Path
) -> None:
    narrow, right = (TableEncoder([EncodedColumn(name, "number") for name in names]) for names in ("ab", "abcd"))
    save(forest, tmp_path / "policy.ot", encoder=right)
    saved = load(tmp_path / "policy.ot")
    with pytest.raises(ParameterError, match="as many columns as the policy takes, 4; it makes 2"):
        save(saved, tmp_path / "again.ot", encoder=narrow)
    with pytest.raises(ParameterError, match="not the encoder that the policy learned with"):
        save(bayes, tmp_path / "again.ot", encoder=narrow, fallback="pickle")
    saved.encoder = narrow
    for ask in (saved.predict, saved.predict_proba, saved.decide, lambda rows: saved.rank(rows, 2)):
        with pytest.raises(FeatureError, match="as many columns as the policy takes, 4; it makes 2"):
            ask([{"a": 1.0, "b": 2.0}])
    save(bayes, tmp_path / "bayes.ot", encoder=right, fallback="pickle")
    other = say_encoder(tmp_path / "bayes.ot", narrow, tmp_path / "forged.ot")
    with pytest.raises(PolicyFileError, match=r"manifest\.encoder must make as many columns"):
        load(other, allow_pickle=True)


def say_encoder(path: Path, encoder: TableEncoder, target: Path) -> Path:
    return forge(path, lambda manifest, arrays: manifest.update(encoder=encoder.to_manifest()), target)


def test_the_manifest_can_be_read_by_anyone(forest: OffsetForest, tmp_path: Path) -> None:
    save(forest, tmp_path / "policy.ot", facts={"log": "spring", "rows": np.int64(400)}, estimate={"value": 0.5})
    with zipfile.ZipFile(tmp_path / "policy.ot") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        shapes = {name: np.load(archive.open(name)).shape for name in archive.namelist() if name.endswith(".npy")}
    assert manifest["learner"]["class"] == "OffsetForest"
    assert manifest["learner"]["parameters"]["n_trees"] == "3"
    assert manifest["facts"] == {"log": "spring", "rows": 400}
    assert manifest["estimate"] == {"value": 0.5}
    assert shapes["policy.left.npy"] == (3, 3)
    assert {name: list(shape) for name, shape in shapes.items()} == {
        name: described["shape"] for name, described in manifest["members"].items()
    }


def test_the_same_policy_gives_the_same_bytes(forest: OffsetForest, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(forest, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_it_survives_pickling(forest: OffsetForest, tmp_path: Path) -> None:
    save(forest, tmp_path / "policy.ot")
    saved = load(tmp_path / "policy.ot")
    saved.decide(contexts()[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(saved)).predict(contexts()), forest.predict(contexts()))
    assert repr(saved) == "<SavedPolicy: OffsetForest, 4 actions, 4 features>"


def test_writing_that_is_interrupted_leaves_what_was_there(
    forest: OffsetForest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(forest, tmp_path / "policy.ot")
    before = (tmp_path / "policy.ot").read_bytes()

    def interrupt(file: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_archive, "_seal", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(forest, tmp_path / "policy.ot", facts={"more": 1})
    assert (tmp_path / "policy.ot").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["policy.ot"]


def test_what_cannot_be_saved_is_said(forest: OffsetForest, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save(OffsetTree(), tmp_path / "policy.ot")
    with pytest.raises(ParameterError, match="must be a fitted policy"):
        save(LogisticRegression(), tmp_path / "policy.ot")
    with pytest.raises(ParameterError, match="is a folder"):
        save(forest, tmp_path)
    with pytest.raises(ParameterError, match="in a folder that is there"):
        save(forest, tmp_path / "no" / "policy.ot")
    with pytest.raises(ParameterError, match="fallback must be"):
        save(forest, tmp_path / "policy.ot", fallback="joblib")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="facts must be a mapping"):
        save(forest, tmp_path / "policy.ot", facts=[1])  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "policy.ot")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def bayes() -> OffsetTree:
    return OffsetTree(GaussianNB(), random_state=0).fit(**small_log().arrays())


def test_learners_without_arrays_are_named_with_the_remedies(bayes: OffsetTree, tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match=r"GaussianNB cannot.*fallback='skops'.*fallback='pickle'"):
        save(bayes, tmp_path / "policy.ot")
    assert list(tmp_path.iterdir()) == []


def test_a_pickle_must_be_asked_for_at_both_ends(bayes: OffsetTree, tmp_path: Path) -> None:
    save(bayes, tmp_path / "policy.ot", fallback="pickle")
    with pytest.raises(PolicyFileError, match="allow_pickle=True"):
        load(tmp_path / "policy.ot")
    saved = load(tmp_path / "policy.ot", allow_pickle=True)
    X = contexts()
    np.testing.assert_array_equal(saved.predict(X), bayes.predict(X))
    np.testing.assert_array_equal(saved.predict_proba(X), bayes.predict_proba(X))
    np.testing.assert_array_equal(saved.rank(X, 2), bayes.rank(X, 2))
    mask = np.ones((len(X), 4), dtype=bool)
    np.testing.assert_array_equal(saved.predict(X, mask), bayes.predict(X))
    assert saved.decide(X[0]) == bayes.decide(X[0])
    with pytest.raises(PolicyFileError, match="saved from where it was learned"):
        save(saved, tmp_path / "again.ot")


def test_skops_writes_what_arrays_cannot(bayes: OffsetTree, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    save(bayes, tmp_path / "policy.ot", fallback="skops")
    with pytest.raises(PolicyFileError, match=r"must be trusted by name: .*OffsetTree.*trusted="):
        load(tmp_path / "policy.ot")
    with zipfile.ZipFile(tmp_path / "policy.ot") as archive:
        types = skops.get_untrusted_types(data=archive.read("policy.skops"))
    saved = load(tmp_path / "policy.ot", trusted=types)
    np.testing.assert_array_equal(saved.predict(contexts()), bayes.predict(contexts()))
