"""What `learn` is told of a loop's log: the features of actions, and which were eligible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from offsettree.cli import main
from offsettree.policy_file import load_any
from offsettree.service import Engine
from offsettree.service.deciders import FileDecider
from offsettree.service.requests import Action
from offsettree.service.training import _write_for_learn
from tests.service.engines import Clock, decide, make_engine, reward

RIDGE = ("--base", "ridge")


def learn(engine: Engine, folder: Path, *options: str) -> tuple[list[str], FileDecider]:
    n_rows, arguments = _write_for_learn(lambda: engine.store.scan(1), folder, options)
    assert n_rows == engine.store.summary(1)["matured"]
    log, *rest = arguments
    told = ["--action", "action", "--reward", "reward", "--propensity", "propensity", "--json"]
    assert main(["learn", str(folder / log), *rest, *told, *options, "--out", str(folder / "policy.ot")]) == 0
    return arguments, FileDecider((folder / "policy.ot").read_bytes())


def test_actions_with_features_are_learned_about_by_their_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the items of the decisions below were never there in training."""
    clock, random = Clock(), np.random.default_rng(0)
    engine = make_engine(tmp_path, clock, actions=(), exploration="epsilon", epsilon=1.0)

    def items(first: int) -> list[dict[str, Any]]:
        chosen = random.choice(30, 4, replace=False) + first
        return [{"id": f"item-{i}", "features": {"price": float(i % 10), "tags": [f"t{i % 3}"]}} for i in chosen]

    for i in range(800):
        asked = items(0)
        answer = decide(engine, {"budget": int(random.integers(10))}, f"e{i}", actions=asked)
        price = next(each["features"]["price"] for each in asked if each["id"] == answer.action)
        reward(engine, f"e{i}", 1 - price / 10)
    clock.now += 20
    engine.step()
    arguments, decider = learn(engine, tmp_path, "--learner", "action-regression", *RIDGE)
    assert arguments == ["log.ndjson", "--eligible", "eligible"]
    assert load_any(tmp_path / "policy.ot").takes_action_sets
    right = 0
    for _ in range(50):
        asked = items(15)
        actions = msgspec.convert(asked, list[Action])
        position, scores = decider.choose({"budget": 3}, actions)
        assert scores is None
        right += asked[position]["features"]["price"] == min(each["features"]["price"] for each in asked)
    assert right >= 45
    assert decider.choose({}, [Action("new"), Action("other", {"price": 1.0})])[0] in (0, 1)  # gaps are no fault
    version = engine.add_candidate("shop", (tmp_path / "policy.ot").read_bytes(), 0, "by features")
    engine.swap("shop", version)
    answer = decide(engine, {"budget": 1}, "by file", actions=items(0))
    assert (answer.policy_version, answer.baseline) == (version, False)
    engine.close()


def test_exclusions_are_masks_for_policies_over_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock, exploration="epsilon", epsilon=1.0)
    for i in range(600):
        answer = decide(engine, {"x": i % 5}, f"e{i}", excluded=["c"] if i % 2 else [])
        reward(engine, f"e{i}", {"a": 0.1, "b": 0.5, "c": 0.9}[answer.action])
    clock.now += 20
    engine.step()
    arguments, decider = learn(engine, tmp_path, "--learner", "reward-regression", *RIDGE)
    assert arguments == ["log.parquet", "--eligible", "eligible", "--labels"]
    assert decider.choose({"x": 1}, [Action(each) for each in "abc"]) == (2, None)
    assert decider.choose({"x": 1}, [Action(each) for each in "ab"]) == (1, None)
    by_row = _write_for_learn(lambda: engine.store.scan(1), tmp_path, ("--learner", "online"))
    assert by_row == (600, ["log.parquet", "--labels"])  # that learner reads no eligible actions
    engine.close()


def test_a_log_whose_rows_had_all_the_same_actions_is_one_of_labels(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock)
    for i in range(10):
        decide(engine, {"x": i}, f"e{i}")
    clock.now += 20
    engine.step()
    found = _write_for_learn(lambda: engine.store.scan(1), tmp_path, ())
    assert found == (10, ["log.parquet", "--labels"])
    engine.close()
