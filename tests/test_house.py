"""The documents say what is so: names exist, parameters are documented, figures have commands."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import offsettree
from offsettree import theory
from tools import api_pages

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs" / "paper-to-code.md").read_text().splitlines()
    if line.startswith("| ") and "---" not in line
][1:]
CLASSES = [value for name in offsettree.__all__ if inspect.isclass(value := getattr(offsettree, name))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_code_and_tests_that_the_paper_is_led_to_exist(row: list[str]) -> None:
    _, code, tests = row
    if code == tests == "-":
        return
    names = re.findall(r"`([\w.]+)`", code)
    assert names
    for name in names:
        module, *path = name.split(".")
        found = reduce(lookup, path, importlib.import_module(f"offsettree.{module}"))
        assert found is not None
    for reference in re.findall(r"`([^`]+)`", tests):
        file, _, function = reference.partition("::")
        text = (ROOT / "tests" / file).read_text()
        assert f"def {function}(" in text if function else text


def lookup(owner: Any, name: str) -> Any:
    """Find an attribute; a fitted one (with a trailing underscore) or a field is found in the documentation."""
    if inspect.ismodule(owner) and not hasattr(owner, name):
        return importlib.import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name, None) or (name if name in (inspect.getdoc(owner) or "") else None)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_documented_parameters_are_the_real_ones(cls: type) -> None:
    text = inspect.getdoc(cls) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-+\n|\Z)", text, re.DOTALL)
    taken = [name for name in inspect.signature(cls).parameters if name != "self"]
    if not taken:
        assert section is None
        return
    assert section is not None
    documented = [
        name.strip() for line in re.findall(r"^(\w[\w, ]*) : ", section[1], re.MULTILINE) for name in line.split(",")
    ]
    assert documented == taken


@pytest.mark.parametrize("method", ["choose", "choose_list", "learn", "rank"])
def test_explorers_document_what_their_methods_take(method: str) -> None:
    function = getattr(offsettree.EpsilonGreedy, method)
    _, _, section = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    documented = re.findall(r"^(\w+) : ", section.partition("\n\n")[0], re.MULTILINE)
    assert documented == [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize("module", [offsettree, theory], ids=["offsettree", "theory"])
def test_public_names_are_sorted_and_documented(module: Any) -> None:
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), name


@pytest.mark.parametrize("folder", ["models", "registry"])
def test_methods_have_the_docstring_of_the_class_they_come_from_or_their_own(folder: str) -> None:
    files = (Path(offsettree.__file__).parent / folder).glob("[a-z]*.py")
    modules = [importlib.import_module(f"offsettree.{folder}.{file.stem}") for file in files]
    for cls in {each for module in modules for _, each in inspect.getmembers(module, inspect.isclass)}:
        if cls.__module__.startswith("offsettree."):
            for name in (name for name in vars(cls) if not name.startswith("_")):
                member = inspect.getattr_static(cls, name)
                if callable(member) or isinstance(member, property | classmethod):
                    assert inspect.getdoc(getattr(cls, name)), f"{cls.__name__}.{name}"


def test_the_drawn_layers_are_the_checked_ones() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    drawn = "  >  ".join(contract["layers"])
    assert drawn in (ROOT / "CONTRIBUTING.md").read_text()


def test_every_target_that_the_documents_name_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES, *workflows]
    found = {
        target for each in documents for target in re.findall(r"(?:`|run: |^ *)make ([\w-]+)", each.read_text(), re.M)
    }
    assert {"test", "lint", "test-oldest", "docs", "dist", "bench-beside"} <= found
    for target in found:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_hosted_jobs_call_targets_and_say_that_they_have_not_run() -> None:
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = workflow.read_text()
        assert text.startswith("# Not yet run"), workflow
        assert re.search(r"run: make ", text), workflow
        assert "pip install" not in text, workflow


def test_the_version_is_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", offsettree.__version__)


def source_of(page: Path) -> Path:
    """Return what a page of the site is made from, where it is made when the site is built."""
    for made, source in (("docs/gallery", "examples/gallery"), ("docs/reference/api", "tools")):
        if page.is_relative_to(ROOT / made):
            name = {"examples/gallery": f"{page.stem}.py", "tools": "api_pages.py"}[source]
            return ROOT / source / (name if page.stem != "index" or source == "tools" else "GALLERY_HEADER.rst")
    return page


def test_every_page_of_the_site_opens_with_what_it_is_for() -> None:
    for page in PAGES:
        if "results" in page.parts or "{include}" in page.read_text():
            continue
        title, _, rest = page.read_text().partition("\n")
        assert title.startswith("# "), page
        opening = rest.strip().split("\n\n")[0]
        assert len(opening) > 60, page
        assert not opening.startswith(("#", "```", "|", ">>>")), page


def test_the_reference_has_every_public_name(tmp_path: Path) -> None:
    api_pages.write(tmp_path)
    described = {path.stem.rpartition(".")[2] for path in tmp_path.glob("offsettree.*.rst")}
    for module in ("offsettree", "offsettree.evaluation", "offsettree.theory", "offsettree.exceptions"):
        text = (tmp_path / f"{module}.rst").read_text()
        for name in api_pages.public_names(module):
            assert name in described or f"``{name}``" in text or f"offsettree.{name}`" in text, name
    assert set(offsettree.__all__) <= described


def test_the_glossary_is_in_alphabetical_order() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert len(terms) > 40
    assert terms == sorted(set(terms), key=str.lower)


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_links_between_pages_lead_to_a_page_and_a_heading(page: Path) -> None:
    for file, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", page.read_text()):
        target = (page.parent / file).resolve() if file else page
        assert source_of(target).exists(), file
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, anchor
