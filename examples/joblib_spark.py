"""A forest whose trees are trained on Spark, through joblib (`pip install joblibspark`; Spark needs Java).

Run ``python examples/joblib_spark.py``: Spark here; SparkSession.builder.master("spark://host:7077") reaches another.
"""

from __future__ import annotations

from joblib import parallel_config
from joblibspark import register_spark
from pyspark.sql import SparkSession
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from offsettree import OffsetForest, simulate_log


def main() -> None:
    """Train here and there, and compare."""
    X, y = load_iris(return_X_y=True)
    log = simulate_log(X, y, random_state=0)
    forest = OffsetForest(LogisticRegression(max_iter=500), n_trees=6, n_jobs=2, random_state=0)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    register_spark()
    with parallel_config(backend="spark"):
        there = forest.fit(**log.arrays()).predict(log.X)
    spark.stop()
    here = forest.set_params(n_jobs=1).fit(**log.arrays()).predict(log.X)
    print("the same decisions:", bool((here == there).all()))


if __name__ == "__main__":
    main()
