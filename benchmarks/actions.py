"""Actions with features, that come and go: true values beside Vowpal Wabbit and LightGBM, and speed.

Catalogues are simulated (`offsettree.simulate_catalogue`): half of the items are new in the test period, the second
half of the days, and decisions of that period are judged by their true expected rewards. The same rows for all, in the
same order; values are means over seeds, none of which was looked at when settings were chosen.
Vowpal Wabbit learns by `--cb_adf` from text and from its cache; LightGBM predicts rewards from the features of context
and item, and the best item is taken. Seconds are processor time of one core, the least of a few runs; those of Vowpal
Wabbit are less what it takes to start, and ours include all checks and hashing.

Goals: values above those of both; learning online 10 times as fast as the faster of Vowpal Wabbit's text and cache with
the same products of features; on items that never change, within 0.005 of learners of labels; a decision among 50 items
in 30 us from arrays and in 100 us from mappings.

    python benchmarks/actions.py [--rivals-python PATH] [--problems linear-20-5 ...] [--rows 20000] [--json FILE]
    python benchmarks/actions.py --only speed|static|values ...
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _actions_rival import OPTIONS, lightgbm, vowpal, write_lines
from _problems import write_figures

from offsettree import (
    ActionOffsetTree,
    ActionRegression,
    ActionSets,
    OnlineActionOffsetTree,
    OnlineActionRegression,
    PopularAction,
    RewardBoosting,
    simulate_catalogue,
)
from offsettree.actions import LabelledActions
from offsettree.actions.policy import best_pairs

PROBLEMS = (
    "linear-20-5",
    "linear-1000-20",
    "linear-10000-50",
    "nonlinear-20-5",
    "nonlinear-1000-20",
    "nonlinear-10000-50",
)
# Settings were chosen on others. Few items tell little about a learner, so that these have more.
SEEDS = {20: (301, 302, 303, 311, 312, 313), 1000: (301, 302, 303), 10_000: (301, 302, 303)}
TEST_DAYS = 10  # of 20: new items come on these
MOST_TESTED = 4_000
OURS: dict[str, Callable[[], Any]] = {
    "OnlineActionRegression": OnlineActionRegression,
    "OnlineActionRegression, context-action": lambda: OnlineActionRegression(interactions="context-action"),
    "ActionRegression": lambda: ActionRegression(random_state=0),
    "ActionOffsetTree": lambda: ActionOffsetTree(random_state=0),
    "OnlineActionOffsetTree": OnlineActionOffsetTree,
    "PopularAction, labels only": PopularAction,
    "RewardBoosting, labels only": lambda: LabelledActions(RewardBoosting(random_state=0)),
}
MOST_LABELS = 1000  # items; learners of one model per label have no rows for more
# What has the same products of features as which of Vowpal Wabbit's.
SAME_PRODUCTS = {
    "OnlineActionRegression": "Vowpal Wabbit, mtr -q ::",
    "OnlineActionRegression, context-action": "Vowpal Wabbit, mtr -q sa",
}


def least(call: Callable[[], Any], n_calls: int) -> float:
    """Return the least processor time of some calls."""
    times = []
    for _ in range(n_calls):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)


def per_call(call: Callable[[], Any]) -> float:
    """Return the least time of a call; many short runs, as others use the machine as well."""
    call()
    return min(timeit.repeat(call, number=50, repeat=400)) / 50


def make(name: str, n_rows: int, seed: int, new_share: float = 0.5) -> tuple[Any, Any]:
    """Simulate a catalogue; return the days to learn from and those to decide in."""
    kind, n_items, n_eligible = name.split("-")
    made = simulate_catalogue(
        n_rows,
        int(n_items),
        int(n_eligible),
        kind="linear" if kind == "linear" else "nonlinear",
        new_share=new_share,
        random_state=seed,
    )
    train, test = made.split_days(TEST_DAYS)
    return train, test._rows(np.linspace(0, len(test.day) - 1, min(len(test.day), MOST_TESTED)).astype(np.intp))


def ours(make_policy: Callable[[], Any], train: Any, test: Any, *, timed: bool = False) -> dict[str, Any]:
    """Learn, decide, and judge the decisions."""
    policy = make_policy()
    policy.fit(**train.log.arrays())  # compiles, where there are kernels
    timed &= isinstance(policy, OnlineActionRegression)
    seconds = least(lambda: policy.fit(**train.log.arrays()), 5) if timed else None
    figures = {"value": test.value(policy.predict(test.log.X, test.sets))}
    return figures if seconds is None else {**figures, "seconds": seconds}


def with_lightgbm(python: Path, train: Any, test: Any, folder: Path) -> dict[str, Any] | None:
    """Train LightGBM on contexts and items side by side."""
    for catalogue, name in ((train, "train"), (test, "test")):
        sets, log = catalogue.sets, catalogue.log
        pair = sets.find(log.action) if name == "train" else np.arange(len(sets.ids))
        row = np.arange(len(log)) if name == "train" else np.repeat(np.arange(len(log)), sets.sizes)
        np.savez(folder / f"{name}.npz", table=np.hstack([log.X[row], sets.items[sets.item[pair]]]), reward=log.reward)
    found = lightgbm(python, folder)
    if found is None:
        return None
    best = best_pairs(np.load(folder / "predicted.npy"), test.sets.starts)
    return {**found, "value": float(test.expected[best].mean())}


def with_vowpal(
    python: Path, options: str, test: Any, folder: Path, core: int, *, timed: bool
) -> dict[str, Any] | None:
    """Learn by Vowpal Wabbit, and judge the action that it ranks first."""
    found = vowpal(python, options, folder, core, timed=timed)
    if found is None:
        return None
    lines = (folder / "chosen.txt").read_text(encoding="utf-8").split()
    place = np.array([int(line.split(",")[0].split(":")[0]) for line in lines])
    return {**found, "value": float(test.expected[test.sets.starts[:-1] + place].mean())}


def decision_seconds() -> dict[str, float]:
    """Time single decisions among 50 items, from arrays and from mappings, by every learner."""
    train, test = make("linear-1000-50", 4_000, 77)
    log, sets = train.log, train.sets
    names = [f"f{place}" for place in range(log.X.shape[1])]
    item_names = [f"i{place}" for place in range(sets.n_item_features)]
    given = [sets.ids[begin:end].tolist() for begin, end in pairwise(sets.starts.tolist())]
    frames = ActionSets(given, items=pd.DataFrame(sets.items, columns=item_names), item_ids=sets.item_ids)
    named_log = {**log.arrays(), "X": pd.DataFrame(log.X, columns=names), "action_sets": frames}
    x, features = test.log.X[0], test.sets.items[test.sets.item[:50]]
    context = dict(zip(names, x.tolist(), strict=True))
    ids = test.sets.ids[:50].tolist()
    actions = [
        {"id": label, **dict(zip(item_names, row, strict=True))}
        for label, row in zip(ids, features.tolist(), strict=True)
    ]
    found = {}
    for learner in ("ActionRegression", "ActionOffsetTree", "OnlineActionRegression", "OnlineActionOffsetTree"):
        policy, named = (OURS[learner]().fit(**arrays) for arrays in (log.arrays(), named_log))
        found[f"{learner}, arrays"] = per_call(partial(policy.decide, x, features))
        found[f"{learner}, mappings"] = per_call(partial(named.decide, context, actions))
        if hasattr(named, "learn"):
            found[f"{learner}, learn, mappings"] = per_call(partial(named.learn, context, actions, ids[3], 1.0, 0.02))
    return found


def static(name: str, n_rows: int, seed: int) -> dict[str, float]:
    """Compare with a learner of labels alone on a catalogue that never changes."""
    train, test = make(name, n_rows, seed, new_share=0.0)
    n_items = int(name.split("-")[1])

    def mask(sets: Any) -> Any:
        made = np.zeros((len(sets), n_items), dtype=bool)
        made[np.repeat(np.arange(len(sets)), sets.sizes), sets.ids] = True
        return made

    log = train.log
    labels = RewardBoosting(random_state=0, actions=range(n_items)).fit(
        log.X, log.action, reward=log.reward, propensity=log.propensity, available=mask(train.sets)
    )
    found = {"RewardBoosting, labels only": test.value(labels.predict(test.log.X, mask(test.sets)))}
    for learner in ("ActionRegression", "ActionOffsetTree"):
        found[learner] = ours(OURS[learner], train, test)["value"]
    return found


def line(record: dict[str, Any]) -> str:
    """Return a line of the table."""
    spent = [
        f"{name.removesuffix('seconds').rstrip('_'):>7}{record[name]:>8.3f} s" for name in record if "seconds" in name
    ]
    return f"{record['problem']:<26}{record['seed']:>3} {record['learner']:<42}{record['value']:>8.4f}{''.join(spent)}"


def values(name: str, seed: int, options: argparse.Namespace, core: int, *, timed: bool) -> Iterator[dict[str, Any]]:
    """Judge all learners on one catalogue."""
    train, test = make(name, options.rows, seed)
    yield {"learner": "best possible", "value": test.best_value}
    yield {"learner": "uniform", "value": test.uniform_value}
    for learner, make_policy in OURS.items():
        if options.learners and learner not in options.learners:
            continue
        if isinstance(make_policy(), LabelledActions) and int(name.split("-")[1]) > MOST_LABELS:
            continue
        yield {"learner": learner, **ours(make_policy, train, test, timed=timed)}
    if options.rivals_python is None:
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_lines(train, folder / "log.txt", with_labels=True)
        write_lines(test, folder / "new.txt", with_labels=False)
        for learner, given in OPTIONS.items():
            # The time of `dr`, which learns from all actions, is not compared.
            found = with_vowpal(
                options.rivals_python, given, test, folder, core, timed=timed and learner in SAME_PRODUCTS.values()
            )
            if found is not None:
                yield {"learner": learner, **found}
        found = with_lightgbm(options.rivals_python, train, test, folder)
        if found is not None:
            yield {"learner": "LightGBM, argmax", **found}


def print_ratios(records: list[dict[str, Any]]) -> None:
    """Print how much faster we learn than Vowpal Wabbit with the same products, and the difference in value."""
    for mine, other in SAME_PRODUCTS.items():
        pair = [each for who in (mine, other) for each in records if each["learner"] == who]
        if len(pair) == 2 and "seconds" in pair[0] and "text_seconds" in pair[1]:
            ratio = min(pair[1]["text_seconds"], pair[1]["cache_seconds"]) / pair[0]["seconds"]
            print(f"{'':26}{mine} learns {ratio:.1f} times as fast, value {pair[0]['value'] - pair[1]['value']:+.4f}")


def print_means(records: list[dict[str, Any]]) -> None:
    """Print the table: means over seeds, a column per problem."""
    problems = list(dict.fromkeys(each["problem"] for each in records))
    print("\n| learner |", " | ".join(problems), "|\n|---|" + "---|" * len(problems))
    for learner in dict.fromkeys(each["learner"] for each in records):
        cells = []
        for problem in problems:
            own = [r["value"] for r in records if r["problem"] == problem and r["learner"] == learner]
            cells.append(f"{np.mean(own):.4f}" if own else "")
        print(f"| {learner} |", " | ".join(cells), "|")


def main() -> None:
    """Print one line per learner, problem and seed, then means, ratios and times of single decisions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals-python", type=Path, help="of an environment with vowpalwabbit, numpy and lightgbm")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--seeds", nargs="*", type=int, help="in place of those of each problem")
    parser.add_argument("--learners", nargs="*", help="of ours, in place of all")
    parser.add_argument("--only", choices=("values", "static", "speed"))
    parser.add_argument("--no-times", action="store_true", help="judge values alone, which takes half the time")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    records: list[dict[str, Any]] = []
    times: dict[str, float] = {}

    def note(problem: str, seed: int, found: dict[str, Any]) -> dict[str, Any]:
        records.append({"problem": problem, "seed": seed, **found})
        print(line(records[-1]), flush=True)
        return records[-1]

    if options.only in (None, "values"):
        for name in options.problems:
            seeds = options.seeds or SEEDS[int(name.split("-")[1])]
            for seed in seeds:
                timed = seed == seeds[0] and not options.no_times
                print_ratios([note(name, seed, found) for found in values(name, seed, options, core, timed=timed)])
    if options.only in (None, "static"):
        for name in ("linear-20-5", "nonlinear-20-5"):
            for seed in options.seeds or SEEDS[20]:
                for learner, value in static(name, options.rows, seed).items():
                    note(f"{name}, static", seed, {"learner": learner, "value": value})
    if records:
        print_means(records)
    if options.only in (None, "speed"):
        times = decision_seconds()
        print(*(f"{name:<42}{1e6 * seconds:>8.1f} us" for name, seconds in times.items()), sep="\n")
    write_figures(options.json, {"rows": options.rows, "figures": records, "decisions": times})


if __name__ == "__main__":
    main()
