"""Pages that write files do so in a folder of their own; one begins where the commands above its code ended."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

# What a build of the site leaves here, and its settings.
collect_ignore_glob = ["conf.py", "gallery/*", "reference/api/*"]


@pytest.fixture(autouse=True)
def own_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the code of a page in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    if request.node.name == "start.md":
        from offsettree.cli import main

        with contextlib.redirect_stdout(io.StringIO()):
            main(["simulate", "campaign", "--rows", "12000", "--seed", "6", "-o", "campaign.csv"])
            main(["learn", "campaign.csv", "--action", "mail", "--learner", "reward-regression", "--base", "ridge"])
