"""Small logs with action sets in every format, for tests of the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from offsettree import simulate_catalogue


def write_logs(folder: Path, n_rows: int = 260, seed: int = 0) -> dict[str, list[str]]:
    """Write the same log in every format; return the arguments by which commands read each."""
    catalogue = simulate_catalogue(n_rows, 12, 4, random_state=seed, n_features=3, n_item_features=3)
    log, sets = catalogue.log, catalogue.sets
    items: Any = sets.items
    X: Any = log.X
    rows, lines, decisions = [], [], []
    for row in range(n_rows):
        x = {f"f{j}": round(value, 4) for j, value in enumerate(X[row].tolist())}
        taken = f"i{log.action[row]}"
        eligible = [
            {"id": f"i{each}", **{f"g{j}": round(value, 4) for j, value in enumerate(items[each].tolist())}}
            for each in sets[row]
        ]
        own: dict[str, Any] = {
            "action": taken,
            "reward": float(log.reward[row]),
            "propensity": float(log.propensity[row]),
        }
        rows.append({**x, **own, "eligible": eligible})
        place = [each["id"] for each in eligible].index(taken)
        lines.append("shared |u " + " ".join(f"{name}:{value}" for name, value in x.items()))
        for each in eligible:
            label = f"0:{-own['reward']}:{own['propensity']} " if each["id"] == taken else ""
            features = " ".join(f"{name}:{value}" for name, value in each.items() if name != "id")
            lines.append(f"{label}'{each['id']} |a {features}")
        lines.append("")
        multi = [{"id": each["id"], "a": {k: v for k, v in each.items() if k != "id"}} for each in eligible]
        label_parts = {"_label_cost": -own["reward"], "_label_probability": own["propensity"]}
        decisions.append(
            {**label_parts, "_label_Action": place + 1, "_labelIndex": place, "a": [place + 1], "p": [0.25],
             "c": {"u": x, "_multi": multi}}
        )  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / "log.ndjson").write_text("\n".join(map(json.dumps, rows)))
    (folder / "log.vw").write_text("\n".join(lines))
    (folder / "log.dsjson").write_text("\n".join(map(json.dumps, decisions)))
    frame = pd.DataFrame(rows)
    frame.to_parquet(folder / "log.parquet")
    flat = frame.assign(shown=[" ".join(each["id"] for each in row["eligible"]) for row in rows]).drop(
        columns="eligible"
    )
    flat.to_csv(folder / "log.csv", index=False)
    table = pd.DataFrame(items.round(4), columns=[f"g{j}" for j in range(items.shape[1])])
    table.insert(0, "item_id", [f"i{i}" for i in range(len(table))])
    table.to_csv(folder / "items.csv", index=False)
    second = ["--actions", str(folder / "items.csv"), "--action-id", "item_id", "--eligible", "shown"]
    return {name: [str(folder / f"log.{name}")] for name in ("ndjson", "parquet", "vw", "dsjson")} | {
        "csv": [str(folder / "log.csv"), *second]
    }
