from __future__ import annotations

import math
import sys

import pytest

from offsettree._optional import require
from offsettree.exceptions import MissingExtraError


def test_a_package_that_is_there_is_imported() -> None:
    assert require("math", extra="data") is math


def test_a_package_that_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"needs no_such_package.*pip install offsettree\[plots\]"):
        require("no_such_package", extra="plots")


def test_the_reason_of_a_broken_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="import of pandas halted") as refusal:
        require("pandas", extra="data")
    assert isinstance(refusal.value.__cause__, ImportError)
