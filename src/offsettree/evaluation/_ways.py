"""From terms to intervals, in the way that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation._claims import Known
from offsettree.evaluation._diagnostics import FEW_EFFECTIVE_ROWS, WeightSums
from offsettree.evaluation._empirical_likelihood import likelihood_intervals
from offsettree.evaluation._finite_sample import Scale, guaranteed, largest_weight
from offsettree.evaluation._groups import BY_GROUPS, check_group, sum_by_group
from offsettree.evaluation._inputs import GUARANTEED, Log
from offsettree.evaluation._intervals import bootstrap_values, bootstrapped, normal_intervals
from offsettree.evaluation._mid_p import mid_p_intervals, widened_by
from offsettree.evaluation._reward_models import Predictions
from offsettree.evaluation._terms import Terms, estimate_terms
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import ParameterError

__all__ = ["Way", "find_intervals", "of_few_groups", "within"]


@dataclass(frozen=True)
class Way:
    """How values and their intervals are made; rewards and their limits are in units of the log.

    `order` is that in which rows come in, for intervals that ask; `scale` is the range of rewards for those that cannot
    do without; `group` is the number of each row's group, None where rows are independent.
    """

    method: str
    interval: str
    level: float
    rewards: NDArray[np.float64]
    limits: tuple[float, float] | None
    order: NDArray[np.intp]
    scale: Scale | None
    max_weight: float | None
    group: NDArray[np.intp] | None

    @classmethod
    def of(
        cls,
        log: Log,
        policy: Any,
        method: str,
        interval: str,
        level: float,
        reward_range: Any,
        known: tuple[float, float] | None,
        max_weight: float | None,
        group: Any,
        random: np.random.RandomState,
    ) -> Way:
        """Look at the log."""
        n_rows, unit = len(log.logged), log.unit
        codes = check_group(group, n_rows)
        if codes is not None and interval not in BY_GROUPS:
            raise ParameterError(
                f"interval={interval!r} takes rows to be independent, which those of one group are not. With group=... "
                f"use one of {', '.join(map(repr, BY_GROUPS))}."
            )
        order = random.permutation(n_rows) if interval == "betting" else np.arange(n_rows * (interval == "anytime"))
        scale = Scale.of(policy, reward_range, log.reward).in_units(unit) if interval in GUARANTEED else None
        rewards = log.reward if unit == 1 else log.reward / unit
        limits = None if known is None else (known[0] / unit, known[1] / unit)
        return cls(method, interval, level, rewards, limits, order, scale, max_weight, codes)


def find_intervals(
    way: Way,
    terms: list[Terms],
    weights: list[NDArray[np.float64]],
    predicted: list[Predictions | None],
    log: Log,
    apart: NDArray[np.bool_] | None,
    random: np.random.RandomState,
) -> list[Interval]:
    """Return the interval of one estimate; or of two, and of their difference. `apart` is as in `mid_p_intervals`."""
    level, interval, plainer = way.level, way.interval, []
    if way.method == "doubly_robust" and interval == "mid_p":
        plainer = [estimate_terms("snips", w, way.rewards, None) for w in weights]
        plainer += terms[len(plainer) :]
    if way.group is not None:
        terms, plainer = ([sum_by_group(each, way.group) for each in some] for some in (terms, plainer))
        apart = None if apart is None else np.bincount(way.group, apart) > 0
    n_rows = len(terms[0].numerator)
    sizes = [_size(each, way.method, n_rows) for each in terms]
    plain = within(normal_intervals(terms, level, sizes), way.limits)
    seen = Known.of(way.rewards, way.limits)
    if interval == "mid_p":
        found = mid_p_intervals(plain, terms, seen, level, apart)
        return widened_by(found, plainer, seen, level, apart) if plainer else found
    if interval == "bootstrap":
        return bootstrapped(plain, bootstrap_values(terms, random), level)
    if interval == "normal":
        return plain
    bound = largest_weight(way.max_weight, weights, log.propensity, interval)
    if way.scale is None:
        return likelihood_intervals(plain, weights, predicted, way.rewards, seen, bound, sizes, level)
    return guaranteed(plain, interval, level, weights, predicted, way.rewards, way.scale, bound, way.order)


def of_few_groups(way: Way, weight: NDArray[np.float64]) -> list[str]:
    """Tell of too few groups that count, where rows are grouped."""
    if way.group is None:
        return []
    n_groups = int(way.group.max()) + 1
    worth = WeightSums.of(np.bincount(way.group, weight, n_groups).astype(np.float64)).effective_rows
    if worth >= FEW_EFFECTIVE_ROWS:
        return []
    text = (
        f"the {n_groups:,} groups tell as much as {worth:.1f} of equal weight would, whatever the number of their "
        "rows: few to tell how groups differ. More groups would help."
    )
    return [text]


def _size(terms: Terms, method: str, n_rows: int) -> float:
    """Return what an estimate's rows are worth; models speak of every row, and so does what was logged."""
    if method == "direct" or terms.weight is None:
        return float(n_rows)
    return WeightSums.of(terms.weight).effective_rows


def within(intervals: list[Interval], limits: tuple[float, float] | None) -> list[Interval]:
    """Move estimates that no policy could have, and the difference with them, to the nearest possible value."""
    if limits is None or all(limits[0] <= each.value <= limits[1] for each in intervals[:2]):
        return intervals
    values = [min(max(each.value, limits[0]), limits[1]) for each in intervals[:2]]
    return [each.moved(to) for each, to in zip(intervals, [*values, values[0] - values[-1]], strict=False)]
