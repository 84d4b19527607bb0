"""A tree that is taught chunk by chunk."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from offsettree import LoggedData, OffsetForest, OffsetTree, simulate_log
from offsettree.exceptions import ActionError, FeatureError, OffsetTreeWarning, ParameterError, PropensityError
from offsettree.learners import ConstantClassifier
from tests.reductions.chunked import PlainGrowth, Tally, Unweighted
from tests.reductions.test_algorithm_2 import as_rows, same_tree
from tests.strategies import LoggedProblem, logged_problems

UNLOGGED = pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
CHUNKS = st.lists(st.floats(0, 1), max_size=5)


def make_log(n_rows: int, seed: int = 0, n_actions: int = 3) -> LoggedData:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 4))
    right = np.digitize(X[:, 0], np.linspace(-1, 1, n_actions - 1) / 2)
    return simulate_log(X, right, random_state=seed, actions=np.arange(n_actions))


def in_chunks(log: LoggedData, size: int) -> list[LoggedData]:
    return [log[begin : begin + size] for begin in range(0, len(log), size)]


@settings(deadline=None, max_examples=40)
@given(logged_problems(), CHUNKS, st.sampled_from(["in_sample", 0.0, 0.5, 1.0]))
def test_chunks_teach_what_a_row_by_row_reading_teaches(case: LoggedProblem, cuts: list[float], filter_: Any) -> None:
    rows = as_rows(case.log.X)
    policy = OffsetTree(Tally(), tree=case.pairs, actions=case.actions, path_filter=filter_)
    plain = PlainGrowth(case.pairs, 0.0 if filter_ == "in_sample" else filter_)
    for here in np.split(np.arange(len(rows)), sorted(round(cut * len(rows)) for cut in cuts)):
        if len(here) == 0:
            continue
        chunk = case.log[here]
        policy.partial_fit(**chunk.arrays())
        plain.learn(list(zip(rows[here], chunk.action, chunk.reward, chunk.propensity, strict=True)), case.pairs)
    for node, v in same_tree(policy, case.pairs).items():
        assert policy.node_rows_[node] == len(plain.shown[v])
        if len({label for _, label, _ in plain.shown[v]}) < 2:
            assert policy.estimators_[node].label == plain.answer(v, None)
            continue
        shown = policy.estimators_[node].shown_
        assert [(x, label) for x, label, _ in shown] == [(x, label) for x, label, _ in plain.shown[v]]
        np.testing.assert_allclose([w for *_, w in shown], [w for *_, w in plain.shown[v]], rtol=1e-12)
    assert policy.predict(case.X_new).tolist() == [plain.predict(x) for x in as_rows(case.X_new)]


def test_chunks_with_stochastic_gradient_are_a_loop_by_hand() -> None:
    policy = OffsetTree(SGDClassifier(random_state=3), tree=((0, 1), 2), actions=[0, 1, 2])
    low, top = SGDClassifier(random_state=3), SGDClassifier(random_state=3)
    heard: dict[Any, list[float]] = {low: [], top: []}

    def teach(classifier: SGDClassifier, rows: Any, label: Any) -> None:
        weight = np.abs(chunk.reward - 0.5)[rows] / chunk.propensity[rows]
        heard[classifier] += weight.tolist()
        scaled = weight / np.mean(heard[classifier])
        classifier.partial_fit(chunk.X[rows], label[rows], classes=[0, 1], sample_weight=scaled)

    log = make_log(600)
    for chunk in in_chunks(
        LoggedData(log.X, log.action, log.reward, np.linspace(0.2, 0.9, len(log))),
        200,
    ):
        policy.partial_fit(**chunk.arrays())
        succeeded = chunk.reward >= 0.5
        teach(low, chunk.action < 2, ((chunk.action == 0) == succeeded).astype(int))
        still_chosen = (chunk.action == 2) | (np.where(low.predict(chunk.X) == 1, 0, 1) == chunk.action)
        teach(top, still_chosen, ((chunk.action < 2) == succeeded).astype(int))
    for ours, theirs in zip(policy.estimators_, (top, low), strict=True):
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    expected = np.where(top.predict(log.X) == 0, 2, np.where(low.predict(log.X) == 1, 0, 1))
    np.testing.assert_array_equal(policy.predict(log.X), expected)


def test_one_chunk_is_a_fit_where_the_estimator_sees_no_difference() -> None:
    log = make_log(500, n_actions=7)
    fitted, taught = OffsetTree(GaussianNB()).fit(**log.arrays()), OffsetTree(GaussianNB()).partial_fit(**log.arrays())
    np.testing.assert_array_equal(taught.node_rows_, fitted.node_rows_)
    np.testing.assert_array_equal(taught.predict(log.X), fitted.predict(log.X))


@pytest.mark.parametrize("size", [10, 200])
def test_the_value_grows_with_the_log(size: int) -> None:
    log, test = make_log(2000), make_log(3000, seed=1)
    policy = OffsetTree(SGDClassifier("log_loss", alpha=0.01), actions=[0, 1, 2], random_state=0)
    values: list[float] = []
    for begin, end in ((0, 30), (30, 2000)):
        for chunk in in_chunks(log[begin:end], size):
            policy.partial_fit(**chunk.arrays())
        values.append(policy.score(**test.arrays()))
    assert values[1] > max(0.8, values[0] + 0.1)


@pytest.mark.parametrize("estimator", [MLPClassifier((5,)), BernoulliNB(), SGDClassifier(), Unweighted()])
def test_other_estimators_learn_from_single_rows_and_survive_pickling(estimator: Any) -> None:
    log = make_log(40)
    policy = OffsetTree(estimator, actions=[0, 1, 2], random_state=0)
    for row, chunk in enumerate(in_chunks(log, 1)):
        policy.partial_fit(**chunk.arrays())
        if row == 20:
            twin = pickle.loads(pickle.dumps(policy))
        elif row > 20:
            twin.partial_fit(**chunk.arrays())
    np.testing.assert_array_equal(twin.predict(log.X), policy.predict(log.X))
    np.testing.assert_array_equal(twin.node_rows_, policy.node_rows_)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_sparse_chunks_are_the_same_as_dense_ones(form: Any) -> None:
    dense, sparse = (OffsetTree(BernoulliNB(), actions=[0, 1, 2]) for _ in range(2))
    for chunk in in_chunks(make_log(300), 60):
        X = np.where(np.abs(chunk.X) < 0.5, 0, chunk.X)
        dense.partial_fit(X, chunk.action, reward=chunk.reward, propensity=chunk.propensity)
        sparse.partial_fit(form(X), chunk.action, reward=chunk.reward, propensity=chunk.propensity)
    np.testing.assert_array_equal(sparse.predict(form(X)), dense.predict(X))


def test_frames_of_numbers_are_arrays_whose_names_are_kept() -> None:
    policy, expected = (OffsetTree(SGDClassifier(random_state=0), actions=[0, 1, 2]) for _ in range(2))
    for chunk in in_chunks(make_log(300), 60):
        frame = pd.DataFrame(chunk.X, columns=["u", "v", "w", "z"])
        policy.partial_fit(frame, chunk.action, reward=chunk.reward, propensity=chunk.propensity)
        expected.partial_fit(**chunk.arrays())
    np.testing.assert_array_equal(policy.predict(frame), expected.predict(chunk.X))
    with pytest.raises(FeatureError, match="feature names"):
        policy.partial_fit(frame[["z", "u", "v", "w"]], chunk.action, reward=chunk.reward, propensity=0.5)


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier(), make_pipeline(StandardScaler(), SGDClassifier())])
def test_who_cannot_be_taught_in_chunks_has_no_such_method(estimator: Any) -> None:
    policy = OffsetTree(estimator)
    assert not hasattr(policy, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as caught:
        policy.partial_fit([[0.0]], [0], reward=[1], propensity=1)
    assert "such as SGDClassifier" in str(caught.value.__cause__)
    assert hasattr(policy.set_params(estimator=SGDClassifier()), "partial_fit")


def test_rewards_propensities_and_masks_are_routed() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        requests = OffsetTree(SGDClassifier()).get_metadata_routing().partial_fit.requests
    assert requests == {"reward": True, "propensity": True, "available": True}


def test_rows_are_shown_by_their_weight_where_weights_cannot_be_told() -> None:
    random = np.random.RandomState(0)
    propensity = random.choice([0.25, 0.5, 1.0], size=3000)
    # Only now and then has a chunk the heaviest rows, but the bound is that of all so far.
    propensity[:10], propensity[100:200] = 0.25, 1.0
    X, action, reward = 4 * propensity[:, np.newaxis], random.randint(2, size=3000), random.randint(2, size=3000)
    shown = []
    for seed in (0, 0, 1):
        policy = OffsetTree(Unweighted(), actions=[0, 1], random_state=seed)
        for begin in range(0, 3000, 100):
            here = slice(begin, begin + 100)
            policy.partial_fit(X[here], action[here], reward=reward[here], propensity=propensity[here])
        assert policy.node_rows_.tolist() == [3000]
        shown.append(policy.estimators_[0].shown_)
    assert shown[0] == shown[1] != shown[2]
    values = np.array([x[0] / 4 for x, _, _ in shown[0]])
    for chance in (0.25, 0.5, 1.0):
        assert np.mean(values == chance) * len(values) == pytest.approx(
            np.sum(propensity == chance) * 0.25 / chance, rel=0.15
        )


def test_a_contest_is_not_asked_before_it_has_heard_both_sides() -> None:
    policy = OffsetTree(BernoulliNB(), tree=((0, 1), (2, 3)), actions=[0, 1, 2, 3])
    policy.partial_fit([[1.0]], [3], reward=[1], propensity=0.25)
    assert [classifier.label for classifier in policy.estimators_] == [0, 1, 0]  # the root, unheard, and 2 against 3
    assert policy.decide([-5.0]) == 3
    policy.partial_fit([[-1.0]], [3], reward=[0], propensity=0.25)
    assert [type(classifier) for classifier in policy.estimators_] == [
        ConstantClassifier,
        ConstantClassifier,
        BernoulliNB,
    ]
    assert policy.estimators_[2].class_count_.tolist() == [1, 1]
    assert policy.decide([1.0]) == 3


def test_the_compiled_policy_follows_every_chunk() -> None:
    policy = OffsetTree(SGDClassifier(random_state=0), actions=[0, 1, 2])
    log = make_log(300)
    compiled = []
    for chunk in in_chunks(log, 100):
        policy.partial_fit(**chunk.arrays())
        expected = policy.actions_[policy._ask(log.X)].tolist()
        assert policy.predict(log.X).tolist() == expected
        assert [policy.decide(x) for x in log.X] == expected
        compiled.append(policy.compiled_)
    assert len({id(flat) for flat in compiled}) == 3
    assert None not in compiled


def test_a_fit_starts_afresh() -> None:
    log = make_log(200)
    policy = OffsetTree(SGDClassifier(), random_state=0)
    expected = clone(policy).fit(**log.arrays())
    again = policy.partial_fit(**make_log(100, seed=5, n_actions=4).arrays()).fit(**log.arrays())
    assert again.actions_.tolist() == [0, 1, 2]
    for ours, theirs in zip(again.estimators_, expected.estimators_, strict=True):
        np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    more = make_log(10, seed=6)
    np.testing.assert_array_equal(
        again.partial_fit(**more.arrays()).estimators_[0].coef_,
        expected.partial_fit(**more.arrays()).estimators_[0].coef_,
    )


@UNLOGGED
def test_chunks_go_on_from_a_fit() -> None:
    """With two actions fit and chunk differ in nothing but where the mean weight is taken."""
    policy = OffsetTree(Tally(), actions=["left", "right"])
    policy.fit([[1.0], [-1.0]], ["left", "left"], reward=[1, 0], propensity=0.5)
    fitted = policy.estimators_[0]
    policy.partial_fit([[1.0]], ["right"], reward=[1], propensity=0.1)
    assert [weight for *_, weight in policy.estimators_[0].shown_] == pytest.approx([1, 1, 5 * 3 / 7])
    assert len(fitted.shown_) == 2
    assert policy.node_rows_.tolist() == [3]


@UNLOGGED
def test_a_constant_of_a_fit_makes_way_for_an_estimator() -> None:
    policy = OffsetTree(Tally(), actions=["left", "right"])
    policy.fit([[1.0], [-1.0], [1.0]], ["left"] * 3, reward=[1, 1, 1], propensity=1)
    assert type(policy.estimators_[0]) is ConstantClassifier
    policy.partial_fit([[1.0]], ["right"], reward=[1], propensity=1)
    # Three votes to one, though the estimator has been shown that one only.
    assert policy.decide([1.0]) == "left"
    policy.partial_fit([[1.0]], ["left"], reward=[1], propensity=0.5)
    assert [label for _, label, _ in policy.estimators_[0].shown_] == [0, 1]
    assert policy.node_rows_.tolist() == [5]


def test_chunks_do_not_go_on_from_classifiers_that_cannot() -> None:
    log = make_log(200)
    costing = OffsetTree(Unweighted(), random_state=0).fit(**log.arrays())
    with pytest.raises(ParameterError, match=r"at node \d of the fitted tree is a Costing.*clone\(policy\)"):
        costing.partial_fit(**log.arrays())
    native = OffsetTree(random_state=0).fit(**log.arrays()).set_params(estimator=SGDClassifier())
    with pytest.raises(ParameterError, match="is a HistogramTree"):
        native.partial_fit(**log.arrays())
    forest = OffsetForest(SGDClassifier(), n_trees=2, random_state=0).fit(**log.arrays())
    assert not hasattr(forest, "partial_fit")
    tree = forest.estimators_[0]
    before, kinds = tree.node_rows_, [type(classifier) for classifier in tree.estimators_]
    one_row = log[log.reward != tree.offset_][:1]
    assert tree.partial_fit(**one_row.arrays()).node_rows_.sum() > before.sum()
    assert [type(classifier) for classifier in tree.estimators_] == kinds


def test_a_chunk_that_says_nothing_is_a_chunk_too() -> None:
    policy = OffsetTree(SGDClassifier(), actions=["left", "right"])
    policy.partial_fit([[0.0], [1.0]], ["left", "right"], reward=[0.5, 0.5], propensity=0.5)
    assert policy.predict([[0.0], [1.0]]).tolist() == ["left", "left"]
    assert policy.node_rows_.tolist() == [0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"node_models": "shared"}, "node_models must be 'separate' for partial_fit"),
        ({"path_filter": "out_of_fold"}, "path_filter must be 'in_sample' or a number"),
        ({"path_filter": 2}, "path_filter must be"),
        ({"offset": LinearRegression()}, "offset must be a number, 'mean' or 'median' for partial_fit"),
        ({"estimator": SGDClassifier}, "an instance, not a class"),
        ({"estimator": SGDClassifier(alpha="much")}, "alpha"),
        ({"estimator": SGDClassifier(early_stopping=True)}, "early_stopping"),
    ],
)
def test_parameters_that_need_the_whole_log_are_refused(parameters: dict[str, Any], message: str) -> None:
    policy = OffsetTree(SGDClassifier()).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        policy.partial_fit(**make_log(200).arrays())
    with pytest.raises(NotFittedError):
        policy.predict([[0.0] * 4])


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "another number of features": (lambda log: {"X": log["X"][:, :3]}, FeatureError, "3 features, but .* expecting 4"),
    "an unknown action": (lambda log: {"action": log["action"] + 1}, ActionError, r"row \d+ has 3 .*actions=\[...\]"),
    "NaN": (lambda log: {"X": np.where(log["X"] > 2, np.nan, log["X"])}, FeatureError, "must not hold NaN"),
    "a propensity of 0": (lambda log: {"propensity": 0.0}, PropensityError, "row 0 has 0.0"),
    "no reward": (lambda log: {"reward": None}, ValueError, "reward is missing"),
    "a chunk that overflows": (lambda log: {"X": log["X"] * 1e300}, ValueError, "overflow"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_bad_chunk_leaves_no_trace(bad: str, begin: str) -> None:
    change, error, message = BAD[bad]
    log, chunk = make_log(300), make_log(300, seed=1).arrays()
    policy = OffsetTree(SGDClassifier(loss="squared_error"), random_state=0)
    getattr(policy, begin)(**log.arrays())
    decided = policy.predict(log.X)
    before, compiled = pickle.dumps(policy), policy.compiled_
    with pytest.raises(error, match=f"(?s){message}"):
        policy.partial_fit(**(chunk | change(chunk)))
    assert pickle.dumps(policy) == before
    assert policy.compiled_ is compiled
    np.testing.assert_array_equal(policy.predict(log.X), decided)


def test_an_estimator_that_fails_midway_leaves_no_trace() -> None:
    log = make_log(300)
    policy = OffsetTree(Tally(fail_at=150), actions=[0, 1, 2])
    policy.partial_fit(**log[:90].arrays())
    shown = [list(classifier.shown_) for classifier in policy.estimators_]
    before = pickle.dumps(policy)
    with pytest.raises(ArithmeticError, match="too many rows") as caught:
        policy.partial_fit(**log[90:].arrays())
    assert "at node" in caught.value.__notes__[0]
    assert pickle.dumps(policy) == before
    assert [classifier.shown_ for classifier in policy.estimators_] == shown


def test_nor_does_it_where_contests_have_heard_one_side_only() -> None:
    policy = OffsetTree(Tally(fail_at=3), tree=((0, 1), 2), actions=[0, 1, 2])
    policy.partial_fit([[1.0]], [0], reward=[1], propensity=0.5)
    before = pickle.dumps(policy)
    with pytest.raises(ArithmeticError, match="too many rows") as caught:
        policy.partial_fit([[1.0], [1.0], [1.0]], [0, 2, 2], reward=[1, 0, 0], propensity=0.5)
    assert "at node 0" in caught.value.__notes__[0]  # the contest below had been taught
    assert pickle.dumps(policy) == before


def test_the_first_chunk_settles_tree_and_offset() -> None:
    log = make_log(400)
    policy = OffsetTree(SGDClassifier(), tree="learned", offset="mean", random_state=0).partial_fit(**log.arrays())
    tree, offset = policy.tree_, policy.offset_
    assert offset == log.reward.mean()
    policy.partial_fit(log.X, log.action, reward=1 - log.reward, propensity=log.propensity)
    assert (policy.tree_, policy.offset_) == (tree, offset)
    with pytest.warns(OffsetTreeWarning, match="tree='learned' and offset='mean' is settled by the first chunk"):
        clone(policy).partial_fit(**log[:50].arrays())
