"""The result of an evaluation: a value, its confidence interval, and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["DEFAULT_INTERVAL", "Estimate", "Interval"]

DEFAULT_INTERVAL = "mid_p"


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

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
        """Return the interval multiplied by a unit."""
        if unit == 1:
            return self
        return Interval(unit * self.value, unit * self.stderr, unit * self.low, unit * self.high)

    def moved(self, value: float) -> Interval:
        """Return the interval shifted to another value."""
        off = value - self.value
        return Interval(value, self.stderr, self.low + off, self.high + off)

    @property
    def ends(self) -> str:
        """The two ends as text."""
        return "no interval" if math.isnan(self.low) else f"{self.low:.4g} to {self.high:.4g}"

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.ends})"


@dataclass(frozen=True, repr=False)
class Estimate(Interval):
    """The estimated value of a policy: its mean reward per decision.

    Parameters
    ----------
    value : float
        The estimate.
    stderr : float
        Its standard error.
    low, high : float
        Ends of the interval.
    level : float
        The confidence level: how often such an interval covers the true value.
    method, interval : str
        How value and interval were computed.
    n_rows : int
        Rows of the log.
    n_matched : int
        Rows whose logged action the policy takes with positive probability. All others have weight 0.
    effective_rows : float
        Effective sample size: (sum of weights)^2 / sum of squared weights.
    max_weight : float
        The largest importance weight, probability under the policy / propensity.
    baseline : Interval or None
        The value of the policy compared with.
    difference : Interval or None
        The policy's value minus the baseline's, on the same rows. The more the two policies agree, the narrower its
        interval.
    warnings : tuple of str
        Reasons not to trust the estimate.
    serious : tuple of str
        Those of the warnings that forbid a definite verdict, "better" or "worse".
    n_groups : int or None
        The number of independent groups of rows; None if rows are taken as independent.

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
