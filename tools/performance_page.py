"""Write docs/performance.md and its plots from the files in benchmarks/results: no figure there is typed by hand.

python tools/performance_page.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
IMAGES = ROOT / "docs" / "images"
NAMES = (
    "native_training",
    "training_overhead",
    "memory",
    "decisions",
    "fresh_process",
    "rivals",
    "online",
    "out_of_core",
    "command_line",
)
Figures = dict[str, Any]

PAGE = """# Performance

This page has the speed and memory of training and decisions, beside other libraries. `make bench` measures our
figures, `make bench-rivals` those of other libraries, and `python tools/performance_page.py` writes this page from
their output in [benchmarks/results](../benchmarks/results). Seconds are processor time of one thread; every ratio is
to another method on the same work in the same run. The machine is shared: single figures vary by half or more between
runs, ratios by a third. One seed each: {machine}.

Problems are generated: {features} features of float32, noisy rewards that are smooth in x and of low rank over the
actions, uniform logging. Values are true mean rewards on new rows. Terms are in the [glossary](glossary.md).

## Training

![Seconds to fit against the number of actions and of rows](images/fit-time.png)

The first two lines are for logs with continuous rewards, as in the next table; the others, with rewards 0 and 1, are
from "Other libraries".

### The native learner

`OffsetTree(HistogramTree(max_depth=6))` against `OffsetTree(DecisionTreeClassifier(max_depth=6))`. Goals: at least 30
times as fast for up to 64 actions and 100,000 rows, 15 times from 1024 actions on, values within 0.01 or better.

    python benchmarks/native_training.py

{native}

{native_rest}

### The generic loop

The overhead of the offset tree over the fits of its learner, {overhead_rows} rows. "Above alone" compares
with the same fits on prepared blocks of rows, as a user calls them. "Above inside" compares with the
learner's time in the same run, without scikit-learn's checks, as the log is checked already. Goals, above the learner
alone: 2 % at k = 64 and 5 % at k = 1024 for trees, 10 % for linear learners.

    python benchmarks/training_overhead.py

{overhead}

If the learner makes only a few passes over its rows, as linear ones do here, each pass of the loop counts: rows are
gathered, weighted, labelled and predicted once each. The omitted checks compensate for it.

### Memory

![Memory above X](images/memory.png)

Peak memory of a process during the fit of {memory_rows} rows, minus the resident memory before. Goals: 0.4 of X for
the native learner, which holds a binned copy of X, one byte per value, 0.25 of X; for the generic loop 30 bytes per
row beside the block of one contest, measured with a learner that keeps nothing. The fitted policy, which grows with k,
is included.

    python benchmarks/memory.py

{memory}

### Larger than memory

`OffsetTree.fit_log` gets the log chunk by chunk, `fit` reads it into arrays first: {out_of_core_columns} columns of
float32, k = {out_of_core_actions}, one worker. Both times include reading the log. Memory is the peak of the process,
including some 200 MB of libraries. Goals: the same decisions on 100,000 new rows, and 20 million rows with logistic
contests within 530 MB. [How to use it](larger-than-memory.md).

    python benchmarks/out_of_core.py

{out_of_core}

## The command line

A CSV file of {command_rows} rows and 30 columns, 20 actions, beside the time that pandas takes to read it. Each
command is a process of its own; seconds are elapsed time, with all cores. `auto` compares candidates on 50,000 rows,
with a budget of {command_budget} seconds, and trains the chosen one on all rows that are not held out.
`offsettree --help` takes {command_help} s (goal: 0.3).

    python benchmarks/command_line.py

{command_line}

## Decisions

![Time of a decision against the number of actions](images/decision-time.png)

Compiled policies against the grouped descent (rows grouped by node, one `predict` of scikit-learn per node) on the same
fitted depth-6 trees. Goals: batches of {decision_rows} rows at least 10 times (k = 8), 20 times (64 and 1024), 100
times (16,384); batches of 1,000 rows 50, 200, 200 and 1,000 times; `decide` with its checks in 3 us.

    python benchmarks/decisions.py

{decisions}

The first decision of a new process with cached machine code, in seconds of processor time after scikit-learn's own
import (goal: a second), and its parts:

    python benchmarks/fresh_process.py

{fresh}

Thousands of scikit-learn's trees are as many Python objects to read and flatten; contests of the native learner are a
few long arrays. The rest is numba's import and loading the machine code, for any policy.

