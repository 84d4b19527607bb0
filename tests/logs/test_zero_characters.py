"""A label that holds the character 0, at which NumPy's texts end, is refused wherever it comes in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from offsettree import (
    ActionSets,
    Banditron,
    EpsilonGreedy,
    LoggedData,
    OffsetTree,
    OnlineOffsetTree,
    OnlineRewardRegression,
    estimate_propensity,
    evaluate,
    simulate_log,
)
from offsettree.actions import ActionRegression, LabelledActions, OnlineActionRegression, PopularAction
from offsettree.exceptions import ActionError
from offsettree.workflow.inspection import inspect_log

CUT = "a\0"
N = 40
X = np.random.RandomState(0).normal(size=(N, 2))
GOOD = np.array(["a", "b"] * (N // 2), dtype=object)
BAD = GOOD.copy()
BAD[2] = CUT
LOG: dict[str, Any] = {"reward": np.arange(N) % 3 / 2, "propensity": 0.5}
SETS = ActionSets([["a", "b"]] * N, items=[[1.0], [2.0]], item_ids=["a", "b"])


def labels() -> OffsetTree:
    return OffsetTree(random_state=0).fit(X, GOOD, **LOG)


def choose_among(policy: Any, actions: Any) -> Any:
    return policy.fit(X, GOOD, **LOG, action_sets=SETS).decide(X[0], actions)


MAPPINGS = [{"id": CUT, "0": 1.0}, {"id": "b", "0": 2.0}]
ENTRIES: dict[str, Callable[[], Any]] = {
    "log": lambda: LoggedData(X, BAD, **LOG),
    "log, a list": lambda: LoggedData(X, BAD.tolist(), **LOG),
    "log, pandas": lambda: LoggedData(X, pd.Series(BAD, dtype="string"), **LOG),
    "log, categories": lambda: LoggedData(X, pd.Series(BAD).astype("category"), **LOG),
    "log, polars": lambda: LoggedData(X, pl.Series(BAD.tolist()), **LOG),
    "log, within a text": lambda: LoggedData(X, np.array(["a\0b", "b"] * (N // 2)), **LOG),
    "fit": lambda: OffsetTree().fit(X, BAD, **LOG),
    "actions": lambda: OffsetTree(actions=[CUT, "a", "b"]).fit(X, GOOD, **LOG),
    "available": lambda: labels().decide(X[0], [CUT]),
    "available, a set": lambda: labels().decide(X[0], {CUT}),
    "available, a tuple": lambda: labels().decide(X[0], (CUT, "b")),
    "constant policy": lambda: evaluate(CUT, X, GOOD, **LOG),
    "decisions": lambda: evaluate([CUT] * N, X, GOOD, **LOG),
    "actions of an evaluation": lambda: evaluate("a", X, GOOD, **LOG, actions=[CUT, "a", "b"]),
    "propensities": lambda: estimate_propensity(X, BAD),
    "classes": lambda: simulate_log(X, BAD, random_state=0),
    "online": lambda: OnlineOffsetTree(actions=["a", "b"]).learn(X[0], CUT, 1.0, 0.5),
    "online, actions": lambda: OnlineRewardRegression(actions=[CUT, "b"]).learn(X[0], "b", 1.0, 0.5),
    "banditron": lambda: Banditron(actions=[CUT, "b"]).learn(X[0], "b", 1.0, 0.5),
    "explorer": lambda: EpsilonGreedy(OnlineOffsetTree(actions=["a", "b"])).choose(X[0], available=[CUT]),
    "explorer, learn": lambda: EpsilonGreedy(OnlineOffsetTree(actions=["a", "b"])).learn(X[0], CUT, 1.0, 0.5),
    "sets": lambda: ActionSets([[CUT, "b"]]),
    "ids of items": lambda: ActionSets([["a", "b"]], items=[[1.0], [2.0]], item_ids=[CUT, "b"]),
    "logged among sets": lambda: SETS.find([CUT] * N),
    "mappings": lambda: choose_among(ActionRegression(), MAPPINGS),
    "mappings, online": lambda: choose_among(OnlineActionRegression(), MAPPINGS),
    "mappings, popular": lambda: choose_among(PopularAction(), MAPPINGS),
    "ids, popular": lambda: choose_among(PopularAction(), [CUT, "b"]),
    "ids, labelled": lambda: choose_among(LabelledActions(OffsetTree(random_state=0)), [CUT]),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_it_is_refused(name: str) -> None:
    with pytest.raises(ActionError, match="without the character 0"):
        ENTRIES[name]()


def decision(label: int, i: int) -> dict[str, Any]:
    actions = {"u": {"x": i}, "_multi": [{"id": "a"}, {"id": CUT}]}
    return {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": label, "c": actions}


ROWS = [{"x": i, "action": ["a", CUT][i % 2], "reward": i % 2, "propensity": 0.5} for i in range(20)]
TABLE = pa.Table.from_pylist(ROWS)
WRITERS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda file: file.write_text(
        "x,action,reward,propensity\n" + "".join(f"{row['x']},{row['action']},1,.5\n" for row in ROWS)
    ),
    "ndjson": lambda file: file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS)),
    "parquet": lambda file: pq.write_table(TABLE, file),
    "arrow": lambda file: feather.write_feather(TABLE, str(file)),
    "dsjson": lambda file: file.write_text("".join(f"{json.dumps(decision(1 + i % 2, i))}\n" for i in range(20))),
}


@pytest.mark.parametrize("name", WRITERS)
def test_it_is_refused_in_files(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"log.{name}"
    WRITERS[name](file)
    with pytest.raises(ActionError, match=r"row 2 of .*without the character 0.* it is 'a\\x00' \(10 such rows"):
        LoggedData.read(file, format=name)
    with pytest.raises(ActionError, match="without the character 0"):
        list(LoggedData.scan(file, chunk_rows=5, format=name))
    if name != "csv":  # is not recognised as text
        with pytest.raises(ActionError, match="without the character 0"):
            inspect_log(file)


def test_it_is_refused_among_eligible_actions(tmp_path: Path) -> None:
    (tmp_path / "log.dsjson").write_text("".join(f"{json.dumps(decision(1, i))}\n" for i in range(20)))
    (tmp_path / "log.vw").write_text("shared | x:1\n0:-1:.5 'a | y:1\n'a\0 | y:2\n\n" * 20)
    rows = [row | {"action": "a", "eligible": ["a", CUT]} for row in ROWS]
    (tmp_path / "log.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, how in {"dsjson": {}, "vw": {}, "ndjson": {"eligible": "eligible"}}.items():
        with pytest.raises(ActionError, match="ids must be text without the character 0"):
            LoggedData.read(tmp_path / f"log.{name}", action_sets=True, **how)
