"""What is to be said of a policy file: its manifest says what it likes, so that nothing in it is relied on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from offsettree.cli._output import shown

__all__ = ["base_learner", "features_of", "learner_of", "listed", "mapping", "number", "text", "tree_lines", "worth_of"]

# What every policy has, and says nothing of how it learned.
COMMON = ("actions", "estimator", "n_jobs", "random_state", "reward_range")
LONGEST_VALUE = 40


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping, empty where it is none."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list, empty where it is none."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return text that can be shown, empty where it is none."""
    return shown(value) if isinstance(value, str) else ""


def number(value: Any, form: str = ",") -> str:
    """Return a number as it is to be shown, and a question mark where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "?"
    try:
        return format(value if form == "," else float(value), form)
    except (OverflowError, ValueError):
        return "?"


def learner_of(manifest: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the policy with that of its base learner, and its settings in a line."""
    search = mapping(mapping(manifest.get("training")).get("search"))
    learner = mapping(search.get("chosen_policy")) or mapping(manifest.get("learner"))
    parameters = {name: value for name, value in mapping(learner.get("parameters")).items() if isinstance(value, str)}
    title = ", ".join(
        part for part in (text(learner.get("class")), base_learner(parameters.get("estimator", ""))) if part
    )
    name = text(mapping(mapping(manifest.get("facts")).get("policy")).get("name")) or text(search.get("chosen"))
    if name and name != text(learner.get("class")):
        title = f"{name} ({title})" if title else name
    settings = [
        f"{shown(name)}={shown(value)}"
        for name, value in parameters.items()
        if name not in COMMON and value != "None" and len(name) + len(value) <= LONGEST_VALUE
    ]
    return title, ", ".join(settings)


def base_learner(described: str) -> str:
    """Return the class that a learner's description begins with; of a pipeline, that of its last step."""
    within = re.match(r"Pipeline\(steps=\[", described)
    start = 0
    if within:
        depth = 0
        for found in re.finditer(r"[(\[{}\])]|'[^']*'", described[within.end() :]):
            if found[0] == "(" and depth == 0:
                start = within.end() + found.end()
            depth += (found[0] in "([{") - (found[0] in ")]}")
            if depth < 0:
                break
    name = re.match(r"(?:'[^']*',\s*)?([A-Za-z_]\w{0,60})\(", described[start:])
    return name[1] if name else ""


def features_of(manifest: dict[str, Any]) -> list[Any]:
    """Return the names of the raw columns, where there are some."""
    log = mapping(mapping(manifest.get("facts")).get("log"))
    columns = [mapping(each).get("name") for each in listed(mapping(manifest.get("encoder")).get("columns"))]
    return listed(log.get("features")) or columns or listed(mapping(manifest.get("features")).get("names"))


def worth_of(manifest: dict[str, Any]) -> str:
    """Return what the policy was found to be worth; nothing where it is not said."""
    estimate = mapping(manifest.get("estimate"))
    if verdict := text(mapping(manifest.get("facts")).get("verdict")):
        return verdict
    if number(estimate.get("value")) == "?":
        return ""
    value, low, high = (number(estimate.get(name), ".3f") for name in ("value", "low", "high"))
    return f"{value} per decision [{low}, {high}]"


def tree_lines(tree: Any, labels: Sequence[Any], learned_from: Any, facts: Any, most: int) -> list[str]:
    """Draw a tree over the actions, or, where there is none, the one that the facts tell of.

    Beside each contest stand the rows that it learned from and, out of the facts, the rows held out that it decided.
    """
    rows = listed(learned_from) if tree is not None and len(listed(learned_from)) == tree.n_nodes else []
    lines: list[str] = []
    # A stack and not recursion: facts may nest as they like.
    open_ends: list[tuple[int | None, Any, str, str]] = [(None if tree is None else 0, facts, "", "")]
    while open_ends:
        if len(lines) == most:
            return [*lines, "..."]
        node, told, indent, mark = open_ends.pop()
        told = mapping(told)
        if node is not None and node < 0:
            lines.append(f"{mark}{shown(labels[~node])}")
            continue
        if node is None and not {"left", "right"} <= set(told):
            lines.append(f"{mark}{shown(told.get('action', '...'))}")
            continue
        said = [f"learned from {number(rows[node])} rows"] if node is not None and rows else []
        if "rows" in told:
            share = told.get("strength")
            percent = number(100.0 * share if isinstance(share, float) else share, ".0f")
            said.append(f"{number(told['rows'])} rows held out, {percent} % to one side")
        lines.append(f"{mark}contest{': ' if said else ''}{'; '.join(said)}")
        left, right = (None, None) if node is None else (int(tree.left[node]), int(tree.right[node]))
        open_ends.append((right, told.get("right"), indent + "   ", indent + "└─ "))
        open_ends.append((left, told.get("left"), indent + "│  ", indent + "├─ "))
    return lines
