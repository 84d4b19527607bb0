"""Rewards predicted by boosted trees that all actions share, as a number for every action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.models.boosted_model import Boosted
from offsettree.models.part import Part

__all__ = ["BoostedRewardScores"]


@dataclass(frozen=True, eq=False)
class BoostedRewardScores:
    """The logistic function of boosted scores; or the scores times `unit`, kept within 0 and 1."""

    kind: ClassVar[str] = "boosted"
    model: Boosted
    logistic: bool
    unit: float

    def settings(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {"logistic": self.logistic, "unit": self.unit, **self.model.settings()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is written, by name."""
        return self.model.arrays()

    def parts(self) -> dict[str, Any]:
        """Return what is within: nothing."""
        return {}

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """Read and check what was written."""
        model = Boosted.read(part, n_actions, n_columns)
        return cls(model, part.truth("logistic"), part.number("unit", 0, 1))

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return a number for every row and action."""
        score = self.model.flat.scores(X)
        if self.logistic:
            return np.asarray(1 / (1 + np.exp(-np.clip(score, -500, 500))))
        return np.clip(score * self.unit, 0, 1)