## Other libraries

All have the same log, with rewards 0 and 1, as contextualbandits requires, and one thread. Values are shown beside the
times, as speed without value does not count. Vowpal Wabbit reads its log from a file and decides on text, as it is
meant to be used; its times include both.

    make bench-rivals

{rivals}

{rival_findings}

## Online

![Rows a second, learning and deciding, against the number of actions](images/online.png)

`OnlineOffsetTree` and `OnlineRewardRegression` beside Vowpal Wabbit's contextual bandits, on {online_rows} rows in the
same order, each learned from once: dense with 50 features, or text-like (80 non-zeros of 50,000 features).

- Ours learn by one call of `partial_fit` and decide by one of `predict`, checks included.
- Vowpal Wabbit reads a text file, parsing included, and its cache; the ratios use the faster of the two. Its costs are
  0.5 - reward. `--cats_tree` is its method nearest to the paper. It has 18 bits of weights, the default, and for texts
  also 22, for fewer hash collisions.
- Rates are by processor time of all threads of a process pinned to one core, the best of a few runs. Ratios within a
  third of a goal are not conclusive, as other work on the machine changes either side by as much.

    python benchmarks/online.py

{online}

A star marks rates timed on the first 2,000 rows only; all values are of all rows. The columns "learn" and "decide" are
for one row per call, with an array or, for texts, a CSR matrix of one row (goal: 5 us). The goals are for the tree;
the regression evaluates k models for each decision, and is listed for its values.

{online_findings}
"""


def main() -> None:
    """Write the page and its plots."""
    figures = load(RESULTS)
    draw(figures, IMAGES)
    (ROOT / "docs" / "performance.md").write_text(page(figures), encoding="utf-8")


def load(folder: Path) -> dict[str, Figures]:
    """Read what the benchmarks have written."""
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in NAMES}


def page(figures: dict[str, Figures]) -> str:
    """Fill the page in."""
    native, overhead, memory, decisions, fresh, rivals, online, out_of_core, command = (figures[name] for name in NAMES)
    return PAGE.format(
        machine=machine(figures),
        features=native["features"],
        native=native_table(native["compared"]),
        native_rest=native_rest(native),
        overhead_rows=f"{overhead['rows']:,}",
        overhead=overhead_table(overhead["times"]),
        memory_rows=f"{memory['rows']:,}",
        memory=memory_table(memory["figures"]),
        out_of_core_columns=out_of_core["features"],
        out_of_core_actions=out_of_core["n_actions"],
        out_of_core=out_of_core_table(out_of_core["figures"]),
        command_rows=f"{command['rows']:,}",
        command_budget=f"{command['time_budget']:g}",
        command_help=f"{command['help_seconds']:.2f}",
        command_line=command_table(command["records"]),
        decision_rows=f"{decisions['rows']:,}",
        decisions=decision_table(decisions["figures"]),
        fresh=fresh_table(fresh["figures"]),
        rivals=rival_table(rivals["figures"]),
        rival_findings=rival_findings(rivals["figures"]),
        online_rows=f"{online['rows']:,}",
        online=online_table(online["figures"]),
        online_findings=online_findings(online["figures"]),
    )


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Draw a table of text."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def machine(figures: dict[str, Figures]) -> str:
    """Say where the figures come from."""
    facts = figures["decisions"]["machine"]
    loads = [figures[name]["machine"]["load"][0] for name in NAMES]
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"{facts['processor']}, {facts['cores']} cores, with a load of {min(loads)} to {max(loads)} when runs "
        f"ended;\n{versions}"
    )


def native_table(records: list[Figures]) -> str:
    """Compare the native learner with scikit-learn's."""
    head = (
        "rows",
        "k",
        "native, s",
        "scikit-learn, s",
        "times",
        "value, native",
        "value, scikit-learn",
        "best possible",
    )
    return table(
        head,
        (
            (
                f"{r['n_rows']:,}",
                f"{r['n_actions']:,}",
                f"{r['native_seconds']:.3f}",
                f"{r['sklearn_seconds']:.2f}",
                f"{r['times']:.0f}",
                f"{r['native_value']:.3f}",
                f"{r['sklearn_value']:.3f}",
                f"{r['best_value']:.3f}",
            )
            for r in records
        ),
    )


