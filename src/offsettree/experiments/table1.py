"""Table 1: test errors of the offset tree and its rivals on the paper's datasets (section 7.1)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.parallel import delayed

from offsettree import datasets
from offsettree._features import Features, append_indicator, take_rows
from offsettree._progress import Progress
from offsettree._workers import parallel
from offsettree.base import BasePolicy
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from offsettree.experiments.records import Record, Records
from offsettree.experiments.seeds import splits_of
from offsettree.learners import Costing, make_learner
from offsettree.logs import LoggedData, simulate_log
from offsettree.reductions import ImportanceWeighted, OffsetForest, OffsetTree, RewardBoosting, RewardRegression

__all__ = [
    "COLUMNS",
    "LEARNERS",
    "LETTER",
    "READINGS",
    "REGRESSIONS",
    "TUNED",
    "WEIGHTINGS",
    "open_records",
    "policies",
    "reveal",
    "run",
    "run_one",
]

LEARNERS = ("weka", "sklearn")
# Algorithm 2 as written, and the reading of the protocol whose errors are nearest to the paper's column.
LETTER, TUNED = "offset tree, letter", "offset tree, tuned"
N_DRAWS = 10
LOG_SEEDS, POLICY_SEEDS = 10_000, 20_000
KEY = ("learners", "dataset", "split", "method")

Policies = Mapping[str, Callable[[], BasePolicy]]


class HalfDraws(Costing):
    """Costing with twice the largest weight as its bound, so that equal weights still give different draws.

    A reading of the paper: with rewards 0 and 1 and the offset 1/2 every weight is k / 2; without the offset the
    largest would be k. Drawing with the bound k keeps half of the rows each time, so that averaging has an effect.
    """

    def _bound(self, weight: NDArray[np.float64]) -> float:
        return 2 * super()._bound(weight)


class ZeroOneColumns(RewardRegression):
    """A reading of the single regressor: the choice as k zero-one columns instead of one nominal feature."""

    def _with_action(self, X: Features, action: NDArray[np.intp]) -> Features:
        return append_indicator(X, action, len(self.actions_), "action")


def _offset_trees(classifier: Callable[[], Any]) -> Policies:
    """Return the possible readings of how the paper ran its offset tree; docs/experiments.md compares them."""
    return {
        LETTER: lambda: OffsetTree(classifier()),
        "offset 1/2, random order": lambda: OffsetTree(classifier(), tree="random"),
        "offset 0": lambda: OffsetTree(classifier(), offset=0.0),
        "offset mean": lambda: OffsetTree(classifier(), offset="mean"),
        "offset median given x": lambda: OffsetTree(classifier(), offset="median_given_x"),
        TUNED: lambda: OffsetTree(Costing(classifier(), n_draws=N_DRAWS), offset="mean"),
        "offset mean, costing, hard votes": lambda: OffsetTree(
            Costing(classifier(), n_draws=N_DRAWS, vote="hard"), offset="mean"
        ),
        "offset 1/2, half draws": lambda: OffsetTree(HalfDraws(classifier(), n_draws=N_DRAWS)),
    }


def _weightings(classifier: Callable[[], Any]) -> Policies:
    """Return the other possible readings of importance weighting."""
    return {
        "weighting, one multiclass tree": lambda: ImportanceWeighted(classifier(), n_draws=N_DRAWS, all_pairs=False),
        "weighting, half draws": lambda: ImportanceWeighted(HalfDraws(classifier(), n_draws=N_DRAWS), n_draws=None),
    }


def _regression(name: str, *, single: bool = False, **settings: Any) -> Callable[[], BasePolicy]:
    return lambda: RewardRegression(make_learner(name, "regressor").set_params(**settings), per_action=not single)


READINGS: Mapping[str, Policies] = {
    "weka": _offset_trees(lambda: make_learner("j48")),
    "sklearn": _offset_trees(lambda: make_learner("tree")),
}
WEIGHTINGS: Mapping[str, Policies] = {
    "weka": _weightings(lambda: make_learner("j48")),
    "sklearn": _weightings(lambda: make_learner("tree")),
}
REGRESSIONS: Mapping[str, Policies] = {
    "weka": {
        "single M5P, zero-one columns": lambda: ZeroOneColumns(make_learner("m5p", "regressor"), per_action=False),
        "single REPTree, zero-one columns": lambda: ZeroOneColumns(
            make_learner("reptree", "regressor"), per_action=False
        ),
    },
    "sklearn": {},
}

COLUMNS: Mapping[str, Policies] = {
    "weka": {
        "weighting": lambda: ImportanceWeighted(make_learner("j48"), n_draws=N_DRAWS),
        "single M5P": _regression("m5p", single=True),
        # Weka's -R, which is not its default: a constant instead of a linear model in every leaf.
        "single M5P -R": _regression("m5p", single=True, regression_tree=True),
        "single REPTree": _regression("reptree", single=True),
        "separate M5P": _regression("m5p"),
        "separate M5P -R": _regression("m5p", regression_tree=True),
        "separate REPTree": _regression("reptree"),
        LETTER: READINGS["weka"][LETTER],
        TUNED: READINGS["weka"][TUNED],
        "offset forest": OffsetForest,  # these two with our own learner, in both families
        "reward boosting": RewardBoosting,
    },
    "sklearn": {
        "weighting": lambda: ImportanceWeighted(make_learner("tree"), n_draws=N_DRAWS),
        "single tree": _regression("tree", single=True),
        "separate tree": _regression("tree"),
        "separate extra-trees": _regression("extra-trees"),
        LETTER: READINGS["sklearn"][LETTER],
        TUNED: READINGS["sklearn"][TUNED],
        "weighting, extra-trees": lambda: ImportanceWeighted(
            make_learner("extra-trees"), n_draws=None, all_pairs=False
        ),
        "offset tree, extra-trees": lambda: OffsetTree(make_learner("extra-trees"), offset="mean"),
        "offset forest": OffsetForest,
        "reward boosting": RewardBoosting,
    },
}


def run(
    records: Records,
    *,
    learners: str,
    names: Sequence[str],
    methods: Sequence[str],
    n_splits: int = 10,
    seed: int = 0,
    n_jobs: int = 1,
) -> None:
    """Run the tasks that the records lack, the longest first; add each result as it comes.

    All methods share the splits and the logs drawn from them.
    """
    tasks: list[dict[str, Any]] = [
        {"learners": learners, "dataset": name, "split": split, "method": method}
        for name in names
        for method in methods
        for split in splits_of(seed, n_splits)
    ]
    pending = [task for task in tasks if task not in records]
    pending.sort(key=lambda task: _work(task["dataset"], task["method"]), reverse=True)
    results: Iterator[Record] = parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(run_one)(**task) for task in pending
    )
    with Progress(sum(_work(task["dataset"], task["method"]) for task in pending), asked_for=True) as progress:
        for record in results:
            records.add(record)
            progress.advance(_work(record["dataset"], record["method"]), f"{record['dataset']}, {record['method']}")


def run_one(learners: str, dataset: str, split: int, method: str) -> Record:
    """Learn a policy by a method; return its error on unseen rows."""
    started = time.perf_counter()
    log, X_test, y_test = reveal(dataset, split)
    classes = _load(dataset).classes
    policy = policies(learners)[method]().set_params(actions=classes, random_state=POLICY_SEEDS + split)
    with warnings.catch_warnings():
        # In the paper's protocol some logs are short: actions are never logged, and rewards are rare.
        warnings.simplefilter("ignore", OffsetTreeWarning)
        error = float((policy.fit(**log.arrays()).predict(X_test) != y_test).mean())
    seconds = time.perf_counter() - started
    return {
        "learners": learners,
        "dataset": dataset,
        "split": split,
        "method": method,
        "error": error,
        "seconds": round(seconds, 3),
    }


def reveal(dataset: str, split: int) -> tuple[LoggedData, Features, NDArray[np.str_]]:
    """Return the log of a split, two thirds of the rows with one reward each, and the test rows with their labels.

    Splits and logs have different seeds, so that the actions drawn are independent of the split.
    """
    data = _load(dataset)
    train, test = train_test_split(np.arange(len(data)), test_size=1 / 3, random_state=split)
    log = simulate_log(take_rows(data.X, train), data.y[train], "uniform", LOG_SEEDS + split, actions=data.classes)
    return log, take_rows(data.X, test), data.y[test]


def policies(learners: str) -> Policies:
    """Return all methods of a family of learners: the columns of the table, and the alternative readings."""
    if learners not in LEARNERS:
        raise ParameterError(f"learners must be one of {', '.join(LEARNERS)}; got {learners!r}.")
    return {**COLUMNS[learners], **READINGS[learners], **WEIGHTINGS[learners], **REGRESSIONS[learners]}


def open_records(folder: str | Path, learners: str) -> Records:
    """Open the records of a folder, one file per family of learners."""
    return Records(Path(folder) / f"table1-{learners}.jsonl", KEY)


@cache
def _load(name: str) -> datasets.Dataset:
    return datasets.load(name)


def _work(name: str, method: str) -> float:
    """Estimate a task's relative duration, to start the longest first and to show the time left."""
    data = _load(name)
    k = data.n_actions
    # Importance weighting predicts all pairs for every row, a single regressor all actions.
    factor = k if method.startswith("weighting") else k / 4 if method.startswith("single") else 2
    return len(data) * len(data.feature_names) * factor
