"""Files that are not logs, or not yet: each is refused by a sentence that names the file, the place and the remedy."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from offsettree import LoggedData
from offsettree.exceptions import ActionError, LogError, ParameterError, PropensityError, RewardError
from offsettree.logs import recognise_action_sets, scan_tables

GOOD = b"x,action,reward,propensity\n" + b"".join(b"%d,%d,0.5,0.25\n" % (row, row % 4) for row in range(40))


def write(folder: Path, content: bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_the_good_file_is_one(tmp_path: Path) -> None:
    assert len(LoggedData.read(write(tmp_path, GOOD))) == 40


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", LogError, r"log\.csv is empty"),
        (b"\n \n\n", LogError, r"log\.csv holds only white space"),
        (GOOD.split(b"\n")[0], LogError, r"log\.csv has its columns \(x, action, reward, propensity\) but no row"),
        (GOOD.split(b"\n")[0] + b"\n", LogError, r"log\.csv has its columns"),
        (GOOD + b"1,2,abc,0.5\n", RewardError, r"column 'reward', row 41 of .*log\.csv.*'abc'.*reward=\.\.\."),
        (GOOD + b'1,2,"0,5",0.5\n', RewardError, r"row 41 of .*log\.csv.*'0,5'.*decimal=','"),
        (GOOD + b"1,2,,0.5\n", RewardError, r"column 'reward', row 41 of .*log\.csv.*missing.*Drop rows"),
        (GOOD + b"1,2,inf,0.5\n", RewardError, r"column 'reward', row 41 of .*log\.csv.*is inf"),
        (GOOD + b"1,2,1,0\n", PropensityError, r"column 'propensity', row 41 of .*log\.csv.*is 0\.0.*Drop rows"),
        (GOOD + b"1,2,1,-1\n", PropensityError, r"row 41 of .*log\.csv.*is -1\.0"),
        (GOOD + b"1,2,1,1.7\n", PropensityError, r"row 41 of .*log\.csv.*is 1\.7.*divided by 100"),
        (GOOD + b"1,2,1,NA\n", PropensityError, r"row 41 of .*log\.csv.*missing.*estimated"),
        (GOOD + b"1,,1,0.5\n", ActionError, r"column 'action', row 41 of .*log\.csv.*missing"),
        (GOOD + b"1,2.5,1,0.5\n", ActionError, r"column 'action', row 41 of .*log\.csv.*is 2\.5"),
        (GOOD + b"1,2,1\n", LogError, r"4 are named, and 3 found in row 41 \('1,2,1'\) of .*log\.csv"),
        (GOOD + b"1,2,1,1,1\n", LogError, r"4 are named, and 5 found in row 41"),
        (GOOD + b"1,caf\xe9,1,0.5\n", LogError, r"column 'action', row 41 of .*log\.csv.*encoding='latin-1'"),
        (b"caf\xe9," + GOOD, LogError, r"the header of .*log\.csv.*encoding='latin-1'"),
        (GOOD.replace(b"x,", b"reward,", 1), LogError, r"log\.csv has 'reward' more than once"),
        (
            GOOD.replace(b"reward,", b"gain,", 1),
            LogError,
            r"column for the reward.*It has x, action, gain.*reward=\.\.\.",
        ),
        (GOOD.replace(b"x,", b"click,", 1).replace(b"reward,", b"visit,", 1), LogError, r"several .*'click', 'visit'"),
        (GOOD.replace(b",propensity", b",chance", 1), PropensityError, r"no column of .*log\.csv looks like it"),
        (GOOD.partition(b"\n")[2], LogError, r"first line of a CSV file must name the columns.*log\.csv"),
        ("a,b\n1,é\n".encode("utf-16"), LogError, r"log\.csv begins as UTF-16 does\. Pass encoding='utf-16'"),
        (b"PK\x03\x04xxxx", LogError, r"log\.csv is a zip archive or an Excel workbook"),
        (b"\x80\x05xxxxx", LogError, r"log\.csv is a pickle, which is not opened"),
        (b"a,b\n\x00\x01\x02", LogError, r"log\.csv is none of them: it is not text"),
        (b'[{"x": 1}]', LogError, r"log\.csv is one list\. Write it line by line"),
        (gzip.compress(GOOD, mtime=0)[:60], LogError, r"log\.csv cannot be read to its end"),
        (GOOD + b'1,2,1,"0.5\n' + b"1,2,1,0.5\n" * 200_000, LogError, r"log\.csv"),
    ],
)
def test_a_bad_file_is_refused_in_words(content: bytes, error: type[LogError], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(error, match=message):
        LoggedData.read(path)
    with pytest.raises(error, match=message):
        list(LoggedData.scan(path, 16))


def test_a_bad_row_far_into_a_file_is_numbered_as_in_the_file(tmp_path: Path) -> None:
    head, _, rows = GOOD.partition(b"\n")
    path = write(tmp_path, head + b"\n" + rows * 5_000 + b"7,1,oops,0.5\n" + rows)  # several blocks
    with pytest.raises(RewardError, match=r"row 200001 of .*'oops'"):
        LoggedData.read(path)
    path = write(tmp_path, head + b"\n" + rows * 5_000 + b"7,1\n" + rows)
    with pytest.raises(LogError, match=r"row 200001 \('7,1'\)"):
        list(scan_tables(path))
    path = write(tmp_path, head + b"\n" + rows * 5_000 + b"\xff,1,1,0.5\n" + rows)
    with pytest.raises(LogError, match=r"column 'x', row 200001 of .*latin-1"):
        list(scan_tables(path))


def test_a_million_actions_are_an_identifier(tmp_path: Path) -> None:
    rows = b"".join(b"1,%d,0.5,0.25\n" % (row % 100_001) for row in range(250_000))
    path = write(tmp_path, GOOD.partition(b"\n")[0] + b"\n" + rows)
    for attempt in (
        LoggedData.read,
        lambda path: list(LoggedData.scan(path)),
        lambda path: LoggedData.scan(path).facts,
    ):
        with pytest.raises(ActionError, match=r"100,001 distinct values .*as an identifier has"):
            attempt(path)


def test_a_file_that_is_not_there_and_a_folder_without_files(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"nowhere\.csv does not exist"):
        LoggedData.read(tmp_path / "nowhere.csv")
    with pytest.raises(LogError, match=r"holds none"):
        LoggedData.read(tmp_path)
    (tmp_path / "_SUCCESS").write_text("done")
    with pytest.raises(LogError, match=r"holds none"):
        LoggedData.read(tmp_path)


def test_a_name_that_is_a_number_twice_is_no_row_among_names(tmp_path: Path) -> None:
    header = b"action,reward,propensity,1,1\n"
    with pytest.raises(LogError, match=r"must have a name of its own; .* has '1' more than once"):
        LoggedData.read(write(tmp_path, header + b"a,0.5,0.25,3,4\n"))
    with pytest.raises(LogError, match=r"must name the columns; that of .* is 7, saab, 0, 0"):
        LoggedData.read(write(tmp_path, b"7,saab,0,0\n8,van,1,0\n"))


def test_a_first_file_without_rows_does_not_hide_what_the_columns_are(tmp_path: Path) -> None:
    header = b"x,action,eligible,reward,propensity\n"
    write(tmp_path, header, "a.csv")
    write(tmp_path, header + b"".join(b"%d,a,a|b%d,0.5,0.25\n" % (row, row % 2) for row in range(40)), "b.csv")
    assert recognise_action_sets(tmp_path) == ("eligible", False, True)


def test_a_first_file_of_white_space_does_not_hide_the_format(tmp_path: Path) -> None:
    write(tmp_path, b"\n", "a.json")
    write(tmp_path, b'{"x": 1, "action": "a", "reward": 1, "propensity": 0.5}\n' * 3, "b.json")
    assert len(LoggedData.read(tmp_path)) == 3


def test_files_of_a_folder_must_agree(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "a.csv")
    write(tmp_path, b"z" + GOOD, "b.csv")
    with pytest.raises(LogError, match=r"same header; .*a\.csv has x, .*b\.csv has zx, "):
        LoggedData.read(tmp_path)


def test_what_is_not_the_format_that_its_name_says(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"must be parquet, as its name says; it does not begin as such files do"):
        LoggedData.read(write(tmp_path, GOOD, "log.parquet"))
    assert len(LoggedData.read(tmp_path / "log.parquet", format="csv")) == 40
    with pytest.raises(LogError, match=r"every line must be one JSON object; row 2 of .*log\.ndjson.*cut off"):
        LoggedData.read(write(tmp_path, b'{"a": 1}\n{"a": 1', "log.ndjson"))
    with pytest.raises(LogError, match=r"row 2 of .*log\.ndjson is '3'"):
        LoggedData.read(write(tmp_path, b'{"a": 1}\n3\n', "log.ndjson"))
    with pytest.raises(LogError, match=r"text must be utf-8; row 2 of .*log\.ndjson.*latin-1"):
        LoggedData.read(write(tmp_path, b'{"a": 1}\n{"a": "\xff"}\n', "log.ndjson"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "excel"}, "format must be one of csv, ndjson"),
        ({"cost": "regret"}, "cost must be one of negative_reward"),
        *(
            ({"encoding": odd}, "encoding must be one that Python knows")
            for odd in ("klingon", "undefined", "idna", "punycode", "rot13", "a\0b", "", 5)
        ),
        ({"types": {"x": "date"}}, 'types must be "number" or "text"'),
        *(({"delimiter": odd}, "delimiter must be one character") for odd in ("ab", "é", "\0", "\n", "\r", '"', 5)),
        ({"decimal": ""}, "decimal must be one character"),
        ({"decimal": "·"}, "decimal must be one character"),
        ({"colour": "red"}, "there is no option 'colour'"),
    ],
)
def test_options_that_cannot_be_meant(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        LoggedData.read(write(tmp_path, GOOD), **arguments)


def test_text_that_is_not_in_the_encoding_that_was_passed(tmp_path: Path) -> None:
    for name in ("log.csv", "log.ndjson", "log.vw"):
        for header in (True, False):
            with pytest.raises(LogError, match=r"text must be utf-16; .*log\."):
                LoggedData.read(write(tmp_path, GOOD, name), encoding="utf-16", format=name[4:], header=header)


@pytest.mark.parametrize("data", [b"x" * 200_000 + b",a,1,0.5\n1,b,0,0.5\n", b"1,a,1,0.5\r2,b,0,0.5\r"])
def test_a_first_row_without_a_header_may_be_long_or_end_as_on_old_machines(data: bytes, tmp_path: Path) -> None:
    names: dict[str, Any] = {"action": "column_2", "reward": "column_3", "propensity": "column_4"}
    assert LoggedData.read(write(tmp_path, data), header=False, **names).action.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1, "x": ' + b"[" * 100 + b'"' + b'\\"' * (1 << 22) + b"\n",  # a string that is never closed
        b"1:" + b"1" * 30_000 + b":" + b"1" * 30_000 + b"\n",  # no label of Vowpal Wabbit, for want of a bar
        b"1:" + b"1" * 60_000 + b"\n",
    ],
)
def test_a_line_is_read_once_not_from_each_of_its_characters_on(data: bytes, tmp_path: Path) -> None:
    """Else these would take years."""
    with pytest.raises(LogError):
        LoggedData.read(write(tmp_path, data, "log"))


def test_roles_that_cannot_be_meant(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(LogError, match=r"log\.csv has no column 'Reward'; it has .*Did you mean 'reward'"):
        LoggedData.read(path, reward="Reward")
    with pytest.raises(LogError, match=r"must be different columns"):
        LoggedData.read(path, action="reward", reward="reward")
    with pytest.raises(LogError, match=r"features must be known before the decision; 'reward'"):
        LoggedData.read(path, features=["x", "reward"])
    with pytest.raises(PropensityError, match=r"one number in \(0, 1\]; got 50"):
        LoggedData.read(path, propensity=50)
    with pytest.raises(LogError, match=r"must have features to decide by"):
        LoggedData.read(write(tmp_path, b"action,reward,propensity\n1,1,1\n"))
    with pytest.raises(ParameterError, match=r"chunk_rows must be a whole number of at least 1; got 0"):
        LoggedData.scan(path, 0)
