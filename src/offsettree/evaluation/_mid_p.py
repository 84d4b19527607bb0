"""Intervals that hold for rare rewards and heavy weights: the mid-P interval of a share, for rows of unequal weight.

Derived in docs/evaluation.md. A number stays in the interval unless the rows speak against it; the ends are where the
doubt that they leave falls to half of 1 - level. All that is asked of the rows are sums up to the third order: one pass
over a log serves a value, a baseline's and their difference, and the ends of many policies are found side by side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, ndtr, ndtri

from offsettree.evaluation._claims import Claims, Known, LogSums, claims_of, sums_of
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._terms import Terms
from offsettree.evaluation.estimate import Interval

__all__ = ["FEW_TELLING", "find_doubt", "find_ends", "mid_p_intervals", "mid_p_values", "widened_by"]

# Of the doubt with one further row at its best; the rest is that with one at its worst. Of a difference it falls to
# half as more rows speak as loudly as that one.
SHARE = 0.75
NEARLY_NORMAL = 2e-3  # skewness, below which a gamma is too long to be computed
CLOSE = 1e-7  # how exact ends are, as a share of their distance to the estimate
FEW_TELLING = 10  # rewards: what a model learned of fewer is not independent of them
ROUNDING = 1e-14  # of the range of possible values
SIGNS = np.array([[-1.0], [1.0]])  # of a claim below the estimate, and of one above
Numbers = NDArray[np.float64]


def mid_p_intervals(
    plain: list[Interval],
    terms: list[Terms],
    known: Known,
    level: float,
    apart: NDArray[np.bool_] | None = None,
) -> list[Interval]:
    """Replace the ends of the interval of one estimate; or of two, and of their difference.

    `apart` are the rows in which two policies do different things: in others nothing can be missing of a difference.
    Where all rewards are equal and their range is not known there is no interval: its ends are NaN.
    """
    values = np.resize([each.value for each in plain[: len(terms)]], (1, 2))
    return _replaced(plain, sums_of(terms, apart), values, (0, 1, 2)[: len(plain)], known, level)


def widened_by(
    found: list[Interval],
    plainer: list[Terms],
    known: Known,
    level: float,
    apart: NDArray[np.bool_] | None = None,
) -> list[Interval]:
    """Let intervals of estimates by a reward model hold those of plainer terms, without one, where few rewards tell.

    No row is predicted by a model that learned from it, but the models of all folds learned from the same few rewards:
    what they predict, and what the rows say, then varies together.
    """
    if not known.has_width or not all(each.weight is None or each.weight.any() for each in plainer):
        return found
    sums = sums_of(plainer, apart)
    plain = normal_intervals(plainer, level, sums.size[0, : len(plainer)].tolist())
    others = mid_p_intervals(plain, plainer, known, level, apart)
    values = np.resize([each.value for each in plain[: len(plainer)]], (1, 2))
    n_telling = claims_of(sums, values, known, (0, 1, 2)[: len(plain)]).n_telling
    return [
        Interval(each.value, each.stderr, min(each.low, other.low), max(each.high, other.high)) if few else each
        for each, other, few in zip(found, others, ~(n_telling >= FEW_TELLING), strict=True)
    ]


def mid_p_values(plain: list[Interval], terms: list[Terms], known: Known, level: float) -> list[Interval]:
    """Replace the ends of the intervals of many estimates on one log, each by itself."""
    sums = LogSums.joined([sums_of([each]) for each in terms])
    values = np.array([[each.value, 0.0] for each in plain])
    return _replaced(plain, sums, values, (0,), known, level)


def _replaced(
    plain: list[Interval], sums: LogSums, values: Numbers, which: tuple[int, ...], known: Known, level: float
) -> list[Interval]:
    if not known.has_width:
        ends = np.full((2, len(plain)), np.nan)
    else:
        claims = claims_of(sums, np.clip(values, known.low, known.high), known, which)
        ends = find_ends(claims, level)
        if known.is_range:  # also where no row was logged that could speak
            ends = np.clip(ends, *claims.limits)
        value = np.array([each.value for each in plain])  # which may be beyond what was seen, if no range is known
        ends = np.stack([np.minimum(ends[0], value), np.maximum(ends[1], value)])
    return [Interval(old.value, old.stderr, low, high) for old, (low, high) in zip(plain, ends.T.tolist(), strict=True)]


def find_ends(claims: Claims, level: float) -> Numbers:
    """Return lower and upper ends: where doubt, going outwards from the estimate, falls to half of 1 - level."""
    tail = float(ndtri((1 - level) / 2))
    value, limits = claims.value, claims.limits

    def excess(theta: Numbers) -> Numbers:
        # On this scale doubt is near to linear in the claim.
        return np.asarray(np.maximum(ndtri(find_doubt(claims, theta)), -40.0) - tail)

    slope = np.maximum(np.abs(claims.sums[:, 1:]).max(axis=1), 1e-300)
    step = np.maximum(
        2 * np.sqrt(np.maximum(claims.squares[:, 0, 0], 0.0)) / slope, 2.0**-30 * (limits[1] - limits[0])
    ) * np.ones((2, 1))
    inside, above = np.broadcast_to(value, limits.shape), np.full(limits.shape, 40.0)
    while True:
        outside = np.clip(value + SIGNS * step, *limits)
        below = excess(outside)
        going = (below > 0) & (outside != limits)
        if not going.any():
            break
        inside, above = np.where(going, outside, inside), np.where(going, below, above)
        step = np.where(going, 2 * step, step)
    ends = np.where(below > 0, limits, _between(excess, inside, outside, above, below, value))
    # Of a policy and itself not even the last digit differs.
    ends = np.where(np.abs(ends - value) <= ROUNDING * (limits[1] - limits[0]), value, ends)
    return np.where(claims.is_open, SIGNS * np.inf, ends)


def _between(
    excess: Callable[[Numbers], Numbers],
    inside: Numbers,
    outside: Numbers,
    above: Numbers,
    below: Numbers,
    value: Numbers,
) -> Numbers:
    """Return where a function that falls outwards crosses 0: by regula falsi, and by halving now and then."""
    for turn in range(100):
        if (np.abs(outside - inside) <= CLOSE * np.abs(outside - value)).all():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip(above / (above - below), 1e-3, 1 - 1e-3)
        at = inside + (0.5 if turn % 3 == 2 else np.where(np.isfinite(share), share, 0.5)) * (outside - inside)
        found = excess(at)
        kept = found > 0
        # An end that stays for long is believed half as much: the Illinois rule.
        above, below = np.where(kept, found, above / 2), np.where(kept, below / 2, found)
        inside, outside = np.where(kept, at, inside), np.where(kept, outside, at)
    return np.asarray(outside)


def find_doubt(claims: Claims, theta: Numbers) -> Numbers:
    """Return how far the rows allow each claim; of shape (2, n_claims), claims below the estimates before those above.

    It is the chance that a sum of rows, each counted by an exponential variable, is on the estimate's other side: with
    one further row at its best and with one at its worst. The sum has about the law of a shifted gamma variable with
    the same three cumulants.
    """
    first, second = _apart(claims, theta)
    mean, variance, third = _cumulants(claims, claims.first - first, second - claims.second)
    best, worst = _further_row(claims, theta, first, second)
    mean = mean + _missing(claims, first, second)
    answer = np.zeros(theta.shape)
    at_best = _share_at_best(claims, variance, np.maximum(best, -worst))
    for jump, share in ((best, at_best), (worst, 1 - at_best)):
        answer += share * _chance_above_zero(mean + jump, variance + jump**2, third + 2 * jump**3)
    return answer


def _share_at_best(claims: Claims, variance: Numbers, loudest: Numbers) -> Numbers:
    """Return the share of the doubt that is asked with the further row at its best.

    Skewness of one policy's rewards decides how often a value's end fails; in a difference most of it cancels, unless
    few rows speak as loudly as the further one could: each of them moves an end by far.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        n_as_loud = np.where(loudest > 0, variance / loudest**2, np.inf)
    return np.where(claims.is_difference, 0.5 + (SHARE - 0.5) / (1 + n_as_loud), SHARE)


