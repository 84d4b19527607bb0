"""Exports: in chunks, with columns known before the first row, and the eligible actions beside each row."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from offsettree.cli import main
from offsettree.logs import LoggedData
from offsettree.service import Engine
from offsettree.service.deciders import FileDecider
from offsettree.service.export import lines, write_log
from offsettree.service.records import Decision
from offsettree.service.requests import Action
from tests.service.engines import Clock, decide, make_engine, reward
from tests.service.test_http import client_of, engine_of

CONTEXTS: list[dict[str, Any]] = [
    {"age": 3, "city": "Rome", "big": 1 << 40, "mixed": 1, "flag": True},
    {"age": 2.5, "user": {"visits": 7}, "mixed": "word", "flag": False, "action": "not ours"},
    {"age": None, "city": "Oslo", "mixed": None, "tags": ["x"], "empty": None},
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Nine chunks of ten rows; in every third row, b is excluded."""
    clock = Clock()
    engine = make_engine(tmp_path, clock)
    for i in range(90):
        answer = decide(engine, CONTEXTS[i % 3], f"e{i}", excluded=["b"] if i % 3 == 0 else [])
        reward(engine, answer.event_id, i / 100)
    clock.now += 20
    engine.step()
    decide(engine, {"late": 1}, "not matured")
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsettree.service.export.CHUNK", 10)


def test_all_formats_hold_the_same_rows_in_chunks(engine: Engine, tmp_path: Path) -> None:
    def rows() -> Iterator[Decision]:
        return engine.store.scan(1)

    assert [write_log(rows, tmp_path / f"log.{form}", form) for form in ("parquet", "ndjson", "dsjson")] == [90] * 3
    file = pq.ParquetFile(tmp_path / "log.parquet")
    assert file.num_row_groups == 9
    table = file.read()
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["age"] == "double"
    assert (kinds["big"], kinds["mixed"], kinds["flag"], kinds["empty"]) == ("int64", "string", "bool", "null")
    plain = [json.loads(line) for line in (tmp_path / "log.ndjson").read_text().splitlines()]
    events = [json.loads(line) for line in (tmp_path / "log.dsjson").read_text().splitlines()]
    for i, (row, event, wide) in enumerate(zip(plain, events, table.to_pylist(), strict=True)):
        expected = ["a", "c"] if i % 3 == 0 else ["a", "b", "c"]
        assert row["eligible"] == wide["eligible"] == [each["id"] for each in event["c"]["_multi"]] == expected
        assert row["action"] == wide["action"] == expected[event["_labelIndex"]]
        assert row["reward"] == wide["reward"] == -event["_label_cost"] == i / 100
        assert row["propensity"] == wide["propensity"] == event["_label_probability"]
        assert row["decision"][0] == json.loads(wide["decision"][0])
        assert wide["user.visits"] == row.get("user.visits")
        assert wide["context.action"] == row.get("context.action") == ("not ours" if i % 3 == 1 else None)
        assert wide["tags=x"] == row.get("tags=x") == (1.0 if i % 3 == 2 else None)
    log = LoggedData.read(tmp_path / "log.parquet")
    assert np.allclose(log.reward, np.arange(90) / 100)
    assert not {"eligible", "decision"} & set(map(str, log.feature_names or []))


def test_rows_that_mature_during_an_export_do_not_change_its_columns(engine: Engine, tmp_path: Path) -> None:
    calls = iter([False, True])

    def rows() -> Iterator[Decision]:
        if next(calls):  # between the two passes
            engine.clock.now += 20  # type: ignore[attr-defined]
            engine.step()
            assert engine.store.summary(1)["matured"] == 91
        return engine.store.scan(1)

    assert write_log(rows, tmp_path / "log.parquet", "parquet") == 90
    assert "late" not in pq.read_schema(tmp_path / "log.parquet").names


def test_an_export_reads_no_further_than_it_is_asked_for(engine: Engine) -> None:
    read = 0

    def rows() -> Iterator[Decision]:
        nonlocal read
        for row in engine.store.scan(1):
            read += 1
            yield row

    parts = lines(rows(), "ndjson")
    assert next(parts).count(b"\n") == 10
    assert read == 10


