"""Labels of actions that are whole numbers, of every kind and range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from offsettree import DoublyRobust, ImportanceWeighted, OffsetForest, OffsetTree, OnlineOffsetTree
from offsettree._labels import check_actions, encode_actions, find_actions
from offsettree._validation import check_n_jobs, check_propensity, check_range, check_reward, is_number
from offsettree.exceptions import ActionError, FeatureError, ParameterError, PropensityError, RewardError
from offsettree.learners import HistogramTree

KINDS = [np.int8, np.uint8, np.int16, np.int64, np.uint64]


@given(st.data(), st.sampled_from(KINDS))
def test_whole_numbers_are_found_and_placed_whatever_their_kind(data: st.DataObject, kind: Any) -> None:
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    start = data.draw(st.sampled_from([low, 0, high - 9]))
    near = st.integers(start, start + 9)
    labels = data.draw(st.lists(near, min_size=2, unique=True)) + data.draw(st.sampled_from([[], [low, high]]))
    action = np.array(labels * 2, dtype=kind)
    actions = find_actions(action, None)
    assert actions.dtype == kind
    assert actions.tolist() == sorted(set(labels))
    shuffled = np.random.RandomState(0).permutation(actions)
    np.testing.assert_array_equal(shuffled[encode_actions(action, shuffled)], action)


@given(st.sampled_from(KINDS), st.sampled_from(KINDS), st.booleans())
def test_a_number_that_is_no_action_is_refused_whatever_its_kind(kind: Any, other: Any, highest: bool) -> None:
    actions = np.array([3, 5, 9], dtype=kind)
    for stray in (int(np.iinfo(other).max) if highest else int(np.iinfo(other).min), 4):
        with pytest.raises(ActionError, match=f"row 1 has {stray} "):
            encode_actions(np.array([5, stray], dtype=other), actions)


def test_columns_are_copied_unless_told_otherwise() -> None:
    column = np.full(4, 0.5)
    assert not np.shares_memory(check_reward(column, 4), column)
    assert not np.shares_memory(check_propensity(column, 4), column)
    assert check_reward(column, 4, copy=False) is column
    assert check_propensity(column, 4, copy=False) is column
    assert check_propensity(0.25, 4).flags.writeable
    assert check_propensity([1.0000001, 0.5], 2).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("label", [1e30, -1e30, 2.0**53 + 2])
@pytest.mark.parametrize("form", [np.array, list])
def test_floats_that_do_not_tell_neighbours_apart_are_no_labels(label: float, form: Any) -> None:
    with pytest.raises(ActionError, match=r"up to 2\*\*53 .* row 1 has"):
        check_actions(form([1.0, label]))
    assert check_actions(form([1.0, 2.0**53])).tolist() == [1, 2**53]


def test_integers_beyond_64_bits_are_no_labels() -> None:
    with pytest.raises(ActionError, match="that 64 bits hold; row 1 has 1000"):
        check_actions([1, 10**30])


HUGE = 10**400  # no float is as large


def test_whole_numbers_beyond_all_floats_are_refused_by_an_error_of_ours() -> None:
    with pytest.raises(ActionError, match="row 1 has inf"):
        check_actions([0.5 + 0.5, HUGE])
    with pytest.raises(RewardError, match="row 1 has -inf"):
        check_reward([0.5, -HUGE], 2)
    with pytest.raises(PropensityError, match="row 0 has inf"):
        check_propensity(HUGE, 2)
    with pytest.raises(ParameterError, match="pair of numbers"):
        check_range((0, HUGE))
    with pytest.raises(ParameterError, match="number of workers"):
        check_n_jobs(HUGE)
    assert not is_number(HUGE)
    assert is_number(np.inf)


def test_complex_numbers_are_no_labels() -> None:
    with pytest.raises(ActionError, match="all integers or all strings"):
        check_actions([np.complex128(1), 2])


@pytest.mark.parametrize("seed", [HUGE, -1, "seven", (0, 1)])
@pytest.mark.parametrize("kind", [OffsetTree, OffsetForest, DoublyRobust, ImportanceWeighted, HistogramTree])
def test_a_seed_that_is_none_is_refused_by_an_error_of_ours(kind: Any, seed: Any) -> None:
    X, action = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3)
    log = {} if kind is HistogramTree else {"reward": np.ones(6), "propensity": 0.5}
    with pytest.raises(ParameterError, match="random_state must be"):
        kind(random_state=seed).fit(X, action, **log)


def test_what_lies_behind_the_last_row_of_a_sparse_matrix_is_in_no_row() -> None:
    X = sp.csr_matrix(np.ones((4, 2)))
    X.indptr[-1] -= 1
    X.data[-1] = np.nan
    policy = OnlineOffsetTree(actions=[0, 1]).partial_fit(X, [0, 1, 0, 1], reward=[0, 1, 0, 1], propensity=0.5)
    assert policy.predict(X).shape == (4,)
    X.data[0] = np.inf
    with pytest.raises(FeatureError, match=r"row 0, column 0 has inf \(1 value in all\)"):
        policy.predict(X)
