"""Write the API reference that Sphinx reads: a table per public module, and a page per public name."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import offsettree

__all__ = ["MODULES", "public_names", "write"]

# Who needs the module; the package itself comes first. Those for authors of extensions are a group of their own.
MODULES = {
    "offsettree": "What most programs need.",
    "offsettree.actions": "Actions with features, and a set of eligible ones per row.",
    "offsettree.client": "Callers of the decision service.",
    "offsettree.datasets": "The paper's datasets, texts, and problems of which the truth is known.",
    "offsettree.distributed": "Training on engines that already run.",
    "offsettree.evaluation": "What a policy is worth: estimates, intervals, plots.",
    "offsettree.exceptions": "Every error and warning of this package.",
    "offsettree.experiments.table1": "Table 1 of the paper.",
    "offsettree.experiments.banditron": "Section 7.2 of the paper.",
    "offsettree.experiments.noise": "Section 7.2 with wrong labels.",
    "offsettree.facts": "All that is known about a learned policy.",
    "offsettree.learners": "What a contest or a regression learns with.",
    "offsettree.logs": "Logs in memory and in files.",
    "offsettree.mlflow": "Policies as models of MLflow.",
    "offsettree.online": "Learning from one row at a time, and exploration.",
    "offsettree.policy_file": "Policies in files.",
    "offsettree.reductions": "The paper's algorithms and ours.",
    "offsettree.report": "The report as one HTML page.",
    "offsettree.selection": "The choice among candidates.",
    "offsettree.service": "The decision service.",
    "offsettree.spark": "Decisions in frames of Spark.",
    "offsettree.theory": "The paper's theorems over problems solved exactly.",
    "offsettree.topology": "Trees over actions.",
    "offsettree.workflow": "What the commands do, in Python.",
    "offsettree.base": "For extensions: the base of all policies.",
    "offsettree.models": "For extensions: decided policies as flat arrays.",
    "offsettree.reading": "For extensions: scikit-learn's objects as models.",
    "offsettree.registry": "For extensions: names of policies, formats and learners.",
}
STARTS = {True: "class", False: "function"}


def public_names(module: str) -> list[str]:
    """Return the names that a module exports."""
    found = importlib.import_module(module)
    return sorted(getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")])


def write(folder: Path) -> None:
    """Write all pages into a folder; pages of names that are gone are deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index.rst": _index()}
    for module, purpose in MODULES.items():
        names = public_names(module)
        pages[f"{module}.rst"] = _module_page(module, purpose, names)
        for name in names:
            if _home(module, name) == module and _kind(module, name) != "data":
                pages[f"{module}.{name}.rst"] = _name_page(module, name)
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _index() -> str:
    rows = "\n".join(f"   * - :doc:`{module} <{module}>`\n     - {purpose}" for module, purpose in MODULES.items())
    entries = "\n".join(f"   {module}" for module in MODULES)
    return (
        f"{_title('Python API')}Every public name, from its docstring. A name that the package itself exports is "
        "described there; other modules refer to it.\n\n"
        f".. list-table::\n   :widths: 35 65\n\n{rows}\n\n.. toctree::\n   :hidden:\n\n{entries}\n"
    )


def _module_page(module: str, purpose: str, names: list[str]) -> str:
    here = [name for name in names if _home(module, name) == module]
    described = [name for name in here if _kind(module, name) != "data"]
    data = [name for name in here if _kind(module, name) == "data"]
    elsewhere = [name for name in names if _home(module, name) == "offsettree" and module != "offsettree"]
    parts = [_title(module), f"{purpose}\n\n.. currentmodule:: {module}\n"]
    if described:
        rows = "\n".join(
            f"   * - :py:obj:`{name} <{module}.{name}>`\n     - {_first_line(module, name)}" for name in described
        )
        parts.append(f".. list-table::\n   :widths: 35 65\n\n{rows}\n")
    if elsewhere:
        links = ", ".join(f":py:obj:`~offsettree.{name}`" for name in elsewhere)
        parts.append(f"Also here, and exported by the package itself: {links}.\n")
    if data:
        parts.append("Constants: " + ", ".join(f"``{name}``" for name in data) + ".\n")
    if described:
        entries = "\n".join(f"   {name} <{module}.{name}>" for name in described)
        parts.append(f".. toctree::\n   :hidden:\n\n{entries}\n")
    return "\n".join(parts)


def _name_page(module: str, name: str) -> str:
    value, kind = _value(module, name), _kind(module, name)
    lines = [_title(name), f".. currentmodule:: {module}\n", f".. auto{kind}:: {name}"]
    if kind == "class" and (members := _members(value)):
        lines.append(f"   :members: {', '.join(members)}")
    return "\n".join(lines) + "\n"


def _members(cls: type) -> list[str]:
    """Return the methods and properties that this package documents; what scikit-learn adds is scikit-learn's."""
    found = []
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("offsettree"):
            continue
        if name.startswith("set_") and name.endswith("_request"):
            continue
        value = inspect.getattr_static(cls, name)
        is_method = inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod)
        if is_method and getattr(getattr(cls, name), "__doc__", None):
            found.append(name)
    return found


def _home(module: str, name: str) -> str:
    """Return the module whose page describes a name: the package, if it exports the same object."""
    if module != "offsettree" and name in offsettree.__all__ and _value("offsettree", name) is _value(module, name):
        return "offsettree"
    value = _value(module, name)
    for other in MODULES:
        if other == module:
            return module
        if name in public_names(other) and _value(other, name) is value:
            return other
    return module


def _value(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _kind(module: str, name: str) -> str:
    value = _value(module, name)
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if callable(value) and inspect.isroutine(value) else "data"


def _first_line(module: str, name: str) -> str:
    text = inspect.getdoc(_value(module, name)) or ""
    paragraph = text.partition("\n\n")[0]
    return " ".join(paragraph.split())


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"
