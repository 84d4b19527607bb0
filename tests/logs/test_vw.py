"""Vowpal Wabbit's text and decision service logs, also as Vowpal Wabbit itself reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from offsettree import LoggedData
from offsettree.exceptions import LogError
from offsettree.logs import scan_tables

LINES = [
    "1:2:0.4 | a c",
    "3:0.5:0.2 'tag |user:2 age:25 b:1e-1|x city=paris",
    "4:-1.25:0.5 first|  b c c",
    "1 2:0:0.75 4 |user age:0.5 | reward:3",
    "1:1:1 |x:0.5 a:-2 a |x b:1",
]


def write(folder: Path, lines: list[str], name: str = "log.vw") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_labels_namespaces_tags_and_values(tmp_path: Path) -> None:
    (table,) = scan_tables(write(tmp_path, LINES))
    assert table.to_pydict() == {
        "action": [1, 3, 4, 2, 1],
        "reward": [-2.0, -0.5, 1.25, 0.0, -1.0],
        "propensity": [0.4, 0.2, 0.5, 0.75, 1.0],
        "a": [1, 0, 0, 0, 0],
        "c": [1, 0, 2, 0, 0],
        "user.age": [0, 50, 0, 0.5, 0],
        "user.b": [0, 0.2, 0, 0, 0],
        "x.city=paris": [0, 1, 0, 0, 0],
        "b": [0, 0, 1, 0, 0],
        "features.reward": [0, 0, 0, 3, 0],
        "x.a": [0, 0, 0, 0, -0.5],
        "x.b": [0, 0, 0, 0, 1],
    }


def test_costs_are_rewards_the_other_way_round(tmp_path: Path) -> None:
    path = write(tmp_path, LINES)
    np.testing.assert_array_equal(LoggedData.read(path).reward, [-2, -0.5, 1.25, 0, -1])
    np.testing.assert_array_equal(LoggedData.read(path, cost="one_minus_reward").reward, [-1, 0.5, 2.25, 1, 0])
    assert not np.signbit(LoggedData.read(path).reward[3])


def test_vowpal_wabbit_reads_the_same(tmp_path: Path) -> None:
    vw = pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit is not installed")
    (table,) = scan_tables(write(tmp_path, LINES))
    workspace = vw.Workspace("--cb 4 --quiet --noconstant")
    for line, row in zip(LINES, table.to_pylist(), strict=True):
        example = workspace.parse(line)
        labels = [
            (example.get_cbandits_class(i), example.get_cbandits_cost(i), example.get_cbandits_probability(i))
            for i in range(example.get_cbandits_num_costs())
        ]
        (told,) = [label for label in labels if label[2] > 0]
        assert told == pytest.approx((row["action"], -row["reward"], row["propensity"]))
        total: dict[int, float] = {}
        for place, value in example.iter_features():
            total[place] = total.get(place, 0.0) + value
        ours = [value for name, value in row.items() if name not in ("action", "reward", "propensity") and value]
        assert sorted(total.values()) == pytest.approx(sorted(ours))
        workspace.finish_example(example)
    workspace.finish()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1:1:0.5 a b", "it has no bar"),
        ("1:1:0.5 | a:x", "'x' is not a number"),
        ("1:one:0.5 | a", "'one' is not a number"),
        ("1:1:0.5:3 | a", "its label is '1:1:0.5:3'"),
        ("1:1:0.5 2:1:0.5 | a", "costs of several actions"),
        ("shared | a", "decisions of several lines"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, [*LINES, "", line])
    with pytest.raises(LogError, match=rf"row 6 of .*log\.vw.*{reason}"):
        list(scan_tables(path))


def test_lines_without_a_label_can_be_decided_on_but_not_learned_from(tmp_path: Path) -> None:
    path = write(tmp_path, [*LINES, "| a"])
    assert next(scan_tables(path)).to_pylist()[-1]["action"] is None
    with pytest.raises(LogError, match=r"column 'action', row 6 of .*missing"):
        LoggedData.read(path)
    path.write_bytes(b"1:1:0.5 | caf\xe9\n")
    with pytest.raises(LogError, match=r"row 1 of .*latin-1"):
        list(scan_tables(path))
    assert next(scan_tables(path, encoding="latin-1")).column_names[-1] == "café"


def test_very_many_features_are_a_sparse_matrix(tmp_path: Path) -> None:
    path = write(tmp_path, [f"{row % 2 + 1}:{row}:0.5 | f{row}:{row + 1} all" for row in range(1500)])
    log = LoggedData.read(path)
    assert sp.issparse(log.X) is True
    assert log.X.shape == (1500, 1501)
    assert log.feature_names is not None
    dense = log.X.toarray()
    assert dense[:, log.feature_names.index("all")].tolist() == [1.0] * 1500
    assert dense[7, log.feature_names.index("f7")] == 8.0
    scan = LoggedData.scan(path, 400)
    assert [len(chunk) for chunk in scan] == [400, 400, 400, 300]
    assert (sp.vstack([chunk.X for chunk in scan]) != log.X).nnz == 0
    some = LoggedData.read(path, features=["all", "f3"])
    assert some.X.shape == (1500, 2)
    with pytest.raises(LogError, match=r"not have as many columns as .*log\.vw has features \(1,501\)"):
        list(scan_tables(path))


def decision(**changes: Any) -> dict[str, Any]:
    context = {
        "User": {"major": "art", "age": 30, "vip": True, "_private": 1},
        "tags": ["new", "web"],
        "place": [0.5, 2],
        "_multi": [{"_tag": "news", "T": {"topic": "A"}}, {"T": {"id": "sport"}}, {"T": {"topic": "C"}}],
    }
    return {
        "_label_cost": -1,
        "_label_probability": 0.8,
        "_label_Action": 1,
        "a": [1, 2, 3],
        "p": [0.8, 0.1, 0.1],
        "c": context,
    } | changes


def write_decisions(folder: Path, decisions: list[dict[str, Any]]) -> Path:
    return write(folder, [json.dumps(line) for line in decisions], "log.json")


def test_decisions_of_a_service(tmp_path: Path) -> None:
    other = decision(_label_Action=2, _label_cost=0.25)
    other["c"] = {"User": {"major": "bio"}, "_multi": other["c"]["_multi"]}
    third = {key: value for key, value in decision(a=[3, 1, 2], p=[0.5, 0.3, 0.2]).items() if "_label_" not in key}
    third |= {"_label_cost": 0}
    lines = [decision(), {"EventId": "x", "RewardValue": 1}, decision(_skipLearn=True), other, third]
    (table,) = scan_tables(write_decisions(tmp_path, lines))
    assert table.to_pydict() == {
        "action": ["news", "sport", "3"],
        "reward": [1.0, -0.25, 0.0],
        "propensity": [0.8, 0.8, 0.5],
        "User.major": ["art", "bio", "art"],
        "User.age": [30.0, None, 30.0],
        "User.vip": [1.0, None, 1.0],
        "tags=new": [1.0, 0.0, 1.0],
        "tags=web": [1.0, 0.0, 1.0],
        "place.0": [0.5, None, 0.5],
        "place.1": [2.0, None, 2.0],
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"_label_Action": 4}, "one of the 3 actions in c._multi; it is 4"),
        ({"_label_Action": "x"}, "_label_Action must be a whole number"),
        ({"_label_cost": "x"}, "_label_cost must be a number; it is 'x'"),
        ({"_label_cost": None}, "column 'reward'"),
        ({"_label_probability": 0}, "column 'propensity'"),
    ],
)
def test_a_decision_that_cannot_be_read_is_named(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    lines = [decision(), {"EventId": "x"}, decision(), decision(**changes)]
    with pytest.raises(LogError, match="row 4 of ") as caught:
        LoggedData.read(write_decisions(tmp_path, lines))
    assert reason in str(caught.value)


def test_a_file_without_decisions_is_refused(tmp_path: Path) -> None:
    path = write_decisions(tmp_path, [{"EventId": "x"}])
    with pytest.raises(LogError, match=r"log\.json has no decision"):
        LoggedData.read(path, format="dsjson")


def test_very_many_names_in_decisions_are_columns_of_zeros_and_ones(tmp_path: Path) -> None:
    lines = [decision(c={f"k{row}": "v" if row % 2 else 7}) for row in range(1100)]
    log = LoggedData.read(write_decisions(tmp_path, lines))
    assert log.X.shape == (1100, 1100)
    assert log.feature_names is not None
    assert log.feature_names[:2] == ["k0", "k1=v"]
    np.testing.assert_array_equal(log.X.diagonal()[:4], [7, 1, 7, 1])
    assert log.action.tolist()[:2] == [1, 1]
