"""The result of an evaluation: a value, its confidence interval, and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from offsettree._notebook import interval_bar, paragraph, table
from offsettree._plotting import OTHER, draw_intervals, new_axes

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

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the value and the baseline with their intervals (extra ``plots``).

        Parameters
        ----------
        axes : matplotlib axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib axes
            Save it by ``axes.figure.savefig(...)``. The title has the difference.
        """
        rows = self._named()
        axes = new_axes(axes, height=1.3 + 0.45 * len(rows))
        draw_intervals(axes, [(name, each.value, each.low, each.high) for name, each in rows], first_is_ours=True)
        if self.baseline is not None and self.difference is not None:
            axes.axvline(self.baseline.value, color=OTHER, linestyle="--")
            axes.set_title(f"difference {self.difference}")
        axes.set_xlabel(f"value ({self.method}), with {100 * self.level:g} % intervals")
        return axes

    def _named(self) -> list[tuple[str, Interval]]:
        return [("policy", self)] + ([] if self.baseline is None else [("baseline", self.baseline)])

    def _repr_html_(self) -> str:
        rows = self._named()
        ends = [end for _, each in rows for end in (each.low, each.high) if math.isfinite(end)]
        span = (min(ends), max(ends)) if ends else (0.0, 0.0)
        mark = None if self.baseline is None else self.baseline.value
        cells = [(name, f"{each.value:.4g}", each.ends) for name, each in rows]
        bars = [interval_bar(each.value, each.low, each.high, span, mark=mark) for _, each in rows]
        if self.difference is not None:
            cells.append(("difference", f"{self.difference.value:+.4g}", self.difference.ends))
            bars.append("")
        matched = (
            f"{self.n_matched:,} of {self.n_rows:,} rows matched, worth {self.effective_rows:,.0f} rows of equal "
            f"weight; largest weight {self.max_weight:.4g} ({self.method}, {self.interval})."
        )
        notes = [matched, *(f"Warning: {text}" for text in self.warnings)]
        head = ["", "value", f"{100 * self.level:g} % interval"]
        return table(head, cells, bars=bars) + "".join(map(paragraph, notes))
