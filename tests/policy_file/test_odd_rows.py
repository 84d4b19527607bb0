"""Rows that are no tables of numbers are refused by an error of ours, by policies live and loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from offsettree import OffsetTree, OnlineOffsetTree, load, save
from offsettree.exceptions import FeatureError
from tests.policy_file.forgery import contexts, small_log

X = contexts(5)


def broken(**arrays: Callable[[Any], Any]) -> Any:
    """A CSR matrix whose arrays do not go together."""
    matrix = sp.csr_matrix(X)
    for name, change in arrays.items():
        setattr(matrix, name, change(getattr(matrix, name)))
    return matrix


NO_NUMBERS: list[Any] = [
    {},
    10**400,
    date(2024, 1, 1),
    np.datetime64("2024"),
    None,
    object,
    Decimal("1e400"),
    1j,
]
ODD: dict[str, Any] = {
    "a sparse row of one dimension": sp.coo_array(X[0]),
    "too few rows": broken(indptr=lambda array: array[:3]),
    "too few numbers": broken(data=lambda array: array[:3]),
    "too few places": broken(indices=lambda array: array[:3]),
    "places that are no whole numbers": broken(indices=lambda array: array * 1.0),
    "numbers that are objects": broken(data=lambda array: array.astype(object)),
    "numbers of 16 bits": broken(data=lambda array: array.astype(np.float16)),
    "numbers in a column": broken(data=lambda array: array.reshape(-1, 1)),
    "dates": X.astype("datetime64[s]"),
    "times": X.astype("timedelta64[s]"),
    "complex numbers": X.astype(complex),
    "a mapping in a table": np.array([[{}, 1, 2, 3]], dtype=object),
    "a number of 400 digits": np.array([[10**400, 1, 2, 3]], dtype=object),
    **{f"a list with {value!r:.20}": [[value, 1, 2, 3]] for value in NO_NUMBERS},
    "a list of dates": [[np.datetime64("2024")] * 4],
    "a list of spans": [[np.timedelta64(5, "s")] * 4],
    "rows of different lengths": [[1, 2, 3, 4], [1]],
    "nests": [[[1], 2, 3, 4]],
}
with suppress(ValueError):  # scipy 1.13 has none
    ODD["a CSR row of one dimension"] = sp.csr_array(X[0])


@pytest.fixture(scope="module", params=[OffsetTree(LogisticRegression()), OnlineOffsetTree(actions=range(4))])
def policies(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    policy = request.param.fit(**small_log(100).arrays())
    path: Path = tmp_path_factory.mktemp("odd") / "policy.ot"
    save(policy, path)
    return policy, load(path)


@pytest.mark.parametrize("name", ODD)
def test_rows_that_are_no_tables_of_numbers_are_refused(name: str, policies: tuple[Any, Any]) -> None:
    for policy in policies:
        for decide in (policy.predict, policy.predict_proba, policy.decide):
            with pytest.raises(FeatureError):
                decide(ODD[name])


def test_a_matrix_of_numpy_is_a_table(policies: tuple[Any, Any]) -> None:
    live, loaded = policies
    matrix = X.view(np.matrix)
    np.testing.assert_array_equal(loaded.predict(matrix), live.predict(X))
    assert loaded.decide(matrix[:1]) == live.decide(X[0])
    with pytest.raises(TypeError, match="convert to a numpy array") as caught:  # as scikit-learn has it
        live.predict(matrix)
    assert isinstance(caught.value, FeatureError)
