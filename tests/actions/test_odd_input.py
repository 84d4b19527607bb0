"""Contexts and action sets that are put together wrongly: refused by an error of ours, or decided within the set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from offsettree import (
    ActionOffsetTree,
    ActionRegression,
    ActionSets,
    LoggedData,
    OnlineActionRegression,
    estimate_propensity,
    evaluate,
    simulate_catalogue,
)
from offsettree.actions.policy import best_pairs
from offsettree.exceptions import ActionError, FeatureError, OffsetTreeError

LOG = simulate_catalogue(60, 8, 3, random_state=0).log
assert LOG.action_sets is not None
SETS: ActionSets = LOG.action_sets
POLICIES = [OnlineActionRegression(n_bits=8), ActionRegression(random_state=0), ActionOffsetTree(random_state=0)]


@pytest.fixture(scope="module", params=POLICIES, ids=lambda policy: type(policy).__name__)
def policy(request: pytest.FixtureRequest) -> Any:
    return request.param.fit(**LOG.arrays())


def stray(table: Any, form: str) -> Any:
    """Return a sparse matrix with an entry outside of its shape."""
    made: Any = sp.csr_matrix(np.asarray(table))
    matrix = made.asformat(form)
    if form == "coo":
        matrix.col[0] = 10**8
    elif form == "indptr":
        matrix.indptr[1] = 10**8
    else:
        matrix.indices[0] = 10**8
    return matrix


FORMS = ["csr", "csc", "bsr", "coo"]


@pytest.mark.parametrize("form", FORMS)
def test_sparse_tables_of_actions_with_stray_entries_are_refused(form: str) -> None:
    with pytest.raises(FeatureError, match="indices from 0 to"):
        ActionSets(SETS.ids, SETS.starts, items=stray(SETS.items, form), item_ids=SETS.item_ids)
    with pytest.raises(FeatureError, match="indices from 0 to"):
        ActionSets(SETS.ids, SETS.starts, pairs=stray(np.ones((len(SETS.ids), 2)), form))


@pytest.mark.parametrize("form", FORMS)
def test_sparse_contexts_with_stray_entries_are_refused(form: str, policy: Any) -> None:
    X = stray(LOG.X, form)
    columns: dict[str, Any] = {"reward": LOG.reward, "propensity": LOG.propensity}
    calls: list[Callable[[], Any]] = [
        lambda: policy.predict(X, SETS),
        lambda: type(policy)().fit(X, LOG.action, action_sets=SETS, **columns),
        lambda: policy.decide(stray(LOG.X[:1], form), SETS.take([0])),
        lambda: LoggedData(X, LOG.action, LOG.reward, LOG.propensity),
        lambda: evaluate(LOG.action, X, LOG.action, **columns),
        lambda: estimate_propensity(X, LOG.action),
        lambda: evaluate(policy, X, LOG.action, action_sets=SETS, **columns),
    ]
    for call in calls:
        with pytest.raises(FeatureError, match="indices from 0 to"):
            call()


def test_a_score_that_is_no_number_does_not_shift_other_rows() -> None:
    score = np.array([np.nan, np.nan, 1.0, np.nan, 3.0, 2.0])
    assert best_pairs(score, np.array([0, 2, 4, 6])).tolist() == [0, 2, 4]


def test_features_that_overflow_are_refused_or_decided_within_the_set(policy: Any) -> None:
    X = np.array(LOG.X)
    X[0] = 1e308
    try:
        chosen = policy.predict(X, SETS).tolist()
    except FeatureError:
        return
    assert all(label in SETS[row] for row, label in enumerate(chosen))


ACTIONS = [{"id": 1, "f0": 1.0}, {"id": 2, "f0": 2.0}]
ITEMS = np.ones((3, SETS.n_item_features))


@pytest.mark.parametrize(
    ("x", "actions"),
    [
        (LOG.X[0], [{"id": {}, "f0": 1.0}, {"id": 2, "f0": 2.0}]),
        (LOG.X[0], [{"id": 1.5}, {"id": True}]),
        (LOG.X[0], stray(np.ones((2, 2)), "csr")),
        ([1, [2, 3]], ACTIONS),
        (10**400, ACTIONS),
        ([10**400] * LOG.X.shape[1], ACTIONS),
        (7, 7),
        (np.empty((0, LOG.X.shape[1])), ITEMS),
        (np.ones((2, LOG.X.shape[1])), ITEMS),
        ([np.ones(LOG.X.shape[1])] * 2, ITEMS),
    ],
)
def test_decisions_about_what_is_no_context_or_no_set_are_refused(policy: Any, x: Any, actions: Any) -> None:
    with pytest.raises(OffsetTreeError):
        policy.decide(x, actions)


def test_contexts_that_are_no_table_are_refused(policy: Any) -> None:
    with pytest.raises(FeatureError, match="a row per action set"):
        policy.predict(7, SETS)
    with pytest.raises(FeatureError, match="too large"):
        ActionSets([[1]], pairs=[[10**400]])
    huge = ActionSets([[1, 2]], pairs=[[1e308, 1e308], [1e308, 1.0]])  # finite, though their sum is not
    assert huge.n_pair_features == 2


def test_half_a_character_is_a_name_like_any_other() -> None:
    online = OnlineActionRegression(n_bits=6)
    news = [{"id": "a", "\ud800": 1.0}, {"id": "b", "word": "\udfff"}]
    online.learn({"\ud800": "\ud800"}, news, "a", reward=1.0, propensity=0.5)
    assert online.decide({"\ud800": "\ud800"}, news) in ("a", "b")
    with pytest.raises(ActionError):
        ActionSets([[{}]])
