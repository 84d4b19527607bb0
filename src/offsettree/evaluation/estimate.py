"""The answer of an evaluation: a value, how sure it is, and what speaks against trusting it."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["DEFAULT_INTERVAL", "Estimate", "Interval"]

DEFAULT_INTERVAL = "mid_p"


@dataclass(frozen=True)
class Interval:
    """A number estimated, with an interval around it.

    Parameters
    ----------
    value : float
        The estimate.
    stderr : float
        Its standard error: by the method's own formula, or by resampling for ``interval="bootstrap"``.
    low, high : float
        Ends of the interval; NaN where there is none, because all rewards are equal and their range is not known.
    """

    value: float
    stderr: float
    low: float
    high: float

    def times(self, unit: float) -> Interval:
        """Return the interval of the number in another unit."""
        if unit == 1:
            return self
        return Interval(unit * self.value, unit * self.stderr, unit * self.low, unit * self.high)

    def moved(self, value: float) -> Interval:
        """Return the interval of the same width around another number."""
        off = value - self.value
        return Interval(value, self.stderr, self.low + off, self.high + off)

    @property
    def ends(self) -> str:
        """The two ends in words."""
        return "no interval" if math.isnan(self.low) else f"{self.low:.4g} to {self.high:.4g}"

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.ends})"


@dataclass(frozen=True, repr=False)
class Estimate(Interval):
    """What a policy is estimated to be worth: its mean reward per decision, in the units of the reward.

    Parameters
    ----------
    value : float
        The estimate.
    stderr : float
        Its standard error.
    low, high : float
        Ends of the interval.
    level : float
        The probability with which such an interval holds the true value.
    method, interval : str
        How value and interval were made.
    n_rows : int
        Rows of the log.
    n_matched : int
        Rows whose logged action the policy takes as well, with any probability: all others have no weight.
    effective_rows : float
        As many rows of equal weight would tell as much: (sum of weights)^2 / sum of squared weights.
    max_weight : float
        The largest weight, probability under the policy / propensity, among the rows.
    baseline : Interval or None
        The value of what the policy is compared with.
    difference : Interval or None
        The policy's value minus the baseline's, from the same rows: its interval is narrower than the two apart where
        the two agree.
    warnings : tuple of str
        What speaks against trusting the estimate, in plain words.
    serious : tuple of str
        Those of the warnings while which no definite verdict stands, neither "better" nor "worse".
    n_groups : int or None
        Groups of rows that the interval takes to be independent of each other; None where it takes rows to be.

    Examples
    --------
    >>> from offsettree import evaluate
    >>> evaluate(["mail"] * 4, [[0.0]] * 4, ["mail", "call"] * 2, reward=[1, 0, 0, 0], propensity=0.5).value
    0.5
    """

    level: float
    method: str
    interval: str
    n_rows: int
    n_matched: int
    effective_rows: float
    max_weight: float
    baseline: Interval | None = None
    difference: Interval | None = None
    warnings: tuple[str, ...] = ()
    serious: tuple[str, ...] = ()
    n_groups: int | None = None

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        ends = self.ends if math.isnan(self.low) else f"{100 * self.level:g} % interval {self.ends}"
        lines = [f"{self.value:.4g}, {ends} ({self.method}, {self.interval})"]
        if self.baseline is not None and self.difference is not None:
            lines.append(f"baseline {self.baseline}, difference {self.difference}")
        lines.append(
            f"{self.n_matched:,} of {self.n_rows:,} rows matched, worth {self.effective_rows:,.0f} rows of equal "
            f"weight; largest weight {self.max_weight:.4g}"
        )
        lines += [f"warning: {text}" for text in self.warnings]
        return "<Estimate: " + "\n  ".join(lines) + ">"
