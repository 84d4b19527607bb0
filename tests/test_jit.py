"""Machine code kept on disk."""

from __future__ import annotations

import os
from pathlib import Path

from offsettree._jit import forget_stale


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
