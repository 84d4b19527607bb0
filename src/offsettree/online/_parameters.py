"""Parameters that online learners share."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._validation import is_number
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
    if not isinstance(n_bits, int | np.integer) or isinstance(n_bits, bool) or not 1 <= n_bits <= 32:
        raise ParameterError(f"n_bits must be a whole number from 1 to 32; got {n_bits!r}.")
    return int(n_bits)
