"""
The running service
===================

`offsettree serve` decides over HTTP, logs each decision with its probabilities, joins rewards and learns. Here the
same server runs in a thread of this page, and 500 visitors come by. Who they are is real: the 178 wines of
scikit-learn, one of three growers each.
"""

# %%
# A loop of three actions
# -----------------------
# Visitors taste a wine and want another one of the same grower. The service does not know who grows what: it chooses
# a grower, and sees whether the visitor buys.
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from offsettree.client import Client
from offsettree.service import BackgroundServer, LoopSettings, Settings

X, grower = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
names = ("north", "middle", "south")
loop = LoopSettings(actions=names, waiting_time="1s", exploration="squarecb")
random = np.random.default_rng(0)
bought, probability = [], []
with (
    tempfile.TemporaryDirectory() as folder,
    BackgroundServer(Settings({"wines": loop}), folder) as server,
    Client(server.address, "wines", timeout=10, fallback="north") as client,
):
    for _ in range(500):
        wine = random.integers(len(X))
        context = {f"measure {place}": float(value) for place, value in enumerate(X[wine])}
        decision = client.decide(context)
        reward = float(decision.action == names[grower[wine]])
        client.reward(decision, reward)
        bought.append(reward)
        probability.append(decision.probability)

# %%
# Is it learning?
# ---------------
# A reward is learned from once its waiting time is over. The probabilities show the exploration: they start at 1/3
# for each action, and grow for the action that looks best.
window = np.ones(50) / 50
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(np.convolve(bought, window, "valid"))
left.axhline(1 / 3, linestyle="--", color="0.5", label="at random")
left.set(xlabel="visitor", ylabel="share who bought, over 50 visitors", ylim=(0, 1))
left.legend(frameon=False)
right.plot(probability, ".", markersize=3)
right.set(xlabel="visitor", ylabel="probability of the choice", ylim=(0, 1))
print(f"first hundred visitors {np.mean(bought[:100]):.2f}, last hundred {np.mean(bought[-100:]):.2f}")
