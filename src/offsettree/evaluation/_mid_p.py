"""Mid-P intervals for weighted rows, which hold for rare rewards and heavy weights: see docs/default-interval.md.

A claim is a hypothesised number. Its p-value needs moments of the rows up to the third order only. So one pass over a
log serves a value, a baseline and their difference, and the ends for many policies are found side by side. An end is
where the p-value falls to (1 - level) / 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, ndtr, ndtri, stdtr

from offsettree.evaluation._claims import Claims, LogSums, claims_of, sums_of
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._reward_limits import RewardLimits
from offsettree.evaluation._terms import Terms
from offsettree.evaluation.estimate import Interval

# The p-value is a mixture of two: one unseen row is added that supports the claim most, or that contradicts it most.
# This is the share of the first. For a difference it falls towards one half: see `_supporting_share`.
SHARE = 0.75
NEARLY_NORMAL = 2e-3  # smaller skewness is treated as nearly normal: the gamma's shape would be too large to compute
CLOSE = 1e-7  # relative precision of an end's distance to the estimate
FEW_INFORMATIVE = 10  # rare rewards; a model that learned from fewer is not independent of them
ROUNDING = 1e-14  # of the range of possible values
SIGNS = np.array([[-1.0], [1.0]])  # claims below the estimate, claims above
Numbers = NDArray[np.float64]


def mid_p_intervals(
    plain: list[Interval],
    terms: list[Terms],
    known: RewardLimits,
    level: float,
    differing: NDArray[np.bool_] | None = None,
) -> list[Interval]:
    """Replace the ends of the interval of one estimate; or of two, and of their difference.

    `differing` masks the rows in which two policies take different actions: only there a difference can miss weight.
    If all rewards are equal and their range is not known, the ends are NaN.
    """
    values = np.resize([each.value for each in plain[: len(terms)]], (1, 2))
    return replaced_ends(plain, sums_of(terms, differing), values, (0, 1, 2)[: len(plain)], known, level)


def widened_by(
    found: list[Interval],
    without_model: list[Terms],
    known: RewardLimits,
    level: float,
    differing: NDArray[np.bool_] | None = None,
) -> list[Interval]:
    """Widen model-based intervals to contain those of terms without a model, if few rewards are informative.

    Cross-fitting keeps a row out of the model that predicts it. But the models of all folds learned from the same few
    rare rewards, so predictions and residuals are correlated.
    """
    if not known.has_width or not all(each.weight is None or each.weight.any() for each in without_model):
        return found
    sums = sums_of(without_model, differing)
    plain = normal_intervals(without_model, level, sums.size[0, : len(without_model)].tolist())
    others = mid_p_intervals(plain, without_model, known, level, differing)
    values = np.resize([each.value for each in plain[: len(without_model)]], (1, 2))
    n_informative = claims_of(sums, values, known, (0, 1, 2)[: len(plain)]).n_informative
    return [
        Interval(each.value, each.stderr, min(each.low, other.low), max(each.high, other.high)) if few else each
        for each, other, few in zip(found, others, ~(n_informative >= FEW_INFORMATIVE), strict=True)
    ]


def separate_mid_p_intervals(
    plain: list[Interval], terms: list[Terms], known: RewardLimits, level: float
) -> list[Interval]:
    """Replace the ends of the intervals of many estimates on one log, each by itself."""
    sums = LogSums.joined([sums_of([each]) for each in terms])
    values = np.array([[each.value, 0.0] for each in plain])
    return replaced_ends(plain, sums, values, (0,), known, level)


def replaced_ends(
    plain: list[Interval], sums: LogSums, values: Numbers, which: tuple[int, ...], known: RewardLimits, level: float
) -> list[Interval]:
    """Replace the ends of the intervals of the claims that `which` lists, as in `claims_of`."""
    if not known.has_width:
        ends = np.full((2, len(plain)), np.nan)
    else:
        claims = claims_of(sums, np.clip(values, known.low, known.high), known, which)
        ends = find_ends(claims, level)
        if known.is_range:  # also bounds the infinite ends of quantities without a matched row
            ends = np.clip(ends, *claims.limits)
        value = np.array([each.value for each in plain])  # without a range it may lie outside the rewards seen
        ends = np.stack([np.minimum(ends[0], value), np.maximum(ends[1], value)])
    return [Interval(old.value, old.stderr, low, high) for old, (low, high) in zip(plain, ends.T.tolist(), strict=True)]


def find_ends(claims: Claims, level: float) -> Numbers:
    """Return lower and upper ends: where the p-value, going outwards from the estimate, falls to (1 - level) / 2."""
    tail = float(ndtri((1 - level) / 2))
    value, limits = claims.value, claims.limits

    def excess(theta: Numbers) -> Numbers:
        # On the probit scale the p-value is nearly linear in the claim.
        return np.asarray(np.maximum(ndtri(p_values(claims, theta)), -40.0) - tail)

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
    # Without rounding errors, the difference of a policy to itself is exactly 0.
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
    """Return the root of a function that decreases outwards, by regula falsi with bisection at every third step."""
    for turn in range(100):
        if (np.abs(outside - inside) <= CLOSE * np.abs(outside - value)).all():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip(above / (above - below), 1e-3, 1 - 1e-3)
        at = inside + (0.5 if turn % 3 == 2 else np.where(np.isfinite(share), share, 0.5)) * (outside - inside)
        found = excess(at)
        kept = found > 0
        # The Illinois rule: the value at the end that stays is halved.
        above, below = np.where(kept, found, above / 2), np.where(kept, below / 2, found)
        inside, outside = np.where(kept, at, inside), np.where(kept, outside, at)
    return np.asarray(outside)


def p_values(claims: Claims, theta: Numbers) -> Numbers:
    """Return the mid-P value of each claim, of shape (2, n_claims): claims below the estimates, then those above.

    It is the probability that a sum of the rows' scores, each multiplied by an exponential variable, is on the other
    side of 0; a mixture over the unseen row that supports the claim most, or least. The sum's distribution is
    approximated by a shifted gamma distribution with the same three cumulants. For a value, whose variance depends on
    how the few rare rewards differ, the quantile is then read as one of Student's distribution.
    """
    first, second = _claimed_values(claims, theta)
    mean, variance, third = _cumulants(claims, claims.first - first, second - claims.second)
    support, contradiction = _unseen_row(claims, theta, first, second)
    mean = mean + _missing(claims, first, second)
    answer = np.zeros(theta.shape)
    supporting = _supporting_share(claims, variance, np.maximum(support, -contradiction))
    for jump, share in ((support, supporting), (contradiction, 1 - supporting)):
        answer += share * _chance_above_zero(mean + jump, variance + jump**2, third + 2 * jump**3)
    return _by_student(answer, np.where(claims.is_difference, np.inf, claims.known.freedom))


def _by_student(chance: Numbers, freedom: Numbers) -> Numbers:
    """Return the chances that Student's distribution gives to the normal quantiles of these."""
    few = np.isfinite(freedom) & (chance > 0) & (chance < 1)
    if not few.any():
        return chance
    return np.where(few, stdtr(np.where(few, freedom, 1.0), ndtri(np.where(few, chance, 0.5))), chance)


