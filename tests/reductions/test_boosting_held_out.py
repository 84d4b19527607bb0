"""Held-out scores of reward boosting: by which models they are, and what they count for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from offsettree import RewardBoosting
from offsettree.reductions.boosting import _final_regression
from offsettree.reductions.boosting._boosting import BoostedLog, BoostedModel
from offsettree.reductions.boosting._final_regression import (
    FOREST,
    HELPS,
    LinearScores,
    Stage,
    fit_final,
    fit_final_without_folds,
)
from offsettree.reductions.boosting._regressions import (
    Regressions,
    Scores,
    Source,
    add_if_better,
    gain_of,
    nonnegative_sum,
    tells_apart,
)
from offsettree.reductions.boosting._stacking import _held_out_linear


def make_log(design: NDArray[Any], action: NDArray[Any], reward: NDArray[Any]) -> BoostedLog:
    """Return a log without columns for trees."""
    return BoostedLog(
        np.zeros((0, len(design)), np.uint8), np.zeros(0, bool), design, action, reward, None, 2, logistic=True
    )


def make_case(n_rows: int, every: int, start: str) -> tuple[BoostedLog, list[Stage], list[NDArray[np.float64]]]:
    """Return a log where one row in so many earns, and a stage whose single direction tells which action does."""
    random = np.random.default_rng(0)
    design = np.column_stack([np.ones(n_rows), random.standard_normal(n_rows)])
    action = (np.arange(n_rows) % 2).astype(np.int32)
    reward = (np.arange(n_rows) % every == 0).astype(float)
    action = np.where(reward == 1, np.arange(n_rows) // every % 2, action).astype(np.int32)
    sign = np.where(action == 0, 1.0, -1.0) * (2 * reward - 1)
    stage = Stage(start, [], np.zeros(2), np.array([[1.0], [-1.0]]), np.ones(1))
    return make_log(design, action, reward), [stage], [sign[:, np.newaxis] + random.normal(0, 1.5, (n_rows, 1))]


def test_one_score_that_runs_away_does_not_hide_what_all_others_tell() -> None:
    reward = (np.arange(400) % 4 == 1).astype(float)
    log = make_log(np.ones((400, 1)), np.zeros(400, np.int32), reward)
    level, told = np.full(400, -1.1), np.where(reward == 1, 1.0, -3.0)
    told[0] = 80.0

    assert gain_of(log, level, told) > 5 * HELPS


def test_a_held_out_linear_score_is_of_the_own_action_by_the_model_without_the_fold() -> None:
    design = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    log = make_log(design, np.array([0, 1, 1], np.int32), np.zeros(3))
    weights = [np.array([[1.0, 1.0], [0.0, 10.0]]), np.array([[5.0, 5.0], [0.0, 100.0]])]
    nothing: Any = np.empty(0)
    models = [BoostedModel(nothing, nothing, nothing, nothing, each) for each in weights]
    constant = Stage("constant", [models[0]._replace(linear=None)] * 2, nothing, nothing, nothing)

    found = _held_out_linear(log, np.array([0, 0, 1]), [constant, constant._replace(start="linear", models=models)])

    assert found is not None
    np.testing.assert_allclose(found.own, [3.0, 30.0, 400.0])
    np.testing.assert_array_equal(found.weights, weights)
    assert _held_out_linear(log, np.array([0, 0, 1]), [constant]) is None


def test_scores_that_point_the_wrong_way_have_no_weight() -> None:
    log, _, _ = make_case(400, 4, "constant")
    noise = np.random.default_rng(1).normal(0, 1, 400)
    right, wrong = log.reward + noise, -log.reward + noise

    both = nonnegative_sum(log, [Source(np.eye(2), right), Source(10 * np.eye(2), wrong)])

    assert both.slopes[1, 1] > 0
    alone = nonnegative_sum(log, [Source(np.eye(2), right)])
    np.testing.assert_allclose(both.own, alone.own, atol=1e-3)


@pytest.mark.parametrize("start", ["linear", FOREST])
def test_scores_without_a_fold_have_no_part_of_linear_models_trained_on_it(start: str) -> None:
    log, stages, parts = make_case(300, 3, start)
    fold = np.arange(300) // 7 % 2
    random = np.random.default_rng(2)
    weights, own = random.standard_normal((2, 2, 2)), log.reward + random.normal(0, 1, 300)
    other = weights.copy()
    other[1] += 1

    one = fit_final_without_folds(log, stages, parts, LinearScores(weights, own), fold, 15.0).slopes
    two = fit_final_without_folds(log, stages, parts, LinearScores(other, own), fold, 15.0).slopes

    np.testing.assert_array_equal(one[0], two[0])
    assert np.abs(one[1] - two[1]).max() > 0.1


@pytest.mark.parametrize("n_rows", [800, 1700])
def test_predictions_without_the_fold_do_not_know_its_rewards(n_rows: int) -> None:
    random = np.random.default_rng(n_rows)
    X, action = random.standard_normal((n_rows, 40)), random.integers(0, 10, n_rows)
    mean = 1 / (1 + np.exp(-X[:, :3] @ random.standard_normal((3, 10)) / np.sqrt(3)))[np.arange(n_rows), action]
    reward = (random.random(n_rows) < mean).astype(float)
    policy = RewardBoosting(random_state=0)
    policy._keeps_held_out = True
    held_out = policy.fit(X, action, reward=reward, propensity=np.full(n_rows, 0.1))._held_out

    error = held_out.rewards(np.arange(n_rows), action) - mean
    assert np.corrcoef(error, reward - mean)[0, 1] < 0.12


def test_scores_tell_actions_apart_as_far_as_they_go_along_with_what_rewards_leave_over() -> None:
    random = np.random.default_rng(0)
    n, k, slopes = 500, 2, np.array([[0.0, 1.0], [0.5, -1.0]])
    design = np.column_stack([np.ones(n), random.standard_normal(n)])
    action, reward = random.integers(k, size=n).astype(np.int32), random.integers(2, size=n).astype(float)
    log, common = make_log(design, action, reward), Scores(np.zeros((k, 2)), random.standard_normal(n))
    own = np.einsum("ip,ip->i", design, slopes[action])

    ahead = own - (design @ slopes.T).mean(axis=1)
    for one in range(k):
        ahead[action == one] -= ahead[action == one].mean()
    moment = (reward - 1 / (1 + np.exp(-common.left_out))) * ahead
    found = tells_apart(log, design, common, Source(slopes, own))

    assert found == pytest.approx(moment.sum() / np.sqrt((moment**2).sum()))
    # What is added to all actions of a row, or to all rows of an action, changes nothing.
    shift = np.array([[0.3, 2.0], [0.3, 2.0]]) + np.array([[0.0, 0.0], [7.0, 0.0]])
    moved = Source(slopes + shift, own + np.einsum("ip,ip->i", design, shift[action]))
    assert tells_apart(log, design, common, moved) == pytest.approx(found)
    assert tells_apart(log, design, common, Source(-slopes, -own)) == pytest.approx(-found)
    assert tells_apart(log._replace(weight=np.full(n, 3.0)), design, common, Source(slopes, own)) == pytest.approx(
        found
    )


def test_other_scores_are_added_only_if_rewards_become_likelier_by_so_much() -> None:
    log, _, _ = make_case(400, 4, "constant")
    random = np.random.default_rng(1)
    scores = Scores(np.eye(2), log.reward + random.normal(0, 1, 400))
    source = Source(np.eye(2), log.reward + random.normal(0, 2, 400))

    def likelihood(own: NDArray[np.float64]) -> float:
        return float((log.reward * own - np.logaddexp(0, own)).sum())

    alone = nonnegative_sum(log, [Source(*scores)])
    both = nonnegative_sum(log, [Source(*scores), source])
    gained = likelihood(both.own) - likelihood(alone.own)
    assert gained > 2
    np.testing.assert_array_equal(add_if_better(log, scores, source, gained - 0.01).left_out, both.own)
    assert add_if_better(log, scores, source, gained + 0.01) is scores
    # Of a normal distribution, with the variance that the scores leave over.
    squared = log._replace(logistic=False)
    alone, both = (nonnegative_sum(squared, parts) for parts in ([Source(*scores)], [Source(*scores), source]))
    left = [((log.reward - each.own) ** 2).mean() for each in (alone, both)]
    gained = 200 * np.log(left[0] / left[1])
    np.testing.assert_array_equal(add_if_better(squared, scores, source, gained - 0.01).left_out, both.own)
    assert add_if_better(squared, scores, source, gained + 0.01) is scores


def test_scores_that_only_tell_actions_apart_count_on_short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_final_regression, "gain_of", lambda *_: 1.0)  # as if the standard error were large

    assert fit_final(*make_case(150, 5, FOREST)).gain == HELPS
    assert fit_final(*make_case(150, 5, "constant")).gain == 1.0
    monkeypatch.setattr(_final_regression, "TELLS_APART", 1e6)
    assert fit_final(*make_case(150, 5, FOREST)).gain == 1.0


@pytest.mark.parametrize("logistic", [True, False])
def test_a_regression_from_models_of_nearly_the_same_rows_ends_where_it_would_have(logistic: bool) -> None:
    random = np.random.default_rng(3)
    design = np.column_stack([np.ones(1200), random.standard_normal((1200, 3))])
    action = random.integers(4, size=1200).astype(np.int32)
    score = np.einsum("ip,ip->i", design, random.standard_normal((4, 4))[action])
    reward = (
        (random.random(1200) < 1 / (1 + np.exp(-score))).astype(float) if logistic else score + random.normal(size=1200)
    )
    log = make_log(design, action, reward)._replace(n_actions=4, logistic=logistic)
    groups, regressions = [slice(0, 1), slice(1, 4)], Regressions()
    rows = np.arange(200, 1200)

    regressions.fit("x", log, design, groups, np.zeros(1200))
    near = regressions.fit("x", log.take(rows), design[rows], groups, np.zeros(1000))
    cold = Regressions().fit("x", log.take(rows), design[rows], groups, np.zeros(1000))

    np.testing.assert_allclose(near.weights, cold.weights, atol=0.02)
    np.testing.assert_allclose(near.left_out, cold.left_out, atol=0.05)
