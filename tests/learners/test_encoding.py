from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from offsettree.exceptions import FeatureError
from offsettree.learners import NominalEncoder


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_nominal_columns_become_zeros_and_ones_and_numbers_stay(kind: Any) -> None:
    frame = kind({"colour": ["red", None, "blue"], "size": [1.0, np.nan, 3.0]})
    table = NominalEncoder().fit_transform(frame)
    np.testing.assert_array_equal(table[:, :2], [[0, 1], [0, 0], [1, 0]])
    np.testing.assert_array_equal(table[:, -1], [1.0, np.nan, 3.0])
    assert table.shape == (3, 4)  # a missing colour has a column of its own
    assert NominalEncoder(impute=True).fit_transform(frame)[1, -1] == 2.0


WORDS = st.lists(st.sampled_from(["red", "blue", "", "Zoe", "é", None]), min_size=12, max_size=12)


@given(WORDS, WORDS, st.lists(st.floats(-9, 9) | st.none(), min_size=12, max_size=12), st.booleans())
def test_the_numbers_are_those_of_scikit_learns_own_encoders(
    words: list[Any], others: list[Any], numbers: list[Any], impute: bool
) -> None:
    frame = pd.DataFrame({"a": pd.Series(words, dtype=object), "n": np.array(numbers, dtype=float)})
    frame["c"] = pd.Categorical(others, categories=["Zoe", "red", "never", "blue", "", "é"])
    train, test = frame.iloc[:7], frame.iloc[7:]
    steps = [SimpleImputer(keep_empty_features=True)] if impute else [FunctionTransformer()]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    theirs = ColumnTransformer([("nominal", one_hot, ["a", "c"]), ("numeric", make_pipeline(*steps), ["n"])]).fit(train)
    ours = NominalEncoder(impute=impute).fit(train)
    for part in (train, test):
        np.testing.assert_array_equal(ours.transform(part), theirs.transform(part))
        np.testing.assert_array_equal(ours.transform(pl.from_pandas(part)), theirs.transform(part))


def test_a_nominal_column_of_words_and_numbers_is_refused() -> None:
    for values in (["a", 1], [["a"], ["b"]]):
        with pytest.raises(FeatureError, match="column 'mixed' has others"):
            NominalEncoder().fit(pd.DataFrame({"mixed": pd.Series(values, dtype=object)}))


def test_values_not_seen_in_fitting_have_zeros_only() -> None:
    encoder = NominalEncoder().fit(pd.DataFrame({"colour": ["red", "blue"]}))
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"colour": ["green", "red"]})), [[0, 0], [0, 1]])


def test_arrays_pass_unchanged() -> None:
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    np.testing.assert_array_equal(NominalEncoder().fit_transform(X), X)
    assert (NominalEncoder().fit_transform(sp.csr_matrix(X[:, :1])) != sp.csr_matrix(X[:, :1])).nnz == 0
    np.testing.assert_array_equal(NominalEncoder(impute=True).fit_transform(X), [[1, 3], [2, 3]])


def test_nullable_numbers_are_numbers_and_dates_are_refused() -> None:
    frame = pd.DataFrame(
        {"n": pd.array([1, None, 3], dtype="Int64"), "b": pd.array([True, None, False], dtype="boolean")}
    )
    np.testing.assert_array_equal(NominalEncoder().fit_transform(frame), [[1, 1], [np.nan, np.nan], [3, 0]])
    for dates in (
        pd.DataFrame({"when": pd.to_datetime(["2026-01-01", "2026-01-02"])}),
        pl.DataFrame({"when": ["2026-01-01", "2026-01-02"]}).with_columns(pl.col("when").str.to_date()),
    ):
        with pytest.raises(FeatureError, match="'when' holds dates"):
            NominalEncoder().fit(dates)


@parametrize_with_checks([NominalEncoder(), NominalEncoder(impute=True)])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)
