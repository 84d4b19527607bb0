"""
New articles every day
======================

A home page chooses among ten articles, and tomorrow's are not today's. A policy over labels would know nothing of
them. Here actions have features, and a policy decides among articles that it has never seen.
"""

# %%
# A catalogue that changes
# ------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from offsettree import ActionRegression, OnlineActionRegression, evaluate, simulate_catalogue

catalogue = simulate_catalogue(8000, n_items=100, n_eligible=10, random_state=0)
train, test = catalogue.split_days(8)
known, now = set(train.sets.ids.tolist()), set(test.sets.ids.tolist())
print(f"{len(known)} articles in training, {len(now)} later, {len(now - known)} of them new")
train.log

# %%
# Learn from features
# -------------------
# `ActionRegression` predicts the reward of any article from the features of the reader, of the article, and their
# products.
policies = {
    "ridge on products of features": ActionRegression(RidgeCV()),
    "the same, without effects of ids": ActionRegression(RidgeCV(), id_effects=False),
    "online, one pass": OnlineActionRegression(),
}
estimates, truth = {}, {}
for name, policy in policies.items():
    policy.fit(**train.log.arrays())
    estimates[name] = evaluate(policy, **test.log.arrays())
    truth[name] = test.value(policy.predict(test.log.X, test.log.action_sets))

# %%
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
place = np.arange(len(policies))
value = np.array([each.value for each in estimates.values()])
ends = np.array([[each.low, each.high] for each in estimates.values()])
axes.errorbar(value, place, xerr=np.abs(ends.T - value), fmt="o", capsize=4, label="estimate, 95 % interval")
axes.plot([truth[name] for name in policies], place, "x", color="tab:red", markersize=9, label="truth, known here")
axes.axvline(test.uniform_value, linestyle="--", color="0.5", label="at random")
axes.axvline(test.best_value, linestyle=":", color="0.5", label="best possible")
axes.set_yticks(place, list(policies))
axes.margins(y=0.15)
axes.invert_yaxis()
axes.set_xlabel("reward per decision, in days after training")
axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2)
