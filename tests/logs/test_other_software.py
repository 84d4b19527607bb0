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

from offsettree import LoggedData
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
    python = next(
        (path for path in (ROOT / ".venv-vowpal/bin/python", Path(sys.executable)) if _has_vowpal(path)), None
    )
    if python is None:
        pytest.skip("Vowpal Wabbit is not installed: pip install vowpalwabbit into .venv-vowpal")
    path = write_logs(tmp_path / "logs", 40)[name][0]
    done = subprocess.run(  # noqa: S603 - our own script
        [python, "-c", READ_BY_VOWPAL, path], capture_output=True, text=True, timeout=120, check=True
    )
    theirs = json.loads(done.stdout)
    log = LoggedData.read(path, action_sets=True)
    sets = log.action_sets
    assert sets is not None
    ours = zip(sets.sizes, sets.find(log.action) - sets.starts[:-1], -log.reward, log.propensity, strict=True)
    for (n, place, cost, probability), (size, taken, own_cost, propensity) in zip(theirs, ours, strict=True):
        assert (n, place, cost) == (size, taken, own_cost)
        assert probability == pytest.approx(propensity, rel=1e-5)


def _has_vowpal(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", "import vowpalwabbit"], capture_output=True, check=False).returncode == 0  # noqa: S603
