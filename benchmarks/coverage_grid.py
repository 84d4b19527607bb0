"""How often intervals of rare and heavy-tailed rewards hold the truth, on a grid of cells fixed before any tuning.

See `_coverage_grid.py` for the cells and the goals. For each cell thousands of logs are drawn; intervals are made of
the value of a policy, of its gain on what was logged, and of its gain on another policy, by SNIPS, IPS and doubly
robust with a reward model fitted on other folds. Cells that miss a goal are drawn again, ten times as many logs; those
judge. What is done is kept in a file of records: a run that was stopped goes on.

    python benchmarks/coverage_grid.py [--grid judging|tuning] [--records FILE ...] [--part 0/2] [--json FILE]

Several processes share the work if each is given its part and a file of its own, named first; one that is given all
files and no part then does the rest, and sums up.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from _coverage_draws import METHODS, Drawn, draw
from _coverage_grid import GOALS, GRID, TUNING, Cell, World, cells, world
from _coverage_grid import MOST_ROWS as LONGEST
from _problems import write_figures
from numpy.typing import NDArray
from scipy.special import stdtrit

from offsettree.evaluation._claims import Claims, Known, LogSums, claims_of
from offsettree.evaluation._mid_p import FEW_TELLING, find_doubt, find_ends

LEVEL = 0.95
MOST_ROWS = 10_000_000  # drawn at a time
FOR_WIDTHS = 50  # logs
QUANTITIES = ("value", "gain on the log", "gain on another")


def judge(cell: Cell, n_logs: int) -> list[dict[str, Any]]:
    """Return how the intervals of a cell fare, a record for each method and quantity."""
    drawn_from = world(cell)
    counts: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    done, part = 0, 0
    while done < n_logs:
        size = min(n_logs - done, max(1, MOST_ROWS // cell.n_rows))
        drawn = draw(cell, drawn_from, size, part)
        for key, facts in _facts(drawn, drawn_from, cell.n_rows).items():
            counts.setdefault(key, []).append(facts)
        done, part = done + size, part + 1
    return [
        {**asdict(cell), "method": method, "quantity": quantity, **_summary(np.concatenate(rows), cell, n_logs)}
        for (method, quantity), rows in counts.items()
    ]


def _facts(drawn: Drawn, truths: World, n_rows: int) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return what is found in each log, by method and quantity; the ends of all intervals are looked for at once."""
    claims = {(method, i): _claims(drawn, method, i) for method in METHODS for i in range(len(QUANTITIES))}
    n_logs = len(drawn.effective)
    some = np.linspace(0, n_logs - 1, min(n_logs, FOR_WIDTHS)).astype(int)
    ends = np.split(_ends(_joined([each.taken(some) for each in claims.values()])), len(claims), axis=1)
    drawn_of = {key: (each, *found) for (key, each), found in zip(claims.items(), ends, strict=True)}
    return {
        (method, QUANTITIES[i]): _facts_of(drawn, method, i, truths, n_rows, drawn_of, some) for method, i in claims
    }


