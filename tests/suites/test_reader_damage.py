"""A damaged file is read or refused, never met by an error that is not ours."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsettree import LoggedData
from offsettree.exceptions import OffsetTreeError
from tests.suites.readers import FORMS, make_frame

damages = st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=0, max_size=3)), min_size=1, max_size=3)


@cache
def content(name: str) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = FORMS[name].write(make_frame(40), Path(folder) / "log")
        return path.read_bytes(), path.name


@pytest.mark.parametrize("name", FORMS)
@given(damages=damages)
@settings(max_examples=10)
def test_a_damaged_file_is_read_or_refused(name: str, damages: list[tuple[int, bytes]]) -> None:
    whole, file_name = content(name)
    for place, other in damages:
        place %= len(whole)
        whole = whole[:place] + other + whole[place + max(1, len(other)) :] if other else whole[:place]
        whole = whole or b"\x00"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file_name)
        path.write_bytes(whole)
        with suppress(OffsetTreeError):
            LoggedData.read(path)
