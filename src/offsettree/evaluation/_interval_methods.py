"""From the terms of estimates to their intervals, by the method asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._messages import Parameter
from offsettree.evaluation._diagnostics import FEW_EFFECTIVE_ROWS, WeightSums
from offsettree.evaluation._empirical_likelihood import likelihood_intervals
from offsettree.evaluation._finite_sample import Scale, guaranteed, largest_weight
from offsettree.evaluation._groups import BY_GROUPS, check_group, sum_by_group
from offsettree.evaluation._inputs import GUARANTEED, Log
from offsettree.evaluation._intervals import bootstrap_values, bootstrapped, normal_intervals
from offsettree.evaluation._mid_p import mid_p_intervals, widened_by
from offsettree.evaluation._reward_limits import RewardLimits
from offsettree.evaluation._reward_models import Predictions
from offsettree.evaluation._terms import Terms, estimate_terms
from offsettree.evaluation.estimate import Interval
from offsettree.exceptions import ParameterError

BY_TERMS = ("mid_p", "normal", "bootstrap")  # these see predictions only within the terms of an estimate


@dataclass(frozen=True)
class IntervalSettings:
    """How values and intervals are computed; `rewards` and `limits` are divided by the log's unit.

    `order` is the order of rows for betting intervals. `scale` is the range of rewards, for finite-sample intervals
    only. `group` holds each row's group code; None if rows are independent.
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
    ) -> IntervalSettings:
        """Check the settings against the log."""
        n_rows, unit = len(log.logged), log.unit
        codes = check_group(group, n_rows)
        if codes is not None and interval not in BY_GROUPS:
            raise ParameterError(
                Parameter("interval", interval),
                " assumes independent rows, and rows of one group are not. With ",
                Parameter("group"),
                f" use one of {', '.join(map(repr, BY_GROUPS))}.",
            )
        order = random.permutation(n_rows) if interval == "betting" else np.arange(n_rows * (interval == "anytime"))
        scale = Scale.of(policy, reward_range, log.reward).in_units(unit) if interval in GUARANTEED else None
        rewards = log.reward if unit == 1 else log.reward / unit
        limits = None if known is None else (known[0] / unit, known[1] / unit)
        return cls(method, interval, level, rewards, limits, order, scale, max_weight, codes)


def find_intervals(
    settings: IntervalSettings,
    terms: list[Terms],
    weights: list[NDArray[np.float64]],
    predicted: list[Predictions | None],
    log: Log,
    differing: NDArray[np.bool_] | None,
    random: np.random.RandomState,
) -> list[Interval]:
    """Return the interval of one estimate; or of two, and of their difference (`differing`: see `mid_p_intervals`)."""
    level, interval, without_model = settings.level, settings.interval, []
    if settings.method == "doubly_robust" and interval == "mid_p":
        without_model = [estimate_terms("snips", w, settings.rewards, None) for w in weights]
        without_model += terms[len(without_model) :]
    if settings.group is not None:
        terms, without_model = (
            [sum_by_group(each, settings.group) for each in some] for some in (terms, without_model)
        )
        differing = None if differing is None else np.bincount(settings.group, differing) > 0
    n_rows = len(terms[0].numerator)
    sizes = [_size(each, settings.method, n_rows) for each in terms]
    plain = within(normal_intervals(terms, level, sizes), settings.limits)
    seen = RewardLimits.of(settings.rewards, settings.limits, settings.group)
    if interval == "mid_p":
        found = mid_p_intervals(plain, terms, seen, level, differing)
        return widened_by(found, without_model, seen, level, differing) if without_model else found
    if interval == "bootstrap":
        return bootstrapped(plain, bootstrap_values(terms, random), level)
    if interval == "normal":
        return plain
    bound = largest_weight(settings.max_weight, weights, log.propensity, interval)
    if settings.scale is None:
        return likelihood_intervals(plain, weights, predicted, settings.rewards, seen, bound, sizes, level)
    return guaranteed(
        plain, interval, level, weights, predicted, settings.rewards, settings.scale, bound, settings.order
    )


def of_few_groups(settings: IntervalSettings, weight: NDArray[np.float64]) -> list[str]:
    """Warn of a small effective number of groups."""
    if settings.group is None:
        return []
    n_groups = int(settings.group.max()) + 1
    worth = WeightSums.of(np.bincount(settings.group, weight, n_groups).astype(np.float64)).effective_rows
    if worth >= FEW_EFFECTIVE_ROWS:
        return []
    text = (
        f"the {n_groups:,} groups are worth {worth:.1f} of equal weight, however many rows they have: too few to "
        "estimate how groups differ. More groups would help."
    )
    return [text]


def _size(terms: Terms, method: str, n_rows: int) -> float:
    """Return the effective sample size; every row counts for a model's predictions and for the logging policy."""
    if method == "direct" or terms.weight is None:
        return float(n_rows)
    return WeightSums.of(terms.weight).effective_rows


def within(intervals: list[Interval], limits: tuple[float, float] | None) -> list[Interval]:
    """Move impossible estimates to the nearest possible value, and the difference with them."""
    if limits is None or all(limits[0] <= each.value <= limits[1] for each in intervals[:2]):
        return intervals
    values = [min(max(each.value, limits[0]), limits[1]) for each in intervals[:2]]
    return [each.moved(to) for each, to in zip(intervals, [*values, values[0] - values[-1]], strict=False)]
