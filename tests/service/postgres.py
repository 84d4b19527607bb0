"""A real PostgreSQL server for tests, started once per process by `initdb` and `pg_ctl`; or the reason why not."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests.service.servers import free_port


def _programs() -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return str(found[-1].parent)
    program = shutil.which("initdb")
    return None if program is None else str(Path(program).parent)


def _why_not() -> str:
    if os.environ.get("OFFSETTREE_TEST_SERVICE") != "1":
        return "a PostgreSQL server is started by make test-service only"
    if _programs() is None:
        return "there is no PostgreSQL here: no initdb"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return ""


WHY_NOT = _why_not()


def _as_user(command: list[str]) -> list[str]:
    """PostgreSQL does not run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


@cache
def server() -> str:
    """Start a server; return the address of its first database, without its name."""
    folder = Path(tempfile.mkdtemp(prefix="offsettree-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    programs, port = _programs(), free_port()
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c max_connections=300"
    run = subprocess.run
    run(
        _as_user([f"{programs}/initdb", "-D", f"{folder}/data", "-U", "test", "-A", "trust"]),
        check=True,
        capture_output=True,
    )
    control = [f"{programs}/pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log"]
    run(_as_user([*control, "-o", options, "start"]), check=True, stdout=subprocess.DEVNULL)

    @atexit.register
    def stop() -> None:
        run(_as_user([*control, "-m", "immediate", "stop"]), check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)

    return f"postgresql://test@127.0.0.1:{port}"


def database_for(folder: Path) -> str:
    """Return the address of a folder's database, which is made at the first call."""
    import psycopg

    name = "d" + hashlib.sha256(str(folder).encode()).hexdigest()[:20]
    with psycopg.connect(f"{server()}/postgres", autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname=%s", (name,)).fetchone():
            # Sorted as words where the server can: no order of ours may depend on it.
            words = "LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
            options = f" TEMPLATE template0 ENCODING 'UTF8' {words}" if connection.info.server_version >= 150000 else ""
            connection.execute(f"CREATE DATABASE {name}{options}")
    return f"{server()}/{name}"
