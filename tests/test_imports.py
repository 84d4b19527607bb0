"""Who imports what: across folders public names only, no cycles, inside functions only what would slow the start."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parent.parent / "src"
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
# What takes long to import, or is an extra that need not be installed.
MANY = 3  # modules of ours
HEAVY = {
    *("numpy", "scipy", "sklearn", "numba", "joblib", "pandas", "polars", "pyarrow", "skops", "onnx", "matplotlib"),
    *("msgspec", "starlette", "uvicorn", "prometheus_client", "psycopg", "httpx"),  # of the service and its client
    "importlib.metadata",  # parses e-mail headers
    "IPython",  # only a notebook has it
}


class Import(NamedTuple):
    """One imported name; `name` is None if a whole module was imported."""

    importer: str
    line: int
    target: str
    name: str | None
    in_function: bool
    for_types: bool

    @property
    def where(self) -> str:
        return f"{self.importer}:{self.line} imports {self.name or ''} of {self.target}"


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    return tuple(_imports(tree, module, in_function=False, for_types=False))


def _imports(node: ast.AST, module: str, *, in_function: bool, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        within = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        types = for_types or (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING")
        if isinstance(child, ast.Import):
            for each in child.names:
                yield Import(module, child.lineno, each.name, None, within, types)
        elif isinstance(child, ast.ImportFrom):
            for each in child.names:
                target, name = str(child.module), each.name
                is_module = f"{target}.{name}" in FILES
                yield Import(
                    module, child.lineno, f"{target}.{name}" if is_module else target, None if is_module else name,
                    within, types,
                )  # fmt: skip
        yield from _imports(child, module, in_function=within, for_types=types)


EVERY = [each for module in FILES for each in imports_of(module)]
OURS = [each for each in EVERY if each.target.partition(".")[0] == "offsettree"]


def folder_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def is_private(word: str) -> bool:
    return word.startswith("_") and not word.startswith("__")


def is_kernel(module: str) -> bool:
    return module.rpartition(".")[2].startswith("_kernels")


def home_of(module: str, name: str | None) -> str:
    """Return the module that defines a name which its folder gives on demand."""
    on_demand = (each for each in imports_of(module) if each.for_types and each.name == name and name is not None)
    return next((each.target for each in on_demand), module)


def test_imports_across_folders_are_of_public_names() -> None:
    """Kernels alone import kernels by their files: compiled functions must be globals of those that call them."""
    wrong = [
        each.where
        for each in OURS
        if folder_of(each.importer) != folder_of(each.target)
        and not (is_kernel(each.importer) and is_kernel(each.target))
        # The modules at the top, private or not, are what all folders stand on; their private names are theirs.
        and (any(map(is_private, each.target.split(".")[2:])) or is_private(each.name or ""))
    ]
    assert not wrong, "\n".join(wrong)


@cache
def loaded_with(module: str) -> frozenset[str]:
    """Return the modules of ours, and the heavy ones of others, that are loaded once a module has been imported."""
    found: set[str] = set()
    pending = [module]
    while pending:
        here = pending.pop()
        top = here.partition(".")[0]
        if top != "offsettree":
            found |= {top, here} & HEAVY
        elif here in FILES and here not in found:
            found.add(here)
            pending += [here.rpartition(".")[0], *_at_once(here)]
    return frozenset(found)


def _at_once(module: str) -> Iterator[str]:
    for each in imports_of(module):
        if not each.in_function and not each.for_types:
            yield each.target
            if each.target in FILES:
                yield home_of(each.target, each.name)


LOCAL = [each for each in EVERY if each.in_function]


def test_imports_inside_functions_spare_the_start_something_heavy() -> None:
    """An extra, a library that takes long to import, or many modules of ours, which are not loaded yet."""
    assert LOCAL
    wrong = []
    for each in LOCAL:
        target = home_of(each.target, each.name) if each.target in FILES else each.target
        spared = loaded_with(target) - loaded_with(each.importer)
        if not spared & HEAVY and len(spared) < MANY:
            wrong.append(each.where)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", sorted({folder_of(module) for module in FILES} - {""}))
def test_no_file_of_a_folder_imports_one_that_imports_it(folder: str) -> None:
    """Also not inside functions."""
    inside = {module for module in FILES if folder_of(module) == folder}
    edges = {module: {each.target for each in imports_of(module) if not each.for_types} & inside for module in inside}
    while leaves := {module for module, targets in edges.items() if not targets}:
        edges = {module: targets - leaves for module, targets in edges.items() if module not in leaves}
    assert not edges
