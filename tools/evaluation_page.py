"""Write the figures of docs/evaluation.md, between its two markers, from benchmarks/results.

python tools/evaluation_page.py [--check]
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "evaluation.md"
BEGIN, END = "<!-- figures: tools/evaluation_page.py -->\n", "<!-- end of figures -->\n"
METHODS = {"ips": "IPS", "snips": "SNIPS", "doubly_robust": "doubly robust", "direct": "direct", "switch": "switch"}


def figures() -> str:
    """Return the text between the markers."""
    coverage = json.loads((ROOT / "benchmarks/results/interval_coverage.json").read_text(encoding="utf-8"))
    grid = json.loads((ROOT / "benchmarks/results/coverage_grid.json").read_text(encoding="utf-8"))
    likelihood = json.loads((ROOT / "benchmarks/results/coverage_likelihood.json").read_text(encoding="utf-8"))
    costs = json.loads((ROOT / "benchmarks/results/evaluation.json").read_text(encoding="utf-8"))
    parts = [_grid(grid), _likelihood(likelihood), _coverage(coverage), _costs(costs)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _grid(found: dict[str, Any]) -> list[str]:
    caption = (
        f"The default interval, 95 %, {found['logs']:,} logs in each of {found['cells']:,} of {found['all_cells']:,} "
        "cells of the grid (ten times as many where a goal was missed and there was time). Printed by `python "
        f"benchmarks/coverage_grid.py`. {found['note']}"
    )
    heads = ["", "cells", "least coverage", "median", "below 93 %", "normal: least", "below 93 %", "much to see: cells"]
    heads += ["above 97 %", "width / normal (cells)", "and much to see", "false better", "false worse"]
    rows = [caption, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for each in found["figures"]:
        shown = [f"{METHODS[each['method']]}, {each['quantity']}", f"{each['cells']}", _percent(each["least"])]
        shown += [_percent(each["median"]), f"{each['below']}", _percent(each["normal_least"])]
        shown += [f"{each['normal_below']}", f"{each['cells_seen']}", f"{each['above']}"]
        shown += [
            f"{each[name] or 0:.3f} ({each[n]})" for name, n in (("ratio", "cells_valid"), ("ratio_both", "cells_both"))
        ]
        shown += ["", ""] if each["quantity"] == "value" else [_percent(each["better"]), _percent(each["worse"])]
        rows.append(f"| {' | '.join(shown)} |")
    rows += ["", *_failing(found["failing"], {_key(each): each for each in found["again"]})]
    return rows


def _key(record: dict[str, Any]) -> tuple[Any, ...]:
    names = ("rewards", "n_actions", "logging", "policy", "n_rows", "differs", "method", "quantity")
    return tuple(record[name] for name in names)


def _failing(failing: list[dict[str, Any]], again: dict[tuple[Any, ...], dict[str, Any]]) -> list[str]:
    """List the records that miss a goal, and how they fared when drawn again; those that cover too much are counted."""
    too_much = [each for each in failing if each["misses"] == ["covers too much"]]
    others = [each for each in failing if each not in too_much]
    near = sum(each["policy"] == "near the log" for each in too_much)
    rows = [
        f"{len(too_much)} times the interval covers too much (above 97 %), {near} of them of a policy near the log, "
        f"{sum('money' in each['rewards'] and each['policy'] != 'near the log' for each in too_much)} of money. "
        + ("No other goal is missed." if not others else "Other goals missed, and the same drawn again, corrected:"),
    ]
    if others:
        heads = ["rewards", "actions, logging, policy, rows", "of", *("logs", "covers", "better") * 2]
        rows += ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for each in others:
        where = f"{each['n_actions']}, {each['logging']}, {each['policy']}, {each['n_rows']:,}"
        shown = [each["rewards"], where if each["differs"] else where + ", nothing differs"]
        shown.append(f"{METHODS[each['method']]}, {each['quantity']}")
        for drawn in (each, again[_key(each)]):
            better = "" if each["quantity"] == "value" else _percent(drawn["better"])
            shown += [f"{drawn['n_logs']:,}", _percent(drawn["coverage"]), better]
        rows.append(f"| {' | '.join(shown)} |")
    return rows


def _likelihood(found: dict[str, Any]) -> list[str]:
    heads = ["SNIPS, 95 %", "cells", "coverage: mean", "least", "below 93 %", "width / normal (median)"]
    caption = (
        f"Empirical likelihood beside the default, {found['logs']:,} logs in every {found['every']}th cell of the grid "
        "(not those of 10,000 rows or of equal rewards); so few logs tell a coverage to within 3 %. Printed by "
        f"`python benchmarks/coverage_likelihood.py --every {found['every']}`."
    )
    rows = [caption, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for quantity in ("value", "gain on the log"):
        lines = [each for each in found["figures"] if each["quantity"] == quantity]
        for name, prefix in (("mid-P", "default_"), ("empirical likelihood", ""), ("normal", "normal_")):
            covered = [each[f"{prefix}coverage"] for each in lines]
            wide = [each.get(f"{prefix}ratio", 1.0) for each in lines]
            shown = [f"{quantity}, {name}", f"{len(lines)}", _percent(mean(covered)), _percent(min(covered))]
            shown += [f"{sum(each < 0.93 for each in covered)}", f"{median(each or math.inf for each in wide):.2f}"]
            rows.append(f"| {' | '.join(shown)} |")
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _coverage(found: dict[str, Any]) -> list[str]:
    lines = found["figures"]
    settings = list(dict.fromkeys((line["logging"], line["n_rows"]) for line in lines))
    cases = list(dict.fromkeys((line["method"], line["model"], line["interval"]) for line in lines))
    worth = {(line["logging"], line["n_rows"]): line["effective_rows"] for line in lines}
    by_key = {
        (line["logging"], line["n_rows"], line["method"], line["model"], line["interval"]): line for line in lines
    }
    caption = (
        f"Intervals of 95 %, {found['logs']:,} simulated logs for each column: how often they hold the true value (%), "
        "and how wide they are on average. Below the size of the log, how many rows of equal weight it is worth. "
        "Printed by `python benchmarks/interval_coverage.py`, with bias and root mean squared error."
    )
    rows = [
        caption,
        "",
        "| | " + " | ".join(f"{logging}, {n_rows:,}" for logging, n_rows in settings) + " |",
        "|---|" + "---|" * len(settings),
        "| *worth* | " + " | ".join(f"*{worth[setting]:.0f}*" for setting in settings) + " |",
    ]
    for method, model, interval in cases:
        name = f"{METHODS[method]}, {interval}" + (f", {model} model" if model else "")
        cells = [by_key[(*setting, method, model, interval)] for setting in settings]
        rows.append(f"| {name} | " + " | ".join(f"{100 * c['coverage']:.1f}, {c['width']:.2f}" for c in cells) + " |")
    return rows


def _costs(found: dict[str, Any]) -> list[str]:
    size = f"{found['rows']:,} rows of {found['features']} features"
    rows = [
        "## What it costs",
        "",
        f"{size}; seconds of one processor. Printed by `python benchmarks/evaluation.py`.",
        "",
        "| actions | predict | evaluate | ratio | with 1,000 resamples | bytes a row | with Bernstein | with betting |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in found["figures"]:
        rows.append(  # noqa: PERF401
            f"| {each['n_actions']:.0f} | {each['predict']:.3f} | {each['evaluate']:.3f} | "
            f"{each['evaluate'] / each['predict']:.2f} | {each['bootstrap']:.1f} | "
            f"{each['bootstrap_bytes_per_row']:.0f} | {each['bernstein']:.2f} | {each['betting']:.1f} |"
        )
    return rows


def main() -> None:
    """Write the page, or tell whether it is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = before + BEGIN + figures() + END + after
    if "--check" in sys.argv:
        sys.exit(
            0 if new == text else "docs/evaluation.md is not made of benchmarks/results: run this without --check."
        )
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
