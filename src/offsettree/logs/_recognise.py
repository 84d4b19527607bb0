"""Detects a file's format by its first bytes, then its first line, then its name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import NamedTuple

from offsettree._messages import Parameter
from offsettree._validation import warn_caller
from offsettree.exceptions import EmptyLogError, LogError
from offsettree.logs._source import Source, read_head
from offsettree.registry import FORMATS, resolve

OFTEN_CSV = ("csv", "ndjson", "vw", "dsjson")  # suffixes that CSV files have too
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
# Digits are matched in one way only: a long line of them would be tried in all.
NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"
VW_LABEL = re.compile(rf"^\s*+(?:\d++:{NUMBER}:{NUMBER}|\d++(?::{NUMBER})?(?=\s))[^|]*+\|")
VW_OTHER = re.compile(r"^(?:shared\s*\||[^|,;\t{]*\|\w* [^|,;\t]*$)")
VW_UNLABELLED = re.compile(r"^\|\S*\s+\S")


class FileStart(NamedTuple):
    """The first 64 KiB of a file, its first line that is not blank, and the format that its suffix stands for.

    The text is what the bytes are as UTF-8, whatever they are.
    """

    data: bytes
    line: str
    named: str | None
    text: str


def recognise(sources: Sequence[Source]) -> str:
    """Return the format of the files of a log, which is that of the first that is more than white space."""
    for source in sources[:-1]:
        with suppress(EmptyLogError):
            return recognise([source])
    source = sources[-1]
    data = read_head(source, 1 << 16)
    text = data.decode("utf-8-sig", errors="replace")
    line = next((line for line in text.splitlines() if line.strip()), "")
    suffixes = [suffix.lower() for suffix in reversed(PurePath(source.file).suffixes)]
    for is_last in (False, True):
        formats = {suffix: name for name, entry in FORMATS.known.items() for suffix in entry.suffixes}
        start = FileStart(data, line, next((formats[each] for each in suffixes if each in formats), None), text)
        if (found := _by_content(start)) is not None:
            return found
        if is_last or start.named is not None or not FORMATS.beside():
            break
        FORMATS.load_beside()
    for magic, what in FOREIGN.items():
        if start.data.startswith(magic):
            raise LogError(f"a log must be one of {', '.join(FORMATS)}; {source} is {what}.")
    if not start.line:
        raise EmptyLogError(f"a log must have rows; {source} holds only white space. Was it written to the end?")
    if start.line.lstrip().startswith("["):
        raise LogError(
            f"JSON must have one object per line; {source} is one list. Write it line by line: jq -c '.[]' in.json."
        )
    if start.named in (None, *OFTEN_CSV):
        if "\x00" in start.text[:1000] and not start.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise LogError(f"a log must be one of {', '.join(FORMATS)}; {source} is none of them: it is not text.")
        return "csv"
    raise LogError(
        f"{source} must be {start.named}, as its name says; it does not begin as such files do. If it is CSV, pass ",
        Parameter("format", "csv"),
        ".",
    )


def _by_content(start: FileStart) -> str | None:
    """Return the format that recognises a file, registered ones first; one without a test has its suffix alone."""
    for name, entry in sorted(FORMATS.known.items(), key=lambda item: isinstance(item[1].target, str)):
        if entry.magic or entry.recognise is None:
            found = start.data.startswith(entry.magic) if entry.magic else name == start.named != "csv"
        else:
            try:
                found = start.line.lstrip().startswith(entry.first) and bool(resolve(entry.recognise)(start))
            except Exception as error:  # another package's test must not keep all other formats from being read
                if isinstance(entry.recognise, str):
                    raise
                failure = f"its test of files fails with {type(error).__name__}: {error}"
                warn_caller(f"the format {name!r} is left out: {failure}")
                continue
        if found:
            return name
    return None


def is_ndjson(start: FileStart) -> bool:
    """Return whether a line that begins as a JSON object is no decision."""
    return not is_decision(start)


def is_vw(start: FileStart) -> bool:
    """Return whether lines are Vowpal Wabbit's; without labels, a table drawn with bars has one at both ends."""
    if start.data.startswith(tuple(FOREIGN)) or start.line.lstrip().startswith(("{", "[")):
        return False
    if VW_LABEL.match(start.line) or (start.named in (None, "vw") and VW_OTHER.match(start.line)):
        return True
    lines = [line.rstrip() for line in start.text.splitlines()[:20] if line.strip()]
    return bool(lines) and all(VW_UNLABELLED.match(line) and not line.endswith("|") for line in lines)


def is_decision(start: FileStart) -> bool:
    """Return whether a line that begins as a JSON object is a decision."""
    try:
        row = json.loads(start.line)
    except (ValueError, RecursionError):
        return '"_label_cost"' in start.line and '"_multi"' in start.line
    if not isinstance(row, dict):
        return False
    lists_actions = isinstance(row.get("c"), dict) and isinstance(row["c"].get("_multi"), list)
    return "_label_cost" in row or lists_actions or ("c" in row and "a" in row and "p" in row)
