"""Detects a file's format by its first bytes, then its first line, then its name."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from offsettree._messages import Parameter
from offsettree.exceptions import LogError
from offsettree.logs._source import Source, read_head

__all__ = ["FORMATS", "recognise"]

FORMATS = ("csv", "ndjson", "parquet", "arrow", "vw", "dsjson")
SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".psv": "csv",
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson",
    ".parquet": "parquet", ".pq": "parquet", ".parq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow",
    ".vw": "vw", ".dat": "vw",
    ".dsjson": "dsjson",
}  # fmt: skip
FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook: unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save the sheet as CSV",
    b"SQLite format 3": "an SQLite database: export the table as CSV",
    b"\x89HDF": "an HDF5 file: write the table as Parquet",
    b"\x80\x04": "a pickle, which is not opened because it could run arbitrary code: write the table as Parquet",
    b"\x80\x05": "a pickle, which is not opened because it could run arbitrary code: write the table as Parquet",
    b"FEA1": "the first version of Feather: write it again as Arrow or Parquet",
    b"ORC": "an ORC file: write the table as Parquet",
    b"Obj\x01": "an Avro file: write the table as Parquet",
}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
VW_LABEL = re.compile(rf"^\s*(?:\d+:{NUMBER}:{NUMBER}|\d+(?::{NUMBER})?(?=\s))[^|]*\|")
VW_OTHER = re.compile(r"^(?:shared\s*\||[^|,;\t{]*\|\w* [^|,;\t]*$)")
VW_UNLABELLED = re.compile(r"^\|\S*\s+\S")


def recognise(source: Source) -> str:
    """Return the format of a file."""
    head = read_head(source, 1 << 16)
    for magic, what in FOREIGN.items():
        if head.startswith(magic):
            raise LogError(f"a log must be one of {', '.join(FORMATS)}; {source} is {what}.")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    text = head.decode("utf-8-sig", errors="replace")
    line = next((line for line in text.splitlines() if line.strip()), "")
    if not line:
        raise LogError(f"a log must have rows; {source} holds only white space. Was it written to the end?")
    if line.lstrip().startswith("{"):
        return "dsjson" if _is_decision(line) else "ndjson"
    if line.lstrip().startswith("["):
        raise LogError(
            f"JSON must have one object per line; {source} is one list. Write it line by line: jq -c '.[]' in.json."
        )
    named = _by_name(source)
    if VW_LABEL.match(line) or (named in (None, "vw") and VW_OTHER.match(line)) or _has_no_labels(text):
        return "vw"
    if named in ("parquet", "arrow"):
        raise LogError(
            f"{source} must be {named}, as its name says; it does not begin as such files do. If it is CSV, pass ",
            Parameter("format", "csv"),
            ".",
        )
    if "\x00" in text[:1000] and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise LogError(f"a log must be one of {', '.join(FORMATS)}; {source} is none of them: it is not text.")
    return "csv" if named in (None, "ndjson", "dsjson", "vw") else named


def _has_no_labels(text: str) -> bool:
    """Return whether lines are Vowpal Wabbit's without labels; a table drawn with bars has one at both ends."""
    lines = [line.rstrip() for line in text.splitlines()[:20] if line.strip()]
    return all(VW_UNLABELLED.match(line) and not line.endswith("|") for line in lines)


def _by_name(source: Source) -> str | None:
    for suffix in reversed(PurePath(source.file).suffixes):
        if suffix.lower() in SUFFIXES:
            return SUFFIXES[suffix.lower()]
    return None


def _is_decision(line: str) -> bool:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return '"_label_cost"' in line and '"_multi"' in line
    return isinstance(row, dict) and ("_label_cost" in row or ("c" in row and "a" in row and "p" in row))
