"""The way of a row from a CSV file to a decision, which a newcomer reads, does not grow."""

from __future__ import annotations

import pytest

from tools.follow_row import POLICIES, follow


# When this was first counted there were 396. Lower a number here whenever the way has become shorter.
@pytest.mark.parametrize(("learner", "most"), [("regression", 251), ("tree", 286)])
def test_a_row_meets_few_functions(learner: str, most: int) -> None:
    found = follow(POLICIES[learner])
    assert list(found) == ["read", "encode", "fit", "save", "load", "decide"]
    assert all(found.values())
    assert sum(map(len, found.values())) <= most
