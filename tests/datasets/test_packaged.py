from __future__ import annotations

import gzip
import sys
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from offsettree import OffsetTree, simulate_log
from offsettree.datasets import NAMES, load
from offsettree.exceptions import MissingExtraError, OffsetTreeError, ParameterError
from tools.build_datasets import RECIPES, pack, sha256

# name: k and m of Table 1, then the features, all and nominal ones. Of letters there are 26; the paper prints 25.
TABLE_1 = {
    "ecoli": (8, 336, 7, 0),
    "flare": (7, 1388, 10, 10),
    "glass": (6, 214, 9, 0),
    "letter": (26, 20000, 16, 0),
    "lymph": (4, 148, 18, 15),
    "optdigits": (10, 5620, 64, 0),
    "page-blocks": (5, 5473, 10, 0),
    "pendigits": (10, 10992, 16, 0),
    "satimage": (6, 6435, 36, 0),
    "soybean": (19, 683, 35, 35),
    "vehicle": (4, 846, 18, 0),
    "vowel": (11, 990, 12, 2),
    "yeast": (10, 1484, 8, 0),
}
NOMINAL = [name for name, (*_, n_nominal) in TABLE_1.items() if n_nominal]
NUMERIC = [name for name in TABLE_1 if name not in NOMINAL]


def packaged(name: str) -> bytes:
    return files("offsettree.datasets").joinpath("data", f"{name}.csv.gz").read_bytes()


def test_the_names_are_those_of_table_1() -> None:
    assert tuple(TABLE_1) == NAMES == tuple(RECIPES)


@pytest.mark.parametrize("name", NAMES)
def test_rows_classes_and_features_are_those_of_table_1(name: str) -> None:
    dataset = load(name)
    n_actions, n_rows, n_features, n_nominal = TABLE_1[name]
    assert (dataset.n_actions, len(dataset)) == (n_actions, n_rows)
    assert dataset.X.shape == (n_rows, n_features)
    assert dataset.y.shape == (n_rows,)
    assert dataset.y.dtype.kind == "U"
    assert (dataset.classes != "").all()
    assert len(set(dataset.feature_names)) == n_features
    assert len(dataset.nominal) == n_nominal
    assert dataset.name == name
    assert dataset.source.startswith("UCI Machine Learning Repository: ")
    assert repr(dataset) == f"<Dataset {name}: {n_rows:,} rows, {n_features} features, {n_actions} actions>"


@pytest.mark.parametrize("name", NUMERIC)
def test_numbers_come_as_an_array_or_as_a_frame(name: str) -> None:
    array, frame = load(name).X, load(name, as_frame=True).X
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert np.isfinite(array).all()
    assert (frame.dtypes == np.float64).all()
    assert tuple(frame.columns) == load(name).feature_names
    np.testing.assert_array_equal(frame.to_numpy(), array)


@pytest.mark.parametrize("name", NOMINAL)
def test_nominal_features_stay_nominal(name: str) -> None:
    dataset = load(name)
    assert tuple(dataset.X.columns) == dataset.feature_names
    for column in dataset.X:
        dtype = dataset.X[column].dtype
        if column in dataset.nominal:
            assert isinstance(dtype, pd.CategoricalDtype)
            assert all(isinstance(value, str) and value for value in dtype.categories)
        else:
            assert dtype == np.float64
    pd.testing.assert_frame_equal(dataset.X, load(name, as_frame=True).X)


def test_codes_that_are_digits_are_names_where_the_source_says_so() -> None:
    assert set(load("flare").X["evolution"]) == {"1", "2", "3"}


def test_counts_among_nominal_features_are_numbers() -> None:
    lymph = load("lymph")
    assert [name for name in lymph.feature_names if name not in lymph.nominal] == [
        "Lym_nodes_dimin",
        "Lym_nodes_enlar",
        "No_of_nodes_in",
    ]


def test_what_is_missing_stays_missing() -> None:
    missing = load("soybean").X.isna()
    assert int(missing.to_numpy().sum()) == 2337
    assert set(missing.columns[~missing.any()]) == {"leaves"}
    assert not load("flare").X.isna().to_numpy().any()
    assert not load("lymph").X.isna().to_numpy().any()


