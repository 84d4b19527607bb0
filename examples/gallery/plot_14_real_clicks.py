"""
Real clicks of a fashion shop
=============================

A shop showed 80 items by two rules at the same time: by chance, and by Thompson sampling, a rule that learns. Ten
thousand real decisions of each are published (the Open Bandit Data). So an estimate can be compared with what happened.
"""

# %%
# Two logs
# --------
# The files are inside the package obp (``pip install --no-deps --ignore-requires-python obp``). They have the
# propensity of every decision.
from importlib.metadata import distribution

import matplotlib.pyplot as plt
import numpy as np

from offsettree import ConstantPolicy, LoggedData, evaluate

folder = distribution("obp").locate_file("obp/dataset/obd")
columns = {"action": "item_id", "reward": "click", "propensity": "propensity_score"}
features = [f"user_feature_{i}" for i in range(4)]
chance, learning = (
    LoggedData.read(f"{folder}/{rule}/all/all.csv", **columns, features=features) for rule in ("random", "bts")
)
learning

# %%
# Among 10,000 decisions there are 42 clicks. Thompson sampling is sure of some items and hardly ever shows others: its
# propensities go from 0.00005 to 0.95.
#
# What would chance have earned?
# ------------------------------
# A policy may be a table of probabilities: here 1/80 for every item. Its value is estimated from the *other* log, and
# then compared with the clicks that chance really got.
items = chance.actions
uniform = np.full((len(learning), len(items)), 1 / len(items))
estimates = {
    "chance, as it was": evaluate(uniform, **chance.arrays(), actions=items),
    "chance, estimated from\nthe log of Thompson sampling": evaluate(uniform, **learning.arrays(), actions=items),
    "Thompson sampling, as it was": evaluate(uniform, **learning.arrays(), actions=items).baseline,
}
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, each in enumerate(estimates.values()):
    axes.errorbar(each.value, place, xerr=[[each.value - each.low], [each.high - each.value]], fmt="o", capsize=4)
axes.set_yticks(range(len(estimates)), list(estimates))
axes.margins(y=0.3)
axes.invert_yaxis()
axes.set_xlabel("clicks per decision, with 95 % intervals")

# %%
# The estimate contains what happened. Its interval reaches far to the right, and must: of an item that was hardly ever
# shown, nobody knows whether it would have been clicked. The two lines that are "as it was" overlap: 10,000 decisions
# do not show that Thompson sampling is better than chance.
#
# The best item?
# --------------
# The item with the best estimate on one log, valued on the other:
best = ConstantPolicy().fit(**chance.arrays()).action_
estimate = evaluate(best, **learning.arrays(), actions=items)
print(f"always item {best}: {estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}]")
for warning in estimate.warnings:
    print("-", warning)

# %%
# That is not knowledge, and the warnings say why. With one click in 250 decisions and 80 items, ten thousand rows are
# few. What can be done: more rows, fewer items, or features of items, so that all share what is learned
# (:doc:`New articles every day </gallery/plot_09_items_with_features>`).
