"""Packages that only some of the library needs: a missing one is explained, with the extra that installs it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from offsettree.exceptions import MissingExtraError

__all__ = ["require"]


def require(module: str, *, extra: str) -> ModuleType:
    """Import a package that comes with an extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"this needs the package {module!r}, which is not installed. "
            f'Install it with its extra: pip install "offsettree[{extra}]".',
            name=module,
        ) from error
