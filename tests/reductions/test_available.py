"""Contests in which some rows have no choice, against a plain reading; and what a mask may look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from offsettree import ImportanceWeighted, OffsetForest, OffsetTree, RewardRegression
from offsettree._available import Available, best_of
from offsettree.exceptions import ActionError, ParameterError
from offsettree.learners import HistogramTree
from offsettree.learners._binning import Bins
from tests.reductions.test_algorithm_2 import PlainOffsetTree, Spy, as_rows, fresh, leaves, same_tree
from tests.strategies import LoggedProblem, logged_problems, seeds

pytestmark = pytest.mark.filterwarnings("ignore:.*never logged:offsettree.exceptions.OffsetTreeWarning")


class PlainWithSets(PlainOffsetTree):
    """Algorithms 2 and 3 where row (x, A) may choose the actions of A: a side without any loses without a contest."""

    def train(self, learn: Any, S: list[Any], v: Any) -> None:
        if not isinstance(v, tuple):
            return
        left, right = v
        self.train(learn, S, left)
        self.train(learn, S, right)
        S_v = []
        for i, (x, a, r, p, A) in enumerate(S):
            if a in leaves(left):
                own, other, y = left, right, 0
            elif a in leaves(right):
                own, other, y = right, left, 1
            else:
                continue
            if not leaves(other) & A or self.winner(own, (x, A)) != a:
                continue
            S_v.append((i, y, (1 / 2 - r) / p) if r < 1 / 2 else (i, 1 - y, (r - 1 / 2) / p))
        self.S_v[v] = S_v
        self.c[v] = learn([S[i][0] for i, _, _ in S_v], [y for _, y, _ in S_v], [w for _, _, w in S_v])

    def winner(self, v: Any, x: Any) -> Any:
        x, A = x
        while isinstance(v, tuple):
            left, right = v
            if leaves(left) & A and leaves(right) & A:
                v = left if self.c[v](x) == 1 else right
            else:
                v = left if leaves(left) & A else right
        return v


def sets_of(case: LoggedProblem, seed: int, share: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Sets for the rows of the log, which hold the action logged, and for new rows."""
    random = np.random.RandomState(seed)
    mask = random.random_sample((len(case.log), len(case.actions))) < share
    mask[np.arange(len(mask)), [case.actions.index(label) for label in case.log.action]] = True
    new = random.random_sample((case.X_new.shape[0], len(case.actions))) < share
    new[np.arange(len(new)), random.randint(len(case.actions), size=len(new))] = True
    return mask, new


def plain_rows(case: LoggedProblem, X: Any, mask: NDArray[np.bool_]) -> list[Any]:
    log, labels = case.log, np.array(case.actions, dtype=object)
    sets = [set(labels[row].tolist()) for row in mask]
    return list(zip(X, log.action, log.reward, log.propensity, sets, strict=True))


def expected_choices(plain: PlainWithSets, case: LoggedProblem, X: Any, mask: NDArray[np.bool_]) -> list[Any]:
    labels = np.array(case.actions, dtype=object)
    return [plain.predict((x, set(labels[row].tolist()))) for x, row in zip(X, mask, strict=True)]


shares = st.sampled_from([0.05, 0.3, 0.8])


@settings(deadline=None, max_examples=30)
@given(logged_problems(), seeds, shares, st.booleans())
def test_a_row_trains_the_contests_in_which_it_has_a_choice(
    case: LoggedProblem, seed: int, share: float, sparse: bool
) -> None:
    log, rows = case.log, as_rows(case.log.X)
    mask, new_mask = sets_of(case, seed, share)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    plain = PlainWithSets(fresh(tree, log.X, case.X_new), plain_rows(case, rows, mask), case.pairs)
    policy = OffsetTree(Spy(max_depth=2, random_state=0), tree=case.pairs, actions=case.actions)
    policy.fit(**log.arrays(), available=sp.csr_array(mask) if sparse else mask)
    for node, v in same_tree(policy, case.pairs).items():
        examples = [(i, y, w) for i, y, w in plain.S_v[v] if w > 0]
        assert policy.node_rows_[node] == len(examples)
        if len({y for _, y, _ in examples}) == 2:
            X, y, weight = policy.estimators_[node].seen_
            np.testing.assert_array_equal(as_rows(X), rows[[i for i, _, _ in examples]])
            np.testing.assert_array_equal(y, [label for _, label, _ in examples])
            expected = np.array([w for _, _, w in examples])
            np.testing.assert_allclose(weight, expected / expected.mean(), rtol=1e-12)
    X_new = as_rows(case.X_new)
    assert policy.predict(case.X_new, new_mask).tolist() == expected_choices(plain, case, X_new, new_mask)


