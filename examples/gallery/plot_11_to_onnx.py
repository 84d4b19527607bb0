"""
Out to ONNX
===========

The decisions are to be taken elsewhere: in a phone, in C++, in a database. `export_onnx` writes a policy as a graph
that any ONNX runtime runs. This example compares the decisions of both, and their time.
"""

# %%
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits

from offsettree import OffsetForest, PolicyTree, RewardBoosting, export_onnx, load, save, simulate_log

X, digit = load_digits(return_X_y=True)
X = X.astype("float32")
log = simulate_log(X, digit, random_state=0)
policies = {
    "offset forest": OffsetForest(n_trees=20, random_state=0),
    "reward boosting": RewardBoosting(random_state=0),
    "policy tree": PolicyTree(random_state=0),
}


def seconds_per_row(decide, rows, repeats=3):
    """Return the shortest of a few runs over all rows, per row."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        decide(rows)
        taken.append(time.perf_counter() - start)
    return min(taken) / len(rows)


# %%
# Write both files, and decide by both
# ------------------------------------
times, sizes = {}, {}
with tempfile.TemporaryDirectory() as folder:
    for name, policy in policies.items():
        policy.fit(**log.arrays())
        path = Path(folder) / name.replace(" ", "-")
        save(policy, path.with_suffix(".ot"))
        export_onnx(policy, path.with_suffix(".onnx"))
        ours = load(path.with_suffix(".ot"))
        session = onnxruntime.InferenceSession(path.with_suffix(".onnx"), providers=["CPUExecutionProvider"])
        label = session.run(["label"], {"X": X})[0]
        same = np.mean(label == ours.predict(X))
        times[name] = (
            seconds_per_row(ours.predict, X),
            seconds_per_row(lambda rows, session=session: session.run(["label"], {"X": rows}), X),
        )
        sizes[name] = [path.with_suffix(suffix).stat().st_size / 1024 for suffix in (".ot", ".onnx")]
        print(f"{name}: {100 * same:.1f} % of the decisions are the same")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
place = np.arange(len(times))
for column, (name, move) in enumerate((("policy file", -0.2), ("ONNX", 0.2))):
    left.barh(place + move, [1e6 * pair[column] for pair in times.values()], height=0.38, label=name)
    right.barh(place + move, [pair[column] for pair in sizes.values()], height=0.38, label=name)
left.set(xlabel="microseconds per decision, in batches", xscale="log")
right.set(xlabel="kilobytes", xscale="log")
for axes in (left, right):
    axes.set_yticks(place, list(times))
    axes.invert_yaxis()
left.legend(frameon=False)
