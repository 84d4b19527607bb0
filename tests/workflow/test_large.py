"""Learning from files: the split, the sums of partitioned logs, and the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pandas as pd
import pytest

from offsettree import RewardRegression, evaluate, load
from offsettree.cli import main
from offsettree.distributed.files import Columns, Split, chunks_of, find_files
from offsettree.engines import LocalEngine
from offsettree.exceptions import EmptyLogError, ParameterError
from offsettree.workflow import first_look, large
from offsettree.workflow.large import LARGE_LEARNERS, evaluate_files, learn_from_files
from tests.distributed.conftest import AT_LENGTH, ENGINES, running, write_log
from tests.policy_files import content_of, many_actions

COLUMNS = ["--action", "action", "--reward", "reward", "--propensity", "propensity"]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_log(folder, many_actions(2_000), 3)
    return folder


def test_rows_are_held_out_by_their_places_alone(logs: Path) -> None:
    files = find_files(logs)
    n_rows = {}
    for held_out in (True, False):
        found = []
        for chunk_rows in (100, 777):
            columns = Columns({"chunk_rows": chunk_rows}, split=Split(0.3, 5, held_out))
            found.append(np.concatenate([log.reward for log in chunks_of(files, columns)]))
        assert np.array_equal(found[0], found[1])
        n_rows[held_out] = len(found[0])
    assert n_rows[True] + n_rows[False] == 2_000
    assert 500 < n_rows[True] < 700


def test_a_pattern_and_a_folder_make_the_same_policy_file_on_any_way(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways: dict[str, list[str]] = {
        "a": [str(logs / "*.parquet"), "--out-of-core"],
        "b": [str(logs), "--engine", "local://1"],
    }
    found: dict[str, Any] = {}
    for name, way in ways.items():
        out = tmp_path / f"{name}.ot"
        more = ["--learner", "offset-tree", "--seed", "0", "--no-refit", "-o", str(out)]
        assert main(["learn", *way, *COLUMNS, *more]) == 0
        capsys.readouterr()
        loaded = load(out)
        found[name] = loaded.manifest["estimate"], loaded.predict(_rows()).tolist()
    assert found["a"] == found["b"]


WRITERS: dict[str, Any] = {
    "parquet": lambda frame, path: frame.to_parquet(path),
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "ndjson": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}
# Parquet is tried above; make test-engines takes every learner with every format.
PAIRED = {("offset-tree", "csv"), ("reward-regression", "ndjson")}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.filterwarnings("ignore")  # those of engines, of their own accord
def test_the_command_learns_the_same_file_on_every_engine(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name != "local" and not AT_LENGTH:
        pytest.skip("make test-engines runs the command on Dask and Ray")
    ways = [(learner, suffix) for learner in LARGE_LEARNERS for suffix in WRITERS]
    with running(name) as engine:
        address = {"local": "local://1", "ray": "ray://local"}.get(name) or f"dask://{engine.scheduler.address[6:]}"
        for learner, suffix in ways if AT_LENGTH else sorted(PAIRED):
            pattern = write_raw(tmp_path / f"{learner}-{suffix}", suffix)
            more = ["--learner", learner, "--seed", "0", *COLUMNS]
            spread = ["--engine", address, "--storage", str(tmp_path / "store")]
            found = []
            for where, way in (("here", ["--out-of-core"]), ("there", spread)):
                out = tmp_path / f"{learner}-{suffix}-{where}.ot"
                assert main(["learn", pattern, *more, *way, "-o", str(out)]) == 0
                found.append((content_of(load(out)), load(out).manifest["estimate"], load(out).encoder.to_manifest()))
            assert found[0] == found[1]
    capsys.readouterr()


def write_raw(folder: Path, suffix: str) -> str:
    """Write a log with words and gaps to three files; return their pattern."""
    folder.mkdir()
    log, random = many_actions(1_200), np.random.default_rng(0)
    columns = {"action": log.action, "reward": log.reward, "propensity": log.propensity}
    frame = (
        pd.DataFrame(log.X)
        .add_prefix("x")
        .assign(plan=random.choice(np.array(["pro", "free", None]), len(log)), **columns)
    )
    frame.loc[random.random(len(log)) < 0.1, "x1"] = np.nan
    for number in range(3):
        WRITERS[suffix](frame[number * 400 : (number + 1) * 400], folder / f"{number}.{suffix}")
    return str(folder / f"*.{suffix}")


def _rows() -> Any:
    return pd.DataFrame(many_actions(100, seed=3).X).add_prefix("x")


def test_a_large_log_is_learned_from_in_files_by_itself(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not large.is_large(logs)
    monkeypatch.setattr(large, "_free_memory", lambda: 1000)
    assert large.is_large(logs)
    assert main(["learn", str(logs), *COLUMNS, "--seed", "0", "-o", str(tmp_path / "policy.ot")]) == 0
    assert "reward boosting, the one preferred there" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--out-of-core", "--group", "x0"], "--group cannot be used"),
        (["--engine", "local", "--distill"], "--distill cannot be used"),
        (["--engine", "abacus"], "client must be None"),
        (["--storage", "here"], "--storage needs --engine"),
        (["--learner", "online", "--engine", "local"], "cannot be used with --learner online"),
        (["--learner", "policy-tree", "--engine", "local"], "the learner must be one of offset-tree"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    logs: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", str(logs), *COLUMNS, *more]) != 0
    assert message in " ".join(capsys.readouterr().err.split())


def test_the_value_on_files_is_the_same_on_workers(logs: Path) -> None:
    local = LocalEngine(1)
    log = many_actions(1_000, seed=9)
    policy = RewardRegression(random_state=0).fit(**log.arrays() | {"X": pd.DataFrame(log.X).add_prefix("x")})
    here = large.evaluate_files(policy, logs)
    there = large.evaluate_files(policy, logs, engine=local)
    local.close()
    assert there == here
    frame = pd.concat([pd.read_parquet(path) for path in sorted(logs.iterdir())])
    parts = {"reward": frame["reward"].to_numpy(), "propensity": frame["propensity"].to_numpy()}
    X = frame[[f"x{column}" for column in range(5)]]
    whole = evaluate(policy, X, frame["action"].to_numpy(), **parts, method="snips", interval="normal")
    assert there.value == pytest.approx(whole.value, abs=1e-12)
    assert there.stderr == pytest.approx(whole.stderr, rel=0.01)


def test_the_share_held_out_must_be_one() -> None:
    with pytest.raises(ParameterError, match="test_size"):
        large.learn_from_files("nothing", test_size=2.0)


def test_few_files_are_looked_at_before_they_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path, many_actions(400), 40)
    alive: WeakSet[Any] = WeakSet()
    most, look_at_file = 0, first_look.look_at_file

    def look(*job: Any) -> first_look.Look | None:
        nonlocal most
        found = look_at_file(*job)
        assert found is not None
        alive.add(found.constant)
        most = max(most, len(alive))
        return found

    monkeypatch.setattr(first_look, "look_at_file", look)
    files = find_files(tmp_path)
    looked = first_look.look_at_files(files, Columns({}), Split(0.3, 0, False), None, "log", None)
    assert len(files) == 40
    assert looked.first.n_rows == 400
    assert most <= 3


@pytest.mark.parametrize("suffix", WRITERS)
def test_files_without_rows_are_passed_over_unless_all_are(suffix: str, tmp_path: Path) -> None:
    log = many_actions(900)
    columns = {"action": log.action, "reward": log.reward, "propensity": log.propensity, "cents": 100 * log.reward + 5}
    frame = pd.DataFrame(log.X).add_prefix("x").assign(**columns)
    folder, full = tmp_path / "log", tmp_path / "full"
    for each in (folder, full):
        each.mkdir()
    for number, part in enumerate([frame[:0], frame[:500], frame[:0], frame[500:]]):
        WRITERS[suffix](part, folder / f"{number}.{suffix}")
        if len(part):
            WRITERS[suffix](part, full / f"{number}.{suffix}")
    how: dict[str, Any] = {"learner": "offset-tree", "random_state": 0}
    whole = content_of(learn_from_files(full, **how)[0])
    for engine in (None, "local://1"):
        policy, encoder, facts, _ = learn_from_files(folder, **how, engine=engine)
        assert content_of(policy) == whole
        assert facts.log.rows == 900
        assert facts.tree is not None
        assert facts.tree["rows"] > 0
        assert any("'cents' is the reward in other units" in text for text in facts.warnings)
    assert evaluate_files(policy, folder, encoder=encoder).n_rows == 900
    for place in (1, 3):
        (folder / f"{place}.{suffix}").unlink()
    for engine in (None, "local://1"):
        with pytest.raises(EmptyLogError, match="none of the 2 files"):
            learn_from_files(folder, **how, engine=engine)
    with pytest.raises(EmptyLogError, match="none of its 2 files"):
        evaluate_files(policy, folder)
