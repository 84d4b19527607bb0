"""Warnings about an estimate, as plain text: each `of_...` function returns a list of them, empty if all is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._features import Features, take_rows
from offsettree._fingerprint import Fingerprint, share_remembered
from offsettree._labels import some_labels
from offsettree._messages import Message, Parameter
from offsettree.evaluation._targets import Target

FEW_EFFECTIVE_ROWS = 50
FEW_DIFFERING = 20  # effective rows with a reward unlike the usual one: with fewer, sums are far from normal
NEXT_TO_NONE = 3  # the same for intervals that do not assume normality
FOR_LONG_LOGS = ("normal", "bootstrap")
HEAVY_SHARE = 0.01  # of the matched rows: too few if they carry more than half of the weight
FEW_ROWS = 500  # with fewer rows, sums of 1 / propensity vary too much to judge
SURE = 5.0  # standard errors before a deviation is reported


@dataclass(frozen=True)
class WeightSums:
    """Sums of the importance weights of all rows."""

    n_rows: int
    mean: float
    largest: float
    n_matched: int
    effective_rows: float  # effective sample size; 0 if all weights are 0

    @classmethod
    def of(cls, weight: NDArray[np.float64]) -> Self:
        """Sum the weights."""
        largest, n_matched = float(weight.max()), int(np.count_nonzero(weight))
        if n_matched == 0:
            return cls(len(weight), 0.0, 0.0, 0, 0.0)
        scale = 1.0 if largest < 1e100 else largest  # squares must not overflow
        scaled = weight if scale == 1 else weight / scale
        total, squares, n_rows = float(scaled.sum()), float(np.dot(scaled, scaled)), len(weight)
        return cls(n_rows, total / n_rows * scale, largest, n_matched, total**2 / squares)

    @property
    def stderr(self) -> float:
        """The standard error of the mean, computed without squared weights, which may overflow."""
        return self.mean * float(np.sqrt(max(1 / self.effective_rows - 1 / self.n_rows, 0))) if self.n_matched else 0.0


def of_weights(
    weight: NDArray[np.float64], sums: WeightSums, what: str = "policy", interval: str = "normal"
) -> list[str]:
    """Warn of a small effective sample size, and of a few rows that carry most of the weight."""
    return [*of_few_rows(sums, what, interval), *of_heavy_rows(weight, sums, what)]


def of_few_rows(sums: WeightSums, what: str = "policy", interval: str = "normal") -> list[str]:
    """Warn of a small effective sample size."""
    if sums.n_matched == 0:
        text = (
            f"in none of the {sums.n_rows:,} rows was an action logged that the {what} would take: the estimate comes "
            "from the reward model alone. Use a log with more rows or more exploration."
        )
        return [text]
    if sums.effective_rows >= FEW_EFFECTIVE_ROWS:
        return []
    effect = Message("the interval is accordingly wide. Use ")
    if interval in FOR_LONG_LOGS:
        narrow = "too few for normal and bootstrap intervals, which are then too narrow. Use "
        effect = Message(narrow, Parameter("interval", "mid_p"), ", or ")
    worth = f"the {sums.n_rows:,} rows are worth {sums.effective_rows:.1f} rows of the {what}'s own decisions: "
    return [Message(worth, effect, "a log with more rows or more exploration.")]


def of_heavy_rows(weight: NDArray[np.float64], sums: WeightSums, what: str = "policy") -> list[str]:
    """Warn of a few rows that carry most of the weight."""
    n_matched = sums.n_matched
    if n_matched <= 2:
        return []
    n_heavy = max(1, int(HEAVY_SHARE * n_matched))
    positive = weight[weight > 0]
    heavy = float(np.partition(positive, n_matched - n_heavy)[n_matched - n_heavy :].sum() / positive.sum())
    if heavy <= 0.5:
        return []
    rows = "a single row carries" if n_heavy == 1 else f"{n_heavy:,} rows carry"
    text = Message(
        f"{rows} {100 * heavy:.0f} % of the weight of all {n_matched:,} rows that the {what} matches: its estimate "
        "depends on them. Check their propensities; ",
        Parameter("method", "doubly_robust"),
        " or 'switch' depends less on them.",
    )
    return [text]


def of_rewards(
    weight: NDArray[np.float64], reward: NDArray[np.float64], interval: str, what: str = "policy"
) -> list[str]:
    """Warn if too few rewards of the matched rows differ from the usual one."""
    matched = weight > 0
    if not matched.any():
        return []
    values, counts = reward[matched], weight[matched]
    usual = np.partition(values, len(values) // 2)[len(values) // 2]  # the median, which most rewards equal, if any
    differs = values != usual
    n_differing = int(differs.sum())
    worth = WeightSums.of(counts[differs]).effective_rows if n_differing else 0.0
    if worth >= (FEW_DIFFERING if interval in FOR_LONG_LOGS else NEXT_TO_NONE):
        return []
    seen = f"{n_differing:,} of {len(values):,} rewards" if n_differing else f"none of {len(values):,} rewards"
    equal = f", worth {worth:.1f} of equal weight," if n_differing > worth * 1.05 else ""
    effect = Message("too few to estimate how rewards vary")
    if interval in FOR_LONG_LOGS:
        shifted = f"too few for the {interval} interval, which is then too narrow and shifted. Use "
        effect = Message(shifted, Parameter("interval", "mid_p"))
    differ = f"{seen}{equal} in rows that the {what} matches differ from the usual one, {usual:g}: "
    return [Message(differ, effect, ". More rows would help.")]


def of_equal_rewards(reward: NDArray[np.float64]) -> list[str]:
    """Warn that there is no interval: all rewards are equal, and their range is not known."""
    text = Message(
        f"all {len(reward):,} rewards of the log are {reward[0]:g}, and their range is not known: there is no "
        "interval. Pass ",
        Parameter("reward_range", ("low", "high")),
        ", the smallest and the largest possible reward.",
    )
    return [text]


def of_support(target: Target, count: NDArray[np.int64], space: NDArray[Any], what: str = "policy") -> list[str]:
    """Warn of actions that a policy takes and the logging policy never took."""
    never = (count == 0) & (target.share > 0)
    if not never.any():
        return []
    n_never = int(never.sum())
    text = (
        f"the {what} takes {n_never:,} action{'s' * (n_never != 1)} that the log never took "
        f"({some_labels(space[never])}), in {100 * target.share[never].sum():.3g} % of the decisions. Their rewards "
        "are unknown: inverse-propensity estimates leave them out, reward models guess."
    )
    return [text]


def of_propensities(
    sums: WeightSums,
    logged: NDArray[np.intp],
    count: NDArray[np.int64],
    propensity: NDArray[np.float64],
    space: NDArray[Any],
    *,
    covered: bool,
    available: Available | None = None,
) -> list[str]:
    """Warn of propensities that cannot be right, by themselves or judging by a policy's mean weight."""
    found = of_inverse_propensities(logged, count, propensity, space, available)
    return found or (of_mean_weight(sums, propensity) if covered else [])


