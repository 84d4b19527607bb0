"""Write docs/offsets.md and its figure from the records in docs/results and benchmarks/results.

python tools/offsets_page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from offsettree import ActionTree
from offsettree.experiments import report, table1
from offsettree.reductions._median_given_x import LEAF_ROWS, MAX_DEPTH
from offsettree.theory import label_factor

ROOT = Path(__file__).parent.parent
PAGE, FIGURE = ROOT / "docs" / "offsets.md", ROOT / "docs" / "results" / "offsets"
CHOICE = ROOT / "benchmarks" / "results" / "offset_choice.json"
READINGS = {
    "1/2": table1.LETTER,
    "mean": "offset mean",
    "median_given_x": "offset median given x",
    "0": "offset 0",
}
COLOURS, DASHES = ("#d55e00", "#0072b2", "#009e73"), ("-", (0, (5, 1.5)), (0, (1, 1)))

TEXT = """# Which offset to take

This page says which offset to take, and shows how much that matters. An offset tree compares every reward with an
offset: a reward of at least the offset is a vote for the action, a lower one a vote against it, and the distance to
the offset is the weight of the vote. The paper's algorithm has the offset 1/2. Its note after Theorem 4.1 says that
another one may be better: *the offset minimizing the regret bound turns out to be the median value of the reward given
x*. Terms are in the [glossary](glossary.md).

## Advice

| rewards | take | because |
|---|---|---|
| spread over the range, alike in all contexts | `offset=0.5`, `"mean"` or `"median"` | all are near the middle |
| rare or skewed: clicks, orders, right or wrong | `offset="mean"` | 1/2 drowns the few rewards in votes against |
| high in some contexts, low in others, whatever is done | `offset="median_given_x"` | no one number fits all contexts |
| you have a model of the reward given x | `offset=regressor` | as above; it predicts means; not measured here |

