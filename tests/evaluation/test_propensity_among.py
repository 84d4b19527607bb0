"""Propensities estimated among each row's eligible actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import ActionSets, LoggedData, estimate_propensity, evaluate, simulate_catalogue
from offsettree.actions import ConditionalLogit, log_shares
from offsettree.exceptions import ActionError, FeatureError, LogError, OffsetTreeWarning, ParameterError


@pytest.fixture(scope="module")
def catalogue() -> Any:
    return simulate_catalogue(3000, 30, 6, random_state=0)


def logged_by(catalogue: Any, chance: Any, seed: int = 0) -> tuple[Any, Any]:
    """Return a log in which actions were drawn with the given probabilities of pairs, and what was taken."""
    random, sets = np.random.RandomState(seed), catalogue.sets
    ends = np.cumsum(chance)
    before = np.append(0.0, ends)[sets.starts]
    drawn = before[:-1] + random.random_sample(len(sets)) * np.diff(before)
    pair = np.minimum(np.searchsorted(ends, drawn), sets.starts[1:] - 1)
    reward = (random.random_sample(len(sets)) < catalogue.expected[pair]).astype(float)
    return LoggedData(catalogue.log.X, sets.ids[pair], reward, chance[pair], action_sets=sets), pair


def softmax(catalogue: Any) -> Any:
    sets = catalogue.sets
    row = np.repeat(np.arange(len(sets)), sets.sizes)
    items, x = sets.items[sets.item], catalogue.log.X[row]
    score = 0.8 * x[:, 0] * items[:, 0] + items[:, 1] - 0.5 * x[:, 1] * items[:, 2]
    return np.exp(log_shares(score, sets.starts))


def greedy(catalogue: Any) -> Any:
    """Return the probabilities of a policy that explores uniformly in three of ten cases."""
    sets, chance = catalogue.sets, softmax(catalogue)
    best = np.repeat(np.maximum.reduceat(chance, sets.starts[:-1]), sets.sizes) == chance
    return 0.7 * best + 0.3 / np.repeat(sets.sizes, sets.sizes)


def test_estimates_are_near_the_truth_and_as_good_to_evaluate_with(catalogue: Any) -> None:
    log, _ = logged_by(catalogue, softmax(catalogue))
    found = estimate_propensity(log.X, log.action, action_sets=log.action_sets, random_state=0)
    assert np.abs(np.log(found.propensity / log.propensity)).mean() < 0.15
    assert found.log_loss < found.constant_log_loss - 0.1
    assert found.warnings == ()
    assert found.actions.tolist() == np.unique(log.action_sets.ids).tolist()
    first = log.action_sets.ids[log.action_sets.starts[:-1]]
    true = evaluate(first, **log.arrays())
    estimated = evaluate(first, **{**log.arrays(), "propensity": found})
    with pytest.warns(OffsetTreeWarning, match="cannot be right"):
        naive = evaluate(first, **{**log.arrays(), "propensity": 1 / 6}, baseline=None)
    assert abs(true.value - estimated.value) < true.stderr
    assert abs(naive.value - true.value) > abs(estimated.value - true.value)


def test_a_policy_that_explores_uniformly_is_calibrated_to(catalogue: Any) -> None:
    log, _ = logged_by(catalogue, greedy(catalogue))
    given: dict[str, Any] = {"action_sets": log.action_sets, "random_state": 0}
    found = estimate_propensity(log.X, log.action, **given)
    plain = estimate_propensity(log.X, log.action, calibrate=False, **given)
    assert found.log_loss < plain.log_loss
    predicted, taken, counts = found.calibration.T
    assert np.abs(predicted - taken).max() < 0.05
    assert counts.sum() == len(log.action_sets.ids)


def test_of_a_uniform_log_nothing_is_made_up(catalogue: Any) -> None:
    found = estimate_propensity(catalogue.log.X, catalogue.log.action, action_sets=catalogue.sets, random_state=0)
    assert np.abs(found.propensity * 6 - 1).mean() < 0.03
    assert found.warnings == ()


@pytest.mark.parametrize("form", ["pairs", "frame", "ids alone"])
def test_features_come_in_every_form(catalogue: Any, form: str) -> None:
    log, _ = logged_by(catalogue, softmax(catalogue))
    sets, X = log.action_sets, log.X
    if form == "pairs":
        sets = ActionSets(sets.ids, sets.starts, pairs=sets.items[sets.item])
    elif form == "frame":
        X = pd.DataFrame(X).add_prefix("x")
        frame = pd.DataFrame(sets.items).add_prefix("a").assign(kind=np.where(sets.items[:, 0] > 0, "new", "old"))
        sets = ActionSets(sets.ids, sets.starts, items=frame, item_ids=sets.item_ids)
    else:
        sets = ActionSets(sets.ids, sets.starts)
    found = estimate_propensity(X, log.action, action_sets=sets, random_state=0)
    assert np.abs(np.log(found.propensity / log.propensity)).mean() < 0.2


def test_an_action_without_rivals_is_certain_and_small_ones_are_raised(catalogue: Any) -> None:
    sets = ActionSets([["a"], ["a", "b"]] * 30)
    found = estimate_propensity(
        np.arange(60.0).reshape(-1, 1), ["a", "b", "a", "a"] * 15, action_sets=sets, random_state=0, clip=0.45
    )
    assert found.propensity[::2].tolist() == [1.0] * 30
    assert found.propensity[1::2].min() >= 0.45
    assert found.clip == 0.45


def test_no_row_teaches_the_model_that_predicts_it(catalogue: Any) -> None:
    """Were it otherwise, ids that are taken once each would be predicted with certainty."""
    random = np.random.RandomState(0)
    ids = [[f"{row}-{place}" for place in range(4)] for row in range(200)]
    action = [each[random.randint(4)] for each in ids]
    found = estimate_propensity(random.normal(size=(200, 2)), action, action_sets=ActionSets(ids), random_state=0)
    assert found.propensity.tolist() == pytest.approx([0.25] * 200)


def test_the_gradient_is_that_of_the_scores(catalogue: Any) -> None:
    from offsettree.actions.conditional_logit import _Parts

    random = np.random.RandomState(0)
    starts = np.array([0, 2, 5, 6])
    parts = _Parts(
        random.normal(size=(3, 2)), random.normal(size=(6, 3)), np.array([0, 1, 1, -1, 2, 0]), starts, 3,
        with_slopes=True,
    )  # fmt: skip
    weights, direction = random.normal(size=(2, parts.n_weights))
    off = random.normal(size=6)
    assert parts.scores(weights + direction) - parts.scores(weights) == pytest.approx(parts.scores(direction))
    assert parts.gradient(off) @ direction == pytest.approx(off @ parts.scores(direction))


def test_a_new_id_starts_from_its_features(catalogue: Any) -> None:
    log, pair = logged_by(catalogue, softmax(catalogue))
    model = ConditionalLogit().fit(log.X, log.action_sets, pair)
    sets = log.action_sets.take(np.arange(200))
    renamed = ActionSets(sets.ids + 1000, sets.starts, items=sets.items, item_ids=sets.item_ids + 1000)
    known, new = model.scores(log.X[:200], sets), model.scores(log.X[:200], renamed)
    assert np.corrcoef(known, new)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"estimator": object()}, ParameterError, "estimator must be left out"),
        ({"actions": ["a", "b"]}, ParameterError, "actions must be left out"),
        ({"n_folds": 1}, ParameterError, "n_folds must be"),
        ({"clip": 0.9}, ParameterError, "clip must be"),
        ({"action_sets": ["a", "b"]}, LogError, "as ActionSets"),
        ({"X": np.zeros((3, 1))}, FeatureError, "a row per action set"),
        ({"action": ["a", "c"] * 4}, ActionError, "row 1 has 'c'"),
    ],
)
def test_bad_input_is_refused(wrong: dict[str, Any], error: type[Exception], says: str) -> None:
    given: dict[str, Any] = {
        "X": np.zeros((8, 1)), "action": ["a", "b"] * 4, "action_sets": ActionSets([["a", "b"]] * 8),
    }  # fmt: skip
    with pytest.raises(error, match=says):
        estimate_propensity(**given | wrong)
