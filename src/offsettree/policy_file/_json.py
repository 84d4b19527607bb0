"""JSON in both directions: strict in reading, and in writing whatever a fact may be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from offsettree.exceptions import PolicyFileError
from offsettree.models.part import is_text

DEEPEST = 32
DEEPEST_READ = 200  # policies nest as well as facts; whoever walks what was read must not run out of stack
HALF_NAMED = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(data: bytes, where: str) -> Any:
    """Read text that must be JSON to the letter: no NaN, no key twice, no halves of characters."""
    try:
        text = data.decode("utf-8")
        found = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
        level = [found] if isinstance(found, dict | list) else []
        for _ in range(DEEPEST_READ):
            within = [each.values() if isinstance(each, dict) else each for each in level]
            level = [each for values in within for each in values if isinstance(each, dict | list)]
        if level:
            raise ValueError(f"it must not nest more than {DEEPEST_READ} deep")  # noqa: TRY301
        if HALF_NAMED.search(text) and not is_text(json.dumps(found, ensure_ascii=False)):
            raise ValueError("it names half a character, such as \\ud800 alone")  # noqa: TRY301
    except (ValueError, RecursionError) as error:
        raise PolicyFileError(f"{where} must be JSON text; {error}.") from error
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def as_facts(value: Any, depth: int = 0) -> Any:
    """Return what a manifest can hold of a value: numbers, text, lists and mappings as they are, others as text."""
    if isinstance(value, str):  # the names of files may hold bytes that are no text
        return value if is_text(value) else value.encode(errors="backslashreplace").decode()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, np.generic):
        return as_facts(value.item(), depth)
    if isinstance(value, float):
        return value if np.isfinite(value) else (None if np.isnan(value) else str(value))
    if depth < DEEPEST:
        if is_dataclass(value) and not isinstance(value, type):
            return {field.name: as_facts(getattr(value, field.name), depth + 1) for field in fields(value)}
        if isinstance(value, Mapping):
            return {as_facts(str(key)): as_facts(item, depth + 1) for key, item in value.items()}
        if isinstance(value, np.ndarray):
            return as_facts(value.tolist(), depth)
        if isinstance(value, list | tuple | set | frozenset):
            return [as_facts(item, depth + 1) for item in value]
    return as_facts(" ".join(str(value).split()))