def of_inverse_propensities(
    logged: NDArray[np.intp],
    count: NDArray[np.int64],
    propensity: NDArray[np.float64],
    space: NDArray[Any],
    available: Available | None = None,
) -> list[str]:
    """Warn of propensities that cannot be right, whatever the policy.

    Two means must be as expected. The mean of 1 / propensity over all rows is near the number of possible actions.
    The same mean with the rows of other actions counted as 0 is near the share of rows in which this action was
    available.
    """
    n_rows = len(logged)
    if n_rows < FEW_ROWS:
        return []
    # In units of the largest 1 / propensity: squares must not overflow.
    largest = float(1 / propensity.min())
    total, squares = _sums_by_action(logged, propensity, count)
    offered = np.ones(len(space)) if available is None else available.share()
    possible, seen = float(offered.sum()), float(offered[count > 0].sum())
    mean = largest * float(total.sum() / n_rows)
    stderr = largest * _stderr(float(total.sum() / n_rows), float(squares.sum() / n_rows), n_rows)
    short = SURE * max(stderr, _stderr_of_unseen(seen - mean, largest, n_rows))
    if mean > possible * 1.1 + SURE * stderr or mean < seen / 1.1 - short:
        why = "too small" if mean > possible else "too large, or some actions cannot be taken in every context"
        text = (
            f"propensities cannot be right: the mean of 1 / propensity over all rows is {mean:.3g}, where it should be "
            f"near the number of actions, {possible if mean > possible else seen:g}. They seem {why}."
        )
        return [text]
    rate = np.where(count > 0, offered, 1.0)
    part = total / n_rows / rate
    share, spread = (
        largest * part,
        largest * np.sqrt(np.maximum(squares / n_rows / rate**2 - part**2, 0) / n_rows),
    )
    off = np.abs(share - 1) - SURE * np.maximum(spread, _stderr_of_unseen(1 - share, largest / rate, n_rows))
    odd = (count >= 10) & (off > 0.1) & ((share > 1) | (share < 0.8))
    if not odd.any():
        return []
    worst = int(np.where(odd, off, -1).argmax())
    text = (
        f"propensities of action {space[worst]!s} cannot be right: it was logged {count[worst]:,} times, which is "
        f"{share[worst]:.2f} times as often as its propensities say ({int(odd.sum())} such "
        f"action{'s' * int(odd.sum() != 1)}). Unless it cannot be taken in every context, they are wrong."
    )
    return [text]