def native_rest(native: Figures) -> str:
    """Tell of the forest, of the largest log, and of compiling."""
    forest, large = native["forest"], native["large"]
    single = next(
        r for r in native["compared"] if (r["n_rows"], r["n_actions"]) == (forest["n_rows"], forest["n_actions"])
    )
    worst = min(r["native_value"] - r["sklearn_value"] for r in native["compared"])
    return (
        f"The largest loss of value is {max(0.0, -worst):.4f}. A forest of {forest['n_trees']} offset trees "
        f"(`OffsetForest`) on {forest['n_rows']:,} rows at\nk = {forest['n_actions']} takes {forest['seconds']:.1f} s, "
        f"{forest['seconds'] / single['sklearn_seconds']:.1f} times as long as one offset tree of scikit-learn's, "
        f"and is worth {forest['value']:.3f}\nagainst {single['sklearn_value']:.3f}. {large['n_rows']:,} rows at "
        f"k = {large['n_actions']:,} take {large['seconds']:.1f} s. The first fit on a machine compiles the kernels, "
        f"{native['compile_seconds']:.0f} s,\nand keeps them on disk."
    )


def overhead_table(records: list[Figures]) -> str:
    """Tell the loop's own share."""
    return table(
        (
            "learner",
            "k",
            "rows trained on",
            "fit, s",
            "inside the learner, s",
            "the learner alone, s",
            "above inside",
            "above alone",
        ),
        (
            (
                r["learner"],
                f"{r['n_actions']:,}",
                f"{r['rows']:.2f}n",
                f"{r['seconds']:.2f}",
                f"{r['inside']:.2f}",
                f"{r['alone']:.2f}",
                f"{100 * (r['seconds'] / r['inside'] - 1):.1f} %",
                f"{100 * (r['seconds'] / r['alone'] - 1):.1f} %",
            )
            for r in records
        ),
    )


def memory_table(records: list[Figures]) -> str:
    """Tell the memory of a fit."""
    return table(
        ("learner", "k", "peak above X, MB", "as a share of X", "bytes a row beside one contest's block"),
        (
            (
                r["learner"],
                f"{r['n_actions']:,}",
                f"{r['peak_bytes'] / 1e6:.0f}",
                f"{r['peak_over_X']:.2f}",
                f"{r['bytes_per_row_beside_block']:.0f}" if r["learner"] == "generic loop" else "",
            )
            for r in records
        ),
    )


def command_table(records: list[Figures]) -> str:
    """Set commands beside the reading of their file by pandas."""
    head = ("command", "s", "rows a second", "times reading by pandas", "what it said")
    return table(
        head,
        (
            (
                f"`{record['command']}`",
                f"{record['seconds']:.1f}",
                f"{record['rows_per_second']:,.0f}",
                f"{record['times_reading']:.1f}",
                record.get("verdict", ""),
            )
            for record in records
        ),
    )


def out_of_core_table(records: list[Figures]) -> str:
    """Set learning from chunks beside learning from arrays."""
    head = ("rows", "contests", "way", "s", "rows a second", "most memory, MB", "decisions equal")
    return table(
        head,
        (
            (
                f"{record['rows']:,}",
                record["learner"],
                f"`{record['way']}`",
                f"{record['seconds']:.1f}",
                f"{record['rows'] / record['seconds']:,.0f}",
                f"{record['peak_bytes'] / 1e6:,.0f}",
                f"{100 * record['share_equal']:g} %" if "share_equal" in record else "",
            )
            for record in records
        ),
    )


def decision_table(records: list[Figures]) -> str:
    """Compare compiled policies with their own classifiers."""
    head = (
        "contests",
        "k",
        "million rows/s",
        "times the grouped descent",
        "1,000 rows, us",
        "times the grouped descent",
        "decide(array), us",
        "decide(list), us",
        "row loop, us",
    )
    return table(
        head,
        (
            (
                r["learner"],
                f"{r['n_actions']:,.0f}",
                f"{r['batch_rows_per_second'] / 1e6:.1f}",
                f"{r['batch_over_grouped']:.0f}",
                f"{1e6 * r['few_seconds']:.0f}",
                f"{r['few_over_grouped']:.0f}",
                f"{1e6 * r['decide_seconds']:.1f}",
                f"{1e6 * r['decide_list_seconds']:.1f}",
                f"{1e6 * r['row_loop_seconds']:,.0f}",
            )
            for r in records
        ),
    )


