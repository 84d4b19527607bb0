"""The page in a real browser: phone and desk, light and dark; the chart is drawn, and nothing overflows."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.service.at_length.browsers import CHROMIUM, Browser
from tests.service.servers import Server, call

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

DRAWN = "Number(document.getElementById('value-chart').dataset.drawn)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Heads of columns and kinds of versions whose one word is on several lines.
BROKEN = """[...document.querySelectorAll('#versions thead th, #versions td:nth-child(2)')].filter(each => {
  const range = document.createRange(); range.selectNodeContents(each);
  return new Set([...range.getClientRects()].map(part => Math.round(part.top))).size > 1;
}).map(each => each.textContent)"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
ROW = "[...document.querySelectorAll('#versions tbody tr')].find(row => row.querySelector('th').textContent === '1')"


def test_the_chart_is_drawn_and_nothing_overflows_on_phone_and_desk_in_light_and_dark(tmp_path: Path) -> None:
    with Server("--demo", folder=tmp_path) as server, Browser(tmp_path) as browser:
        end = time.monotonic() + 90
        while len(call(server.port, "GET", "/v1/loops/demo/history")[1]["rows"]) < 3:
            assert time.monotonic() < end
            time.sleep(0.5)
        for width in (360, 400, 1280):
            for scheme in ("light", "dark"):
                browser.show(f"http://127.0.0.1:{server.port}/", width, scheme)
                assert browser.until(DRAWN) > 2
                assert browser.value("innerWidth") == width
                assert browser.value("document.querySelectorAll('canvas').length") == 1
                assert "Is it learning?" in browser.value("document.body.innerText")
                assert browser.value(OVERFLOW) <= 0
                assert browser.value(BROKEN) == []
                bright = sum(browser.value(BACKGROUND)) / 3
                assert bright > 200 if scheme == "light" else bright < 60


def test_a_version_is_run_by_one_click(tmp_path: Path) -> None:
    with Server("--demo", folder=tmp_path) as server, Browser(tmp_path) as browser:
        end = time.monotonic() + 90
        while call(server.port, "GET", "/v1/loops/demo")[1]["policy_version"] == 1:
            assert time.monotonic() < end
            time.sleep(0.5)
        browser.show(f"http://127.0.0.1:{server.port}/", 1280, "light")
        browser.until(f"{ROW}.querySelector('button') !== null")
        browser.click(f"{ROW}.querySelector('button')")
        browser.until("location.pathname === '/loops/demo'")  # where the answer leads to
        swaps = call(server.port, "GET", "/v1/loops/demo/versions")[1]["swaps"]
        assert [each["version"] for each in swaps if each["reason"] == "by hand, on the page"] == [1]
