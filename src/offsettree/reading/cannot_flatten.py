"""What stops a policy from being flattened."""

from __future__ import annotations

from typing import Any

__all__ = ["CannotFlatten", "name_of"]


class CannotFlatten(Exception):  # noqa: N818 - never reaches the caller
    """Says which part of a policy has no form in flat arrays, in words that an error can go on with."""


def name_of(part: Any) -> str:
    """Name a learner as its class is called."""
    return type(part).__name__
