"""Write the figures of docs/choosing.md, between its two markers, from benchmarks/results/accuracy.json.

python tools/choosing_page.py [--check]
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "choosing.md"
RESULTS = ROOT / "benchmarks" / "results" / "accuracy.json"
BEGIN, END = "<!-- figures: tools/choosing_page.py -->\n", "<!-- end of figures -->\n"


def _summary() -> Any:
    """Import the arithmetic of the printed table, which is no package."""
    path = ROOT / "benchmarks" / "_accuracy_table.py"
    spec = importlib.util.spec_from_file_location("_accuracy_table", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be read.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures(found: dict[str, Any]) -> str:
    """Return the text between the markers."""
    summary = _summary()
    best = summary.behind_the_best(found)
    part = "" if best["n_logs"] == found["logs"] else f" of the {found['logs']}"
    caption = (
        f"Mean true value on {best['n_logs']}{part} logs of at most {found['rows']:,} rows, and how far the search is "
        "ahead on the logs where both have an answer (mean and standard error). Printed by `make bench-accuracy`."
    )
    rows = [
        caption,
        "",
        "| | mean | " + " | ".join(summary.GROUPS) + " | search ahead by | logs |",
        "|---|---|" + "---|" * (len(summary.GROUPS) + 2),
    ]
    for row in summary.summaries(found):
        lead = "" if row["policy"] == summary.SEARCH else f"{row['lead']:+.3f} ± {row['lead_stderr']:.3f}"
        logs = f"{row['n_logs']}" + (f", {row['n_failed']} failed" if row["n_failed"] else "")
        name = f"**{row['policy']}**" if row["policy"] == summary.SEARCH else row["policy"]
        values = " | ".join(summary.number(row[group]) for group in summary.GROUPS)
        rows.append(f"| {name} | {summary.number(row['mean'])} | {values} | {lead} | {logs} |")
    rows += [f"| {name} | not run: {why} |" + " |" * 6 for name, why in found["missing"].items()]
    judgement = (
        f"Behind the single candidate that is best on average ({best['best_single']}) the search is by "
        f"{best['behind_best_single']:+.4f} (below 0: ahead). Behind whichever candidate was best on each log, which "
        f"nobody can know beforehand, by {best['behind_best_of_each_log']:.4f} on average and by {best['largest']:.3f} "
        f"at most. Its own 95 % interval, without nested choices, held the true value on "
        f"{100 * best['estimate_held']:.0f} % of the logs."
    )
    rows += ["", judgement]
    return "\n".join(rows) + "\n"


def page(text: str, found: dict[str, Any]) -> str:
    """Return the page with the figures in their place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + figures(found) + END + after


def main() -> None:
    """Write the page, or tell whether it is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    new = page(text, json.loads(RESULTS.read_text(encoding="utf-8")))
    if "--check" in sys.argv:
        sys.exit(0 if new == text else "docs/choosing.md is not made of benchmarks/results: run this without --check.")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
