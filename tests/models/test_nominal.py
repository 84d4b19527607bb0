"""Rows given by name, as the numbers that a model takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree import OffsetTree, load, save
from offsettree.exceptions import FeatureError
from offsettree.models import CODE, MISSING, NUMBER, NominalColumns

NUMBERS = st.one_of(
    st.floats(),
    st.integers(),
    st.integers(min_value=10**400),
    st.sampled_from([None, True, "7", np.float32(2)]),
)
WORDS = st.sampled_from(["red", "green", "blue", "", None, np.nan, 1, True, b"red", ["red"], pd.NA])
COLUMNS = NominalColumns(
    ("size", "colour", "flag"),
    {1: ("red", "green"), 2: ("green", True, 1.5)},
    ((0, NUMBER), (1, CODE), (1, 0), (1, 1), (2, MISSING), (2, 0), (2, 1)),
)


@settings(max_examples=300, deadline=None)
@given(size=NUMBERS, colour=WORDS, flag=WORDS)
def test_a_row_encoded_value_by_value_is_the_one_encoded_as_a_table(size: Any, colour: Any, flag: Any) -> None:
    row = {"size": size, "colour": colour, "flag": flag}
    quick = COLUMNS.quick_row()(row)
    if quick is None:
        return
    if np.isinf(quick).any():  # which every policy refuses, and looks at again
        with pytest.raises(FeatureError, match="infinity"):
            COLUMNS.encode(COLUMNS.one_row(row))
        return
    np.testing.assert_array_equal(quick, COLUMNS.encode(COLUMNS.one_row(row))[0])


def test_plain_rows_are_encoded_value_by_value() -> None:
    quick = COLUMNS.quick_row()
    np.testing.assert_array_equal(
        quick({"size": 3, "colour": "green", "flag": "green", "more": 1}), [3, 1, 0, 1, 0, 1, 0]
    )
    for row in ({"size": 3, "colour": "green"}, [3, "green", "green"], {"size": 3, "colour": "grey", "flag": "green"}):
        assert quick(row) is None


def test_columns_that_are_shown_twice_are_left_to_tables() -> None:
    assert NominalColumns(("size",), {}, ((0, NUMBER), (0, NUMBER))).quick_row()({"size": 1.0}) is None


def test_live_and_loaded_policies_decide_on_raw_rows_as_on_frames(tmp_path: Any) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"size": random.normal(size=300), "colour": random.choice(["red", "green", "blue"], 300)})
    action = random.integers(0, 3, len(frame))
    reward = (action == (frame["colour"] == "red") + (frame["size"] > 0)).astype(float)
    policy = OffsetTree(random_state=0).fit(frame, action, reward=reward, propensity=1 / 3)
    save(policy, tmp_path / "policy.ot")
    rows: list[dict[str, Any]] = [*frame[:40].to_dict("records"), {"size": 1, "colour": "grey"}]
    for each in (policy, load(tmp_path / "policy.ot")):
        expected = each.predict(pd.DataFrame(rows).astype({"size": float}))
        assert [each.decide(row) for row in rows] == expected.tolist()
        with pytest.raises(FeatureError, match="infinity"):
            each.decide({"size": np.inf, "colour": "red"})
        with pytest.raises(FeatureError, match="colour"):
            each.decide({"size": 1.0})