def fresh_table(records: list[Figures]) -> str:
    """Tell how long a new process takes."""
    return table(
        ("contests", "k", "all", "loading our code and numba", "reading the pickle", "first decision", "by the clock"),
        (
            (
                r["policy"],
                f"{r['n_actions']:,}",
                *(f"{r[part]:.2f}" for part in ("seconds", "load", "read", "decide", "by_clock")),
            )
            for r in records
        ),
    )


def rival_table(records: list[Figures]) -> str:
    """Compare libraries."""
    return table(
        ("policy", "rows", "k", "fit, s", "us a decision", "value", "best possible"),
        (
            (
                with_version(r),
                f"{r['n_rows']:,}",
                f"{r['n_actions']:,}",
                f"{r['seconds']:.2f}",
                f"{1e6 * r['row_seconds']:,.3g}" if r["row_seconds"] < 1e-4 else f"{1e6 * r['row_seconds']:,.0f}",
                f"{r['value']:.3f}",
                f"{r['best_value']:.3f}",
            )
            for r in records
        ),
    )


def with_version(record: Figures) -> str:
    """Name a policy, with the version of another library."""
    return f"{record['policy']} ({record['version']})" if "version" in record else str(record["policy"])


def rival_findings(records: list[Figures]) -> str:
    """Say what the table shows, whatever it shows."""
    logs = list(dict.fromkeys((r["n_rows"], r["n_actions"]) for r in records))
    by_log = {log: {r["policy"]: r for r in records if (r["n_rows"], r["n_actions"]) == log} for log in logs}
    lines = []
    for (n_rows, k), found in by_log.items():
        first = max(found, key=lambda name: found[name]["value"])
        lines.append(f"- {n_rows:,} rows, k = {k:,}: the best value is that of {first} ({found[first]['value']:.3f}).")
    theirs, plain = "contextualbandits, depth-6 trees", "OffsetTree, depth-6 trees"
    both = [found for found in by_log.values() if theirs in found and plain in found]
    wins = sum(found[theirs]["value"] > found[plain]["value"] for found in both)
    lines.append(
        f"- contextualbandits' OffsetTree is better than ours over the same depth-6 trees on {wins} of {len(both)} "
        "logs. It has no path filter:\n  every row climbs to the root, so that a node asks which side is better on "
        "average, a biased question put to many more\n  rows. Where nodes starve, as here, the noise that goes "
        "outweighs the bias that comes; on labelled data it loses up to two\n  thirds of the value. See "
        "[path-filter.md](path-filter.md). `OffsetForest` keeps the filter and averages the noise away."
    )
    linear = ("OffsetTree, logistic", "Vowpal Wabbit --ot", "Vowpal Wabbit --cb_type dr")
    trees = [{name: r for name, r in found.items() if name not in linear} for found in by_log.values()]
    ahead = sum(max(found, key=lambda name: found[name]["value"]).startswith("OffsetForest") for found in trees)
    lines.append(
        "- Rewards are nearly linear in x here, which suits linear contests, ours and Vowpal Wabbit's. Of the policies "
        f"of trees the\n  forest is the best on {ahead} of {len(trees)} logs."
    )
    return "\n".join(lines)


def online_table(records: list[Figures]) -> str:
    """Compare online learners."""
    head = (
        "rows",
        "learner",
        "training, thousand rows/s: text",
        "cache or arrays",
        "prediction: text",
        "cache or arrays",
        "learn, us",
        "decide, us",
        "value",
        "best possible",
    )
    return table(
        head,
        (
            (
                problem_name(r),
                with_version({**r, "policy": r["learner"]}) + ("*" if r.get("timed_rows") else ""),
                *(thousands(r, verb) for verb in ("", "predict_")),
                *(f"{1e6 * r[verb]:.1f}" if verb in r else "" for verb in ("learn_seconds", "decide_seconds")),
                f"{r['value']:.3f}",
                f"{r['best_value']:.3f}",
            )
            for r in records
        ),
    )


def thousands(record: Figures, verb: str) -> str:
    """Fill two cells: from text, and from what needs no parsing."""
    fields = [f"{verb}{way}rows_per_second" for way in ("text_", "cache_", "")]
    text, arrays = fields[0], fields[1] if fields[1] in record else fields[2]
    return " | ".join(
        f"{record[field] / 1e3:,.{0 if record[field] >= 1e5 else 1}f}" if field in record else ""
        for field in (text, arrays)
    )


def problem_name(record: Figures) -> str:
    """Name a problem of the online benchmark."""
    return f"{record['problem'].split('-')[0]}, k = {record['n_actions']:,}"


