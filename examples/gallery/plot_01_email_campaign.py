"""
Which mail for which customer?
==============================

A shop sends one of six mails to each customer and sees who visits. This example learns from its log which mail to
send to whom, tells what that is worth, and, because the campaign is simulated, checks the answer against the truth.
"""

# %%
# The log
# -------
# `make_campaign` is inside the package: mixed features with gaps, and a marketer's rule that was followed in 60 % of
# the rows. In the other rows a mail was drawn at random, so that every mail was tried on everybody.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from offsettree import LoggedData, RewardBoosting, evaluate
from offsettree.datasets import make_campaign
from offsettree.evaluation import plot_values

campaign = make_campaign(8000, random_state=4)
frame = pd.DataFrame(campaign.columns)
features = ["age", "country", "channel", "device", "tenure_months", "days_since_visit", "basket", "newsletter"]
for name in ("country", "channel", "device"):
    frame[name] = frame[name].astype("category")
frame["newsletter"] = frame["newsletter"].astype(float)
frame[[*features, "mail", "visited", "propensity"]].head()

# %%
log = LoggedData(frame[features], frame["mail"], reward=frame["visited"], propensity=frame["propensity"])
train, test = log.split(test_size=0.4, random_state=0)
log

# %%
# Learn, and look at the value
# ----------------------------
# The policy never sees the rows that it is valued on. Beside it: always the same mail, the simplest thing to do.
policy = RewardBoosting(random_state=0).fit(**train.arrays())
estimates = {"learned policy": evaluate(policy, **test.arrays())}
for mail in campaign.actions:
    estimates[f"always {mail}"] = evaluate(mail, **test.arrays(), actions=campaign.actions)
axes = plot_values(estimates)
axes.set_xlabel("visits per mail, with 95 % intervals")

# %%
# The dashed line is what was logged. The whole interval of the learned policy lies to the right of it: its gain is not
# luck. No single mail is shown to be better than what was done before.
#
# What changes for the customers
# ------------------------------
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
before = test.action
after = policy.predict(test.X)
place = np.arange(len(campaign.actions))
for offset, chosen, label in ((-0.2, before, "before"), (0.2, after, "after")):
    axes.barh(place + offset, [np.mean(chosen == mail) for mail in campaign.actions], height=0.38, label=label)
axes.set_yticks(place, campaign.actions)
axes.invert_yaxis()
axes.set_xlabel("share of customers")
axes.legend(frameon=False)

# %%
# Is it true?
# -----------
# Only a simulation can answer that. These are the true values, in visits per mail, on customers that the log does not
# have. The interval of the estimate holds that of the learned policy.
new = make_campaign(20_000, random_state=99)
contexts = pd.DataFrame(new.columns)[features]
for name in ("country", "channel", "device"):
    contexts[name] = contexts[name].astype("category")
contexts["newsletter"] = contexts["newsletter"].astype(float)
best = new.actions[new.expected.argmax(axis=1)]
print(f"as logged        {new.value(new.columns['mail']):.3f}")
print(f"learned policy   {new.value(policy.predict(contexts)):.3f}")
print(f"best possible    {new.value(best):.3f}")
print(f"the estimate was {estimates['learned policy'].value:.3f}, interval {estimates['learned policy'].ends}")
