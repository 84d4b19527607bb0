"""Results in plain sentences: what the policy earns, and which policy to use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from offsettree._messages import decimals_of_difference
from offsettree.evaluation import Estimate
from offsettree.evaluation.estimate import Interval
from offsettree.workflow.comparison import POPULAR, Comparison

__all__ = [
    "Advice",
    "advice",
    "basis",
    "conclusion",
    "decimals",
    "gain_on",
    "number",
    "verdict",
    "which_to_use",
    "with_interval",
]

MORE_ROWS = "more rows, or more exploration in the log, would help"


@dataclass(frozen=True)
class Advice:
    """Which policy to use.

    Parameters
    ----------
    use : {"learned", "constant", "logged", "open"}
        The learned policy, the constant action, or the logging policy; "open" if a serious warning rules out a
        verdict.
    sentence : str
        The same with its reasons.
    is_better : bool
        Whether the learned policy is shown to be better than the log and than the constant action, as
        ``--require better`` demands.
    """

    use: str
    sentence: str
    is_better: bool = False


def verdict(estimate: Estimate, compared: Comparison | None = None, *, baseline: str = "the logged one") -> str:
    """State the values of the policy and of the logged one, and the difference, each with its interval.

    Examples
    --------
    >>> from offsettree import evaluate
    >>> rows = dict(X=[[0.0]] * 400, action=["a", "b"] * 200, reward=[1, 0, 0, 0] * 100, propensity=0.5)
    >>> print(verdict(evaluate(["a"] * 400, **rows, interval="normal")))
    The learned policy earns 0.500 per decision [0.430, 0.570]; the logged one earned 0.250 [0.207, 0.293]; gain +0.250
    [0.207, 0.293].
    """
    digits = decimals(estimate)
    text = f"The learned policy earns {with_interval(estimate, digits)}".replace(" [", " per decision [", 1)
    if estimate.baseline is not None and estimate.difference is not None:
        text += f"; {baseline} earned {with_interval(estimate.baseline, digits)}"
        text += f"; gain {with_interval(estimate.difference, digits, sign=True)}"
    if compared is not None:
        constant, gain = with_interval(compared.constant, digits), with_interval(compared.gain, digits, sign=True)
        if compared.same:
            what = (
                f"takes {POPULAR}" if compared.among else f"always takes {compared.action!r}, the best constant action"
            )
            return f"{text}. It {what}."
        best = "" if compared.among else ", the best constant action,"
        text += f". {compared.always[0].upper()}{compared.always[1:]}{best} earns {constant}; gain on it {gain}"
    return text + "."


def gain_on(estimate: Estimate, baseline: str) -> str:
    """State the value of a baseline and the policy's gain on it, each with its interval."""
    digits, named = decimals(estimate), f"A{baseline[1:]}" if baseline.startswith("always ") else baseline
    earned: Any = estimate.baseline
    gain: Any = estimate.difference
    return f"{named} earns {with_interval(earned, digits)}; gain on it {with_interval(gain, digits, sign=True)}."


def conclusion(estimate: Estimate, compared: Comparison | None = None, *, baseline: str = "the logged one") -> str:
    """Say whether the policy is better than the baseline; with a comparison, which policy to use."""
    if compared is not None:
        return advice(compared).sentence
    if estimate.difference is None:
        return ""
    if estimate.serious:
        return "No verdict while a serious warning stands: resolve it first."
    sure = f"by {100 * estimate.level:g} % intervals"
    outcome = _outcome(estimate.difference)
    if outcome == "better":
        return f"The learned policy is better than {baseline}, {sure}."
    if outcome == "worse":
        return f"The learned policy is worse than {baseline}, {sure}: do not use it."
    return (
        f"These rows do not show whether the learned policy is better than {baseline}: the interval of the gain "
        f"contains zero. {MORE_ROWS[0].upper()}{MORE_ROWS[1:]}."
    )


def advice(compared: Comparison) -> Advice:
    """Say which policy to use: the learned one, the best constant action, or the logging policy.

    "Better" or "worse" means that the interval of the difference lies wholly on one side of zero. A policy is
    recommended over the logging policy only if it is better. If neither the learned policy nor the constant action is
    better than the other, the constant one is recommended, as it is simpler, unless the learned one is ahead by more
    than a standard error of the difference.
    """
    estimate, gain = compared.estimate, compared.gain
    always = compared.always
    take = f"Take {POPULAR}" if compared.among else f"Always take {compared.action!r}"
    best = "" if compared.among else ", the best constant"
    sure = f"({100 * estimate.level:g} % intervals)"
    if estimate.serious:
        return Advice("open", "No verdict while a serious warning stands: go on as before until it is resolved.")
    to_log = _outcome(estimate.difference)
    to_constant = "open" if compared.is_open else _outcome(gain)
    constant = "open" if compared.is_open else _outcome(compared.constant.difference)
    if compared.same:
        # Even if these rows picked the constant action: the same policy was learned from other rows.
        return _advice_on_constant(to_log, always, sure)
    if to_log == "better" and to_constant == "better":
        sentence = f"Use the learned policy: it is better than what was logged and than {always}{best} {sure}."
        return Advice("learned", sentence, is_better=True)
    if constant == "better" and to_constant == "better":  # and so better than what was logged
        return Advice(
            "learned",
            f"Use the learned policy: it is better than {always}, which is better than what was logged {sure}.",
        )
    if to_log == "better" and to_constant == "worse":
        return Advice(
            "constant", f"{take}: it is better than the learned policy, which is better than what was logged {sure}."
        )
    ahead = gain.value > gain.stderr
    if to_log == "better" and (constant != "better" or ahead):
        sentence = f"Use the learned policy: it is better than what was logged {sure}"
        return Advice("learned", f"{sentence}; {_against_constant(compared, always, ahead=ahead)}.")
    if constant == "better":
        why = "worse than that" if to_constant == "worse" else "not shown to be better than that"
        return Advice("constant", f"{take}: it is better than what was logged {sure}, and the learned policy is {why}.")
    if to_log == "worse":
        return Advice(
            "logged", f"Go on as before: the learned policy is worse than what was logged, do not use it {sure}."
        )
    sentence = f"Go on as before: neither the learned policy nor {always} is shown to be better than what was logged"
    return Advice("logged", f"{sentence} {sure}; {MORE_ROWS}.")


