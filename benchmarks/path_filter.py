"""Who should decide which rows climb the tree? True values of policies, rows per node and cost, by path filter.

In sample (Algorithm 2), out of fold, softly (a row keeps a part of its weight for each contest it lost) and not at all.
Labelled data of up to 3,000 rows (reward 1 for the right label, else 0) and generated problems of 12,000 with noisy
rewards; uniform logging, two thirds to learn from, true mean reward on the rest. Each cell is value (rows trained on,
as a multiple of the log's); the last lines give the mean over all problems, and time as a multiple of in-sample's.

    python benchmarks/path_filter.py [--seeds 3] [--problems digits ...] [--learners logistic ...]
        [--filters "in sample" ...] [--offsets 0.5 mean] [--n-jobs 2] [--json FILE]
    python benchmarks/path_filter.py --at-the-root [...]

The second form prints, in place of values, which share of the rows whose reward is above the offset comes to the root,
and which of those below it: a filter that only asks which action is best given x treats them alike where rewards are
nothing but noise.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _problems import write_figures
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from offsettree import OffsetTree, datasets, simulate_log
from offsettree.reductions import _contests, _nodes

Problem = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]  # X, mean rewards, drawn rewards
MOST_ROWS = 3000


def labelled(name: str, seed: int) -> Problem:
    """Make rewards of the labels of a dataset."""
    if name == "digits":
        X, label = load_digits(return_X_y=True)
    else:
        dataset = datasets.load(name)
        X, label = np.asarray(dataset.X, dtype=np.float64), dataset.y
    chosen = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    rewards = (label[chosen, np.newaxis] == np.unique(label)).astype(float)
    return X[chosen], rewards, rewards


def generated(n_actions: int, seed: int, n_rows: int = 12_000) -> Problem:
    """Draw contexts with 20 features and rewards that are smooth in them, of low rank over the actions."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 20))
    mood = np.tanh(2 * X @ random.standard_normal((20, 8)) / np.sqrt(20))
    mean = 1 / (1 + np.exp(-2 * mood @ random.standard_normal((8, n_actions)) / np.sqrt(8)))
    return X, mean, np.clip(mean + 0.15 * random.standard_normal(mean.shape), 0, 1)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    **{name: partial(labelled, name) for name in ("vehicle", "digits", "pendigits", "letter")},
    "generated, k = 64": partial(generated, 64),
    "generated, k = 512": partial(generated, 512),
    "k = 64, ten times the rows": partial(generated, 64, n_rows=120_000),
}
LEARNERS: dict[str, Any] = {
    "depth-6 tree": DecisionTreeClassifier(max_depth=6),
    "unpruned tree": DecisionTreeClassifier(),
    "random forest": RandomForestClassifier(10),
    "forest of 100": RandomForestClassifier(100),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
}
FILTERS: dict[str, tuple[Any, int]] = {  # the parameter, and the number of folds where there are any
    "in sample": ("in_sample", 0),
    "2 folds": ("out_of_fold", 2),
    "3 folds": ("out_of_fold", 3),
    "5 folds": ("out_of_fold", 5),
    "soft, 0.1": (0.1, 0),
    "no filter": (1.0, 0),
}
OFFSETS: dict[str, Any] = {"0.5": 0.5, "mean": "mean"}
MAIN_PROBLEMS = list(PROBLEMS)[:-1]
MAIN_FILTERS = ["in sample", "3 folds", "soft, 0.1", "no filter"]
MAIN_LEARNERS = ["depth-6 tree", "unpruned tree", "random forest", "logistic"]


def run(problem: str, learner: str, offset: str, name: str, seed: int) -> dict[str, Any]:
    """Learn from one simulated log; return the policy's true value, how many rows trained it, and its time."""
    X, mean, drawn = PROBLEMS[problem](seed)
    train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, random_state=seed)
    log = simulate_log(X[train], drawn[train], random_state=seed)
    path_filter, _nodes.N_FOLDS = FILTERS[name]
    policy = OffsetTree(
        LEARNERS[learner],
        offset=OFFSETS[offset],
        path_filter=path_filter,
        actions=np.arange(mean.shape[1]),
        random_state=seed,
    )
    started = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rewards mostly on one side, of actions never logged, of slow convergence
        policy.fit(**log.arrays())
    return {
        "problem": problem,
        "learner": learner,
        "offset": offset,
        "filter": name,
        "seed": seed,
        "value": float(mean[test, policy.predict(X[test])].mean()),
        "rows": float(policy.node_rows_.sum() / len(train)),
        "seconds": time.thread_time() - started,
    }


