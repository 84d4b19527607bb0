"""The contracts hold for what is registered from outside, too."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _contracts_hold_outside(outside: None) -> None:
    """See `outside`."""
