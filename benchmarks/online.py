"""Learning online: rows a second of `OnlineOffsetTree` beside Vowpal Wabbit's contextual bandits, and the values.

The same rows for all, in the same order, once: dense ones of 50 features, and text-like ones (80 non-zeros of 50,000
features). Ours learns by one call of `partial_fit`, its checks included, and decides by one of `predict`; Vowpal Wabbit
learns and decides (`-t`) from a file of text, the parse included, and from its cache, run by an interpreter of an
environment of its own, and is left out where none is given. Costs are 0.5 - reward for all of its learners;
`--cats_tree` is its nearest to the paper. Seconds are processor time of all threads of a process that is kept on one
core, the least of a few runs; Vowpal Wabbit's are less what it takes to start. Values are true, on 20,000 new rows.

Goals: text, training 5 times and prediction 10 times the fastest of its options; dense rows 20 times, at k = 1024
50 times `--cats_tree` and 1,000 times `--cb_type mtr`; one row per call of `learn` or `decide` in 5 us.

    python benchmarks/online.py [--rivals-python PATH] [--problems dense-8 dense-64 dense-1024 text-4]
        [--learners hinge ...] [--json FILE]

Figures of single learners take the place of theirs in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _problems import Problem, make_problem, new_rows, write_figures
from _texts import TextProblem, make_texts, new_texts
from decisions import per_call

from offsettree import OnlineOffsetTree, OnlineRewardRegression

N_FEATURES, N_WORDS, VOCABULARY = 50, 80, 50_000
N_NEW = 20_000
N_FEW = 2_000  # rows to time what takes long on all of them
LOSSES: tuple[Any, ...] = ("hinge", "logistic", "perceptron")
PROBLEMS = ("dense-8", "dense-64", "dense-1024", "text-4")
OURS: dict[str, Callable[..., Any]] = {
    **{f"OnlineOffsetTree, {loss}": partial(OnlineOffsetTree, loss=loss) for loss in LOSSES},
    "OnlineRewardRegression": OnlineRewardRegression,
}
COMPARED = ("OnlineOffsetTree, hinge", "OnlineRewardRegression")
# 18 bits are Vowpal Wabbit's default; among 50,000 features weights of 22 bits share fewer places.
RIVALS = {
    "Vowpal Wabbit --cb_type mtr": "--cb {k} --cb_type mtr -b 18",
    "Vowpal Wabbit --cb_type ips": "--cb {k} --cb_type ips -b 18",
    "Vowpal Wabbit --cats_tree": "--cats_tree {k} -b 18",
    "Vowpal Wabbit --cb_type mtr -b 22": "--cb {k} --cb_type mtr -b 22",
    "Vowpal Wabbit --cats_tree -b 22": "--cats_tree {k} -b 22",
}
MEASURES = (("text", "cache"), ("predict_text", "predict_cache"))


def make(name: str, n_rows: int) -> tuple[Problem | TextProblem, Any]:
    """Draw a problem, and new rows."""
    kind, k = name.split("-")
    if kind == "dense":
        return make_problem(n_rows, N_FEATURES, int(k)), new_rows(N_NEW, N_FEATURES)
    return make_texts(n_rows, N_WORDS, VOCABULARY, int(k)), new_texts(N_NEW, N_WORDS, VOCABULARY)


def least(call: Callable[[], Any], n_calls: int) -> float:
    """Return the least processor time of some calls after the first."""
    call()
    times = []
    for _ in range(n_calls):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)


def ours(make_policy: Callable[..., Any], problem: Problem | TextProblem, new: Any) -> dict[str, Any]:
    """Learn from all rows in one call, then from a few one by one."""
    k = problem.n_actions

    def learn_all() -> Any:
        return make_policy(actions=range(k)).partial_fit(
            problem.X, problem.action, reward=problem.reward, propensity=1 / k
        )

    policy = learn_all()
    chosen = policy.predict(new)
    figures = {
        "rows_per_second": problem.X.shape[0] / least(learn_all, 15),
        "predict_rows_per_second": new.shape[0] / least(lambda: policy.predict(new), 30),
        "value": problem.value(new, chosen),
    }
    # A context of a stream of texts is one row of a CSR matrix.
    x = problem.X[7].copy()
    action, reward = int(problem.action[7]), float(problem.reward[7])
    figures["decide_seconds"] = per_call(lambda: policy.decide(x))
    figures["learn_seconds"] = per_call(lambda: policy.learn(x, action, reward, 1 / k))
    return figures


def entries(X: Any) -> Iterator[str]:
    """Write rows as Vowpal Wabbit reads them; names that are whole numbers would collide."""
    for i in range(X.shape[0]):
        if isinstance(X, np.ndarray):
            row: Iterable[tuple[int, float]] = enumerate(X[i].tolist())
        else:
            among = slice(X.indptr[i], X.indptr[i + 1])
            row = zip(X.indices[among].tolist(), X.data[among].tolist(), strict=True)
        yield " ".join(f"f{column}:{value:.6g}" for column, value in row)


def write_rows(folder: Path, name: str, labels: list[str], X: Any) -> None:
    """Write a file, and one of its first rows."""
    lines = [f"{label}| {row}\n" for label, row in zip(labels, entries(X), strict=True)]
    (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    (folder / f"{name}-few.txt").write_text("".join(lines[:N_FEW]), encoding="utf-8")


def rival(
    options: str, python: Path, problem: Problem | TextProblem, new: Any, folder: Path, core: int
) -> dict[str, Any] | None:
    """Let another interpreter run Vowpal Wabbit; None where it cannot."""
    k = problem.n_actions
    if not (folder / "log.txt").exists():
        labels = [
            f"{action + 1}:{0.5 - reward:.6g}:{1 / k:g} "
            for action, reward in zip(problem.action.tolist(), problem.reward.tolist(), strict=True)
        ]
        write_rows(folder, "log", labels, problem.X)
        write_rows(folder, "new", [""] * new.shape[0], new)
    script = Path(__file__).with_name("_rival_online.py")
    command = [str(python), str(script), options.format(k=k), str(folder), str(core), str(N_FEW)]
    run = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    if run.returncode != 0:
        print(f"{options} is left out: {run.stderr.strip().splitlines()[-1]}")
        return None
    chosen = np.array((folder / "chosen.txt").read_text(encoding="utf-8").split(), dtype=np.intp)
    return {**json.loads(run.stdout.splitlines()[-1]), "value": problem.value(new, chosen)}


def line(record: dict[str, Any]) -> str:
    """Return a line of the table."""
    rates = [f"{record[field] / 1e3:>10,.4g}" if field in record else f"{'':>10}" for field in RATES]
    calls = [f"{1e6 * record[f'{verb}_seconds']:>8.2f}" if f"{verb}_seconds" in record else "" for verb in ONE_BY_ONE]
    return f"{record['learner']:<36}{record['problem']:>11}{''.join(rates)}{record['value']:>8.4f}{''.join(calls)}"


RATES = (
    "rows_per_second",
    "text_rows_per_second",
    "cache_rows_per_second",
    "predict_rows_per_second",
    "predict_text_rows_per_second",
    "predict_cache_rows_per_second",
)
ONE_BY_ONE = ("learn", "decide")


def ratios(records: list[dict[str, Any]]) -> Iterator[str]:
    """Compare the tree, with its default loss, and the regression with each rival at its fastest."""
    for problem, learner, name in product(PROBLEMS, COMPARED, RIVALS):
        found = {r["learner"]: r for r in records if r["problem"] == problem}
        if learner in found and name in found:
            mine, other = found[learner], found[name]
            learning, deciding = (
                mine[f"{verb}rows_per_second"] / max(other[f"{way}_rows_per_second"] for way in ways)
                for verb, ways in zip(("", "predict_"), MEASURES, strict=True)
            )
            yield (
                f"{problem:<11}{learner:<24}{name:<34} training {learning:>8,.1f} times, "
                f"prediction {deciding:>8,.1f} times, value {mine['value'] - other['value']:+.4f}"
            )


def merged(path: Path | None, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put new records in the place of old ones of the same learner and problem, and all in the order of the tables."""
    old = json.loads(path.read_text(encoding="utf-8"))["figures"] if path is not None and path.exists() else []
    by_key = {(r["problem"], r["learner"]): r for r in [*old, *records]}
    order = [*OURS, *RIVALS]
    return sorted(by_key.values(), key=lambda r: (PROBLEMS.index(r["problem"]), order.index(r["learner"])))


