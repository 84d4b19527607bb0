"""Vowpal Wabbit's text format for contextual bandits: ``action:cost:probability | features``, one row per line."""

from __future__ import annotations

import math
from collections.abc import Iterator

from offsettree._messages import Parameter
from offsettree.exceptions import LogError
from offsettree.logs._source import Source, line_blocks
from offsettree.logs._sparse import LARGEST_LABEL, Example, SparseReader, feature_name


class VwReader(SparseReader):
    """A log as ``vw --cb`` reads it; features of a namespace are named ``namespace.feature``, absent ones are 0."""

    def examples(self, source: Source) -> Iterator[Example]:
        """Read one file line by line; empty lines are not rows."""
        row = 0
        for block in line_blocks(source, self.options.encoding):
            for line in block.split(b"\n"):
                if not line.strip():
                    continue
                row += 1
                try:
                    yield _parse(line.decode(), row)
                except UnicodeDecodeError:
                    raise LogError(
                        f"text must be {self.options.encoding}; row {row} of {source} is not: {line[:60]!r}. If the "
                        "whole file is in another encoding, pass it: ",
                        Parameter("encoding", "latin-1"),
                        " reads any file.",
                    ) from None
                except ValueError as error:
                    raise LogError(
                        f"a line must be as vw --cb reads it, action:cost:probability | features; row {row} of "
                        f"{source} (empty lines not counted) is not: {error}. It begins with {line.decode()[:60]!r}."
                    ) from None


def _parse(line: str, row: int) -> Example:
    label, bar, rest = line.partition("|")
    if not bar:
        raise ValueError("it has no bar, |")
    words = label.split()
    if words and (words[-1].startswith("'") or not label[-1].isspace()):
        words.pop()  # a tag touches the bar or begins with an apostrophe
    if words and words[0] == "shared":
        raise ValueError("it has decisions of several lines (--cb_adf): read it with action_sets=True")
    action, cost, propensity = _label(words)
    return Example(row, action, cost, propensity, features_in(rest))


def _label(words: list[str]) -> tuple[int | None, float | None, float | None]:
    """Return action, cost and propensity of the one action with a cost; actions without were merely available."""
    found: list[list[str]] = [parts for word in words if len(parts := word.split(":")) > 1]
    if not found:
        return None, None, None
    if len(found) > 1:
        raise ValueError("it has costs of several actions, where one was taken")
    (parts,) = found
    if len(parts) > 3 or not parts[0].isdecimal():
        raise ValueError(f"its label is {':'.join(parts)!r:.80}")
    if len(parts[0]) > 19 or int(parts[0]) > LARGEST_LABEL:
        raise ValueError(f"its action is {parts[0]:.40}, and none may be larger than {LARGEST_LABEL}")
    return int(parts[0]), number_in(parts[1]), number_in(parts[2]) if len(parts) == 3 else None


def features_in(text: str) -> dict[str, float | str]:
    """Return the features of a line, after its first bar."""
    features: dict[str, float | str] = {}
    for part in text.split("|"):
        words = part.split()
        prefix, scale = "", 1.0
        if words and not part[0].isspace():
            name, _, weight = words.pop(0).partition(":")
            prefix, scale = name + ".", number_in(weight) if weight else 1.0
        for word in words:
            name, _, value = word.rpartition(":") if ":" in word else (word, "", "")
            full = feature_name(prefix + name)
            # Values of a repeated feature are added, as Vowpal Wabbit does.
            features[full] = float(features.get(full, 0.0)) + scale * (number_in(value) if value else 1.0)
    return features


def number_in(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text!r:.40} is not a number")
    return value
