"""Text about a policy file. Its manifest is untrusted: any value may be missing or of another type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from offsettree.cli._output import shown
from offsettree.facts import Facts

# Parameters that every policy has; they are not listed among its settings.
COMMON = ("actions", "estimator", "n_jobs", "random_state", "reward_range")
LONGEST_VALUE = 40


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is a dict, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return the value as one printable line if it is a string, else an empty string."""
    return shown(value) if isinstance(value, str) else ""


def number(value: Any, form: str = ",") -> str:
    """Return a number in the given format; a question mark if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "?"
    try:
        return format(value if form == "," else float(value), form)
    except (OverflowError, ValueError):
        return "?"


def learner_of(manifest: dict[str, Any], facts: Facts) -> tuple[str, str]:
    """Return the policy's name with its base learner, and its settings on one line."""
    search = mapping(mapping(manifest.get("training")).get("search"))
    learner = mapping(search.get("chosen_policy")) or mapping(manifest.get("learner"))
    parameters = {name: value for name, value in mapping(learner.get("parameters")).items() if isinstance(value, str)}
    title = ", ".join(
        part for part in (text(learner.get("class")), base_learner(parameters.get("estimator", ""))) if part
    )
    name = text(facts.policy.name) or text(search.get("chosen"))
    if name and name != text(learner.get("class")):
        title = f"{name} ({title})" if title else name
    settings = [
        f"{shown(name)}={shown(value)}"
        for name, value in parameters.items()
        if name not in COMMON and value != "None" and len(name) + len(value) <= LONGEST_VALUE
    ]
    return title, ", ".join(settings)


def base_learner(described: str) -> str:
    """Return the class name that a learner's repr begins with; for a pipeline, that of its last step."""
    pipeline = re.match(r"Pipeline\(steps=\[", described)
    start = 0
    if pipeline:
        depth = 0
        for found in re.finditer(r"[(\[{}\])]|'[^']*'", described[pipeline.end() :]):
            if found[0] == "(" and depth == 0:
                start = pipeline.end() + found.end()
            depth += (found[0] in "([{") - (found[0] in ")]}")
            if depth < 0:
                break
    name = re.match(r"(?:'[^']*',\s*)?([A-Za-z_]\w{0,60})\(", described[start:])
    return name[1] if name else ""


def features_of(manifest: dict[str, Any], facts: Facts) -> list[Any]:
    """Return the names of the raw columns, if the manifest has them."""
    columns = [mapping(each).get("name") for each in listed(mapping(manifest.get("encoder")).get("columns"))]
    return facts.log.features or columns or listed(mapping(manifest.get("features")).get("names"))


def worth_of(manifest: dict[str, Any], facts: Facts) -> str:
    """Return the verdict on the policy, or its estimate; an empty string if there is neither."""
    estimate = mapping(manifest.get("estimate"))
    if verdict := text(facts.verdict):
        return verdict
    if number(estimate.get("value")) == "?":
        return ""
    value, low, high = (number(estimate.get(name), ".3f") for name in ("value", "low", "high"))
    return f"{value} per decision [{low}, {high}]"


def tree_lines(tree: Any, labels: Sequence[Any], learned_from: Any, facts: Any, most: int) -> list[str]:
    """Draw the policy's tree over the actions; without one, the tree recorded in the facts.

    Beside each contest stand the number of its training rows and, from the facts, of the held-out rows it decided.
    """
    rows = listed(learned_from) if tree is not None and len(listed(learned_from)) == tree.n_nodes else []
    lines: list[str] = []
    # A stack, not recursion: untrusted facts may be nested arbitrarily deep.
    pending: list[tuple[int | None, Any, str, str]] = [(None if tree is None else 0, facts, "", "")]
    while pending:
        if len(lines) == most:
            return [*lines, "..."]
        node, recorded, indent, mark = pending.pop()
        recorded = mapping(recorded)
        if node is not None and node < 0:
            lines.append(f"{mark}{shown(labels[~node])}")
            continue
        if node is None and not {"left", "right"} <= set(recorded):
            lines.append(f"{mark}{shown(recorded.get('action', '...'))}")
            continue
        parts = [f"learned from {number(rows[node])} rows"] if node is not None and rows else []
        if "rows" in recorded:
            share = recorded.get("strength")
            percent = number(100.0 * share if isinstance(share, float) else share, ".0f")
            parts.append(f"{number(recorded['rows'])} rows held out, {percent} % to one side")
        lines.append(f"{mark}contest{': ' if parts else ''}{'; '.join(parts)}")
        left, right = (None, None) if node is None else (int(tree.left[node]), int(tree.right[node]))
        pending.append((right, recorded.get("right"), indent + "   ", indent + "└─ "))
        pending.append((left, recorded.get("left"), indent + "│  ", indent + "├─ "))
    return lines