def fastest(record: Figures, verb: str) -> float:
    """Return rows a second, of a rival the faster of text and cache."""
    return max(float(record.get(f"{verb}{way}rows_per_second", 0)) for way in ("", "text_", "cache_"))


def online_findings(records: list[Figures]) -> str:
    """Say for each problem by how much the default is ahead or behind, and of which goals it falls short."""
    lines = []
    for problem in dict.fromkeys(r["problem"] for r in records):
        found = {r["learner"]: r for r in records if r["problem"] == problem}
        mine = found["OnlineOffsetTree, hinge"]
        rivals = {name.removeprefix("Vowpal Wabbit "): r for name, r in found.items() if "version" in r}
        if not rivals:
            continue
        parts = [
            f"{word} {goal_met(mine, rivals, verb, goal)}"
            for word, verb, goal in (
                ("training", "", 5 if problem.startswith("text") else 20),
                ("prediction", "predict_", 10 if problem.startswith("text") else 20),
            )
        ]
        if mine["n_actions"] == 1024:
            parts += [
                f"training {goal_met(mine, {name: rivals[name]}, '', goal)}"
                for name, goal in (("--cats_tree", 50), ("--cb_type mtr", 1000))
                if name in rivals
            ]
        values = ", ".join(f"{mine['value'] - r['value']:+.3f} against `{name}`" for name, r in rivals.items())
        ratios = ";\n  ".join(parts)
        lines.append(f"- {problem_name(mine)}: {ratios}.\n  Value {mine['value']:.3f}: {values}.")
        if "OnlineRewardRegression" in found:
            lines.append(regression_finding(found["OnlineRewardRegression"], rivals))
    return "\n".join(lines)


def regression_finding(mine: Figures, rivals: dict[str, Figures]) -> str:
    """Compare with the rival of the highest value."""
    name = max(rivals, key=lambda rival: rivals[rival]["value"])
    learning, deciding = (fastest(mine, verb) / fastest(rivals[name], verb) for verb in ("", "predict_"))
    ahead = mine["value"] - rivals[name]["value"]
    return (
        f"  `OnlineRewardRegression` has {mine['value']:.3f}, {ahead:+.3f} against the best of them, `{name}`;\n"
        f"  training {learning:,.0f} times, prediction {deciding:,.0f} times as fast as that."
    )


def goal_met(mine: Figures, rivals: dict[str, Figures], verb: str, goal: int) -> str:
    """Compare with the fastest of some rivals, and with a goal."""
    name = max(rivals, key=lambda rival: fastest(rivals[rival], verb))
    times = fastest(mine, verb) / fastest(rivals[name], verb)
    return f"{times:,.1f} times `{name}` (goal: {goal:,}, {'met' if times >= goal else 'missed'})"


