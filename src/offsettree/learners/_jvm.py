"""The one Java machine of a process: started on first use, quiet, and with Weka on its class path.

Nothing here is imported or started before a Weka learner is fitted. Every process starts its own machine; one that
was forked off cannot, and says so instead of waiting for Java threads that it did not inherit.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offsettree._optional import require
from offsettree.exceptions import FeatureError, JavaError

OPTIONS = [
    "-Xrs",  # Ctrl-C stays Python's
    "-XX:+UseSerialGC",  # the other collectors bring a thread per core and take memory before they need it
    "--enable-native-access=ALL-UNNAMED",  # newer Javas warn of JPype without it
]
PROPERTIES = {
    "java.awt.headless": "true",
    "weka.packageManager.loadPackages": "false",
    "weka.packageManager.offline": "true",
    # Linear algebra in plain Java: the same model on every machine, and no complaint that there is no native library.
    "com.github.fommil.netlib.BLAS": "com.github.fommil.netlib.F2jBLAS",
    "com.github.fommil.netlib.LAPACK": "com.github.fommil.netlib.F2jLAPACK",
    "com.github.fommil.netlib.ARPACK": "com.github.fommil.netlib.F2jARPACK",
}
REMEDY = (
    "Install a Java runtime of version 11 or newer, such as your system's openjdk-17-jre-headless or conda's openjdk, "
    "or set JAVA_HOME to where it is."
)

_lock = threading.Lock()
_ready = False
_lost = False


def java_class(name: str) -> Any:
    """Find a Java class by its full name."""
    return start_java().JClass(name)


def start_java() -> Any:
    """Return the module `jpype`, with Java running and Weka loaded."""
    jpype = require("jpype", extra="weka")
    if _lost:
        raise JavaError(
            "Java does not survive a fork, and this process was forked off one in which Java was running. Start "
            "worker processes afresh: joblib's default backend does, multiprocessing does with the method 'spawn'."
        )
    if not _ready:
        with _lock:
            if not _ready:
                _start(jpype)
    return jpype


def _start(jpype: Any) -> None:
    global _ready
    library = Path(next(iter(require("weka", extra="weka").__path__))) / "lib"
    for jar in sorted(library.glob("*.jar")):
        jpype.addClassPath(jar)  # before the start or, where another library has started Java, after it
    if not jpype.isJVMStarted():
        try:
            jpype.startJVM(*OPTIONS, ignoreUnrecognized=True, interrupt=True)
        except jpype.JVMNotFoundException as error:
            raise JavaError(f"Weka runs on Java, and no Java was found. {REMEDY}") from error
        except (OSError, RuntimeError) as error:
            raise JavaError(f"Weka runs on Java, and Java did not start: {error}. {REMEDY}") from error
    system = jpype.JClass("java.lang.System")
    for name, value in PROPERTIES.items():
        if system.getProperty(name) is None:
            system.setProperty(name, value)
    # Weka makes itself a folder as its classes are loaded, in the user's home if not told otherwise; it stays empty.
    home = tempfile.mkdtemp(prefix="offsettree-weka-")
    try:
        system.setProperty("WEKA_HOME", home)
        jpype.JClass("weka.core.WekaPackageManager")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    _ready = True


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an exception of Java into one of ours."""
    jpype = start_java()
    try:
        yield
    except jpype.JException as error:
        if isinstance(error, jpype.JClass("java.lang.VirtualMachineError")):
            raise JavaError(
                f"{what} needs more memory than Java has ({error}). Set the environment variable "
                "JAVA_TOOL_OPTIONS=-Xmx8g, or as much as there is, before Python starts."
            ) from error
        raise FeatureError(f"{what} failed; Weka says: {error.getMessage()}") from error


def _after_fork_in_child() -> None:
    global _lost
    _lock.release()
    jpype: Any = sys.modules.get("jpype")
    if jpype is not None and jpype.isJVMStarted():
        _lost = True
        # JPype must not call Java, whose threads stayed behind, when Python collects its garbage or exits.
        gc.callbacks[:] = [call for call in gc.callbacks if getattr(call, "__module__", None) != "_jpype"]
        settings: Any = require("jpype.config", extra="weka")
        settings.onexit = False


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork_in_child)
