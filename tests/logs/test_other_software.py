"""Action sets in files of other software: what it writes is read, and what it reads is read alike."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from offsettree import ActionRegression, LoggedData
from offsettree.logs import recognise_action_sets
from tests.cli.sets import write_logs

ROOT = Path(__file__).parent.parent.parent
ROWS: list[dict[str, Any]] = [
    {"age": 25, "action": "a", "reward": 1.0, "propensity": 0.5,
     "eligible": [{"id": "a", "price": 3.0, "kind": "x"}, {"id": "b", "price": 5.0, "kind": "y"}]},
    {"age": 61, "action": "c", "reward": 0.0, "propensity": 0.3,
     "eligible": [{"id": "b", "price": 5.0, "kind": "y"}, {"id": "c", "price": None, "kind": "x"},
                  {"id": "a", "price": 3.0, "kind": "x"}]},
]  # fmt: skip
WRITERS: dict[str, Callable[[Path], Any]] = {
    "pandas.parquet": lambda path: pd.DataFrame(ROWS).to_parquet(path),
    "pandas.ndjson": lambda path: pd.DataFrame(ROWS).to_json(path, orient="records", lines=True),
    "polars.parquet": lambda path: pl.DataFrame(ROWS).write_parquet(path),
    "polars.ndjson": lambda path: pl.DataFrame(ROWS).write_ndjson(path),
    "polars.arrow": lambda path: pl.DataFrame(ROWS).write_ipc(path),
    "pyarrow.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
}
READ_BY_VOWPAL = """
import json, sys
import vowpalwabbit

path = sys.argv[1]
is_json = path.endswith("dsjson")
vw = vowpalwabbit.Workspace("--cb_adf --quiet" + " --dsjson" * is_json)
text = open(path).read().strip()
rows = []
for block in text.splitlines() if is_json else [each.split("\\n") for each in text.split("\\n\\n")]:
    examples = vw.parse(block)
    labels = [vowpalwabbit.CBLabel.from_example(each).costs for each in examples]
    taken = [place for place, each in enumerate(labels) if each and each[0].probability > 0]
    cost = labels[taken[0]][0]
    # The shared line comes first.
    rows.append([len(examples) - 1, taken[0] - 1, cost.cost, cost.probability])
    vw.finish_example(examples)
print(json.dumps(rows))
"""
ASKED_OF_PERSONALIZER = """
import json, sys
from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

asked = []
for number in range(int(sys.argv[1])):
    parts = [{"price": 3.0 + number, "kind": "x"}, {"tags": {"new": 1.0, "stock": number}}]
    first = RankableAction(id=f"a{number}", features=parts)
    second = RankableAction(id="b", features=[{"price": 5.0, "kind": "y"}])
    context = [{"user": {"age": 25 + number, "device": "mobile"}}, {"time": {"day": "monday"}}]
    request = RankRequest(context_features=context, actions=[first, second], event_id=f"e{number}")
    asked.append(request.serialize())
