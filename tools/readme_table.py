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
LIBRARIES = ("Vowpal Wabbit", "LightGBM", "Open Bandit Pipeline", "EconML")
# What a log of the record is called in the table.
LOGS = {
    "2,000 rows, k = 5, nonlinear, skewed": "generated, 2,000 rows, 5 actions",
    "vehicle": "vehicle, 564 rows, 4 actions",
    "vowel": "vowel, 660 rows, 11 actions",
}


def table(found: dict[str, Any]) -> str:
    """Return the table: in each cell the mean value over seeds, its standard error, and the mean seconds of a fit."""
    figures = found["figures"]
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


def measured(found: dict[str, Any]) -> str:
    """Say of what the figures are: machine, seeds and versions."""
    machine = found["machine"]
    of = {each["policy"]: each["version"] for each in found["figures"] if "version" in each}
    others = {library: of[policy] for library in LIBRARIES for policy in of if policy.startswith(library)}
    versions = ", ".join(f"{name} {version}" for name, version in (machine["versions"] | others).items())
    seeds = ", ".join(map(str, found["seeds"]))
    return (
        f"Measured on {machine['processor']}, {machine['cores']} cores, load {machine['load'][0]} when the run ended; "
        f"seeds {seeds}; {versions}."
    )


def page(text: str, *, long: bool) -> str:
    """Return a page with its table made anew, and below it where it was measured if it is the long one."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    written = table(found) + (f"\n\n{measured(found)}" if long else "")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{written}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8"), long=path != PAGES[0]), encoding="utf-8")
        print(f"written {path.relative_to(ROOT)}")
