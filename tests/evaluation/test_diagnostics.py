from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier

from offsettree import EpsilonGreedy, Estimate, LoggedData, OffsetTree, RewardRegression, evaluate, simulate_log
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.exceptions import OffsetTreeWarning
from tests.evaluation.test_evaluate import some_log


def uniform_log(n_rows: int, seed: int = 0, n_actions: int = 3) -> dict[str, Any]:
    random = np.random.RandomState(seed)
    return {
        "X": random.normal(size=(n_rows, 3)),
        "action": random.randint(n_actions, size=n_rows),
        "reward": random.random_sample(n_rows),
        "propensity": 1 / n_actions,
    }


def warned(found: Estimate, words: str) -> bool:
    return any(words in text for text in found.warnings)


def quietly(policy: Any, log: dict[str, Any], **settings: Any) -> Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)
        return evaluate(policy, **log, **settings)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_actions", [2, 10])
def test_nothing_is_said_of_a_sound_log(seed: int, n_actions: int) -> None:
    log = uniform_log(2000, seed, n_actions)
    assert evaluate(0, **log).warnings == ()
    random = np.random.RandomState(seed)
    chances = random.dirichlet(np.ones(n_actions), size=2000) * 0.8 + 0.2 / n_actions
    skewed = simulate_log(log["X"], random.random_sample((2000, n_actions)), chances, random_state=random)
    policy = np.full((2000, n_actions), 1 / n_actions)
    assert evaluate(policy, **skewed.arrays()).warnings == ()


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("n_rows", [600, 2000])
def test_a_log_that_explores_little_has_right_propensities_all_the_same(epsilon: float, n_rows: int) -> None:
    for seed in range(20):
        random = np.random.RandomState(seed)
        X = random.normal(size=(n_rows, 2))
        greedy = np.digitize(X[:, 0], [-0.7, 0, 0.7])
        chances = np.full((n_rows, 4), epsilon / 4)
        chances[np.arange(n_rows), greedy] += 1 - epsilon
        log = simulate_log(X, random.random_sample((n_rows, 4)), chances, random_state=random)
        found = quietly(greedy, log.arrays())
        assert not warned(found, "cannot be right")
        assert not warned(found, "near 1")


def test_too_few_effective_rows_are_told() -> None:
    assert warned(evaluate(0, **uniform_log(60)), "rows of the policy's own decisions")
    assert not warned(evaluate(0, **uniform_log(300)), "rows of the policy's own decisions")
    assert not warned(evaluate(0, **uniform_log(60), method="direct"), "own decisions")


def test_a_few_rows_that_carry_the_weight_are_told() -> None:
    log = uniform_log(1000)
    log["propensity"] = np.full(1000, 0.5)
    assert not warned(quietly(0, log), "of the weight")
    log["propensity"][np.flatnonzero(log["action"] == 0)[0]] = 1e-4
    found = quietly(0, log)
    assert warned(found, "rows carry") or warned(found, "a single row carries")
    few = {name: column[:40] for name, column in log.items()}
    assert warned(quietly(0, few), "a single row carries")


def test_actions_never_logged_are_told() -> None:
    log = uniform_log(1000)
    policy = np.where(np.arange(1000) % 4 == 0, 7, 0)
    with pytest.warns(OffsetTreeWarning, match="25 % of the decisions"):
        found = evaluate(policy, **log, actions=[0, 1, 2, 7])
    assert warned(found, "1 action that the log never took (7)")
    assert not warned(found, "near 1")  # for which that would be the reason
    assert not warned(evaluate(0, **log, actions=[0, 1, 2, 7]), "never took")


@pytest.mark.parametrize(
    ("propensity", "words"),
    [
        (1.0, "too large"),
        (0.5, "too large"),
        (0.05, "too small"),
        (lambda log: np.array([0.2, 1 / 3, 7 / 15])[log["action"]], "propensities of action"),
        (lambda log: np.array([0.5, 0.4, 0.25])[log["action"]], "propensities of action"),
    ],
)
def test_propensities_that_cannot_be_right_are_told(propensity: Any, words: str) -> None:
    log = uniform_log(3000)
    log["propensity"] = propensity(log) if callable(propensity) else propensity
    with pytest.warns(OffsetTreeWarning, match="cannot be right"):
        found = evaluate(0, **log)
    assert warned(found, words)
    few = {name: value if np.ndim(value) == 0 else value[:100] for name, value in log.items()}
    assert not warned(quietly(0, few), words)


