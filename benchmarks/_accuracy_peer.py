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
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 0
LOADED_FIRST = ("lightgbm",)  # before time is taken
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


def lightgbm(per_action: bool, early_stopping: bool) -> Fit:
    """Return LightGBM as a model of the reward: one per action, or one with the action as a nominal column.

    With its own settings and 200 rounds; or at most 1,000, stopped when a fifth of the rows, held out, gained nothing
    for 20 rounds.
    """

    def fit(log: PeerLog, folder: Path) -> Decide:
        import lightgbm

        zero_one = bool(np.isin(log.reward, (0, 1)).all())
        settings = {
            "objective": "binary" if zero_one else "regression",
            "num_threads": 1,
            "verbosity": -1,
            "seed": SEED,
            "deterministic": True,
            "force_row_wise": True,
        }

        def train(X: NDArray[np.float64], reward: NDArray[np.float64], nominal: list[int] | str) -> Any:
            if len(reward) < 20 or len(np.unique(reward)) == 1:
                level = float(reward.mean()) if len(reward) else float(log.reward.mean())
                return lambda rows: np.full(len(rows), level)
            if not early_stopping:
                whole = lightgbm.Dataset(X, reward, categorical_feature=nominal)
                return lightgbm.train(settings, whole, 200).predict
            out = np.random.default_rng(SEED).permutation(len(reward)) % 5 == 0
            known = lightgbm.Dataset(X[~out], reward[~out], categorical_feature=nominal)
            held_out = lightgbm.Dataset(X[out], reward[out], reference=known, categorical_feature=nominal)
            stop = lightgbm.early_stopping(20, verbose=False)
            return lightgbm.train(settings, known, 1000, valid_sets=[held_out], callbacks=[stop]).predict

        if per_action:
            models = [train(log.X[log.action == a], log.reward[log.action == a], "auto") for a in range(log.k)]
            return lambda rows: np.asarray(np.column_stack([model(rows) for model in models]).argmax(axis=1))
        model = train(np.column_stack([log.X, log.action]), log.reward, [log.X.shape[1]])

        def decide(rows: NDArray[np.float64]) -> NDArray[Any]:
            parts = (np.column_stack([rows, np.full(len(rows), a)]) for a in range(log.k))
            return np.asarray(np.column_stack([model(part) for part in parts]).argmax(axis=1))

        return decide

    return fit


# Package, environment of the Makefile, whether it is as its makers set it up, how to fit it.
PEERS: dict[str, tuple[str, str, bool, Fit]] = {
    "contextualbandits OffsetTree": ("contextualbandits", "rivals", True, offset_tree),
    "contextualbandits DoublyRobustEstimator": ("contextualbandits", "rivals", True, doubly_robust),
    "Open Bandit Pipeline IPWLearner": ("obp", "obp", True, ipw_learner(None)),
    "EconML DRPolicyForest": ("econml", "econml", True, policy_forest),
    "Vowpal Wabbit --cb_type mtr": ("vowpalwabbit", "rivals", True, vowpal("--cb {k} --cb_type mtr")),
    "Vowpal Wabbit --cb_type dr": ("vowpalwabbit", "rivals", True, vowpal("--cb {k} --cb_type dr")),
    "Open Bandit Pipeline IPWLearner, random forest": ("obp", "obp", False, ipw_learner(forest_classifier)),
    "LightGBM, action as a column": ("lightgbm", "lightgbm", True, lightgbm(False, False)),
    "LightGBM, action as a column, stopped early": ("lightgbm", "lightgbm", True, lightgbm(False, True)),
    "LightGBM per action": ("lightgbm", "lightgbm", True, lightgbm(True, False)),
    "LightGBM per action, stopped early": ("lightgbm", "lightgbm", True, lightgbm(True, True)),
}


def main() -> None:
    """Fit each peer named, decide, and tell the version and the processor time of the fit, a line each."""
    names, folder = sys.argv[1:-1], Path(sys.argv[-1])
    X, action, reward, propensity, rows, k = (
        np.load(folder / f"{part}.npy") for part in ("X", "action", "reward", "propensity", "rows", "k")
    )
    for place, name in enumerate(names):
        package, _, _, fit = PEERS[name]
        if package in LOADED_FIRST:
            import_module(package)
        begun = process_time()
        decide = fit(PeerLog(X, action, reward, propensity, int(k)), folder)
        seconds = process_time() - begun
        np.save(folder / f"chosen{place}.npy", np.asarray(decide(rows)).astype(np.int64))
        print(json.dumps({"version": version(package), "fit_seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main()
