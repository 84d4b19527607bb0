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
# What a log of the record is called in the table.
LOGS = {
    "2,000 rows, k = 5, nonlinear, skewed": "generated, 2,000 rows, 5 actions",
    "20,000 rows, k = 8, both, uniform": "generated, 20,000 rows, 8 actions",
    "vehicle": "vehicle, 564 rows, 4 actions",
    "vowel": "vowel, 660 rows, 11 actions",
}


def table() -> str:
    """Return the table: in each cell the mean value over seeds, its standard error, and the mean seconds of a fit."""
    figures = json.loads(RECORD.read_text(encoding="utf-8"))["figures"]
    logs = [log for log in LOGS if any(each["log"] == log for each in figures)]
    lines = [f"| | {' | '.join(LOGS[log] for log in logs)} |", "|---|" + "---|" * len(logs)]
    for policy in dict.fromkeys(each["policy"] for each in figures):
        cells = [_cell([each for each in figures if (each["log"], each["policy"]) == (log, policy)]) for log in logs]
        lines.append(f"| {' | '.join([f'**{policy}**' if policy in OURS else policy, *cells])} |")
    return "\n".join(lines)


def _cell(found: list[dict[str, Any]]) -> str:
    value = np.array([each["value"] for each in found])
    error = value.std(ddof=1) / np.sqrt(len(value))
    return f"{value.mean():.3f} ± {error:.3f}; {np.mean([each['fit_seconds'] for each in found]):.2f} s"


def page(text: str) -> str:
    """Return a page with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"written {path.relative_to(ROOT)}")
