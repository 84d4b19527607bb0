"""Judge one cell of the coverage grid: draw its logs, make all intervals, count how often they hold."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from _coverage_draws import METHODS, Drawn, draw
from _coverage_grid import Cell, World, world
from numpy.typing import NDArray
from scipy.special import stdtrit

from offsettree.evaluation._claims import Claims, LogSums, claims_of
from offsettree.evaluation._mid_p import FEW_INFORMATIVE, find_ends, p_values
from offsettree.evaluation._reward_limits import COLUMNS, RewardLimits

__all__ = ["QUANTITIES", "judge"]

LEVEL = 0.95
MOST_ROWS = 10_000_000  # drawn at a time
FOR_WIDTHS = 50  # logs
QUANTITIES = ("value", "gain on the log", "gain on another")


def judge(cell: Cell, n_logs: int, count_missing: bool = True, correct_tails: bool = True) -> list[dict[str, Any]]:
    """Return how the intervals of a cell fare, a record for each method and quantity.

    Without `count_missing` they are made as if no weight were missing from a log; without `correct_tails` as if a few
    amounts showed the whole tail of amounts.
    """
    drawn_from = world(cell)
    counts: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    done, part = 0, 0
    while done < n_logs:
        size = min(n_logs - done, max(1, MOST_ROWS // cell.n_rows))
        drawn = draw(cell, drawn_from, size, part)
        if not count_missing:
            drawn = _without_missing(drawn)
        if not correct_tails:
            low, high, none = drawn.known.unseen_low, drawn.known.unseen_high, np.full_like(drawn.known.freedom, np.inf)
            drawn = replace(drawn, known=replace(drawn.known, tail_low=low, tail_high=high, freedom=none))
        for key, facts in _facts(drawn, drawn_from, cell.n_rows).items():
            counts.setdefault(key, []).append(facts)
        done, part = done + size, part + 1
    return [
        {**asdict(cell), "method": method, "quantity": quantity, **_summary(np.concatenate(rows), cell, n_logs)}
        for (method, quantity), rows in counts.items()
    ]


def _without_missing(drawn: Drawn) -> Drawn:
    sums = {
        method: (replace(one, missing=0 * one.missing), replace(two, missing=0 * two.missing))
        for method, (one, two) in drawn.sums.items()
    }
    return replace(drawn, sums=sums)


def _facts(drawn: Drawn, truths: World, n_rows: int) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return what is found in each log, by method and quantity; the ends of all intervals are looked for at once."""
    claims = {(method, i): _claims(drawn, method, i) for method in METHODS for i in range(len(QUANTITIES))}
    n_logs = len(drawn.effective)
    some = np.linspace(0, n_logs - 1, min(n_logs, FOR_WIDTHS)).astype(int)
    ends = np.split(_ends(_joined([each.taken(some) for each in claims.values()])), len(claims), axis=1)
    drawn_of = {key: (each, *found) for (key, each), found in zip(claims.items(), ends, strict=True)}
    return {
        (method, QUANTITIES[i]): _facts_of(drawn, method, i, truths, n_rows, drawn_of, some) for method, i in claims
    }