@settings(deadline=None, max_examples=15)
@given(logged_problems(), seeds, shares)
def test_all_contests_at_once_are_those_of_the_plain_reading(case: LoggedProblem, seed: int, share: float) -> None:
    """Sums of equal weights have no rounding, so that splits that tie are told apart alike."""
    log = case.log
    log = type(log)(log.X, log.action, (log.reward > 0.5).astype(float), np.full(len(log), 0.5))
    case = replace(case, log=log)
    X, X_new = as_rows(case.log.X), as_rows(case.X_new)
    mask, new_mask = sets_of(case, seed, share)
    learner = HistogramTree(max_depth=3)
    bins = Bins.fit(X)
    with patch.object(Bins, "fit", lambda *_: bins):
        plain = PlainWithSets(fresh(learner, X, X_new), plain_rows(case, X, mask), case.pairs)
    policy = OffsetTree(learner, tree=case.pairs, actions=case.actions)
    policy.fit(X, log.action, reward=log.reward, propensity=log.propensity, available=mask)
    for node, v in same_tree(policy, case.pairs).items():
        assert policy.node_rows_[node] == sum(weight > 0 for _, _, weight in plain.S_v[v])
    expected = expected_choices(plain, case, X_new, new_mask)
    assert policy.predict(X_new, new_mask).tolist() == expected
    np.testing.assert_array_equal(
        policy.predict(X_new.astype(np.float32), new_mask),
        policy.predict(X_new.astype(np.float32).astype(np.float64), new_mask),
    )
    assert policy.predict(sp.csr_matrix(X_new), new_mask).tolist() == expected


@settings(deadline=None, max_examples=20)
@given(logged_problems(), seeds)
def test_what_a_tree_did_not_choose_may_as_well_be_missing(case: LoggedProblem, seed: int) -> None:
    policy = OffsetTree(LogisticRegression(), tree=case.pairs, actions=case.actions).fit(**case.log.arrays())
    _, mask = sets_of(case, seed, 0.5)
    chosen = policy.predict(case.X_new)
    mask[np.arange(len(mask)), [case.actions.index(label) for label in chosen.tolist()]] = True
    np.testing.assert_array_equal(policy.predict(case.X_new, mask), chosen)


def test_a_row_climbs_past_a_side_that_has_nothing_for_it() -> None:
    """Of ((0, 1), 2): row 0 cannot choose 1, so that it meets 2 at the root only, though contest (0, 1) prefers 1."""
    X = [[0.0], [0.0], [0.0], [0.0]]
    mask = [[True, False, True], [True, True, True], [True, True, True], [True, True, False]]
    policy = OffsetTree(tree=((0, 1), 2), offset=0.5)
    policy.fit(X, [0, 1, 2, 1], reward=[1, 1, 0, 1], propensity=1 / 3, available=mask)
    assert policy.node_rows_.tolist() == [3, 2]
    assert policy.decide([0.0]) == 1
    assert policy.decide([0.0], [0, 2]) == 0
    assert policy.decide([0.0], [2]) == 2


def a_log(n_rows: int = 400, k: int = 6, seed: int = 0) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 4))
    mask = random.random_sample((n_rows, k)) < 0.6
    action = random.randint(k, size=n_rows)
    mask[np.arange(n_rows), action] = True
    reward = (random.random_sample(n_rows) < 0.3 + 0.4 * (X[:, 0] > action / 3 - 1)).astype(float)
    return {"X": X, "action": action, "reward": reward, "propensity": 1 / mask.sum(axis=1)}, mask


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(max_depth=4, random_state=0), HistogramTree()])
def test_masks_do_not_depend_on_the_number_of_workers(estimator: Any) -> None:
    log, mask = a_log()
    one, two = (OffsetTree(estimator, n_jobs=n, random_state=0).fit(**log, available=mask) for n in (1, 2))
    np.testing.assert_array_equal(one.node_rows_, two.node_rows_)
    np.testing.assert_array_equal(one.predict(log["X"], mask), two.predict(log["X"], mask))


