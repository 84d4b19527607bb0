"""What came out, in sentences that a manager can read: what is earned, and which policy to use."""

from __future__ import annotations

import math
from dataclasses import dataclass

from offsettree.evaluation import Estimate
from offsettree.evaluation.estimate import Interval
from offsettree.workflow.comparison import Comparison

__all__ = ["Advice", "advice", "basis", "conclusion", "decimals", "number", "verdict", "with_interval"]

MORE_ROWS = "more rows, or more exploration in the log, would tell"


@dataclass(frozen=True)
class Advice:
    """Which policy to use.

    Parameters
    ----------
    use : {"learned", "constant", "logged", "open"}
        The learned policy, the constant action, what was done so far; or no verdict, while a serious warning stands.
    sentence : str
        The same with its reasons.
    is_better : bool
        Whether the learned policy was shown to be better than what was logged and than the constant action: what
        ``--require better`` demands.
    """

    use: str
    sentence: str
    is_better: bool = False


def verdict(estimate: Estimate, compared: Comparison | None = None, *, baseline: str = "the logged one") -> str:
    """Say what the policy is worth, what the logged one was, and the difference, each with its interval.

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
            return f"{text}. It always takes {compared.action!r}, the best constant action."
        text += f". Always {compared.action!r}, the best constant action, earns {constant}; gain on it {gain}"
    return text + "."


def conclusion(estimate: Estimate, compared: Comparison | None = None, *, baseline: str = "the logged one") -> str:
    """Say what follows from it, and what does not; with a comparison, which policy to use."""
    if compared is not None:
        return advice(compared).sentence
    if estimate.difference is None:
        return ""
    if estimate.serious:
        return "No verdict stands while a serious warning does: settle it first."
    sure = f"as far as {100 * estimate.level:g} % intervals can tell"
    outcome = _outcome(estimate.difference)
    if outcome == "better":
        return f"The learned policy is better than {baseline}, {sure}."
    if outcome == "worse":
        return f"The learned policy is worse than {baseline}, {sure}: do not use it."
    return (
        f"Whether the learned policy is better than {baseline} cannot be told from these rows: the interval of the "
        f"gain holds zero. {MORE_ROWS[0].upper()}{MORE_ROWS[1:]}."
    )


def advice(compared: Comparison) -> Advice:
    """Say which policy to use: the learned one, the best constant action, or what was done so far.

    What is "better" or "worse" has an interval of the difference that lies wholly on one side of zero. Nothing is
    recommended in place of what was logged unless it is better than that. Where the learned policy and the constant
    action cannot be told apart, the constant one is recommended, as it is simpler, unless the learned one is ahead of
    it by more than a standard error of the difference.
    """
    estimate, gain = compared.estimate, compared.gain
    always, take = f"always {compared.action!r}", f"Always take {compared.action!r}"
    sure = f"({100 * estimate.level:g} % intervals)"
    if estimate.serious:
        return Advice("open", "No verdict stands while a serious warning does: go on as before until it is settled.")
    to_log = _outcome(estimate.difference)
    to_constant = "open" if compared.is_open else _outcome(gain)
    constant = "open" if compared.is_open else _outcome(compared.constant.difference)
    if compared.same:
        # Picked by these rows or not, it is what was learned from others.
        return _of_a_constant(to_log, always, sure)
    if to_log == "better" and to_constant == "better":
        sentence = (
            f"Use the learned policy: it is better than what was logged and than {always}, the best constant {sure}."
        )
        return Advice("learned", sentence, is_better=True)
    if constant == "better" and to_constant == "better":  # and so better than what was logged
        return Advice(
            "learned", f"Use the learned policy: it is better than {always}, and that than what was logged {sure}."
        )
    if to_log == "better" and to_constant == "worse":
        return Advice(
            "constant", f"{take}: it is better than the learned policy, and that than what was logged {sure}."
        )
    ahead = gain.value > gain.stderr
    if to_log == "better" and (constant != "better" or ahead):
        sentence = f"Use the learned policy: it is better than what was logged {sure}"
        return Advice("learned", f"{sentence}; {_beside_the_constant(compared, always, ahead=ahead)}.")
    if constant == "better":
        why = "worse" if to_constant == "worse" else "not shown to be better than that"
        return Advice("constant", f"{take}: it is better than what was logged {sure}, and the learned policy is {why}.")
    if to_log == "worse":
        sentence = "Go on as before: the learned policy is worse than what was logged: do not use it"
        return Advice("logged", f"{sentence} {sure}.")
    sentence = f"Go on as before: neither the learned policy nor {always} is shown to be better than what was logged"
    return Advice("logged", f"{sentence} {sure}; {MORE_ROWS}.")


def _beside_the_constant(compared: Comparison, always: str, *, ahead: bool) -> str:
    """Say how the learned policy stands to a constant action that is neither better nor worse for sure."""
    if compared.picked_here:
        return f"whether it is better than {always} is open, as that was picked by these very rows"
    if compared.doubts:
        return f"whether it is better than {always}, the best constant, is open, as a serious warning stands against it"
    rest = "ahead of it, if not surely" if ahead else "not told apart from it"
    return f"of {always}, the best constant, it is {rest}"


def _of_a_constant(to_log: str, always: str, sure: str) -> Advice:
    """Say what follows where the learned policy is itself the best constant action."""
    if to_log == "better":
        return Advice(
            "constant", f"Use the learned policy, which is {always}: it is better than what was logged {sure}."
        )
    if to_log == "worse":
        return Advice(
            "logged", f"Go on as before: {always}, which is what was learned, is worse than what was logged {sure}."
        )
    sentence = f"Go on as before: {always}, which is what was learned, is not shown to be better than what was logged"
    return Advice("logged", f"{sentence} {sure}; {MORE_ROWS}.")


def _outcome(difference: Interval | None) -> str:
    if difference is None or not (math.isfinite(difference.low) and math.isfinite(difference.high)):
        return "open"
    return "better" if difference.low > 0 else "worse" if difference.high < 0 else "open"


def basis(estimate: Estimate) -> str:
    """Say what an estimate rests on: its rows, those that count, and how they were made a value of."""
    groups = "" if estimate.n_groups is None else f" of {estimate.n_groups:,} groups, taken to be independent"
    return (
        f"From {estimate.n_rows:,} rows{groups}, in {estimate.n_matched:,} of which the log did what the policy would "
        f"do; worth {estimate.effective_rows:,.0f} rows of equal weight ({estimate.method}, {estimate.interval} "
        f"{100 * estimate.level:g} % intervals)."
    )


def with_interval(interval: Interval, digits: int, *, sign: bool = False) -> str:
    """Write a number and its interval: 0.183 [0.176, 0.190]; without its interval where there is none."""
    value, low, high = (number(each, digits) for each in (interval.value, interval.low, interval.high))
    between = f"[{low}, {high}]" if math.isfinite(interval.low) and math.isfinite(interval.high) else "[no interval]"
    return f"{'+' * (sign and interval.value >= 0)}{value} {between}"


def number(value: float, digits: int) -> str:
    """Write a number with so many decimals; zero has no sign."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not any(digit in text for digit in "123456789naif") else text


def decimals(estimate: Interval) -> int:
    """Return how many decimals tell as much as the interval allows: two digits of its half width, three at least."""
    half = (estimate.high - estimate.low) / 2
    if not (math.isfinite(half) and half > 0):
        return 3
    most = 3 if max(abs(estimate.low), abs(estimate.high)) < 10 else 0
    return max(most, min(8, 1 - math.floor(math.log10(half))))
