"""Compile the kernels that most tests call, into numba's cache, while something else uses the other core.

Two workers that start with an empty cache would both compile what the first tests need.

    python tools/compile_kernels.py [contests | scores]
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[1]))

from offsettree import load, save
from offsettree.exceptions import OffsetTreeError
from tests.suites.policies import POLICIES

# In two parts that have little in common, so that two processes can share the work.
NAMES = {
    "contests": ("offset tree", "offset forest", "offset tree, forests"),
    "scores": ("reward boosting", "policy tree", "online offset tree", "banditron"),
}


def main(parts: list[str]) -> None:
    """Fit the policies of the contract suite that compile most to a few rows, and let them decide."""
    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    X = random.standard_normal((240, 4))
    action = random.integers(0, 4, len(X))
    reward = (random.random(len(X)) < 0.2 + 0.6 * (action == (X[:, 0] > 0))).astype(float)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.where(X[:, 1] > 0, "x", "y")))
    mask = random.random((len(X), 4)) < 0.7
    mask[np.arange(len(X)), action] = True
    for policy in (POLICIES[name] for part in parts or NAMES for name in NAMES[part]):
        for table in (X, sp.csr_array(X), frame):
            try:
                learned = clone(policy).fit(table, action, reward=reward, propensity=np.full(len(X), 0.25))
                learned.predict(table)
                learned.predict(table, available=mask)
                with tempfile.TemporaryDirectory() as folder:
                    save(learned, Path(folder, "policy.ot"))
                    load(Path(folder, "policy.ot")).predict(table)
                learned.decide(X[0])
            except (OffsetTreeError, ValueError, TypeError):
                continue  # not every policy takes every table, or can be saved


if __name__ == "__main__":
    main(sys.argv[1:])
