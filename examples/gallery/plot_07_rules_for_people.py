"""
A policy that a manager can read
================================

A marketing manager wants to see the rules before they are used. `PolicyTree` finds the best tree of at most two
questions. This example prints it, draws it, and shows what simplicity costs.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

from offsettree import LoggedData, PolicyTree, RewardBoosting, evaluate
from offsettree.datasets import make_campaign
from offsettree.evaluation import plot_values

campaign = make_campaign(12_000, random_state=2)
frame = pd.DataFrame(campaign.columns)
features = ["age", "days_since_visit", "basket", "newsletter", "device", "country"]
X = frame[features].astype({"newsletter": float, "device": "category", "country": "category"})
log = LoggedData(X, frame["mail"], reward=frame["visited"], propensity=frame["propensity"])
train, test = log.split(test_size=0.5, random_state=0)
rules = PolicyTree(random_state=0).fit(**train.arrays())
print(rules.rules())

# %%
# The same as a picture, for a slide
# ----------------------------------
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
axes.axis("off")
leaves = rules.root_.leaves()
for place, line in enumerate(rules.rules().splitlines()):
    depth = (len(line) - len(line.lstrip())) // 4
    is_action = line.strip().startswith("take")
    axes.text(
        0.08 * depth,
        1 - 0.13 * place,
        line.strip(),
        weight="bold" if is_action else "normal",
        color="tab:blue" if is_action else "0.2",
        family="monospace",
    )

# %%
# What does simplicity cost?
# --------------------------
# Reward boosting may look at everything, and nobody can read it. On rows that neither has seen:
boosting = RewardBoosting(random_state=0).fit(**train.arrays())
estimates = {
    "a mail for all": evaluate("free-shipping", **test.arrays()),
    "two questions": evaluate(rules, **test.arrays()),
    "reward boosting": evaluate(boosting, **test.arrays()),
}
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
plot_values(estimates, axes=axes)
difference = evaluate(boosting, **test.arrays(), baseline=rules).difference
print(f"boosting beside the rules: {difference.value:+.3f} [{difference.ends}]")

# %%
# If that interval contains zero, this log does not show that the unreadable policy is better. Then take the one that
# can be read.