def _facts_of(
    drawn: Drawn,
    method: str,
    quantity: int,
    truths: World,
    n_rows: int,
    found: dict[tuple[str, int], tuple[Claims, NDArray[np.float64], NDArray[np.float64]]],
    some: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return by log: covered, covered by the normal interval, below 0, above 0, width, normal width, effective rows.

    An interval holds a number if the doubt that the rows leave at it is more than half of 1 - level. Ends are looked
    for in a part of the logs, for the width.
    """
    known, sums = drawn.known, drawn.sums[method][quantity == 2]
    claims, low, high = found[method, quantity]
    logged = float((truths.propensity * truths.chance).sum() / len(truths.chance) * truths.mean_amount)
    truth = truths.value(truths.policy) - (0.0, logged, truths.value(truths.other))[quantity]
    holds = _holds(claims, truth)
    at_zero = holds if quantity == 0 or truth == 0 else _holds(claims, 0.0)
    if method == "doubly_robust":  # as `evaluate` does: where few rewards tell, the interval holds that of SNIPS
        plainer, other_low, other_high = found["snips", quantity]
        few = ~(plainer.n_telling >= FEW_TELLING) & drawn.matched[:, 0] & (drawn.matched[:, 1] | (quantity != 2))
        low = np.where(few[some], np.minimum(low, other_low), low)
        high = np.where(few[some], np.maximum(high, other_high), high)
        holds, at_zero = _widened(holds, claims, plainer, few, truth), _widened(at_zero, claims, plainer, few, 0.0)
    width = np.full(len(claims.value), np.nan)
    width[some] = high - low
    half = _normal_half(sums, quantity, n_rows)
    below, above = ~at_zero & (claims.value < 0), ~at_zero & (claims.value > 0)
    columns = [holds, np.abs(claims.value - truth) <= half + 1e-12, below, above, width, 2 * half]
    facts = np.column_stack([*columns, drawn.effective[:, quantity]]).astype(float)
    # Without a matched row SNIPS and IPS have no answer; without rewards that differ, or a range, there is no interval.
    told = drawn.matched[:, 0] & (drawn.matched[:, 1] | (quantity != 2)) | (method == "doubly_robust")
    return np.asarray(facts[told & (known.high > known.low)])


def _claims(drawn: Drawn, method: str, quantity: int) -> Claims:
    """Return the claims on a value, or on a difference."""
    known, values = drawn.known, drawn.values[method][:, [0, 2 if quantity == 2 else 1]]
    values = np.clip(values, known.low[:, np.newaxis], known.high[:, np.newaxis])
    return claims_of(drawn.sums[method][quantity == 2], values, known, (min(quantity, 1) * 2,))


def _joined(parts: list[Claims]) -> Claims:
    """Put claims below each other."""
    columns = {name: np.concatenate([vars(each)[name] for each in parts]) for name in vars(parts[0]) if name != "known"}
    known = [vars(each.known) for each in parts]
    ranges = {name: np.concatenate([each[name] for each in known]) for name in ("low", "high", "least", "most")}
    return Claims(**columns, known=Known(**ranges, is_range=known[0]["is_range"]))


def _ends(claims: Claims) -> NDArray[np.float64]:
    """Return the ends of intervals, within what is possible."""
    return np.clip(find_ends(claims, LEVEL), *claims.limits)


def _widened(
    holds: NDArray[np.bool_], claims: Claims, plainer: Claims, few: NDArray[np.bool_], number: float
) -> NDArray[np.bool_]:
    """Tell which intervals hold a number if they reach, where few rewards tell, as far as others that are plainer."""
    between = (number - claims.value) * (number - plainer.value) <= 0
    return np.asarray(holds | (few & (between | _holds(plainer, number))))


def _holds(claims: Claims, number: float) -> NDArray[np.bool_]:
    """Tell whether each interval holds a number: ends lie no nearer to the estimate than to it."""
    theta = np.clip(np.full((2, len(claims.value)), number), *claims.limits)
    below, above = find_doubt(claims, theta)
    doubt = np.where(number < claims.value, below, above)
    possible = (claims.limits[0] - 1e-9 <= number) & (number <= claims.limits[1] + 1e-9)
    return np.asarray(
        claims.is_open | (possible & ((doubt > (1 - LEVEL) / 2) | (np.abs(claims.value - number) < 1e-12)))
    )


def _normal_half(sums: LogSums, quantity: int, n_rows: int) -> NDArray[np.float64]:
    """Return half the widths of normal intervals, as `normal_intervals` makes them."""
    squares = sums.moments[:, 4] if quantity == 0 else sums.moments[:, [4, 8]].sum(axis=1) - 2 * sums.moments[:, 5]
    size = sums.size[:, 0] if quantity == 0 else sums.size.min(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        stderr = np.sqrt(np.maximum(squares, 0)) / n_rows * sums.unit / np.sqrt(np.maximum(1 - 1 / size, 0))
        return np.where(size > 1, stdtrit(np.maximum(size - 1, 1), (1 + LEVEL) / 2) * stderr, np.inf)


def _summary(facts: NDArray[np.float64], cell: Cell, n_logs: int) -> dict[str, Any]:
    if len(facts) == 0:
        return {"n_logs": n_logs, "told": 0.0}
    covered, normal, below, above, width, normal_width, effective = facts.T
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = width / normal_width
    return {
        "n_logs": n_logs,
        "told": len(facts) / n_logs,
        "coverage": float(covered.mean()),
        "normal_coverage": float(normal.mean()),
        "worse": float(below.mean()),
        "better": float(above.mean()),
        "width": float(np.nanmedian(width)) if np.isfinite(width).any() else None,
        "ratio": float(np.nanmedian(ratio)) if np.isfinite(ratio).any() else None,
        "enough": float(effective.mean() * cell.share),
    }


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
    todo: list[Cell], kept: list[Path], n_logs: int, known: dict[str, list[dict[str, Any]]]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of all cells; those that miss a goal once more, of more logs."""
    for again in (False, True):
        for cell in todo:
            first = f"{cell} {n_logs}"
            if again and not any(misses(record) for record in known[first]):
                continue
            logs = int(n_logs * GOALS["logs again"] / GOALS["logs"]) if again else n_logs
            key = f"{cell} {logs}"
            if key not in known:
                known[key] = judge(cell, logs)
                if kept:
                    with kept[0].open("a", encoding="utf-8") as file:
                        file.write(json.dumps([key, known[key]]) + "\n")
            yield known[key]


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
    parser.add_argument("--grid", choices=("judging", "tuning"), default="judging")
    parser.add_argument("--logs", type=int, default=GOALS["logs"])
    parser.add_argument("--records", type=Path, nargs="+", default=[], help="keep what is done here, and go on from it")
    parser.add_argument("--share", type=float, default=1.0, help="of the cells, from the beginning: 0.34 is a third")
    parser.add_argument("--done", action="store_true", help="draw nothing: sum up the records that there are")
    parser.add_argument("--note", default="", help="what is to be said beside the figures")
    parser.add_argument("--part", default="0/1", help="of the cells, such as 0/2 and 1/2")
    parser.add_argument("--json", type=Path, help="write the summary to this file")
    options = parser.parse_args()
    grid = GRID if options.grid == "judging" else TUNING
    part, n_parts = map(int, options.part.split("/"))
    started, found = time.perf_counter(), []
    known: dict[str, list[dict[str, Any]]] = {}
    for file in options.records:
        if file.exists():
            known |= dict(json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    todo = _some(cells(grid), options.share)[part::n_parts]
    for records in known.values() if options.done else records_of(todo, options.records, options.logs, known):
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
