"""The engine: decisions are idempotent, probabilities exact, rewards joined, and nothing is lost over restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from offsettree import OffsetTree
from offsettree.policy_file import save
from offsettree.service import Engine, GroupWriter, LoopSettings, Settings
from offsettree.service.exploration import draw, mixed, uniform_draw, vector, without
from offsettree.service.records import Decision, Settle, Swap, SwapRecord
from offsettree.service.requests import DecideRequest, RequestError, RewardRequest
from offsettree.service.settings import ServerSettings
from offsettree.service.versions import Versions
from tests.service.engines import Clock, decide, decide_all, make_engine, reward, reward_all, stored
from tests.service.stores import open_store

MODES = [
    {"exploration": "epsilon", "epsilon": 0.3},
    {"exploration": "epoch-greedy"},
    {"exploration": "squarecb", "epsilon": 0.02, "gamma": 2.0},
    {"exploration": "squarecb", "hold_back": 0.3},
    {"exploration": "epsilon", "hold_back": 0.3, "baseline": "c"},
]


@st.composite
def vectors(draw: st.DrawFn) -> list[float]:
    n = draw(st.integers(1, 8))
    scores = draw(st.lists(st.floats(-1, 2), min_size=n, max_size=n))
    kind = draw(st.sampled_from(["epsilon", "epoch-greedy", "squarecb"]))
    greedy = draw(st.sampled_from([-1, int(np.argmax(scores))]))
    made = vector(kind, n, greedy, draw(st.floats(0, 1)), scores, draw(st.floats(0.0, 1e6)))
    return mixed(made, draw(st.floats(0, 1)), draw(st.integers(-1, n - 1)))


@given(vectors())
def test_probabilities_are_none_negative_and_add_up_to_1(probabilities: list[float]) -> None:
    assert min(probabilities) >= 0
    assert sum(probabilities) == pytest.approx(1)


@given(vectors(), st.floats(0, 1, exclude_max=True))
def test_no_action_of_probability_0_is_ever_drawn(probabilities: list[float], number: float) -> None:
    assert probabilities[draw(probabilities, number)] > 0


@given(vectors(), st.data())
def test_the_next_slot_has_all_other_actions_in_the_same_proportions(
    probabilities: list[float], data: st.DataObject
) -> None:
    taken = data.draw(st.integers(0, len(probabilities) - 1))
    rest = [p for i, p in enumerate(probabilities) if i != taken]
    if rest:
        left = without(probabilities, taken)
        assert sum(left) == pytest.approx(1)
        assert [p * sum(rest) for p in left] == pytest.approx(rest) or sum(rest) == 0


def test_draws_depend_on_the_secret_and_are_uniform() -> None:
    drawn = [uniform_draw(b"secret", f"event-{i}") for i in range(20_000)]
    assert drawn[0] == uniform_draw(b"secret", "event-0") != uniform_draw(b"other", "event-0")
    counts = np.histogram(drawn, bins=50, range=(0, 1))[0]
    assert ((counts - 400) ** 2 / 400).sum() < chi2.ppf(1 - 1e-6, 49)


def test_a_repeated_call_gives_the_logged_answer_also_after_a_swap_and_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, exploration="epsilon", epsilon=1.0)
    first = decide(engine, {"age": 3}, "e")
    answers = decide_all(engine, [({"age": i}, None) for i in range(200)])
    reward_all(engine, {answer.event_id: 1.0 for answer in answers})
    clock.now += 20
    engine.step()
    version = engine.loops["shop"].learning.snapshot(clock.now)
    assert decide(engine, {"age": 3}, "e") == first
    assert decide(engine, {"age": 3}, "f").policy_version == version
    engine.close()
    engine = make_engine(tmp_path, clock)
    assert decide(engine, {"age": 3}, "e") == first
    assert engine.store.summary(1)["decisions"] == 202
    engine.close()


def test_an_event_id_with_another_request_is_refused(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, Clock())
    decide(engine, {"age": 3}, "e")
    for change in ({"context": {"age": 4}}, {"context": {"age": 3}, "excluded": ["a"]}):
        with pytest.raises(RequestError, match="another context") as refused:
            decide(engine, event_id="e", **change)
        assert refused.value.status == 409
    engine.close()


@pytest.mark.parametrize("settings", MODES, ids=lambda mode: "-".join(map(str, mode.values())))
def test_logged_propensities_are_those_served_across_swaps_and_restarts(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, **settings)
    random = np.random.default_rng(0)
    for part in range(15):
        ages = random.integers(3, size=100)
        answers = decide_all(engine, [({"age": str(age)}, f"event-{part}-{i}") for i, age in enumerate(ages)])
        reward_all(engine, {a.event_id: float(a.action == "abc"[age]) for a, age in zip(answers, ages, strict=True)})
        clock.now += 20
        engine.step()
        if part in (4, 8):
            engine.loops["shop"].learning.snapshot(clock.now)
        if part == 6:
            engine.swap("shop", 2)
        if part == 10:
            engine.close()
            engine = make_engine(tmp_path, clock, **settings)
    surplus, covariance = np.zeros(3), np.zeros((3, 3))
    for row in engine.store.scan(1):
        p = np.array(msgspec.json.decode(row.probabilities))
        assert p.sum() == pytest.approx(1)
        assert row.probability == p[row.position]
        surplus += np.eye(3)[row.position] - p
        covariance += np.diag(p) - np.outer(p, p)
    # The three add up to 0: two are free.
    distance = surplus[:2] @ np.linalg.solve(covariance[:2, :2], surplus[:2])
    assert distance < chi2.ppf(1 - 1e-6, 2)
    assert not engine.loops["shop"].learning.health.mismatches()
    engine.close()


def test_the_learner_survives_a_kill_as_if_nothing_had_happened(tmp_path: Path) -> None:
    states = []
    for name, killed in (("straight", False), ("killed", True)):
        (tmp_path / name).mkdir()
        clock = Clock()
        engine = make_engine(tmp_path / name, clock, snapshot_rows=70, snapshot_every=0.0, actions=("a",))
        for i in range(30):
            answers = decide_all(engine, [({"age": j % 5}, f"e{i}-{j}") for j in range(10)])
            reward_all(engine, {answer.event_id: float(i % 2) for answer in answers})
            clock.now += 5
            engine.step()
            if killed and i in (5, 16, 21):  # the engine is dropped without a word
                engine.writer.close()
                engine = make_engine(tmp_path / name, clock, snapshot_rows=70, snapshot_every=0.0, actions=("a",))
        learning = engine.loops["shop"].learning
        states.append((learning.learner.state(), learning.values.n_rows, learning.last, engine.loops["shop"].count))
        engine.close()
    assert states[0] == states[1]


def test_changing_settings_keeps_the_model(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock)
    reward_all(engine, {a.event_id: 1.0 for a in decide_all(engine, [({"age": i}, None) for i in range(100)])})
    clock.now += 20
    engine.step()
    engine.close()
    engine = make_engine(tmp_path, clock, bits=10, exploration="epsilon", mode="frozen", actions=("a", "d"))
    assert engine.loops["shop"].learning.learner.n_rows == 100
    assert decide(engine, {"age": 1}).mode == "frozen"
    engine.close()


@pytest.mark.parametrize(("how", "expected"), [("first", 0.5), ("sum", 1.25), ("last", 0.25), ("max", 0.5)])
def test_rewards_are_combined_as_the_settings_say(how: str, expected: float, tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, combine=how)
    decide(engine, event_id="e")
    for value in (0.5, 0.5, 0.25):
        assert reward(engine, "e", value) == "kept"
    clock.now += 11
    assert reward(engine, "e", 9.0) == "late"
    assert reward(engine, "nobody", 9.0) == "unknown"
    engine.step()
    assert stored(engine, "e").reward == expected
    engine.close()


def test_an_event_without_a_reward_gets_the_default_and_a_deferred_one_waits(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, default_reward=0.25)
    decide(engine, event_id="e")
    decide(engine, event_id="deferred", defer=True)
    clock.now += 100
    assert engine.step() == 1
    assert stored(engine, "e").reward == 0.25
    assert [engine.activate("shop", each) for each in ("deferred", "deferred", "nobody")] == [
        "activated",
        "active",
        "unknown",
    ]
    clock.now += 9
    assert engine.step() == 0
    clock.now += 2
    assert engine.step() == 1
    engine.close()


def test_metrics_are_combined_by_the_formula(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, Clock(), reward_formula="min(1, clicks / 10 + bought)")
    decide(engine, event_id="e")
    assert engine.reward("shop", "e", RewardRequest(metrics={"clicks": 3})) == "kept"
    (kept,) = engine.store.rewards(1, "e")
    assert (kept.value, kept.metrics) == (0.3, '{"clicks":3}')
    for wrong in ({"metrics": {"views": 1.0}}, {"reward": float("nan")}, {}, {"reward": 1.0, "metrics": {}}):
        with pytest.raises(RequestError) as refused:
            engine.reward("shop", "e", RewardRequest(**wrong))
        assert refused.value.status == 422
    engine.close()


def test_slots_are_filled_by_different_actions_each_with_its_own_row(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock)
    answer = decide(engine, {"age": 1}, "e", slots=3)
    assert answer.ranking is not None
    assert [slot.event_id for slot in answer.ranking] == ["e", "e#2", "e#3"]
    assert sorted(slot.action for slot in answer.ranking) == ["a", "b", "c"]
    assert [slot.probability for slot in answer.ranking] == pytest.approx([1 / 3, 1 / 2, 1])
    assert decide(engine, {"age": 1}, "e", slots=3) == answer
    assert reward(engine, "e#2", 1.0) == "kept"
    clock.now += 20
    engine.step()
    assert [row.reward for row in engine.store.scan(1)] == [0.0, 1.0, 0.0]
    engine.close()


def test_excluded_and_unknown_actions_are_handled(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, Clock())
    assert {decide(engine, excluded=["a", "c"]).action for _ in range(10)} == {"b"}
    new = [{"id": f"new{i}", "features": {"size": i}} for i in range(3)]
    assert decide(engine, actions=new).action.startswith("new")
    wrong: dict[str, Any]
    for wrong in ({"excluded": ["a", "b", "c"]}, {"actions": ["x", "x"]}, {"actions": []}, {"slots": 4}):
        with pytest.raises(RequestError) as refused:
            decide(engine, **wrong)
        assert refused.value.status == 422
    engine.close()


def test_a_model_that_fails_gives_the_baseline_and_says_so(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, Clock(), baseline="b")
    learning = engine.loops["shop"].learning

    class Broken:
        is_bounded = True

        def choose(self, context: Any, actions: Any) -> Any:
            raise ZeroDivisionError("a broken model")

    learning.running = learning.running._replace(decider=Broken())
    answers = [decide(engine) for _ in range(20)]
    assert {(answer.action, answer.baseline, answer.probability) for answer in answers} == {("b", True, 1.0)}
    assert engine.loops["shop"].faults == 20
    assert "broken model" in str(engine.loops["shop"].last_fault)
    engine.close()


def test_the_callers_choice_is_taken_in_apprentice_mode(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, Clock(), mode="apprentice")
    answer = decide(engine, {"age": 1}, choice="c", choice_probability=0.8)
    assert (answer.action, answer.probability, answer.mode) == ("c", 0.8, "apprentice")
    answer = decide(engine, {"age": 1}, choice="b", choice_probabilities={"a": 0.25, "b": 0.75})
    row = stored(engine, answer.event_id)
    assert msgspec.json.decode(row.probabilities) == [0.25, 0.75, 0.0]
    assert decide(engine, {"age": 1}).action == "a"
    for wrong in ({"choice": "x"}, {"choice": "a", "choice_probabilities": {"a": 0.5}}):
        with pytest.raises(RequestError):
            decide(engine, **wrong)
    engine.close()


def test_a_frozen_loop_neither_explores_nor_learns(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, exploration="epsilon", epsilon=0.5)
    answers = decide_all(engine, [({"age": i}, None) for i in range(300)])
    reward_all(engine, {answer.event_id: float(answer.action == "b") for answer in answers})
    clock.now += 20
    engine.step()
    engine.close()
    engine = make_engine(tmp_path, clock, mode="frozen")
    answers = decide_all(engine, [({"age": i}, None) for i in range(50)])
    assert {(answer.action, answer.probability) for answer in answers} == {("b", 1.0)}
    clock.now += 20
    engine.step()
    assert engine.loops["shop"].learning.learner.n_rows == 300
    engine.close()


def test_rows_older_than_the_retention_are_deleted(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, retention="1h")
    old = decide(engine).event_id
    clock.now += 3000
    new = decide(engine).event_id
    clock.now += 1000
    assert engine.forget() == 1
    assert engine.store.find(1, old) is None
    assert engine.store.find(1, new) is not None
    engine.close()


def test_a_customers_events_are_deleted(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, Clock())
    for i in range(4):
        decide(engine, event_id=f"e{i}", customer_id=f"c{i % 2}")
    assert engine.delete("shop", customer="c1") == 2
    assert engine.delete("shop", event_id="e0") == 1
    assert [row.event_id for row in engine.store.scan(1)] == ["e2"]
    engine.close()


def test_a_context_deeper_than_features_go_is_decided_on_and_learned_from(tmp_path: Path) -> None:
    clock, context = Clock(), {"age": 3}
    for _ in range(20):
        context = {"inner": context, "age": 3}  # type: ignore[dict-item]
    settings = Settings(
        {"shop": LoopSettings(actions=("a", "b"), waiting_time=10.0)}, server=ServerSettings(max_nesting=30)
    )
    for number in range(2):  # the second time, the policy has learned something, and rows are there at the start
        engine = Engine(settings, GroupWriter(open_store("sqlite", tmp_path)), clock)
        assert not decide(engine, context, f"e{number}").baseline
        clock.now += 20
        assert engine.step() == 1
        learning = engine.loops["shop"].learning
        assert (learning.learner.n_rows, learning.left_out) == (number + 1, 0)
        engine.close()


def test_a_row_that_cannot_be_read_is_left_out_and_the_others_are_learned_from(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock)
    for event_id in ("first", "broken", "last"):
        decide(engine, {"age": 3}, event_id)
    engine.store._writer.execute(  # type: ignore[attr-defined]
        "UPDATE decisions SET actions='[\"a\", \"\"]' WHERE event_id='broken'"
    )
    clock.now += 20
    assert engine.step() == 3
    learning = engine.loops["shop"].learning
    assert (learning.last, learning.learner.n_rows, learning.left_out) == (3, 2, 1)
    learning.snapshot(clock.now)
    engine.close()
    engine = make_engine(tmp_path, clock)
    assert engine.loops["shop"].learning.left_out == 1
    engine.swap("shop", 1)
    engine.close()


@pytest.mark.parametrize("wrong", ["", "a\0", "x" * 257])
def test_ids_of_actions_in_the_settings_must_be_those_that_calls_may_bring(wrong: str) -> None:
    with pytest.raises(ValueError, match="an action's id must be"):
        LoopSettings(actions=("a", wrong))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"alpha": 0.0}, "alpha must be above 0"),
        ({"alpha": 1.0}, "alpha must be above 0"),
        ({"reward_range": (0.0, float("inf"))}, "finite"),
        ({"reward_range": (float("-inf"), 1.0)}, "finite"),
        ({"reward_range": (float("nan"), 1.0)}, "finite"),
        ({"retention": "5m", "waiting_time": "10m"}, "retention must not be shorter"),
    ],
)
def test_settings_with_which_a_loop_could_not_learn_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LoopSettings(**wrong)


def test_the_probability_of_a_choice_is_at_least_a_millionth(tmp_path: Path) -> None:
    with pytest.raises(msgspec.ValidationError, match="choice_probability"):
        msgspec.json.decode(b'{"choice":"a","choice_probability":1e-7}', type=DecideRequest)
    engine = make_engine(tmp_path, Clock(), mode="apprentice")
    with pytest.raises(RequestError, match="at least 1e-6"):
        decide(engine, choice="a", choice_probabilities={"a": 1e-7, "b": 1 - 1e-7})
    engine.close()


@pytest.mark.parametrize("swapped_by", ["policy of the settings", "by hand", None])
def test_processes_that_start_with_a_new_policy_swap_to_it_once(
    swapped_by: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the new version and its swap, another process swaps to it, or to a former version, or not at all."""
    make_engine(tmp_path, Clock(), mode="frozen").close()
    save(OffsetTree().fit(np.eye(3), ["a", "b", "c"], reward=[1, 0, 1], propensity=[0.5] * 3), tmp_path / "policy.ot")
    add = Versions._add_version

    def add_and_swap(self: Versions, *told: Any) -> int:
        number = add(self, *told)
        if swapped_by is not None:
            version = number if swapped_by == "policy of the settings" else 1
            self.writer.write(Swap(self.record.id, SwapRecord(0.0, version, swapped_by)))
        return number

    monkeypatch.setattr(Versions, "_add_version", add_and_swap)
    engine = make_engine(tmp_path, Clock(), mode="frozen", policy=str(tmp_path / "policy.ot"))
    assert [swap.version for swap in engine.store.swaps(1)].count(2) == 1
    assert engine.loops["shop"].learning.running.version == 2
    engine.close()


