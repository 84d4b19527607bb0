"""tools/check_site.py finds dead links, dead anchors and files from elsewhere."""

from __future__ import annotations

from pathlib import Path

from tools.check_site import check


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_a_good_site_has_nothing_wrong(tmp_path: Path) -> None:
    write(tmp_path, "index.html", '<h1 id="top">A</h1><a href="b.html#part">b</a><a href="https://example.org">c</a>')
    write(tmp_path, "b.html", '<h2 id="part">B</h2><a href="#part">here</a><img src="data:image/png;base64,AA">')
    assert check(tmp_path) == ([], 2)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    write(
        tmp_path,
        "index.html",
        '<a href="gone.html">a</a><a href="#nowhere">b</a><script src="https://cdn.example.org/x.js"></script>',
    )
    write(tmp_path, "x.css", '@import "https://fonts.example.org/f.css";')
    wrong, n_links = check(tmp_path)
    assert n_links == 2
    assert [line.partition(" ")[2].split(":")[0].split(",")[0] for line in wrong] == [
        "leads to gone.html", "leads to #nowhere", "loads https", "loads https",
    ]  # fmt: skip
