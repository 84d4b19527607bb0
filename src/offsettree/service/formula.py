"""A reward as a formula of named metrics, such as ``min(1, clicks + 5 * bought)``: arithmetic, and nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Formula"]

BINARY: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
UNARY: dict[type, Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
COMPARED: dict[type, Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}
LONGEST = 500


class Formula:
    """A formula of metrics; one that is missing is 0.

    It has numbers, names of metrics, ``+ - * /``, comparisons (1 if true), parentheses, min, max and abs.

    Examples
    --------
    >>> Formula("min(1, clicks / 10 + (bought > 0))")({"clicks": 3})
    0.3
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(_not_too_long(text), mode="eval").body
            self.names = sorted(set(_names(self._tree)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(
                "a reward formula must be arithmetic over names of metrics, such as 'clicks + 5 * bought'; "
                f"got {text!r:.80}: {error}"
            ) from None

    def __call__(self, metrics: Mapping[str, float]) -> float:
        """Return the reward; a ValueError where it is no finite number."""
        unknown = sorted(set(metrics) - set(self.names))
        if unknown:
            raise ValueError(f"metrics must be those of the formula, {', '.join(self.names)}; got {unknown[0]!r:.60}")
        try:
            value = float(_value(self._tree, metrics))
        except (ZeroDivisionError, OverflowError) as error:
            raise ValueError(f"the reward formula {self.text!r} has no value here: {error}") from None
        if not math.isfinite(value):
            raise ValueError(f"the reward formula {self.text!r} must give a finite number; it gives {value}")
        return value


def _not_too_long(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST} characters")
    return text


def _names(node: ast.AST) -> list[str]:
    """Return the metrics that a formula names; refuse all that is not arithmetic."""
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return []
        case ast.Name(id=name):
            return [name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _names(left) + _names(right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return _names(operand)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            return _names(left) + _names(right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            return [each for argument in args for each in _names(argument)]
    raise ValueError(f"{ast.unparse(node)!r:.40} is not allowed")


def _value(node: Any, metrics: Mapping[str, float]) -> float:
    match node:
        case ast.Constant():
            return float(str(node.value))
        case ast.Name():
            return float(metrics.get(node.id, 0.0))
        case ast.BinOp():
            return BINARY[type(node.op)](_value(node.left, metrics), _value(node.right, metrics))
        case ast.UnaryOp():
            return UNARY[type(node.op)](_value(node.operand, metrics))
        case ast.Compare():
            return float(COMPARED[type(node.ops[0])](_value(node.left, metrics), _value(node.comparators[0], metrics)))
    values = [_value(argument, metrics) for argument in node.args]
    return FUNCTIONS[node.func.id](*values) if len(values) > 1 or node.func.id == "abs" else values[0]