def of_mean_weight(sums: WeightSums, propensity: NDArray[np.float64], what: str = "policy") -> list[str]:
    """Warn if the mean weight is not near 1, as it must be if the logging policy can take all that the policy takes."""
    if sums.n_rows < FEW_ROWS:
        return []
    mean, largest = sums.mean, float(1 / propensity.min())
    stderr = max(sums.stderr, _stderr_of_unseen(1 - mean, largest, sums.n_rows))
    if abs(mean - 1) <= 0.1 + SURE * stderr:
        return []
    why = (
        "its decisions were made knowing the logged actions"
        if mean > 1
        else "it takes actions where the logging policy could not"
    )
    return [f"the {what}'s mean weight is {mean:.3g}, and should be near 1: {why}, or propensities are wrong."]


def of_method(method: str, n_left_out: int, what: str = "policy") -> list[str]:
    """Warn of intervals that ignore the error of the reward model."""
    doubt = Message(
        "it ignores the model's bias and how the model would differ had it learned from other rows, and covers "
        "the true value less often than its level says. ",
        Parameter("method", "doubly_robust"),
        " corrects the model by the log.",
    )
    if method == "direct":
        shows = f"the interval shows only how the model's predictions for the {what} vary from row to row: "
        return [Message(shows, doubt)]
    if method == "switch" and n_left_out:
        rows = "1 row" if n_left_out == 1 else f"{n_left_out:,} rows"
        left = f"{rows} with the {what}'s largest weights were left to the reward model, and for them the interval "
        return [Message(left, "is too narrow: ", doubt)]
    return []


def _sums_by_action(
    logged: NDArray[np.intp], propensity: NDArray[np.float64], count: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of (smallest propensity / propensity) and of its square, by action."""
    from offsettree.evaluation._kernels_sums import add_by_action

    smallest = propensity.min()
    if propensity.strides == (0,) or smallest == propensity.max():  # one number for all rows
        return count.astype(np.float64), count.astype(np.float64)
    total, squares = np.zeros(len(count)), np.zeros(len(count))
    add_by_action(logged, smallest / propensity, total, squares)
    return total, squares


def _stderr(mean: float, mean_square: float, n_rows: int) -> float:
    return float(np.sqrt(max(mean_square - mean * mean, 0) / n_rows))


def _stderr_of_unseen(missing: Any, largest: Any, n_rows: int) -> Any:
    """Return the standard error of a mean that falls short by `missing`, if rows of the largest weight are missing."""
    return np.sqrt(np.maximum(missing, 0) * largest / n_rows)


def of_training_rows(policy: Any, X: Features, reward: NDArray[np.float64], what: str = "policy") -> list[str]:
    """Warn if a policy was trained on these rows, as far as its fingerprint of training rows shows."""
    trained = _trained_part(policy)
    if trained is None:
        return []
    fingerprint: Fingerprint = trained._trained_on
    try:
        if fingerprint.n_to_look_at < len(reward):
            rows = _all_over(len(reward), fingerprint.n_to_look_at)
            X, reward = take_rows(X, rows), reward[rows]
        share = share_remembered(fingerprint, trained._checked(X) if hasattr(trained, "_checked") else X, reward)
    except (TypeError, ValueError, IndexError, AttributeError):  # X in a form that cannot be read as numbers
        return []
    if share == 0:
        return []
    effect = "the estimate is too high" if what == "policy" else "its value is too high, and the difference too low"
    text = (
        f"the {what} was trained on about {100 * share:.0f} % of these rows: {effect}. Evaluate it on rows it has not "
        "seen, such as those of a later day, or a part that LoggedData.split keeps aside."
    )
    return [text]


def _all_over(n_rows: int, n_wanted: int) -> NDArray[np.intp]:
    """Return a stratified sample of rows: one at random from each of `n_wanted` equal parts of the log."""
    within = np.random.default_rng(0).random(n_wanted)
    return np.asarray((np.arange(n_wanted) + within) * (n_rows / n_wanted), dtype=np.intp)


def _trained_part(policy: Any) -> Any:
    """Return what remembers training rows: the policy, or one within; None if none does."""
    chosen = "best_policy_" if getattr(policy, "takes_action_sets", False) else "best_estimator_"
    for part in (policy, getattr(policy, "policy", None), getattr(policy, chosen, None)):
        if isinstance(getattr(part, "_trained_on", None), Fingerprint):
            return part
    return None
