"""How often intervals of rare and heavy-tailed rewards hold the truth, on a grid of cells fixed before any tuning.

See `_coverage_grid.py` for the cells and the goals. For each cell thousands of logs are drawn; intervals are made of
the value of a policy, of its gain on what was logged, and of its gain on another policy, by SNIPS, IPS and doubly
robust with a reward model fitted on other folds. Cells that miss a goal are drawn again, ten times as many logs; those
judge. What is done is kept in a file of records: a run that was stopped goes on.

    python benchmarks/coverage_grid.py [--grid judging|tuning|money] [--records FILE ...] [--part 0/2] [--json FILE]

Several processes share the work if each is given its part and a file of its own, named first; one that is given all
files and no part then does the rest, and sums up.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _coverage_draws import METHODS
from _coverage_grid import GOALS, GRID, MONEY, TUNING, Cell, cells
from _coverage_grid import MOST_ROWS as LONGEST
from _coverage_judge import QUANTITIES, judge
from _problems import write_figures


def misses(record: dict[str, Any]) -> list[str]:
    """Tell which goals a record misses, but for that of widths, which is over all cells."""
    if record["told"] < 0.05:  # too few logs of the cell had an answer to tell
        return []
    found = []
    if record["coverage"] < GOALS["least coverage"]:
        found.append("covers too little")
    if record["enough"] > GOALS["enough"] and record["coverage"] > GOALS["most coverage"]:
        found.append("covers too much")
    if not record["differs"] and record["quantity"] != "value":
        found += [f"false {w}" for w in ("better", "worse") if record[w] > GOALS["false"]]
    return found


def records_of(
    todo: list[Cell],
    kept: list[Path],
    n_logs: int,
    known: dict[str, list[dict[str, Any]]],
    once: bool = False,
    **how: bool,
) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of all cells; those that miss a goal once more, of more logs, the graver misses first."""

    def judged(cell: Cell, logs: int) -> list[dict[str, Any]]:
        key = f"{cell} {logs}"
        if key not in known:
            known[key] = judge(cell, logs, **how)
            if kept:
                with kept[0].open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, known[key]]) + "\n")
        return known[key]

    missing: list[tuple[float, Cell]] = []
    for cell in todo:
        records = judged(cell, n_logs)
        yield records
        found = [(each != "covers too much") for record in records for each in misses(record)]
        if found:
            least = min(record["coverage"] for record in records if misses(record))
            missing.append((least - any(found), cell))
    if once:
        return
    for _, cell in sorted(missing, key=lambda each: each[0]):
        yield judged(cell, int(n_logs * GOALS["logs again"] / GOALS["logs"]))


