"""The offset forest: what its votes are, what its trees are, and that it is better than one of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from offsettree import ActionTree, OffsetForest, OffsetTree, simulate_log
from offsettree.exceptions import FeatureError, OffsetTreeError, OffsetTreeWarning, ParameterError
from offsettree.learners import Costing, HistogramTree

LEARNERS: dict[str, Any] = {
    "default": None,
    "histogram": HistogramTree(max_depth=3),
    "logistic": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=3),
    "neighbours": Costing(KNeighborsClassifier(5), n_draws=2),
    "bayes": GaussianNB(),
}


def make_log(n_actions: int = 5, n_rows: int = 600, seed: int = 0) -> dict[str, Any]:
    """Rewards of 0 and 1; the right action is told by where x lies on a circle."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 3))
    right = right_action(X, n_actions)
    action = random.randint(n_actions, size=n_rows)
    reward = (random.random_sample(n_rows) < np.where(action == right, 0.9, 0.2)).astype(float)
    return {"X": X, "action": action, "reward": reward, "propensity": np.full(n_rows, 1 / n_actions)}


def right_action(X: NDArray[np.float64], n_actions: int) -> NDArray[np.intp]:
    angle = np.arctan2(X[:, 0], X[:, 1]) / (2 * np.pi) + 0.5
    return np.minimum(angle * n_actions, n_actions - 1).astype(np.intp)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_votes_are_those_of_the_trees_and_ties_go_to_the_first(learner: str) -> None:
    log = make_log()
    forest = OffsetForest(LEARNERS[learner], n_trees=4, random_state=0).fit(**log)
    X = np.random.RandomState(1).normal(size=(200, 3))
    answers = np.array([tree.predict(X) for tree in forest.estimators_])
    counts = (answers[:, :, np.newaxis] == forest.actions_).sum(axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), counts / 4)
    expected = forest.actions_[counts.argmax(axis=1)]
    np.testing.assert_array_equal(forest.predict(X), expected)
    n_asked = 30 if forest.compiled_ else 5
    assert [forest.decide(x) for x in X[:n_asked]] == expected[:n_asked].tolist()
    best_two = np.sort(counts, axis=1)[:, -2:]
    assert (best_two[:, 0] == best_two[:, 1]).any()  # some ties there were
    assert (forest.compiled_ is None) == (learner in ("neighbours", "bayes"))


@pytest.mark.parametrize("learner", LEARNERS)
def test_its_trees_are_offset_trees_that_work_alone(learner: str) -> None:
    log = make_log()
    names = np.array(["e", "d", "c", "b", "a"])
    forest = OffsetForest(LEARNERS[learner], n_trees=3, actions=names, random_state=0)
    forest.fit(**log | {"action": names[log["action"]]})
    for tree in forest.estimators_:
        assert isinstance(tree, OffsetTree)
        assert tree.actions_.tolist() == names.tolist()
        assert tree.offset_ == forest.offset_ == pytest.approx(log["reward"].mean())
        assert tree.n_features_in_ == 3
        assert len(tree.estimators_) == len(tree.node_rows_) == 4
        assert 0 < tree.score(**log | {"action": names[log["action"]]}) <= 1
        assert tree.decide(log["X"][0]) == tree.predict(log["X"][:1])[0]
        again = pickle.loads(pickle.dumps(tree))
        np.testing.assert_array_equal(again.predict(log["X"]), tree.predict(log["X"]))


def test_a_clone_of_one_of_its_trees_learns_as_the_tree_did() -> None:
    log = make_log()
    forest = OffsetForest(n_trees=2, actions=range(6), path_filter=0.1, random_state=0)
    with pytest.warns(OffsetTreeWarning, match="never logged"):
        forest.fit(**log)
    tree = clone(forest.estimators_[0])
    assert tree.estimator.random_cuts
    assert (tree.offset, tree.path_filter, list(tree.actions)) == (forest.offset_, 0.1, list(range(6)))
    with pytest.warns(OffsetTreeWarning, match="never logged"):
        assert tree.fit(**log).tree_ == forest.estimators_[0].tree_


