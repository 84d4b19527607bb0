"""The flat model that a live policy makes of itself at its first decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree import (
    ConstantPolicy,
    DoublyRobust,
    OffsetForest,
    OffsetTree,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
    load,
    save,
)
from offsettree.exceptions import FeatureError
from offsettree.learners.encoding import NominalEncoder


def make_log(n_rows: int = 300) -> dict[str, Any]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, 3))
    action = random.integers(0, 3, n_rows)
    reward = (action == (X[:, 0] > 0) + (X[:, 1] > 0)).astype(float)
    return {"X": X, "action": action, "reward": reward, "propensity": np.full(n_rows, 1 / 3)}


@pytest.mark.parametrize(
    "policy",
    [
        OffsetTree(make_pipeline(StandardScaler(), LogisticRegression())),
        RewardRegression(make_pipeline(StandardScaler(), Ridge())),
    ],
)
def test_missing_values_that_a_later_step_refuses_are_refused(policy: Any) -> None:
    log = make_log()
    policy.fit(**log)
    assert policy.compiled_ is not None
    row = np.array([0.1, np.nan, 0.2])
    with pytest.raises(ValueError, match="NaN"):
        policy.predict(row[np.newaxis])
    with pytest.raises(ValueError, match="NaN"):
        policy.decide(row)
    with pytest.raises(ValueError, match="NaN"):
        policy.rank(row[np.newaxis], 2)


class DecidesMeanwhile(RewardRegression):
    """Another thread decides while it is fitted again, before what it learned is in place."""

    def _fit(self, X: Any, *rest: Any) -> None:
        if hasattr(self, "estimators_"):
            self.predict(X[:1])
        super()._fit(X, *rest)


def test_who_decides_during_a_fit_does_not_keep_the_former_model() -> None:
    log = make_log()
    policy = DecidesMeanwhile(Ridge()).fit(**log)
    policy.predict(log["X"])
    log["reward"] = 1 - log["reward"]
    policy.fit(**log)
    np.testing.assert_array_equal(policy.predict(log["X"]), policy.actions_[policy._ask(log["X"])])


@pytest.mark.parametrize("policy", [RewardBoosting(random_state=0, n_trees=5), PolicyTree(random_state=0)])
def test_values_of_any_kind_are_decided_on(policy: Any) -> None:
    log = make_log()
    numbers = log["X"]
    frame = pd.DataFrame({"a": numbers[:, 0], "b": pd.cut(numbers[:, 1], [-9.0, -1.0, 0.0, 1.0, 9.0])})
    policy.fit(**log | {"X": frame})
    named = frame.assign(b=frame["b"].astype(str))
    alike = type(policy)(**policy.get_params()).fit(**log | {"X": named})
    mask = np.random.default_rng(1).random((len(frame), 3)) < 0.6
    mask[:, 0] = True
    np.testing.assert_array_equal(policy.predict(frame), alike.predict(named))
    np.testing.assert_array_equal(policy.predict(frame, available=mask), alike.predict(named, available=mask))
    np.testing.assert_array_equal(policy.rank(frame, 3), alike.rank(named, 3))


def test_a_subclass_that_chooses_by_itself_may_ask_the_class_it_comes_from() -> None:
    class Watched(ConstantPolicy):
        def _choose(self, X: Any) -> Any:
            return super()._choose(X)

    log = make_log()
    mask = np.ones((300, 3), dtype=bool)
    plain, watched = ConstantPolicy().fit(**log), Watched().fit(**log)
    mask[:, plain.actions_.tolist().index(plain.action_)] = False
    np.testing.assert_array_equal(watched.predict(log["X"]), plain.predict(log["X"]))
    np.testing.assert_array_equal(watched.predict(log["X"], mask), plain.predict(log["X"], mask))


def test_columns_may_have_numbers_as_names() -> None:
    log = make_log()
    frame = pd.DataFrame({0: log["X"][:, 0], 1: np.where(log["X"][:, 1] > 0, "x", "y")})
    policy = RewardRegression(make_pipeline(NominalEncoder(impute=True), Ridge())).fit(**log | {"X": frame})
    assert (policy.predict(frame) == policy.actions_[policy._ask(frame)]).all()


def test_each_tree_of_a_forest_has_the_sets_that_it_asks_for_alone() -> None:
    log = make_log()
    words = np.random.default_rng(2).choice(list("abcdefghijkl"), 300)
    frame = pd.DataFrame({"a": log["X"][:, 0], "w": words})
    few, many = (
        OffsetForest(n_trees=n, random_state=0).fit(**log | {"X": frame}).compiled_._graph.sets for n in (4, 16)
    )
    assert len(many) < 8 * len(few)


class PrefersTheFirst(RewardRegression):
    """A subclass that predicts rewards of its own."""

    def _scaled_rewards(self, X: Any) -> Any:
        scores = super()._scaled_rewards(X)
        scores[:, 0] = np.inf
        return scores


def test_a_subclass_that_predicts_its_own_rewards_decides_by_them() -> None:
    log = make_log()
    policy = PrefersTheFirst(Ridge()).fit(**log)
    assert set(policy.predict(log["X"])) == {0}
    assert policy.decide(log["X"][0]) == 0


@pytest.mark.parametrize(
    "policy",
    [
        OffsetTree(make_pipeline(NominalEncoder(), SimpleImputer(), LogisticRegression())),
        RewardRegression(make_pipeline(NominalEncoder(), SimpleImputer(), Ridge())),
        DoublyRobust(),
        OffsetForest(n_trees=3),
        PolicyTree(),
        RewardBoosting(n_trees=10),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_numbers_among_objects_are_numbers_live_and_loaded(policy: Any, tmp_path: Any) -> None:
    log = make_log()
    numbers = log["X"][:, 0].copy()
    numbers[3] = np.nan
    word = np.where(log["X"][:, 1] > 0, "x", "y")
    policy.fit(**{**log, "X": pd.DataFrame({"a": numbers, "b": word})})
    save(policy, tmp_path / "policy.ot")
    loaded = load(tmp_path / "policy.ot")
    plain = pd.DataFrame({"a": [np.nan, 1.5, 1.0, -2.0], "b": ["x", "y", None, "z"]})
    objects = plain.assign(a=pd.Series([None, 1.5, True, "-2"], dtype=object))
    expected = policy.predict(plain).tolist()
    assert loaded.predict(plain).tolist() == expected
    assert policy.predict(objects).tolist() == expected
    assert loaded.predict(objects).tolist() == expected
    for each in (policy, loaded):
        assert [each.decide(row) for row in objects.to_dict("records")] == expected
        for dtype in ("datetime64[ns]", "timedelta64[ns]", "complex128"):
            with pytest.raises(FeatureError, match="must hold numbers as it did in fit"):
                each.predict(pd.DataFrame({"a": pd.Series([1, 2]).astype(dtype), "b": ["x", "y"]}))
        for odd in (10**400, "seven", 1j, np.complex128(1j), [1.0]):
            with pytest.raises(FeatureError):
                each.predict(pd.DataFrame({"a": pd.Series([odd, 1.0], dtype=object), "b": ["x", "y"]}))
            with pytest.raises(FeatureError):
                each.decide({"a": odd, "b": "x"})


def test_true_and_one_are_the_same_nominal_value_live_and_loaded(tmp_path: Any) -> None:
    log = make_log()
    values = pd.Series([3 if x > 1 else 2 if x > 0 else 1 if x > -1 else True for x in log["X"][:, 0]], dtype=object)
    frame = pd.DataFrame({"a": log["X"][:, 1], "b": values})
    for policy in (OffsetForest(n_trees=3), RewardRegression(make_pipeline(NominalEncoder(), Ridge()))):
        policy.fit(**{**log, "X": frame})
        save(policy, tmp_path / "policy.ot")
        loaded = load(tmp_path / "policy.ot")
        np.testing.assert_array_equal(loaded.predict(frame), policy.predict(frame))
        rows = frame.to_dict("records")[:20]
        assert [loaded.decide(row) for row in rows] == [policy.decide(row) for row in rows]