def test_numbers_too_large_for_64_bits_are_floats_and_no_rows_are_a_file(tmp_path: Path) -> None:
    clock = Clock()
    engine = make_engine(tmp_path, clock)
    assert write_log(lambda: engine.store.scan(1), tmp_path / "none.parquet", "parquet") == 0
    assert {"action", "reward", "propensity"} <= set(pq.read_schema(tmp_path / "none.parquet").names)
    features = [{"id": "x", "features": {"price": 3, "size": {"cm": 2}}}, {"id": "y"}]
    decide(engine, {"n": 10**14}, "e", actions=features)
    clock.now += 20
    engine.step()
    (row,) = (json.loads(line) for part in lines(engine.store.scan(1), "ndjson") for line in part.splitlines())
    assert row["eligible"] == [{"price": 3, "size.cm": 2, "id": "x"}, {"id": "y"}]
    assert write_log(lambda: engine.store.scan(1), tmp_path / "log.parquet", "parquet") == 1
    assert pq.read_table(tmp_path / "log.parquet")["eligible"].to_pylist() == [["x", "y"]]
    engine.close()


@pytest.mark.parametrize("form", ["parquet", "ndjson", "dsjson"])
def test_the_log_comes_over_http(tmp_path: Path, form: str) -> None:
    with client_of(tmp_path, waiting_time=0.0) as client:
        for i in range(25):
            client.post("/v1/loops/shop/decide", json={"context": {"age": i}, "event_id": f"e{i}"})
        engine_of(client).step()
        answer = client.get(f"/v1/loops/shop/log?format={form}")
        assert answer.status_code == 200
        assert f"shop.{form}" in answer.headers["content-disposition"]
        if form == "parquet":
            ages = pq.read_table(io.BytesIO(answer.content))["age"].to_pylist()
        else:
            rows = [json.loads(line) for line in answer.text.splitlines()]
            ages = [row["age"] if form == "ndjson" else row["c"]["age"] for row in rows]
        assert ages == list(range(25))
        assert client.get("/v1/loops/shop/log?format=csv").status_code == 422


@pytest.mark.parametrize("form", ["parquet", "ndjson", "dsjson"])
def test_rewards_are_exported_within_their_range_and_kept_as_they_came(tmp_path: Path, form: str) -> None:
    sent = [-7.0, 0.25, 1e308]
    with client_of(tmp_path, waiting_time=3600.0) as client:
        for i, value in enumerate(sent):
            client.post("/v1/loops/shop/decide", json={"event_id": f"e{i}"})
            assert client.post(f"/v1/loops/shop/events/e{i}/reward", json={"reward": value}).json()["status"] == "kept"
        engine = engine_of(client)
        engine.clock = lambda: time.time() + 4000.0
        engine.step()
        assert engine.store.summary(1)["matured"] == len(sent)
        answer = client.get(f"/v1/loops/shop/log?format={form}")
        if form == "parquet":
            rewards = pq.read_table(io.BytesIO(answer.content))["reward"].to_pylist()
        else:
            rows = [json.loads(line) for line in answer.text.splitlines()]
            rewards = [row["reward"] if form == "ndjson" else -row["_label_cost"] for row in rows]
        assert rewards == [0.0, 0.25, 1.0]
        assert [client.get(f"/v1/loops/shop/events/e{i}").json()["reward"] for i in range(3)] == sent


def test_parquet_has_no_more_columns_than_the_command_line_takes(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offsettree.service.export.MOST_COLUMNS", 3)
    assert write_log(lambda: engine.store.scan(1), tmp_path / "log.parquet", "parquet") == 90
    names = pq.read_schema(tmp_path / "log.parquet").names
    assert names == ["age", "city", "big", "action", "reward", "propensity", "eligible", "decision"]


def test_a_policy_learned_from_lists_and_clashing_names_decides_by_them(tmp_path: Path) -> None:
    """What a policy file is asked has the same columns as what it was learned from."""
    clock, random = Clock(), np.random.default_rng(0)
    engine = make_engine(tmp_path, clock, exploration="epsilon", epsilon=1.0)
    contexts = [
        {"tags": random.choice(["x", "y", "z"], 2, replace=False).tolist(), "action": str(random.choice(["p", "q"]))}
        for _ in range(600)
    ]
    for i, context in enumerate(contexts):
        answer = decide(engine, context, f"e{i}")
        good = "c" if context["action"] == "q" else "b" if "x" in context["tags"] else "a"
        reward(engine, f"e{i}", float(answer.action == good))
    clock.now += 20
    engine.step()
    trees = ["--learner", "reward-regression", "--base", "boosting", "--out", str(tmp_path / "policy.ot"), "--json"]
    for form in ("parquet", "ndjson"):
        write_log(lambda: engine.store.scan(1), tmp_path / f"log.{form}", form)
        assert main(["learn", str(tmp_path / f"log.{form}"), *trees]) == 0
        decider, actions = FileDecider((tmp_path / "policy.ot").read_bytes()), [Action(each) for each in "abc"]
        for tags, word, place in ((["x", "y"], "p", 1), (["y", "z"], "p", 0), (["z", "x"], "q", 2)):
            assert decider.choose({"tags": tags, "action": word}, actions) == (place, None)
    engine.close()
