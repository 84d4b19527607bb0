"""Optional dependencies: imported when needed; the error for a missing one says how to install it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from offsettree.exceptions import MissingExtraError


def require(module: str, *, extra: str) -> ModuleType:
    """Import a module that an extra of this package installs.

    Parameters
    ----------
    module : str
        The module, such as ``"pandas"``.
    extra : str
        The extra that installs it, such as ``"data"``.

    Returns
    -------
    module
        The imported module.

    Examples
    --------
    >>> require("pandas", extra="data").__name__
    'pandas'
    """
    try:
        return import_module(module)
    except ImportError as error:
        # The cause is included, as a broken package needs another remedy than a missing one.
        raise MissingExtraError(
            f"this needs {module}, which cannot be imported ({error}). Install it: pip install offsettree[{extra}]"
        ) from error
