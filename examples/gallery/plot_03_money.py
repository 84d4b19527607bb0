"""
Rewards in money
================

A library scans old pages. Each block on a page is sent to one of five treatments: text, a horizontal line, a
graphic, a vertical line or a picture. The right treatment earns money, a wrong one costs 0.20, and a picture that
is handled right earns 40 times what a line of text does. The blocks are real: the dataset page-blocks, 5,473 rows,
of which 90 % are text.
"""

# %%
# Unequal rewards
# ---------------
# The log has what was earned by one treatment per block, drawn at random.
import matplotlib.pyplot as plt
import numpy as np

from offsettree import ConstantPolicy, OffsetTree, RewardBoosting, evaluate, simulate_log
from offsettree.datasets import load

data = load("page-blocks")
kinds = np.unique(data.y)
worth = dict(zip(kinds.tolist(), [0.05, 0.30, 1.00, 0.30, 2.00], strict=True))
right = data.y[:, np.newaxis] == kinds
money = np.where(right, np.array([worth[kind] for kind in kinds.tolist()]), -0.20)
log = simulate_log(data.X, money, random_state=0, actions=kinds)
train, test = log.split(test_size=0.5, random_state=0)
print(f"a random treatment earns {log.reward.mean():.3f} per block")
{str(kind): int((data.y == kind).sum()) for kind in kinds}

# %%
# Tell the range
# --------------
# Rewards that are not between 0 and 1 need `reward_range`. It must hold every reward that *may* come, not only those
# in the log. With such skewed rewards the offset of 1/2 is far from most of them; the mean is the better offset. The
# warning below says so.
span = (-0.20, 2.00)
policies = {
    "always one treatment": ConstantPolicy(reward_range=span),
    "offset tree, offset 1/2": OffsetTree(offset=0.5, reward_range=span, random_state=0),
    "offset tree, offset at the mean": OffsetTree(offset="mean", reward_range=span, random_state=0),
    "reward boosting": RewardBoosting(reward_range=span, random_state=0),
}
estimates, truth = {}, {}
rows = {tuple(row): place for place, row in enumerate(data.X)}
tested = np.array([rows[tuple(row)] for row in test.X])
for name, policy in policies.items():
    policy.fit(**train.arrays())
    estimates[name] = evaluate(policy, **test.arrays(), reward_range=span)
    chosen = np.searchsorted(kinds, policy.predict(test.X))
    truth[name] = money[tested, chosen].mean()

# %%
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
place = np.arange(len(estimates))
value = np.array([each.value for each in estimates.values()])
ends = np.array([[each.low, each.high] for each in estimates.values()])
axes.errorbar(value, place, xerr=np.abs(ends.T - value), fmt="o", capsize=4, label="estimate from the log")
axes.plot(list(truth.values()), place, "x", markersize=9, color="tab:red", label="truth, known here")
axes.axvline(0, color="0.7")
axes.set_yticks(place, list(estimates))
axes.margins(y=0.15)
axes.invert_yaxis()
axes.set_xlabel("earned per block")
axes.legend(frameon=False)

# %%
# The interval of a value in money is wide where a few large rewards make up most of it. More rows help; so does a log
# that tries the profitable treatments more often.
for name, each in estimates.items():
    print(f"{name:32s} {each.value:.3f} [{each.ends}], truth {truth[name]:.3f}")
