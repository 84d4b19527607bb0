"""
One click in a hundred
======================

Clicks are rare: most rows say only that nothing happened. This example shows what that does to learning and to
intervals. The contexts are real, 10,992 handwritten digits of the dataset pendigits; the right digit is clicked on
in 5 % of the cases, a wrong one in 0.5 %.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from offsettree import OffsetTree, RewardBoosting, RewardRegression, evaluate, simulate_log
from offsettree.datasets import load

data = load("pendigits")
digits = np.unique(data.y)
chance = np.where(data.y[:, np.newaxis] == digits, 0.05, 0.005)
random = np.random.default_rng(0)
clicks = (random.random(chance.shape) < chance).astype(float)
log = simulate_log(data.X, clicks, random_state=0, actions=digits)
print(f"{len(log):,} rows, {int(log.reward.sum())} clicks")

# %%
# The offset decides what is heard
# --------------------------------
# With the offset 1/2 a row without a click votes against its action with weight 1/2, and 99 % of the rows have none.
# With the offset at the mean a click weighs as much as the hundred rows around it.
half = np.arange(len(log)) % 2 == 0
train, test = log[half], log[~half]
policies = {
    "offset tree, offset 1/2": OffsetTree(offset=0.5, random_state=0),
    "offset tree, offset at the mean": OffsetTree(offset="mean", random_state=0),
    "one regression per action": RewardRegression(random_state=0),
    "reward boosting": RewardBoosting(random_state=0),
}
truth, estimates = {}, {}
for name, policy in policies.items():
    policy.fit(**train.arrays())
    chosen = np.searchsorted(digits, policy.predict(test.X))
    truth[name] = chance[~half][np.arange(len(test)), chosen].mean()
    estimates[name] = evaluate(policy, **test.arrays())

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
place = np.arange(len(policies))
value = np.array([each.value for each in estimates.values()])
ends = np.array([[each.low, each.high] for each in estimates.values()])
axes.errorbar(value, place, xerr=np.abs(ends.T - value), fmt="o", capsize=4, label="estimate, 95 % interval")
axes.plot([truth[name] for name in policies], place, "x", color="tab:red", markersize=9, label="truth, known here")
axes.axvline(chance.mean(), linestyle="--", color="0.5", label="as logged")
axes.set_yticks(place, list(policies))
axes.margins(y=0.15)
axes.invert_yaxis()
axes.set_xlabel("clicks per decision")
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

# %%
# The offset at the mean beats 1/2, and the true value of the regressions is the highest. Yet every interval holds the
# dashed line: fifty clicks to learn from, and fifty to judge by, do not show that any of these is better than chance.
# The honest verdict is to go on as before, and to collect more rows. Reward boosting comes to the same: it finds no
# evidence that the context matters, and stays at a constant.

# %%
# Intervals for few clicks
# ------------------------
# The usual normal interval, value plus and minus two standard errors, assumes many clicks. With few it is too short
# on the side that matters. The default here (`mid_p`) is made for that; its ends stay within what a reward can be.
small = test[:600]
policy = policies["reward boosting"]
for kind in ("normal", "mid_p"):
    each = evaluate(policy, **small.arrays(), interval=kind, baseline=None)
    print(f"{kind:8s} {each.value:.4f}, from {each.low:.4f} to {each.high:.4f}; {each.n_matched} rows matched")
