"""``inspect --all``: every column by name, also those left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from offsettree.cli import main


@pytest.fixture
def wide_log(tmp_path: Path) -> Path:
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"action": random.randint(30, size=300), "reward": random.randint(2, size=300)})
    frame["propensity"] = 1 / 30
    for place in range(14):
        frame[f"same_{place}"] = 7
        frame[f"number_{place}"] = random.normal(size=300)
    frame["empty"] = np.nan
    path = tmp_path / "wide.csv"
    frame.to_csv(path, index=False)
    return path


def test_constant_columns_are_listed_on_request(wide_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(wide_log)]) == 0
    brief = capsys.readouterr().out
    assert "14 columns are left out: each is the same in every row" in brief
    assert "same_9" not in brief
    assert "number_9" not in brief
    assert "... and 10 more; --all lists them" in brief
    assert "--all lists all columns, also those left out." in brief

    assert main(["inspect", str(wide_log), "--all"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for place in range(14):
        assert [f"same_{place}", "it", "is", "the", "same", "in", "every", "row"] in lines
        assert [f"number_{place}", "number", "0.0", "%", "1", "column"] in lines
    assert ["empty", "it", "is", "empty"] in lines
    assert {line[0] for line in lines if len(line) == 6 and line[3] == "%"} >= {str(action) for action in range(30)}
    assert not any("--all" in line for line in lines)


def test_json_names_every_column_left_out(wide_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(wide_log), "--json"]) == 0
    left_out = json.loads(capsys.readouterr().out)["left_out"]
    assert {each["name"] for each in left_out} == {"empty", *(f"same_{place}" for place in range(14))}
    assert {each["reason"] for each in left_out} == {"it is empty", "it is the same in every row"}
