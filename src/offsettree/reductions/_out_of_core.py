"""An offset tree from a log that need not fit into memory: rows go to disk by action, contests fetch them."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._progress import Progress
from offsettree._validation import as_random_state
from offsettree.exceptions import ParameterError, ScratchError
from offsettree.logs import LoggedData
from offsettree.reductions._binned_log import seeds_of
from offsettree.reductions._depth_first import climb_all, rows_below
from offsettree.reductions._intake import Intake
from offsettree.reductions._ladder import share_kept
from offsettree.reductions._leaf_scale import choose_leaf_scale
from offsettree.reductions._native import is_native
from offsettree.reductions._nodes import NodeLearner
from offsettree.reductions._offset import is_per_row, resolve_offset, warn_if_one_sided, warn_of_unlogged
from offsettree.reductions._partial import REMEDIES, Memory, needs_whole_log
from offsettree.reductions._routed_contests import RoutedContests
from offsettree.reductions._routed_log import Folder, RoutedLog
from offsettree.reductions._routed_native import RoutedNative, joined
from offsettree.reductions._routed_statistics import LogStatistics
from offsettree.reductions._scratch import ScratchWriter
from offsettree.topology import ActionTree, RewardModels, tree_from

SECONDS = 0.5  # between two words on how many rows have been read


def fit_out_of_core(policy: Any, chunks: Iterable[LoggedData], folder: Any, verbose: bool | None) -> None:
    """Fit an `OffsetTree`; see its `fit_log`."""
    check_out_of_core(policy)
    with routed(policy, chunks, folder, verbose) as (log, finite, is_shown):
        plan = plan_tree(policy, LogStatistics(log), finite=finite)
        plan.finish(policy, plan.train(log, policy.n_jobs, is_shown=is_shown))


@dataclass(frozen=True)
class Plan:
    """The contests of a tree, settled, and what it takes to make them part of a policy once they are trained."""

    contests: Any  # RoutedNative or RoutedContests
    seeds: NDArray[np.int64]
    learner: Any

    @property
    def is_native(self) -> bool:
        """Whether the contests are of our own tree learner."""
        return isinstance(self.contests, RoutedNative)

    def train(self, log: RoutedLog, n_jobs: int | None, *, is_shown: bool = False) -> list[Any]:
        """Train all contests in this process, or in `n_jobs` workers of it."""
        with Progress(log.n_rows, asked_for=True) if is_shown else nullcontext() as progress:

            def on_rows(n_rows: int) -> None:
                if progress is not None:
                    progress.advance(n_rows, "training")

            return climb_all(self.contests, rows_below(self.contests.tree, log.counts), n_jobs, on_rows)

    def joined(self, trained: list[Any]) -> tuple[Any, NDArray[np.int64], NDArray[np.float64] | None]:
        """Return the contests by node, how many rows reached each, and their weight where that is known."""
        if self.is_native:
            return *joined(trained, self.contests, self.learner), None
        n_nodes = self.contests.tree.n_nodes
        classifiers: list[Any] = [None] * n_nodes
        n_rows, weight = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes)
        for node, classifier, n, total in trained:
            classifiers[node], n_rows[node], weight[node] = classifier, n, total
        return classifiers, n_rows, weight

    def finish(self, policy: Any, trained: list[Any]) -> None:
        """Hand the trained contests to an `OffsetTree`."""
        policy.estimators_, policy.node_rows_, weight = self.joined(trained)
        policy._memory = None
        if weight is not None:
            policy._memory = Memory.of_fit(self.seeds, policy.estimators_, policy.node_rows_, weight)


def plan_tree(policy: Any, statistics: LogStatistics, *, finite: bool) -> Plan:
    """Settle the tree, the offset and all else that contests are trained with, as `OffsetTree._fit` does."""
    random, log = as_random_state(policy.random_state), statistics.log
    learner = NodeLearner(policy._learner())
    offset = _settle(policy, statistics, random)
    warn_if_one_sided(statistics.tally(offset))
    warn_of_unlogged(np.flatnonzero(log.counts), policy.actions_)
    seeds = policy._node_seeds(random)
    if not is_native(learner.estimator, policy.path_filter):
        contests = RoutedContests(log, policy.tree_, learner, offset, seeds, finite)
        return Plan(contests, seeds, learner.estimator)
    own_seeds = seeds_of(learner.estimator, seeds)
    native = plan_native(statistics, policy.tree_, learner.estimator, offset, own_seeds, random)
    return Plan(native, seeds, learner.estimator)


@contextmanager
def routed(
    policy: Any, chunks: Iterable[LoggedData], folder: Any, verbose: bool | None
) -> Iterator[tuple[RoutedLog, bool, bool]]:
    """Write a log to a scratch folder; give the log, whether X is known to be finite, and whether to show progress."""
    is_shown = sys.stderr.isatty() if verbose is None else verbose
    with scratch_folder(folder) as scratch:
        log, finite = _route(policy, chunks, scratch, is_shown=is_shown)
        yield log, finite, is_shown


def check_out_of_core(policy: Any) -> None:
    """Refuse what needs the whole log at once."""
    if policy.node_models != "separate":
        why = "a shared classifier is trained on all rows at once"
        raise needs_whole_log("node_models", "separate", policy.node_models, why)
    if policy.reward_model is not None:
        why = "with one every row takes part in every contest"
        raise needs_whole_log("reward_model", None, policy.reward_model, why)
    check_in_sample(policy)


def check_in_sample(policy: Any) -> None:
    """Refuse path filters and offsets that need the whole log at once."""
    if share_kept(policy.path_filter) > 0 or policy.path_filter == "out_of_fold":
        raise ParameterError(
            "path_filter must be 'in_sample' for fit_log: folds are drawn over the whole log, and rows that keep a "
            f"part of their weight all climb to the root; got {policy.path_filter!r}. {REMEDIES['fit_log']}, or "
            "path_filter='in_sample'."
        )
    if is_per_row(policy.offset):
        raise ParameterError(
            "offset must be a number, 'mean' or 'median' for fit_log, as others are cross-fitted on all rows at once; "
            f"got {policy.offset!r}. {REMEDIES['fit_log']}, or subtract predictions from the rewards yourself."
        )


@contextmanager
def scratch_folder(folder: Any) -> Iterator[Path]:
    """Make a folder for a while; it goes whatever happens."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="offsettree-", dir=folder, ignore_cleanup_errors=True)
    except OSError as error:
        raise ScratchError(
            f"folder must be a folder that can be written to; {folder!s} is not ({error.strerror}). Make it first, or "
            "leave it out to use the system's folder for temporary files."
        ) from error
    with scratch as name:
        yield Path(name)