print(json.dumps(asked))
"""
FIND_OBP = "import importlib.util; print(importlib.util.find_spec('obp').submodule_search_locations[0])"


@pytest.mark.parametrize("writer", WRITERS)
def test_list_columns_of_other_libraries_are_recognised_and_read(tmp_path: Path, writer: str) -> None:
    path = tmp_path / f"log.{writer.partition('.')[2]}"
    WRITERS[writer](path)
    found = recognise_action_sets(path)
    assert found is not None
    assert (found.eligible, found.has_features, found.varies) == ("eligible", True, True)
    log = LoggedData.read(path, action_sets=True, eligible="eligible")
    assert log.action_sets is not None
    assert list(log.action_sets) == [["a", "b"], ["b", "c", "a"]]
    pairs: Any = log.action_sets.pairs
    assert pairs["kind"].tolist() == ["x", "y", "y", "x", "x"]
    assert pairs["price"].isna().tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("name", ["vw", "dsjson"])
def test_vowpal_wabbit_reads_the_same_decisions(tmp_path: Path, name: str) -> None:
    path = Path(write_logs(tmp_path / "logs", 40)[name][0])
    refuse_to_differ(path, LoggedData.read(path, action_sets=True))


def test_personalizers_requests_are_read_as_its_service_logs_them(tmp_path: Path) -> None:
    """Its SDK writes contexts and actions; the service keeps these under "c" and adds what was taken and its cost."""
    asked = json.loads(run_by("azure.cognitiveservices.personalizer", ASKED_OF_PERSONALIZER, "3"))
    path = tmp_path / "log.dsjson"
    lines = []
    for number, request in enumerate(asked):
        place, n = number % 2, len(request["actions"])
        order = [place, *(each for each in range(n) if each != place)]
        lines.append(
            {
                "_label_cost": -float(number == 1), "_label_probability": 0.7, "_label_Action": place + 1,
                "_labelIndex": place, "Timestamp": f"2026-03-0{number + 1}T10:00:00Z", "Version": "1",
                "EventId": request["eventId"], "DeferredAction": request["deferActivation"],
                "a": [each + 1 for each in order], "p": [0.7, *[0.3 / (n - 1)] * (n - 1)], "VWState": {"m": "1/2"},
                "c": {
                    "FromUrl": request["contextFeatures"],
                    "_multi": [
                        {"_tag": each["id"], "i": {"constant": 1}, "j": each["features"]} for each in request["actions"]
                    ],
                },
            }
        )  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log: Any = LoggedData.read(path, action_sets=True)
    assert list(log.action_sets) == [["a0", "b"], ["a1", "b"], ["a2", "b"]]
    assert log.action.tolist() == ["a0", "b", "a2"]
    assert log.reward.tolist() == [0.0, 1.0, 0.0]
    pairs: Any = log.action_sets.pairs
    prices = [name for name in pairs.columns if name.endswith("price")]
    assert pairs[prices[0]].tolist() == [3.0, 5.0, 4.0, 5.0, 5.0, 5.0]
    assert any(name.endswith("tags.new") for name in pairs.columns)
    ages = [name for name in log.X.columns if name.endswith("user.age")]
    assert log.X[ages[0]].tolist() == [25, 26, 27]
    refuse_to_differ(path, log)


def test_the_open_bandit_data_are_learned_from_with_items_and_affinities(tmp_path: Path) -> None:
    """80 items with features, affinities per user and item: the sample that its own package brings."""
    where = Path(run_by("obp", FIND_OBP).strip()) / "dataset/obd/random/all"
    columns: dict[str, Any] = {"action": "item_id", "reward": "click", "propensity": "propensity_score"}
    given: dict[str, Any] = {
        "items": where / "item_context.csv", "item_id": "item_id", "pair_columns": ["user-item_affinity"]
    }  # fmt: skip
    log = LoggedData.read(where / "all.csv", action_sets=True, **columns, **given)
    assert len(log) == 10_000
    assert log.action_sets is not None
    assert log.action_sets.sizes.tolist() == [80] * 10_000
    items: Any = log.action_sets.items
    pairs: Any = log.action_sets.pairs
    assert list(items.columns) == [f"item_feature_{place}" for place in range(4)]
    assert list(pairs.columns) == ["user-item_affinity"]
    raw = pd.read_csv(where / "all.csv")
    wide = raw[[f"user-item_affinity_{place}" for place in range(80)]].to_numpy().ravel()
    assert pairs["user-item_affinity"].tolist() == wide.tolist()
    assert log.reward.sum() == raw["click"].sum()
    policy = ActionRegression(random_state=0).fit(**log[:3000].arrays())
    taken = policy.predict(log.X[3000:3100], log.action_sets.take(range(3000, 3100)))
    assert set(taken.tolist()) <= set(range(80))


def refuse_to_differ(path: Path, log: LoggedData) -> None:
    """Let Vowpal Wabbit read a file of decisions, and compare with what we read."""
    theirs = json.loads(run_by("vowpalwabbit", READ_BY_VOWPAL, str(path)))
    sets = log.action_sets
    assert sets is not None
    ours = zip(sets.sizes, sets.find(log.action) - sets.starts[:-1], -log.reward, log.propensity, strict=True)
    for (n, place, cost, probability), (size, taken, own_cost, propensity) in zip(theirs, ours, strict=True):
        assert (n, place, cost) == (size, taken, own_cost)
        assert probability == pytest.approx(propensity, rel=1e-5)


def run_by(package: str, script: str, *arguments: str) -> str:
    """Run a script with an interpreter that has a package; return what it printed."""
    for python in (ROOT / ".venv-vowpal/bin/python", ROOT / ".venv-actions/bin/python", Path(sys.executable)):
        looked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
        if python.exists() and subprocess.run([python, "-c", looked], capture_output=True, check=False).returncode == 0:  # noqa: S603
            done = subprocess.run(  # noqa: S603 - our own script
                [python, "-c", script, *arguments], capture_output=True, text=True, timeout=120, check=True
            )
            return done.stdout
    pytest.skip(f"{package} is not installed: make .venv-vowpal/ready")
