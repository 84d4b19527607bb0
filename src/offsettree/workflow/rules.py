"""The rules of a `PolicyTree`, written in terms of the raw columns instead of the encoded ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offsettree.encoding import TableEncoder
from offsettree.encoding.encoded_column import EncodedColumn

__all__ = ["rule_facts", "rule_lines"]


def rule_facts(policy: Any, encoder: TableEncoder | None = None) -> dict[str, Any] | None:
    """Return the rules of a `PolicyTree` as plain values; None for other policies.

    An inner node has two conditions as text, `if` and `else`, and their branches, `then` and `otherwise`. A leaf has
    `action`, `value` and `rows`. The encoder is that of the rows that the policy was fitted on.
    """
    root = getattr(policy, "root_", None)
    if root is None or not callable(getattr(policy, "rules", None)):
        return None
    meanings = [] if encoder is None else [each for column in encoder.columns for each in _meanings(column)]
    return _facts(root, meanings, policy.reward_range)


def _facts(rule: Any, meanings: list[tuple[str, ...]], reward_range: Sequence[float]) -> dict[str, Any]:
    if rule.left is None or rule.right is None:
        action = rule.action.item() if hasattr(rule.action, "item") else rule.action
        return {"action": action, "value": rule.estimate(reward_range), "rows": int(rule.n_rows)}
    meaning = meanings[rule.column] if rule.column < len(meanings) else None
    conditions = [rule.condition(left) for left in (True, False)]
    if meaning is not None and len(meaning) == 1:
        conditions = [condition.replace(rule.name, meaning[0], 1) for condition in conditions]
    elif meaning is not None:
        conditions = list(meaning)
    return {
        "if": conditions[0],
        "then": _facts(rule.left, meanings, reward_range),
        "else": conditions[1],
        "otherwise": _facts(rule.right, meanings, reward_range),
    }


def _meanings(column: EncodedColumn) -> list[tuple[str, ...]]:
    """Return, for each encoded column, the meanings of 0 and 1; for a number, its name only."""
    name = column.name
    if column.kind == "nominal":
        found: list[tuple[str, ...]] = [(f"{name} is not {level}", f"{name} is {level}") for level in column.levels]
    elif column.kind == "date":
        found = [(f"{name} is not on a {day}", f"{name} is on a {day}") for day in column.levels]
        found += [] if column.constant else [(f"the hour of {name}",)]
    else:
        found = [] if column.constant else [(name,)]
    return found + ([(f"{name} is known", f"{name} is missing")] if column.marks_missing else [])


def rule_lines(rules: Any, indent: str = "") -> list[str]:
    """Return rules as indented lines of text; no lines if `rules` is not a dict.

    Examples
    --------
    >>> call, mail = ({"action": label, "value": 0.25, "rows": 100} for label in ("call", "mail"))
    >>> for line in rule_lines({"if": "age <= 50", "then": call, "else": "age > 50", "otherwise": mail}):
    ...     print(line)
    if age <= 50:
        take call  (0.25 per decision estimated, 100 rows)
    else (age > 50):
        take mail  (0.25 per decision estimated, 100 rows)
    """
    if not isinstance(rules, dict):
        return []
    if "action" in rules:
        value, rows = rules.get("value"), rules.get("rows")
        known = isinstance(value, int | float) and isinstance(rows, int)
        estimate = f"  ({value:.4g} per decision estimated, {rows:,} rows)" if known else ""
        return [f"{indent}take {rules['action']}{estimate}"]
    if len(indent) > 80:  # rules of a policy file are untrusted and may be nested without end
        return [f"{indent}..."]
    return [
        f"{indent}if {rules.get('if')}:",
        *rule_lines(rules.get("then"), indent + "    "),
        f"{indent}else ({rules.get('else')}):",
        *rule_lines(rules.get("otherwise"), indent + "    "),
    ]