def main() -> None:
    """Print one line per learner and problem, then ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals-python", type=Path, help="of an environment with vowpalwabbit")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    parser.add_argument("--learners", nargs="+", default=[*OURS, *RIVALS], help="those to run; all by default")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    if options.rivals_python is None:
        print("no rivals: --rivals-python names the interpreter that holds them (make bench makes one)")
    print(f"{options.rows:,} rows; thousands of rows a second, processor time of one core\n")
    print(
        f"{'learner':<36}{'problem':>11}{'training':>10}{'text':>10}{'cache':>10}{'predict':>10}{'text':>10}"
        f"{'cache':>10}{'value':>8}{'learn':>8}{'decide':>8} us"
    )
    records: list[dict[str, Any]] = []
    for name in options.problems:
        problem, new = make(name, options.rows)
        about = {"problem": name, "n_rows": options.rows, "n_actions": problem.n_actions}
        about["best_value"] = problem.best_value(new)
        with tempfile.TemporaryDirectory() as folder:
            for learner in options.learners:
                if learner in OURS:
                    found: dict[str, Any] | None = ours(OURS[learner], problem, new)
                elif options.rivals_python is None or ("-b" in learner and not name.startswith("text")):
                    continue
                else:
                    found = rival(RIVALS[learner], options.rivals_python, problem, new, Path(folder), core)
                if found is not None:
                    records.append({"learner": learner, **about, **found})
                    print(line(records[-1]), flush=True)
    records = merged(options.json, records)
    print(*ratios(records), sep="\n")
    write_figures(options.json, {"rows": options.rows, "new_rows": N_NEW, "figures": records})


if __name__ == "__main__":
    main()
