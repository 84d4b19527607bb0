"""One long label among many short ones is taken, and not paid for in every row."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import ActionSets, LoggedData, OffsetTree
from offsettree.exceptions import ActionError
from offsettree.workflow.inspection import inspect_log

MANY = 20_000
LOG_OF_ONE_LONG_LABEL = ["a", "b"] * (MANY // 2 - 1) + ["x" * 10**5, "a"]


def _memory_for(make: Any) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        return make(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [200, 10**5])
def test_one_long_label_is_not_paid_for_in_every_row(length: int) -> None:
    """An array of NumPy's texts takes as much for each as for the longest."""
    n = 200_000 if length == 200 else MANY
    labels = ["a", "b"] * (n // 2 - 1) + ["x" * length, "a"]
    X, reward = np.zeros((n, 1)), np.zeros(n)
    log, most = _memory_for(lambda: LoggedData(X, labels, reward, 0.5))
    assert most < 400 * n < 4 * length * n
    assert log.actions.tolist() == ["a", "b", "x" * length]
    some, most = _memory_for(lambda: log[n // 2 :])
    assert most < 400 * n
    assert some.action.tolist() == labels[n // 2 :]
    assert log[[0, 1]].action.dtype.str[1:] == "U1"
    assert log.columns.action.tolist() == labels


def test_one_long_id_is_not_paid_for_in_every_pair() -> None:
    labels = LOG_OF_ONE_LONG_LABEL
    other = ["x" if label == "a" else "a" for label in labels]
    ids = [list(pair) for pair in zip(labels, other, strict=True)]
    items: dict[str, Any] = {"items": [[0.0], [1.0], [2.0], [3.0]], "item_ids": ["a", "b", "x", labels[-2]]}
    sets, most = _memory_for(lambda: ActionSets(ids, **items))
    assert most < 100 << 20
    assert sets[MANY - 2] == [labels[-2], "a"]
    found, most = _memory_for(lambda: sets.find(labels))
    assert most < 100 << 20
    assert found.tolist() == list(range(0, 2 * MANY, 2))
    assert sets.take([0, MANY - 2]).item.tolist() == [0, 2, 3, 0]
    assert [sets.without(found)[row] for row in (0, 1)] == [["x"], ["a"]]
    with pytest.raises(ActionError, match="one of its row's eligible actions"):
        sets.find(labels[::-1])


def test_decisions_do_not_pay_for_one_long_label_either() -> None:
    X = np.arange(MANY * 2.0).reshape(-1, 1) % 7
    action = np.array(["a", "x" * 10_000] * MANY, dtype=object)
    policy = OffsetTree(random_state=0).fit(
        X, action, reward=(X[:, 0] < 6) * (np.arange(MANY * 2) % 2 == 0), propensity=0.5
    )
    chosen, most = _memory_for(lambda: policy.predict(X))
    assert most < 100 << 20
    assert set(chosen.tolist()) <= {"a", "x" * 10_000}
    assert policy.predict(X[:5]).dtype == policy.actions_.dtype
    ranked, most = _memory_for(lambda: policy.rank(X, 2))
    assert most < 100 << 20
    assert ranked.shape == (2 * MANY, 2)


def test_one_long_label_in_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    labels = ["x" * 10**5 if i == 7 else "ab"[i % 2] for i in range(1000)]
    rows = [{"x": i, "action": label, "reward": i % 2, "propensity": 0.5} for i, label in enumerate(labels)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    log = LoggedData.read(file)
    assert log.action[6:9].tolist() == ["a", "x" * 10**5, "a"]
    assert inspect_log(file)["rows"] == 1000
    assert LoggedData.scan(file).actions.tolist() == ["a", "b", "x" * 10**5]


def test_labels_of_a_policy_must_be_of_about_the_same_length() -> None:
    """A policy has its labels in an array of its own."""
    labels = [*map(str, range(10_000)), "x" * 10**5]
    message = r"about the same length; 'xxxxxxxxxxxxxxxxxxxx'... has 100,000 characters, .* 4,000,400,000 bytes"
    with pytest.raises(ActionError, match=message):
        OffsetTree(actions=labels).fit([[0.0], [1.0]], ["1", "2"], reward=[0, 1], propensity=0.5)
    log = LoggedData(np.zeros((len(labels), 1)), labels, np.zeros(len(labels)), 0.5)
    with pytest.raises(ActionError, match=message):
        OffsetTree().fit(**log.arrays())
