"""Decisions among actions with features, as Vowpal Wabbit's multi-line text and decision services write them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from offsettree._messages import Parameter
from offsettree.exceptions import LogError
from offsettree.logs._dsjson import features_of, first_of, number_of, split_id
from offsettree.logs._ndjson import parse_lines
from offsettree.logs._source import Source, line_blocks
from offsettree.logs._vw import features_in, number_in

Features = dict[str, float | str]


@dataclass
class Decision:
    """One row: the line where it begins, its context, its actions, their ids if any, and what was taken.

    Where nothing was taken yet, `place` is -1, and cost and propensity are NaN.
    """

    row: int
    context: Features
    actions: list[Features]
    ids: list[int | str] | None
    place: int
    cost: float
    propensity: float


def vw_decisions(
    source: Source, encoding: str, *, labelled: bool = True, with_propensity: bool = True
) -> Iterator[Decision]:
    """Read lines as ``vw --cb_adf`` does: an optional shared line, a line per action, an empty line at the end.

    Unless `labelled`, decisions are to be taken: labels that are there are passed over. Unless `with_propensity`, the
    probabilities of actions taken are passed over, and need not be there.
    """
    lines: list[str] = []
    row, first, n_bytes = 0, 1, 0
    for block in line_blocks(source, encoding):
        try:
            text = block.decode()
        except UnicodeDecodeError:
            raise LogError(
                f"text must be {encoding}; {source} is not, after line {row}. If the whole file is in another "
                "encoding, pass it: ",
                Parameter("encoding", "latin-1"),
                " reads any file.",
            ) from None
        for line in text.split("\n")[: -1 if text.endswith("\n") else None]:
            row += 1
            if line.strip():
                first, n_bytes = (first, n_bytes) if lines else (row, 0)
                lines.append(line)
                n_bytes += len(line) + 1
                source.limits.check_line(n_bytes, source)  # one decision in many lines takes as much as in one
            elif lines:
                yield _vw_decision(lines, first, source, labelled=labelled, with_propensity=with_propensity)
                lines = []
    if lines:
        yield _vw_decision(lines, first, source, labelled=labelled, with_propensity=with_propensity)


def _vw_decision(lines: list[str], first: int, source: Source, *, labelled: bool, with_propensity: bool) -> Decision:
    try:
        context: Features = {}
        if lines[0].split("|", 1)[0].split()[:1] == ["shared"]:
            context, lines = features_in(_after_bar(lines[0])), lines[1:]
        if not lines:
            raise ValueError("it has a shared line but no action")  # noqa: TRY301 - one way for all that is wrong
        actions = [features_in(_after_bar(line)) for line in lines]
        labels = [_vw_label(line, with_propensity=with_propensity) for line in lines]
        tags = [tag for _, tag in labels]
        ids = _different(tags, "tag") if all(tags) else None
        taken = [place for place, (label, _) in enumerate(labels) if label is not None]
        if not labelled:
            return Decision(first, context, actions, ids, -1, math.nan, math.nan)
        if len(taken) != 1:
            what = "no action with a label, 0:cost:probability" if not taken else "labels of several actions"
            raise ValueError(f"it has {what}; one was taken")  # noqa: TRY301
        label = labels[taken[0]][0]
        assert label is not None  # noqa: S101 - it was taken
    except ValueError as error:
        raise LogError(
            "a decision must be as vw --cb_adf reads it, a line per action and one of them 0:cost:probability | "
            f"features; that of {source} which begins in line {first} is not: {error}."
        ) from None
    return Decision(first, context, actions, ids, taken[0], *label)


def _different(ids: list[Any], what: str) -> list[Any]:
    """Return ids, no two of them the same."""
    words = [str(each) for each in ids]
    if len(set(words)) < len(words):
        twice = next(word for word in words if words.count(word) > 1)
        raise ValueError(f"two of its actions have the {what} {twice!r}; give every action its own.")
    return ids if len(set(map(type, ids))) == 1 else words


def _after_bar(line: str) -> str:
    head, bar, rest = line.partition("|")
    if not bar:
        raise ValueError(f"a line has no bar, |: {head!r:.60}")
    return rest


def _vw_label(line: str, *, with_propensity: bool) -> tuple[tuple[float, float] | None, str]:
    """Return cost and propensity, if the line has them, and the tag."""
    head = line.partition("|")[0]
    words = head.split()
    tag = ""
    if words and (words[-1].startswith("'") or (not head[-1].isspace() and ":" not in words[-1])):
        tag = words.pop().lstrip("'")
    if not words:
        return None, tag
    if words[0] == "shared":
        raise ValueError("a shared line is not the first")
    parts = words[0].split(":")
    if len(words) > 1 or len(parts) not in ((3,) if with_propensity else (2, 3)):
        raise ValueError(f"a label must be action:cost:probability; it is {' '.join(words)!r:.60}")
    return (number_in(parts[1]), number_in(parts[2]) if with_propensity else 1.0), tag


def dsjson_decisions(
    source: Source, encoding: str, *, labelled: bool = True, with_propensity: bool = True
) -> Iterator[Decision]:
    """Read decision service logs; lines without a decision are skipped, and those not to be learned from.

    Unless `labelled`, decisions are to be taken: labels that are there are passed over. Unless `with_propensity`, the
    probabilities of actions taken are passed over, and need not be there.
    """
    row = 0
    for block in line_blocks(source, encoding):
        for line in parse_lines(block, source, row + 1, encoding):
            row += 1
            if not isinstance(line.get("c"), dict) or (labelled and line.get("_skipLearn") is True):
                continue
            try:
                yield _ds_decision(line, row, labelled=labelled, with_propensity=with_propensity)
            except ValueError as error:
                raise LogError(
                    f"a decision must be as decision services log it; row {row} of {source}: {error}"
                ) from None


def _ds_decision(line: dict[str, Any], row: int, *, labelled: bool, with_propensity: bool) -> Decision:
    context, listed = line["c"], line["c"].get("_multi")
    if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
        raise ValueError("c._multi must list the features of every eligible action; it has none.")
    found = [split_id(each) for each in listed]
    ids = [label for label, _ in found if label is not None]
    known = _different(ids, "id") if len(ids) == len(listed) else None
    actions = [rest for _, rest in found] if known is not None else listed
    features = features_of(context), [features_of(each) for each in actions]
    if not labelled:
        return Decision(row, *features, known, -1, math.nan, math.nan)
    number = line.get("_label_Action", first_of(line.get("a")))
    if type(number) is not int or not 1 <= number <= len(listed):
        raise ValueError(f"_label_Action must be one of the {len(listed)} actions in c._multi; it is {number!r:.60}.")
    cost = number_of(line.get("_label_cost"), "_label_cost")
    propensity = 1.0 if not with_propensity else _probability_of(line)
    if cost is None or propensity is None:
        raise ValueError(f"{'_label_cost' if cost is None else '_label_probability'} is missing.")
    return Decision(row, *features, known, number - 1, cost, propensity)


def _probability_of(line: dict[str, Any]) -> float | None:
    return number_of(line.get("_label_probability", first_of(line.get("p"))), "_label_probability")
