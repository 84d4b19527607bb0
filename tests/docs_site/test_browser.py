"""The built site in a real browser without a network: phone and desk, light and dark, pictures, search."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
SITE = Path(os.environ.get("OFFSETTREE_SITE", "build/site"))
pytestmark = [
    pytest.mark.skipif(
        "OFFSETTREE_SITE" not in os.environ or not (SITE / "index.html").exists(),
        reason="the site is not built: make docs builds it and runs these tests",
    ),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here (Debian: apt-get install chromium)"),
]
PAGES = [
    "index",
    "start",
    "cli",
    "evaluation",
    "benchmarks/index",
    "concepts/tournament",
    "reference/api/offsettree.OffsetTree",
    "gallery/plot_01_email_campaign",
    "gallery/plot_13_field_experiment",
    "tutorials/csv",
]
# A frame of a given width shows a page as a phone of that width does; headless windows have a least width.
FRAME = """<!doctype html><body><iframe id="f" style="width:{width}px;height:1200px;border:0" src="{address}"></iframe>
<script>
const frame = document.getElementById("f");
frame.onload = () => setTimeout(() => {{
  const page = frame.contentDocument, root = page.documentElement;
  const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const cut = [...page.querySelectorAll(".bd-article :is(p, li, dt, dd, h1, h2, h3, img)")].filter(
    e => e.getBoundingClientRect().right > {width} + 1 && !scrolls(e)).map(e => e.innerText);
  const images = [...page.images].filter(e => e.complete && e.naturalWidth === 0 && e.loading !== "lazy").length;
  document.title = JSON.stringify({{scroll: root.scrollWidth, images, theme: root.dataset.theme,
    heading: (page.querySelector("h1") || {{}}).innerText, cut}});
}}, 1500);
</script></body>"""


def run(address: str, folder: Path, *more: str) -> str:
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1400",
        "--allow-file-access-from-files", "--virtual-time-budget=6000", f"--user-data-dir={folder}/profile",
        "--host-resolver-rules=MAP * ~NOTFOUND", *more, address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    return done.stdout


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_their_screen_and_show_their_pictures(page: str, width: int, tmp_path: Path) -> None:
    outer = tmp_path / "frame.html"
    outer.write_text(FRAME.format(width=width, address=(SITE / f"{page}.html").as_uri()))
    shown = run(outer.as_uri(), tmp_path, "--dump-dom")
    found = re.search(r"<title>(.*?)</title>", shown)
    assert found is not None, shown[-1000:]
    seen = json.loads(html.unescape(found[1]))
    assert 300 < seen["scroll"] <= width, seen  # no sideways scrolling; a scroll bar takes some of the width
    assert seen["cut"] == [], seen  # nor text beyond the edge
    assert seen["images"] == 0, seen
    assert seen["heading"], seen


@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
def test_the_page_follows_the_colour_scheme_of_the_reader(scheme: int, tmp_path: Path) -> None:
    address = (SITE / "start.html").as_uri()
    shown = run(address, tmp_path, f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom")
    assert f'data-theme="{("dark", "light")[scheme]}"' in shown


@pytest.mark.parametrize(("words", "page"), [("propensity", "propensities.html"), ("vowpal", "vowpal-wabbit.html")])
def test_the_search_finds_a_page_without_a_network(words: str, page: str, tmp_path: Path) -> None:
    address = (SITE / "search.html").as_uri() + f"?q={words}"
    shown = run(address, tmp_path, "--dump-dom", "--virtual-time-budget=12000")
    results = re.search(r'<ul[^>]* class="search.*?</ul>', shown, re.DOTALL)
    assert results is not None, shown[-3000:]
    assert page in results[0]