def draw(figures: dict[str, Figures], folder: Path) -> None:
    """Draw all plots."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    plots: dict[str, tuple[int, Callable[..., None]]] = {
        "fit-time": (2, draw_fit_time),
        "decision-time": (1, draw_decision_time),
        "memory": (1, draw_memory),
        "online": (2, draw_online),
    }
    for name, (n_panels, plot) in plots.items():
        figure = Figure(figsize=(5.2 * n_panels + (2.2 if n_panels == 1 else 0), 4.2), layout="constrained")
        plot(figure, figures)
        figure.savefig(folder / f"{name}.png", dpi=90, metadata={"Software": None})


STYLES = {
    "OffsetTree, native depth-6 trees": ("C0", "o-"),
    "OffsetTree, scikit-learn's depth-6 trees": ("C1", "s-"),
    "OffsetForest, 50 trees": ("C2", "D-"),
    "contextualbandits, depth-6 trees": ("C3", "^--"),
    "Vowpal Wabbit --ot": ("C4", "v--"),
    "Vowpal Wabbit --cb_type dr": ("C5", "x--"),
}


def draw_fit_time(figure: Any, figures: dict[str, Figures]) -> None:
    """Draw seconds to fit against k and against n."""
    native, rivals = figures["native_training"]["compared"], figures["rivals"]["figures"]
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, along, fixed, value in ((left, "n_actions", "n_rows", 100_000), (right, "n_rows", "n_actions", 64)):
        for name, (color, style) in STYLES.items():
            field = {"OffsetTree, native": "native_seconds", "OffsetTree, scikit": "sklearn_seconds"}.get(name[:18])
            source = native if field else [r for r in rivals if r["policy"] == name]
            points = sorted((r[along], r[field or "seconds"]) for r in source if r[fixed] == value)
            if points:
                axes.plot(*zip(*points, strict=True), style, color=color, label=name, markersize=5)
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3)
    left.set(xlabel="actions (100,000 rows)", ylabel="seconds of one core to fit")
    right.set(xlabel="rows (64 actions)")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)


def draw_decision_time(figure: Any, figures: dict[str, Figures]) -> None:
    """Draw microseconds of a decision against k."""
    trees = [r for r in figures["decisions"]["figures"] if r["learner"] == "depth-6 tree"]
    k = [r["n_actions"] for r in trees]
    axes = figure.subplots()
    lines = {
        "ours, batch of 200,000": ("C0", "o-", [1e6 / r["batch_rows_per_second"] for r in trees]),
        "ours, batch of 1,000": ("C0", "o:", [1e3 * r["few_seconds"] for r in trees]),
        "ours, decide(x), one row": ("C2", "D-", [1e6 * r["decide_seconds"] for r in trees]),
        "grouped predict of scikit-learn,\nbatch of 200,000": (
            "C1", "s-", [1e6 * r["batch_over_grouped"] / r["batch_rows_per_second"] for r in trees],
        ),
        "grouped predict, batch of 1,000": (
            "C1", "s:", [1e3 * r["few_over_grouped"] * r["few_seconds"] for r in trees],
        ),
        "loop over scikit-learn's predict": ("C5", "x-", [1e6 * r["row_loop_seconds"] for r in trees]),
    }  # fmt: skip
    for name, (color, style, values) in lines.items():
        axes.plot(k, values, style, color=color, label=name, markersize=5)
    for name in ("contextualbandits, depth-6 trees", "Vowpal Wabbit --ot"):
        points = sorted(
            (r["n_actions"], 1e6 * r["row_seconds"])
            for r in figures["rivals"]["figures"]
            if r["policy"] == name and r["n_rows"] == 100_000
        )
        if points:
            color, style = STYLES[name]
            axes.plot(*zip(*points, strict=True), style, color=color, label=name, markersize=5)
    axes.set(xscale="log", yscale="log", xlabel="actions", ylabel="microseconds of one core per decision")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=8)


def draw_memory(figure: Any, figures: dict[str, Figures]) -> None:
    """Draw the memory of a fit against k."""
    axes = figure.subplots()
    for learner, style in (("native", "o-"), ("generic loop", "s-")):
        records = [r for r in figures["memory"]["figures"] if r["learner"] == learner]
        axes.plot([r["n_actions"] for r in records], [r["peak_over_X"] for r in records], style, label=learner)
    axes.axhline(0.4, color="C0", linestyle=":", linewidth=1, label="goal of the native learner")
    axes.set(xscale="log", ylim=(0, None), xlabel="actions", ylabel="peak memory above X, as a share of X")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=8)


ONLINE_STYLES = {
    "OnlineOffsetTree, hinge": ("C0", "o-"),
    "OnlineOffsetTree, logistic": ("C2", "D-"),
    "OnlineOffsetTree, perceptron": ("C1", "s-"),
    "OnlineRewardRegression": ("C6", "P-"),
    "Vowpal Wabbit --cats_tree": ("C4", "v--"),
    "Vowpal Wabbit --cb_type mtr": ("C5", "x--"),
    "Vowpal Wabbit --cb_type ips": ("C3", "^--"),
}


def draw_online(figure: Any, figures: dict[str, Figures]) -> None:
    """Draw rows a second against k, learning and deciding; Vowpal Wabbit's by the faster of text and cache."""
    dense = [r for r in figures["online"]["figures"] if r["problem"].startswith("dense")]
    panels = figure.subplots(1, 2, sharey=True)
    for axes, verb, title in zip(panels, ("", "predict_"), ("training", "prediction"), strict=True):
        for name, (color, style) in ONLINE_STYLES.items():
            points = sorted((r["n_actions"], fastest(r, verb)) for r in dense if r["learner"] == name)
            if points:
                axes.plot(*zip(*points, strict=True), style, color=color, label=name, markersize=5)
        axes.set(xscale="log", yscale="log", xlabel=f"actions ({title})")
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="dense rows a second, one core")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)


if __name__ == "__main__":
    main()
