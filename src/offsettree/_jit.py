"""How kernels are compiled: machine code kept on disk where a place can be found, the interpreter's lock released.

What is kept is known by the file a kernel stands in, and numba does not notice when a kernel changes that it calls from
another file, or a constant. So what is older than the newest of these files is thrown away before anything is compiled.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.types import unliteral

from offsettree.exceptions import OffsetTreeWarning

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


def is_ours(folder: str) -> bool:
    """Tell whether nobody else can write to a folder: machine code that is found there is run unseen."""
    if not hasattr(os, "getuid"):
        return True
    try:
        found = Path(folder).stat()
    except OSError:  # numba will make it, as our own
        return True
    return found.st_uid in (0, os.getuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


forget_stale(Path(__file__).parent)
CACHE = os.environ.get("NUMBA_CACHE_DIR", "")
KEEPS = is_ours(CACHE) if CACHE else True
if not KEEPS:
    warnings.warn(
        f"machine code must be kept where nobody else can write, as what is found there is run; NUMBA_CACHE_DIR="
        f"{CACHE} is not such a folder. Nothing is kept or taken there: every process compiles for "
        "itself. Name a folder of your own: chmod 700.",
        OffsetTreeWarning,
        stacklevel=2,
    )


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
    options |= {"nogil": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        compiled: Any = numba.njit(cache=KEEPS, **options)(function)
    except RuntimeError:
        # Neither beside this file nor in the user's cache may we write: every process compiles for itself.
        compiled = numba.njit(**options)(function)
    _call_with_any_number(compiled)
    return compiled  # type: ignore[no-any-return]


def _call_with_any_number(compiled: Any) -> None:
    """Let kernels that call this one with a constant use what is compiled for all numbers, not a copy of their own."""
    template = compiled.get_call_template

    compiled.get_call_template = lambda kinds, names: template(tuple(map(unliteral, kinds)), names)