@pytest.mark.parametrize(
    ("learner", "bootstrap"), [("default", False), ("default", True), ("logistic", True), ("neighbours", False)]
)
def test_jobs_change_nothing(learner: str, bootstrap: bool) -> None:
    log = make_log(n_rows=300)
    one, two = (
        OffsetForest(LEARNERS[learner], n_trees=4, bootstrap=bootstrap, n_jobs=n_jobs, random_state=0).fit(**log)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(log["X"]), two.predict_proba(log["X"]))
    assert one.oob_value_ == two.oob_value_
    for here, there in zip(one.estimators_, two.estimators_, strict=True):
        assert here.tree_ == there.tree_
        np.testing.assert_array_equal(here.node_rows_, there.node_rows_)
        if learner == "default":
            np.testing.assert_array_equal(here.compiled_.nodes, there.compiled_.nodes)


@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-2.0, 6.0)])
def test_the_rows_left_out_tell_the_value(reward_range: tuple[float, float]) -> None:
    low, high = reward_range
    log = make_log(n_actions=4, n_rows=4000)
    log["reward"] = low + (high - low) * log["reward"]
    forest = OffsetForest(n_trees=20, bootstrap=True, reward_range=reward_range, random_state=0).fit(**log)
    X = np.random.RandomState(1).normal(size=(20_000, 3))
    right = (forest.predict(X) == right_action(X, 4)).mean()
    value = low + (high - low) * (0.2 + 0.7 * right)
    assert forest.oob_value_ is not None
    assert forest.oob_value_ == pytest.approx(value, abs=0.04 * (high - low))
    assert right > 0.9
    assert clone(forest).set_params(bootstrap=False).fit(**log).oob_value_ is None


def test_the_rows_left_out_are_judged_by_trees_that_did_not_see_them() -> None:
    """Of rewards that are noise a memorising learner makes a perfect policy on the log, and of average value beyond."""
    random = np.random.RandomState(0)
    X, action = random.normal(size=(2000, 4)), random.randint(2, size=2000)
    reward = random.randint(2, size=2000).astype(float)
    memory = HistogramTree(max_depth=40)
    forest = OffsetForest(memory, n_trees=15, bootstrap=True, random_state=0)
    forest.fit(X, action, reward=reward, propensity=0.5)
    assert forest.score(X, action, reward=reward, propensity=0.5) > 0.9
    assert forest.oob_value_ == pytest.approx(0.5, abs=0.05)
    one_row = OffsetForest(n_trees=2, bootstrap=True, offset=0.5, actions=[0, 1], random_state=0)
    with pytest.warns(OffsetTreeWarning, match="never logged"):
        assert one_row.fit(X[:1], [0], reward=[1.0], propensity=0.5).oob_value_ is None


@pytest.mark.parametrize("tree", ["random", "learned", "balanced", "similar", "pairs", "ActionTree"])
def test_trees_over_the_actions_of_every_kind(tree: Any) -> None:
    log = make_log()
    shape = {"pairs": ((0, (3, 1)), (2, 4)), "ActionTree": ActionTree.balanced(5)}.get(tree, tree)
    forest = OffsetForest(n_trees=6, tree=shape, random_state=0).fit(**log)
    shapes = {str(one.tree_.to_pairs()) for one in forest.estimators_}
    assert len(shapes) > 3 if tree in ("random", "learned") else len(shapes) == 1
    assert len({one.predict(log["X"]).tobytes() for one in forest.estimators_}) == 6
    assert forest.score(**log) > 0.6


def test_learned_trees_differ_as_much_as_asked() -> None:
    log = make_log(n_actions=8)
    shapes = {
        randomize: {
            str(one.tree_.to_pairs())
            for one in OffsetForest(n_trees=5, randomize=randomize, random_state=0).fit(**log).estimators_
        }
        for randomize in (0.0, 1.0)
    }
    assert len(shapes[0.0]) == 1
    assert len(shapes[1.0]) == 5


@pytest.mark.parametrize("learner", ["default", "logistic"])
def test_two_actions_and_one_that_was_never_logged(learner: str) -> None:
    log = make_log(n_actions=2)
    forest = OffsetForest(LEARNERS[learner], n_trees=3, random_state=0).fit(**log)
    assert forest.predict_proba(log["X"]).shape == (600, 2)
    more = OffsetForest(LEARNERS[learner], n_trees=3, actions=[9, 0, 1], random_state=0)
    with pytest.warns(OffsetTreeWarning, match="never logged"):
        more.fit(**log)
    assert more.predict_proba(log["X"]).shape == (600, 3)
    one = OffsetForest(LEARNERS[learner], n_trees=3, actions=[0, 1], random_state=0)
    with pytest.warns(OffsetTreeWarning, match="never logged"):
        one.fit(**log | {"action": np.zeros(600, int)})
    assert set(one.predict(log["X"])) <= {0, 1}


