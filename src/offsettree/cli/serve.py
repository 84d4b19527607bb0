"""``offsettree serve``: the decision service."""

from __future__ import annotations

import argparse
from pathlib import Path

from offsettree._optional import require
from offsettree.exceptions import ParameterError

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree serve --demo"
NEEDED = ("msgspec", "starlette", "uvicorn", "prometheus_client")


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("settings", type=Path, nargs="?", metavar="LOOPS", help="a TOML file: docs/service.md")
    command.add_argument("--demo", action="store_true", help="serve a made-up shop, with simulated visitors")
    command.add_argument("--no-visitors", action="store_true", help="with --demo: without traffic")
    command.add_argument("--host", help="address to listen on (default: 127.0.0.1, or that of the settings)")
    command.add_argument("--port", type=int, help="port to listen on (default: 8000, or that of the settings)")
    command.add_argument(
        "--folder", type=Path, help="folder of the database and the policies (default: that of LOOPS; demo: ./demo)"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until stopped."""
    for module in NEEDED:
        require(module, extra="service")
    if options.demo == (options.settings is not None):
        raise ParameterError("give either a file of settings, LOOPS, or --demo.")
    if options.no_visitors and not options.demo:
        raise ParameterError("--no-visitors goes with --demo.")
    if options.port is not None and not 0 <= options.port <= 65535:
        raise ParameterError(f"--port must be from 0 to 65535; got {options.port}.")
    from offsettree.service.server import serve, settings_for

    settings = settings_for(options.settings, demo=options.demo, host=options.host, port=options.port)
    folder = options.folder or (Path("demo") if options.demo else options.settings.parent)
    return serve(settings, folder, visitors=options.demo and not options.no_visitors)
