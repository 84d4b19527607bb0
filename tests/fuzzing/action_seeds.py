"""What cases about actions with features are made from: logs in every format, live policies, and policy files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import scipy.sparse as sp
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from offsettree import (
    ActionOffsetTree,
    ActionRegression,
    ActionSets,
    OnlineActionOffsetTree,
    OnlineActionRegression,
    PopularAction,
    save,
    simulate_catalogue,
)
from offsettree.exceptions import OffsetTreeError

SET_LOGS, CHOOSERS, CHOOSER_FILES = "set-logs", "choosers", "chooser-files"
N_ROWS, N_FEATURES, N_ITEM_FEATURES = 90, 3, 2
ITEMS = "id,price,kind\n1,3.0,x\n2,5.0,y\n3,1.0,x\n"
LISTED: dict[str, Any] = {"eligible": "eligible"}
WITH_ITEMS: dict[str, Any] = {"eligible": "eligible", "items": ITEMS}
# How each log is read; `items` is the text of the second table, in a file of its own.
HOW: dict[str, dict[str, Any]] = {
    "vw-multi-line": {},
    "vw-hashed": {},
    "dsjson": {},
    "ndjson-of-mappings": LISTED,
    "ndjson-of-ids": WITH_ITEMS,
    "parquet-of-mappings": LISTED,
    "parquet-of-ids": WITH_ITEMS,
    "arrow-of-mappings": LISTED,
    "csv-of-ids": {**WITH_ITEMS, "pair_columns": ["near"]},
    "csv-of-all": {"items": ITEMS},
    "csv-of-json": LISTED,
}


def make_action_seeds(folder: Path) -> None:
    """Write them into a folder, each under its own name."""
    for name in (SET_LOGS, CHOOSERS, CHOOSER_FILES):
        (folder / name).mkdir(parents=True, exist_ok=True)
    _write_logs(folder / SET_LOGS)
    for name, policy in _fitted().items():
        (folder / CHOOSERS / name).write_bytes(pickle.dumps(policy))
        try:
            save(policy, folder / CHOOSER_FILES / name)
        except OffsetTreeError:  # it has no file yet
            continue


def _write_logs(folder: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "age": 25.0 + row,
            "city": ["rome", "oslo"][row % 2],
            "action": 1 + row % 3,
            "reward": row % 2,
            "propensity": 0.5,
            "eligible": [
                {"id": each, "price": each / 2, "kind": "xy"[each % 2]}
                for each in (1, 2, 3)
                if each in (1 + row % 3, 1 + row % 2)
            ],
        }
        for row in range(8)
    ]
    of_ids = [{**row, "eligible": [each["id"] for each in row["eligible"]]} for row in rows]
    frames = {"mappings": pd.DataFrame(rows), "ids": pd.DataFrame(of_ids)}
    wide = frames["ids"].assign(
        eligible=["|".join(map(str, row["eligible"])) for row in of_ids], near_1=0.1, near_2=0.2, near_3=0.3
    )
    text = frames["mappings"].assign(eligible=[json.dumps(row["eligible"]) for row in rows])
    (folder / "vw-multi-line~vw").write_text("".join(_vw(row) for row in rows))
    (folder / "vw-hashed~vw").write_text(
        "".join(_vw(row, " ".join(f"w{i}" for i in range(place, 1100 + place))) for place, row in enumerate(rows[:2]))
    )
    (folder / "dsjson~dsjson").write_text("".join(map(_dsjson, rows)))
    for name, table in frames.items():
        (folder / f"ndjson-of-{name}~ndjson").write_text(table.to_json(orient="records", lines=True))
        table.to_parquet(folder / f"parquet-of-{name}~parquet")
    pa.feather.write_feather(frames["mappings"], str(folder / "arrow-of-mappings~arrow"), compression="zstd")
    wide.to_csv(folder / "csv-of-ids~csv", index=False)
    wide.drop(columns="eligible").to_csv(folder / "csv-of-all~csv", index=False)
    text.to_csv(folder / "csv-of-json~csv", index=False)


def _vw(row: dict[str, Any], more: str = "") -> str:
    lines = [f"shared |User age:{row['age']} {row['city']} {more}"]
    for each in row["eligible"]:
        label = f"0:{-row['reward']}:{row['propensity']} " if each["id"] == row["action"] else ""
        lines.append(f"{label}'i{each['id']} |Item price:{each['price']} {each['kind']}")
    return "\n".join(lines) + "\n\n"


def _dsjson(row: dict[str, Any]) -> str:
    place = [each["id"] for each in row["eligible"]].index(row["action"])
    decision = {
        "_label_cost": -row["reward"],
        "_label_probability": row["propensity"],
        "_label_Action": place + 1,
        "_labelIndex": place,
        "a": [place + 1],
        "p": [row["propensity"]],
        "c": {
            "User": {"age": row["age"], "city": row["city"]},
            "_multi": [{"i": {"id": f"i{each['id']}"}, "price": each["price"]} for each in row["eligible"]],
        },
    }
    return json.dumps(decision) + "\n"


def _fitted() -> dict[str, Any]:
    policies: dict[str, Any] = {}
    for form, arrays in _arguments().items():
        policies[f"online-{form}"] = OnlineActionRegression(n_bits=8).fit(**arrays)
        if form != "sparse":
            policies[f"regression-{form}"] = ActionRegression(random_state=0).fit(**arrays)
            policies[f"offset-tree-{form}"] = ActionOffsetTree(random_state=0).fit(**arrays)
    arrays = _arguments()["arrays"]
    policies["online-context-action"] = OnlineActionRegression(
        n_bits=8, interactions="context-action", id_effects=False
    ).fit(**arrays)
    policies["offset-tree-similar"] = ActionOffsetTree(tree="similar", random_state=0).fit(**arrays)
    policies["offset-tree-table"] = ActionOffsetTree(
        DecisionTreeClassifier(max_depth=3, random_state=0), random_state=0
    ).fit(**arrays)
    policies["offset-tree-online"] = OnlineActionOffsetTree(n_bits=8, seed=0).fit(**arrays)
    policies["regression-linear"] = ActionRegression(Ridge(), random_state=0).fit(**arrays)
    policies["regression-trees"] = ActionRegression(
        RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0), random_state=0
    ).fit(**arrays)
    policies["popular"] = PopularAction().fit(**arrays)
    return policies


def _arguments() -> dict[str, dict[str, Any]]:
    catalogue = simulate_catalogue(N_ROWS, 12, 4, random_state=0)
    arrays = catalogue.log.arrays()
    sets = arrays["action_sets"]
    X, items = np.asarray(arrays["X"])[:, :N_FEATURES], np.asarray(sets.items)[:, :N_ITEM_FEATURES]
    pairs = np.random.RandomState(0).normal(size=(len(sets.ids), 1))

    def made(X: Any, items: Any, pairs: Any) -> dict[str, Any]:
        again = ActionSets(sets.ids, sets.starts, items=items, item_ids=sets.item_ids, pairs=pairs)
        return {**arrays, "X": X, "action_sets": again}

    frame = pd.DataFrame(X, columns=list("uvw")).assign(city=np.resize(["rome", "oslo", None], len(X)))
    return {
        "arrays": made(X, items, pairs),
        "frames": made(frame, pd.DataFrame(items, columns=["price", "size"]), pd.DataFrame(pairs, columns=["near"])),
        "sparse": made(sp.csr_matrix(X), sp.csr_matrix(items), sp.csr_matrix(pairs)),
    }
