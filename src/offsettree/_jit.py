"""How kernels are compiled: machine code kept on disk where a place can be found, the interpreter's lock released.

What is kept is known by the file a kernel stands in, and numba does not notice when a kernel changes that it calls from
another file, or a constant. So what is older than the newest of these files is thrown away before anything is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba

__all__ = ["forget_stale", "kernel", "kernel_reordering_sums", "part", "part_reordering_sums"]

Function = TypeVar("Function", bound=Callable[..., Any])

# An option of numba that it does not document: where it is gone, parts are slower and as right.
WITHOUT_COUNTS: dict[str, Any] = {"_nrt": False} if hasattr(numba.core.options.DefaultOptions, "_nrt") else {}


def forget_stale(package: Path) -> None:
    """Delete machine code that was kept before the last change of any kernel."""
    with suppress(OSError):  # a package that cannot be written to keeps none
        files = (file for name in ("_kernels*.py", "_layout.py", "_jit.py") for file in package.rglob(name))
        newest = max((file.stat().st_mtime for file in files), default=0.0)
        for kept in package.rglob("__pycache__/*.nb[ic]"):
            if kept.stat().st_mtime < newest:
                kept.unlink(missing_ok=True)


forget_stale(Path(__file__).parent)


def kernel(function: Function) -> Function:
    """Compile a function of numbers and arrays on its first call for each combination of their types."""
    return _compiled(function)


def kernel_reordering_sums(function: Function) -> Function:
    """Do as `kernel`, and let sums be added in any order, so that they use vector instructions."""
    return _compiled(function, fastmath={"reassoc"})


def part(function: Function) -> Function:
    """Do as `kernel` for a part of others, put in the place of its calls: an array is seven words to pass along.

    A part may neither make nor return arrays: those that it is given are not counted as used, which took half the time
    of kernels that do little per row.
    """
    return _compiled(function, forceinline=True, **WITHOUT_COUNTS)


def part_reordering_sums(function: Function) -> Function:
    """Do as `part`, let sums be added in any order, and products be added without rounding them first."""
    return _compiled(function, forceinline=True, fastmath={"reassoc", "contract"}, **WITHOUT_COUNTS)


def _compiled(function: Function, **options: Any) -> Function:
    options |= {"nogil": True, "boundscheck": False, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # Neither beside this file nor in the user's cache may we write: every process compiles for itself.
        compiled = numba.njit(**options)(function)
    return compiled
