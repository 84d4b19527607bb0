"""Permutation importance of a policy's features: the share of decisions that change when one is shuffled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.facts import FeatureFacts

__all__ = ["feature_importance"]

MOST_ROWS = 2_000


def feature_importance(
    policy: Any, X: Any, names: list[str], origin: NDArray[np.intp] | None = None, random_state: int | None = None
) -> list[FeatureFacts]:
    """Shuffle each feature among at most 2,000 rows, and count how many decisions change; the largest first.

    `origin` is the feature that each encoded column was made from; columns of one feature are shuffled together. By
    default each feature has one column.
    """
    random = np.random.default_rng(random_state)
    rows = np.sort(random.permutation(X.shape[0])[:MOST_ROWS])
    table = X[rows]
    table = table.toarray() if hasattr(table, "toarray") else np.array(table)
    origin = np.arange(len(names)) if origin is None else origin
    before = np.asarray(policy.predict(table))
    changes = np.zeros(len(names))
    for place in range(len(names)):
        columns = np.flatnonzero(origin == place)
        if len(columns) == 0 or (table[:, columns] == table[0, columns]).all():
            continue
        shuffled = table.copy()
        shuffled[:, columns] = table[np.ix_(random.permutation(len(table)), columns)]
        changes[place] = float(np.mean(np.asarray(policy.predict(shuffled)) != before))
    total = changes.sum() or 1.0
    return [
        FeatureFacts(feature=names[place], importance=float(changes[place] / total), changes=float(changes[place]))
        for place in np.argsort(-changes, kind="stable")
    ]
