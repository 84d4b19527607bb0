"""Write the table of the README and of docs/benchmarks/index.md from benchmarks/results/beside.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "beside.json"
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks" / "index.md")
BEGIN, END = "<!-- written by tools/readme_table.py -->", "<!-- end of the table -->"
OURS = ("RewardBoosting", "OffsetForest")
# What a log of the record is called in the table; the others are datasets of the paper.
LOGS = {
    "2,000 rows, k = 5, nonlinear, skewed": "generated, 2,000 rows, 5 actions",
    "vehicle": "vehicle, 564 rows, 4 actions",
    "vowel": "vowel, 660 rows, 11 actions",
}


def table() -> str:
    """Return the table: mean value over seeds with its standard error, and mean seconds, on each log."""
    figures = json.loads(RECORD.read_text(encoding="utf-8"))["figures"]
    logs = list(dict.fromkeys(each["log"] for each in figures))
    head = "".join(f" | {LOGS.get(log, log)} | fit, s" for log in logs)
    lines = [head.removeprefix(" ") + " |", "|---|" + "---:|" * (2 * len(logs))]
    lines[0] = f"| {lines[0]}"
    for policy in dict.fromkeys(each["policy"] for each in figures):
        cells = [cell for log in logs for cell in _cells(figures, log, policy)]
        name = f"**{policy}**" if policy in OURS else policy
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def _cells(figures: list[dict[str, Any]], log: str, policy: str) -> tuple[str, str]:
    found = [each for each in figures if (each["log"], each["policy"]) == (log, policy)]
    value = np.array([each["value"] for each in found])
    error = value.std(ddof=1) / np.sqrt(len(value))
    return f"{value.mean():.3f} ± {error:.3f}", f"{np.mean([each['fit_seconds'] for each in found]):.2f}"


def page(text: str) -> str:
    """Return a page with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"written {path.relative_to(ROOT)}")
