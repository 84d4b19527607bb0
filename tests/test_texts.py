"""Arrays of texts cost about what the texts do, in one form or the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsettree import _texts
from offsettree._texts import as_texts, is_text, join_texts, repeat_texts, take_texts

words = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=30), min_size=1, max_size=12)


@given(words, words, st.integers(0, 3))
def test_the_texts_are_the_same_in_either_form(some: list[str], more: list[str], times: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_texts, "FREE", 20)  # characters: most of these arrays are worth a thought
        patch.setattr(_texts, "SHORT", 2)
        made, other = as_texts(np.array(some, dtype=object)), as_texts(np.array(more, dtype=object))
        assert made.tolist() == some
        for array in (made, np.array(some), np.array(some, dtype=object)):
            assert is_text(array)
            places = np.arange(len(some)).repeat(times)[::-1]
            assert take_texts(array, places).tolist() == [some[place] for place in places]
            assert repeat_texts(array, np.full(len(some), times)).tolist() == np.repeat(some, times).tolist()
            assert join_texts([array, other]).tolist() == some + more


def test_an_array_takes_at_most_four_times_its_texts() -> None:
    long, many = "x" * 10_000, 100_000
    labels = np.array(["a", long])
    for array in (
        take_texts(labels, np.zeros(many, dtype=int)),
        repeat_texts(labels, np.array([many, 1])),
        join_texts([np.array([long]), np.full(many, "a")]),
        as_texts(np.array(["a"] * many + [long], dtype=object)),
    ):
        assert array.dtype == object
        assert array.nbytes < 10 * many
    assert take_texts(labels, np.ones(2000, dtype=int)).dtype == labels.dtype  # as long as they are
    assert take_texts(labels, np.ones(many, dtype=int)).dtype == object  # 4 GB


def test_numbers_are_left_alone() -> None:
    numbers = np.arange(5)
    assert not is_text(numbers)
    assert as_texts(numbers) is numbers
    assert join_texts([numbers, numbers]).dtype == numbers.dtype
    assert take_texts(numbers, [4]).tolist() == [4]
