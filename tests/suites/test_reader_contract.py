"""What holds for a log in every form: it is the same log, in chunks or whole, and what is wrong with it is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from offsettree import LoggedData
from offsettree.exceptions import ActionError, LogError, PropensityError, RewardError
from offsettree.logs import scan_tables
from tests.suites.readers import COLUMNS, FOLDERS, FORMS, Form, make_frame

every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def expected_features(frame: pd.DataFrame, form: Form) -> pd.DataFrame:
    return frame[["age", "score"]].fillna(0.0) if form.of_numbers else frame[["age", "city", "score"]]


def check_features(X: pd.DataFrame, frame: pd.DataFrame, form: Form) -> None:
    expected = expected_features(frame, form)
    assert sorted(X.columns) == sorted(expected.columns)
    for name in expected.columns:
        if name == "city":
            found, wanted = X[name].astype(object), expected[name].astype(object)
            np.testing.assert_array_equal(found.isna(), wanted.isna())
            assert found.dropna().tolist() == wanted.dropna().tolist()
        else:
            np.testing.assert_array_equal(X[name], expected[name])


@every_form
def test_it_is_the_same_log_in_every_form(form: Form, tmp_path: Path) -> None:
    frame = make_frame()
    log = LoggedData.read(form.write(frame, tmp_path / "log"))
    check_features(log.X, frame, form)
    np.testing.assert_array_equal(log.action, frame["action"])
    np.testing.assert_array_equal(log.reward, frame["reward"])
    np.testing.assert_array_equal(log.propensity, frame["propensity"])
    assert log.feature_names == list(log.X.columns)


@every_form
@pytest.mark.parametrize("chunk_rows", [1, 7])
def test_chunks_are_of_the_size_asked_for_and_join_to_the_log(form: Form, chunk_rows: int, tmp_path: Path) -> None:
    frame = make_frame(30 if chunk_rows == 1 else 300)
    scan = LoggedData.scan(form.write(frame, tmp_path / "log"), chunk_rows)
    for _ in range(2):
        chunks = list(scan)
        assert all(len(chunk) == chunk_rows for chunk in chunks[:-1])
        check_features(pd.concat([chunk.X for chunk in chunks], ignore_index=True), frame, form)
        np.testing.assert_array_equal(np.concatenate([chunk.action for chunk in chunks]), frame["action"])


@every_form
def test_the_tables_of_a_scan_have_one_schema(form: Form, tmp_path: Path) -> None:
    path = form.write(make_frame(), tmp_path / "log")
    schemas = {table.schema.to_string() for table in scan_tables(path, chunk_rows=10)}
    assert len(schemas) == 1


@every_form
def test_columns_come_in_the_order_asked_for(form: Form, tmp_path: Path) -> None:
    path = form.write(make_frame(), tmp_path / "log")
    tables = list(scan_tables(path, columns=["reward", "age"], chunk_rows=50))
    assert all(table.column_names == ["reward", "age"] for table in tables)
    assert sum(map(len, tables)) == 300
    with pytest.raises(LogError, match=r"log.* has no column 'rewart'; it has .*Did you mean 'reward'\?"):
        list(scan_tables(path, columns=["rewart"]))


@every_form
def test_the_facts_of_a_scan_are_those_of_the_log(form: Form, tmp_path: Path) -> None:
    frame = make_frame()
    scan = LoggedData.scan(form.write(frame, tmp_path / "log"), 64)
    assert scan.n_rows == 300
    assert scan.n_features == expected_features(frame, form).shape[1]
    assert scan.actions.tolist() == [1, 2, 3]
    assert scan.facts.counts == frame["action"].value_counts().to_dict()
    assert scan.facts.reward_range == (0.0, 1.0)
    assert scan.facts.propensity_range == (0.25, 1.0)
    assert scan.facts.mean_reward == pytest.approx(frame["reward"].mean())


@every_form
def test_the_format_is_recognised_whatever_the_name(form: Form, tmp_path: Path) -> None:
    path = form.write(make_frame(), tmp_path / "log")
    bare = path.rename(tmp_path / "bare")
    assert len(LoggedData.read(bare)) == 300


@every_form
def test_a_folder_of_two_files_is_their_rows_in_order(form: Form, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    frame = make_frame()
    form.write(frame[:100], folder / "part-0")
    form.write(frame[100:].reset_index(drop=True), folder / "part-1")
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden").write_text("?")
    log = LoggedData.read(folder)
    check_features(log.X, frame, form)
    np.testing.assert_array_equal(log.reward, frame["reward"])


@every_form
@pytest.mark.parametrize(
    ("column", "value", "error", "reason"),
    [
        ("reward", np.nan, (RewardError, ActionError), "missing"),
        ("propensity", 0.0, PropensityError, r"must be a probability in \(0, 1\]; it is 0.0"),
        ("propensity", 1.7, PropensityError, r"must be a probability in \(0, 1\]; it is 1.7.*divided by 100"),
    ],
)
def test_a_bad_value_is_named_with_its_file_row_and_column(
    form: Form, column: str, value: float, error: type[LogError], reason: str, tmp_path: Path
) -> None:
    frame = make_frame()
    frame.loc[216, column] = value
    path = form.write(frame, tmp_path / "log")
    with pytest.raises(error, match=rf"column '(action|{column})', row 217 of .*log.*{reason}"):
        LoggedData.read(path)
    with pytest.raises(error, match=rf"column '(action|{column})', row 217 of .*log.*{reason}"):
        list(LoggedData.scan(path, 50))


@every_form
def test_half_a_file_is_refused(form: Form, tmp_path: Path) -> None:
    path = form.write(make_frame(), tmp_path / "log")
    whole = path.read_bytes()
    half = whole[: len(whole) // 2]
    if form.of_lines and whole[:2] not in (b"\x1f\x8b", b"\x28\xb5"):
        half = half[: half.rindex(b"\n") + 2]  # a row that has only begun
    path.write_bytes(half)
    with pytest.raises(LogError, match=r"log"):
        LoggedData.read(path)


@every_form
def test_an_empty_file_is_refused(form: Form, tmp_path: Path) -> None:
    path = form.write(make_frame(), tmp_path / "log")
    path.write_bytes(b"")
    with pytest.raises(LogError, match=r"log.* is empty"):
        LoggedData.read(path)


@every_form
def test_an_identifier_is_no_action(form: Form, tmp_path: Path) -> None:
    path = form.write(make_frame().assign(score=range(300)), tmp_path / "log")
    with pytest.raises(ActionError, match=r"column 'score' of .*log.* has 300 distinct values in 300 rows"):
        LoggedData.read(path, action="score")


@pytest.mark.parametrize("form", FOLDERS.values(), ids=FOLDERS)
def test_partitions_are_columns(form: Form, tmp_path: Path) -> None:
    frame = make_frame()
    path = form.write(frame, tmp_path / "log")
    table = pd.concat([table.to_pandas() for table in scan_tables(path, chunk_rows=40)]).sort_values("order")
    np.testing.assert_array_equal(table["action"], frame["action"])
    log = LoggedData.read(path, features=["age", "city", "score"])
    assert len(log) == 300
    assert sorted(log.reward) == sorted(frame["reward"])
    assert list(table.columns)[-1] == "action"
    assert set(COLUMNS) < set(table.columns)
