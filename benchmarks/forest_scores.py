"""Whether boosted predictions help an offset forest: as columns that its contests may split by, or beside its votes.

    python benchmarks/forest_scores.py --seeds 3

True values, mean over the seeds: of `RewardBoosting`, of `OffsetForest`, of a forest on X and the predicted reward of
every action (cross-fitted in the rows that it learns from), and of the action with the largest sum of the share of
votes and a multiple of the predicted reward, less the row's mean and in units of the standard deviation.
"""

from __future__ import annotations

import argparse

import numpy as np
from _accuracy_logs import Task
from _boosting_logs import make_log
from numpy.typing import NDArray

from offsettree import OffsetForest, RewardBoosting
from offsettree.logs import CheckedLog
from offsettree.reductions._cross_fit import CrossFit

LOGS = (
    "2,000 rows, k = 5, nonlinear, skewed",
    "5,000 rows, k = 16, nonlinear, uniform",
    "5,000 rows, k = 16, linear, uniform",
    "vehicle",
    "yeast",
    "glass",
)
SHARES = (0.1, 0.2, 0.4)


def held_out_predictions(task: Task) -> NDArray[np.float64]:
    """Return the reward of every action as predicted by models that did not see the row."""
    actions = np.arange(task.n_actions)
    log = CheckedLog(task.numbers, task.action.astype(np.intp), task.reward, task.propensity, actions)
    fitted = CrossFit.make("boosting", log, np.random.RandomState(0))
    predicted = np.empty((len(task.action), task.n_actions))
    for fold, model in enumerate(fitted.models):
        rows = np.flatnonzero(fitted.folds == fold)
        predicted[rows] = model.predict(task.numbers[rows], actions)
    return predicted


def values(task: Task) -> dict[str, float]:
    """Return the true value of each policy."""
    actions = np.arange(task.n_actions)
    rest = {"reward": task.reward, "propensity": task.propensity}
    boosting = RewardBoosting(actions=actions, random_state=0).fit(task.numbers, task.action, **rest)
    forest = OffsetForest(actions=actions, random_state=0).fit(task.numbers, task.action, **rest)
    wide = np.hstack([task.numbers, held_out_predictions(task)])
    scored = OffsetForest(actions=actions, random_state=0).fit(wide, task.action, **rest)
    predicted = boosting.predict_rewards(task.numbers_test)
    chosen = {
        "boosting": boosting.predict(task.numbers_test),
        "forest": forest.predict(task.numbers_test),
        "forest, with columns": scored.predict(np.hstack([task.numbers_test, predicted])),
    }
    votes = forest.predict_proba(task.numbers_test)
    ahead = predicted - predicted.mean(axis=1, keepdims=True)
    for share in SHARES:
        chosen[f"votes + {share}"] = (votes + share * ahead / max(float(ahead.std()), 1e-12)).argmax(axis=1)
    return {name: task.value(each) for name, each in chosen.items()}


def main() -> None:
    """Print a line per log."""
    parser = argparse.ArgumentParser(description="whether boosted predictions help an offset forest")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--logs", nargs="+", default=LOGS)
    chosen = parser.parse_args()
    for source in chosen.logs:
        found = [values(make_log(source, seed)) for seed in range(chosen.seeds)]
        means = {name: np.mean([each[name] for each in found]) for name in found[0]}
        print(f"{source:42} " + "  ".join(f"{name} {mean:.3f}" for name, mean in means.items()), flush=True)


if __name__ == "__main__":
    main()
