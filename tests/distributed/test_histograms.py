"""Boosting on shares of the rows: the file of one process, whatever dies or fails on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import LoggedData, RewardBoosting
from offsettree.distributed import DistributedRewardBoosting, _histograms
from offsettree.distributed._histograms import PART_ROWS, shares_of
from offsettree.engines import LocalEngine
from offsettree.exceptions import EngineError, ScratchError
from tests.distributed import deadly
from tests.distributed.conftest import AT_LENGTH, write_log
from tests.policy_files import content_of

pytestmark = pytest.mark.filterwarnings("ignore")

SETTINGS: dict[str, Any] = {"n_trees": 4, "max_depth": 3, "random_state": 0}


@pytest.fixture(scope="module")
def long_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files with rows for three parts."""
    folder = tmp_path_factory.mktemp("long")
    random = np.random.default_rng(0)
    n_rows = 2 * PART_ROWS + 9_000
    X = random.standard_normal((n_rows, 3), dtype=np.float32)
    action = random.integers(0, 3, n_rows)
    reward = (random.random(n_rows) < 0.2 + 0.5 * (X[np.arange(n_rows), action] > 0)).astype(float)
    write_log(folder, LoggedData(X, action, reward, np.full(n_rows, 1 / 3)), 3)
    return folder


@pytest.fixture(scope="module")
def alone(long_logs: Path) -> Any:
    """The content of the file that one process makes."""
    return content_of(RewardBoosting(**SETTINGS).fit_log(LoggedData.scan(long_logs)))


def spread_over(client: Any, store: Path, n_shares: int) -> DistributedRewardBoosting:
    spread = DistributedRewardBoosting(**SETTINGS, client=client, storage=store)
    spread._n_shares = n_shares
    return spread


@pytest.mark.parametrize("n_shares", [2, 3])
def test_the_policy_file_is_that_of_one_process(
    client: Any, n_shares: int, long_logs: Path, alone: Any, tmp_path: Path
) -> None:
    if not AT_LENGTH and not (isinstance(client, LocalEngine) and n_shares == 2):
        pytest.skip("make test-engines runs more shares, and other engines")
    spread = spread_over(client, tmp_path, n_shares).fit(long_logs)
    assert content_of(spread.to_local()) == alone
    assert spread.task_seconds_["sum_level"] > 0
    assert not list(tmp_path.iterdir())


def test_a_worker_killed_while_a_tree_is_grown_changes_nothing(
    client: Any, long_logs: Path, alone: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AT_LENGTH and not isinstance(client, LocalEngine):
        pytest.skip("make test-engines kills workers of all engines")
    monkeypatch.setattr(_histograms, "sum_level", deadly.sum_level)
    spread = spread_over(client, tmp_path / "store", 2).fit(long_logs)
    assert (tmp_path / "died").exists()
    assert spread.n_tasks_["lost"] >= 1
    assert content_of(spread.to_local()) == alone


def test_workers_that_keep_dying_end_the_fit(
    client: Any, long_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AT_LENGTH and not isinstance(client, LocalEngine):
        pytest.skip("make test-engines kills workers of all engines")
    monkeypatch.setattr(_histograms, "sum_leaves", deadly.sum_no_leaves)
    spread = spread_over(client, tmp_path, 2)
    with pytest.raises(EngineError, match=r"workers must survive.*Run again"):
        spread.fit(long_logs)
    assert not hasattr(spread, "actions_")


def test_a_part_that_is_lost_is_named(
    local: Any, long_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_histograms, "measure", deadly.measure_without_parts)
    with pytest.raises(ScratchError, match=r"part-.* is gone or cut short. Run again"):
        spread_over(local, tmp_path, 2).fit(long_logs)


def test_a_rerun_goes_on_from_the_last_tree(
    local: Any, long_logs: Path, alone: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "marker").touch()
    monkeypatch.setattr(_histograms, "sum_leaves", deadly.sum_leaves)
    spread = spread_over(local, tmp_path / "store", 2)
    with pytest.raises(RuntimeError, match="told to fail"):
        spread.fit(long_logs)
    assert len(list(tmp_path.glob("store/*/tree-*"))) >= 2
    (tmp_path / "marker").unlink()
    spread.fit(long_logs)
    again = spread.n_tasks_["run"]
    assert content_of(spread.to_local()) == alone
    assert again < spread_over(local, tmp_path / "store", 2).fit(long_logs).n_tasks_["run"]


@pytest.mark.parametrize(
    ("n_workers", "n_fits", "expected"), [(1, 2, 1), (2, 2, 1), (4, 2, 2), (8, 4, 2), (6, 4, 3), (7, 4, 7), (64, 4, 10)]
)
def test_every_worker_has_as_many_shares(n_workers: int, n_fits: int, expected: int) -> None:
    found = shares_of(n_workers, n_fits, 10 * PART_ROWS)
    assert found == expected
    assert found == 10 or found * n_fits % n_workers == 0 or n_workers <= n_fits
