"""How good and how fast the choice of PolicySearch is, as the command line makes it, on logs whose truth is known.

Of every log each candidate is learned from all rows, and so is the search; their true values and times are compared.
The rule of choice and the settings of the race were found on the logs of "tuning"; "judging" has other datasets, other
problems and other seeds. Goals: behind the best single candidate of each log by at most 0.005 of the range of the
rewards on average, or 2 % of its value where rewards are money; never significantly behind the best constant action;
at most 4 times as long as the slowest candidate alone.

    python benchmarks/choice.py [--suite judging] [--seeds 0 1] [--logs NAME ...] [--records FILE] [--json FILE]
    python benchmarks/choice.py --speed   # 20,000 rows of 9 columns, 6 actions, on two cores

Every figure is appended to the file of records as it comes: interrupted, it goes on where it was. Times are of the
processor, on one thread: they do not depend on what else the machine does, and kernels are compiled beforehand.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _choice_logs import FIRST_SEED, SUITES, ChoiceLog, generated
from _problems import write_figures
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from offsettree import PolicySearch
from offsettree.experiments.records import Records
from offsettree.selection import default_candidates

SEARCH = "PolicySearch"
KEY = ("suite", "log", "seed")
GOAL, MONEY_GOAL, TIMES_GOAL = 0.005, 0.02, 4.0


def measure(suite: str, name: str, seed: int) -> dict[str, Any]:
    """Learn the search and each of its candidates from one log; return true values, seconds and the choice."""
    made = SUITES[suite]
    log = made[name](FIRST_SEED[suite] + len(made) * seed + list(made).index(name))
    values, seconds, earned = {}, {}, {}
    # Seeds of the candidates are those that they have in the search: what is chosen is then one of these very policies.
    candidates = [(each, prepared(policy, log, seed)) for each, policy in default_candidates()]
    search = prepared(PolicySearch(candidates, nested=False), log, seed)
    for policy_name, policy in [*candidates, (SEARCH, search)]:
        started = time.process_time()
        fitted = fit(policy, log)
        seconds[policy_name] = time.process_time() - started
        earned[policy_name] = log.earned(fitted.predict(log.X_test))
        values[policy_name] = float(earned[policy_name].mean())
        search = fitted
    ahead = earned[SEARCH] - earned["constant"]
    return {
        "suite": suite,
        "log": name,
        "seed": seed,
        "n_rows": len(log.action),
        "n_actions": log.n_actions,
        "range": list(log.reward_range),
        "best_constant": float(log.mean_test.mean(axis=0).max()),
        "values": values,
        "seconds": seconds,
        "ahead_of_constant_stderr": float(ahead.std() / np.sqrt(len(ahead))),
        "chosen": search.best_name_,
        "outcomes": {row["name"]: row["reason"] for row in search.results_},
    }


def prepared(policy: Any, log: ChoiceLog, seed: int, n_jobs: int | None = None) -> Any:
    """Return a policy with what is known of a log, and a seed."""
    settings = {"actions": np.arange(log.n_actions), "reward_range": log.reward_range}
    known = policy.get_params(deep=False)
    settings |= {key: value for key, value in (("random_state", seed), ("n_jobs", n_jobs)) if key in known}
    return policy.set_params(**settings)


def fit(policy: Any, log: ChoiceLog, n_threads: int = 1) -> Any:
    """Return a copy of a policy, learned from a log."""
    with warnings.catch_warnings(), threadpool_limits(n_threads):
        warnings.simplefilter("ignore")
        return clone(policy).fit(**log.arrays())


def judge(record: dict[str, Any]) -> dict[str, Any]:
    """Return what one log says of the choice."""
    values, seconds = record["values"], record["seconds"]
    alone = {name: value for name, value in values.items() if name != SEARCH}
    best = max(alone, key=lambda name: alone[name])
    is_money = record["range"][1] > 1
    unit = alone[best] if is_money else record["range"][1] - record["range"][0]
    slowest = max(each for name, each in seconds.items() if name != SEARCH)
    ahead = values[SEARCH] - values["constant"]
    stderr = record["ahead_of_constant_stderr"]
    return {
        "best": best,
        "behind": (alone[best] - values[SEARCH]) / unit,
        "is_money": is_money,
        "ahead": ahead / unit,
        "is_behind_constant": bool(ahead < 0 and ahead < -2 * stderr),
        "times": seconds[SEARCH] / slowest,
        "seconds": seconds[SEARCH],
    }


def table(records: list[dict[str, Any]]) -> str:
    """Return the figures of every log, and their means."""
    lines = [f"{'log':<32}{'chosen':<31}{'best':<31}{'behind':>8}{'ahead of constant':>19}{'seconds':>9}{'times':>7}"]
    found = [(record, judge(record)) for record in records]
    for record, each in found:
        name = f"{record['log']} ({record['seed']})"
        mark = " %" if each["is_money"] else "  "
        share = 100.0 if each["is_money"] else 1.0
        ahead = f"{each['ahead'] * share:.4f}{mark}" + (" BEHIND" if each["is_behind_constant"] else "")
        lines.append(
            f"{name:<32}{record['chosen']:<31}{each['best']:<31}{each['behind'] * share:>8.4f}{mark}"
            f"{ahead:>17}{each['seconds']:>9.1f}{each['times']:>7.1f}"
        )
    lines.append("")
    lines += [f"{key}: {value}" for key, value in summary(found).items()]
    return "\n".join(lines)


def summary(found: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """Return means over the logs, and of every candidate by itself."""
    others = [each for _, each in found if not each["is_money"]]
    money = [each for _, each in found if each["is_money"]]
    singles: dict[str, list[float]] = {}
    for record, each in found:
        if not each["is_money"]:
            alone = {name: value for name, value in record["values"].items() if name != SEARCH}
            for name, value in alone.items():
                singles.setdefault(name, []).append((max(alone.values()) - value) / (record["range"][1]))
    return {
        "logs": len(found),
        "mean_behind": float(np.mean([each["behind"] for each in others])) if others else None,
        "largest_behind": max((each["behind"] for each in others), default=None),
        "money_behind": [round(each["behind"], 4) for each in money],
        "n_significantly_behind_constant": sum(each["is_behind_constant"] for _, each in found),
        "median_times": float(np.median([each["times"] for _, each in found])),
        "largest_times": max(each["times"] for _, each in found),
        "mean_behind_of_each_candidate_alone": {name: round(float(np.mean(v)), 4) for name, v in singles.items()},
    }


def speed() -> dict[str, Any]:
    """Return the seconds of a search over 20,000 rows, 9 columns and 6 actions, with all cores, compiled before."""
    log = generated("mixed", 20_000, 6, "uniform", 9000, d=9)
    short = generated("mixed", 4000, 6, "uniform", 9001, d=9)
    fit(prepared(PolicySearch(nested=False), short, 0, 2), short, 2)
    wall, own = time.perf_counter(), time.process_time()
    fit(prepared(PolicySearch(nested=False), log, 0, 2), log, 2)
    return {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - own}


def warm_up() -> None:
    """Compile all kernels, of clicks and of money, dense and as frames: times are to be of learning alone."""
    for suite, name in (("tuning", "vehicle"), ("tuning", "flare"), ("tuning", "steps, 600, 3")):
        log = SUITES[suite][name](1)
        for _, policy in default_candidates():
            fit(prepared(policy, log, 0), log).predict(log.X_test)


def main() -> None:
    """Measure what is missing, print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=sorted(SUITES), default="judging")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--logs", nargs="*")
    parser.add_argument("--records", type=Path, default=Path("benchmarks/results/choice.jsonl"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--no-more", action="store_true", help="only print what there is")
    options = parser.parse_args()
    if options.speed:
        print(speed())
        return
    records = Records(options.records, KEY)
    names = [name for name in SUITES[options.suite] if options.logs is None or name in options.logs]
    keys = [{"suite": options.suite, "log": name, "seed": seed} for seed in options.seeds for name in names]
    pending = [] if options.no_more else [key for key in keys if key not in records]
    if pending:
        warm_up()
    for key in pending:
        record = measure(key["suite"], key["log"], key["seed"])
        records.add(record)
        print(table([record]).splitlines()[1], flush=True)
    done = [dict(record) for record in records if {field: record[field] for field in KEY} in keys]
    print(table(done))
    write_figures(
        options.json, {"suite": options.suite, "figures": done, "summary": summary([(r, judge(r)) for r in done])}
    )


if __name__ == "__main__":
    main()
