"""Arrays of texts: NumPy's own make each as long as the longest; objects are taken where that would cost too much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_texts", "is_text", "join_texts", "repeat_texts", "take_texts"]

SHORT = 16  # characters; up to here nobody asks
FREE = 1 << 24  # characters; 64 MiB
MOST_TIMES = 4  # as large as the texts themselves
MOST = 1 << 28  # characters; 1 GiB


def is_text(values: NDArray[Any]) -> bool:
    """Tell an array of texts, in either form, from one of numbers."""
    return values.dtype.kind in "OU"


def as_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array of texts in the form that costs less; other arrays as they are.

    Examples
    --------
    >>> as_texts(np.array(["mail", "call"], dtype=object)).dtype.str[1:]
    'U4'
    >>> as_texts(np.array(["mail"] * 10**5 + ["call" * 50], dtype=object)).dtype  # 80 MB, for half a megabyte
    dtype('O')
    """
    if not is_text(values):
        return values
    # By way of objects, so that no more room is taken than the longest text needs.
    texts = values.astype(object)
    lengths = list(map(len, texts.tolist()))
    return texts if _pads_too_much(len(texts), max(lengths, default=0), lambda: sum(lengths)) else texts.astype(str)


def take_texts(values: NDArray[Any], places: Any) -> NDArray[Any]:
    """Return ``values[places]``; as objects, where a text would be copied too often at the length of another."""
    n, longest = np.size(places), values.itemsize // 4
    if values.dtype.kind == "U" and _pads_too_much(n, longest, lambda: int(np.char.str_len(values)[places].sum())):
        return np.asarray(values.astype(object)[places])
    return np.asarray(values[places])


def repeat_texts(values: NDArray[Any], counts: NDArray[np.intp]) -> NDArray[Any]:
    """Return ``np.repeat(values, counts)``, as `take_texts` does."""
    return take_texts(values, np.repeat(np.arange(len(values)), counts))


def join_texts(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return ``np.concatenate(parts)``; as objects, where one part would make the texts of the others too long."""
    n, longest = sum(map(len, parts)), max(part.itemsize // 4 for part in parts)
    if all(part.dtype.kind == "U" for part in parts) and _pads_too_much(
        n, longest, lambda: sum(part.nbytes // 4 for part in parts)
    ):
        return np.concatenate([part.astype(object) for part in parts])
    return np.concatenate(parts)


def _pads_too_much(n: int, longest: int, n_characters: Callable[[], int]) -> bool:
    """Tell whether `n` texts, each as long as the longest, take too much room; they are counted only if they may."""
    return longest > SHORT and longest * n > FREE and longest * n > min(MOST, MOST_TIMES * n_characters())