def _some(todo: list[Cell], share: float) -> list[Cell]:
    """Return the first cells, in an order that has some of everything whenever it is stopped; the longest logs last."""
    part = todo[: round(share * len(todo))]
    mixed = [part[i] for i in np.random.default_rng(0).permutation(len(part))]
    return sorted(mixed, key=lambda cell: cell.n_rows == LONGEST)


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the goals are about, by method and quantity, and the records that miss one."""
    last = {tuple(r[name] for name in (*Cell.__annotations__, "method", "quantity")): r for r in records}
    told = [r for r in last.values() if r["told"] >= 0.05]
    lines = []
    for method in METHODS:
        for quantity in QUANTITIES:
            part = [r for r in told if (r["method"], r["quantity"]) == (method, quantity)]
            seen = [r["coverage"] for r in part if r["enough"] > GOALS["enough"]]
            valid = [
                r["ratio"] for r in part if 0.94 <= r["normal_coverage"] <= 0.97 and np.isfinite(r["ratio"] or np.inf)
            ]
            both = [r["ratio"] for r in part if r["ratio"] in valid and r["enough"] > GOALS["enough"]]
            null = [r for r in part if not r["differs"] and not r["rewards"].startswith("always")]
            lines.append(
                {
                    "method": method,
                    "quantity": quantity,
                    "cells": len(part),
                    "least": min(r["coverage"] for r in part),
                    "median": float(np.median([r["coverage"] for r in part])),
                    "below": sum(r["coverage"] < GOALS["least coverage"] for r in part),
                    "normal_least": min(r["normal_coverage"] for r in part),
                    "normal_below": sum(r["normal_coverage"] < GOALS["least coverage"] for r in part),
                    "cells_seen": len(seen),
                    "most_seen": max(seen, default=None),
                    "above": sum(each > GOALS["most coverage"] for each in seen),
                    "cells_valid": len(valid),
                    "ratio": float(np.median(valid)) if valid else None,
                    "cells_both": len(both),
                    "ratio_both": float(np.median(both)) if both else None,
                    "better": max(r["better"] for r in null),
                    "worse": max(r["worse"] for r in null),
                }
            )
    failing = [{**r, "misses": misses(r)} for r in told if misses(r)]
    return {"figures": lines, "failing": sorted(failing, key=lambda r: r["coverage"])}


def main() -> None:
    """Print what misses a goal as it is found, and a line per method and quantity."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", choices=("judging", "tuning", "money"), default="judging")
    parser.add_argument("--logs", type=int, default=GOALS["logs"])
    parser.add_argument("--records", type=Path, nargs="+", default=[], help="keep what is done here, and go on from it")
    parser.add_argument("--share", type=float, default=1.0, help="of the cells, from the beginning: 0.34 is a third")
    parser.add_argument("--every", type=int, default=1, help="draw every so many-th cell")
    parser.add_argument("--only", nargs="+", default=[], help="cells whose description has these texts, such as money")
    parser.add_argument("--without-missing", action="store_true", help="as if no weight were missing from a log")
    parser.add_argument("--without-tails", action="store_true", help="as if few amounts showed the whole tail")
    parser.add_argument("--done", action="store_true", help="draw nothing: sum up the records that there are")
    parser.add_argument("--again", action="store_true", help="draw no new cell: only those again that missed a goal")
    parser.add_argument("--once", action="store_true", help="draw nothing again, whatever goal was missed")
    parser.add_argument("--note", default="", help="what is to be said beside the figures")
    parser.add_argument("--part", default="0/1", help="of the cells, such as 0/2 and 1/2")
    parser.add_argument("--json", type=Path, help="write the summary to this file")
    options = parser.parse_args()
    grid = {"judging": GRID, "tuning": TUNING, "money": MONEY}[options.grid]
    part, n_parts = map(int, options.part.split("/"))
    started, found = time.perf_counter(), []
    known: dict[str, list[dict[str, Any]]] = {}
    for file in options.records:
        if file.exists():
            known |= dict(json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    mixed = _some(cells(grid)[:: options.every], options.share)
    todo = [c for c in mixed[part::n_parts] if all(text in str(c) for text in options.only)]
    if options.again:
        todo = [c for c in todo if f"{c} {options.logs}" in known]
    how = {"count_missing": not options.without_missing, "correct_tails": not options.without_tails}
    drawn = records_of(todo, options.records, options.logs, known, options.once, **how)
    for records in known.values() if options.done else drawn:
        found += records
        for r in records:
            for miss in misses(r):
                print(
                    f"{r['coverage']:.4f} ({r['normal_coverage']:.3f}) -{r['worse']:.3f} +{r['better']:.3f} "
                    f"{r['n_logs']:>6} {r['method']:<14}{r['quantity']:<16}{r['rewards']}, k {r['n_actions']}, "
                    f"{r['logging']}, {r['policy']}, n {r['n_rows']}, {'differs' if r['differs'] else 'same'}: {miss}",
                    flush=True,
                )
    answer = summary(found)
    print(
        "method        quantity          cells  least  median  <93 %  normal  <93 %  most seen  >97 %  ratio  worse "
        "better"
    )
    for each in answer["figures"]:
        print(
            f"{each['method']:<14}{each['quantity']:<17}{each['cells']:>6}{each['least']:>7.3f}{each['median']:>8.3f}"
            f"{each['below']:>7}{each['normal_least']:>8.3f}{each['normal_below']:>7}{each['most_seen'] or 0:>11.3f}"
            f"{each['above']:>7}{each['ratio'] or 0:>7.3f}{each['worse']:>7.3f}{each['better']:>7.3f}"
        )
    print(f"{len(answer['failing'])} records miss a goal; {time.perf_counter() - started:.0f} s")
    done = len({str(record["seed"]) + str([record[name] for name in Cell.__annotations__]) for record in found})
    write_figures(
        options.json,
        {"logs": options.logs, "note": options.note, "cells": done, "all_cells": len(cells(grid)), **answer},
    )


if __name__ == "__main__":
    main()
