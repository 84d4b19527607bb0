"""What goes wrong on the way: a clear error, nothing half-written, and a rerun goes on from what the store has."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from offsettree import LoggedData, OffsetTree, RewardRegression
from offsettree.distributed import DistributedOffsetTree, DistributedRewardRegression, Store
from offsettree.exceptions import EngineError, FeatureError, LogError, ParameterError, RewardError, ScratchError
from tests.distributed.conftest import AT_LENGTH, write_log
from tests.distributed.deadly import DamagesStore, FailsWhile
from tests.distributed.test_engines import CLASSES
from tests.policy_files import content_of, many_actions


def blobs(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"*/{kind}-*"))


def test_a_rerun_goes_on_from_what_the_store_has(local: Any, logs: Path, tmp_path: Path) -> None:
    marker, store = tmp_path / "marker", tmp_path / "store"
    marker.touch()
    spread = DistributedOffsetTree(FailsWhile(str(marker)), random_state=0, client=local, storage=store)
    with pytest.raises(RuntimeError, match="told to fail"):
        spread.fit(logs)
    assert len(blobs(store, "rows")) == 5
    marker.unlink()
    blobs(store, "rows")[0].unlink()  # lost
    with blobs(store, "rows")[1].open("r+b") as file:
        file.truncate(100)  # cut short
    spread.fit(logs)
    assert spread.n_tasks_["found"] >= 5 + 3  # files looked at, and three that are still sorted
    assert not list(store.iterdir())
    alone = OffsetTree(FailsWhile(str(marker)), random_state=0).fit_log(LoggedData.scan(logs))
    assert content_of(spread.to_local()) == content_of(alone)


def test_rows_lost_in_mid_fit_are_named(local: Any, logs: Path, tmp_path: Path) -> None:
    spread = DistributedOffsetTree(DamagesStore(str(tmp_path)), random_state=0, client=local, storage=tmp_path)
    with pytest.raises(ScratchError, match=r"standing-.* is gone or cut short. Run again"):
        spread.fit(logs)
    assert not hasattr(spread, "actions_")


class Folder:
    """A folder and the one above it, with owners."""

    def __init__(self, owner: int, above: int | None = None) -> None:
        self.st_uid = owner
        self.parent: Any = None if above is None else Folder(above)

    def stat(self) -> Folder:
        return self


def test_objects_of_another_user_are_not_unpickled() -> None:
    """Else who may write to the folder above, such as /tmp, could put some there before a fit begins."""
    we, root, other = os.getuid(), os.getuid() + 1, os.getuid() + 2
    for owner, above, refused in [(we, root, False), (other, root, True), (other, other, False), (other, we, True)]:
        store = Store("offsettree-0")
        store.__dict__["_folder"] = Folder(owner, above)
        with pytest.raises(ScratchError, match="other users") if refused else contextlib.nullcontext():
            store.check_owner()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_a_fit_does_not_begin_in_a_folder_of_another_user(local: Any, logs: Path, tmp_path: Path) -> None:
    spread = DistributedRewardRegression(client=local, storage=tmp_path, random_state=0)
    made, put = [], Store.put

    def put_in_a_folder_of_another(store: Store, kind: str, value: Any) -> Any:
        blob = put(store, kind, value)
        os.chown(store.url, 12345, -1)
        made.append(store.url)
        return blob

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "put", put_in_a_folder_of_another)
        with pytest.raises(ScratchError, match="other users"):
            spread.fit(logs)
    assert len(made) == 1


def test_a_damaged_file_is_named(local: Any, tmp_path: Path) -> None:
    write_log(tmp_path, many_actions(500))
    damaged = tmp_path / "part-3.parquet"
    damaged.write_bytes(damaged.read_bytes()[:300])
    with pytest.raises(LogError, match=r"part-3\.parquet"):
        DistributedRewardRegression(client=local).fit(tmp_path)


def test_a_row_that_is_refused_is_named_with_its_file(local: Any, tmp_path: Path) -> None:
    log = many_actions(500)
    log.reward[450] = 7.0
    write_log(tmp_path, log)
    with pytest.raises(RewardError, match=r"part-4\.parquet.*row 50"):
        DistributedRewardRegression(client=local).fit(tmp_path)


def test_files_with_other_columns_are_refused(local: Any, tmp_path: Path) -> None:
    write_log(tmp_path, many_actions(300), 2)
    (tmp_path / "more").mkdir()
    write_log(tmp_path / "more", many_actions(300, n_columns=4), 1)
    with pytest.raises(LogError, match=r"same columns.*features="):
        DistributedRewardRegression(client=local).fit([tmp_path, tmp_path / "more"])


def test_text_is_refused_without_an_encoder(local: Any, tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"town": ["A", "B"] * 50, "action": [0, 1] * 50, "reward": [0.0, 1.0] * 50})
    frame.assign(propensity=0.5).to_parquet(tmp_path / "log.parquet")
    with pytest.raises(FeatureError, match="town"):
        DistributedRewardRegression(client=local).fit(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"client": "spark://host:1"}, "client must be None"),
        ({"client": "local://0"}, "client must be None"),
        ({"client": 3}, "client must be None"),
        ({"node_models": "shared"}, "node_models must be 'separate'"),
        ({"offset": "median_given_x"}, "offset must be a number"),
    ],
)
def test_settings_are_refused_before_any_work(settings: dict[str, Any], message: str, logs: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        DistributedOffsetTree(**settings).fit(logs)


def test_a_pattern_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"at least one file.*nothing-\*"):
        DistributedOffsetTree().fit(str(tmp_path / "nothing-*"))


def test_a_store_that_cannot_be_written_to_is_named(local: Any, logs: Path) -> None:
    with pytest.raises(ScratchError, match=r"storage must be a folder.*Check rights"):
        DistributedOffsetTree(client=local, storage="/proc/no-store").fit(logs)


def test_a_full_store_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(FileIO):
        def write(self, data: Any) -> int:
            if len(data) > 1000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data) or 0

    monkeypatch.setattr("offsettree.distributed.store.FileIO", Full)
    with pytest.raises(ScratchError, match=r"must have room; .* is full"):
        Store(str(tmp_path)).put("rows", b"x" * 5000)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A disk in memory, to be mounted with options, and mounted anew with others."""
    place = tmp_path / "disk"

    def mount(options: str) -> Path:
        again = "remount," if place.is_mount() else ""
        command = ["mount", "-t", "tmpfs", "-o", again + options, "tmpfs", str(place)]
        if subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603
            pytest.skip("only root may mount a disk")
        return place

    place.mkdir()
    yield mount
    subprocess.run(["umount", str(place)], check=False, capture_output=True)  # noqa: S603, S607


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_full_disk_is_named_and_a_rerun_goes_on(
    cls: Any, local: Any, logs: Path, disk: Callable[[str], Path]
) -> None:
    settings = {"random_state": 0} | ({} if cls in (OffsetTree, RewardRegression) else {"n_trees": 3})
    place = disk("size=100k")
    spread = CLASSES[cls](client=local, storage=place, **settings)
    with pytest.raises(ScratchError, match=r"must have room.*goes on from here"):
        spread.fit(logs)
    assert not hasattr(spread, "actions_")
    for number in range(2):  # the other worker may still be at its task
        (done,) = local.wait([local.submit(len, "done", near=number)])
        assert local.gather(done) == 4
    (store,) = (Store(str(each)) for each in place.iterdir())
    routed = [store.read_record(name) for key, names in store.recorded().items() for name in names if "route" in key]
    assert {each.rows.name for each in routed} == {path.name for path in place.glob("*/rows-*")}
    assert all(store.has(each.rows) and store.has(each.sample) for each in routed)
    disk("size=20m")
    spread.fit(logs)
    assert spread.n_tasks_["found"] >= len(logs_of(logs)) + len(routed)
    assert content_of(spread.to_local()) == content_of(cls(**settings).fit_log(LoggedData.scan(logs)))
    assert not list(place.iterdir())


