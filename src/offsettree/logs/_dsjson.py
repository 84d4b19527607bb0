"""Decision service logs (dsjson): a JSON object per decision, with the context and all available actions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from offsettree.exceptions import LogError
from offsettree.logs._ndjson import as_float, parse_lines
from offsettree.logs._source import Source, line_blocks
from offsettree.logs._sparse import LARGEST_LABEL, Example, SparseReader, feature_name


class DsjsonReader(SparseReader):
    """A log as ``vw --dsjson --cb_explore_adf`` reads it.

    The features are those of the shared context, by dotted names. An action's label is its id or tag if it has one,
    else its number. Lines without a decision, or with one marked as not to be learned from, are skipped, as Vowpal
    Wabbit does.
    """

    absent: ClassVar[float] = math.nan

    def examples(self, source: Source) -> Iterator[Example]:
        """Read one file line by line."""
        row = 0
        for block in line_blocks(source, self.options.encoding):
            for line in parse_lines(block, source, row + 1, self.options.encoding):
                row += 1
                if not isinstance(line.get("c"), dict) or line.get("_skipLearn") is True:
                    continue
                try:
                    yield _decision(line, row)
                except ValueError as error:
                    raise LogError(
                        f"a decision must be as decision services log it; row {row} of {source}: {error}"
                    ) from None


def _decision(line: dict[str, Any], row: int) -> Example:
    context = line["c"]
    number = line.get("_label_Action", first_of(line.get("a")))
    features = features_of(context)
    action = None if number is None else _label(number, context.get("_multi"))
    cost, propensity = line.get("_label_cost"), line.get("_label_probability", first_of(line.get("p")))
    return Example(row, action, number_of(cost, "_label_cost"), number_of(propensity, "_label_probability"), features)


def features_of(part: dict[str, Any]) -> dict[str, float | str]:
    """Return the features of a context or an action by dotted names."""
    return {feature_name(".".join(keys)): value for keys, value in _walk(part, ())}


def first_of(values: Any) -> Any:
    """Return the first of a list; None where there is none."""
    return values[0] if isinstance(values, list) and values else None


def number_of(value: Any, name: str) -> float | None:
    """Return a number of a line, or None where it is not there."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number; it is {value!r:.60}.")  # noqa: TRY004 - the caller adds the row
    return _finite(value, name)


def _finite(value: float, name: str) -> float:
    if (number := as_float(value)) is None:
        raise ValueError(f"{name} must be a number that a float can hold; it is {str(value)[:20]}... (of many digits).")
    return number


def _label(number: Any, actions: Any) -> int | str:
    if type(number) is not int or number < 1:  # not isinstance: true is an int as well
        raise ValueError(f"_label_Action must be a whole number from 1 on; it is {number!r:.60}.")
    if number > LARGEST_LABEL:
        raise ValueError(f"_label_Action must be at most {LARGEST_LABEL}; it is {number!r:.60}.")
    if not isinstance(actions, list):
        return number
    if number > len(actions):
        raise ValueError(f"_label_Action must be one of the {len(actions)} actions in c._multi; it is {number}.")
    named = action_id(actions[number - 1])
    return number if named is None else named


def action_id(action: Any) -> int | str | None:
    """Return the id or tag of an action; None where it has none."""
    return split_id(action)[0]


def split_id(action: Any) -> tuple[int | str | None, Any]:
    """Return the id or tag of an action, and the action without it: an id is no feature."""
    if isinstance(action, dict):
        for above, part in (
            (None, action),
            *((key, value) for key, value in action.items() if isinstance(value, dict)),
        ):
            for key, value in part.items():
                if key.lower().strip("_") in ("id", "tag", "actionid", "action_id") and type(value) in (int, str):
                    rest = {name: each for name, each in part.items() if name != key}
                    # A number too large for an integer array becomes text.
                    label = str(value) if isinstance(value, int) and abs(value) > LARGEST_LABEL else value
                    return label, rest if above is None else {**action, above: rest}
    return None, action


def _walk(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float | str]]:
    """Yield the features; keys that begin with an underscore belong to the service."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not key.startswith("_"):
                yield from _walk(inner, (*keys, key))
    elif isinstance(value, list):
        is_one = len(value) == 1 or _has_parts_of_one(value)
        for place, inner in enumerate(value):
            if isinstance(inner, str):  # a list of words becomes one-hot features
                yield (*keys[:-1], f"{keys[-1]}={inner}"), 1.0
            else:
                yield from _walk(inner, keys if is_one else (*keys, str(place)))
    elif isinstance(value, str):
        if value:
            yield keys, value
    elif value is not None:
        yield keys, _finite(value, ".".join(keys))


def _has_parts_of_one(listed: list[Any]) -> bool:
    """Return whether a list has objects of different names: Personalizer's features of one action, in several parts."""
    if not all(isinstance(each, dict) for each in listed):
        return False
    names = [name for each in listed for name in each]
    return len(set(names)) == len(names)