def test_contexts_that_the_log_cannot_reach_are_told() -> None:
    """Where x is positive action 0 is never logged, and the policy takes it: its weights have the mean 1/2."""
    random = np.random.RandomState(0)
    X = random.normal(size=(4000, 1))
    chances = np.where(X > 0, [[0.0, 0.5, 0.5]], [[0.5, 0.25, 0.25]])
    log = simulate_log(X, random.random_sample((4000, 3)), chances, random_state=0)
    with pytest.warns(OffsetTreeWarning):
        found = evaluate(0, **log.arrays())
    assert warned(found, "cannot be taken in every context") or warned(found, "near 1")


def test_answers_made_knowing_what_was_logged_are_told() -> None:
    log = uniform_log(1000)
    with pytest.warns(OffsetTreeWarning, match="knowing the logged actions"):
        evaluate(log["action"], **log)


def halves(n_rows: int = 1200) -> tuple[LoggedData, LoggedData]:
    log = some_log(n_rows)
    return log[: n_rows // 2], log[n_rows // 2 :]


@pytest.mark.parametrize("policy", [OffsetTree(random_state=0), RewardRegression(random_state=0)])
def test_rows_that_the_policy_was_trained_on_are_told(policy: Any) -> None:
    train, test = halves()
    policy = clone(policy).fit(**train.arrays())
    assert not warned(evaluate(policy, **test.arrays()), "trained on")
    for copy in (policy, pickle.loads(pickle.dumps(policy))):
        with pytest.warns(OffsetTreeWarning, match="trained on about 100 %"):
            evaluate(copy, **train.arrays())
        shuffled = np.random.RandomState(0).permutation(len(train))[:100]
        with pytest.warns(OffsetTreeWarning, match="trained on about 100 %"):
            evaluate(copy, **train[shuffled].arrays())
    both: dict[str, Any] = {name: np.concatenate([part, test.arrays()[name]]) for name, part in train.arrays().items()}
    with pytest.warns(OffsetTreeWarning, match=r"trained on about (4|5)\d %"):
        evaluate(policy, **both)
    with pytest.warns(OffsetTreeWarning, match="trained on"):
        evaluate(EpsilonGreedy(policy), **train.arrays())


@pytest.mark.parametrize("form", [sp.csr_matrix, pd.DataFrame])
def test_rows_are_known_again_in_every_form_of_x(form: Any) -> None:
    train, test = halves()
    policy = OffsetTree(LogisticRegression(), random_state=0)
    policy.fit(form(train.X), train.action, reward=train.reward, propensity=train.propensity)
    assert not warned(evaluate(policy, **{**test.arrays(), "X": form(test.X)}), "trained on")
    assert warned(quietly(policy, {**train.arrays(), "X": form(train.X)}), "trained on")


def test_a_frame_with_nominal_columns_is_known_again() -> None:
    train, test = halves()
    frames = [pd.DataFrame(log.X, columns=list("abcd")).assign(e="x") for log in (train, test)]
    policy = OffsetTree(random_state=0).fit(frames[0], train.action, reward=train.reward, propensity=train.propensity)
    assert not warned(evaluate(policy, **{**test.arrays(), "X": frames[1]}), "trained on")
    assert warned(quietly(policy, {**train.arrays(), "X": frames[0]}), "trained on")


def test_every_chunk_of_a_growing_log_is_known_again() -> None:
    train, test = halves()
    policy = OffsetTree(SGDClassifier(random_state=0), actions=[0, 1, 2], random_state=0)
    for part in (train[:200], train[200:]):
        policy.partial_fit(**part.arrays())
    assert warned(quietly(policy, train[:200].arrays()), "100 %")
    assert warned(quietly(policy, train[200:].arrays()), "100 %")
    assert not warned(quietly(policy, test.arrays()), "trained on")


def test_rows_that_recur_by_nature_are_no_sign_of_training_on_them() -> None:
    random = np.random.RandomState(0)
    X = random.randint(2, size=(4000, 4)).astype(float)
    log = simulate_log(X, random.randint(2, size=4000), random_state=0)
    policy = OffsetTree(random_state=0).fit(**log[:2000].arrays())
    assert not warned(evaluate(policy, **log[2000:].arrays()), "trained on")
    assert not warned(evaluate(policy, **log[:2000].arrays()), "trained on")  # of which nothing can be told


def test_rows_that_recur_at_times_are_told_from_those_trained_on() -> None:
    random = np.random.RandomState(0)
    X = random.randint(6, size=(4000, 4)).astype(float)
    log = simulate_log(X, random.randint(2, size=4000), random_state=0)
    policy = OffsetTree(random_state=0).fit(**log[:2000].arrays())
    assert not warned(evaluate(policy, **log[2000:].arrays()), "trained on")
    assert warned(quietly(policy, log[:2000].arrays()), "trained on")


def test_what_speaks_against_the_baseline_is_told_as_well() -> None:
    log = uniform_log(2000)
    log["action"][:3] = 3
    few = quietly(0, log, baseline=3)
    assert warned(few, "the 2,000 rows are worth 3.0 rows of the baseline's own decisions")
    assert not warned(few, "rows of the policy's own decisions")
    sound = uniform_log(2000)
    with pytest.warns(OffsetTreeWarning, match="the baseline takes 1 action that the log never took"):
        evaluate(0, **sound, baseline=np.arange(2000) % 4, actions=range(4))
    with pytest.warns(OffsetTreeWarning, match="the baseline's mean weight is"):
        evaluate(0, **sound, baseline=sound["action"])
    heavy = {**sound, "propensity": np.full(2000, 1 / 3)}
    heavy["propensity"][np.flatnonzero(heavy["action"] == 1)[0]] = 1e-6
    assert warned(quietly(0, heavy, baseline=1), "rows that the baseline matches")
    assert evaluate(0, **sound, baseline=1).warnings == ()


def test_a_baseline_trained_on_the_rows_is_told() -> None:
    train, test = halves()
    policy = OffsetTree(random_state=0).fit(**train.arrays())
    with pytest.warns(OffsetTreeWarning, match="the baseline was trained on about 100 %.* difference too low"):
        evaluate(0, **train.arrays(), baseline=policy)
    assert evaluate(0, **test.arrays(), baseline=policy).warnings == ()


def test_a_baseline_without_a_matched_row_is_told() -> None:
    log = {**uniform_log(600), "reward_model": np.zeros((600, 4)), "method": "doubly_robust"}
    assert warned(quietly(0, log, baseline=3, actions=range(4)), "that the baseline would take")


@pytest.mark.parametrize("method", ["snips", "ips", "doubly_robust"])
def test_intervals_that_know_of_all_errors_are_given_without_a_word(method: str) -> None:
    log = uniform_log(600)
    assert evaluate(0, **log, method=method, reward_model=np.zeros((600, 3))).warnings == ()


def test_intervals_that_leave_out_the_models_errors_say_so() -> None:
    log = uniform_log(600)
    direct = evaluate(0, **log, method="direct", reward_model=np.zeros((600, 3)), baseline=1)
    assert warned(direct, "predictions for the policy vary from row to row: it ignores the model's bias")
    assert warned(direct, "predictions for the baseline vary")
    switch = evaluate(0, **log, method="switch", reward_model=np.zeros((600, 3)))
    assert switch.warnings == ()  # all weights are alike, and no row was left out
    log["propensity"] = np.where(np.arange(600) % 50 == 0, 1e-3, 1 / 3)
    switch = quietly(0, log, method="switch", reward_model=np.full((600, 3), 0.5))
    assert warned(switch, "largest weights were left to the reward model")


@pytest.mark.parametrize("method", ["snips", "ips", "direct", "doubly_robust", "switch"])
@pytest.mark.parametrize("smallest", [1e-200, 1e-299])
def test_propensities_as_small_as_are_accepted_give_an_answer(method: str, smallest: float) -> None:
    log = uniform_log(600)
    model = np.full((600, 3), 0.5)
    log["propensity"] = np.full(600, 1 / 3)
    log["propensity"][np.flatnonzero(log["action"] == 0)[0]] = smallest
    found = quietly(0, log, method=method, reward_model=model)
    assert not np.isnan([found.value, found.stderr, found.low, found.high]).any()
    if method not in ("direct", "switch"):
        assert warned(found, "a single row carries") or warned(found, "rows carry")
    log["propensity"] = smallest
    assert warned(quietly(0, log, method=method, reward_model=model), "They seem too small")


def test_rows_trained_on_are_found_wherever_they_stand() -> None:
    """The rows that the policy knows are the last half of a long log."""
    random = np.random.RandomState(0)
    X = random.normal(size=(40_000, 2))
    log = simulate_log(X, random.random_sample((40_000, 2)), random_state=0)
    policy = RewardRegression(Ridge()).fit(**log[20_000:].arrays())
    with pytest.warns(OffsetTreeWarning, match=r"trained on about (4|5)\d %"):
        evaluate(policy, **log.arrays())


def test_weights_may_be_as_large_as_propensities_allow() -> None:
    sums = WeightSums.of(np.array([1e300, 1e300, 0.0]))
    assert sums.effective_rows == pytest.approx(2)
    assert sums.n_matched == 2
    assert WeightSums.of(np.zeros(3)).effective_rows == 0
