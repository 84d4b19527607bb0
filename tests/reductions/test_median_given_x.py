"""The offset of the paper's note: the median reward given x."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree import ActionTree, BinaryOffset, OffsetForest, OffsetTree, simulate_log
from offsettree import theory as th
from offsettree.cli import main
from offsettree.exceptions import LogError, ParameterError
from offsettree.reductions._median_given_x import weighted_median
from offsettree.reductions._offset import resolve_offset

OFFSET = "median_given_x"


def offsets(X: Any, reward: Any, propensity: Any = 0.5, seed: int = 0) -> Any:
    chances = np.broadcast_to(np.asarray(propensity, dtype=float), np.shape(reward))
    return resolve_offset(OFFSET, X, np.asarray(reward, float), np.random.RandomState(seed), chances)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=12))
def test_a_weighted_median_is_that_of_rows_repeated(rows: list[tuple[int, int]]) -> None:
    values, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    repeated = np.repeat(values, weight.astype(int))
    assert weighted_median(values, weight) == np.median(repeated)


def test_each_group_of_contexts_gets_its_own_median() -> None:
    random = np.random.RandomState(0)
    group = np.arange(2000) % 2
    reward = np.where(group == 0, random.beta(1, 9, 2000), random.beta(9, 1, 2000))
    found = offsets(np.column_stack([group, random.normal(size=2000)]).astype(float), reward)
    for place, median in enumerate((0.074, 0.926)):
        assert np.abs(found[group == place] - median).mean() < 0.03


def test_rows_weigh_as_if_actions_had_been_drawn_evenly() -> None:
    """The logged rewards are mostly 0.9; of the three actions' rewards the median is 0.2."""
    random = np.random.RandomState(0)
    action = random.choice(3, p=[0.8, 0.1, 0.1], size=3000)
    reward, chance = np.array([0.9, 0.1, 0.2])[action], np.array([0.8, 0.1, 0.1])[action]
    X = np.zeros((3000, 1))
    assert (offsets(X, reward, chance) == 0.2).all()
    assert (offsets(X, reward) == 0.9).all()


@given(st.integers(0, 1000), st.integers(0, 199))
@settings(max_examples=20, deadline=None)
def test_no_row_has_a_say_in_its_own_offset(seed: int, row: int) -> None:
    random = np.random.RandomState(seed)
    X, reward = random.normal(size=(200, 2)), random.random_sample(200)
    before = offsets(X, reward)[row]
    reward[row] = 1 - reward[row]
    assert offsets(X, reward)[row] == before


def test_every_form_of_x_will_do() -> None:
    random = np.random.RandomState(0)
    X, reward = random.randint(3, size=(500, 2)).astype(float), random.random_sample(500)
    reward[X[:, 0] == 1] /= 4
    plain = offsets(X, reward)
    np.testing.assert_array_equal(offsets(sp.csr_matrix(X), reward), plain)
    np.testing.assert_array_equal(offsets(pd.DataFrame(X, columns=["a", "b"]), reward), plain)
    words = pd.DataFrame({"word": np.array(["red", "green", "blue"])[X[:, 0].astype(int)]})
    assert offsets(words, reward)[X[:, 0] == 1].mean() < 0.3 < offsets(words, reward)[X[:, 0] != 1].mean()
    X[random.random_sample(X.shape) < 0.1] = np.nan
    assert np.isfinite(offsets(X, reward)).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_numbers_too_large_for_float32_are_compared_all_the_same(form: Any) -> None:
    random = np.random.RandomState(0)
    X, reward = random.choice([-1e300, 0.0, 1e300], size=(900, 2)), random.random_sample(900)
    reward[X[:, 0] > 0] /= 4
    found = offsets(form(X), reward)
    np.testing.assert_array_equal(found, offsets(form(np.sign(X)), reward))
    assert found[X[:, 0] > 0].mean() < 0.2 < 0.4 < found[X[:, 0] <= 0].mean()
    fitted = OffsetTree(offset=OFFSET, random_state=0).fit(
        pd.DataFrame(X), np.arange(900) % 3, reward=reward, propensity=1 / 3
    )
    assert 0 < fitted.offset_ < 1


@given(st.integers(0, 50))
@settings(max_examples=10, deadline=None)
def test_on_a_long_log_it_is_near_the_offset_that_minimises_the_bound(seed: int) -> None:
    """For the worst classifier too: its contests show the same actions to both sides, only in another order."""
    random = np.random.RandomState(seed)
    # Every context has its own luck, and actions differ little beside it.
    rewards = np.clip(np.array([0.1, 0.5, 0.9])[:, np.newaxis] + random.normal(scale=0.05, size=(3, 4)), 0, 1)
    problem = th.FiniteProblem.certain(rewards)
    log = problem.sample(4000, random_state=seed)
    found = offsets(log.X, log.reward, log.propensity)
    by_context = np.array([np.median(found[log.X[:, x] == 1]) for x in range(3)])
    tree, classifier = ActionTree.balanced(4), random.random_sample((3, 3)) < 0.5
    factor = [
        th.contest_importance(problem, tree, classifier, offset=each)
        for each in (th.best_offset(problem, tree, classifier), by_context, 0.5, log.reward.mean())
    ]
    assert factor[0] <= factor[1] + 1e-12
    assert factor[1] < 0.5 * min(factor[2:])


@pytest.mark.parametrize("policy", [OffsetTree, OffsetForest, BinaryOffset])
def test_policies_learn_with_it_where_contexts_differ_in_luck(policy: Any) -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(3000, 2))
    luck = np.where(X[:, 0] > 0, 0.85, 0.05)
    rewards = luck[:, np.newaxis] + 0.1 * (np.arange(2) == (X[:, 1] > 0)[:, np.newaxis])
    log = simulate_log(X, rewards, random_state=0)
    fitted = policy(offset=OFFSET, random_state=0).fit(**log.arrays())
    assert 0.3 < fitted.offset_ < 0.6
    assert (fitted.predict(X) == (X[:, 1] > 0)).mean() > 0.95


@pytest.mark.parametrize("verb", ["partial_fit", "fit_log"])
def test_what_cannot_have_all_rows_at_once_refuses_it(verb: str) -> None:
    from sklearn.linear_model import SGDClassifier

    log = simulate_log(np.random.RandomState(0).normal(size=(50, 2)), [0, 1] * 25, random_state=0)
    policy = OffsetTree(SGDClassifier(), offset=OFFSET)
    with pytest.raises(ParameterError, match=f"offset must be a number, 'mean' or 'median' for {verb}"):
        policy.fit_log([log]) if verb == "fit_log" else policy.partial_fit(**log.arrays())


def test_one_row_is_too_few() -> None:
    with pytest.raises(LogError, match="needs at least 2 rows to be cross-fitted; got 1"):
        offsets(np.zeros((1, 1)), [0.5])


def test_another_word_is_refused_with_a_list_of_those_known() -> None:
    with pytest.raises(ParameterError, match="'mean', 'median', 'median_given_x', or a regressor; got 'mode'"):
        resolve_offset("mode", np.zeros((2, 1)), np.zeros(2), np.random.RandomState(0))


def test_the_command_line_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, policy = tmp_path / "log.csv", tmp_path / "policy.ot"
    assert main(["simulate", "campaign", "--rows", "2000", "-o", str(log)]) == 0
    learn = ["learn", str(log), "--action", "mail", "--learner", "offset-tree", "--offset", OFFSET, "-o", str(policy)]
    assert main(learn) == 0
    assert policy.exists()
    capsys.readouterr()