def test_a_loop_whose_rows_cannot_be_settled_keeps_no_other_loop_from_learning(tmp_path: Path) -> None:
    loops = {name: LoopSettings(actions=("a", "b"), waiting_time=1.0) for name in ("faulty", "shop")}
    clock = Clock()
    engine = Engine(Settings(loops), GroupWriter(open_store("sqlite", tmp_path)), clock)

    def combine(values: list[float]) -> float:
        raise ArithmeticError(values)

    faulty = engine.loops["faulty"]
    faulty.learning.settlement = lambda now: Settle(faulty.record.id, now, 10, combine)  # type: ignore[method-assign]
    for name in loops:
        engine.decide_all(name, [DecideRequest() for _ in range(3)])
    clock.now += 2
    with pytest.raises(ArithmeticError):
        asyncio.run(engine.step_soon())
    assert [engine.loops[name].learning.learner.n_rows for name in loops] == [0, 3]
    engine.close()


def test_a_loop_that_cannot_learn_keeps_no_other_loop_from_learning(tmp_path: Path) -> None:
    loops = {name: LoopSettings(actions=("a", "b"), waiting_time=1.0) for name in ("faulty", "shop")}
    clock = Clock()
    engine = Engine(Settings(loops), GroupWriter(open_store("sqlite", tmp_path)), clock)

    def process(decisions: Sequence[Decision], now: float) -> None:
        if decisions:
            raise MemoryError(now)

    engine.loops["faulty"].learning.process = process  # type: ignore[method-assign]
    for n_rows, in_loop in [(3, True), (6, False)]:
        for name in loops:
            engine.decide_all(name, [DecideRequest() for _ in range(3)])
        clock.now += 2
        with pytest.raises(MemoryError):
            asyncio.run(engine.step_soon()) if in_loop else engine.step()
        assert [engine.loops[name].learning.learner.n_rows for name in loops] == [0, n_rows]
    engine.close()
