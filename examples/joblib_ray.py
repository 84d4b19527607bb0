"""A forest whose trees are trained on Ray, through joblib: `n_jobs` counts the cluster's cores.

Run ``python examples/joblib_ray.py``: a cluster here; ray.init("ray://host:10001") reaches another.
"""

from __future__ import annotations

import ray
from joblib import parallel_config
from ray.util.joblib import register_ray
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from offsettree import OffsetForest, simulate_log


def main() -> None:
    """Train here and there, and compare."""
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    forest = OffsetForest(LogisticRegression(max_iter=500), n_trees=6, n_jobs=2, random_state=0)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    with parallel_config(backend="ray"):
        there = forest.fit(**log.arrays()).predict(log.X)
    ray.shutdown()
    here = forest.set_params(n_jobs=1).fit(**log.arrays()).predict(log.X)
    print("the same decisions:", bool((here == there).all()))


if __name__ == "__main__":
    main()