def _supporting_share(claims: Claims, variance: Numbers, largest: Numbers) -> Numbers:
    """Return the share of the p-value in which the unseen row supports the claim; `largest` is its largest score.

    The end of a value fails mostly because of skewness. In a difference most of the skewness cancels, unless few rows
    have scores as large as the unseen row's.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        n_as_large = np.where(largest > 0, variance / largest**2, np.inf)
    return np.where(claims.is_difference, 0.5 + (SHARE - 0.5) / (1 + n_as_large), SHARE)


def _claimed_values(claims: Claims, theta: Numbers) -> tuple[Numbers, Numbers]:
    """Return the two possible values that make up a claimed difference; for a claimed value, itself and 0."""
    known = claims.known
    first = np.clip(claims.first + claims.part * (theta - claims.value), known.low, known.high)
    second = np.where(claims.is_difference, np.clip(first - theta, known.low, known.high), 0.0)
    return second + theta, second


def _cumulants(claims: Claims, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return three cumulants of the sum of scores, towards the claim; arguments are distances to the estimates."""
    turn = np.stack([np.ones(first.shape), first, second], axis=-1)
    squares = np.einsum("mij,smj->smi", claims.squares, turn)
    cubes = np.einsum("mijk,smj,smk->smi", claims.cubes, turn, turn)
    mean, variance, third = (turn * claims.sums).sum(-1), (turn * squares).sum(-1), 2 * (turn * cubes).sum(-1)
    return SIGNS * mean, variance, SIGNS * third


def _unseen_row(claims: Claims, theta: Numbers, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
    """Return the scores of an unseen row that supports the claim most, and of one that contradicts it most."""
    known, zero, gap = claims.known, claims.from_zero, claims.is_difference
    low, high = np.where(gap, known.unseen_low, known.tail_low), np.where(gap, known.unseen_high, known.tail_high)
    base = np.where(zero, theta / claims.unit, 0.0)
    rows = [-base]
    for weight, value in ((claims.above, first), (claims.below, second)):
        rows += [weight * (reward - np.where(zero, 0.0, value)) - base for reward in (low, high)]
    score = SIGNS * np.stack(rows)
    return np.maximum(score.max(axis=0), 0.0), np.minimum(score.min(axis=0), 0.0)


def _missing(claims: Claims, first: Numbers, second: Numbers) -> Numbers:
    """Return the most that rows with missing weight could support the claim: their rewards are unknown."""
    total = np.zeros(first.shape)
    for weight, value in ((claims.missing_first, first), (-claims.missing_second, second)):
        off = np.where(claims.from_zero, 0.0, value)
        scores = [SIGNS * weight * (reward - off) for reward in (claims.known.unseen_low, claims.known.unseen_high)]
        total += np.maximum(np.maximum(*scores), 0.0)
    return total


def _chance_above_zero(mean: Numbers, variance: Numbers, third: Numbers) -> Numbers:
    """Return Pr(X >= 0) of shifted gamma variables with these cumulants."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scale = np.sqrt(variance)
        skew, x = third / (variance * scale), -mean / scale
        normal = ndtr(-(x - skew * (x * x - 1) / 6))  # first-order Edgeworth correction
        shape = 4 / np.maximum(skew * skew, NEARLY_NORMAL**2)
        at = np.maximum(shape + np.sign(skew) * x * np.sqrt(shape), 0.0)
        gamma = np.where(skew > 0, gammaincc(shape, at), gammainc(shape, at))
    chance = np.where(np.abs(skew) < NEARLY_NORMAL, normal, gamma)
    return np.where(variance > 0, chance, mean >= 0)
