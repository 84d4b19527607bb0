"""Compilation of kernels by numba, with a cache on disk if possible; kernels release the interpreter's lock.

numba's cache of a kernel depends on that kernel's file only: it misses changes of kernels and constants in other files.
So all cached code older than the newest kernel file is deleted before anything is compiled.
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

# An undocumented option of numba: without it, parts are slower but equally correct.
WITHOUT_COUNTS: dict[str, Any] = {"_nrt": False} if hasattr(numba.core.options.DefaultOptions, "_nrt") else {}


def forget_stale(package: Path) -> None:
    """Delete cached machine code that is older than the last change of any kernel."""
    with suppress(OSError):  # a read-only package has no cache
        files = (file for name in ("_kernels*.py", "_layout.py", "_jit.py") for file in package.rglob(name))
        newest = max((file.stat().st_mtime for file in files), default=0.0)
        for kept in package.rglob("__pycache__/*.nb[ic]"):
            if kept.stat().st_mtime < newest:
                kept.unlink(missing_ok=True)


def is_ours(folder: str) -> bool:
    """Return whether nobody else can write to a folder: cached machine code is executed unchecked."""
    if not hasattr(os, "getuid"):
        return True
    try:
        found = Path(folder).stat()
    except OSError:  # numba will create it as our own
        return True
    return found.st_uid in (0, os.getuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


forget_stale(Path(__file__).parent)
CACHE = os.environ.get("NUMBA_CACHE_DIR", "")
KEEPS = is_ours(CACHE) if CACHE else True
if not KEEPS:
    warnings.warn(
        f"the cache of machine code must be a folder where nobody else can write, as its content is executed; "
        f"NUMBA_CACHE_DIR={CACHE} is not. The cache is not used: every process compiles for itself. "
        "Use a folder of your own: chmod 700.",
        OffsetTreeWarning,
        stacklevel=2,
    )


def kernel(function: Function) -> Function:
    """Compile a function of numbers and arrays on its first call with each combination of types."""
    return _compiled(function)


def kernel_reordering_sums(function: Function) -> Function:
    """Compile as `kernel` does, with sums in any order, so that they use vector instructions."""
    return _compiled(function, fastmath={"reassoc"})


def part(function: Function) -> Function:
    """Compile a part of other kernels, always inlined, as passing an array costs seven words.

    A part may neither create nor return arrays: its arguments are not reference-counted. Counting took half the time
    of kernels that do little per row.
    """
    return _compiled(function, forceinline=True, **WITHOUT_COUNTS)


def part_reordering_sums(function: Function) -> Function:
    """Compile as `part` does, with sums in any order and fused multiply-add."""
    return _compiled(function, forceinline=True, fastmath={"reassoc", "contract"}, **WITHOUT_COUNTS)


def _compiled(function: Function, **options: Any) -> Function:
    options |= {"nogil": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        compiled: Any = numba.njit(cache=KEEPS, **options)(function)
    except RuntimeError:
        # Neither this folder nor the user's cache is writable: every process compiles for itself.
        compiled = numba.njit(**options)(function)
    _call_with_any_number(compiled)
    return compiled  # type: ignore[no-any-return]


def _call_with_any_number(compiled: Any) -> None:
    """Let kernels that call this one with a constant use what is compiled for all numbers, not a copy of their own."""
    template = compiled.get_call_template

    compiled.get_call_template = lambda kinds, names: template(tuple(map(unliteral, kinds)), names)
