"""The service in a thread of this process: for notebooks, and to try things out."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Self

import uvicorn

from offsettree.service.app import make_app
from offsettree.service.connections import protocol_of
from offsettree.service.engine import Engine
from offsettree.service.keys import Keys
from offsettree.service.settings import KeySettings, Settings
from offsettree.service.sqlite_store import SqliteStore
from offsettree.service.writer import GroupWriter

__all__ = ["BackgroundServer"]

PATIENCE = 30.0


class BackgroundServer:
    """Serves on a free loopback port, within a ``with`` block.

    Parameters
    ----------
    settings : Settings
        The loops.
    folder : str or Path
        Where the database is.

    Attributes
    ----------
    address : str
        Such as ``http://127.0.0.1:43210``.

    Examples
    --------
    >>> import tempfile
    >>> from offsettree.client import Client
    >>> from offsettree.service import BackgroundServer, LoopSettings, Settings
    >>> settings = Settings({"shop": LoopSettings(actions=("mail", "call"))})
    >>> with tempfile.TemporaryDirectory() as folder, BackgroundServer(settings, folder) as server:
    ...     with Client(server.address, "shop", timeout=10) as shop:
    ...         shop.reward(shop.decide({"age": 33}), 1.0)
    'kept'
    """

    def __init__(self, settings: Settings, folder: str | Path) -> None:
        self.engine = Engine(settings, GroupWriter(SqliteStore(Path(folder) / "decisions.db")))
        app = make_app(self.engine, Keys(KeySettings()))
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=0,
            access_log=False,
            log_config=None,
            loop="asyncio",
            http=protocol_of(app.at_once),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name="offsettree-server", daemon=True)
        self.address = ""

    def __enter__(self) -> Self:
        self._thread.start()
        end = time.monotonic() + PATIENCE
        while not self._server.started:
            if time.monotonic() > end or not self._thread.is_alive():
                raise TimeoutError("the server did not start; its log says why.")
            time.sleep(0.01)
        sockets: Any = self._server.servers[0].sockets
        self.address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)
