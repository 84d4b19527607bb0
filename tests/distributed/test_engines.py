"""One contract for all engines: tasks, and the policy file of one process, byte for byte."""

from __future__ import annotations

import os
import time
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

from offsettree import LoggedData, OffsetForest, OffsetTree, RewardBoosting, RewardRegression
from offsettree.distributed import (
    DistributedOffsetForest,
    DistributedOffsetTree,
    DistributedRewardBoosting,
    DistributedRewardRegression,
    _fit,
    connected,
    reward_boosting,
)
from offsettree.engines import LocalEngine, WorkerLostError
from offsettree.exceptions import EngineError
from tests.distributed import deadly
from tests.distributed.conftest import AT_LENGTH
from tests.distributed.deadly import KillsAlways, KillsOnce, RegressorThatKillsOnce, die, fail
from tests.policy_files import content_of

pytestmark = pytest.mark.filterwarnings("ignore")  # those of engines, of their own accord

CLASSES: dict[Any, Any] = {
    OffsetTree: DistributedOffsetTree,
    OffsetForest: DistributedOffsetForest,
    RewardRegression: DistributedRewardRegression,
    RewardBoosting: DistributedRewardBoosting,
}
POLICIES: dict[str, tuple[type, dict[str, Any]]] = {
    "tree": (OffsetTree, {}),
    "learned tree of logistic": (
        OffsetTree,
        {"estimator": LogisticRegression(), "tree": "learned", "offset": "mean"},
    ),
    "similar tree, median": (OffsetTree, {"tree": "similar", "offset": "median"}),
    "forest": (OffsetForest, {"n_trees": 3}),
    "forest of logistic": (OffsetForest, {"estimator": LogisticRegression(), "n_trees": 2}),
    "regression": (RewardRegression, {}),
    "boosting": (RewardBoosting, {"n_trees": 8}),
}


def wait_for(engine: Any, task: Any) -> Any:
    while not engine.wait([task]):
        pass
    return engine.gather(task)


def test_tasks_return_results_errors_and_the_loss_of_a_worker(client: Any) -> None:
    with connected(client) as engine:
        assert engine.n_workers == 2
        tasks = [engine.submit(mul, number, 3) for number in range(8)]
        assert [wait_for(engine, task) for task in tasks] == [0, 3, 6, 9, 12, 15, 18, 21]
        with pytest.raises(ValueError, match="told to fail"):
            wait_for(engine, engine.submit(fail))
        if AT_LENGTH or isinstance(client, LocalEngine):  # others take long to start workers anew
            with pytest.raises(WorkerLostError):
                wait_for(engine, engine.submit(die))
        assert wait_for(engine, engine.submit(mul, 2, 3)) == 6
        engine.cancel([engine.submit(mul, 1, 1)])


def test_tasks_of_a_number_go_to_the_same_worker(client: Any) -> None:
    with connected(client) as engine:
        while engine.n_workers < 2:  # one that died is being started anew
            time.sleep(0.1)
        places = {
            number: {wait_for(engine, engine.submit(os.getpid, near=number)) for _ in range(3)} for number in (0, 1)
        }
    assert all(len(found) == 1 for found in places.values())
    assert places[0] != places[1]


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_policy_file_is_that_of_one_process(
    client: Any, policy: tuple[type, dict[str, Any]], logs: Path, tmp_path: Path
) -> None:
    cls, settings = policy
    if not AT_LENGTH and not isinstance(client, LocalEngine) and settings:
        pytest.skip("make test-engines runs all policies on all engines")
    alone = cls(random_state=0, **settings).fit_log(LoggedData.scan(logs))
    spread = CLASSES[cls](random_state=0, client=client, storage=tmp_path, **settings)
    spread.fit(f"{logs}/*.parquet", action="action", reward="reward", propensity="propensity")
    assert content_of(spread.to_local()) == content_of(alone)
    assert not list(tmp_path.iterdir())
    assert spread.n_tasks_["lost"] == 0
    assert type(spread.to_local()) is cls
    row = dict.fromkeys([f"x{column}" for column in range(5)], 0.5)
    assert spread.decide(row) == alone.decide(row)


def killed_once(cls: Any, marker: Path) -> Any:
    """Return a policy that one of its tasks dies for; with boosting it is the task itself that is deadly."""
    settings: dict[Any, dict[str, Any]] = {
        OffsetTree: {"estimator": KillsOnce(str(marker))},
        OffsetForest: {"estimator": KillsOnce(str(marker)), "n_trees": 2},
        RewardRegression: {"estimator": RegressorThatKillsOnce(str(marker))},
        RewardBoosting: {"n_trees": 8},
    }
    return cls(random_state=0, **settings[cls])


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_worker_killed_in_training_changes_nothing(
    client: Any, cls: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AT_LENGTH and not isinstance(client, LocalEngine):
        pytest.skip("make test-engines kills workers of all engines")
    monkeypatch.setattr(reward_boosting, "boost_without_fold", deadly.boost_without_fold)
    marker = tmp_path / "marker"
    policy = killed_once(cls, marker)
    given = policy.get_params(deep=False) | {"client": client, "storage": tmp_path / "store"}
    spread = CLASSES[cls](**given).fit(logs)
    assert marker.exists()
    assert spread.n_tasks_["lost"] >= 1
    assert content_of(spread.to_local()) == content_of(policy.fit_log(LoggedData.scan(logs)))


def test_a_worker_killed_while_it_sorts_a_file_changes_nothing(
    client: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AT_LENGTH and not isinstance(client, LocalEngine):
        pytest.skip("make test-engines kills workers of all engines")
    monkeypatch.setattr(_fit, "route", deadly.route)
    spread = DistributedOffsetTree(random_state=0, client=client, storage=tmp_path / "store").fit(logs)
    assert (tmp_path / "marker").exists()
    assert content_of(spread.to_local()) == content_of(OffsetTree(random_state=0).fit_log(LoggedData.scan(logs)))


@pytest.mark.skipif(not AT_LENGTH, reason="make test-engines kills workers again and again")
def test_workers_that_keep_dying_end_the_fit(client: Any, logs: Path, tmp_path: Path) -> None:
    spread = DistributedOffsetTree(KillsAlways(), client=client, storage=tmp_path)
    with pytest.raises(EngineError, match=r"workers must survive.*Run again"):
        spread.fit(logs)
    assert not hasattr(spread, "tree_")


def test_a_connection_to_another_cluster_is_not_used(client: Any) -> None:
    if getattr(client, "__name__", None) != "ray":
        pytest.skip("only Ray has one connection for all")
    with pytest.raises(EngineError, match=r"perhaps not to 127\.0\.0\.1:1.*client=ray"), connected("ray://127.0.0.1:1"):
        pass
    with connected("ray://local") as engine:
        assert engine.n_workers == 2
