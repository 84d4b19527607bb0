"""The histogram tree on frames: names are split by sets, and what is missing or new goes with the missing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from offsettree.exceptions import FeatureError
from offsettree.learners import HistogramTree

COLOURS = np.array(["red", "green", "blue", "grey"], dtype=object)


def make_colours(n_rows: int = 300, seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.RandomState(seed)
    colour = COLOURS[random.randint(4, size=n_rows)]
    return colour, random.normal(size=n_rows), np.isin(colour, ["red", "blue"]).astype(int)


def with_gaps(colour: Any, gap: Any) -> Any:
    return [gap if place % 10 == 0 else value for place, value in enumerate(colour)]


KINDS: dict[str, Any] = {
    "pandas object": lambda colour, x: pd.DataFrame({"colour": pd.Series(colour, dtype=object), "x": x}),
    "pandas str": lambda colour, x: pd.DataFrame({"colour": pd.Series(colour, dtype="str"), "x": x}),
    "pandas string": lambda colour, x: pd.DataFrame({"colour": pd.array(colour, dtype="string"), "x": x}),
    "pandas category": lambda colour, x: pd.DataFrame({"colour": pd.Categorical(colour), "x": x}),
    "polars string": lambda colour, x: pl.DataFrame({"colour": list(colour), "x": x}),
    "polars categorical": lambda colour, x: pl.DataFrame(
        {"colour": pl.Series(list(colour), dtype=pl.Categorical), "x": x}
    ),
    "polars enum": lambda colour, x: pl.DataFrame(
        {"colour": pl.Series(list(colour), dtype=pl.Enum([*COLOURS, "pink"])), "x": x}
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind_give_the_same_tree(kind: str) -> None:
    colour, x, label = make_colours()
    gap = with_gaps(colour, None)
    expected = HistogramTree().fit(KINDS["pandas object"](gap, x), label)
    frame = KINDS[kind](gap, x)
    tree = HistogramTree().fit(frame, label)
    np.testing.assert_array_equal(tree.flat_tree_.sets, expected.flat_tree_.sets)
    np.testing.assert_array_equal(tree.predict_proba(frame), expected.predict_proba(KINDS["pandas object"](gap, x)))
    seen = np.array([value is not None for value in gap])
    assert (tree.predict(frame) == label)[seen].all()
    assert tree.feature_names_in_.tolist() == ["colour", "x"]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_missing_names_are_missing_however_they_are_written(gap: Any) -> None:
    colour, x, label = make_colours()
    label[::10] = 1  # the rows with a gap
    frame = KINDS["pandas object"](with_gaps(colour, gap), x)
    tree = HistogramTree().fit(frame, label)
    assert tree.score(frame, label) == 1
    assert len(tree._bins.categories[0]) == 4
    other = KINDS["pandas object"]([None, np.nan, pd.NA, "never seen", "green"], np.zeros(5))
    assert tree.predict(other).tolist() == [1, 1, 1, 1, 0]


def test_the_name_of_a_missing_value_is_a_name() -> None:
    _, x, label = make_colours()
    frame = pd.DataFrame({"text": pd.Series(np.where(label == 1, "<NA>", "nan"), dtype=object), "x": x})
    tree = HistogramTree().fit(frame, label)
    assert tree.score(frame, label) == 1
    assert len(tree._bins.categories[0]) == 2


def test_names_not_seen_go_with_the_larger_part() -> None:
    frame = pd.DataFrame({"name": ["a"] * 10 + ["b"] * 4})
    new = pd.DataFrame({"name": ["c"]})
    assert HistogramTree().fit(frame, [0] * 10 + [1] * 4).predict(new) == [0]
    assert HistogramTree().fit(frame, [1] * 10 + [0] * 4).predict(new) == [1]


def test_of_many_names_the_62_most_frequent_are_kept_apart() -> None:
    names = [f"n{place:03d}" for place in range(100) for _ in range(100 - place)]
    label = np.array([int(name[-1]) % 2 for name in names])
    frame = pd.DataFrame({"name": names})
    tree = HistogramTree().fit(frame, label)
    frequent = np.array([int(name[1:]) < 62 for name in names])
    assert tree._bins.categories[0] == {f"n{place:03d}": place for place in range(62)}
    assert (tree.predict(frame) == label)[frequent].all()
    rare = pd.DataFrame({"name": ["n062", "n099", "never", None]})
    assert len(set(tree.predict(rare).tolist())) == 1


def test_truth_values_are_numbers_and_with_gaps_names() -> None:
    colour, x, label = make_colours()
    truth = label == 1
    for column in (
        truth,
        pd.array(truth, dtype="boolean"),
        [None if x > 1.5 else t for t, x in zip(truth, x, strict=True)],
    ):
        frame = pd.DataFrame({"truth": column, "colour": "same", "x": x})
        tree = HistogramTree(max_depth=1).fit(frame, label)
        assert tree.score(frame[:50], label[:50]) > 0.85
        assert tree.predict(frame.assign(truth=np.zeros(len(x), bool))[:5]).tolist() == [0] * 5
    gaps = pl.DataFrame({"truth": [None, *truth[1:].tolist()], "colour": list(colour)})
    assert HistogramTree(max_depth=1).fit(gaps, label).score(gaps[1:], label[1:]) == 1


def test_objects_that_are_numbers_may_come_back_as_numbers() -> None:
    _, x, label = make_colours()
    mixed = pd.Series([1 if value else "one" for value in label], dtype=object)
    tree = HistogramTree().fit(pd.DataFrame({"mixed": mixed, "x": x}), label)
    assert tree.predict(pd.DataFrame({"mixed": [1, 1.0, True], "x": 0.0})).tolist() == [1, 1, 1]


def test_a_frame_of_numbers_is_an_array_with_names() -> None:
    _, x, _ = make_colours()
    X = np.column_stack([x, np.where(x > 1, np.nan, x**2)])
    label = (X[:, 0] > 0.1).astype(int)
    expected = HistogramTree().fit(X, label).predict_proba(X)
    for frame in (pd.DataFrame(X, columns=["u", "v"]), pl.DataFrame(X, schema=["u", "v"])):
        tree = HistogramTree().fit(frame, label)
        np.testing.assert_array_equal(tree.predict_proba(frame), expected)
        with pytest.raises(FeatureError, match="feature names"):
            tree.predict(frame[["v", "u"]])
    nullable = pd.DataFrame({"u": pd.array(X[:, 0], dtype="Float64"), "v": pd.array(X[:, 1], dtype="Float64")})
    np.testing.assert_array_equal(HistogramTree().fit(nullable, label).predict_proba(nullable), expected)


def test_what_does_not_fit_the_fitted_columns_is_refused() -> None:
    colour, x, label = make_colours()
    frame = KINDS["pandas object"](colour, x)
    tree = HistogramTree().fit(frame, label)
    with pytest.raises(FeatureError, match="column 'x' must hold numbers as it did in fit"):
        tree.predict(frame.assign(x="much"))
    with pytest.raises(FeatureError, match="must be a pandas or polars frame"):
        tree.predict(np.zeros((2, 2)))
    with pytest.raises(FeatureError, match="feature names"):
        tree.predict(frame[["x", "colour"]])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    ("values", "message"), [([[1], [2]], "'odd' has others"), ([dt.date(2020, 1, 1)] * 2, "dates or times|dates")]
)
def test_what_is_neither_number_nor_name_is_refused(library: Any, values: Any, message: str) -> None:
    if library is pd.DataFrame and isinstance(values[0], dt.date):
        values = pd.to_datetime(pd.Series(values))
    with pytest.raises(FeatureError, match=message):
        HistogramTree().fit(library({"odd": values, "x": [0.0, 1.0]}), [0, 1])


def test_infinity_is_refused_beside_nominal_columns_too() -> None:
    frame = pd.DataFrame({"town": ["a", "b"] * 10, "age": [1.0, np.inf] * 10})
    with pytest.raises(FeatureError, match=r"infinity; row 1, column 'age' does \(10 in all\)"):
        HistogramTree().fit(frame, [0, 1] * 10)
