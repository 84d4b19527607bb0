"""A forest whose trees are trained on Dask, through joblib: `n_jobs` counts the cluster's workers.

Run ``python examples/joblib_dask.py``: a cluster of two processes here; Client("tcp://host:8786") reaches another.
"""

from __future__ import annotations

from distributed import Client, LocalCluster
from joblib import parallel_config
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from offsettree import OffsetForest, simulate_log


def main() -> None:
    """Train here and there, and compare."""
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    forest = OffsetForest(LogisticRegression(max_iter=500), n_trees=6, n_jobs=2, random_state=0)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster), parallel_config(backend="dask"):
        there = forest.fit(**log.arrays()).predict(log.X)
    here = forest.set_params(n_jobs=1).fit(**log.arrays()).predict(log.X)
    print("the same decisions:", bool((here == there).all()))


if __name__ == "__main__":
    main()
