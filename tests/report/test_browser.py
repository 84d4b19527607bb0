"""The page in a real browser: it fits phone and desk, by day and by night, and asks nobody for anything."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from offsettree.report import render
from offsettree.report._style import DARK, LIGHT
from tests.report.samples import LONG, chain, make_facts

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here (Debian: apt-get install chromium)")

WIDTHS = (360, 1280)
NARROW_ONLY = ("many", "deep", "empty")  # wide as the others are
# The browser's own windows are not narrower than 500 pixels; frames are.
PROBE = """
function visible(box) { return box.width > 0 && box.height > 0; }
function probe(frame) {
  const page = frame.contentDocument, root = page.documentElement, width = root.clientWidth;
  const boxes = (query) => [...page.querySelectorAll(query)].map(e => [e, e.getBoundingClientRect()]);
  const outside = boxes("body *").filter(([e, box]) => visible(box) && !e.closest("details:not([open])") &&
    !e.closest("thead") && (box.right > width + 0.5 || box.left < -0.5));
  const touching = [...page.querySelectorAll(".axis, .histogram")].filter(axis => {
    const ticks = [...axis.querySelectorAll("text")].map(e => e.getBoundingClientRect());
    return ticks.some((a, i) => ticks.slice(i + 1).some(b =>
      a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
  });
  const colours = frame.contentWindow.getComputedStyle(page.body);
  return {
    name: frame.title, width: width, overflow: root.scrollWidth - width, height: root.scrollHeight,
    outside: outside.map(([e]) => e.outerHTML.slice(0, 200)), touching: touching.map(e => e.textContent),
    fetched: frame.contentWindow.performance.getEntriesByType("resource").length,
    background: colours.backgroundColor, ink: colours.color,
  };
}
window.onload = () => {
  const found = [...document.querySelectorAll("iframe")].map(probe);
  document.getElementById("found").textContent = JSON.stringify(found);
};
"""


def pages() -> dict[str, str]:
    deep, wild, empty = make_facts(64), make_facts(3, warned=True), {"title": "nothing"}
    deep["tree"] = chain([f"offer {i} {LONG}" for i in range(64)])
    names = ["<script>alert(1)</script>", "\u05e9\u05dc\u05d5\u05dd" * 30, "W" * 400]
    wild["tree"] = chain(names)
    for action, name in zip(wild["log"]["actions"], names, strict=True):
        action["label"] = name
    wild["title"] = wild["log"]["path"] = "x" * 300
    wild["reproduce"]["command"] = "offsettree learn " + "y" * 500
    wild["warnings"] = ["z" * 500]
    wild["estimate"].update(value=-1234567.8, low=-1300000.1, high=-1200000.5)
    facts = {
        "few": make_facts(3),
        "twenty": make_facts(20, long=True, warned=True),
        "many": make_facts(200, long=True),
        "deep": deep,
        "wild": wild,
        "empty": empty,
    }
    return {name: render(known) for name, known in facts.items()}


def look(folder: Path, *, dark: bool) -> tuple[list[dict[str, Any]], str]:
    """Open the pages in all widths; return what was found, and what the browser complained of.

    By night only the first: it is laid out as by day.
    """
    shown = list(pages().items())[: 1 if dark else None]
    frames = "".join(
        f'<iframe title="{name}" style="border: 0; width: {width}px" srcdoc="{html.escape(page)}"></iframe>'
        for name, page in shown
        for width in WIDTHS
        if width == WIDTHS[0] or name not in NARROW_ONLY
    )
    path = folder / "all.html"
    path.write_text(
        '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><link rel="icon" '
        f'href="data:,"><title>all</title><script>{PROBE}</script><pre id="found"></pre>{frames}',
        encoding="utf-8",
    )
    command = [
        str(CHROMIUM),
        *(
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        ),
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        *("--window-size=1400,900", "--dump-dom", path.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-2000:]
    return json.loads(html.unescape(found[1])), done.stderr


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_and_follows_the_colours_of_the_reader(tmp_path: Path, dark: bool) -> None:
    found, said = look(tmp_path, dark=dark)
    assert "CONSOLE" not in said
    assert len(found) == (2 if dark else 9)
    palette = DARK if dark else LIGHT
    for frame in found:
        assert frame["width"] in WIDTHS
        assert frame["overflow"] <= 0, frame
        assert not frame["outside"], frame
        assert not frame["touching"], frame
        assert frame["fetched"] == 0, frame
        assert frame["background"] == _rgb(palette["page"])
        assert frame["ink"] == _rgb(palette["ink"])


def _rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"