def make_frame(library: Any, n_rows: int = 800, seed: int = 0) -> tuple[Any, NDArray[Any]]:
    random = np.random.RandomState(seed)
    taste = random.randint(4, size=n_rows)
    colour = np.array(["red", "green", "blue", "grey"], dtype=object)[taste]
    gone = random.random_sample(n_rows) < 0.05
    data = {"colour": [None if g else c for c, g in zip(colour, gone, strict=True)], "x": random.normal(size=n_rows)}
    return library(data), taste % 3


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_with_names_need_no_encoding(library: Any, bootstrap: bool) -> None:
    frame, right = make_frame(library)
    log = simulate_log(np.arange(len(right))[:, np.newaxis], right, random_state=0)
    forest = OffsetForest(n_trees=8, bootstrap=bootstrap, random_state=0)
    forest.fit(frame, log.action, reward=log.reward, propensity=log.propensity)
    new, right = make_frame(library, 300, seed=1)
    chosen = forest.predict(new)
    assert (chosen == right).mean() > 0.9
    rows = new[:20].to_dict("records") if library is pd.DataFrame else new[:20].to_dicts()
    assert [forest.decide(row) for row in rows] == chosen[:20].tolist()
    np.testing.assert_array_equal(forest.predict_proba(new).argmax(axis=1), chosen)
    answers = np.array([tree.predict(new) for tree in forest.estimators_])
    np.testing.assert_allclose(forest.predict_proba(new)[:, 1], (answers == 1).mean(axis=0))
    with pytest.raises(FeatureError, match="frame"):
        forest.predict(np.zeros((2, 2)))


@pytest.mark.parametrize("learner", ["default", "logistic"])
def test_sparse_rows_are_decided_as_dense_ones(learner: str) -> None:
    log = make_log()
    X = np.where(np.abs(log["X"]) < 0.5, 0, log["X"])
    # Without linear scores, which a dense X has and a sparse one has not.
    forest = OffsetForest(LEARNERS[learner], n_trees=3, tree="random", linear_scores=False, random_state=0)
    forest.fit(**log | {"X": X})
    sparse = clone(forest).fit(**log | {"X": sp.csr_matrix(X)})
    np.testing.assert_array_equal(forest.predict(sp.csr_matrix(X)), forest.predict(X))
    np.testing.assert_array_equal(sparse.predict_proba(sp.csr_array(X)), sparse.predict_proba(X))
    assert (sparse.predict(X) == forest.predict(X)).mean() > (0.99 if learner == "default" else 0.95)


@pytest.mark.parametrize("learner", ["default", "logistic"])
@pytest.mark.parametrize("path_filter", ["out_of_fold", 0.1, 1.0])
def test_other_path_filters_train_other_trees(path_filter: Any, learner: str) -> None:
    log = make_log()
    forest = OffsetForest(LEARNERS[learner], n_trees=2, path_filter=path_filter, random_state=0).fit(**log)
    assert forest.leaf_scale_ is None
    assert forest.score(**log) > 0.3
    if path_filter == 1.0:
        heard = np.count_nonzero(log["reward"] != forest.offset_)
        assert all(tree.node_rows_[0] == heard for tree in forest.estimators_)


def test_the_reward_range_leaves_no_trace() -> None:
    log = make_log()
    forest = OffsetForest(n_trees=5, bootstrap=True, random_state=0).fit(**log)
    other = clone(forest).set_params(reward_range=(-3.0, 5.0)).fit(**log | {"reward": 8 * log["reward"] - 3})
    np.testing.assert_array_equal(forest.predict_proba(log["X"]), other.predict_proba(log["X"]))
    assert forest.oob_value_ is not None
    assert other.oob_value_ == pytest.approx(8 * forest.oob_value_ - 3)
    assert other.leaf_scale_ == forest.leaf_scale_


