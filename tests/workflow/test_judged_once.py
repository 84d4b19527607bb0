"""A log is judged once: on its way to a policy nobody looks again at what was looked at.

To judge is to look at every row: at rewards (`bad_rewards`), propensities (`bad_propensities`), labels
(`check_actions`, of a file `actions_of`) and the values of X (`check_numbers`, of a frame `_refuse_infinity`). Not
counted: that a label is looked up among the actions, that rewards are compared with a range, and that the types of
columns, not their rows, are compared with what a learner takes.

Once is: rewards, propensities and labels once per row that is read or passed in. X once per table of numbers: what two
encoders make of the same rows are two tables. A policy that is asked for decisions on new rows looks at these.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import Counter
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import offsettree
from offsettree import (
    ConstantPolicy,
    DoublyRobust,
    LoggedData,
    OffsetForest,
    OffsetTree,
    OnlineOffsetTree,
    PolicySearch,
    RewardBoosting,
    RewardRegression,
    evaluate,
    save,
    simulate_log,
)
from offsettree.cli import main
from offsettree.datasets import make_campaign
from offsettree.workflow import learn_policy

N = 600
COLUMNS: dict[str, Any] = {"action": "mail", "reward": "visited", "propensity": "propensity"}
CANDIDATES = [
    ConstantPolicy(),
    RewardBoosting(n_trees=5),
    RewardRegression(Ridge()),
    OffsetTree(LogisticRegression()),
    OffsetForest(n_trees=2),
]


def rows_of(rule: str, *args: Any, **kwargs: Any) -> int:
    """How many rows of a log a call looks at; answers of policies and lists of actions are no rows of a log."""
    if rule == "check_actions" and kwargs.get("what", "action") != "action":
        return 0
    return len(args[0].table) if rule == "actions_of" else int(np.shape(args[0])[0])


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Rows looked at, by column of the log."""
    for module in pkgutil.walk_packages(offsettree.__path__, "offsettree."):
        with suppress(ImportError):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    counts: Counter[str] = Counter()
    for home, name, column in (
        ("_validation", "bad_rewards", "reward"),
        ("_validation", "bad_propensities", "propensity"),
        ("_labels", "check_actions", "action"),
        ("logs._log_columns", "actions_of", "action"),
        ("_features", "check_numbers", "X"),
        ("_features", "_refuse_infinity", "X"),
    ):
        rule = getattr(sys.modules[f"offsettree.{home}"], name)

        @wraps(rule)
        def counted(*args: Any, _rule: Any = rule, _column: str = column, **kwargs: Any) -> Any:
            counts[_column] += rows_of(_rule.__name__, *args, **kwargs)
            return _rule(*args, **kwargs)

        for module_name, user in list(sys.modules.items()):
            if module_name.startswith("offsettree") and vars(user).get(name) is rule:
                monkeypatch.setattr(user, name, counted)
    return counts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    pd.DataFrame(make_campaign(N, random_state=0).columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("learner", ["offset-tree", "reward-regression", "policy-tree"])
@pytest.mark.parametrize("refit", [True, False])
def test_from_a_file_to_a_policy_file(judged: Counter[str], file: Path, learner: str, refit: bool) -> None:
    arguments = [f"--{role}={name}" for role, name in COLUMNS.items()]
    out = file.with_name("policy.ot")
    arguments += ["--learner", learner, "--seed", "0", "-o", str(out), *([] if refit else ["--no-refit"])]
    assert main(["learn", str(file), *arguments]) == 0
    assert out.exists()
    n_tables = 1 + refit  # the final policy is trained on what a second encoder makes of all rows
    n_seen = judged.pop("X")
    assert 0.7 * N <= n_seen <= n_tables * N
    assert judged == {"reward": N, "propensity": N, "action": N}


def test_estimated_propensities_are_not_judged(judged: Counter[str], file: Path) -> None:
    arguments = ["--action=mail", "--reward=visited", "--propensity-estimated", "--learner=constant", "--seed=0"]
    assert main(["learn", str(file), *arguments, "-o", str(file.with_name("policy.ot"))]) == 0
    assert judged.pop("X") <= 2 * N
    assert judged == {"reward": N, "action": N}


def test_from_a_file_to_the_best_of_several_policies(judged: Counter[str], file: Path, tmp_path: Path) -> None:
    search = PolicySearch(CANDIDATES, cv=3, nested=False, random_state=0)
    log = LoggedData.read(file, **COLUMNS)
    learned = learn_policy(log, learner=search, random_state=0)
    save(learned.policy, tmp_path / "policy.ot", encoder=learned.encoder)
    assert judged.pop("X") <= 2 * N
    assert judged == {"reward": N, "propensity": N, "action": N}


@pytest.mark.parametrize(
    "policy",
    [
        OffsetTree(random_state=0),
        OffsetTree(LogisticRegression(), reward_model="boosting", random_state=0),
        OffsetForest(n_trees=2, bootstrap=True, random_state=0),
        DoublyRobust(Ridge(), "boosting", random_state=0),
        PolicySearch(CANDIDATES, cv=3, nested=False, random_state=0),
        PolicySearch(CANDIDATES, cv=3, random_state=0, reward_range=(-1.0, 3.0)),
    ],
    ids=["tree", "robust tree", "forest", "doubly robust", "search", "nested search"],
)
def test_a_fit_looks_at_each_row_once(judged: Counter[str], policy: Any) -> None:
    log = make_log()
    judged.clear()
    policy.fit(**log.arrays())
    assert judged == {"reward": N, "propensity": N, "action": N, "X": N}


def test_chunks_out_of_core_are_judged_as_they_are_made(judged: Counter[str]) -> None:
    log = make_log()
    OffsetTree(random_state=0).fit_log([log[:250], log[250:]])
    assert judged.pop("X") == N
    assert judged == {"reward": N, "propensity": N, "action": N}


def test_chunks_learned_online_are_judged_as_they_are_passed_in(judged: Counter[str]) -> None:
    log = make_log()
    judged.clear()
    policy = OnlineOffsetTree(actions=[0, 1, 2], random_state=0)
    for chunk in (log[:250], log[250:]):
        policy.partial_fit(**chunk.arrays())
    assert judged.pop("X", 0) <= N  # or the model shows afterwards whether they were good
    assert judged == {"reward": N, "propensity": N, "action": N}


def test_an_evaluation_looks_at_each_row_once(judged: Counter[str]) -> None:
    log, other = make_log(), make_log(1)
    policy = OffsetTree(random_state=0).fit(**log.arrays())
    judged.clear()
    evaluate(policy, **other.arrays(), method="doubly_robust", reward_model=Ridge(), random_state=0)
    assert judged.pop("X", 0) <= N
    assert judged == {"reward": N, "propensity": N, "action": N}


def make_log(seed: int = 0) -> LoggedData:
    random = np.random.RandomState(seed)
    X = random.normal(size=(N, 4))
    return simulate_log(X, np.digitize(X[:, 0], [-0.5, 0.5]), random_state=seed)
