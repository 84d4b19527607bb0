"""The other library's half of a migrating page runs as it stands there, on the file that our half has written.

Each library is in an environment of its own (``make test-migrating`` makes them); without it, the test is skipped.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from offsettree import simulate_log

ROOT = Path(__file__).parent.parent
# Page, environment, and the comment that the other library's blocks begin with.
HALVES = [
    ("open-bandit-pipeline", "obp", "obp"),
    ("contextualbandits", "rivals", "contextualbandits"),
    ("econml", "econml", "econml"),
    ("econml", "causalml", "causalml"),
]
# What these versions need on a newer Python; benchmarks/_accuracy_peer.py says why.
PRELUDE = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {benchmarks!r})
from importlib.util import find_spec
from _accuracy_peer import UNUSED, Absent, old_numpy
missing = [name for name in UNUSED if find_spec(name.partition(".")[0]) is None]
for name in missing:
    sys.modules.setdefault(name, Absent(name))
old_numpy()
"""


def run_half(page: str, peer: str, library: str, folder: Path) -> list[str]:
    """Run the blocks of a page that are another library's; return the lines that they print."""
    python = ROOT / f".venv-accuracy-{peer}" / "bin" / "python"
    if not python.exists() or (python.parent.parent / "failed").exists():
        pytest.skip(f"{peer} is not installed: make .venv-accuracy-{peer}/tried tries to")
    text = (ROOT / "docs" / "migrating" / f"{page}.md").read_text()
    blocks = re.findall(rf"^```python\n(# {library}\n.*?)^```", text, re.M | re.S)
    assert blocks
    prelude = PRELUDE.format(benchmarks=str(ROOT / "benchmarks"))
    (folder / "half.py").write_text(prelude + "\n".join(blocks))
    done = subprocess.run([python, "half.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(("page", "peer", "library"), HALVES, ids=[library for _, _, library in HALVES])
def test_the_other_library_learns_from_the_same_file(page: str, peer: str, library: str, tmp_path: Path) -> None:
    X, grower = load_wine(return_X_y=True)
    log = simulate_log(StandardScaler().fit_transform(X), grower, random_state=0)
    np.savez(tmp_path / "log.npz", X=log.X, action=log.action, reward=log.reward, propensity=log.propensity)
    printed = run_half(page, peer, library, tmp_path)
    assert np.mean(np.array(json.loads(printed[0])) == grower) > 0.6


def test_vowpal_wabbit_learns_from_the_file_that_the_page_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "migrating" / "vowpal-wabbit.md").read_text()
    known: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page):
        exec(example.source, known)  # noqa: S102 - a page of ours, up to the file
        if "write_text" in example.source:
            break
    young, _, old = json.loads(run_half("vowpal-wabbit", "rivals", "vowpal wabbit", tmp_path)[-1])
    assert (young, old) == (1, 3)
