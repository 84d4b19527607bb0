"""
A log without propensities
==========================

Nobody wrote down how likely each choice was. Can such a log be used? Sometimes. This example estimates the
propensities, checks them, and shows the case in which no check helps.
"""

# %%
# Forget them
# -----------
# The campaign has exact propensities. They are put aside, to compare with later.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from offsettree import LoggedData, estimate_propensity, evaluate
from offsettree.datasets import make_campaign
from offsettree.evaluation import plot_calibration

campaign = make_campaign(10_000, random_state=1)
frame = pd.DataFrame(campaign.columns)
X = frame[["age", "tenure_months", "days_since_visit", "basket", "newsletter"]].astype(float)
mail, visited, exact = frame["mail"].to_numpy(), frame["visited"].to_numpy(), frame["propensity"].to_numpy()

# %%
# Estimate, and look at the calibration
# -------------------------------------
# Any classifier that predicts the logged action will do. Where it says 0.1, the action should have been taken in a
# tenth of the rows.
classifier = HistGradientBoostingClassifier(max_iter=40, random_state=0)
found = estimate_propensity(X, mail, classifier, random_state=0)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
plot_calibration(found, axes=left)
right.plot(exact, found.propensity, ".", markersize=2, alpha=0.4)
right.plot([0, 0.7], [0, 0.7], color="0.6", linestyle="--")
right.set(xlabel="exact propensity", ylabel="estimated propensity")
found

# %%
# What an estimate of value makes of it
# -------------------------------------
# Always send "bundle": what is that worth? The truth is known here.
truth = campaign.value(np.full(len(mail), "bundle"))
blind = X[["age", "tenure_months"]]  # the marketer's rule looked at other columns
cases = {
    "exact propensities": exact,
    "estimated from all columns": found.propensity,
    "estimated without the columns\nthat the rule looked at": estimate_propensity(
        blind, mail, classifier, random_state=0
    ).propensity,
    "1/6 for all": np.full(len(mail), 1 / 6),
}
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for place, propensity in enumerate(cases.values()):
    log = LoggedData(X, mail, reward=visited, propensity=propensity)
    each = evaluate("bundle", **log.arrays())
    axes.errorbar(each.value, place, xerr=[[each.value - each.low], [each.high - each.value]], fmt="o", capsize=4)
axes.axvline(truth, color="tab:red", label="truth")
axes.set_yticks(range(len(cases)), list(cases))
axes.invert_yaxis()
axes.set_xlabel('visits per mail of always "bundle"')
axes.legend(frameon=False)

# %%
# Readers of the newsletter got the bundle more often, and they visit more whatever they get. Without the column
# `newsletter` the estimate takes their visits for the bundle's merit. Its interval is narrow and wrong: an interval
# knows of noise, not of columns that are missing. So: record propensities, or be sure that the log has all that the
# choice was made by.