def test_a_chunk_with_masks_is_taught_as_a_fit_with_masks() -> None:
    log, mask = a_log()
    fitted = OffsetTree(GaussianNB()).fit(**log, available=mask)
    taught = OffsetTree(GaussianNB()).partial_fit(**log, available=mask)
    np.testing.assert_array_equal(taught.node_rows_, fitted.node_rows_)
    np.testing.assert_array_equal(taught.predict(log["X"], mask), fitted.predict(log["X"], mask))
    with_all = OffsetTree(GaussianNB()).partial_fit(**log)
    assert (with_all.node_rows_ != taught.node_rows_).any()


def test_contests_with_scores_are_asked_as_without_a_mask() -> None:
    log, mask = a_log(2000)
    forest = OffsetForest(n_trees=5, random_state=0).fit(**log)
    everything = np.ones_like(mask)
    np.testing.assert_array_equal(forest.predict_proba(log["X"], everything), forest.predict_proba(log["X"]))
    for tree in forest.estimators_:
        np.testing.assert_array_equal(tree.predict(log["X"], everything), tree.predict(log["X"]))


def test_a_forest_counts_the_votes_of_trees_that_stay_within_the_mask() -> None:
    log, mask = a_log()
    forest = OffsetForest(n_trees=7, random_state=0).fit(**log, available=mask)
    votes = np.zeros(mask.shape)
    for tree in forest.estimators_:
        votes[np.arange(len(mask)), tree.predict(log["X"], mask)] += 1
    np.testing.assert_allclose(forest.predict_proba(log["X"], mask), votes / 7)
    np.testing.assert_array_equal(forest.predict(log["X"], mask), votes.argmax(axis=1))
    bootstrap = OffsetForest(n_trees=7, bootstrap=True, random_state=0).fit(**log, available=mask)
    assert bootstrap.oob_value_ is not None


@pytest.mark.parametrize("estimator", [None, LinearSVC(), SGDClassifier()])
def test_a_multiclass_classifier_is_asked_for_the_best_action_left(estimator: Any) -> None:
    log, mask = a_log()
    policy = ImportanceWeighted(estimator, all_pairs=False, n_draws=None, random_state=0).fit(**log, available=mask)
    chosen = policy.predict(log["X"], mask)
    assert mask[np.arange(len(mask)), chosen].all()
    np.testing.assert_array_equal(policy.predict(log["X"], np.ones_like(mask)), policy.predict(log["X"]))


def test_a_classifier_that_names_one_action_only_is_refused() -> None:
    class Mute(DecisionTreeClassifier):
        predict_proba = None

        def __getattribute__(self, name: str) -> Any:
            if name == "predict_proba":
                raise AttributeError(name)
            return super().__getattribute__(name)

    log, mask = a_log()
    policy = ImportanceWeighted(Mute(), all_pairs=False, n_draws=None, random_state=0).fit(**log)
    with pytest.raises(ParameterError, match="predict_proba or decision_function"):
        policy.predict(log["X"], mask)


def test_masks_are_the_same_in_both_forms() -> None:
    _, mask = a_log(50)
    dense, sparse = Available(mask), Available(sp.csr_array(mask))
    rows, order = np.array([3, 1, 40]), np.array([5, 0, 1, 2, 3, 4])
    views: list[Callable[[Available], Any]] = [
        lambda sets: sets.count(),
        lambda sets: sets.dense(),
        lambda sets: sets.part(slice(2, 9)),
        lambda sets: sets.in_order(order).dense(),
        lambda sets: sets.any_of(rows, 1, 3),
        lambda sets: sets.has(np.arange(50) % 6),
    ]
    for get in views:
        np.testing.assert_array_equal(get(dense), get(sparse))


def test_the_best_of_scores_come_first_and_ties_in_their_order() -> None:
    score = np.array([[0.1, 0.5, 0.5, 0.2]])
    assert best_of(score, 4, None).tolist() == [[1, 2, 3, 0]]
    assert best_of(score, 2, np.array([[True, False, True, False]])).tolist() == [[2, 0]]


@pytest.mark.parametrize("worst", [-np.inf, np.nan])
def test_no_score_brings_back_what_the_mask_excludes(worst: float) -> None:
    score = np.array([[0.1, worst, worst, 0.3], [worst] * 4, [0.1, 0.2, worst, np.inf]])
    mask = np.array([[False, True, True, False], [False, False, True, True], [True, False, True, False]])
    assert best_of(score, 2, mask).tolist() == [[1, 2], [2, 3], [0, 2]]
    assert best_of(score, 1, mask)[:, 0].tolist() == [1, 2, 0]
    assert best_of(score[:1], 2, None).tolist() == [[3, 0]]


