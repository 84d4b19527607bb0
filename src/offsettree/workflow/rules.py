"""The rules of a policy that can be read, in the words of the raw columns instead of those made of them."""

from __future__ import annotations

from typing import Any

from offsettree.encoding import TableEncoder
from offsettree.encoding.encoded_column import EncodedColumn

__all__ = ["rule_facts", "rule_lines"]


def rule_facts(policy: Any, encoder: TableEncoder | None = None) -> dict[str, Any] | None:
    """Return the rules of a `PolicyTree` as plain values; None for other policies.

    A test has `if` and `else`, in words which rows go where, `then` and `otherwise`; a leaf `action`, `value`, `rows`.

    Parameters
    ----------
    policy : policy
        Fitted.
    encoder : TableEncoder, optional
        That made the numbers it was fitted on.
    """
    root = getattr(policy, "root_", None)
    if root is None or not callable(getattr(policy, "rules", None)):
        return None
    made = [] if encoder is None else [each for column in encoder.columns for each in _made_of(column)]
    return _facts(root, made)


def _facts(rule: Any, made: list[tuple[str, ...]]) -> dict[str, Any]:
    if rule.left is None or rule.right is None:
        action = rule.action.item() if hasattr(rule.action, "item") else rule.action
        return {"action": action, "value": float(rule.values.max()), "rows": int(rule.n_rows)}
    words = made[rule.column] if rule.column < len(made) else None
    conditions = [rule.condition(left) for left in (True, False)]
    if words is not None and len(words) == 1:
        conditions = [said.replace(rule.name, words[0], 1) for said in conditions]
    elif words is not None:
        conditions = list(words)
    return {
        "if": conditions[0],
        "then": _facts(rule.left, made),
        "else": conditions[1],
        "otherwise": _facts(rule.right, made),
    }


def _made_of(column: EncodedColumn) -> list[tuple[str, ...]]:
    """Return, per column made of a raw one, what 0 and 1 in it mean; of numbers the name alone."""
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
    """Return rules as lines of text, those below a test further in; whatever is none is nothing.

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
        told = f"  ({value:.4g} per decision estimated, {rows:,} rows)" if known else ""
        return [f"{indent}take {rules['action']}{told}"]
    if len(indent) > 80:  # whoever wrote them
        return [f"{indent}..."]
    return [
        f"{indent}if {rules.get('if')}:",
        *rule_lines(rules.get("then"), indent + "    "),
        f"{indent}else ({rules.get('else')}):",
        *rule_lines(rules.get("otherwise"), indent + "    "),
    ]
