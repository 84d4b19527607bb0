from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_figures_on_the_page_are_those_measured() -> None:
    done = subprocess.run(
        [sys.executable, "tools/evaluation_page.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
