"""Cross-fitted boosting from two starts, and the principal directions of the held-out scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import delayed

from offsettree._workers import parallel
from offsettree.reductions.boosting._boosting import BoostedLog, BoostedModel, BoostingSettings, boost, loss_of
from offsettree.reductions.boosting._final_regression import (
    FOREST,
    VOTES,
    FinalModel,
    LinearScores,
    Stage,
    fit_final,
    fit_final_without_folds,
)
from offsettree.reductions.boosting._forest import grow_forest
from offsettree.reductions.boosting._regressions import Regressions, constant_mean, groups_of, regression

MOST_DIRECTIONS = 24
FEW_DIRECTIONS = 12  # with more than MANY_ACTIONS, to keep the regression per action small
MANY_ACTIONS = 4096
BASIS_ROWS = 20_000
BASIS_NUMBERS = 1 << 23
EXACT_ACTIONS = 128  # up to so many, directions are computed exactly
ITERATIONS = 6
MOST_FINAL_ROWS = 2_000_000  # for the final regression: more would need much memory and help little
STARTS = ("constant", "linear")


class FoldFits(NamedTuple):
    """Fits without a fold, from one start each."""

    log: BoostedLog
    fold: NDArray[np.intp]  # of each row
    expected: NDArray[np.float64]  # the linear model that predicts the mean reward everywhere
    settings: BoostingSettings
    seeds: NDArray[np.int64]  # of shape (n_folds, n_starts)

    def __call__(self, f: int, s: int) -> tuple[BoostedModel, NDArray[np.float64]]:
        """Fit trees without a fold; return them and their losses in the fold's rows (none for a forest)."""
        learned, out, weights, score = self.begun(f, s)
        if s == len(STARTS):
            return grow_forest(learned, score, self.seeds[f, s])._replace(linear=weights), np.empty(0)
        model, own = boost(learned, out, weights, score, self.settings, self.seeds[f, s])
        return model._replace(linear=self.linear(weights, s)), losses_of(out, own)

    def begun(self, f: int, s: int) -> tuple[BoostedLog, BoostedLog, NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows without a fold, those of the fold, the models that trees start from, and their scores."""
        is_out = self.fold == f
        learned, out = self.log.take(np.flatnonzero(~is_out)), self.log.take(np.flatnonzero(is_out))
        if s == STARTS.index("constant"):
            weights = np.tile(self.expected, (self.log.n_actions, 1))
            return learned, out, weights, np.full(len(learned.reward), self.expected[0])
        models = regression(learned, learned.design, groups_of(self.log.design.shape[1]), self.expected)
        return learned, out, models.weights, models.left_out

    def linear(self, weights: NDArray[np.float64], s: int) -> NDArray[np.float64] | None:
        """Return the linear models that a model of trees keeps: none if they are constants."""
        return None if s == STARTS.index("constant") else weights


RunJobs = Callable[[FoldFits, list[tuple[int, int]]], list[Any]]


def fit_stages(
    log: BoostedLog,
    n_folds: int,
    settings: BoostingSettings,
    drop: float,
    n_jobs: int | None,
    random: np.random.RandomState,
    *,
    with_forest: bool,
    keeps_all: bool = False,
    without_folds: bool = False,
    run: RunJobs | None = None,
    vote: Callable[[NDArray[np.intp]], NDArray[np.float64]] | None = None,
) -> FinalModel:
    """Boost from both starts without each fold, and fit the final regression on the held-out scores.

    `keeps_all` keeps the held-out scores of all rows, not of a sample. `without_folds` also fits the final regression
    without each fold. `run` calls a function with the arguments of each of several jobs; by default threads do.
    """
    n_rows = len(log.reward)
    fold = random.permutation(n_rows) % n_folds
    seeds = random.randint(np.iinfo(np.int32).max, size=(n_folds, len(STARTS) + 1))
    expected = constant_mean(log, log.design.shape[1])
    if run is None:
        run = partial(_run_in_threads, n_jobs)
    starts = (*STARTS, FOREST)
    fitted = FoldFits(log, fold, expected, settings, seeds)
    first = run(fitted, [(0, s) for s in range(len(STARTS))])
    live = _starts_to_keep([losses for _, losses in first], drop)
    jobs = [(f, s) for f in range(1, n_folds) for s in live]
    if with_forest:
        jobs += [(f, len(STARTS)) for f in range(n_folds)]
        live.append(len(STARTS))
    rest = run(fitted, jobs)
    rows = np.arange(n_rows)
    if n_rows > MOST_FINAL_ROWS and not keeps_all:
        rows = np.sort(random.permutation(n_rows)[:MOST_FINAL_ROWS])
    stages, parts = [], []
    for s in live:
        models = [model for (_, own), (model, _) in zip(jobs, rest, strict=True) if own == s]
        models = models if starts[s] == FOREST else [first[s][0], *models]
        stage = _find_directions(log, fold, starts[s], models, random)
        stages.append(stage)
        parts.append(_held_out_coordinates(log, rows, fold, stage))
    if vote is not None:
        stages.append(Stage(VOTES, [], np.zeros(log.n_actions), np.eye(log.n_actions), np.ones(log.n_actions)))
        parts.append(vote(fold))
    linear = _held_out_linear(log, fold, stages)
    regressions = Regressions()
    if len(rows) == n_rows:
        final = fit_final(log, stages, parts, linear, regressions=regressions)
    else:
        final = fit_final(log.take(rows), stages, parts, None if linear is None else linear.take(rows))
    if not without_folds:
        return final
    without = fit_final_without_folds(log, stages, parts, linear, fold, final.gain, regressions)
    return final._replace(without=without)


def _run_in_threads(n_jobs: int | None, fitted: FoldFits, jobs: list[tuple[int, int]]) -> list[Any]:
    return list(parallel(n_jobs=n_jobs, prefer="threads")(delayed(fitted)(*job) for job in jobs))


def losses_of(out: BoostedLog, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses of held-out rows, weighted as the rows are."""
    loss = loss_of(score, out.reward, out.logistic)
    return loss if out.weight is None else loss * out.weight


def _starts_to_keep(losses: list[NDArray[np.float64]], drop: float) -> list[int]:
    """Return the starts to continue with: both, unless one is clearly worse in the first held-out fold."""
    off = losses[0] - losses[1]
    z = off.mean() / (off.std() / np.sqrt(len(off)) + 1e-12)
    return [0, 1] if abs(z) <= drop else [int(z > 0)]


def _find_directions(
    log: BoostedLog, fold: NDArray[np.intp], start: str, models: list[BoostedModel], random: np.random.RandomState
) -> Stage:
    """Compute the principal directions, over the actions, of the held-out scores."""
    n_rows, n_actions = len(log.reward), log.n_actions
    n_sampled = min(n_rows, BASIS_ROWS, max(1000, BASIS_NUMBERS // n_actions))
    rows = np.sort(random.permutation(n_rows)[:n_sampled])
    scores = np.empty((len(rows), n_actions), dtype=np.float32)
    for f, model in enumerate(models):
        here = np.flatnonzero(fold[rows] == f)
        scores[here] = _sums(log, rows[here], model, model.values)
    centre = scores.mean(axis=0, dtype=np.float64)
    scores -= centre.astype(np.float32)
    n_directions = min(n_actions, MOST_DIRECTIONS if n_actions <= MANY_ACTIONS else FEW_DIRECTIONS)
    spread, basis = _leading_directions(scores, n_directions, random)
    scale = np.sqrt(np.maximum(spread, 1e-3 * spread[0] + 1e-9))
    return Stage(start, models, centre, np.ascontiguousarray(basis, dtype=np.float64), scale)


def _leading_directions(
    centred: NDArray[np.float32], n_directions: int, random: np.random.RandomState
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variances and leading principal directions; by subspace iteration if there are many actions."""
    n_actions = centred.shape[1]
    among = np.eye(n_actions, dtype=np.float32)
    if n_actions > EXACT_ACTIONS:
        among = random.standard_normal((n_actions, n_directions + 8)).astype(np.float32)
        for _ in range(ITERATIONS):
            among = np.linalg.qr(centred.T @ (centred @ among))[0]
    along = centred @ among
    spread, rotation = np.linalg.eigh((along.T @ along / len(along)).astype(np.float64))
    return spread[::-1][:n_directions], (among @ rotation[:, ::-1])[:, :n_directions]


def _sums(
    log: BoostedLog, rows: NDArray[np.intp], model: BoostedModel, values: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the sums of the values of the leaves that rows reach."""
    from offsettree.models import Trees, add_leaves

    nothing = np.empty((0, 0), dtype=np.float32)
    output = np.zeros(len(values), dtype=np.int32)
    trees = Trees(nothing, np.empty(0, dtype=bool), model.feature, model.lowest, model.span, values, output)
    out = np.zeros((len(rows), values.shape[2]), dtype=np.float32)
    add_leaves(np.ascontiguousarray(log.codes[:, rows]), trees, out)
    return out


def _held_out_linear(log: BoostedLog, fold: NDArray[np.intp], stages: list[Stage]) -> LinearScores | None:
    """Return the scores of the linear models that trees start from; None if trees start from a constant only."""
    own = np.empty(len(fold))
    for stage in stages:
        weights = [model.linear for model in stage.models if model.linear is not None]
        for f, of_fold in enumerate(weights):
            here = np.flatnonzero(fold == f)
            own[here] = np.einsum("ip,ip->i", log.design[here], of_fold[log.action[here]])
        if weights:
            return LinearScores(np.stack(weights), own)
    return None


def _held_out_coordinates(
    log: BoostedLog, rows: NDArray[np.intp], fold: NDArray[np.intp], stage: Stage
) -> NDArray[np.float64]:
    """Return the coordinates of the held-out scores of some rows along a stage's directions."""
    found = np.empty((len(rows), stage.basis.shape[1]))
    narrow = stage.basis.astype(np.float32)
    for f, model in enumerate(stage.models):
        here = np.flatnonzero(fold[rows] == f)
        found[here] = _sums(log, rows[here], model, model.projected(narrow)) - stage.centre @ stage.basis
    return found
