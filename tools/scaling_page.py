"""Write the figures of docs/scaling.md: what `benchmarks/engines.py` measured, and what ten billion rows take."""

from __future__ import annotations

import json
from pathlib import Path

from tools.simulate_schedule import RESULTS, read_costs, table

PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
CURVES = RESULTS.parent / "engines_curve.json"
MEASURED, CURVE, SIMULATED = "<!-- measured -->", "<!-- curve -->", "<!-- simulated -->"
ROWS, ACTIONS, COLUMNS, FILES = 10_000_000_000, 100_000, 20, 20_000
WORKERS = [10, 100, 1_000, 10_000]
RUN_BYTES = 64e6  # of rows that are sorted together
HEADING = "\n## "


MEASURED_TEXT = """\
`python benchmarks/engines.py`: {rows:,} rows x {features} columns, k = {actions}, the default learner, processes of one
machine. The policy files {same}.

| | seconds | of `fit_log` | processor seconds | of `fit_log` | driver, MB | largest worker, MB | workers lost |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{lines}

Per row, of the processor: {route:.2f} us to sort a file (statistics included), {subtree:.2f} us for subtrees,
{join:.2f} us for a row that reaches a join. Per task: {task:.0f} ms of the driver, planning included. Of the
rows of a contest {climbs:.0f} % climb on."""

CURVE_TEXT = """\
`PYTHONPATH=. python benchmarks/engines_curve.py`: {rows:,} rows x {features} columns. Every task that trains contests
is really run, on one worker; the processor seconds of each are then scheduled on more workers, by the real task graph.
No driver, network or other program is waited for there, so real runs gain less. The speed-up over one worker, of the
contests alone:

{lines}

A tree comes near its bound, (k - 1) / log2 k, once workers have enough subtrees; a forest gains as its trees are shared
out evenly. Sorting the files, which is a task each, has no such bound."""

SIMULATED_TEXT = """\
`python -m tools.simulate_schedule` runs the real task graph with these costs: {rows:,} rows x {columns} columns,
k = {actions:,}, {files:,} files. The store holds {size:.1f} TB; every byte is written once and read once.

{lines}

Where it bends:

- **The driver** hands tasks out one by one. Where that takes longer than the tasks, more workers do not help:
  use larger files. No more than 4,096 subtrees are made, however many workers there are.
- **The index** of where each action begins in each sorted run has {index:.0f} GB at this k, with runs of 64 MB, and
  every task reads it. Runs must be larger, or actions be grouped, long before that; that is not built.
- **Joins near the root** follow one another: log2 k of them, each with the rows that climbed so far. They are short as
  long as few rows climb.
- **Reading**: a subtree's rows lie in as many stretches as there are runs. Object stores charge requests, not bytes,
  where a stretch has less than some hundred kB.
- **The machines** are taken to be as fast as the one measured, and the store to give every worker what the last column
  says."""


def measured() -> str:
    """Return the section of what was measured."""
    found = json.loads(RESULTS.read_text())
    lines = []
    for way, run in found["runs"].items():
        name = "`fit_log`, one process" if way == "fit_log" else f"{way} worker{'s' * (way != '1')}"
        worker = f"{run['worker_mb']:.0f} | {run['tasks']['lost']}" if "worker_mb" in run else " | "
        times = f"{run['seconds']:.1f} | {run['ratio']:.2f} | {run['processor']:.1f} | {run['processor_ratio']:.2f}"
        lines.append(f"| {name} | {times} | {run['driver_mb']:.0f} | {worker} |")
    costs = found["costs"]
    return MEASURED_TEXT.format(
        rows=found["rows"],
        features=found["features"],
        actions=found["actions"],
        same="are the same" if found["same_file"] else "differ",
        lines="\n".join(lines),
        task=1e3 * costs["driver"],
        climbs=100 * costs["climbs"],
        **{name: 1e6 * costs[name] for name in ("route", "subtree", "join")},
    )


def curve() -> str:
    """Return the section of what more workers gain."""
    found = json.loads(CURVES.read_text())
    lines: list[str] = []
    for kind, name in (("tree", "tree, k = {}"), ("forest", "forest of {} trees, k = " + str(found["forest_actions"]))):
        for size, each in found[kind].items():
            workers = each["speed_up"]
            if not lines:
                lines += [
                    f"| | bound | {' | '.join(f'{n} workers' for n in workers if n != '1')} | tasks |",
                    "| --- | ---: |" + " ---: |" * len(workers),
                ]
            gains = " | ".join(f"{gain:.2f}" for n, gain in workers.items() if n != "1")
            lines.append(f"| {name.format(size)} | {each['bound']:.2f} | {gains} | {each['tasks']} |")
    return CURVE_TEXT.format(rows=found["rows"], features=found["features"], lines="\n".join(lines))


def simulated() -> str:
    """Return the section of what is computed."""
    n_bytes = ROWS * (20 + 4 * COLUMNS)
    return SIMULATED_TEXT.format(
        rows=ROWS,
        columns=COLUMNS,
        actions=ACTIONS,
        files=FILES,
        size=n_bytes / 1e12,
        index=n_bytes / RUN_BYTES * 4 * ACTIONS / 1e9,
        lines="\n".join(table(ROWS, ACTIONS, COLUMNS, FILES, WORKERS, read_costs(RESULTS))),
    )


def page(text: str) -> str:
    """Return the page with its figures made anew."""
    for mark, section in ((MEASURED, measured()), (CURVE, curve()), (SIMULATED, simulated())):
        before, _, after = text.partition(mark)
        _, heading, rest = after.partition(HEADING)
        text = f"{before}{mark}\n\n{section}\n{heading}{rest}"
    return text


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text()))


if __name__ == "__main__":
    main()
