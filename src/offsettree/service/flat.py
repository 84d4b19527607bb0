"""Contexts and actions as flat rows with dotted names: the columns of exports, and what policy files decide by."""

from __future__ import annotations

from typing import Any

__all__ = ["OUR_COLUMNS", "flat", "flat_context"]

OUR_COLUMNS = ("action", "reward", "propensity", "eligible", "decision")  # of an export


def flat(value: dict[str, Any] | list[Any], above: str = "") -> dict[str, Any]:
    """Return an object or a list as one row; words of a list become columns with a 1, as in our reader of dsjson.

    Examples
    --------
    >>> flat({"age": 3, "user": {"city": "Rome"}, "tags": ["new", "big"], "sizes": [4, 5]})
    {'age': 3, 'user.city': 'Rome', 'tags=new': 1.0, 'tags=big': 1.0, 'sizes.0': 4, 'sizes.1': 5}
    """
    row: dict[str, Any] = {}
    if isinstance(value, list):
        named = [(above if len(value) == 1 or not above else f"{above}.{i}", each) for i, each in enumerate(value)]
    else:
        named = [(f"{above}.{key}" if above else key, each) for key, each in value.items()]
    for name, each in named:
        if isinstance(each, dict | list):
            row |= flat(each, name)
        elif isinstance(value, list) and isinstance(each, str):
            row[f"{above}={each}"] = 1.0
        else:
            row[name] = each
    return row


def flat_context(context: dict[str, Any]) -> dict[str, Any]:
    """Return a context as one row; a name that a column of the log has is told from it by ``context.``.

    Examples
    --------
    >>> flat_context({"age": 3, "action": "click"})
    {'age': 3, 'context.action': 'click'}
    """
    return {f"context.{name}" if name in OUR_COLUMNS else name: each for name, each in flat(context).items()}