def _facts_of(
    drawn: Drawn,
    method: str,
    quantity: int,
    truths: World,
    n_rows: int,
    found: dict[tuple[str, int], tuple[Claims, NDArray[np.float64], NDArray[np.float64]]],
    some: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return by log: covered, covered by the normal interval, below 0, above 0, width, normal width, effective rows.

    An interval holds a number if the doubt that the rows leave at it is more than half of 1 - level. Ends are looked
    for in a part of the logs, for the width.
    """
    known, sums = drawn.known, drawn.sums[method][quantity == 2]
    claims, low, high = found[method, quantity]
    logged = float((truths.propensity * truths.chance).sum() / len(truths.chance) * truths.mean_amount)
    truth = truths.value(truths.policy) - (0.0, logged, truths.value(truths.other))[quantity]
    holds = _holds(claims, truth)
    at_zero = holds if quantity == 0 or truth == 0 else _holds(claims, 0.0)
    if method == "doubly_robust":  # as `evaluate` does: where few rewards tell, the interval holds that of SNIPS
        plainer, other_low, other_high = found["snips", quantity]
        few = (
            ~(plainer.n_informative >= FEW_INFORMATIVE) & drawn.matched[:, 0] & (drawn.matched[:, 1] | (quantity != 2))
        )
        low = np.where(few[some], np.minimum(low, other_low), low)
        high = np.where(few[some], np.maximum(high, other_high), high)
        holds, at_zero = _widened(holds, claims, plainer, few, truth), _widened(at_zero, claims, plainer, few, 0.0)
    width = np.full(len(claims.value), np.nan)
    width[some] = high - low
    half = _normal_half(sums, quantity, n_rows)
    below, above = ~at_zero & (claims.value < 0), ~at_zero & (claims.value > 0)
    columns = [holds, np.abs(claims.value - truth) <= half + 1e-12, below, above, width, 2 * half]
    facts = np.column_stack([*columns, drawn.effective[:, quantity]]).astype(float)
    # Without a matched row SNIPS and IPS have no answer; without rewards that differ, or a range, there is no interval.
    told = drawn.matched[:, 0] & (drawn.matched[:, 1] | (quantity != 2)) | (method == "doubly_robust")
    return np.asarray(facts[told & (known.high > known.low)])


def _claims(drawn: Drawn, method: str, quantity: int) -> Claims:
    """Return the claims on a value, or on a difference."""
    known, values = drawn.known, drawn.values[method][:, [0, 2 if quantity == 2 else 1]]
    values = np.clip(values, known.low[:, np.newaxis], known.high[:, np.newaxis])
    return claims_of(drawn.sums[method][quantity == 2], values, known, (min(quantity, 1) * 2,))


def _joined(parts: list[Claims]) -> Claims:
    """Put claims below each other."""
    columns = {name: np.concatenate([vars(each)[name] for each in parts]) for name in vars(parts[0]) if name != "known"}
    known = [vars(each.known) for each in parts]
    ranges = {name: np.concatenate([each[name] for each in known]) for name in COLUMNS}
    return Claims(**columns, known=RewardLimits(**ranges, is_range=known[0]["is_range"]))


def _ends(claims: Claims) -> NDArray[np.float64]:
    """Return the ends of intervals, within what is possible."""
    return np.clip(find_ends(claims, LEVEL), *claims.limits)


def _widened(
    holds: NDArray[np.bool_], claims: Claims, plainer: Claims, few: NDArray[np.bool_], number: float
) -> NDArray[np.bool_]:
    """Tell which intervals hold a number if they reach, where few rewards tell, as far as others that are plainer."""
    between = (number - claims.value) * (number - plainer.value) <= 0
    return np.asarray(holds | (few & (between | _holds(plainer, number))))


def _holds(claims: Claims, number: float) -> NDArray[np.bool_]:
    """Tell whether each interval holds a number: ends lie no nearer to the estimate than to it."""
    theta = np.clip(np.full((2, len(claims.value)), number), *claims.limits)
    below, above = p_values(claims, theta)
    doubt = np.where(number < claims.value, below, above)
    possible = (claims.limits[0] - 1e-9 <= number) & (number <= claims.limits[1] + 1e-9)
    return np.asarray(
        claims.is_open | (possible & ((doubt > (1 - LEVEL) / 2) | (np.abs(claims.value - number) < 1e-12)))
    )


def _normal_half(sums: LogSums, quantity: int, n_rows: int) -> NDArray[np.float64]:
    """Return half the widths of normal intervals, as `normal_intervals` makes them."""
    squares = sums.moments[:, 4] if quantity == 0 else sums.moments[:, [4, 8]].sum(axis=1) - 2 * sums.moments[:, 5]
    size = sums.size[:, 0] if quantity == 0 else sums.size.min(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        stderr = np.sqrt(np.maximum(squares, 0)) / n_rows * sums.unit / np.sqrt(np.maximum(1 - 1 / size, 0))
        return np.where(size > 1, stdtrit(np.maximum(size - 1, 1), (1 + LEVEL) / 2) * stderr, np.inf)


def _summary(facts: NDArray[np.float64], cell: Cell, n_logs: int) -> dict[str, Any]:
    if len(facts) == 0:
        return {"n_logs": n_logs, "told": 0.0}
    covered, normal, below, above, width, normal_width, effective = facts.T
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = width / normal_width
    return {
        "n_logs": n_logs,
        "told": len(facts) / n_logs,
        "coverage": float(covered.mean()),
        "normal_coverage": float(normal.mean()),
        "worse": float(below.mean()),
        "better": float(above.mean()),
        "width": float(np.nanmedian(width)) if np.isfinite(width).any() else None,
        "ratio": float(np.nanmedian(ratio)) if np.isfinite(ratio).any() else None,
        "enough": float(effective.mean() * cell.share),
    }
