"""Tests that take long or need more than the package: run by ``make test-service``."""

from __future__ import annotations

import os

import pytest

WANTED = os.environ.get("OFFSETTREE_TEST_SERVICE") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all of this folder unless it is asked for."""
    for item in items:
        if "at_length" in str(item.path) and not WANTED:
            item.add_marker(pytest.mark.skip(reason="takes long: make test-service runs it"))