def _apart(claims: Claims, theta: Numbers) -> tuple[Numbers, Numbers]:
    """Return the two values that a claimed difference is made of, both possible; of a claimed value itself and 0."""
    known = claims.known
    first = np.clip(claims.first + claims.part * (theta - claims.value), known.low, known.high)
    second = np.where(claims.is_difference, np.clip(first - theta, known.low, known.high), 0.0)
    return second + theta, second


def _cumulants(claims: Claims, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the first three cumulants of the sum, towards the claim, if the values were off so much."""
    turn = np.stack([np.ones(first.shape), first, second], axis=-1)
    squares = np.einsum("mij,smj->smi", claims.squares, turn)
    cubes = np.einsum("mijk,smj,smk->smi", claims.cubes, turn, turn)
    mean, variance, third = (turn * claims.sums).sum(-1), (turn * squares).sum(-1), 2 * (turn * cubes).sum(-1)
    return SIGNS * mean, variance, SIGNS * third


def _further_row(claims: Claims, theta: Numbers, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
    """Return how far one further row could speak for the claim, and how far against it."""
    known, zero = claims.known, claims.from_zero
    base = np.where(zero, theta / claims.unit, 0.0)
    rows = [-base]
    for weight, value in ((claims.above, first), (claims.below, second)):
        rows += [weight * (reward - np.where(zero, 0.0, value)) - base for reward in (known.least, known.most)]
    spoken = SIGNS * np.stack(rows)
    return np.maximum(spoken.max(axis=0), 0.0), np.minimum(spoken.min(axis=0), 0.0)


def _missing(claims: Claims, first: Numbers, second: Numbers) -> Numbers:
    """Return how far the rows whose weight is missing could speak for the claim: they may have had any reward."""
    total = np.zeros(first.shape)
    for weight, value in ((claims.missing_first, first), (-claims.missing_second, second)):
        off = np.where(claims.from_zero, 0.0, value)
        spoken = [SIGNS * weight * (reward - off) for reward in (claims.known.least, claims.known.most)]
        total += np.maximum(np.maximum(*spoken), 0.0)
    return total


def _chance_above_zero(mean: Numbers, variance: Numbers, third: Numbers) -> Numbers:
    """Return Pr(X >= 0) of shifted gamma variables with these cumulants."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scale = np.sqrt(variance)
        skew, x = third / (variance * scale), -mean / scale
        normal = ndtr(-(x - skew * (x * x - 1) / 6))  # Edgeworth's correction of the first order
        shape = 4 / np.maximum(skew * skew, NEARLY_NORMAL**2)
        at = np.maximum(shape + np.sign(skew) * x * np.sqrt(shape), 0.0)
        gamma = np.where(skew > 0, gammaincc(shape, at), gammainc(shape, at))
    chance = np.where(np.abs(skew) < NEARLY_NORMAL, normal, gamma)
    return np.where(variance > 0, chance, mean >= 0)
