"""The contracts hold for what is registered from outside, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.toys import registered


@pytest.fixture(autouse=True)
def _outside() -> Iterator[None]:
    with registered():
        yield