def _route(policy: Any, chunks: Iterable[LoggedData], scratch: Path, *, is_shown: bool) -> tuple[RoutedLog, bool]:
    """Check the chunks and write their rows to disk; return the log there, and whether X is known to be finite."""
    intake = Intake(policy)
    shown = time.monotonic()
    with ScratchWriter.into(scratch) as writer:
        for chunk in chunks:
            checked = intake.take(chunk)
            if intake.n_rows == len(chunk):
                writer.open(checked.X.shape[1], _count_rows(chunks))
            writer.add(checked.position, checked.scaled, checked.propensity, checked.X)
            del chunk, checked  # before the next is made
            if is_shown and time.monotonic() - shown > SECONDS:
                shown = time.monotonic()
                sys.stderr.write(f"\r\x1b[K{intake.n_rows:,} rows read" if sys.stderr.isatty() else "")
                sys.stderr.flush()
        position, n_actions = intake.finish(), len(policy.actions_)
        log = RoutedLog(Folder(scratch), writer.n_columns, writer.finish(), (position,), n_actions)
        return log, intake.finite


def _count_rows(chunks: Iterable[LoggedData]) -> int:
    """Return how many rows there will be; 0 where that is not known beforehand."""
    n_rows = getattr(chunks, "n_rows", None)
    if isinstance(n_rows, int | np.integer):
        return int(n_rows)
    if isinstance(chunks, Sequence):
        return sum(len(chunk) for chunk in chunks if isinstance(chunk, LoggedData))
    return 0


def _settle(policy: Any, statistics: LogStatistics, random: np.random.RandomState) -> float:
    """Settle the tree and the offset, as `OffsetTree._settle` does."""
    policy.tree_ = tree_from(
        policy.tree, policy.actions_, statistics.mean_rewards, lambda: reward_models(statistics, random), random
    )
    policy.offset_, policy.n_rounds_ = settle_offset(policy.offset, statistics, random), 1
    return float(policy.offset_)


def settle_offset(given: Any, statistics: LogStatistics, random: np.random.RandomState) -> float:
    """Return the offset, as `resolve_offset` does."""
    if isinstance(given, str) and given in ("mean", "median"):
        return statistics.mean_reward() if given == "mean" else statistics.median_reward()
    return float(resolve_offset(given, None, np.empty(0), random))


def reward_models(statistics: LogStatistics, random: np.random.RandomState) -> RewardModels:
    """Fit linear models of the reward per action, to a sample of a long log."""
    rows, n_actions = statistics.sample(), statistics.log.n_actions
    return RewardModels.fit(
        rows.X, rows.action, rows.reward, n_actions, propensity=rows.propensity, random_state=random
    )


def plan_native(
    statistics: LogStatistics,
    tree: ActionTree,
    learner: Any,
    offset: float,
    seeds: NDArray[np.int64],
    random: np.random.RandomState,
    models: RewardModels | None = None,
    n_trees: int = 1,
) -> RoutedNative:
    """Settle what our own learner is trained with; a forest's contests have `models`, and are judged in committees."""
    learner.check_parameters()
    log, whole = statistics.log, statistics.mean_weight(offset)
    unseeded = clone(learner).set_params(random_state=None)
    native = RoutedNative(log, tree, statistics.bins(), unseeded, 0.0, offset, whole, seeds, models)
    scale = learner.leaf_scale
    if scale == "auto":
        sample = native.binned(statistics.sample(), np.arange(log.n_actions))
        scale = choose_leaf_scale(sample, learner, random, n_trees)
    return replace(native, leaf_scale=float(scale))
