"""Every two classes meet: all pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree.policy_file._contests import Contests
from offsettree.policy_file._models import Model
from offsettree.policy_file._reading import Part
from offsettree.policy_file._tournaments import contest_settings, read_contests

__all__ = ["Pairs"]


class Pairs(Model):
    """The action that wins most of its meetings; of equals the first. In contest c, ``pairs[c]`` meet."""

    kind = "pairs"

    def __init__(self, pairs: NDArray[np.int32], contests: Contests, n_actions: int) -> None:
        self.pairs = pairs
        self.contests = contests
        self.n_actions = n_actions

    def settings(self) -> dict[str, Any]:
        """See `Model`."""
        return {"count": len(self.pairs), "contests": contest_settings(self.contests)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See `Model`."""
        return {"pairs": self.pairs, **{f"contests.{name}": array for name, array in self.contests.arrays().items()}}

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        """See `Model`."""
        n_pairs = part.integer("count", 1, 1 << 31)
        pairs = part.positions("pairs", np.int32, n_actions, n_pairs, 2)
        return cls(pairs, read_contests(part.part("contests"), n_pairs, n_columns), n_actions)

    @property
    def takes_missing(self) -> bool:
        """See `Model`."""
        return self.contests.takes_missing

    def choose(self, X: Any) -> NDArray[np.intp]:
        """See `Model`."""
        return np.asarray(self._wins(X, None).argmax(axis=1))

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """See `Model`."""
        return np.asarray(np.where(mask, self._wins(X, mask), -1).argmax(axis=1))

    def _wins(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.int32]:
        wins = np.zeros((X.shape[0], self.n_actions), dtype=np.int32)
        for contest, (first, second) in enumerate(self.pairs.tolist()):
            first_wins = self.contests.prefers_left(contest, X)
            meet = True if mask is None else mask[:, first] & mask[:, second]
            wins[:, first] += first_wins & meet
            wins[:, second] += ~first_wins & meet
        return wins
