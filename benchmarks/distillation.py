"""What an offset tree loses that is taught by another policy, and how fast it decides.

    python benchmarks/distillation.py --seeds 3

True values on generated logs (`_boosting_logs.py`): of the teacher, `RewardBoosting`; of offset trees that `distill`
taught its opinions of the rows of the log, and of ten times as many rows without rewards; of an offset tree that
learned from the log itself. Times are of one decision on one row, in microseconds, and of the teaching, in seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from _boosting_logs import N_COLUMNS, make_log

from offsettree import OffsetTree, RewardBoosting, distill

LOGS = ("5,000 rows, k = 16, nonlinear, uniform", "20,000 rows, k = 8, both, uniform")
MORE_ROWS = 10


def microseconds(policy: Any, X: Any) -> float:
    """Return the median time of a decision on one row."""
    policy.decide(X[0])
    spent = []
    for x in X[:200]:
        begin = time.perf_counter()
        policy.decide(x)
        spent.append(time.perf_counter() - begin)
    return 1e6 * float(np.median(spent))


def main() -> None:
    """Print a line per policy and log: mean over the seeds."""
    parser = argparse.ArgumentParser(description="what an offset tree loses that is taught by another policy")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--logs", nargs="+", default=LOGS)
    chosen = parser.parse_args()
    for source in chosen.logs:
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(chosen.seeds):
            task = make_log(source, seed)
            rest = {"reward": task.reward, "propensity": task.propensity}
            actions = np.arange(task.n_actions)
            teacher = RewardBoosting(actions=actions, random_state=seed).fit(task.X, task.action, **rest)
            fresh = np.random.default_rng([seed, 7]).standard_normal((MORE_ROWS * len(task.X), N_COLUMNS))
            makers = {
                "teacher": lambda teacher=teacher: teacher,
                "taught on the log's rows": lambda t=teacher, X=task.X: distill(t, X, random_state=0),
                "taught on ten times as many": lambda t=teacher, X=fresh: distill(t, X, random_state=0),
                "learned from the log": lambda task=task, actions=actions, rest=rest: OffsetTree(
                    actions=actions, offset="mean", random_state=0
                ).fit(task.X, task.action, **rest),
            }
            for name, make in makers.items():
                begin = time.perf_counter()
                policy = make()
                spent = time.perf_counter() - begin
                value = task.value(policy.predict(task.X_test))
                found.setdefault(name, []).append((value, microseconds(policy, task.X_test), spent))
        print(f"{source}, {chosen.seeds} seeds: true value, microseconds a decision, seconds to teach")
        for name, lines in found.items():
            value, decision, spent = np.mean(lines, axis=0)
            print(f"  {name:30} {value:.3f}  {decision:6.1f}  {spent:6.1f}")


if __name__ == "__main__":
    main()
