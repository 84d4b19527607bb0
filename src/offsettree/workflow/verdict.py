"""What came out, in sentences that a manager can read."""

from __future__ import annotations

import math

from offsettree.evaluation import Estimate
from offsettree.evaluation.estimate import Interval

__all__ = ["conclusion", "number", "verdict", "with_interval"]


def verdict(estimate: Estimate) -> str:
    """Say what the policy is worth, what the logged one was, and the difference, each with its interval.

    Examples
    --------
    >>> from offsettree import evaluate
    >>> rows = dict(X=[[0.0]] * 400, action=["a", "b"] * 200, reward=[1, 0, 0, 0] * 100, propensity=0.5)
    >>> print(verdict(evaluate(["a"] * 400, **rows)))
    The learned policy earns 0.500 per decision [0.430, 0.570]; the logged one earned 0.250 [0.207, 0.293]; gain +0.250
    [0.207, 0.293].
    """
    digits = decimals(estimate)
    text = f"The learned policy earns {with_interval(estimate, digits)}".replace(" [", " per decision [", 1)
    if estimate.baseline is not None and estimate.difference is not None:
        text += f"; the logged one earned {with_interval(estimate.baseline, digits)}"
        text += f"; gain {with_interval(estimate.difference, digits, sign=True)}"
    return text + "."


def conclusion(estimate: Estimate) -> str:
    """Say what follows from it, and what does not."""
    difference = estimate.difference
    if difference is None:
        return ""
    sure = f"{100 * estimate.level:g} %"
    if difference.low > 0:
        return f"The learned policy is better than the logged one, as far as {sure} intervals can tell."
    if difference.high < 0:
        return f"The learned policy is worse than the logged one, as far as {sure} intervals can tell: do not use it."
    return (
        "Whether the learned policy is better cannot be told from these rows: the interval of the gain holds zero. "
        "More rows, or more exploration in the log, would tell."
    )


def with_interval(interval: Interval, digits: int, *, sign: bool = False) -> str:
    """Write a number and its interval: 0.183 [0.176, 0.190]."""
    value, low, high = (number(each, digits) for each in (interval.value, interval.low, interval.high))
    return f"{'+' * (sign and interval.value >= 0)}{value} [{low}, {high}]"


def number(value: float, digits: int) -> str:
    """Write a number with so many decimals; zero has no sign."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text


def decimals(estimate: Interval) -> int:
    """Return how many decimals tell as much as the interval allows: two digits of its half width, three at least."""
    half = (estimate.high - estimate.low) / 2
    if not (math.isfinite(half) and half > 0):
        return 3
    most = 3 if max(abs(estimate.low), abs(estimate.high)) < 10 else 0
    return max(most, min(8, 1 - math.floor(math.log10(half))))
