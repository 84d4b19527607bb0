"""One peer on one log: run by `accuracy.py` with the interpreter of an environment that holds the peer.

    python benchmarks/_accuracy_peer.py NAME FOLDER

The folder holds X, action, reward, propensity, k and new contexts, all numbers; the actions chosen for these are
written there, the version of the peer printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 0
UNUSED = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "seaborn", "pyieoe", "pyieoe.evaluator")  # of obp


@dataclass(frozen=True)
class PeerLog:
    """A log as numbers; rewards are 0 and 1, actions 0 to k - 1."""

    X: NDArray[np.float64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    k: int


Decide = Callable[[NDArray[np.float64]], NDArray[Any]]
Fit = Callable[[PeerLog, Path], Decide]


def old_numpy() -> None:
    """Bring back what contextualbandits 0.3.30 still calls and numpy 2.4 no longer has."""
    if not hasattr(np, "in1d"):
        setattr(np, "in1d", lambda values, among, **options: np.isin(np.ravel(values), among, **options))  # noqa: B010


class Nothing(type):
    """The kind of an empty class, in which whatever is asked for is another one."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})


class Absent(ModuleType):
    """Stands in for a package that is imported and not used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})


def linear_classifier() -> Any:
    """Return the learner of contextualbandits' own examples, which has none by default."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=15_000)


def forest_classifier() -> Any:
    """Return a stronger learner than those of the peers' examples."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=SEED)


def offset_tree(log: PeerLog, folder: Path) -> Decide:
    """Fit contextualbandits' OffsetTree with the learner of its example, logistic regression."""
    old_numpy()
    from contextualbandits.offpolicy import OffsetTree

    policy = OffsetTree(linear_classifier(), nchoices=log.k, njobs=1)
    policy.fit(X=log.X, a=log.action, r=log.reward, p=log.propensity)
    return lambda rows: policy.predict(rows)


def doubly_robust(log: PeerLog, folder: Path) -> Decide:
    """Fit contextualbandits' DoublyRobustEstimator with the learners of its example: ridge over logistic."""
    old_numpy()
    from contextualbandits.offpolicy import DoublyRobustEstimator
    from sklearn.linear_model import Ridge

    policy = DoublyRobustEstimator(Ridge(), reward_estimator=linear_classifier(), nchoices=log.k, njobs=1)
    policy.fit(X=log.X, a=log.action, r=log.reward, p=log.propensity)
    return lambda rows: policy.predict(rows)


def ipw_learner(learner: Callable[[], Any] | None) -> Fit:
    """Return Open Bandit Pipeline's IPWLearner; logistic regression is its default."""

    def fit(log: PeerLog, folder: Path) -> Decide:
        # What the package imports beside, for neural networks and plots, is not used here and is gigabytes.
        for name in (
            "torch",
            "torch.nn",
            "torch.nn.functional",
            "torch.optim",
            "seaborn",
            "pyieoe",
            "pyieoe.evaluator",
        ):
            sys.modules.setdefault(name, Absent(name))
        from obp.policy import IPWLearner

        policy = IPWLearner(n_actions=log.k, base_classifier=None if learner is None else learner())
        policy.fit(context=log.X, action=log.action, reward=log.reward, pscore=log.propensity)
        return lambda rows: policy.predict(rows)[:, :, 0].argmax(axis=1)

    return fit


def policy_forest(log: PeerLog, folder: Path) -> Decide:
    """Fit EconML's DRPolicyForest, which estimates propensities itself."""
    from econml.policy import DRPolicyForest

    policy = DRPolicyForest(categories=np.unique(log.action).tolist(), n_jobs=1, random_state=SEED)
    policy.fit(log.reward, log.action, X=log.X)
    logged = np.unique(log.action)
    return lambda rows: logged[policy.predict(rows).ravel()]


def vowpal(arguments: str) -> Fit:
    """Return Vowpal Wabbit in one pass over a file of text, as it is meant to be used."""

    def fit(log: PeerLog, folder: Path) -> Decide:
        from vowpalwabbit import Workspace

        path = folder / "log.txt"
        with path.open("w", encoding="utf-8") as file:
            rows = zip(log.X.tolist(), log.action.tolist(), log.reward.tolist(), log.propensity.tolist(), strict=True)
            for x, action, reward, propensity in rows:
                file.write(f"{action + 1}:{-reward:g}:{propensity:g} | {features(x)}\n")
        workspace = Workspace(f"{arguments.format(k=log.k)} --quiet -d {path}")

        def decide(contexts: NDArray[np.float64]) -> NDArray[Any]:
            answers = np.array([workspace.predict("| " + features(x)) for x in contexts.tolist()])
            return answers.argmax(axis=1) if answers.ndim == 2 else answers - 1

        return decide

    return fit


def features(x: list[float]) -> str:
    """Write a context as Vowpal Wabbit reads it."""
    return " ".join(f"{column}:{value:.6g}" for column, value in enumerate(x) if value)


# Package, environment of the Makefile, whether it is as its makers set it up, how to fit it.
PEERS: dict[str, tuple[str, str, bool, Fit]] = {
    "contextualbandits OffsetTree": ("contextualbandits", "rivals", True, offset_tree),
    "contextualbandits DoublyRobustEstimator": ("contextualbandits", "rivals", True, doubly_robust),
    "Open Bandit Pipeline IPWLearner": ("obp", "obp", True, ipw_learner(None)),
    "EconML DRPolicyForest": ("econml", "econml", True, policy_forest),
    "Vowpal Wabbit --cb_type mtr": ("vowpalwabbit", "rivals", True, vowpal("--cb {k} --cb_type mtr")),
    "Vowpal Wabbit --cb_type dr": ("vowpalwabbit", "rivals", True, vowpal("--cb {k} --cb_type dr")),
    "Open Bandit Pipeline IPWLearner, random forest": ("obp", "obp", False, ipw_learner(forest_classifier)),
}


def main() -> None:
    """Fit, decide, and tell the version."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    X, action, reward, propensity, rows, k = (
        np.load(folder / f"{part}.npy") for part in ("X", "action", "reward", "propensity", "rows", "k")
    )
    package, _, _, fit = PEERS[name]
    chosen = np.asarray(fit(PeerLog(X, action, reward, propensity, int(k)), folder)(rows)).astype(np.int64)
    np.save(folder / "chosen.npy", chosen)
    print(json.dumps({"version": version(package)}))


if __name__ == "__main__":
    main()
