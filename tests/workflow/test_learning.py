"""A log in; a policy to keep, and what the one learned from a part of the rows is worth, out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import (
    ConstantPolicy,
    LoggedData,
    OffsetTree,
    PolicySearch,
    RewardBoosting,
    RewardRegression,
    evaluate,
)
from offsettree.datasets import make_campaign
from offsettree.exceptions import LogError, ParameterError
from offsettree.learners import make_learner
from offsettree.workflow import LEARNERS, advice, comparison, learn_policy, make_policy
from offsettree.workflow.comparison import best_constant, compare_with_constant
from offsettree.workflow.facts import _each_once as each_once
from offsettree.workflow.facts import learned_facts
from offsettree.workflow.learning import fit_policy

RIDGE: dict[str, Any] = {"learner": "reward-regression", "base": "ridge", "random_state": 0, "method": "snips"}


@pytest.fixture(scope="module")
def log() -> LoggedData:
    frame = pd.DataFrame(make_campaign(2000, random_state=1).columns)
    return LoggedData.from_frame(frame, action="mail", reward="visited", propensity="propensity")


def test_the_policy_kept_is_learned_again_from_all_rows(log: LoggedData) -> None:
    learned = learn_policy(log, **RIDGE)
    assert learned.refit
    assert learned.encoder is not None
    X = learned.encoder.encode(log.X)
    same = RewardRegression(make_learner("ridge", "regressor"), actions=log.actions).fit(
        X, log.action, reward=log.reward, propensity=log.propensity
    )
    np.testing.assert_array_equal(learned.policy.predict(X), same.predict(X))
    np.testing.assert_array_equal(learned.evaluated.predict(learned.test.X), learned.decisions)
    assert (learned.policy.predict(learned.held_out) != learned.decisions).any()
    facts = learned_facts(learned, path="log.csv", columns={}, seed=0)
    assert facts.policy.refit
    assert facts.policy.rows == 2000
    assert facts.log.train_rows == 1400


def test_a_warning_of_two_parts_of_the_rows_is_told_once(log: LoggedData) -> None:
    columns = log.columns._replace(propensity=np.minimum(3 * log.propensity, 1))
    candidates = [("ridge", RewardRegression(make_learner("ridge", "regressor"))), ("constant", ConstantPolicy())]
    search = PolicySearch(candidates, cv=2, nested=False, random_state=0)
    learned = learn_policy(LoggedData(log.X, columns), learner=search, random_state=0)
    wrong = "propensities cannot be right: the mean of 1 / propensity"
    of_training, of_test = (
        [text for text in texts if text.startswith(wrong)] for texts in (learned.warnings, learned.compared.warnings)
    )
    assert of_training != of_test  # other rows, other figures
    assert [len(of_training), len(of_test)] == [1, 1]
    warnings = learned_facts(learned, path="log.csv", columns={}, seed=0).warnings
    assert sum(text.startswith(wrong) for text in warnings) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("propensities of action 3 may be wrong: it was logged 700 times.", "7"),
        ("propensities of action mail 3 cannot be right: it was logged 700 times.", "mail 7"),
        ("column 'x3' is the reward in other units: each determines the other.", "'x7'"),
        ("the policy takes 1 action that the log never took (3), in 4.5 % of the decisions.", "(7)"),
    ],
)
def test_figures_are_no_part_of_a_warning_but_what_it_is_about_is(one: str, other: str) -> None:
    about = other.replace("7", "3")
    assert about in one
    of_another = one.replace(about, other, 1)
    with_other_figures = one.replace("700", "1,432.5").replace("4.5 %", "61 %")
    assert each_once([one], [with_other_figures, of_another]) == [one, of_another]


def test_without_refit_the_policy_kept_is_the_one_evaluated(log: LoggedData) -> None:
    learned, again = learn_policy(log, **RIDGE, refit=False), learn_policy(log, **RIDGE)
    assert learned.policy is learned.evaluated
    assert learned.encoder is learned.test_encoder
    assert not learned.refit
    assert learned.estimate == again.estimate


def test_rows_learned_from_are_noticed_after_a_refit_as_well(log: LoggedData) -> None:
    learned = learn_policy(log, **RIDGE)
    assert not any("trained on" in text for text in learned.estimate.warnings)
    test = LoggedData(learned.held_out, learned.test.action, learned.test.reward, learned.test.propensity)
    with pytest.warns(UserWarning, match="trained on"):
        found = evaluate(learned.policy, **test.arrays())
    assert any("trained on" in text for text in found.serious)


def test_a_search_is_not_run_again_but_what_it_chose(log: LoggedData, monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = [
        ("ridge", RewardRegression(make_learner("ridge", "regressor"))),
        ("tree", OffsetTree(make_learner("logistic"))),
    ]
    search = PolicySearch(candidates, cv=2, nested=False, scoring="snips", random_state=0)
    times = []
    fit = PolicySearch.fit

    def counted(self: Any, *arguments: Any, **more: Any) -> Any:
        times.append(1)
        return fit(self, *arguments, **more)

    monkeypatch.setattr(PolicySearch, "fit", counted)
    learned = learn_policy(log, learner=search, method="snips", random_state=0)
    assert times == [1]
    assert type(learned.policy) is type(search.best_policy_)
    facts = learned_facts(learned, path="log.csv", columns={}, seed=0)
    assert facts.policy.name == search.best_name_
    assert facts.rule == search.rule_
    assert [each.reason for each in facts.candidates] == [row["reason"] for row in search.results_]


def test_the_best_constant_is_picked_by_training_rows_and_valued_on_the_others(log: LoggedData) -> None:
    learned = learn_policy(log, **RIDGE)
    found, test = learned.compared, learned.test
    assert found.action == best_constant(learned.train)
    beside = evaluate(learned.decisions, **test.arrays(), baseline=found.action, reward_range=(0, 1))
    assert beside.difference is not None
    assert found.gain.value == pytest.approx(beside.difference.value)
    assert found.gain.low == pytest.approx(beside.difference.low)
    assert found.constant.value == pytest.approx(evaluate(found.action, **test.arrays()).value)


@pytest.mark.parametrize("method", ["doubly_robust", "ips"])
def test_three_are_compared_by_the_same_reward_models(log: LoggedData, method: str) -> None:
    learned = learn_policy(log, **RIDGE)
    test = learned.test[:200]
    policy, decisions = learned.evaluated, learned.decisions[:200]
    found = compare_with_constant(policy, decisions, test, log.actions[0].item(), method=method, random_state=0)
    assert found.gain.value == pytest.approx(found.estimate.value - found.constant.value, abs=1e-9)
    alone = evaluate(policy, **test.arrays(), method=method, random_state=0)
    assert found.estimate.value == pytest.approx(alone.value, abs=0.1)


def test_many_actions_share_a_reward_model(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    X, action = random.normal(size=(600, 3)), random.randint(20, size=600)
    chance = 1 / (1 + np.exp(-X[:, 0] - np.cos(action)))
    log = LoggedData(X, action, reward=(random.random_sample(600) < chance) * 1.0, propensity=1 / 20)
    decisions, fitted = np.arange(600) % 20, list[Any]()
    predict = vars(comparison)["predict_rewards"]

    def noted(model: Any, *given: Any, **more: Any) -> Any:
        fitted.append(model)
        return predict(model, *given, **more)

    monkeypatch.setattr(comparison, "predict_rewards", noted)
    settings: dict[str, Any] = {"method": "doubly_robust", "random_state": 0}
    found = {}
    for n_rows in (601, 600):
        monkeypatch.setattr(comparison, "ENOUGH_ROWS", n_rows)
        found[n_rows] = compare_with_constant(decisions, decisions, log, 0, **settings).estimate
    compare_with_constant(decisions % 16, decisions % 16, log, 0, **settings)
    assert fitted == [None, "boosting", None]
    assert found[600].value == pytest.approx(found[601].value, abs=0.1)
    assert found[600].stderr < 1.1 * found[601].stderr


def test_a_policy_that_draws_its_actions_is_valued_by_predictions_of_all_of_them(log: LoggedData) -> None:
    learned = learn_policy(log, **RIDGE)
    test, decisions = learned.test[:200], learned.decisions[:200]
    any_action = np.full((200, len(log.actions)), 1 / len(log.actions))
    settings: dict[str, Any] = {"method": "doubly_robust", "random_state": 0}
    found = compare_with_constant(Drawn(any_action), decisions, test, log.actions[0].item(), **settings)
    assert found.estimate.value == evaluate(any_action, **test.arrays(), **settings).value


class Drawn:
    """A policy that is known by its probabilities."""

    def __init__(self, probability: np.ndarray[Any, Any]) -> None:
        self.probability = probability

    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        return self.probability[: len(X)]


def test_the_latest_rows_are_held_out_on_demand(log: LoggedData) -> None:
    learned = learn_policy(log, **RIDGE, split_by_time="sent_at")
    assert learned.test_encoder is not None
    assert "sent_at" in learned.test_encoder.names_in
    order = np.argsort(log.X["sent_at"].to_numpy(), kind="stable")
    assert sorted(learned.test.reward) == sorted(log.reward[order[-len(learned.test) :]])
    assert any("latest rows, by column 'sent_at'" in note for note in learned.notes)


def test_a_customer_is_on_one_side_on_demand_and_is_no_feature(log: LoggedData) -> None:
    frame = log.X.assign(shop=np.arange(2000) // 20)
    grouped = LoggedData(frame, log.action, log.reward, log.propensity)
    learned = learn_policy(grouped, **RIDGE, group="shop")
    assert learned.test_encoder is not None
    assert "shop" not in learned.test_encoder.names_in
    assert len(learned.test) == 600
    assert any("left out of the features: it identifies the groups" in note for note in learned.notes)
    assert learned.estimate.n_groups == 30
    beside = evaluate(learned.decisions, **learned.test.arrays(), group=frame["shop"][held_out_rows(learned, grouped)])
    assert (learned.estimate.low, learned.estimate.high) == (beside.low, beside.high)
    assert learned.estimate.difference == beside.difference
    assert beside.n_groups == 30
    kept = learn_policy(grouped, **RIDGE, group=frame["shop"])
    assert kept.test_encoder is not None
    assert "shop" in kept.test_encoder.names_in


def held_out_rows(learned: Any, log: LoggedData) -> Any:
    from offsettree.workflow.holdout import hold_out

    held = hold_out(log, 0.3, None, "shop", 0)
    np.testing.assert_array_equal(log.reward[held.test], learned.test.reward)
    return held.test


@pytest.mark.parametrize("way", ["group", "split_by_time"])
def test_a_search_holds_rows_out_as_it_is_said_to_be(log: LoggedData, way: str) -> None:
    parts = []

    class Watched(ConstantPolicy):
        def _fit(self, X: Any, *rest: Any) -> None:
            parts.append(X)
            super()._fit(X, *rest)

        def _choose(self, X: Any) -> Any:
            parts.append(X)
            return np.full(len(X), self._order[0])

    row = np.arange(2000.0)
    numbered = LoggedData(row[:, np.newaxis], log.action, log.reward, log.propensity)
    values = row // 20 if way == "group" else row
    search = PolicySearch([Watched()], cv=3, nested=False, scoring="snips", random_state=0)
    settings: Any = {way: values}
    learn_policy(numbered, learner=search, method="snips", random_state=0, refit=False, **settings)
    learned, decided = parts[0][:, 0], parts[1][:, 0]
    if way == "group":
        assert not set(learned // 20) & set(decided // 20)
    else:
        assert learned.max() < decided.min()


@pytest.mark.parametrize("settings", [{"base": "ridge"}, {"offset": 0.5}, {"time_budget": 3.0}])
def test_what_a_policy_has_of_its_own_is_not_silently_ignored(log: LoggedData, settings: Any) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(settings))}=.* must not be given together with a policy"):
        learn_policy(log, learner=OffsetTree(), **settings)


@pytest.mark.parametrize("method", ["snips", "doubly_robust"])
@pytest.mark.parametrize("reward", [0.0, 1.0, 7.0])
def test_of_equal_rewards_there_is_no_interval_unless_their_range_is_known(
    log: LoggedData, method: str, reward: float
) -> None:
    same = LoggedData(log.X, log.action, np.full(len(log), reward), log.propensity)
    settings: Any = {"learner": "constant", "method": method, "random_state": 0, "refit": False}
    learned = learn_policy(same, **settings)
    found = learned.compared
    for interval in (found.estimate, found.estimate.difference, found.constant, found.gain):
        assert interval is not None
        assert np.isnan([interval.low, interval.high]).all()
    assert any("reward_range=(low, high)" in text for text in found.estimate.serious)
    assert advice(found).use == "open"
    known = learn_policy(same, **settings, reward_range=(0.0, 10.0)).estimate
    assert known.low < reward + 1e-9
    assert known.high > max(known.low, reward - 1e-9)


def test_a_distilled_tree_is_kept_and_valued_and_what_it_loses_is_told(log: LoggedData) -> None:
    settings: Any = {"learner": "reward-boosting", "method": "snips", "random_state": 0}
    learned = learn_policy(log, **settings, distilled=True)
    assert type(learned.policy) is type(learned.evaluated) is OffsetTree
    assert isinstance(learned.teacher, RewardBoosting)
    np.testing.assert_array_equal(learned.evaluated.predict(learned.test.X), learned.decisions)
    teacher = learned.teacher.predict(learned.test.X)
    beside = evaluate(learned.decisions, **learned.test.arrays(), baseline=teacher, reward_range=(0, 1))
    assert learned.loss == beside.difference
    alone = evaluate(learned.decisions, **learned.test.arrays(), reward_range=(0, 1))
    assert learned.estimate.value == alone.value
    assert learned.policy is not learned.evaluated  # learned from all rows, not from most
    facts = learned_facts(learned, path="log.csv", columns={}, seed=0)
    assert facts.policy.teacher == "RewardBoosting"
    assert facts.policy.learner == "OffsetTree"
    assert facts.policy.loss.value == beside.difference.value  # type: ignore[union-attr]


def test_poorly_estimated_propensities_forbid_a_verdict(log: LoggedData) -> None:
    """Who is older is always written to, others never: no propensity of theirs can be divided by."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 1))
    action = np.where(X[:, 0] > 0, 1, 0)
    sure = LoggedData(X, action, (action == 1) * 1.0 * (random.random(600) < 0.9), 1.0)
    learned = learn_policy(sure, learner="constant", estimated_propensity=True, random_state=0)
    assert learned.propensity is not None
    assert learned.propensity.warnings
    assert set(learned.propensity.warnings) <= set(learned.estimate.serious)
    assert advice(learned.compared).use == "open"


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"split_by_time": "sent_at", "group": "customer_id"}, ParameterError, "not both"),
        ({"split_by_time": "nothing"}, ParameterError, "X has no column 'nothing'"),
        ({"group": "currency"}, LogError, "at least two groups"),
        ({"split_by_time": "country"}, LogError, "numbers, dates or times"),
    ],
)
def test_hold_outs_that_cannot_be_meant_are_refused(log: LoggedData, settings: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        learn_policy(log, **RIDGE, **settings)


def test_a_leak_is_told_of_by_its_name_and_once(log: LoggedData) -> None:
    leaking = LoggedData(log.X.assign(cents=100 * log.reward), log.action, log.reward, log.propensity)
    learned = learn_policy(leaking, **RIDGE)
    told = [text for text in learned.warnings if "'cents'" in text or "equals the reward" in text]
    assert len(told) == 1
    assert "reward in other units" in told[0]


def test_infinite_numbers_of_rows_held_out_are_no_stumbling_block(log: LoggedData) -> None:
    frame = log.X.assign(age=np.where(np.arange(2000) == learned_row(log), np.inf, log.X["age"]))
    learn_policy(LoggedData(frame, log.action, log.reward, log.propensity), **RIDGE)


def learned_row(log: LoggedData) -> int:
    from offsettree.workflow.holdout import split_rows

    return int(split_rows(len(log), 0.3, 0)[1][0])


def test_every_learner_has_a_name_and_offsets_are_for_some() -> None:
    for name in LEARNERS:
        if not name.startswith("online"):
            make_policy(name)
    assert make_policy("offset-tree").offset == "mean"
    assert make_policy("offset-forest", offset=0.25).offset == 0.25
    with pytest.raises(
        ParameterError,
        match="only offset-tree, offset-forest, action-offset-tree and online-action-offset-tree take an offset; "
        "got one for 'constant'",
    ):
        make_policy("constant", offset="median")


def test_a_search_leaves_time_for_later_rows_only_while_it_learns_here(log: LoggedData) -> None:
    seen = []

    class Search(PolicySearch):
        def fit(self, *_: Any, **__: Any) -> Search:
            seen.append(self._n_later)
            return self

    search = Search()
    fit_policy(search, log, n_later=7)
    assert (seen, search._n_later) == ([7], 0)
