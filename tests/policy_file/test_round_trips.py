"""What is saved and loaded decides as before, whatever the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from offsettree import (
    ConstantPolicy,
    Costing,
    DoublyRobust,
    EpsilonGreedy,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    OnlineOffsetTree,
    PolicySearch,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
    load,
    save,
    simulate_log,
)
from offsettree.base import BasePolicy
from offsettree.learners import make_learner
from offsettree.policy_file.saved import SavedPolicy
from offsettree.reading.cannot_flatten import name_of
from offsettree.selection import default_candidates
from tests.models.plain import asked
from tests.policy_file.forgery import UnvotedBoosting, contexts, small_log, some_sets
from tests.suites.policies import POLICIES, make_log

SAVED = {name: policy for name, policy in POLICIES.items() if name != "offset tree, not compiled"}
ONLINE = (
    "online offset tree",
    "online offset tree, hashed",
    "online reward regression",
    "online reward regression, hashed",
    "banditron",
)

VARIANTS: dict[str, BasePolicy] = {
    "boosted rewards": UnvotedBoosting(n_trees=20, random_state=0),
    "boosted rewards and votes": RewardBoosting(n_trees=20, random_state=0),
    "policy tree": PolicyTree(random_state=0),
    "contests of boosting": OffsetTree(HistGradientBoostingClassifier(max_iter=4), random_state=0),
    "forest of boosting": OffsetForest(
        make_learner("boosting").set_params(histgradientboostingclassifier__max_iter=3), n_trees=2, random_state=0
    ),
    "contests of costing": OffsetTree(Costing(DecisionTreeClassifier(max_depth=3), n_draws=3), random_state=0),
    "contests of bagging": OffsetTree(BaggingClassifier(n_estimators=3, max_features=0.5), random_state=0),
    "contests without weights": OffsetTree(LinearSVC(), random_state=0),
    "forests of trees": OffsetForest(DecisionTreeClassifier(max_depth=3), n_trees=3, random_state=0),
    "forest without scores": OffsetForest(n_trees=4, linear_scores=False, random_state=0),
    "shared logistic": OffsetTree(LogisticRegression(), node_models="shared", random_state=0),
    "shared boosting of rewards": RewardRegression(
        make_learner("boosting", "regressor").set_params(histgradientboostingregressor__max_iter=4), per_action=False
    ),
    "shared boosting of one nominal action": RewardRegression(
        HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5), per_action=False, actions=range(5)
    ),
    "shared ridge": RewardRegression(make_learner("ridge", "regressor"), per_action=False),
    "trees of rewards": RewardRegression(DecisionTreeRegressor(max_depth=4)),
    "scaled": OffsetTree(make_pipeline(MinMaxScaler(), LogisticRegression())),
    "draws of a multiclass tree": ImportanceWeighted(n_draws=3, all_pairs=False, random_state=0),
    "multiclass logistic": ImportanceWeighted(make_learner("logistic"), n_draws=None, all_pairs=False),
    "multiclass boosting": ImportanceWeighted(
        HistGradientBoostingClassifier(max_iter=3), n_draws=None, all_pairs=False
    ),
    "pairs of logistic": ImportanceWeighted(make_learner("logistic"), n_draws=None, random_state=0),
    "doubly robust by boosting": DoublyRobust(RandomForestRegressor(3), "boosting", random_state=0),
    "doubly robust by trees": DoublyRobust(DecisionTreeRegressor(max_depth=3), Ridge(), random_state=0),
    "doubly robust by forests": DoublyRobust(RandomForestRegressor(5), RandomForestRegressor(3), random_state=0),
}


def round_trip(policy: Any, folder: Path, **more: Any) -> SavedPolicy:
    save(policy, folder / "policy.ot", **more)
    return load(folder / "policy.ot")


def assert_decides_as(saved: SavedPolicy, policy: Any, X: Any, *, masks: bool = True) -> None:
    """The same decisions in every form, live and loaded, as by asking the learners themselves.

    Linear sums may be rounded otherwise: normal numbers leave no ties.
    """
    live, policy = policy, asked(policy)
    expected = policy.predict(X)
    np.testing.assert_array_equal(live.predict(X), expected)
    np.testing.assert_array_equal(saved.actions_, policy.actions_)
    assert saved.predict(X).dtype == expected.dtype
    np.testing.assert_array_equal(saved.predict(X), expected)
    np.testing.assert_array_equal(saved.predict_proba(X), policy.predict_proba(X))
    rows = range(12)
    one = X.iloc if hasattr(X, "iloc") else X
    assert [saved.decide(one[row]) for row in rows] == expected[:12].tolist()
    assert type(saved.decide(one[0])) is type(expected[0].item())
    if masks:
        n = len(policy.actions_)
        mask = some_sets(X.shape[0], n)
        np.testing.assert_array_equal(saved.predict(X, mask), policy.predict(X, mask))
        np.testing.assert_array_equal(saved.predict_proba(X, mask), policy.predict_proba(X, mask))
        assert [saved.decide(one[row], mask[row]) for row in rows] == policy.predict(X, mask)[:12].tolist()
        np.testing.assert_array_equal(saved.rank(X, n), policy.rank(X, n))
        np.testing.assert_array_equal(live.predict(X, mask), policy.predict(X, mask))
        np.testing.assert_array_equal(live.rank(X, n), policy.rank(X, n))


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("name", SAVED)
def test_every_policy_decides_as_before(name: str, tmp_path: Path) -> None:
    policy = clone(SAVED[name])
    policy.fit(**make_log(policy, ["red", "blue", "green"]).arrays())
    saved = round_trip(policy, tmp_path)
    assert_decides_as(saved, policy, contexts(), masks=name not in ONLINE)
    X = sp.csr_matrix(np.where(np.abs(contexts()) < 0.4, 0, contexts()))
    if "shared" not in name and name != "doubly robust":  # the trees of these take rows that are all there
        np.testing.assert_array_equal(saved.predict(X), asked(policy).predict(X))
        np.testing.assert_array_equal(policy.predict(X), asked(policy).predict(X))


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_learners_and_pipelines_are_folded_into_arrays(name: str, missing: float, tmp_path: Path) -> None:
    policy = clone(VARIANTS[name])
    if missing and name in ("contests without weights", "shared logistic", "doubly robust by trees"):
        pytest.skip("it takes no missing values")
    if missing and name in ("scaled",):
        policy.set_params(estimator=make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()))
    policy.fit(**small_log(missing=missing).arrays())
    assert_decides_as(round_trip(policy, tmp_path), policy, contexts(missing=missing))


def quick(policy: BasePolicy) -> BasePolicy:
    """The same kind of policy, of fewer trees."""
    policy = clone(policy)
    few = {"n_estimators": 5, "n_trees": 3, "max_iter": 5}
    for name in policy.get_params():
        setting = name.rpartition("__")[2]
        if setting in few and "logistic" not in name:
            policy.set_params(**{name: few[setting]})
    if isinstance(policy, DoublyRobust):
        policy.set_params(estimator=RandomForestRegressor(5))
    seeded = {"random_state": 0} if "random_state" in policy.get_params(deep=False) else {}
    return policy.set_params(**seeded)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "policy"), default_candidates(), ids=[name for name, _ in default_candidates()])
@pytest.mark.parametrize("kind", ["array", "missing", "pandas"])
def test_every_default_candidate_is_saved_as_arrays(name: str, policy: BasePolicy, kind: str, tmp_path: Path) -> None:
    policy = quick(policy)
    if kind == "pandas" and name == "doubly robust":
        policy.set_params(
            estimator=make_learner("forest", "regressor").set_params(randomforestregressor__n_estimators=5)
        )
    X: Any = mixed_frame(0) if kind == "pandas" else None
    log = (
        small_log(missing=0.1 if kind == "missing" else 0.0)
        if X is None
        else simulate_log(X, right_of(X), random_state=0)
    )
    policy.fit(**log.arrays())
    saved = round_trip(policy, tmp_path)
    X_new: Any = mixed_frame(1) if kind == "pandas" else contexts(missing=0.1 if kind == "missing" else 0.0)
    expected = asked(policy).predict(X_new)
    np.testing.assert_array_equal(saved.predict(X_new), expected)
    np.testing.assert_array_equal(policy.predict(X_new), expected)
    row = X_new.iloc[3].to_dict() if kind == "pandas" else X_new[3]
    assert saved.decide(row) == policy.decide(row) == expected[3]


def mixed_frame(seed: int, n_rows: int = 400) -> pd.DataFrame:
    random = np.random.RandomState(seed)
    frame = pd.DataFrame(random.normal(size=(n_rows, 2)), columns=["age", "visits"])
    frame.loc[random.random_sample(n_rows) < 0.1, "visits"] = np.nan
    colours = ["red", "blue", "green", None] if seed == 0 else ["red", "blue", "never seen", None]
    frame["colour"] = random.choice(np.array(colours, dtype=object), n_rows)
    return frame


def right_of(frame: pd.DataFrame) -> Any:
    return (frame["age"] > 0).to_numpy().astype(int) + (frame["colour"] == "red").to_numpy()


@pytest.mark.parametrize(
    "policy", [OffsetForest(n_trees=4), RewardBoosting(n_trees=20), PolicyTree(), ConstantPolicy()], ids=name_of
)
def test_nominal_columns_of_polars_frames_are_known_again(policy: BasePolicy, tmp_path: Path) -> None:
    frame = pl.from_pandas(mixed_frame(0))
    log = simulate_log(frame, right_of(mixed_frame(0)), random_state=0)
    policy = clone(policy).fit(**log.arrays())
    saved = round_trip(policy, tmp_path)
    X_new = pl.from_pandas(mixed_frame(1))
    plain = asked(policy)
    mask = some_sets(len(X_new), 3)
    for other in (policy, saved):
        np.testing.assert_array_equal(other.predict(X_new), plain.predict(X_new))
        np.testing.assert_array_equal(other.predict(X_new, mask), plain.predict(X_new, mask))
        np.testing.assert_array_equal(other.rank(X_new, 3), plain.rank(X_new, 3))
        assert other.decide(X_new.row(5, named=True)) == plain.decide(X_new.row(5, named=True))


def test_a_search_keeps_what_it_found_out(tmp_path: Path) -> None:
    candidates = [("ridge", RewardRegression(Ridge())), ("tree", OffsetTree())]
    search = PolicySearch(candidates, cv=2, random_state=0).fit(**small_log().arrays())
    saved = round_trip(search, tmp_path)
    assert_decides_as(saved, search, contexts())
    found = saved.manifest["training"]["search"]
    assert found["chosen"] == search.best_name_
    assert [row["name"] for row in found["results"]] == ["ridge", "tree"]
    assert saved.manifest["estimate"]["value"] == pytest.approx(search.estimate_.value)


def test_an_explorer_saves_its_policy(tmp_path: Path) -> None:
    log = small_log()
    policy = OnlineOffsetTree(actions=range(4)).fit(**log.arrays())
    explorer = EpsilonGreedy(policy, epsilon=0.3, random_state=0)
    saved = round_trip(explorer, tmp_path)
    np.testing.assert_array_equal(saved.predict(contexts()), policy.predict(contexts()))
    assert saved.manifest["training"]["explored_by"]["parameters"]["epsilon"] == "0.3"
    around = EpsilonGreedy(saved, epsilon=0.0, random_state=0)
    assert around.choose(contexts()[0]) == (policy.decide(contexts()[0]), 1.0)


def test_a_loaded_policy_can_be_saved_again(tmp_path: Path) -> None:
    policy = OffsetTree(random_state=0).fit(**small_log().arrays())
    saved = round_trip(policy, tmp_path, facts={"log": "first"})
    before = (tmp_path / "policy.ot").read_bytes()
    save(saved, tmp_path / "again.ot")
    assert (tmp_path / "again.ot").read_bytes() == before
    save(saved, tmp_path / "again.ot", facts={"log": "second"}, estimate={"value": 0.5})
    again = load(tmp_path / "again.ot")
    assert (again.manifest["facts"], again.manifest["estimate"]) == ({"log": "second"}, {"value": 0.5})


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_labels_keep_their_type(dtype: Any, tmp_path: Path) -> None:
    log = small_log(n_actions=3)
    policy = OffsetTree(random_state=0).fit(
        log.X, log.action.astype(dtype), reward=log.reward, propensity=log.propensity
    )
    assert round_trip(policy, tmp_path).predict(log.X).dtype == policy.predict(log.X).dtype
