"""
A log that is larger than memory
================================

The log is a folder of Parquet files, and is never in memory as a whole: it is written, learned from and decided on
in chunks. The contexts are real, 20,000 letters of the dataset letter, visited ten times.
"""

# %%
# Ten files
# ---------
import resource
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from offsettree import LoggedData, OffsetTree, OnlineRewardRegression, simulate_log
from offsettree.datasets import load

data = load("letter")
folder = Path(tempfile.mkdtemp())
for part in range(10):
    log = simulate_log(data.X.astype("float32"), data.y, random_state=part)
    columns = {f"x{place}": column for place, column in enumerate(log.X.T)}
    table = pa.table(columns | {"action": log.action, "reward": log.reward, "propensity": log.propensity})
    pq.write_table(table, folder / f"part-{part}.parquet")
scan = LoggedData.scan(folder, chunk_rows=20_000)
print(sum(len(chunk) for chunk in scan), "rows in", len(list(folder.iterdir())), "files")

# %%
# One pass, row by row
# --------------------
# An online learner takes chunk after chunk, and needs no more memory for the second than for the first. After each
# chunk it is asked for 4,000 of the letters. The log has these letters too, each time with the reward of one guess.
letters = np.unique(data.y)
policy = OnlineRewardRegression(actions=letters)
seen, accuracy, peak = [], [], []
for chunk in scan:
    X = np.asarray(chunk.X, dtype="float64")
    if seen:
        accuracy.append(float(np.mean(policy.predict(data.X[:4000]) == data.y[:4000])))
    policy.partial_fit(X, chunk.action, reward=chunk.reward, propensity=chunk.propensity)
    seen.append((seen[-1] if seen else 0) + len(chunk))
    peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
accuracy.append(float(np.mean(policy.predict(data.X[:4000]) == data.y[:4000])))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(np.array(seen) / 1000, accuracy, "o-")
left.set(xlabel="thousands of rows learned from", ylabel="share of right letters", ylim=(0, None))
right.plot(np.array(seen) / 1000, np.array(peak) - peak[0], "o-")
right.set(xlabel="thousands of rows learned from", ylabel="peak memory since the first chunk (MB)", ylim=(-5, 100))
plt.show()

# %%
# The exact offset tree, out of core
# ----------------------------------
# `fit_log` gives the policy of `fit` on all rows, while only a part of them is in memory.
tree = OffsetTree(offset="mean", random_state=0).fit_log(scan)
right = np.mean(tree.predict(data.X[:4000]) == data.y[:4000])
print(f"offset tree: {right:.3f} of the letters right, from one reward per row")
for file in folder.iterdir():
    file.unlink()
folder.rmdir()
