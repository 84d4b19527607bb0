"""The contract of every store: what was acknowledged is there, once, also after it was opened again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree.service.records import (
    Activate,
    AddDecisions,
    AddReward,
    AddVersion,
    Delete,
    EnsureLoop,
    PutState,
    Settle,
    Swap,
    SwapRecord,
    Version,
)
from offsettree.service.sqlite_store import SqliteStore
from offsettree.service.store import StoreError
from tests.service.postgres import WHY_NOT
from tests.service.stores import add, decision, make_loop, open_store

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT))]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    opened = open_store(request.param, tmp_path)
    yield opened
    opened.close()


def total(values: list[float]) -> float:
    return sum(values) if values else -1.0


def test_a_loop_keeps_its_number_and_its_secret(store: Any) -> None:
    first, other, again = store.apply(
        [EnsureLoop("shop", b"one", 0.0), EnsureLoop("mail", b"two", 0.0), EnsureLoop("shop", b"three", 9.0)]
    )
    assert again == first
    assert first.secret == b"one"
    assert [loop.name for loop in store.loops()] == ["shop", "mail"]
    assert first.id != other.id


def test_a_decision_is_read_as_it_was_written(store: Any) -> None:
    loop = make_loop(store)
    row = decision(loop, "e", 5.0, customer="c", context='{"name":"Zoë","x":1e-300}', probability=0.1 + 0.2)
    add(store, row)
    found = store.find(loop, "e")
    found.seq = row.seq
    assert found == row
    assert store.find(loop, "other") is None


def test_a_repeated_event_gives_the_first_row_and_adds_none(store: Any) -> None:
    loop = make_loop(store)
    add(store, decision(loop, "e", action="b"))
    (rows,) = add(store, decision(loop, "e", action="a", position=0))
    assert [row.action for row in rows] == ["b"]
    within = store.apply([AddDecisions([decision(loop, "f", action=each)]) for each in "ab"])
    assert [rows[0].action for rows in within] == ["a", "a"]
    assert store.summary(loop)["decisions"] == 2
    assert len(list(store.scan(loop))) == 2


def test_the_same_event_id_is_another_event_in_another_loop(store: Any) -> None:
    one, two = make_loop(store, "one"), make_loop(store, "two")
    add(store, decision(one, "e", action="a"), decision(two, "e", action="b"))
    assert [store.find(loop, "e").action for loop in (one, two)] == ["a", "b"]


def test_rewards_are_joined_when_the_waiting_time_is_over(store: Any) -> None:
    loop = make_loop(store)
    add(store, decision(loop, "e"), decision(loop, "f", 1.0), decision(loop, "g", 100.0))
    kept, late, unknown = store.apply(
        [AddReward(loop, "e", 3.0, 0.5), AddReward(loop, "e", 10.5, 7.0), AddReward(loop, "nobody", 3.0, 1.0)]
    )
    assert (kept, late, unknown) == ("kept", "late", "unknown")
    store.apply([AddReward(loop, "e", 4.0, 0.25)])
    assert store.apply([Settle(loop, 9.9, 100, total)]) == [[]]
    (settled,) = store.apply([Settle(loop, 20.0, 100, total)])
    assert [(row.event_id, row.matured, row.reward, row.n_rewards) for row in settled] == [
        ("e", 1, 0.75, 2),
        ("f", 2, -1.0, 0),
    ]
    assert store.apply([Settle(loop, 20.0, 100, total)]) == [[]]
    assert store.apply([AddReward(loop, "f", 5.0, 1.0)]) == ["late"]
    assert [row.matured for row in store.matured(loop, 0, 10)] == [1, 2]
    assert [row.event_id for row in store.matured(loop, 1, 10)] == ["f"]
    assert [reward.status for reward in store.rewards(loop, "e")] == ["kept", "late", "kept"]
    assert {reward.event_id for reward in store.stray_rewards(loop, 10)} == {"e", "f", "nobody"}
    summary = store.summary(loop)
    assert (summary["rewards"], summary["late"], summary["unknown"], summary["defaults"]) == (5, 2, 1, 1)


def test_a_reward_that_came_before_its_decision_counts(store: Any) -> None:
    loop = make_loop(store)
    assert store.apply([AddReward(loop, "e", 1.0, 1.0)]) == ["unknown"]
    add(store, decision(loop, "e", 2.0))
    (settled,) = store.apply([Settle(loop, 50.0, 10, total)])
    assert settled[0].reward == 1.0


def test_a_reward_with_an_id_is_kept_once(store: Any) -> None:
    loop = make_loop(store)
    add(store, decision(loop, "e"))
    one = AddReward(loop, "e", 1.0, 1.0, reward_id="r")
    assert store.apply([one, AddReward(loop, "e", 1.0, 1.0, reward_id="r")]) == ["kept", "repeated"]
    assert store.apply([one]) == ["repeated"]
    assert len(store.rewards(loop, "e")) == 1


def test_a_deferred_decision_waits_from_its_activation_on(store: Any) -> None:
    loop = make_loop(store)
    store.apply([AddDecisions([decision(loop, "e", due=None, activated=None)])])
    store.apply([AddDecisions([decision(loop, "never", due=None, activated=None)])])
    assert store.apply([Activate(loop, "e", 100.0, 10.0), Activate(loop, "x", 100.0, 10.0)]) == [
        "activated",
        "unknown",
    ]
    assert store.apply([Activate(loop, "e", 105.0, 10.0)]) == ["active"]
    assert store.apply([Settle(loop, 109.0, 10, total)]) == [[]]
    (settled,) = store.apply([Settle(loop, 1e9, 10, total)])
    assert [row.event_id for row in settled] == ["e"]


def test_slots_of_an_event_are_activated_and_deleted_together(store: Any) -> None:
    loop = make_loop(store)
    rows = [decision(loop, each, due=None, activated=None) for each in ("e*", "e*#2", "e*#3", "ex")]
    store.apply([AddDecisions(rows)])
    store.apply([Activate(loop, "e*", 1.0, 1.0)])
    assert [row.activated for row in store.scan(loop)] == [1.0, 1.0, 1.0, None]
    assert store.apply([Delete(loop, event_id="e*")]) == [3]
    assert [row.event_id for row in store.scan(loop)] == ["ex"]


def test_events_are_deleted_by_id_by_customer_and_by_time(store: Any) -> None:
    loop = make_loop(store)
    rows = [decision(loop, f"e{i}", float(i), customer="c" if i < 3 else None) for i in range(6)]
    add(store, *rows)
    store.apply([AddReward(loop, row.event_id, 1.0, 1.0) for row in rows])
    assert store.apply([Delete(loop, event_id="e5")]) == [1]
    assert store.apply([Delete(loop, customer="c")]) == [3]
    assert store.apply([Delete(loop, before=4.0)]) == [1]
    assert [row.event_id for row in store.scan(loop)] == ["e4"]
    assert store.rewards(loop, "e0") == store.rewards(loop, "e3") == []


def test_matured_numbers_are_not_given_twice_after_a_deletion(store: Any) -> None:
    loop = make_loop(store)
    add(store, decision(loop, "e"), decision(loop, "f"))
    store.apply([Settle(loop, 50.0, 10, total)])
    store.apply([Delete(loop, event_id="f")])
    add(store, decision(loop, "g"))
    (settled,) = store.apply([Settle(loop, 50.0, 10, total)])
    assert settled[0].matured == 3


def test_versions_swaps_and_state_are_kept(store: Any) -> None:
    loop = make_loop(store)
    numbers = store.apply([AddVersion(Version(loop, 0, 1.0, "online", None, "", 5, b"data%d" % i)) for i in range(2)])
    assert numbers == [1, 2]
    store.apply([Swap(loop, SwapRecord(2.0, 1, "start")), Swap(loop, SwapRecord(3.0, 2, "better"))])
    store.apply([PutState(loop, "key", b"one"), PutState(loop, "key", b"two")])
    assert [each.version for each in store.versions(loop)] == [1, 2]
    assert store.version_data(loop, 2) == b"data1"
    assert [each.version for each in store.swaps(loop)] == [1, 2]
    assert store.state(loop, "key") == b"two"
    assert store.state(loop, "other") is None
    with pytest.raises(StoreError, match="version 3"):
        store.version_data(loop, 3)


def test_a_span_of_time_is_scanned_in_order(store: Any) -> None:
    loop = make_loop(store)
    store.apply([AddDecisions([decision(loop, f"e{i}", float(i))]) for i in range(1203)])
    assert [row.time for row in store.scan(loop, 100, 900)] == [float(i) for i in range(100, 900)]
    assert sum(1 for _ in store.scan(loop)) == 1203


@st.composite
def batches(draw: st.DrawFn) -> list[list[tuple[str, bool]]]:
    """Draw batches of changes: events, and whether each is a decision or a reward."""
    change = st.tuples(st.sampled_from([f"e{i}" for i in range(8)]), st.booleans())
    return draw(st.lists(st.lists(change, min_size=1, max_size=10), min_size=1, max_size=4))


@pytest.mark.parametrize("kind", KINDS)
@given(sent=batches())
@settings(max_examples=30)
def test_whatever_the_order_of_changes_every_event_is_there_once(
    kind: str, sent: list[list[tuple[str, bool]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with closing(open_store(kind, folder)) as store:
        loop = make_loop(store)
        for batch in sent:
            store.apply(
                [
                    AddDecisions([decision(loop, event)]) if decides else AddReward(loop, event, 1.0, 1.0)
                    for event, decides in batch
                ]
            )
    decided = {event for batch in sent for event, decides in batch if decides}
    rewards = Counter(event for batch in sent for event, decides in batch if not decides)
    with closing(open_store(kind, folder)) as store:
        assert sorted(row.event_id for row in store.scan(loop)) == sorted(decided)
        (settled,) = store.apply([Settle(loop, 1e9, 100, total)])
        assert {row.event_id: row.reward for row in settled} == {each: float(rewards[each] or -1) for each in decided}


def test_a_locked_database_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "decisions.db", wait=0.01)
    loop = make_loop(store)
    other = sqlite3.connect(tmp_path / "decisions.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked.*nothing was written"):
        add(store, decision(loop, "e"))
    other.execute("ROLLBACK")
    other.close()
    assert store.find(loop, "e") is None
    add(store, decision(loop, "e"))
    assert store.find(loop, "e") is not None
    store.close()


def test_a_full_disk_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "decisions.db")
    loop = make_loop(store)
    pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
    store._writer.execute(f"PRAGMA max_page_count={pages + 2}")
    add(store, decision(loop, "small"))
    with pytest.raises(StoreError, match="full"):
        add(store, decision(loop, "large", context='{"a":"' + "x" * 100_000 + '"}'))
    store._writer.execute("PRAGMA max_page_count=1000000")
    assert [row.event_id for row in store.scan(loop)] == ["small"]
    add(store, decision(loop, "large", context='{"a":"' + "x" * 100_000 + '"}'))
    store.close()


def test_the_database_is_durable_and_only_one_connection_may_write(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "decisions.db")
    assert store._writer.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store._writer.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert store.loops() == []
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        store._local.connection.execute("DELETE FROM loops")
    assert store.description() == f"SQLite {sqlite3.sqlite_version}"
    store.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "decisions.db").write_text("not a database at all, " * 100)
    with pytest.raises(StoreError, match=r"decisions\.db cannot be opened"):
        SqliteStore(tmp_path / "decisions.db")


def test_a_second_store_that_writes_to_the_same_folder_is_refused_until_the_first_is_closed(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "decisions.db")
    with pytest.raises(StoreError, match="only one server may use"):
        SqliteStore(tmp_path / "decisions.db")
    first.close()
    SqliteStore(tmp_path / "decisions.db").close()


def test_slots_are_those_of_the_event_and_of_no_other_whatever_the_order_of_words(store: Any) -> None:
    loop = make_loop(store)
    others = [f"e{mark}1" for mark in "!%&*+,-.:;<=>?@^_|~"] + ["E#1", "f"]  # by words, some are between # and $
    rows = {each: decision(loop, each, activated=None, due=None) for each in ["e", "e#1", "e#2", "e#z", *others]}
    store.apply([AddDecisions([rows[each] for each in ("e", "e#1", "e#2", "e#z")])])
    add(store, *(rows[each] for each in others))
    store.apply([Activate(loop, "e", 1.0, 10.0)])
    assert {row.event_id for row in store.scan(loop) if row.activated is not None} == {"e", "e#1", "e#2", "e#z"}
    assert store.apply([Delete(loop, event_id="e")]) == [4]
    assert sorted(row.event_id for row in store.scan(loop)) == sorted(others)


def test_no_change_looks_at_every_row(tmp_path: Path) -> None:
    """Every statement of every kind of change, but for what deletes old rows, goes by an index."""
    store = SqliteStore(tmp_path / "decisions.db")
    asked: list[str] = []
    loop = make_loop(store)
    store._writer.set_trace_callback(asked.append)
    add(store, *(decision(loop, f"e{i}") for i in range(3)))
    add(store, decision(loop, "e1"), decision(loop, "e4#1"))
    store.apply([AddReward(loop, "e1", 1.0, 1.0, None, "r"), AddReward(loop, "unknown", 1.0, 1.0)])
    store.apply([Activate(loop, "e2", 1.0, 10.0), Settle(loop, 20.0, 10, sum)])
    store.apply([AddVersion(Version(loop, 0, 0.0, "online", None, "", 0)), PutState(loop, "key", b"")])
    store.apply([Delete(loop, "e1"), Delete(loop, None, "customer")])
    store._writer.set_trace_callback(None)
    statements = [each for each in asked if each.split()[0] in ("SELECT", "UPDATE", "DELETE", "WITH", "INSERT")]
    assert len(statements) > 15
    for statement in statements:
        plan = [row[3] for row in store._writer.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not [step for step in plan if step.startswith(("SCAN decisions", "SCAN rewards"))], (
            statement,
            plan,
        )
    store.close()


def test_a_group_of_new_decisions_is_one_statement_on_sqlite_and_counted(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "decisions.db")) as store:
        loop = make_loop(store)
        statements: list[str] = []
        store._writer.set_trace_callback(statements.append)
        add(store, *(decision(loop, f"e{i}", count=i) for i in range(20)))
        # Told again at every row that the trigger counts; nothing begins or commits around it.
        assert {text.split()[0] for text in statements if not text.startswith("--")} == {"INSERT"}
        (rows,) = add(store, decision(loop, "e3", action="a"))  # it is there already
        assert rows[0].action == "b"
        add(store, *(decision(loop, f"f{i}") for i in range(100)))  # more than one statement takes
        assert (store.summary(loop)["decisions"], store.summary(loop)["count"]) == (120, 19)