def at_the_root(problem: str, learner: str, offset: str, name: str, seed: int) -> tuple[float, float]:
    """Return the shares of good and of bad rows that climb to the root."""
    heard: list[NDArray[np.intp]] = []
    train_contest = _contests.Trainer.train

    def listen(self: _contests.Trainer, contest: Any) -> Any:
        if contest.node == 0:
            heard.append(self.votes.for_own_side[contest.rows])
            totals = np.bincount(self.votes.for_own_side[self.votes.weight > 0], minlength=2)
            heard.append(totals)
        return train_contest(self, contest)

    _contests.Trainer.train = listen  # type: ignore[method-assign]
    try:
        run(problem, learner, offset, name, seed)
    finally:
        _contests.Trainer.train = train_contest  # type: ignore[method-assign]
    bad, good = np.bincount(heard[0], minlength=2) / heard[1]
    return float(good), float(bad)


def root_table(options: argparse.Namespace) -> str:
    """Lay out the shares of good and bad rows at the root."""
    lines = ["| problem | learner | offset | " + " | ".join(options.filters) + " |"]
    lines.append("| --- " * (3 + len(options.filters)) + "|")
    for problem in options.problems:
        for learner in options.learners:
            for offset in options.offsets:
                cells = []
                for name in options.filters:
                    shares = [at_the_root(problem, learner, offset, name, seed) for seed in range(options.seeds)]
                    good, bad = np.mean(shares, axis=0)
                    cells.append(f"{100 * good:.0f} % of good, {100 * bad:.0f} % of bad")
                lines.append(f"| {problem} | {learner} | {offset} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table(records: list[dict[str, Any]]) -> str:
    """Lay out the means over seeds: a line per problem, learner and offset, a column per filter."""
    names = [name for name in FILTERS if any(record["filter"] == name for record in records)]
    cells: dict[tuple[str, ...], dict[str, NDArray[np.float64]]] = {}
    for record in records:
        line = cells.setdefault((record["problem"], record["learner"], record["offset"]), {})
        figures = np.array([[record["value"], record["rows"], record["seconds"]]])
        line[record["filter"]] = np.vstack([line.get(record["filter"], np.empty((0, 3))), figures])
    means = {key: {name: figures.mean(axis=0) for name, figures in line.items()} for key, line in cells.items()}
    lines = ["| problem | learner | offset | " + " | ".join(names) + " |", "| --- " * (3 + len(names)) + "|"]
    for key, line in means.items():
        lines.append(
            f"| {' | '.join(key)} | "
            + " | ".join(f"{line[name][0]:.3f} ({line[name][1]:.1f}n)" if name in line else "" for name in names)
            + " |"
        )
    for learner in dict.fromkeys(key[1] for key in means):
        for offset in dict.fromkeys(key[2] for key in means):
            mine = [line for key, line in means.items() if key[1:] == (learner, offset)]
            value = [np.mean([line[name][0] for line in mine]) for name in names]
            lines.append(f"| mean | {learner} | {offset} | " + " | ".join(f"{mean:.3f}" for mean in value) + " |")
    for learner in dict.fromkeys(key[1] for key in means):
        mine = [line for key, line in means.items() if key[1] == learner]
        cost = [sum(line[name][2] for line in mine) / sum(line[names[0]][2] for line in mine) for name in names]
        lines.append(f"| time | {learner} | all | " + " | ".join(f"{ratio:.1f}x" for ratio in cost) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=MAIN_PROBLEMS)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=MAIN_LEARNERS)
    parser.add_argument("--filters", nargs="+", choices=FILTERS, default=MAIN_FILTERS)
    parser.add_argument("--offsets", nargs="+", choices=OFFSETS, default=list(OFFSETS))
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the records to this file as well")
    parser.add_argument("--at-the-root", action="store_true")
    options = parser.parse_args()
    if options.at_the_root:
        print(root_table(options))
        return
    records = Parallel(n_jobs=options.n_jobs)(
        delayed(run)(problem, learner, offset, name, seed)
        for problem in options.problems
        for learner in options.learners
        for offset in options.offsets
        for name in options.filters
        for seed in range(options.seeds)
    )
    write_figures(options.json, {"figures": records})
    print(table(records))


if __name__ == "__main__":
    main()
