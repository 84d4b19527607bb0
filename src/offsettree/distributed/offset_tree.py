"""Offset tree on an engine: files are sorted by action, subtrees are tasks, joins climb to the root."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

from offsettree.distributed._contests import train_contests
from offsettree.distributed._fit import Job
from offsettree.distributed._policy import Distributed
from offsettree.distributed._statistics import SpreadStatistics
from offsettree.reductions import OffsetTree
from offsettree.reductions.parts import check_out_of_core, plan_tree

__all__ = ["DistributedOffsetTree"]


class DistributedOffsetTree(Distributed, OffsetTree):
    """`OffsetTree`, fitted on Dask, Ray or processes of this machine: the same policy, to the bit.

    Every file is checked and sorted by action into the store, a task each. Subtrees are trained as tasks, depth first,
    each from the rows of its actions; then contests above them, from the rows that climbed, up to the root. Tasks
    pass rows through the store only. A task whose worker dies is run again, and a fit that failed goes on, when it is
    run again, from what the store has.

    Parameters
    ----------
    estimator, tree, reward_range, actions, random_state
        As in `OffsetTree`.
    offset : float, "mean" or "median", default=0.5
        As in `OffsetTree`; none that depends on x.
    node_models : {"separate"}, default="separate"
        As in `OffsetTree`; "shared" is refused.
    path_filter : {"in_sample"}, default="in_sample"
        As in `OffsetTree`; others are refused.
    reward_model : None
        As in `OffsetTree`; models are refused.
    n_jobs : int, optional
        How many processes the engine "local" has; by default one per core.
    client : optional
        The engine: None or "local" (processes), "local://4", "dask://host:8786", "ray://host:10001", "ray://local"; a
        `distributed.Client`, or the module `ray` after `ray.init()`.
    storage : str or path, optional
        A folder that all workers see, or an address of fsspec such as ``s3://bucket/folder``, with room for the rows.
        What a fit writes there is removed when it succeeds. By default a temporary folder, with "local" only. Whoever
        can write there can run code in the workers.

    Attributes
    ----------
    client_ : object
        The engine's client.
    n_tasks_ : dict
        How many tasks were run, found done in the store, and lost with a worker.
    task_seconds_ : dict
        The processor seconds that workers spent in tasks, by kind.
    actions_, tree_, estimators_, node_rows_, offset_
        As in `OffsetTree`.

    Notes
    -----
    The policy is that of `OffsetTree.fit_log` on the files in the order of their names, whatever the engine, the
    number of workers and what died on the way. Near the root contests follow one another: with a balanced tree over k
    actions of equal shares at most (k - 1) / log2 k workers have work on average. See docs/scaling.md.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import simulate_log
    >>> from offsettree.distributed import DistributedOffsetTree
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> columns = {"action": log.action, "reward": log.reward, "propensity": log.propensity}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame(log.X).add_prefix("x").assign(**columns).to_parquet(Path(folder) / "log.parquet")
    ...     policy = DistributedOffsetTree(random_state=0, client="local://1").fit(f"{folder}/*.parquet")
    >>> policy.decide([5.1, 3.5, 1.4, 0.2])
    0
    >>> policy.to_local()
    OffsetTree(random_state=0)
    """

    _local_class = OffsetTree

    def _check(self, local: Any) -> None:
        check_out_of_core(local)

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        plan = plan_tree(job.policy, statistics, finite=finite)
        # With a random seed of its own every run has another plan, and finds nothing of a former one.
        digest = hashlib.sha256(pickle.dumps((job.policy.tree_, plan.seeds))).hexdigest()[:16]
        plan.finish(job.policy, train_contests(plan, job.runner, digest))
