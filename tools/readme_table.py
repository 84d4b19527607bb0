"""Write the table of the README from three records of benchmarks/results: accuracy, boosting and rivals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- written by tools/readme_table.py -->", "<!-- end of the table -->"
GENERATED = tuple(
    f"{rows} rows, k = {k}, {kind}"
    for rows, k, kind in (
        ("2,000", 5, "nonlinear, skewed"),
        ("5,000", 16, "nonlinear, uniform"),
        ("5,000", 16, "linear, uniform"),
        ("20,000", 8, "nonlinear, skewed"),
        ("20,000", 8, "linear, uniform"),
        ("20,000", 8, "both, uniform"),
    )
)
# The name of each row, and what it is called in each record.
ROWS: dict[str, tuple[str | None, str | None, str | None]] = {
    "**PolicySearch**": ("PolicySearch", None, None),
    "**RewardBoosting**": (None, "RewardBoosting", None),
    "**OffsetForest**": ("offset forest", "OffsetForest", "OffsetForest, 50 trees"),
    "**OffsetTree**, logistic": ("offset tree, logistic", None, "OffsetTree, logistic"),
    "LightGBM per action": (None, "LightGBM per action", None),
    "Open Bandit Pipeline IPWLearner": ("Open Bandit Pipeline IPWLearner", None, None),
    "EconML DRPolicyForest": ("EconML DRPolicyForest", None, None),
    "contextualbandits OffsetTree": ("contextualbandits OffsetTree", None, "contextualbandits, depth-6 trees"),
    # The better of its ways in each record.
    "Vowpal Wabbit, mtr; dr with 100,000 rows": ("Vowpal Wabbit --cb_type mtr", None, "Vowpal Wabbit --cb_type dr"),
}
HEAD = ["", "value, 38 short logs", "value, 6 problems", "fit, s", "value, 100,000 rows, k = 64", "fit, s"]


def table() -> str:
    """Return the table; a cell is empty where a record does not have the row."""
    short, generated, long = (_figures(name) for name in ("accuracy", "boosting", "rivals"))
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for name, (in_short, in_generated, in_long) in ROWS.items():
        six = [each for each in generated if each["source"] in GENERATED]
        large = [each for each in long if each["n_rows"] == 100_000 and each["n_actions"] == 64]
        cells = [
            _mean(_column(short, "policy", in_short, "value"), 3),
            *(
                _mean(_column(six, "learner", in_generated, key), digits)
                for key, digits in (("value", 3), ("fit_seconds", 2))
            ),
            *(_mean(_column(large, "policy", in_long, key), digits) for key, digits in (("value", 3), ("seconds", 2))),
        ]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def _figures(name: str) -> list[dict[str, Any]]:
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["figures"])


def _column(figures: list[dict[str, Any]], by: str, name: str | None, key: str) -> list[float]:
    return [float(each[key]) for each in figures if name is not None and each[by] == name]


def _mean(values: list[float], digits: int) -> str:
    return f"{np.mean(values):.{digits}f}" if values else ""


def page(text: str) -> str:
    """Return the README with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    print("written README.md")
