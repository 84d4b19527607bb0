"""How cases are run: what a forged file claims must not use up the limit for the cases after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.fuzz import ROOT, _environment

CLAIM_MUCH = """
import struct, sys
from pathlib import Path
import pyarrow as pa, pyarrow.ipc as ipc

table = pa.table({"x": list(range(1000))})
file = pa.BufferOutputStream()
with ipc.new_file(file, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
    writer.write_table(table)
data = bytearray(file.getvalue())
place = data.index(struct.pack("<q", 8000))  # the size of the column, before its compressed bytes
data[place : place + 8] = struct.pack("<q", 1 << 31)

def addresses():
    return int(Path("/proc/self/statm").read_text().split()[0]) * 4096

sizes = []
for _ in range(4):
    try:
        ipc.open_file(bytes(data)).read_all()
    except (pa.ArrowException, OSError):
        pass
    sizes.append(addresses())
print(max(sizes) - sizes[0] < 1 << 28 and sizes[0] < 2 << 30)
"""


def test_addresses_of_what_was_freed_are_given_back(tmp_path: Path) -> None:
    environment = _environment(tmp_path)
    run = subprocess.run(  # noqa: S603 - a text of our own
        [sys.executable, "-c", CLAIM_MUCH], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "True", run.stderr
