"""An offset tree from a log that need not fit into memory: rows go to disk by action, contests fetch them."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
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
from offsettree.reductions._depth_first import lead_all_up, rows_below
from offsettree.reductions._intake import Intake
from offsettree.reductions._ladder import share_kept
from offsettree.reductions._leaf_scale import choose_leaf_scale
from offsettree.reductions._native import is_native
from offsettree.reductions._nodes import NodeLearner
from offsettree.reductions._offset import is_per_row, resolve_offset, warn_if_one_sided, warn_of_unlogged
from offsettree.reductions._partial import Memory
from offsettree.reductions._routed_contests import RoutedContests
from offsettree.reductions._routed_log import RoutedLog
from offsettree.reductions._routed_native import RoutedNative, bins_of, joined
from offsettree.reductions._routed_statistics import (
    count_votes,
    mean_reward,
    mean_rewards,
    mean_weight,
    median_reward,
    sample_rows,
)
from offsettree.reductions._scratch import ScratchWriter
from offsettree.topology import RewardModels, tree_from

__all__ = ["fit_out_of_core"]

SECONDS = 0.5  # between two words on how many rows have been read


def fit_out_of_core(policy: Any, chunks: Iterable[LoggedData], folder: Any, verbose: bool | None) -> None:
    """Fit an `OffsetTree`; see its `fit_log`."""
    _check_parameters(policy)
    random = as_random_state(policy.random_state)
    learner = NodeLearner(policy._learner())
    is_shown = sys.stderr.isatty() if verbose is None else verbose
    with _scratch_folder(folder) as scratch:
        log, finite = _route(policy, chunks, scratch, is_shown=is_shown)
        offset = _settle(policy, log, random)
        warn_if_one_sided(count_votes(log, offset))
        warn_of_unlogged(np.flatnonzero(log.counts), policy.actions_)
        seeds = policy._node_seeds(random)
        below = rows_below(policy.tree_, log.counts)
        with Progress(log.n_rows, asked_for=True) if is_shown else nullcontext() as progress:

            def told(n_rows: int) -> None:
                if progress is not None:
                    progress.advance(n_rows, "training")

            if is_native(learner.estimator, policy.path_filter):
                native = _native(policy, log, learner.estimator, offset, seeds, random)
                trained = lead_all_up(native, below, policy.n_jobs, told)
                policy.estimators_, policy.node_rows_ = joined(trained, native, learner.estimator)
                policy._memory = None
            else:
                contests = RoutedContests(log, policy.tree_, learner, offset, seeds, finite)
                _note(policy, lead_all_up(contests, below, policy.n_jobs, told), seeds)


def _check_parameters(policy: Any) -> None:
    """Refuse what needs the whole log at once."""
    remedy = "Use fit on a log in memory"
    if policy.node_models != "separate":
        raise ParameterError(
            "node_models must be 'separate' for fit_log, as a shared classifier is trained on all rows at once; got "
            f"{policy.node_models!r}. {remedy}, or node_models='separate'."
        )
    if policy.reward_model is not None:
        raise ParameterError(
            "reward_model must be None for fit_log, as with one every row takes part in every contest; got "
            f"{policy.reward_model!r}. {remedy}, or reward_model=None."
        )
    if share_kept(policy.path_filter) > 0 or policy.path_filter == "out_of_fold":
        raise ParameterError(
            "path_filter must be 'in_sample' for fit_log: folds are drawn over the whole log, and rows that keep a "
            f"part of their weight all climb to the root; got {policy.path_filter!r}. {remedy}, or "
            "path_filter='in_sample'."
        )
    if is_per_row(policy.offset):
        raise ParameterError(
            "offset must be a number, 'mean' or 'median' for fit_log, as others are cross-fitted on all rows at once; "
            f"got {policy.offset!r}. {remedy}, or subtract predictions from the rewards yourself."
        )


@contextmanager
def _scratch_folder(folder: Any) -> Iterator[Path]:
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
    with ScratchWriter(scratch) as writer:
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
        position = intake.finish()
        return writer.finish(position, len(policy.actions_)), intake.finite


def _count_rows(chunks: Iterable[LoggedData]) -> int:
    """Return how many rows there will be; 0 where that is not known beforehand."""
    n_rows = getattr(chunks, "n_rows", None)
    if isinstance(n_rows, int | np.integer):
        return int(n_rows)
    if isinstance(chunks, Sequence):
        return sum(len(chunk) for chunk in chunks if isinstance(chunk, LoggedData))
    return 0


def _settle(policy: Any, log: RoutedLog, random: np.random.RandomState) -> float:
    """Settle the tree and the offset, as `OffsetTree._settle` does."""
    n_actions = len(policy.actions_)

    def reward_models() -> RewardModels:
        rows = sample_rows(log)
        return RewardModels.fit(
            rows.X, rows.action, rows.reward, n_actions, propensity=rows.propensity, random_state=random
        )

    policy.tree_ = tree_from(policy.tree, policy.actions_, lambda: mean_rewards(log), reward_models, random)
    if isinstance(policy.offset, str) and policy.offset in ("mean", "median"):
        offset = mean_reward(log) if policy.offset == "mean" else median_reward(log)
    else:
        offset = float(resolve_offset(policy.offset, None, np.empty(0), random))
    policy.offset_, policy.n_rounds_ = offset, 1
    return offset


def _native(
    policy: Any, log: RoutedLog, learner: Any, offset: float, seeds: NDArray[np.int64], random: np.random.RandomState
) -> RoutedNative:
    learner.check_parameters()
    whole = mean_weight(log, offset)
    own_seeds = seeds_of(learner, seeds)
    unseeded = clone(learner).set_params(random_state=None)
    native = RoutedNative(log, policy.tree_, bins_of(log), unseeded, 0.0, offset, whole, own_seeds)
    if learner.leaf_scale != "auto":
        scale = float(learner.leaf_scale)
    else:
        scale = choose_leaf_scale(native.binned(sample_rows(log), np.arange(log.n_actions)), learner, random)
    return RoutedNative(log, policy.tree_, native.bins, unseeded, scale, offset, whole, own_seeds)


def _note(policy: Any, trained: list[Any], seeds: NDArray[np.int64]) -> None:
    n_nodes = policy.tree_.n_nodes
    classifiers: list[Any] = [None] * n_nodes
    n_rows, weight = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes)
    for node, classifier, n, total in trained:
        classifiers[node], n_rows[node], weight[node] = classifier, n, total
    policy.estimators_, policy.node_rows_ = classifiers, n_rows
    policy._memory = Memory.of_fit(seeds, classifiers, n_rows, weight)
