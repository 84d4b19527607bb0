"""Empirical likelihood intervals of values and differences (Karampatziakis, Langford and Mineiro, 2020).

A claim is a hypothesised mean of a policy's terms. Among the distributions of rows with that mean, and with mean weight
1, the one of maximum likelihood is found. It may put mass on unseen rows, at the corners of what is possible. The
interval holds the claims whose log likelihood is close enough to the maximum over all claims.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from offsettree.evaluation._reward_limits import RewardLimits
from offsettree.evaluation._reward_models import Predictions
from offsettree.evaluation.estimate import Interval

CORNER = 1e-6  # rows added at each corner: keep the maximum likelihood distribution within the possible range
N_STEPS = 60
N_HALVINGS = 24
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _Claim:
    """The constraints on means: weight - 1 of both policies, and the term (from which the claim is subtracted).

    `rows` and `corners` have shape (3, n). A row of zeros is no constraint.
    """

    rows: Numbers
    corners: Numbers
    limits: tuple[float, float]

    def likelihood(self, theta: float, start: Numbers, free: NDArray[np.bool_]) -> tuple[float, Numbers]:
        """Return the drop of the log likelihood at a claim, and its Lagrange multipliers, by Newton's method."""
        from offsettree.evaluation._kernels_likelihood import add_logs

        def at(multiplier: Numbers) -> Numbers:
            answer = np.zeros(10)
            for columns, weight in ((self.corners, CORNER), (self.rows, 1.0)):
                if np.isfinite(answer[0]):
                    add_logs(columns, theta, multiplier, weight, answer)
            return answer

        here = start if np.isfinite(at(start)[0]) else np.zeros(3)
        found = at(here)
        for _ in range(N_STEPS):
            slope = np.where(free, found[1:4], 0.0)
            curve = np.zeros((3, 3))
            curve[np.triu_indices(3)] = found[4:]
            curve = curve + np.triu(curve, 1).T
            curve[~free], curve[:, ~free] = 0.0, 0.0
            step = -np.linalg.solve(curve - np.diag(np.where(free, 1e-12 * (1 - np.diag(curve)), 1.0)), slope)
            gain = float(slope @ step)
            if not gain > 1e-9:
                break
            length = 1.0
            while length > 1e-9:
                there = at(here + length * step)
                if there[0] >= found[0] + 0.1 * length * gain:
                    break
                length /= 2
            else:
                break
            here, found = here + length * step, there
        return float(found[0]), here


def likelihood_intervals(
    plain: list[Interval],
    weights: list[Numbers],
    predicted: list[Predictions | None],
    reward: Numbers,
    known: RewardLimits,
    bound: float,
    sizes: list[float],
    level: float,
) -> list[Interval]:
    """Replace the ends of the interval of one estimate; or of two, and of their difference."""
    if not known.has_width:
        return [Interval(each.value, each.stderr, np.nan, np.nan) for each in plain]
    low, high = float(known.low[0]), float(known.high[0])
    zero, one = np.zeros(len(reward)), np.ones(len(reward))
    model = predicted[0].on_logged if predicted[0] is not None else zero
    # The logging policy has all weights 1. A value is a difference to a policy with all weights 0.
    sides = [(w, q.on_policy if q is not None else zero, bound) for w, q in zip(weights, predicted, strict=True)]
    if len(plain) == 3 and len(sides) == 1:
        sides.append((one, model, 1.0))
    nothing = (zero, zero, 0.0)
    pairs = [(side, nothing) for side in sides] + ([(sides[0], sides[1])] if len(plain) == 3 else [])
    replaced = []
    for i, (old, (first, second)) in enumerate(zip(plain, pairs, strict=True)):
        limits = (low, high) if i < 2 else (low - high, high - low)
        size = sizes[i] if i < 2 else min(sizes)
        claim = _claim(first, second, model, reward, (low, high), limits)
        ends = _ends(claim, size, level) if size > 0 else limits
        replaced.append(Interval(old.value, old.stderr, min(ends[0], old.value), max(ends[1], old.value)))
    return replaced


def _claim(
    first: tuple[Numbers, Numbers, float],
    second: tuple[Numbers, Numbers, float],
    model: Numbers,
    reward: Numbers,
    reward_range: tuple[float, float],
    limits: tuple[float, float],
) -> _Claim:
    """Return the constraints at all rows, and at the extremes of weights, rewards and predictions."""
    (weight, meant, most), (other, other_meant, other_most) = first, second
    sure, rest = meant - other_meant, reward - model
    columns = [weight - 1, other - 1 if other_most > 1 else np.zeros(len(reward)), sure + (weight - other) * rest]
    off = (reward_range[0] - float(model.max()), reward_range[1] - float(model.min()))
    corners = [
        [w - 1, v - 1 if other_most > 1 else 0.0, base + (w - v) * gap]
        for w in ((0.0, most) if most > 1 else (1.0,))
        for v in ((0.0, other_most) if other_most > 1 else (other_most,))
        for base in (float(sure.min()), float(sure.max()))
        for gap in off
    ]
    return _Claim(np.array(columns), np.array(corners).T.copy(), limits)


def _ends(claim: _Claim, size: float, level: float) -> tuple[float, float]:
    """Return where the log likelihood has dropped too far, on both sides of its maximum."""
    without = np.append(np.abs(claim.rows[:2]).max(axis=1) > 0, False)
    asked = without | np.array([False, False, True])
    best, multiplier = claim.likelihood(0.0, np.zeros(3), without)
    share = 1 / (1 + multiplier[:2] @ claim.rows[:2])
    centre = float(share @ claim.rows[2] / share.sum())
    centre = min(max(centre, claim.limits[0]), claim.limits[1])
    # Half the square of Student's quantile, as for the normal interval.
    margin = 0.5 * float(stdtrit(max(size - 1, 1), (1 + level) / 2)) ** 2
    spread = float(np.sqrt((share**2 * (claim.rows[2] - centre) ** 2).sum()) / share.sum())
    ends = []
    for limit, sign in zip(claim.limits, (-1, 1), strict=True):
        inside, start = centre, multiplier
        step = max(2 * spread, 1e-9 * (claim.limits[1] - claim.limits[0]))
        outside = limit
        while sign * (limit - centre) > step:  # find a first number outside
            found, reached = claim.likelihood(centre + sign * step, start, asked)
            if found - best > margin:
                outside = centre + sign * step
                break
            inside, start, step = centre + sign * step, reached, 2 * step
        nearly = limit - sign * 1e-9 * abs(limit - centre)
        if outside == limit and claim.likelihood(nearly, start, asked)[0] - best <= margin:
            ends.append(limit)
            continue
        for _ in range(N_HALVINGS):
            middle = 0.5 * (inside + outside)
            found, reached = claim.likelihood(middle, start, asked)
            if found - best > margin:
                outside = middle
            else:
                inside, start = middle, reached
        ends.append(outside)
    return ends[0], ends[1]
