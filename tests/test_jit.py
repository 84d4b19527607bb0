"""Machine code kept on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from offsettree import _jit
from offsettree._jit import forget_stale, is_ours


def test_what_was_kept_before_the_last_change_of_a_kernel_is_thrown_away(tmp_path: Path) -> None:
    folder = tmp_path / "learners" / "__pycache__"
    folder.mkdir(parents=True)
    kernels = tmp_path / "learners" / "_kernels.py"
    for name, age in (("old.nbi", 100), ("old.nbc", 100), ("new.nbi", 300), ("code.pyc", 100)):
        (folder / name).touch()
        os.utime(folder / name, (age, age))
    kernels.touch()
    os.utime(kernels, (200, 200))
    forget_stale(tmp_path)
    assert sorted(file.name for file in folder.iterdir()) == ["code.pyc", "new.nbi"]
    forget_stale(tmp_path / "nothing here")


def test_machine_code_is_kept_where_nobody_else_can_write(tmp_path: Path) -> None:
    for mode, ours in ((0o700, True), (0o755, True), (0o775, False), (0o777, False), (0o1777, False)):
        tmp_path.chmod(mode)
        assert is_ours(str(tmp_path)) == ours
    tmp_path.chmod(0o700)
    assert is_ours(str(tmp_path / "to be made"))


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    code = "import offsettree._jit as jit; print(jit.kernel(lambda x: x + 1)(1), jit.KEEPS)"
    ran = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["2", "False"]
    assert "Use a folder of your own" in ran.stderr
    assert not list(tmp_path.iterdir())


def test_what_a_kernel_calls_is_compiled_once_as_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "KEEPS", False)
    made: list[str] = []
    machine_code = JITCodeLibrary._finalize_specific

    def note(library: Any) -> None:
        made.extend([library.name] if library.name != "nrt" else [])  # numba's runtime, once in a process
        machine_code(library)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", note)

    @_jit.borrowing_kernel
    def doubled(numbers: Any, at: Any) -> Any:
        return 2 * numbers[at]

    @_jit.kernel
    def sum_doubled(numbers: Any) -> Any:
        total = np.zeros(1)
        for at in range(numbers.shape[0]):
            total[0] += doubled(numbers, at)
        return total

    assert sum_doubled(np.arange(5.0))[0] == 20.0
    assert len(made) == 1  # neither the other kernel nor numba's own functions
    assert doubled(np.arange(5.0), 3) == 6.0  # from Python too
    assert len(made) == 2