def test_decisions_stay_within_the_mask_where_scores_overflow() -> None:
    log, _ = a_log(100)
    policy = RewardRegression(LinearRegression()).fit(**log)
    for model in policy.estimators_:
        model.coef_, model.intercept_ = np.full(4, 1e308), -np.inf
    rows = np.full((6, 4), 1e200)
    one = np.eye(6, dtype=bool)
    with np.errstate(all="ignore"):
        assert policy.predict(rows, one).tolist() == policy.actions_.tolist()


def stray(change: Callable[[Any], None], form: str = "csr", places: Any = None) -> Any:
    whole: Any = sp.csr_array(np.ones((50, 6), dtype=bool))
    mask = whole.asformat(form)
    if places is not None:
        mask.offsets = mask.offsets.astype(places)
    change(mask)
    return mask


def put(name: str, place: int, value: int) -> Callable[[Any], None]:
    def change(mask: Any) -> None:
        getattr(mask, name)[place] = value

    return change


STRAY: dict[str, Any] = {
    "far": stray(put("indices", 0, 10**7)),
    "one beyond": stray(put("indices", 0, 6)),
    "below zero": stray(put("indices", 0, -3)),
    "rows that end elsewhere": stray(put("indptr", 2, 10**6)),
    "rows that fall": stray(put("indptr", 2, -1)),
    "columns, one beyond": stray(put("indices", 0, 50), "csc"),
    "blocks, one beyond": stray(put("indices", 0, 6), "bsr"),
    "blocks behind the last row": stray(put("indptr", -1, 72), "bsr"),
    "entries, one beyond": stray(lambda mask: mask.coords[1].__setitem__(0, 6), "coo"),
    "entries without places": stray(lambda mask: setattr(mask, "data", np.ones(999)), "coo"),
    "lists, one beyond": stray(lambda mask: mask.rows[0].__setitem__(0, 6), "lil"),
    "lists, one longer than its places": stray(lambda mask: mask.data[0].extend([True] * 3000), "lil"),
    "lists, fewer than rows": stray(lambda mask: setattr(mask, "rows", mask.rows[:2]), "lil"),
    "lists, more than rows": stray(lambda mask: setattr(mask, "rows", np.tile(mask.rows, 50)), "lil"),
    "diagonals beyond 32 bits": stray(put("offsets", 0, 2**32), "dia", np.int64),
    "diagonals whose places wrap around": stray(put("offsets", 0, 2**31 - 1), "dia", np.int64),
    "diagonals far below": stray(put("offsets", 0, -(2**63)), "dia", np.int64),
    "places that are no whole numbers": stray(lambda mask: setattr(mask, "indices", mask.indices * 1.0)),
    "more places than entries": stray(lambda mask: setattr(mask, "indices", np.tile(mask.indices, 2))),
    "places of eight bits": stray(lambda mask: setattr(mask, "indices", mask.indices.astype(np.uint8))),
    "places of swapped bytes": stray(lambda mask: setattr(mask, "indices", mask.indices.astype(">i4"))),
    "blocks of nothing": stray(lambda mask: setattr(mask, "data", mask.data[:, :, :0]), "bsr"),
    "one dimension": sp.coo_array(np.ones(6, dtype=bool)),
}


@pytest.mark.parametrize("name", STRAY)
def test_a_mask_put_together_wrongly_is_refused(name: str) -> None:
    log, _ = a_log(50)
    policy = OffsetTree(random_state=0).fit(**log)
    with pytest.raises(ActionError, match="available cannot be used"):
        policy.predict(log["X"], STRAY[name])


@pytest.mark.parametrize("odd", [None, 33, True, 10**400, [[True], [True, False]], [10**400], [[1], []]])
def test_a_mask_that_is_no_table_is_refused(odd: Any) -> None:
    log, _ = a_log(50)
    policy = OffsetTree(random_state=0).fit(**log)
    for mask in (odd, [odd]):
        if odd is not None:
            with pytest.raises(ActionError):
                policy.decide(log["X"][0], mask)
        with pytest.raises(ActionError):
            policy.predict(log["X"], mask if mask is not None else np.array(None))
