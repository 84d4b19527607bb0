from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from offsettree import ActionTree, BinaryOffset, Costing, OffsetForest, OffsetTree, simulate_log
from offsettree.exceptions import FeatureError, LogError, OffsetTreeWarning, ParameterError, TopologyError
from offsettree.learners import ConstantClassifier
from offsettree.learners.shared_contest import SharedContest

digits, digit = load_digits(return_X_y=True)


class Script(ClassifierMixin, BaseEstimator):
    """Answers by its rule, 1 for left, whatever it is taught; counts the rows it was taught with."""

    def __init__(self, rule: Any = None) -> None:
        self.rule = rule

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.array([0, 1])
        self.n_rows_ = len(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray([self.rule(x) for x in X]) if self.rule else np.ones(len(X), dtype=int)


def test_a_tree_followed_by_hand() -> None:
    """Four actions, ((0, 1), (2, 3)); every contest that hears both sides goes left where x >= 0."""
    X = np.array([[1.0], [1.0], [-1.0], [-1.0], [1.0], [-1.0], [1.0], [-1.0]])
    action = np.array([0, 1, 0, 1, 2, 2, 3, 3])
    reward = np.array([0.9, 0.2, 0.9, 0.9, 0.1, 0.8, 0.7, 0.6])
    policy = OffsetTree(Script(lambda x: int(x[0] >= 0))).fit(X, action, reward=reward, propensity=0.25)
    # Rows 0 and 3 win the first contest, 4 and 7 the second: the root hears of these four.
    np.testing.assert_array_equal(policy.node_rows_, [4, 4, 4])
    np.testing.assert_array_equal(policy.predict([[1.0], [-1.0]]), [0, 3])


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_a_contest_that_hears_one_side_or_nobody_is_a_constant() -> None:
    X = np.zeros((3, 1))
    tree = DecisionTreeClassifier()
    policy = OffsetTree(tree, actions=[0, 1, 2, 3]).fit(X, [0, 1, 1], reward=[0.9, 0.1, 0.2], propensity=0.5)
    root, left, right = policy.estimators_
    assert [type(node) for node in (root, left, right)] == [ConstantClassifier] * 3
    assert left.label == 1  # 0 was good and 1 was bad: all votes are for 0
    assert right.label == 1  # nobody came: left, always
    np.testing.assert_array_equal(policy.node_rows_, [1, 3, 0])
    assert policy.decide([0.0]) == 0
    worse = OffsetTree(actions=[0, 1, 2, 3]).fit(X, [0, 1, 1], reward=[0.1, 0.1, 0.2], propensity=0.5)
    assert worse.node_rows_.tolist()[1] == 3
    assert worse.decide([0.0]) in (2, 3)  # what is known is bad, so what is not known is tried


def test_a_reward_at_the_offset_says_nothing() -> None:
    X = np.arange(6.0)[:, np.newaxis]
    action, reward = [0, 1] * 3, np.array([0.5, 0.5, 1, 0, 0, 1])
    everything = OffsetTree(random_state=0).fit(X, action, reward=reward, propensity=0.5)
    assert everything.node_rows_.tolist() == [4]
    silent = OffsetTree().fit(X, action, reward=np.full(6, 0.5), propensity=0.5)
    assert silent.node_rows_.tolist() == [0]
    assert set(silent.predict(X)) == {0}


@pytest.mark.parametrize("n_actions", [2, 16, 64, 1000])
def test_under_uniform_logging_all_nodes_together_see_about_2n_rows(n_actions: int) -> None:
    random = np.random.RandomState(0)
    n_rows = 40_000
    log = simulate_log(np.zeros((n_rows, 1)), random.random_sample((n_rows, n_actions)), random_state=0)
    policy = OffsetTree(Script(), actions=np.arange(n_actions)).fit(**log.arrays())
    trained = sum(node.n_rows_ for node in policy.estimators_ if isinstance(node, Script))
    constants = [node for node in policy.estimators_ if isinstance(node, ConstantClassifier)]
    assert trained == policy.node_rows_.sum() - sum(
        rows for node, rows in zip(policy.estimators_, policy.node_rows_, strict=True) if node in constants
    )
    expected = n_rows * sum(2.0 / (1 << level) for level in range(1, ActionTree.balanced(n_actions).depth + 1))
    assert policy.node_rows_.sum() <= 2.1 * n_rows
    assert policy.node_rows_.sum() == pytest.approx(expected, rel=0.05)
    # Every node hears the two that reach it: 2n / k rows.
    assert np.median(policy.node_rows_) == pytest.approx(2 * n_rows / n_actions, rel=0.1)


def test_a_rare_row_cannot_be_told_from_a_repeated_one() -> None:
    """A row of propensity 1/3 weighs as much as three rows of propensity 1."""
    random = np.random.RandomState(0)
    X, action, reward = random.normal(size=(60, 2)), random.randint(3, size=60), random.random_sample(60)
    rare = random.random_sample(60) < 0.5
    weighted = OffsetTree(LogisticRegression()).fit(X, action, reward=reward, propensity=np.where(rare, 1 / 3, 1.0))
    rows = np.repeat(np.arange(60), np.where(rare, 3, 1))
    repeated = OffsetTree(Unweighted()).fit(X[rows], action[rows], reward=reward[rows], propensity=1.0)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


class Unweighted(LogisticRegression):
    """Logistic regression with weights rescaled to the number of distinct rows, to compare fits of unequal length."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        n_distinct = len(np.unique(X, axis=0))
        return super().fit(X, y, sample_weight=sample_weight * n_distinct / len(X))


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("estimator", [None, LogisticRegression(max_iter=1000), KNeighborsClassifier(3)])
def test_the_number_of_jobs_changes_nothing(backend: str, estimator: Any) -> None:
    log = simulate_log(digits[:800], digit[:800], random_state=0)
    one = OffsetTree(estimator, random_state=0).fit(**log.arrays())
    with joblib.parallel_config(backend=backend):
        two = OffsetTree(estimator, random_state=0, n_jobs=2).fit(**log.arrays())
    np.testing.assert_array_equal(one.node_rows_, two.node_rows_)
    np.testing.assert_array_equal(one.predict(digits), two.predict(digits))
    if isinstance(estimator, LogisticRegression):
        for first, second in zip(one.estimators_, two.estimators_, strict=True):
            np.testing.assert_array_equal(first.coef_, second.coef_)


def test_a_learner_without_weights_learns_through_costing() -> None:
    log = simulate_log(digits, digit, random_state=0)
    policy = OffsetTree(KNeighborsClassifier(5), random_state=0).fit(**log.arrays())
    assert all(isinstance(node, Costing) for node in policy.estimators_)
    assert policy.score(**simulate_log(digits, digit, random_state=1).arrays()) > 0.7


def test_costing_around_a_learner_matches_its_weights() -> None:
    """Costing(tree) and the tree with weights solve the same problem: similar values on noisy rewards."""
    random = np.random.RandomState(0)
    X = random.normal(size=(6000, 3))
    rewards = np.clip(0.5 + 0.3 * np.stack([X[:, 0], X[:, 1], -X[:, 0]], axis=1), 0, 1)
    chances = np.array([0.6, 0.3, 0.1])
    log = simulate_log(X[:4000], rewards[:4000], chances, random_state=0)
    tree = DecisionTreeClassifier(max_depth=4)
    values = []
    for estimator in (tree, Costing(tree)):
        chosen = OffsetTree(estimator, random_state=0).fit(**log.arrays()).predict(X[4000:])
        values.append(rewards[4000:][np.arange(2000), chosen].mean())
    assert values[0] == pytest.approx(values[1], abs=0.03)
    assert min(values) > rewards.mean() + 0.1


def test_weights_reach_the_last_step_of_a_pipeline() -> None:
    log = simulate_log(digits, digit, logging=np.arange(1, 11) / 55, random_state=0)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = OffsetTree(pipeline, random_state=0).fit(**log.arrays())
    plain = OffsetTree(pipeline, random_state=0).fit(**log.arrays())
    assert not any(isinstance(node, Costing) for node in plain.estimators_)
    np.testing.assert_array_equal(routed.predict(digits), plain.predict(digits))
    ignoring = OffsetTree(pipeline, random_state=0).fit(**(log.arrays() | {"propensity": np.full(len(log), 0.1)}))
    assert (ignoring.predict(digits) != plain.predict(digits)).any()


def test_the_offset_can_be_the_mean_the_median_or_a_prediction() -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(400, 2))
    reward = np.clip(0.2 + 0.1 * X[:, 0] + 0.1 * random.normal(size=400), 0, 1)
    action = random.randint(4, size=400)
    log: dict[str, Any] = {"X": X, "action": action, "reward": reward, "propensity": 0.25}
    assert OffsetTree(offset="mean").fit(**log).offset_ == pytest.approx(reward.mean())
    assert OffsetTree(offset="median").fit(**log).offset_ == pytest.approx(np.median(reward))
    predicted = OffsetTree(offset=LinearRegression(), random_state=0).fit(**log)
    assert predicted.offset_ == pytest.approx(reward.mean(), abs=0.01)
    scaled = OffsetTree(offset="mean", reward_range=(0, 2)).fit(**log)
    assert scaled.offset_ == pytest.approx(reward.mean() / 2)


def test_a_regressor_offset_never_sees_the_reward_of_its_own_row() -> None:
    class Memory(LinearRegression):
        """Knows the rewards it was taught by heart, and 0.5 for all others."""

        def fit(self, X: Any, y: Any) -> Any:
            self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
            return self

        def predict(self, X: Any) -> Any:
            return np.array([self.known_.get(x, 0.5) for x in X[:, 0].tolist()])

    X, reward = np.arange(50.0)[:, np.newaxis], np.linspace(0.01, 0.99, 50)
    policy = OffsetTree(offset=Memory(), random_state=0)
    policy.fit(X, np.arange(50) % 2, reward=reward, propensity=0.5)
    assert policy.offset_ == 0.5


def test_a_predicted_offset_helps_where_contexts_differ_in_luck() -> None:
    """Rewards differ by context far more than by action: compared with 1/2, half of all contexts vote for anything."""
    random = np.random.RandomState(0)
    X = random.uniform(size=(6000, 2))
    means = np.stack([0.9 * X[:, 0] + 0.1 * X[:, 1], 0.9 * X[:, 0] + 0.1 * (1 - X[:, 1])], axis=1)
    log = simulate_log(X[:4000], means[:4000], random_state=0)
    value = {}
    for name, offset in (("half", 0.5), ("predicted", LinearRegression())):
        chosen = BinaryOffset(LogisticRegression(), offset=offset, random_state=0).fit(**log.arrays()).predict(X[4000:])
        value[name] = means[4000:][np.arange(2000), chosen].mean()
    assert value["predicted"] > value["half"]
    assert value["predicted"] == pytest.approx(means[4000:].max(axis=1).mean(), abs=0.003)


def test_similar_weighs_rewards_by_how_likely_they_were_to_be_seen() -> None:
    """In half the contexts action 0 earns 1 and was logged seldom: its mean is 0.5, not the 0.1 of its rows."""
    X = np.repeat([[0.0], [1.0]], [1000, 1000], axis=0)
    rewards = np.tile([0.0, 0.4, 0.6], (2000, 1))
    rewards[1000:, 0] = 1.0
    chances = np.repeat([[0.8, 0.1, 0.1], [0.08, 0.46, 0.46]], [1000, 1000], axis=0)
    policy = OffsetTree(tree="similar").fit(**simulate_log(X, rewards, chances, random_state=0).arrays())
    assert policy.tree_.leaves.tolist() == [1, 0, 2]


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_similar_pairs_actions_by_their_estimated_mean_reward() -> None:
    rewards = np.tile([0.9, 0.1, 0.8, 0.2], (4000, 1))
    log = simulate_log(np.zeros((4000, 1)), rewards, logging=[0.7, 0.1, 0.1, 0.1], random_state=0)
    policy = OffsetTree(tree="similar").fit(**log.arrays())
    assert policy.tree_ == ActionTree.from_pairs(((1, 3), (2, 0)))
    unseen = OffsetTree(tree="similar", actions=[0, 1, 2, 3, 4]).fit(**log.arrays())
    assert unseen.tree_.leaves.tolist() == [1, 3, 4, 2, 0]  # never logged: taken for average, weighted by 1/p


@pytest.mark.parametrize("tree", ["balanced", "random", "similar", ActionTree.random(10, 3)])
def test_every_way_to_name_a_tree_works(tree: Any) -> None:
    log = simulate_log(digits, digit, random_state=0)
    policy = OffsetTree(tree=tree, random_state=0).fit(**log.arrays())
    assert policy.tree_.n_actions == 10
    assert policy.tree_ == OffsetTree(tree=tree, random_state=0).fit(**log.arrays()).tree_


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        (ActionTree.balanced(9), TopologyError, "9 leaves for 10"),
        ((0, 1), TopologyError, "missing: 2, 3, 4, 5, 6, ..."),
        ("bushy", ParameterError, "tree must be"),
        (None, ParameterError, "tree must be"),
    ],
)
def test_a_tree_over_other_actions_is_refused(tree: Any, error: type[Exception], message: str) -> None:
    log = simulate_log(digits, digit, random_state=0)
    with pytest.raises(error, match=message):
        OffsetTree(tree=tree).fit(**log.arrays())


def test_a_shared_classifier_sees_the_node_and_is_trained_once_per_level() -> None:
    log = simulate_log(digits[:500], digit[:500], random_state=0)
    policy = OffsetTree(DecisionTreeClassifier(random_state=0), node_models="shared")
    policy.fit(**log.arrays())
    levels: dict[int, set[int]] = {}
    for node, contest in enumerate(policy.estimators_):
        assert isinstance(contest, SharedContest)
        assert contest.classifier.n_features_in_ == 64 + 9
        levels.setdefault(id(contest.classifier), set()).add(node)
    assert policy.n_rounds_ == len(levels) == 4  # of a balanced tree over ten actions
    # The highest classifier has learned from the contests of all nodes.
    root = policy.estimators_[0].classifier
    assert root.tree_.n_node_samples[0] == policy.node_rows_.sum()


def test_a_shared_classifier_learns_from_the_rows_its_own_policy_lets_through() -> None:
    """The training set is the one of Algorithm 2 for the classifiers that came of it, whatever the learner."""
    log = simulate_log(digits[:500], digit[:500], random_state=0)
    policy = OffsetTree(DecisionTreeClassifier(max_depth=5, random_state=0), node_models="shared")
    policy.fit(**log.arrays())
    answers = [node.predict(log.X) == 1 for node in policy.estimators_]
    reached = np.zeros(9, dtype=int)
    for row, action in enumerate(log.action):
        for node, from_left in policy.tree_.path(int(action)):
            reached[node] += 1
            if answers[node][row] != from_left:
                break
    np.testing.assert_array_equal(policy.node_rows_, reached)


def test_sharing_helps_where_all_contests_are_alike() -> None:
    """Some customers want little and others much: every contest between less and more has the same answer."""
    k = 8

    def means_of(X: Any) -> Any:
        return 0.5 + 0.4 * np.sign(X[:, :1]) * (1 - 2 * np.arange(k) / (k - 1))

    gains = []
    for seed in range(10):
        random = np.random.RandomState(seed)
        X, X_new = random.normal(size=(1600, 5)), random.normal(size=(2000, 5))
        rewards = (random.random_sample((1600, k)) < means_of(X)).astype(float)
        log = simulate_log(X, rewards, random_state=seed)
        value = {}
        for node_models in ("separate", "shared"):
            learner = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5)
            policy = OffsetTree(learner, node_models=node_models, random_state=0)
            chosen = policy.fit(**log.arrays()).predict(X_new)
            value[node_models] = float(means_of(X_new)[np.arange(2000), chosen].mean())
            assert policy.n_rounds_ == (3 if node_models == "shared" else 1)
        gains.append(value["shared"] - value["separate"])
    assert min(gains) > 0
    assert np.mean(gains) > 0.05


def test_nominal_columns_reach_a_learner_that_encodes_them() -> None:
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"colour": random.choice(["red", "blue"], 400), "size": random.normal(size=400)})
    frame.loc[::7, "size"] = np.nan
    log = simulate_log(frame, (frame["colour"] == "red").astype(int), random_state=1)
    encode = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        (SimpleImputer(), make_column_selector(dtype_include="number")),
    )
    policy = OffsetTree(make_pipeline(encode, LogisticRegression()), random_state=0).fit(**log.arrays())
    assert (policy.predict(frame) == (frame["colour"] == "red")).all()
    assert policy.decide({"colour": "red", "size": 0.0}) == 1
    assert policy.decide(frame.iloc[[0]]) == policy.predict(frame)[0]
    with pytest.raises(ValueError, match="pick by name"):
        policy.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no rows"):
        policy.predict(frame.iloc[:0])


def test_a_polars_frame_with_text_goes_to_the_learner_too() -> None:
    frame = pl.DataFrame({"colour": ["red", "blue"] * 100, "size": np.arange(200.0)})
    log = simulate_log(frame, [1, 0] * 100, random_state=0)
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    policy = OffsetTree(make_pipeline(encode, DecisionTreeClassifier(random_state=0))).fit(**log.arrays())
    assert policy.predict(frame).tolist() == [1, 0] * 100
    assert policy.decide({"size": 3.0, "colour": "blue"}) == 0


def test_missing_values_are_welcome_where_the_learner_takes_them() -> None:
    X = digits.copy()
    X[::3, 10] = np.nan
    log = simulate_log(X, digit, random_state=0)
    OffsetTree().fit(**log.arrays()).predict(X)
    imputing = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=2000))
    OffsetTree(imputing).fit(**log.arrays()).predict(X)


def test_a_learner_that_fails_says_at_which_contest() -> None:
    class Failing(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise RuntimeError("out of luck")

    log = simulate_log(digits, digit, random_state=0)
    with pytest.raises(RuntimeError, match="out of luck") as caught:
        OffsetTree(Failing()).fit(**log.arrays())
    assert any("contest at node" in note for note in caught.value.__notes__)


def test_a_plain_object_with_fit_and_predict_is_a_learner() -> None:
    class Plain:
        def fit(self, X: Any, y: Any) -> Any:
            self.majority = int(np.mean(y) >= 0.5)
            return self

        def predict(self, X: Any) -> Any:
            return np.full(X.shape[0], self.majority)

    log = simulate_log(digits, digit, random_state=0)
    policy = OffsetTree(Plain(), random_state=0).fit(**log.arrays())
    assert len(set(policy.predict(digits))) == 1
    assert policy.fit(sp.csr_matrix(digits), log.action, reward=log.reward, propensity=0.1).decide(digits[0]) in range(
        10
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"node_models": "many"}, "node_models must be"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameters: dict[str, Any], message: str) -> None:
    log = simulate_log(digits[:100], digit[:100], random_state=0)
    with pytest.raises(ParameterError, match=message):
        OffsetTree(**parameters).fit(**log.arrays())


def test_a_regressor_offset_needs_two_rows() -> None:
    with pytest.raises(LogError, match="at least 2 rows"):
        OffsetTree(offset=LinearRegression(), actions=[0, 1]).fit([[0.0]], [0], reward=[1], propensity=0.5)


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_sixteen_thousand_actions_of_which_most_were_never_logged() -> None:
    random = np.random.RandomState(0)
    policy = OffsetTree(actions=np.arange(16_384))
    policy.fit(
        random.normal(size=(500, 3)), random.randint(16_384, size=500), reward=np.arange(500) % 2, propensity=1 / 16_384
    )
    assert len(policy.estimators_) == 16_383
    assert policy.predict(random.normal(size=(10, 3))).shape == (10,)


def test_nothing_is_warned_about_in_ordinary_use() -> None:
    frame = pd.DataFrame(digits).rename(columns=str)
    log = simulate_log(frame, digit, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = OffsetTree(random_state=0, n_jobs=2).fit(**log.arrays())
        policy.predict(frame)
        policy.decide(digits[0])


def test_it_warns_when_nearly_all_rewards_are_on_one_side_of_the_offset() -> None:
    random = np.random.RandomState(0)
    money = np.where(random.random_sample(1000) < 0.1, random.uniform(0, 500, size=1000), 0.0) ** 0.9
    X, action = random.normal(size=(1000, 2)), random.randint(3, size=1000)
    with pytest.warns(OffsetTreeWarning, match="votes against its own action.*offset='mean'"):
        OffsetTree(reward_range=(0, 5000)).fit(X, action, reward=money, propensity=1 / 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OffsetTree(reward_range=(0, 5000), offset="mean").fit(X, action, reward=money, propensity=1 / 3)


@pytest.mark.parametrize("share", [0.02, 0.004, 0.4])
@pytest.mark.parametrize("offset", ["mean", "median", 0.0])
def test_it_does_not_warn_where_contests_learn_all_the_same(offset: Any, share: float) -> None:
    random = np.random.RandomState(0)
    X, action = random.normal(size=(1000, 2)), random.randint(3, size=1000)
    click = (np.arange(1000) < 1000 * share).astype(float)
    propensity = random.choice([0.1, 0.5], 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OffsetTree(offset=offset).fit(X, action, reward=click, propensity=propensity)


@pytest.mark.parametrize("policy", [OffsetTree, OffsetForest])
def test_offsets_of_the_log_are_those_of_actions_drawn_evenly(policy: Any) -> None:
    # The second action is logged nine times as often, and never pays.
    action = np.repeat([0, 1], [100, 900])
    log: dict[str, Any] = {
        "X": np.arange(1000.0)[:, np.newaxis],
        "action": action,
        "reward": np.where(action == 0, np.linspace(0.6, 1.0, 1000), 0.0),
        "propensity": np.where(action == 0, 0.1, 0.9),
    }
    settings: dict[str, Any] = {} if policy is OffsetTree else {"n_trees": 2}
    mean = np.average(log["reward"], weights=1 / log["propensity"])
    assert mean > 3 * log["reward"].mean()
    assert policy(offset="mean", **settings).fit(**log).offset_ == pytest.approx(mean)
    # Half of all weight is on either side of the gap between 0 and what the first action pays.
    assert policy(offset="median", **settings).fit(**log).offset_ == pytest.approx(log["reward"][:1].item() / 2)


def test_it_warns_of_actions_that_were_never_logged() -> None:
    log = simulate_log(digits, digit, random_state=0)
    with pytest.warns(OffsetTreeWarning, match=r"2 of the 12 actions were never logged \(10, 11\)"):
        OffsetTree(actions=range(12)).fit(**log.arrays())


@pytest.mark.parametrize("policy", [OffsetTree(actions=[0, 1]), BinaryOffset(actions=[0, 1])])
def test_warnings_point_to_the_line_that_called_fit(policy: Any) -> None:
    with pytest.warns(OffsetTreeWarning) as caught:
        policy.fit(np.arange(200.0)[:, np.newaxis], np.zeros(200, dtype=int), reward=np.ones(200), propensity=0.5)
    assert {warning.filename for warning in caught} == {__file__}


def test_missing_values_behind_a_pipeline_are_not_trained_on_in_silence() -> None:
    """Scaling passes NaN on; the classifier behind it must be allowed to refuse, contest by contest."""
    X = digits.copy()
    X[::10, 3] = np.nan
    log = simulate_log(X, digit, random_state=0)
    with pytest.raises(ValueError, match="NaN"):
        OffsetTree(make_pipeline(StandardScaler(), GaussianNB())).fit(**log.arrays())
    frame = pd.DataFrame({"a": [1.0, None] * 50, "b": np.arange(100.0)}).astype({"a": object})
    with pytest.raises(ValueError, match=r"not numbers .a., and GaussianNB takes numbers only"):
        OffsetTree(GaussianNB()).fit(frame, [0, 1] * 50, reward=[0, 1, 1, 0] * 25, propensity=0.5)


def test_columns_that_are_not_numbers_need_a_learner_that_takes_them() -> None:
    frame = pd.DataFrame({"town": ["a", "b"] * 50, "since": pd.Timestamp("2026-01-01"), "age": 3.0})
    with pytest.raises(FeatureError, match=r"town, since.*DecisionTreeClassifier takes numbers only.*encodes them"):
        OffsetTree(DecisionTreeClassifier()).fit(frame, [0, 1] * 50, reward=[0, 1, 1, 0] * 25, propensity=0.5)
    with pytest.raises(FeatureError, match=r"'since' holds dates or times.*offsettree\.TableEncoder\.learn"):
        OffsetTree().fit(frame, [0, 1] * 50, reward=[0, 1, 1, 0] * 25, propensity=0.5)
    boosted = OffsetTree(HistGradientBoostingClassifier(max_iter=5))
    frame = frame.astype({"town": "category"})[["town", "age"]]
    boosted.fit(frame, [0, 1] * 50, reward=[0, 1, 1, 0] * 25, propensity=0.5)
    assert boosted.decide({"town": "a", "age": 3.0}) == boosted.predict(frame[:1])[0]


def test_a_frame_that_changes_its_kinds_is_refused() -> None:
    frame = pd.DataFrame({"u": np.arange(100.0), "v": np.arange(100.0)[::-1]})
    policy = OffsetTree().fit(frame, [0, 1] * 50, reward=[0, 1, 1, 0] * 25, propensity=0.5)
    with pytest.raises(FeatureError, match="numbers as it did in fit; column u does not"):
        policy.predict(frame.astype({"u": str}))


@pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")
def test_a_shared_contest_that_nobody_reaches_goes_left_too() -> None:
    log = simulate_log(digits[:400], digit[:400] % 2, random_state=1)
    policy = OffsetTree(LogisticRegression(max_iter=5000), actions=[0, 1, 2, 3], node_models="shared")
    policy.fit(**log.arrays())
    assert policy.node_rows_[2] == 0
    assert policy.estimators_[2].label == 1
    assert 3 not in policy.predict(digits)
