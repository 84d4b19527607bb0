"""Packages that only some parts need: imported when needed, and where they are missing it is said how to get them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from offsettree.exceptions import MissingExtraError

__all__ = ["require"]


def require(module: str, *, extra: str) -> ModuleType:
    """Import a module that comes with an extra of this package.

    Parameters
    ----------
    module : str
        What to import, such as ``"pandas"``.
    extra : str
        The extra that brings it, such as ``"data"``.

    Returns
    -------
    module
        As ``import`` would bind it.

    Examples
    --------
    >>> require("pandas", extra="data").__name__
    'pandas'
    """
    try:
        return import_module(module)
    except ImportError as error:
        # The reason is told: a package that is there but broken needs another remedy than one that is not.
        raise MissingExtraError(
            f"this needs {module}, which cannot be imported ({error}). Get it: pip install offsettree[{extra}]"
        ) from error
