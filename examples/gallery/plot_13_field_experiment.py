"""
A field experiment, decided anew
================================

People were tested for HIV, and drew a random sum of money that they would get if they fetched their result. The log of
that experiment is real: 2,829 people in Malawi (Thornton, 2008). What should be offered, to whom, if money is short?
"""

# %%
# The log
# -------
# The file is inside the package causaldata (``pip install --no-deps causaldata``). The action is the sum that was
# offered, in four groups of dollars. The reward is in dollars too: 4 for a result that is fetched, less what was paid.
from importlib.metadata import distribution

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from offsettree import LoggedData, PolicyTree, RewardBoosting, estimate_propensity, evaluate
from offsettree.evaluation import plot_values

file = distribution("causaldata").locate_file("causaldata/thornton_hiv/thornton_hiv.dta")
trial = pd.read_stata(file).dropna(subset=["got", "tinc", "distvct", "age"])
dollars = trial["tinc"].to_numpy()
offer = np.select([dollars == 0, dollars <= 1, dollars <= 2], ["nothing", "up to 1", "1 to 2"], "over 2")
reward = trial["got"].to_numpy() * (4 - dollars)
trial.groupby(offer)["got"].agg(["size", "mean"])

# %%
# Up to one dollar doubles the share of people who come. The second dollar adds 14 in a hundred, the third none.
#
# Propensities that were not recorded
# -----------------------------------
# People drew from a bag, but the file does not say what was in it. Bags may have differed from village to village, so
# the probabilities are estimated from the village and its distance. The two log losses tell how much these matter:
# little, as they should where chance decides.
places = trial[["villnum", "distvct"]]
found = estimate_propensity(places, offer, random_state=0)
found

# %%
# Two questions at most
# ---------------------
# ``tinc`` must not be a feature: it *is* the action. Nor may anything be that was known only later.
X = trial[["distvct", "age", "hiv2004"]].rename(columns={"distvct": "distance_km", "hiv2004": "positive"})
log = LoggedData(X, offer, reward=reward, propensity=found.propensity)
train, test = log.split(test_size=0.5, random_state=0)
known = {"reward_range": (float(reward.min()), float(reward.max())), "random_state": 0}
rules = PolicyTree(**known).fit(**train.arrays())
print(rules.rules())

# %%
# Is it worth it?
# ---------------
boosting = RewardBoosting(**known).fit(**train.arrays())
estimates = {f"always {each}": evaluate(each, **test.arrays(), actions=log.actions) for each in log.actions}
estimates |= {"the rules": evaluate(rules, **test.arrays()), "reward boosting": evaluate(boosting, **test.arrays())}
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
plot_values(estimates, axes=axes)
axes.set_xlabel("dollars per person, with 95 % intervals")
gain = evaluate(rules, **test.arrays(), baseline="up to 1").difference
print(f"the rules beside always 'up to 1': {gain.value:+.2f} [{gain.ends}]")

# %%
# Offering up to one dollar is far better than what was done (the dashed line). That the far villages should get more
# is not shown: the interval below the plot contains zero. So take the simple answer, *up to 1 dollar for everybody*,
# and if the far villages matter to you, offer both sums there, at random, and look again.