def test_the_most_frequent_flare_count_is_none_at_all() -> None:
    label, count = np.unique(load("flare").y, return_counts=True)
    assert dict(zip(label.tolist(), count.tolist(), strict=True)) == {
        "0": 1171,
        "1": 141,
        "2": 40,
        "3": 20,
        "4": 9,
        "5": 4,
        "6": 3,
    }


def test_page_blocks_are_mended() -> None:
    frame = load("page-blocks", as_frame=True).X
    np.testing.assert_allclose(frame["area"], frame["height"] * frame["lenght"])
    for ratio, part, whole in [
        ("eccen", "lenght", "height"),
        ("p_black", "blackpix", "area"),
        ("p_and", "blackand", "area"),
    ]:
        np.testing.assert_allclose(frame[ratio], frame[part] / frame[whole], rtol=1e-4, atol=6e-4)  # as printed
    assert int((load("page-blocks").y == "4").sum()) == 88


def test_an_offset_tree_learns_from_nominal_features_with_missing_values() -> None:
    soybean = load("soybean")
    log = simulate_log(soybean.X, soybean.y, random_state=0)
    encoded = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(max_depth=5))
    policy = OffsetTree(encoded, random_state=0).fit(**log.arrays())
    assert np.mean(policy.predict(soybean.X) == soybean.y) > 2 / 19


def test_datasets_do_not_share_their_arrays() -> None:
    first = load("glass")
    first.X[:] = 0
    assert load("glass").X.any()


@pytest.mark.parametrize("name", ["iris", "Letter", "", None, ["letter"]])
def test_an_unknown_name_is_refused_with_the_known_ones(name: Any) -> None:
    with pytest.raises(ParameterError, match=r"one of ecoli, flare, .*, vowel, yeast; got "):
        load(name)


@pytest.fixture
def without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)


@pytest.mark.usefixtures("without_pandas")
@pytest.mark.parametrize(("name", "as_frame"), [(name, False) for name in NOMINAL] + [("glass", True)])
def test_without_pandas_a_frame_is_refused_with_the_remedy(name: str, as_frame: bool) -> None:
    with pytest.raises(MissingExtraError, match=r"needs pandas.*pip install offsettree\[data\]") as refusal:
        load(name, as_frame=as_frame)
    assert isinstance(refusal.value, ImportError)
    assert isinstance(refusal.value, OffsetTreeError)


@pytest.mark.usefixtures("without_pandas")
@pytest.mark.parametrize("name", NUMERIC)
def test_without_pandas_arrays_are_still_loaded(name: str) -> None:
    assert len(load(name).X) == TABLE_1[name][1]


@pytest.mark.parametrize("name", NAMES)
def test_the_packaged_file_is_the_one_that_the_script_builds(name: str) -> None:
    recipe = RECIPES[name]
    text = gzip.decompress(packaged(name))
    assert sha256(text) == recipe.sha256
    header, *rows = text.decode().splitlines()
    assert header == f"{recipe.features},target"
    assert (len(rows), len({row.rpartition(",")[2] for row in rows})) == (recipe.n_rows, recipe.n_classes)


@pytest.mark.parametrize("name", NAMES)
def test_the_packaged_file_tells_neither_time_nor_machine(name: str) -> None:
    header = pack("")[:10]  # no flags (so no file name), no time, the system unknown
    assert header == bytes.fromhex("1f8b08000000000002ff")
    assert packaged(name)[:10] == header


def test_nothing_else_lies_beside_the_data() -> None:
    folder = files("offsettree.datasets").joinpath("data")
    assert {file.name for file in folder.iterdir()} == {"README.md", *(f"{name}.csv.gz" for name in NAMES)}


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_beside_the_data_has_the_counts(name: str) -> None:
    text = files("offsettree.datasets").joinpath("data", "README.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {RECIPES[name].n_rows} | {RECIPES[name].n_classes} |" in text


def test_every_file_has_its_licence_or_is_said_to_have_none_that_is_known() -> None:
    folder = files("offsettree.datasets") / "data"
    section = (folder / "README.md").read_text().partition("## Licences")[2].partition("\n## ")[0]
    rows = {line.split("|")[1].strip(" `"): line for line in section.splitlines() if line.startswith("| `")}
    assert set(rows) == {each.name for each in folder.iterdir() if each.name.endswith(".gz")}
    for line in rows.values():
        licence, asked, package = (cell.strip() for cell in line.split("|")[2:5])
        assert licence.startswith(("CC BY 4.0", "unknown"))
        assert asked
        assert package
