"""
Which learner?
==============

No learner is the best on every log. `PolicySearch` lets several compete on held-out rows of yours, keeps the best,
and tells what it is worth after the choice. The data are real: 846 silhouettes of vehicles, four kinds.
"""

# %%
import textwrap

import matplotlib.pyplot as plt

from offsettree import (
    ConstantPolicy,
    OffsetForest,
    OffsetTree,
    PolicySearch,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
    simulate_log,
)
from offsettree.datasets import load

data = load("vehicle")
log = simulate_log(data.X, data.y, random_state=0)
candidates = [
    ("best constant", ConstantPolicy()),
    ("two-level rules", PolicyTree()),
    ("reward boosting", RewardBoosting()),
    ("one regression per action", RewardRegression()),
    ("offset forest", OffsetForest(n_trees=20)),
    ("offset tree", OffsetTree(offset="mean")),
]
search = PolicySearch(candidates, cv=3, nested=False, random_state=0).fit(**log.arrays())
print(search.results_)

# %%
# Values side by side
# -------------------
search.plot()
plt.show()

# %%
# The chosen one is drawn dark. Candidates that were dropped early were compared on fewer rows, so their intervals are
# wider: the forest's higher value is not clearly higher. Reward boosting is left only for a candidate that is; the
# rule is printed below.

# %%
# The value after the choice
# --------------------------
# The largest of several estimates is too high, as luck helps to be the largest. `PolicySearch` corrects for that by
# nested cross-validation. That takes far longer than the choice itself, so it is left out here (``nested=False``): the
# choice is the same, but `estimate_` is somewhat too high, as its warning says.
print(textwrap.fill(search.rule_, 90))
search.estimate_
