"""How kernels are compiled: machine code kept on disk where a place can be found, the interpreter's lock released.

What is kept is known by the file a kernel stands in. One who edits a kernel that others call from another file must
delete `__pycache__` beside them: numba does not notice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["kernel", "kernel_reordering_sums"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of numbers and arrays on its first call for each combination of their types."""
    return _compiled(function)


def kernel_reordering_sums(function: Function) -> Function:
    """Do as `kernel`, and let sums be added in any order, so that they use vector instructions."""
    return _compiled(function, fastmath={"reassoc"})


def _compiled(function: Function, **options: Any) -> Function:
    options |= {"nogil": True, "boundscheck": False, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # Neither beside this file nor in the user's cache may we write: every process compiles for itself.
        compiled = numba.njit(**options)(function)
    return compiled
