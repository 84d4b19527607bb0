"""Check the built site without a network: links lead to a page and an anchor, nothing is loaded from elsewhere."""

from __future__ import annotations

import argparse
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["check"]

# What a page loads, as against what it links to.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}
LINKS = {("a", "href")}
# Relations of <link> that load nothing.
NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author", "copyright", "help"}


class Page(HTMLParser):
    """The ids, links and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what matters of a tag."""
        found = {name: value or "" for name, value in attrs}
        self.ids.update(found[name] for name in ("id", "name") if name in found)
        for name, value in found.items():
            if (tag, name) in LINKS:
                self.links.append(value)
            elif (tag, name) in LOADED and not (tag == "link" and found.get("rel", "") in NOT_LOADED):
                self.loaded.append(value)


@cache
def read(path: Path) -> Page:
    """Read a page once."""
    return Page(path)


def check(site: Path) -> tuple[list[str], int]:
    """Return what is wrong, and the number of links inside the site that were looked at."""
    wrong, n_links = [], 0
    for path in sorted(site.rglob("*.html")):
        page, name = read(path), path.relative_to(site)
        if name.parts[0] == "_static":
            continue
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    wrong.append(f"{name} loads {address}: put the file into docs/_static")
                continue
            n_links += 1
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                wrong.append(f"{name} leads to {address}, which is not there")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).ids:
                wrong.append(f"{name} leads to {address}: the page has no such anchor")
    for path in sorted(site.rglob("*.css")):
        found = re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", path.read_text(encoding="utf-8"))
        wrong.extend(f"{path.relative_to(site)} loads {address}" for address in found)
    return wrong, n_links


def main() -> int:
    """Check a folder; print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site
    wrong, n_links = check(site)
    for line in wrong:
        print(line)
    print(f"{n_links:,} links inside the site, {len(wrong)} wrong")
    return 1 if wrong or n_links == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
