"""One classifier for all contests, seen from one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, append_indicator, count_rows

__all__ = ["SharedContest"]


@dataclass(frozen=True)
class SharedContest:
    """The view of one node on the classifier that all nodes share."""

    classifier: Any
    node: int
    n_nodes: int

    def predict(self, X: Features) -> NDArray[Any]:
        """Ask the shared classifier about the rows at this node."""
        index = np.full(count_rows(X), self.node)
        return np.asarray(self.classifier.predict(append_indicator(X, index, self.n_nodes, "node")))
