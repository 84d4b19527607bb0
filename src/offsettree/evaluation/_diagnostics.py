"""What speaks against trusting an estimate, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features
from offsettree._fingerprint import Fingerprint, share_remembered
from offsettree._validation import some_labels
from offsettree.evaluation._targets import Target

__all__ = ["effective_size", "of_propensities", "of_support", "of_training_rows", "of_weights"]

FEW_EFFECTIVE_ROWS = 50
HEAVY_SHARE = 0.01  # of the matched rows; if these carry more than half of the weight, they are too few
FEW_ROWS = 200  # of fewer, what propensities add up to says little
SURE = 5.0  # standard errors


def effective_size(weight: NDArray[np.float64]) -> float:
    """Return how many rows of equal weight would tell as much; 0 if all weights are 0."""
    largest = weight.max(initial=0.0)
    if largest == 0:
        return 0.0
    scaled = weight / largest  # whose squares do not overflow
    return float(scaled.sum() ** 2 / np.dot(scaled, scaled))


def of_weights(weight: NDArray[np.float64], n_matched: int, effective_rows: float) -> list[str]:
    """Tell of too few rows that count, and of a few that count for most."""
    found = []
    n_rows = len(weight)
    if n_matched == 0:
        return [
            f"in none of the {n_rows:,} rows was an action logged that the policy would take: the log says nothing of "
            "it, and the estimate is the reward model's alone. Use a log with more rows or more exploration."
        ]
    if effective_rows < FEW_EFFECTIVE_ROWS:
        found.append(
            f"the {n_rows:,} rows tell as much of this policy as {effective_rows:.1f} of its own would: too few for the "
            "normal and the bootstrap interval, which are too narrow then. Use a log with more rows or more "
            "exploration, or interval='betting', which holds for every size."
        )
    n_heavy = max(1, int(HEAVY_SHARE * n_matched))
    heavy = float(np.partition(weight, n_rows - n_heavy)[n_rows - n_heavy :].sum() / weight.sum())
    if heavy > 0.5 and n_matched > 2:
        rows = "a single row carries" if n_heavy == 1 else f"{n_heavy:,} rows carry"
        found.append(
            f"{rows} {100 * heavy:.0f} % of the weight of all {n_matched:,} matched rows: the estimate hangs on what "
            "happened in them. Look at their propensities; method='doubly_robust' or 'switch' depends less on them."
        )
    return found


def of_support(target: Target, count: NDArray[np.int64], space: NDArray[Any], what: str = "policy") -> list[str]:
    """Tell of actions that the policy takes and the logging policy never took."""
    never = (count == 0) & (target.share > 0)
    if not never.any():
        return []
    n_never = int(never.sum())
    return [
        f"the {what} takes {n_never:,} action{'s' * (n_never != 1)} that the log never took ({some_labels(space[never])}), "
        f"in {100 * target.share[never].sum():.3g} % of the decisions. What they earn is not known: inverse-propensity "
        "estimates leave them out, reward models guess."
    ]


def of_propensities(
    weight: NDArray[np.float64],
    logged: NDArray[np.intp],
    propensity: NDArray[np.float64],
    space: NDArray[Any],
    *,
    covered: bool,
) -> list[str]:
    """Tell of propensities that cannot be right.

    The mean of 1 / propensity over all rows is near the number of possible actions, and its mean over the rows of one
    action, the others counted as 0, near 1: each action was to be met as often as its propensities say. The weights
    of a policy are near 1 on average if the log can take all that it takes (`covered`, as far as is known).
    """
    n_rows = len(logged)
    if n_rows < FEW_ROWS:
        return []
    found = []
    inverse = 1 / propensity
    count = np.bincount(logged, minlength=len(space))
    total = np.bincount(logged, inverse, minlength=len(space))
    squares = np.bincount(logged, inverse * inverse, minlength=len(space))
    seen = count > 0
    n_actions, mean = int(seen.sum()), float(inverse.mean())
    stderr = float(inverse.std() / np.sqrt(n_rows))
    if mean > len(space) * 1.1 + SURE * stderr or mean < n_actions / 1.1 - SURE * stderr:
        why = "too small" if mean > len(space) else "too large, or some actions cannot be taken in every context"
        found.append(
            f"propensities cannot be right: the mean of 1 / propensity over all rows is {mean:.3g}, where it should be "
            f"near the number of actions, {len(space) if mean > len(space) else n_actions}. They seem {why}."
        )
    else:
        share = total / n_rows
        off = np.abs(share - 1) - SURE * np.sqrt(np.maximum(squares / n_rows - share**2, 0) / n_rows)
        odd = (count >= 10) & (off > 0.1) & ((share > 1) | (share < 0.8))
        if odd.any():
            worst = int(np.where(odd, off, -1).argmax())
            found.append(
                f"propensities of action {space[worst]!s} cannot be right: it was logged {count[worst]:,} times, which "
                f"is {share[worst]:.2f} times as often as its propensities say ({int(odd.sum())} such "
                f"action{'s' * (odd.sum() != 1)}). Unless it cannot be taken in every context, they are wrong."
            )
    if covered and not found:
        mean, stderr = float(weight.mean()), float(weight.std() / np.sqrt(n_rows))
        if abs(mean - 1) > 0.1 + SURE * stderr:
            found.append(
                f"the policy's weights have the mean {mean:.3g}, where it should be near 1: propensities are wrong, or "
                "the policy takes actions in contexts in which the logging policy cannot take them."
            )
    return found


def of_training_rows(policy: Any, X: Features, reward: NDArray[np.float64]) -> list[str]:
    """Tell if the policy was trained on these rows, as far as it remembers them."""
    fingerprint = _fingerprint_of(policy)
    if fingerprint is None:
        return []
    try:
        rows = policy._checked(X) if hasattr(policy, "_checked") else X
        share = share_remembered(fingerprint, rows, reward)
    except (TypeError, ValueError, IndexError, AttributeError):  # X in a form that cannot be read as numbers
        return []
    if share == 0:
        return []
    return [
        f"the policy was trained on about {100 * share:.0f} % of these rows: the estimate is too high. Evaluate it on "
        "rows it has not seen: train, test = log.split()."
    ]


def _fingerprint_of(policy: Any) -> Fingerprint | None:
    for part in (policy, getattr(policy, "policy", None), getattr(policy, "best_estimator_", None)):
        fingerprint = getattr(part, "_trained_on", None)
        if isinstance(fingerprint, Fingerprint):
            return fingerprint
    return None
