"""Lazy imports: names of a package and modules of a class, imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def names_on_demand(package: str, files: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, given its files and the names that each defines.

    A saved policy uses kernels from several folders, and must not import scikit-learn with them.
    """
    file_of = {name: file for file, names in files.items() for name in names}

    def find(name: str) -> Any:
        if name not in file_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{file_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


class ModuleOnDemand:
    """A class attribute that is a module, imported on first access; later accesses cost nothing extra."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.owner, self.attribute = owner, attribute

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        module = import_module(self.name)
        setattr(self.owner, self.attribute, module)
        return module
