"""Our offset tree against a row-by-row, node-by-node reading of Algorithm 2, as plain as the paper's page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from offsettree import ActionTree, BinaryOffset, OffsetTree
from tests.strategies import LoggedProblem, logged_problems

pytestmark = pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")


def leaves(T: Any) -> set[Any]:
    return leaves(T[0]) | leaves(T[1]) if isinstance(T, tuple) else {T}


class PlainOffsetTree:
    """Algorithms 2 and 3. S is a list of (x, a, r_a, p(a)), T nested pairs of actions."""

    def __init__(self, learn: Any, S: list[tuple[Any, Any, float, float]], T: Any) -> None:
        self.T = T
        self.S_v: dict[Any, list[tuple[int, int, float]]] = {}
        self.c: dict[Any, Any] = {}
        self.train(learn, S, T)

    def train(self, learn: Any, S: list[tuple[Any, Any, float, float]], v: Any) -> None:
        if not isinstance(v, tuple):
            return
        left, right = v
        self.train(learn, S, left)
        self.train(learn, S, right)
        S_v = []
        for i, (x, a, r, p) in enumerate(S):
            if a in leaves(left):
                own, y = left, 0
            elif a in leaves(right):
                own, y = right, 1  # the other choice a' comes from the left subtree of v
            else:
                continue
            if self.winner(own, x) != a:  # not all nodes on the path from v to a predict a on x
                continue
            if r < 1 / 2:
                S_v.append((i, y, (1 / 2 - r) / p))
            else:
                S_v.append((i, 1 - y, (r - 1 / 2) / p))
        self.S_v[v] = S_v
        self.c[v] = learn([S[i][0] for i, _, _ in S_v], [y for _, y, _ in S_v], [w for _, _, w in S_v])

    def winner(self, v: Any, x: Any) -> Any:
        while isinstance(v, tuple):
            left, right = v
            v = left if self.c[v](x) == 1 else right
        return v

    def predict(self, x: Any) -> Any:
        return self.winner(self.T, x)


def plain_learn(estimator: Any, form: Any, asked: Any) -> Any:
    """Turn an estimator into Learn(S_v): a function of lists that returns a function of x.

    `form` makes the X of the log of rows: a sparse tree breaks ties between splits otherwise than a dense one. `asked`
    are all rows that it will be asked about: it answers them at once, which takes no longer than to answer one.
    """

    def learn(X: list[Any], y: list[int], w: list[float]) -> Any:
        examples = [(x, label, weight) for x, label, weight in zip(X, y, w, strict=True) if weight > 0]
        labels = {label for _, label, _ in examples}
        if not labels:
            return lambda x: 1
        if len(labels) == 1:
            return lambda x: next(iter(labels))
        mean = np.mean([weight for _, _, weight in examples])
        fitted = estimator.fit(
            form([x for x, _, _ in examples]),
            np.array([label for _, label, _ in examples]),
            sample_weight=np.array([weight / mean for _, _, weight in examples]),
        )
        answers = dict(zip((x.tobytes() for x in asked), fitted.predict(form(asked)).tolist(), strict=True))
        return lambda x: answers[x.tobytes()]

    return learn


class Spy(DecisionTreeClassifier):
    """A decision tree that keeps what it was trained on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = (X, y, sample_weight)
        return super().fit(X, y, sample_weight)


def fresh(estimator: Any, X: Any, X_new: Any) -> Any:
    """Learn() of the plain reading: an own copy for every node."""
    form = sp.csr_matrix if sp.issparse(X) else np.array
    asked = [*as_rows(X), *as_rows(X_new)]
    return lambda X, y, w: plain_learn(type(estimator)(**estimator.get_params()), form, asked)(X, y, w)


