from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import RidgeCV

from offsettree import (
    ActionOffsetTree,
    ActionRegression,
    EpsilonGreedy,
    OnlineActionOffsetTree,
    OnlineActionRegression,
    PolicySearch,
    PopularAction,
    RewardRegression,
    evaluate,
    load,
    load_action_policy,
    save,
    simulate_catalogue,
)
from offsettree.actions import LabelledActions
from offsettree.exceptions import ActionError, LogError, OffsetTreeWarning, ParameterError

TRAIN, TEST = simulate_catalogue(12_000, 60, 6, exploration=0.6, random_state=0).split_days(10)
POLICY = OnlineActionRegression().fit(**TRAIN.log.arrays())
CHOSEN = POLICY.predict(TEST.log.X, TEST.sets)
TRUE = TEST.value(CHOSEN)


@pytest.mark.parametrize("method", ["snips", "ips", "direct", "doubly_robust", "switch"])
def test_every_method_estimates_the_true_value(method: str) -> None:
    settings: dict[str, Any] = {} if method in ("snips", "ips") else {"reward_model": RidgeCV()}
    found = evaluate(POLICY, **TEST.log.arrays(), method=method, random_state=0, **settings)
    assert abs(found.value - TRUE) < 0.04
    assert found.n_rows == len(TEST.log)
    assert found.baseline is not None
    assert found.difference is not None
    assert found.difference.low > 0
    if method != "direct":
        assert found.low < TRUE < found.high


def test_a_reward_model_over_features_narrows_the_interval() -> None:
    plain = evaluate(POLICY, **TEST.log.arrays(), method="ips", interval="normal")
    robust = evaluate(
        POLICY, **TEST.log.arrays(), method="doubly_robust", reward_model=RidgeCV(), interval="normal", random_state=0
    )
    assert robust.high - robust.low < 0.9 * (plain.high - plain.low)


def test_decisions_as_ids_are_the_policy() -> None:
    assert evaluate(CHOSEN, **TEST.log.arrays()).value == evaluate(POLICY, **TEST.log.arrays()).value


def test_an_explorer_is_worth_a_mixture_of_its_policy_and_chance() -> None:
    explorer = EpsilonGreedy(POLICY, epsilon=0.5, random_state=0)
    expected = 0.5 * TRUE + 0.5 * TEST.uniform_value
    for method in ("snips", "doubly_robust"):
        found = evaluate(explorer, **TEST.log.arrays(), method=method, reward_model=RidgeCV(), random_state=0)
        assert found.low < expected < found.high
        assert abs(found.value - expected) < 0.03


def test_two_policies_are_compared_on_the_same_rows() -> None:
    first = TEST.sets.ids[TEST.sets.starts[:-1]]
    found = evaluate(POLICY, **TEST.log.arrays(), baseline=first)
    assert found.baseline is not None
    assert abs(found.baseline.value - TEST.value(first)) < 0.05


def test_what_is_not_eligible_is_refused() -> None:
    with pytest.raises(ActionError, match="must choose among the available actions"):
        evaluate(np.roll(CHOSEN, 1), **TEST.log.arrays())


LEARNERS = [
    PopularAction(),
    OnlineActionRegression(),
    OnlineActionOffsetTree(),
    ActionOffsetTree(random_state=0),
    ActionRegression(RidgeCV(), random_state=0),
    LabelledActions(RewardRegression(RidgeCV(), random_state=0)),
]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array, pd.DataFrame])
@pytest.mark.parametrize("policy", LEARNERS, ids=lambda policy: type(policy).__name__)
def test_rows_that_a_policy_was_trained_on_are_told(policy: Any, form: Any, tmp_path: Path) -> None:
    made = simulate_catalogue(1200, 8, 4, new_share=0.0, random_state=0)
    arrays = [made.log[rows].arrays() for rows in (slice(0, 600), slice(600, 1200))]
    train, test = (each | {"X": form(each["X"])} for each in arrays)
    if isinstance(policy, LabelledActions) and form is sp.coo_array:
        train["X"], test["X"] = train["X"].tocsr(), test["X"].tocsr()
    policy = clone(policy).fit(**train)
    save(policy, tmp_path / "policy.ot")
    is_labelled = isinstance(policy, LabelledActions)
    loaded = (
        LabelledActions.of(load(tmp_path / "policy.ot")) if is_labelled else load_action_policy(tmp_path / "policy.ot")
    )
    for each in (policy, loaded, pickle.loads(pickle.dumps(policy))):
        if form is pd.DataFrame and is_labelled and each is loaded:
            continue  # its file has no encoder, as save was given none
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffsetTreeWarning)
            on_train, on_test = evaluate(each, **train), evaluate(each, **test)
        assert any("trained on about 100 %" in text for text in on_train.warnings)
        assert not any("trained on" in text for text in on_test.warnings)


def test_rows_learned_from_one_part_after_the_other_are_all_told() -> None:
    log = simulate_catalogue(1200, 8, 4, random_state=0).log
    policy = OnlineActionRegression().fit(**log[:400].arrays()).partial_fit(**log[400:800].arrays())
    with pytest.warns(OffsetTreeWarning, match="trained on about 100 %"):
        evaluate(EpsilonGreedy(policy), **log[300:700].arrays())
    policy.fit(**log[:400].arrays())
    assert not any("trained on" in text for text in evaluate(policy, **log[400:].arrays()).warnings)


def test_a_search_tells_its_training_rows() -> None:
    log = simulate_catalogue(1200, 8, 4, random_state=0).log
    search = PolicySearch([("online", OnlineActionRegression())], random_state=0).fit(**log[:800].arrays())
    with pytest.warns(OffsetTreeWarning, match="trained on about 100 %"):
        evaluate(search, **log[:800].arrays())


def test_contexts_that_are_no_numbers_are_not_remembered() -> None:
    log = simulate_catalogue(300, 8, 4, random_state=0).log
    arrays = log.arrays() | {"X": [["text"]] * 300}
    assert len(PopularAction().fit(**arrays).predict(arrays["X"], arrays["action_sets"])) == 300


def test_sets_come_without_masks_and_of_the_same_rows() -> None:
    log = TEST.log.arrays()
    with pytest.raises(LogError, match="leave out actions and available"):
        evaluate(POLICY, **log, actions=[1, 2])
    with pytest.raises(LogError, match="got sets of 10 rows"):
        evaluate(POLICY, **(log | {"action_sets": TEST.sets.take(np.arange(10))}))
    with pytest.raises(ParameterError, match="must be a regressor"):
        evaluate(POLICY, **log, method="direct", reward_model="linear")
