"""`evaluate --group` and `compare --group`: rows of one customer are not taken to be independent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import offsettree
from offsettree.cli import main
from offsettree.logs import LoggedData

Capture = pytest.CaptureFixture[str]
N_SHOPS, ROWS_EACH = 60, 10


def make_log(seed: int) -> pd.DataFrame:
    """Make a log in which all rows of a shop earn alike, whatever is done."""
    random = np.random.default_rng(seed)
    shop = np.repeat(np.arange(N_SHOPS), ROWS_EACH)
    reward = (random.random(N_SHOPS) < 0.5).astype(float)[shop]
    n_rows = len(shop)
    columns = {"x": random.normal(size=n_rows), "shop": shop, "action": random.choice(["a", "b"], n_rows)}
    return pd.DataFrame({**columns, "reward": reward, "propensity": 0.5})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    make_log(0).to_csv(folder / "log.csv", index=False)
    data = make_log(1)
    data.to_csv(folder / "next.csv", index=False)
    data.assign(shop="shop " + data["shop"].astype(str)).to_parquet(folder / "next.parquet")
    learn = ["learn", str(folder / "log.csv"), "--learner", "constant", "--method", "snips", "--features", "x"]
    assert main([*learn, "-o", str(folder / "p.ot")]) == 0
    return folder


def call(capsys: Capture, *arguments: Any) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(each) for each in arguments])
    said = capsys.readouterr()
    return code, " ".join(said.out.split()), " ".join(said.err.split())


def write_vw(path: Path, shops: list[str]) -> Path:
    data = make_log(1)
    rows = zip(data["action"], data["reward"], data["x"], shops, strict=True)
    lines = [f"{1 + (action == 'b')}:{-reward}:0.5 |f x:{x:.4f} {shop}" for action, reward, x, shop in rows]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("method", ["snips", "doubly_robust"])
@pytest.mark.parametrize("name", ["next.csv", "next.parquet"])
def test_evaluate_says_what_python_says_of_groups(name: str, method: str, folder: Path, capsys: Capture) -> None:
    command = ["evaluate", folder / "p.ot", folder / name, "--method", method]
    code, out, _ = call(capsys, *command, "--group", "shop")
    assert code == 0
    assert f"From 600 rows of {N_SHOPS} groups, taken to be independent" in out
    told, alone = (json.loads(call(capsys, *command, *more, "--json")[1]) for more in (["--group", "shop"], []))
    assert told["estimate"]["n_groups"] == N_SHOPS
    assert alone["estimate"]["n_groups"] is None
    for quantity in ("estimate", "constant"):
        width, other = (each[quantity]["high"] - each[quantity]["low"] for each in (told, alone))
        assert width > 2 * other
    log, shop = LoggedData.read(folder / name, features=["x"]), pd.read_csv(folder / "next.csv")["shop"]
    if method == "snips":
        policy = offsettree.load(folder / "p.ot")
        found = offsettree.evaluate(policy, **log.arrays(), group=shop, reward_range=(0, 1), random_state=0)
        assert (told["estimate"]["low"], told["estimate"]["high"]) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize("name", ["next.csv", "next.parquet"])
def test_compare_groups_policies_and_constants(name: str, folder: Path, capsys: Capture) -> None:
    command = ["compare", folder / name, folder / "p.ot", "a", "b", "--baseline", "b", "--json"]
    told, alone = (json.loads(call(capsys, *command, *more)[1]) for more in (["--group", "shop"], []))
    for each, other in zip(told, alone, strict=True):
        assert each["estimate"]["value"] == pytest.approx(other["estimate"]["value"])
        assert each["estimate"]["n_groups"] == N_SHOPS
        widths = [found["estimate"]["high"] - found["estimate"]["low"] for found in (each, other)]
        assert widths[0] > 2 * widths[1]
    constants = json.loads(call(capsys, "compare", folder / name, "a", "b", "--group", "shop", "--json")[1])
    assert constants[0]["estimate"]["n_groups"] == N_SHOPS
    grouped, independent = ({**each[1]["to_baseline"]} for each in (told, alone))
    assert grouped["value"] == pytest.approx(independent["value"])
    assert abs(grouped["low"] / independent["low"] - 1) > 0.01


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            ["--group", "shopp"],
            "has no column 'shopp'; it has x, shop, action, reward, propensity. Did you mean 'shop'?",
        ),
        (["--group", "gaps"], "column 'gaps' must give every row a group; it is missing in row 3 (2 in all)"),
        (["--group", "words"], "column 'words' must give every row a group; it is missing in row 3 (2 in all)"),
        (["--group", "one"], "column 'one' must have at least two groups; all 600 rows are in one"),
        (["--group", "reward"], "group must tell apart what rows belong to, such as customers; 'reward' is the log's"),
        (["--group", "shop", "--interval", "betting"], "--interval betting assumes independent rows"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_what_cannot_be_a_group_is_refused(
    command: str, more: list[str], text: str, folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    data = make_log(1)
    if more[1] in ("gaps", "words", "one"):
        gaps = data["shop"].astype(float).where(~data.index.isin([3, 7]))
        data["gaps"], data["words"], data["one"] = gaps, ("s" + gaps.astype(str)).where(gaps.notna()), 1
    data.to_csv(tmp_path / "log.csv", index=False)
    files = [folder / "p.ot", tmp_path / "log.csv"]
    code, out, err = call(capsys, command, *(files if command == "evaluate" else reversed(files)), *more)
    assert (code, out) == (2, "")
    assert text in err


def test_a_numeric_feature_of_vowpal_wabbits_format_may_be_the_group(tmp_path: Path, capsys: Capture) -> None:
    log = write_vw(tmp_path / "log.vw", [f"shop:{1 + i // ROWS_EACH}" for i in range(N_SHOPS * ROWS_EACH)])
    told = json.loads(call(capsys, "compare", log, "1", "2", "--group", "f.shop", "--json")[1])
    assert told[0]["estimate"]["n_groups"] == N_SHOPS


@pytest.mark.parametrize("command", ["compare", "learn"])
def test_features_that_are_no_single_column_cannot_be_the_group(command: str, tmp_path: Path, capsys: Capture) -> None:
    more = ["1", "2"] if command == "compare" else ["-o", tmp_path / "p.ot"]
    n_rows = N_SHOPS * ROWS_EACH
    log = write_vw(tmp_path / "log.vw", [f"shop=s{i // ROWS_EACH}" for i in range(n_rows)])
    code, _, err = call(capsys, command, log, *more, "--group", "f.shop")
    assert code == 2
    assert "in log.vw 'f.shop' is spread over one feature per value (f.shop=s0, ...)" in err.replace(f"{tmp_path}/", "")
    assert "Write it as a number, as in name:7, or write the log as CSV or Parquet" in err
    log = write_vw(tmp_path / "wide.vw", [f"shop:{i // ROWS_EACH} u{i} v{i}" for i in range(n_rows)])
    code, _, err = call(capsys, command, log, *more, "--group", "f.shop")
    assert code == 2
    assert "is one of more than 1,024 features, read as a sparse matrix" in err