def logs_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def test_a_disk_that_cannot_be_written_to_is_named(local: Any, logs: Path, disk: Callable[[str], Path]) -> None:
    disk("size=1m")
    with pytest.raises(ScratchError, match=r"workers can write.*Read-only file system.*Check rights"):
        DistributedOffsetTree(client=local, storage=disk("ro")).fit(logs)


def test_a_store_of_fsspec_makes_the_same_policy(local: Any, logs: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="the extra dask is not installed")
    spread = DistributedOffsetTree(random_state=0, client=local, storage=f"file://{tmp_path}/store")
    spread.fit(f"file://{logs}/*.parquet")
    assert content_of(spread.to_local()) == content_of(OffsetTree(random_state=0).fit_log(LoggedData.scan(logs)))
    assert not list((tmp_path / "store").iterdir())


@pytest.mark.parametrize("address", ["dask://127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_engine_that_cannot_be_reached_is_named(
    address: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if address.startswith("ray") and not AT_LENGTH:
        pytest.skip("Ray takes long to give up: make test-engines waits for it")
    pytest.importorskip("distributed" if address.startswith("dask") else "ray", reason="the extra is not installed")
    from offsettree.engines import _dask

    monkeypatch.setattr(_dask, "SECONDS", 1)
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:1.*Check host and port"):
        DistributedOffsetTree(client=address, storage=tmp_path).fit(logs)
    assert not list(tmp_path.iterdir())
