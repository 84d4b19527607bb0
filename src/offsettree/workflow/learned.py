"""What came out of learning from a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from offsettree.base import BasePolicy
from offsettree.encoding import TableEncoder
from offsettree.evaluation import Estimate, PropensityEstimate
from offsettree.evaluation.estimate import Interval
from offsettree.logs import LoggedData
from offsettree.workflow.comparison import Comparison

__all__ = ["Learned"]


@dataclass(frozen=True, eq=False)
class Learned:
    """A policy learned from a log, what it is worth, and what was noticed.

    Parameters
    ----------
    policy : policy
        The one to use. Learned again from all rows, unless `refit` says otherwise: then it is `evaluated`. It takes
        the numbers that `encoder` makes of raw rows.
    encoder : TableEncoder or None
        Turns raw rows into numbers; None where the log held numbers already.
    evaluated : policy
        Learned from the training rows alone: what the estimate is of, and the decisions are by.
    train, test : LoggedData
        The rows learned from and those held out, encoded by the training rows alone.
    test_encoder : TableEncoder or None
        That encoded them.
    compared : Comparison
        The value of `evaluated` on the rows held out, beside what was logged and beside the best constant action, which
        was picked on the training rows.
    decisions : array of shape (len(test),)
        What `evaluated` does in the rows held out.
    held_out : array of shape (len(test), n_features)
        The rows held out as `policy` takes them.
    reward_range : (float, float)
        The range of rewards that was taken.
    propensity : PropensityEstimate or None
        Where propensities were estimated.
    seconds : float
        What learning took, the second time not counted.
    refit : bool
        Whether `policy` was learned again from all rows.
    teacher : policy or None
        The policy learned from the training rows, where `evaluated` and `policy` are trees distilled from such.
    loss : Interval or None
        What `evaluated` earns more than its teacher, on the rows held out: less, as a rule.
    notes : list of str
        How rows were held out, and what became of the columns that say so.
    warnings : list of str
        What was said on the way.
    """

    policy: BasePolicy
    encoder: TableEncoder | None
    evaluated: BasePolicy
    train: LoggedData
    test: LoggedData
    test_encoder: TableEncoder | None
    compared: Comparison
    decisions: NDArray[Any]
    held_out: Any
    reward_range: tuple[float, float]
    propensity: PropensityEstimate | None
    seconds: float
    refit: bool
    teacher: BasePolicy | None = None
    loss: Interval | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def estimate(self) -> Estimate:
        """The value of `evaluated` on the rows held out, and its difference to what was logged."""
        return self.compared.estimate
