"""All warnings about an estimate and its baseline, by severity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._inputs import Log
from offsettree.evaluation._targets import Target
from offsettree.evaluation._terms import Terms

WHAT = ("policy", "baseline")
NEED_A_RANGE = ("mid_p", "empirical_likelihood")  # unless rewards differ


def find_warnings(
    policies: list[Any],
    log: Log,
    targets: list[Target],
    weights: list[NDArray[np.float64]],
    method: str,
    interval: str,
    terms: list[Terms],
    sums: list[diagnostics.WeightSums],
    reward_range: tuple[float, float] | None,
    *,
    of_ids: bool = False,
) -> tuple[list[str], list[str], list[str]]:
    """Return three lists: what makes the estimate worthless, what else forbids a definite verdict, and the rest.

    Of many ids, some are never logged though they could have been: `of_ids` does not warn of them.
    """
    count = np.bincount(log.logged, minlength=len(log.space))
    impossible = diagnostics.of_inverse_propensities(log.logged, count, log.propensity, log.space, log.available)
    worthless, serious, others = [*impossible], [], []
    if interval in NEED_A_RANGE and reward_range is None and log.reward.min() == log.reward.max():
        worthless += diagnostics.of_equal_rewards(log.reward)
    for i, what in enumerate(WHAT[: len(targets)]):
        support = [] if of_ids else diagnostics.of_support(targets[i], count, log.space, what)
        worthless += [*diagnostics.of_training_rows(policies[i], log.X, log.reward, what), *support]
        if not impossible and not support:
            worthless += diagnostics.of_mean_weight(sums[i], log.propensity, what)
        found = []
        if method != "direct" or sums[i].n_matched == 0:
            found = diagnostics.of_few_rows(sums[i], what, interval)
        if method != "direct":
            found += diagnostics.of_rewards(weights[i], log.reward, interval, what)
            others += diagnostics.of_heavy_rows(weights[i], sums[i], what)
        # Asymptotic intervals are wrong on few rows. Without a matched row, nothing corrects the reward model.
        if interval in diagnostics.FOR_LONG_LOGS or sums[i].n_matched == 0:
            serious += found
        else:
            others += found
        blind = diagnostics.of_method(method, terms[i].n_left_out, what)
        if method == "direct":
            serious += blind
        else:
            others += blind
    return worthless, serious, others
