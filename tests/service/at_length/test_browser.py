"""The page in a real browser: phone and desk, light and dark; the chart is drawn, and nothing overflows."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.service.servers import Server, call

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def browse(address: str, folder: Path, width: int, scheme: int) -> str:
    """Return the page's document after its scripts have run; a picture is left in the folder."""
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},1400",
        "--virtual-time-budget=5000", f"--blink-settings=preferredColorScheme={scheme}",
        f"--user-data-dir={folder}/profile",
    ]  # fmt: skip
    picture = folder / f"page-{width}-{scheme}.png"
    subprocess.run([*command, f"--screenshot={picture}", address], capture_output=True, timeout=120, check=True)  # noqa: S603
    assert picture.stat().st_size > 10_000
    done = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    return done.stdout


def test_the_chart_is_drawn_on_phone_and_desk_in_light_and_dark(tmp_path: Path) -> None:
    with Server("--demo", folder=tmp_path) as server:
        end = time.monotonic() + 90
        while call(server.port, "GET", "/v1/loops/demo/history")[1]["rows"].__len__() < 3:
            assert time.monotonic() < end
            time.sleep(0.5)
        for width in (400, 1280):
            for scheme in (0, 1):
                page = browse(f"http://127.0.0.1:{server.port}/", tmp_path, width, scheme)
                assert re.search(r'id="value-chart"[^>]*data-drawn="\d+"', page), page[-2000:]
                assert "<canvas" in page
                assert "Is it learning?" in page


def test_a_version_is_run_by_one_click(tmp_path: Path) -> None:
    """The form of the page, sent as a browser sends it."""
    with Server("--demo", "--no-visitors", folder=tmp_path) as server:
        origin = f"http://127.0.0.1:{server.port}"
        page = call(server.port, "GET", "/")[1].decode()
        assert "decides" in page
        status, _ = call(server.port, "POST", "/loops/demo/versions/1/run", {}, Origin=origin)
        assert status == 303
