"""Rows on their way into a walk: copied to the type that the contests compare in, and judged on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from offsettree._jit import borrowing_kernel, kernel_reordering_sums
from offsettree.models.layout import HAS_INFINITY, HAS_NAN


@kernel_reordering_sums
def load(values: Any, begin: Any, end: Any, rows: Any) -> Any:
    """Copy numbers to the type of `rows`, and tell what is not finite among them."""
    zero = np.float32(0)
    trace = zero
    here = values[begin:end]
    for i in range(here.shape[0]):
        rows[i] = here[i]
        trace += here[i] * zero  # NaN if the value is NaN or infinite, and then to the end
    return 0 if trace == 0 else _not_finite(here)


@kernel_reordering_sums
def scan(values: Any) -> Any:
    """Tell what is not finite among numbers."""
    zero = np.float32(0)
    trace = zero
    for i in range(values.shape[0]):
        trace += values[i] * zero
    return 0 if trace == 0 else _not_finite(values)


@borrowing_kernel
def _not_finite(values: Any) -> Any:
    found = 0
    for value in values:
        if value != value:
            found |= HAS_NAN
        elif np.abs(value) == np.inf:
            found |= HAS_INFINITY
    return found
