"""The result of learning from a log."""

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
    """A policy learned from a log, an estimate of its value, notes and warnings.

    Parameters
    ----------
    policy : policy
        The one to use: trained again on all rows if `refit`, else `evaluated`. It takes rows encoded by `encoder`.
    encoder : TableEncoder or None
        Turns raw rows into numbers; None if the log was numeric already.
    evaluated : policy
        Trained on the training rows only; `compared` and `decisions` are about this one.
    train, test : LoggedData
        Training rows and held-out rows, encoded by `test_encoder`.
    test_encoder : TableEncoder or None
        The encoder learned from the training rows only.
    compared : Comparison
        The value of `evaluated` on the held-out rows, beside the logged decisions and the best constant action, which
        was picked on the training rows.
    decisions : array of shape (len(test),)
        Decisions of `evaluated` in the held-out rows.
    held_out : array of shape (len(test), n_features)
        The held-out rows encoded for `policy`.
    reward_range : (float, float)
        The reward range used for learning.
    known_range : (float, float) or None
        The range that intervals may rely on: None if none was stated and all rewards are equal.
    propensity : PropensityEstimate or None
        The estimated propensities, if they were estimated.
    seconds : float
        Training time, without the second training.
    refit : bool
        Whether `policy` was trained again on all rows.
    teacher : policy or None
        If `evaluated` is a distilled tree, the policy it was distilled from.
    loss : Interval or None
        Value of `evaluated` minus that of its teacher on the held-out rows; usually negative.
    notes : list of str
        How rows were held out, and whether a column was dropped for it.
    warnings : list of str
        Warnings raised while learning.
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
    known_range: tuple[float, float] | None
    propensity: PropensityEstimate | None
    seconds: float
    refit: bool
    teacher: BasePolicy | None = None
    loss: Interval | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def estimate(self) -> Estimate:
        """The value of `evaluated` on the held-out rows, and its difference from the logged decisions'."""
        return self.compared.estimate