def as_rows(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def same_tree(policy: OffsetTree, T: Any) -> dict[int, Any]:
    """Match the numbered nodes of a fitted tree with the nested pairs of the plain one."""
    matched, pending = {}, [(0, T)]
    while pending:
        node, v = pending.pop()
        if not isinstance(v, tuple):
            assert policy.actions_[~node] == v
            continue
        matched[node] = v
        pending += [(int(policy.tree_.left[node]), v[0]), (int(policy.tree_.right[node]), v[1])]
    return matched


@settings(deadline=None, max_examples=40)
@given(logged_problems())
def test_every_node_sees_the_rows_labels_and_weights_of_algorithm_2(case: LoggedProblem) -> None:
    log = case.log
    rows = as_rows(log.X)
    S = list(zip(rows, log.action, log.reward, log.propensity, strict=True))
    learn = fresh(DecisionTreeClassifier(max_depth=2, random_state=0), log.X, case.X_new)
    plain = PlainOffsetTree(learn, S, case.pairs)
    policy = OffsetTree(Spy(max_depth=2, random_state=0), tree=case.pairs, actions=case.actions).fit(**log.arrays())
    for node, v in same_tree(policy, case.pairs).items():
        examples = [(i, y, w) for i, y, w in plain.S_v[v] if w > 0]  # Costing accepts no example of weight zero
        assert policy.node_rows_[node] == len(examples)
        classifier = policy.estimators_[node]
        if len({y for _, y, _ in examples}) < 2:
            assert classifier.label == (examples[0][1] if examples else 1)
            continue
        X, y, weight = classifier.seen_
        np.testing.assert_array_equal(as_rows(X), rows[[i for i, _, _ in examples]])
        np.testing.assert_array_equal(y, [label for _, label, _ in examples])
        expected = np.array([w for _, _, w in examples])
        np.testing.assert_allclose(weight, expected / expected.mean(), rtol=1e-12)
    expected_actions = [plain.predict(x) for x in as_rows(case.X_new)]
    assert policy.predict(case.X_new).tolist() == expected_actions


@settings(deadline=None, max_examples=25)
@given(logged_problems(), st.sampled_from([LogisticRegression(), GaussianNB()]))
def test_other_learners_give_the_plain_policy_too(case: LoggedProblem, estimator: Any) -> None:
    dense = as_rows(case.log.X)
    S = list(zip(dense, case.log.action, case.log.reward, case.log.propensity, strict=True))
    plain = PlainOffsetTree(fresh(estimator, dense, case.X_new), S, case.pairs)
    policy = OffsetTree(estimator, tree=case.pairs, actions=case.actions)
    policy.fit(dense, case.log.action, reward=case.log.reward, propensity=case.log.propensity)
    X_new = as_rows(case.X_new)
    assert policy.predict(X_new).tolist() == [plain.predict(x) for x in X_new]


@settings(deadline=None, max_examples=30)
@given(logged_problems(), st.sampled_from([DecisionTreeClassifier(max_depth=3, random_state=0), LogisticRegression()]))
def test_binary_offset_is_the_offset_tree_over_two_actions(case: LoggedProblem, estimator: Any) -> None:
    log = case.log
    action = np.where(np.arange(len(log)) % 2, "left", "right")
    arrays = log.arrays() | {"action": action}
    tree = OffsetTree(estimator, actions=["left", "right"]).fit(**arrays)
    binary = BinaryOffset(estimator, actions=["left", "right"]).fit(**arrays)
    np.testing.assert_array_equal(binary.predict(case.X_new), tree.predict(case.X_new))


def test_the_tree_of_labels_is_the_tree_of_their_positions() -> None:
    case_tree = (("c", "a"), ("d", "b"))
    policy = OffsetTree(tree=case_tree, actions=["a", "b", "c", "d"])
    policy.fit([[0.0], [1.0]], ["a", "b"], reward=[1, 0], propensity=0.5)
    assert policy.tree_ == ActionTree.from_pairs(((2, 0), (3, 1)))


@pytest.mark.parametrize("shape", ["balanced", "chain"])
@pytest.mark.parametrize("n_actions", [2, 3, 7, 16, 40])
def test_logs_of_some_length_give_the_plain_policy_with_plain_trees(n_actions: int, shape: str) -> None:
    """Enough rows for most contests to be real ones, and the very class whose predictions are read directly."""
    random = np.random.RandomState(n_actions)
    T: Any = 0
    for leaf in range(1, n_actions):
        T = (T, leaf)
    if shape == "balanced":
        T = ActionTree.balanced(n_actions).to_pairs()
    X = random.normal(size=(600, 4))
    chances = random.dirichlet(np.ones(n_actions), size=600) * 0.5 + 0.5 / n_actions
    action = np.array([random.choice(n_actions, p=row) for row in chances])
    reward, propensity = random.random_sample(600), chances[np.arange(600), action]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    plain = PlainOffsetTree(fresh(tree, X, X), list(zip(X, action, reward, propensity, strict=True)), T)
    policy = OffsetTree(tree, tree=T, actions=range(n_actions))
    policy.fit(X, action, reward=reward, propensity=propensity)
    trained = [node for node in policy.estimators_ if isinstance(node, DecisionTreeClassifier)]
    assert len(trained) > 0.7 * (n_actions - 1)
    for node, v in same_tree(policy, T).items():
        assert policy.node_rows_[node] == len(plain.S_v[v])
    assert policy.predict(X).tolist() == [plain.predict(x) for x in X]
