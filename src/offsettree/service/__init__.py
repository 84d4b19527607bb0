"""The decision service: decides over HTTP, logs exact propensities, joins rewards, learns, and swaps policies."""

from typing import TYPE_CHECKING, Any

from offsettree._lazy import names_on_demand
from offsettree._optional import require

if TYPE_CHECKING:
    from offsettree.service.background import BackgroundServer
    from offsettree.service.engine import Engine
    from offsettree.service.settings import LoopSettings, Settings, read_settings
    from offsettree.service.sqlite_store import SqliteStore
    from offsettree.service.writer import GroupWriter

__all__ = ["BackgroundServer", "Engine", "GroupWriter", "LoopSettings", "Settings", "SqliteStore", "read_settings"]

_find = names_on_demand(
    __name__,
    {
        "background": ("BackgroundServer",),
        "engine": ("Engine",),
        "settings": ("LoopSettings", "Settings", "read_settings"),
        "sqlite_store": ("SqliteStore",),
        "writer": ("GroupWriter",),
    },
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("msgspec", "uvicorn", "starlette", "prometheus_client"):
            require(module, extra="service")
    return _find(name)
