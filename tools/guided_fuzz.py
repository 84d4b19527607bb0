"""Fuzz the readers of logs and policy files by coverage, with atheris, where that is installed.

    python -m venv ENV && ENV/bin/pip install atheris . pandas
    ENV/bin/python tools/guided_fuzz.py [corpus folder] [options of libFuzzer, such as -max_total_time=60 -seed=1]

`tools/fuzz.py` knows what a file looks like and needs nothing but the package; this one learns it from the branches
that a case reaches. The first byte of a case says what it is read as, the others are the file. Beside those of the
corpus folder, it begins with the files of tests/fuzzing/corpus. An error that is not ours ends it; libFuzzer keeps the
case.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tempfile
import warnings
from pathlib import Path

import atheris  # type: ignore[import-untyped]

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src")]

PACKAGES = ("offsettree.logs", "offsettree.models", "offsettree.policy_file")

with atheris.instrument_imports(include=list(PACKAGES)):
    for package in PACKAGES:  # all of it now: what is imported on demand would not be instrumented
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            importlib.import_module(f"{package}.{module.name}")

import numpy as np  # noqa: E402

from offsettree import LoggedData, load  # noqa: E402
from offsettree.exceptions import OffsetTreeError  # noqa: E402
from offsettree.logs import scan_tables  # noqa: E402

KINDS = ("ot", "csv", "ndjson", "vw", "dsjson", "arrow", "parquet")
SCRATCH = Path(tempfile.mkdtemp()) / "case"


def run_case(data: bytes) -> None:
    """Read one file; whatever is not an error of ours is raised."""
    if not data:
        return
    kind = KINDS[data[0] % len(KINDS)]
    SCRATCH.write_bytes(data[1:])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if kind == "ot":
                load(SCRATCH)
                return
            for _ in scan_tables(SCRATCH, format=kind, max_line_bytes=1 << 16):
                pass
            LoggedData.read(SCRATCH, format=kind, max_line_bytes=1 << 16)
        except OffsetTreeError:
            return


def first_cases() -> Path:
    """Write what was found before as cases of this fuzzer."""
    folder = Path(tempfile.mkdtemp())
    for file in (ROOT / "tests" / "fuzzing" / "corpus").iterdir():
        kind = next((each for each in KINDS if f".{each}" in file.name), None)
        if kind is not None:
            (folder / file.name).write_bytes(bytes([KINDS.index(kind)]) + file.read_bytes())
    return folder


if __name__ == "__main__":
    folders = [each for each in sys.argv[1:] if not each.startswith("-")] or [tempfile.mkdtemp()]
    options = [each for each in sys.argv[1:] if each.startswith("-")]
    atheris.Setup([sys.argv[0], *folders, str(first_cases()), *options], run_case)
    atheris.Fuzz()