def test_the_offset_may_be_a_regressor() -> None:
    log = make_log()
    forest = OffsetForest(n_trees=2, offset=LinearRegression(), random_state=0).fit(**log)
    assert 0 < forest.offset_ < 1
    assert forest.estimators_[0].offset == forest.offset_


def test_leaves_are_large_where_rewards_are_noise() -> None:
    log = make_log(n_actions=4, n_rows=2000)
    noise = log | {"reward": np.random.RandomState(0).permutation(log["reward"])}
    scale = {
        name: OffsetForest(n_trees=2, random_state=0).fit(**data).leaf_scale_
        for name, data in (("clear", log), ("noise", noise))
    }
    assert scale["clear"] is not None
    assert scale["noise"] is not None
    assert scale["clear"] < scale["noise"]
    fixed = HistogramTree(leaf_scale=3.0)
    assert OffsetForest(fixed, n_trees=2, random_state=0).fit(**log).leaf_scale_ == 3.0
    assert OffsetForest(LogisticRegression(), n_trees=2, random_state=0).fit(**log).leaf_scale_ is None


def test_a_fit_that_fails_leaves_the_old_forest() -> None:
    log = make_log()
    forest = OffsetForest(n_trees=2, random_state=0).fit(**log)
    expected = forest.predict_proba(log["X"])
    for change in ({"n_trees": 0}, {"estimator": HistogramTree(max_depth=0)}):
        before = forest.get_params(deep=False)
        with pytest.raises(ParameterError):
            forest.set_params(**change).fit(**make_log(n_actions=3, seed=1))
        forest.set_params(**{name: before[name] for name in change})
        np.testing.assert_array_equal(forest.predict_proba(log["X"]), expected)


def test_it_is_better_than_a_single_tree_on_digits() -> None:
    X, digit = load_digits(return_X_y=True)
    log = simulate_log(X, digit, random_state=0)
    train, test = log.split(test_size=0.3, random_state=0)
    single = OffsetTree(random_state=0).fit(**train.arrays()).score(**test.arrays())
    forest = OffsetForest(n_trees=20, random_state=0).fit(**train.arrays()).score(**test.arrays())
    assert forest > single + 0.1


def test_votes_are_counted_in_pieces_where_there_are_many_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log()
    forests = [OffsetForest(LEARNERS[name], n_trees=3, bootstrap=True, random_state=0) for name in ("default", "bayes")]
    whole = [(forest.fit(**log).predict(log["X"]), forest.oob_value_) for forest in forests]
    monkeypatch.setattr("offsettree.reductions.offset_forest.VOTES_AT_ONCE", 64)
    for forest, (expected, value) in zip(forests, whole, strict=True):
        np.testing.assert_array_equal(forest.fit(**log).predict(log["X"]), expected)
        assert forest.oob_value_ == value


@pytest.mark.parametrize(
    "parameters",
    [
        *({"n_trees": value} for value in (0, -1, 2.5, None, True)),
        *({"randomize": value} for value in (-0.1, 1.1, "much", np.nan)),
        *({"bootstrap": value} for value in (None, "yes", 3)),
        *({"path_filter": value} for value in ("none", 2, -1)),
        *({"offset": value} for value in ("middle", 2)),
        *({"tree": value} for value in ("tall", 3)),
        *({"estimator": value} for value in (3, LinearRegression(), HistogramTree, HistogramTree(leaf_scale=-1))),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    (name,) = parameters
    with pytest.raises(OffsetTreeError, match="leaf_scale" if "leaf_scale" in str(parameters) else name):
        OffsetForest(**{"n_trees": 1} | parameters).fit(**make_log(n_rows=50))


def test_a_path_filter_of_zero_is_the_one_in_sample() -> None:
    log = make_log()
    by_name = OffsetForest(n_trees=3, random_state=0).fit(**log)
    by_number = OffsetForest(n_trees=3, path_filter=0, random_state=0).fit(**log)
    np.testing.assert_array_equal(by_name.predict_proba(log["X"]), by_number.predict_proba(log["X"]))


def test_rewards_that_are_all_equal_are_told_of() -> None:
    log = make_log()
    with pytest.warns(OffsetTreeWarning, match="every reward equals the offset"):
        OffsetForest(n_trees=2, random_state=0).fit(**log | {"reward": np.full(len(log["X"]), 0.4)})