**Mean or median?** Where most rows earn nothing the median is 0, and only rows that earned something are learned from.
Neither is always better. On labels, right or wrong, the median is ahead with logistic contests, with a share of
{labels_median:.2f} of the best against {labels_mean:.2f}. There the mean is ahead with J48, with an error of
{error_mean:.3f} against {error_zero:.3f}. On rare rewards they are level. We advise the mean because it uses every
row. Both are worth a try on a log of your own: [how to tune a policy](how-to.md). All figures are
[below](#what-is-measured).

`OffsetTree` has the paper's 1/2 as its default, `OffsetForest` and the command line (`--offset`) the mean. `fit`
warns where nearly all rewards are on one side of the offset. With a `reward_model` the offset has no part in what is
learned.

"median_given_x" is the median reward of rows with similar contexts, as if actions had been drawn evenly: rows weigh 1
/ propensity. A regression tree finds rows that are similar. It is cross-fitted in five folds, so that no reward has a
say in the offset that it is compared with. The tree has a depth of at most {depth} and at least {leaf} rows in a leaf.
So a fold with fewer than {leaf_pair} training rows has one leaf, and its offset is the plain median. "median_given_x"
needs the whole log at once: not for `partial_fit` and `fit_log`.

```python
>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> from offsettree import OffsetTree, simulate_log
>>> random = np.random.RandomState(0)
>>> X = random.normal(size=(3000, 3))
>>> level = np.where(X[:, 2] > 0, 0.9, 0.1)[:, np.newaxis]  # some customers buy anyway
>>> means = level + 0.05 * np.sign(X[:, :1]) * np.array([1, -1, 0])
>>> log = simulate_log(X, means, random_state=0)
>>> def right(offset):
...     policy = OffsetTree(LogisticRegression(), offset=offset).fit(**log.arrays())
...     return round(float((policy.predict(X) == means.argmax(axis=1)).mean()), 1)
>>> right("mean"), right("median_given_x")
({example_mean}, {example_median})

```

## What the theorem says

Theorem 4.1 bounds the regret of the policy by the regret of its classifiers times a factor: the expected sum, over
all contests, of the distances of both rewards from the offset. Where one of k actions earns 1 and all others 0, as in
the paper's experiments, and classifiers are right, that factor is

```python
>>> from offsettree import ActionTree, theory
>>> for k in (10, 26):
...     tree = ActionTree.balanced(k)
...     print(k, [round(theory.label_factor(tree, offset), 1) for offset in (1 / 2, 1 / k, 0)])
10 [9.0, 4.5, 3.4]
26 [25.0, 6.3, 4.8]

```

for the offsets 1/2, 1/k (the mean reward) and 0. The median reward given x is 0 here, and 0 has the smallest factor:
about log2 k instead of k - 1. So 1/2 is the poor choice on the paper's own data, as its note says.

![The factor of Theorem 4.1, and errors in Table 1, by offset](results/offsets.png)

## What is measured

In Table 1, with one J48 per contest and the weights given to it (mean test error over 13 datasets and ten splits, ±
its standard error; [experiments.md](experiments.md) has the other readings). The first row is a column of the table,
which the first command runs; the second runs the others:

    offsettree reproduce table1 --learners weka --out docs/results
    offsettree reproduce table1 --learners weka --readings --out docs/results

| offset | error |
|---|---|
{table1}

1/2 is the worst of all, as the factors say. The mean is ahead of the median, at which the rows that earned nothing
are left out: the factor is a bound for any classifier, and does not know how many rows a learner sees.

On generated problems with eight actions, uniform logging and logistic contests, as shares of the way from random
decisions (0) to the best ones (1). Each figure is the mean of {problems} problems ± its standard error. Decisions are
taken in 10,000 new contexts, not those of the log, and valued by their true mean rewards:

    python benchmarks/offset_choice.py

| rewards | {offsets} |
|---|{rules}
{choice}

Where rewards are spread over the range, all offsets near the middle are level. Where they are rare, all near 0 are.
Where they are high or low by context, the median given x is far ahead.
"""


def example() -> tuple[float, float]:
    """Run the example of the page, to print what it prints."""
    from sklearn.linear_model import LogisticRegression

    from offsettree import OffsetTree, simulate_log

    random = np.random.RandomState(0)
    X = random.normal(size=(3000, 3))
    level = np.where(X[:, 2] > 0, 0.9, 0.1)[:, np.newaxis]
    means = level + 0.05 * np.sign(X[:, :1]) * np.array([1, -1, 0])
    log = simulate_log(X, means, random_state=0)

    def right(offset: str) -> float:
        policy = OffsetTree(LogisticRegression(), offset=offset).fit(**log.arrays())
        return round(float((policy.predict(X) == means.argmax(axis=1)).mean()), 1)

    return right("mean"), right("median_given_x")


def errors() -> dict[str, tuple[float, float]]:
    """Return the mean error of each offset in Table 1, over datasets, and its standard error over splits."""
    cells = report.errors_by_split(table1.open_records(ROOT / "docs" / "results", "weka"))
    found = {}
    for offset, reading in READINGS.items():
        by_split = np.mean([values for (_, method), values in cells.items() if method == reading], axis=0)
        found[offset] = float(by_split.mean()), float(by_split.std(ddof=1) / np.sqrt(len(by_split)))
    return found


def page() -> str:
    """Return the page."""
    choice: dict[str, dict[str, Any]] = {}
    measured = json.loads(CHOICE.read_text())
    for row in measured["shares"]:
        choice.setdefault(row["rewards"], {})[row["offset"]] = row
    offsets = list(next(iter(choice.values())))
    lines = []
    for rewards, by_offset in choice.items():
        best = max(round(row["share"], 2) for row in by_offset.values())
        cells = [f"{row['share']:.2f} ± {row['error']:.2f}" for row in by_offset.values()]
        marked = [f"**{cell}**" if cell.startswith(f"{best:.2f}") else cell for cell in cells]
        lines.append(f"| {rewards} | " + " | ".join(marked) + " |")
    example_mean, example_median = example()
    by_reading, labels = errors(), choice["labels"]
    return TEXT.format(
        labels_mean=labels["mean"]["share"],
        labels_median=labels["median"]["share"],
        error_mean=by_reading["mean"][0],
        error_zero=by_reading["0"][0],
        depth=MAX_DEPTH,
        leaf=LEAF_ROWS,
        leaf_pair=2 * LEAF_ROWS,
        problems=measured["problems"],
        example_mean=example_mean,
        example_median=example_median,
        table1="\n".join(f"| {name} | {mean:.4f} ± {error:.4f} |" for name, (mean, error) in by_reading.items()),
        offsets=" | ".join(offsets),
        rules="---|" * len(offsets),
        choice="\n".join(lines),
    )


def draw() -> None:
    """Draw the factors over k, and the errors by offset."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = np.unique(np.geomspace(2, 64, 24).round().astype(int))
    offsets = {
        "offset 1/2": np.full(len(sizes), 0.5),
        "offset 1/k, the mean": 1 / sizes,
        "offset 0, the median": np.zeros(len(sizes)),
    }
    for (name, offset), colour, dash in zip(offsets.items(), COLOURS, DASHES, strict=True):
        pairs = zip(sizes.tolist(), offset.tolist(), strict=True)
        factor = [label_factor(ActionTree.balanced(k), own) for k, own in pairs]
        left.plot(sizes, factor, color=colour, linestyle=dash, linewidth=2, label=name)
    left.set(xscale="log", yscale="log", xlabel="actions k", ylabel="factor between regrets")
    left.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    left.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    left.minorticks_off()
    left.set_title("Theorem 4.1 on labels, right classifiers")
    left.legend(frameon=False)
    measured = errors()
    means, deviations = np.array(list(measured.values())).T
    right.barh(list(measured), means, xerr=deviations, color="#0072b2", alpha=0.8, height=0.6, capsize=4)
    for place, mean in enumerate(means):
        right.annotate(f"{mean:.3f}", (mean, place), xytext=(10, 0), textcoords="offset points", va="center")
    right.invert_yaxis()
    right.set(xlim=(0, 0.5), xlabel="mean test error", ylabel="offset")
    right.set_title("Table 1, one J48 per contest")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    # Deterministic files, so that committed ones change only with the results.
    with mpl.rc_context({"svg.hashsalt": "offsettree"}):
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            figure.savefig(FIGURE.with_suffix(f".{suffix}"), dpi=150, metadata=metadata, bbox_inches="tight")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    draw()
