"""Compilation of kernels by numba, with a cache on disk if possible; all but brief ones release the interpreter's lock.

What a kernel calls is compiled as a part of it: optimised and translated once, with it, and not by itself.

numba's cache of a kernel depends on that kernel's file only: it misses changes of kernels and constants in other files.
So all cached code older than the newest kernel file is deleted before anything is compiled.
"""

from __future__ import annotations

import gc
import os
import stat
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.types import unliteral

from offsettree.exceptions import OffsetTreeWarning

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


class PartLibrary(JITCodeLibrary):
    """Code of a function that kernels call: it is linked into theirs, and optimised and translated there only.

    numba does both for every function by itself, and again in each that calls it: most of the time it takes.
    """

    @property
    def codegen(self) -> Any:
        """An engine that does not look for this code among what was translated."""
        return SimpleNamespace(set_env=lambda name, environment: None)

    def add_ir_module(self, ir_module: Any) -> None:
        """Add code, but not what lets Python call it."""
        if ir_module.name != "wrapper":
            super().add_ir_module(ir_module)  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


class ReorderingPartLibrary(PartLibrary):
    """As above, but optimised by itself first: the order of its sums must not depend on the kernel that calls it."""

    _optimize_final_module = JITCodeLibrary._optimize_final_module


class KernelCompiler(Compiler):
    """numba's compiler, for kernels: what they call, of ours and of numba's, is compiled as their parts."""

    library: ClassVar[type[JITCodeLibrary]] = JITCodeLibrary
    reordering_library: ClassVar[type[JITCodeLibrary]] = JITCodeLibrary

    def _compile_core(self) -> Any:
        engine = self.state.targetctx.codegen()
        library = self.reordering_library if self.state.flags.fastmath else self.library
        self.state.library = library(engine, self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        outside, engine._library_class = engine._library_class, PartLibrary
        collects = gc.isenabled()
        gc.disable()  # a tenth of the time, for next to no garbage
        try:
            return super()._compile_core()  # type: ignore[no-untyped-call]
        finally:
            engine._library_class = outside
            if collects:
                gc.enable()


class PartCompiler(KernelCompiler):
    """numba's compiler, for functions that kernels call."""

    library = PartLibrary
    reordering_library = ReorderingPartLibrary


def kernel(function: Function) -> Function:
    """Compile a function of numbers and arrays on its first call with each combination of types."""
    return _compiled(function)


def kernel_reordering_sums(function: Function) -> Function:
    """Compile as `kernel` does, with sums in any order, so that they use vector instructions.

    A loop that sums must write no array. Else the compiled code looks, on every call, whether the arrays overlap in
    memory, and if they may it sums one by one: the bits would depend on where arrays happen to be.
    """
    return _compiled(function, fastmath={"reassoc"})


def brief_kernel(function: Function) -> Function:
    """Compile a kernel that keeps the interpreter's lock: of a few microseconds, less than handing it over takes."""
    return _compiled(function, nogil=False)


def borrowing_kernel(function: Function) -> Function:
    """Compile a kernel whose arrays are its caller's: without reference counts, which are half of a kernel's code.

    It may create no arrays and return none.
    """
    return _compiled(function, **WITHOUT_COUNTS)


def part(function: Function) -> Function:
    """Compile as `borrowing_kernel` does, always inlined, as passing an array costs seven words."""
    return _compiled(function, forceinline=True, **WITHOUT_COUNTS)


def part_reordering_sums(function: Function) -> Function:
    """Compile as `part` does, with sums in any order and fused multiply-add; see `kernel_reordering_sums` on loops."""
    return _compiled(function, forceinline=True, fastmath={"reassoc", "contract"}, **WITHOUT_COUNTS)


def _compiled(function: Function, **options: Any) -> Function:
    usual: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True}
    options = usual | options
    try:
        compiled: Any = numba.njit(cache=KEEPS, pipeline_class=KernelCompiler, **options)(function)
    except RuntimeError:
        # Neither this folder nor the user's cache is writable: every process compiles for itself.
        compiled = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    options["pipeline_class"] = PartCompiler
    inner: Any = numba.njit(no_cpython_wrapper=True, **options)(function)  # type: ignore[call-overload]
    template = inner.get_call_template
    # Kernels that call this one with a constant use what is compiled for all numbers, not a copy of their own.
    compiled.get_call_template = lambda kinds, names: template(tuple(map(unliteral, kinds)), names)
    compiled.get_overload = inner.get_overload
    return compiled  # type: ignore[no-any-return]