def which_to_use(compared: Sequence[tuple[str, Estimate, Interval | None]], baseline: str | None = None) -> str:
    """Say which of several policies to use, or to go on as before.

    A policy replaces the baseline, or else the first, only if it is shown to be better; and what was logged likewise.
    `compared` has what each policy is called, its value, and its gain on the baseline: None for the first if it is the
    baseline, which is otherwise called `baseline`.
    """
    if any(estimate.serious for _, estimate, _ in compared):
        return "No verdict while a serious warning stands: go on as before until it is resolved."
    sure = f"({100 * compared[0][1].level:g} % intervals{', each by itself' * (len(compared) > 2)})"
    reference = baseline or compared[0][0]
    ahead = [each for each in compared if each[2] is not None and _outcome(each[2]) == "better"]
    better = [each for each in ahead if _outcome(each[1].difference) == "better"]
    if better:
        name = max(better, key=lambda each: each[1].value)[0]
        return f"Use {name}: it is better than what was logged and than {reference} {sure}."
    if baseline is not None:
        if ahead:
            name = max(ahead, key=lambda each: each[1].value)[0]
            than_log = "whether it is better than what was logged is open"
            return f"Of these take {name}, which is better than {baseline}; {than_log} {sure}."
        return f"Keep to {baseline}: no other is shown to be better {sure}."
    if _outcome(compared[0][1].difference) == "better":
        others = "; no other is shown to be better than that" * (len(compared) > 1)
        return f"Use {reference}: it is better than what was logged {sure}{others}."
    none = "it is not" if len(compared) == 1 else "none of these is"
    return f"Go on as before: {none} shown to be better than what was logged {sure}; {MORE_ROWS}."


def _against_constant(compared: Comparison, always: str, *, ahead: bool) -> str:
    """Compare the learned policy with a constant action that is not shown to be better or worse."""
    best = "" if compared.among else ", the best constant,"
    if compared.picked_here:
        return f"whether it is better than {always} is open, as that was picked on the same rows"
    if compared.doubts:
        return f"whether it is better than {always}{best} is open, as that has a serious warning"
    lead = "it is ahead, but not significantly" if ahead else "the difference is not significant"
    return f"against {always}{best} {lead}"


def _advice_on_constant(to_log: str, always: str, sure: str) -> Advice:
    """Give advice where the learned policy is itself the best constant action."""
    if to_log == "better":
        return Advice(
            "constant", f"Use the learned policy, which is {always}: it is better than what was logged {sure}."
        )
    if to_log == "worse":
        return Advice("logged", f"Go on as before: the learned policy, {always}, is worse than what was logged {sure}.")
    sentence = f"Go on as before: the learned policy, {always}, is not shown to be better than what was logged"
    return Advice("logged", f"{sentence} {sure}; {MORE_ROWS}.")


def _outcome(difference: Interval | None) -> str:
    if difference is None or not (math.isfinite(difference.low) and math.isfinite(difference.high)):
        return "open"
    return "better" if difference.low > 0 else "worse" if difference.high < 0 else "open"


def basis(estimate: Estimate) -> str:
    """State the basis of an estimate: its rows, matched rows and effective rows, the method and the interval."""
    groups = "" if estimate.n_groups is None else f" of {estimate.n_groups:,} groups, taken to be independent"
    return (
        f"From {estimate.n_rows:,} rows{groups}, in {estimate.n_matched:,} of which the log did what the policy would "
        f"do; worth {estimate.effective_rows:,.0f} rows of equal weight ({estimate.method}, {estimate.interval} "
        f"{100 * estimate.level:g} % intervals)."
    )


def with_interval(interval: Interval, digits: int, *, sign: bool = False) -> str:
    """Write a value and its interval, as in 0.183 [0.176, 0.190] or 0.183 [no interval].

    With a sign it is a difference: an end near zero gets enough decimals to show on which side it is.
    """
    if sign:
        digits = decimals_of_difference(interval.low, interval.high, digits)
    value, low, high = (number(each, digits) for each in (interval.value, interval.low, interval.high))
    between = f"[{low}, {high}]" if math.isfinite(interval.low) and math.isfinite(interval.high) else "[no interval]"
    return f"{'+' * (sign and interval.value >= 0)}{value} {between}"


def number(value: float, digits: int) -> str:
    """Write a number with `digits` decimals; zero has no sign."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not any(digit in text for digit in "123456789naif") else text


def decimals(estimate: Interval) -> int:
    """Return how many decimals to show: two digits of the interval's half width.

    At least three below 10, and two, as of money, below 1,000.
    """
    half = (estimate.high - estimate.low) / 2
    if not (math.isfinite(half) and half > 0):
        return 3
    largest = max(abs(estimate.low), abs(estimate.high))
    least = 3 if largest < 10 else 2 if largest < 1000 else 0
    return max(least, min(8, 1 - math.floor(math.log10(half))))
