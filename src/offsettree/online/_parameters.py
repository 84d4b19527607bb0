"""Parameters that online learners share."""

from __future__ import annotations

from typing import Any

from offsettree._validation import check_whole, is_number
from offsettree.exceptions import ParameterError

ADAPTIVE_RATE = 0.5


def check_rate(learning_rate: Any) -> float:
    """Return the rate given by a learner's `learning_rate`."""
    if isinstance(learning_rate, str) and learning_rate == "adaptive":
        return ADAPTIVE_RATE
    if not is_number(learning_rate) or not 0 < learning_rate <= 1e6:
        raise ParameterError(
            f"learning_rate must be 'adaptive' or a number above 0, at most 1e6; got {learning_rate!r}."
        )
    return float(learning_rate)


def check_bits(n_bits: Any) -> int | None:
    """Return `n_bits`, checked."""
    if n_bits is None:
        return None
    check_whole("n_bits", n_bits, 1, 32)
    return int(n_bits)
