"""Runs the service: settings, store, engine and application, on uvicorn."""

from __future__ import annotations

import gc
import ipaddress
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from offsettree.exceptions import ParameterError
from offsettree.service.app import make_app
from offsettree.service.connections import protocol_of
from offsettree.service.demo import demo_settings
from offsettree.service.engine import Engine
from offsettree.service.keys import Keys
from offsettree.service.postgres_store import PostgresStore
from offsettree.service.settings import Settings, read_settings
from offsettree.service.sqlite_store import SqliteStore
from offsettree.service.visitors import visit
from offsettree.service.writer import GroupWriter

__all__ = ["JsonLines", "check_address", "serve", "settings_for"]

DATABASE = "decisions.db"
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
# Python threads hand over the interpreter's lock after this time: at the default, 5 ms, commits would wait for it.
SWITCH_INTERVAL = 0.0001


class JsonLines(logging.Formatter):
    """Log lines as JSON objects; keys of callers are never among their fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def settings_for(path: str | Path | None, *, demo: bool, host: str | None, port: int | None) -> Settings:
    """Return the settings of a file, or those of the demo, with the address of the command line."""
    settings = demo_settings() if demo else read_settings(path, os.environ)
    changed = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    if not settings.loops:
        raise ParameterError("there must be a loop to serve: add [loops.NAME] to the settings, or try --demo.")
    return msgspec.structs.replace(settings, server=msgspec.structs.replace(settings.server, **changed))


def check_address(host: str, keys: Keys) -> None:
    """Refuse to listen on anything but loopback without keys."""
    if keys.are_set or host == "localhost":
        return
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ParameterError(
            f"without keys, the service listens on loopback addresses only; --host is {host}. Set keys for both roles, "
            "server.keys.decide and server.keys.admin."
        )


def serve(settings: Settings, folder: str | Path, *, visitors: bool = False) -> int:
    """Serve until stopped; return an exit code.

    The database is in the folder. With `visitors`, simulated ones call the loop `demo`.
    """
    server = settings.server
    keys = Keys(server.keys)
    check_address(server.host, keys)
    _log_as_json()
    sys.setswitchinterval(SWITCH_INTERVAL)
    Path(folder).mkdir(parents=True, exist_ok=True)
    engine = Engine(settings, GroupWriter(_store(settings, Path(folder))))
    gc.freeze()  # what is here to stay is not looked at again
    app = make_app(engine, keys, beside=(lambda: visit(engine)) if visitors else None)
    sys.stderr.write(f"offsettree: http://{server.host}:{server.port}/ (stop with Ctrl-C)\n")
    sys.stderr.flush()
    config = uvicorn.Config(
        app,
        host=server.host,
        port=server.port,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # nothing depends on the caller's address
        http=protocol_of(app.at_once),
        ws="none",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        backlog=1024,
    )
    uvicorn.Server(config).run()
    return 0


def _store(settings: Settings, folder: Path) -> Any:
    if settings.server.database is None:
        return SqliteStore(folder / DATABASE)
    return PostgresStore(settings.server.database)


def _log_as_json() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("offsettree").setLevel(logging.INFO)
