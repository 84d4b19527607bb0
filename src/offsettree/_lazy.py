"""Names that a folder exports, and files that a class needs, without importing any until someone asks for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["ModuleOnDemand", "names_on_demand"]


def names_on_demand(package: str, files: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, from its files and the names that each defines.

    A saved policy decides by kernels that stand in several folders, and must not load scikit-learn with them.
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
    """A class's attribute that is a module: imported when first asked for, and from then on found without delay."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.owner, self.attribute = owner, attribute

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        module = import_module(self.name)
        setattr(self.owner, self.attribute, module)
        return module
