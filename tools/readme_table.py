"""Write the table of the README from benchmarks/results/beside.json: ``make bench-beside`` measures and calls it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "benchmarks" / "results" / "beside.json"
BEGIN, END = "<!-- written by tools/readme_table.py -->", "<!-- end of the table -->"


def table() -> str:
    """Return the table: the mean value over all logs with its standard error, values per log, and seconds."""
    found = json.loads(RECORDS.read_text(encoding="utf-8"))
    logs = list(dict.fromkeys(each["log"] for each in found["figures"]))
    policies = list(dict.fromkeys(each["policy"] for each in found["figures"]))
    value = np.array([[_values(found, policy, log, "value") for log in logs] for policy in policies])
    seconds = np.array([[_values(found, policy, log, "fit_seconds") for log in logs] for policy in policies])
    order = np.argsort(-value.mean(axis=(1, 2)))
    head = ["", "mean value", *(_short(log) for log in logs), "fit, s"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for place in order.tolist():
        means = value[place].mean(axis=0)
        error = means.std(ddof=1) / np.sqrt(len(means))
        cells = [
            policies[place],
            f"{means.mean():.3f} ± {error:.3f}",
            *(f"{each:.3f}" for each in value[place].mean(axis=1)),
        ]
        lines.append("| " + " | ".join([*cells, f"{seconds[place].mean():.2f}"]) + " |")
    return "\n".join(lines)


def _values(found: dict, policy: str, log: str, name: str) -> list[float]:  # type: ignore[type-arg]
    return [each[name] for each in found["figures"] if each["policy"] == policy and each["log"] == log]


def _short(log: str) -> str:
    return log.replace(" rows", "").replace(", uniform", "").replace(", skewed", "")


def page(text: str) -> str:
    """Return the README with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    print("written README.md")
