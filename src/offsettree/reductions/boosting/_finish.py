"""The regression on top: how far to trust what the trees say of rows they have not seen.

The sum of the leaves at which a row ends comes from trees without its fold, and so depends on the rewards of that fold
with the opposite sign: a mean without some rows is the lower, the more these earned. A regression that may choose the
signs reads rewards back out of such sums, and looks good where there is nothing to learn. So sums enter with weights of
at least 0, the same for all actions, which cannot gain by that; and only as far as these are found to tell which action
is better is a regression added that is free. What is linear is left to x: linear models of the folds, beside x, differ
by just the rewards that were left out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from offsettree.reductions.boosting._boosting import BoostedLog, BoostedModel, loss_of
from offsettree.reductions.boosting._shrunken import ShrunkenModels, fit_shrunken_models, sigmoid

__all__ = [
    "FOREST",
    "Finished",
    "Stage",
    "constant_mean",
    "finish",
    "finish_without_folds",
    "finish_without_x",
    "groups_of",
    "regression",
]

PARTS = 4  # of a log, each without which the guard is learned
SURE = 2.0  # standard errors by which x must help to tell actions apart, or else one is taken always
FOREST = "forest"  # trees grown from the linear start, each for itself: on short logs
SHARE_IF_SHORT = 0.5
SAFE, CLEAR = 5.0, 25.0  # standard errors below which signs are not free, and above which they always are


class Stage(NamedTuple):
    """What boosting from one start came to: the trees of every fold, and the directions of their sums."""

    start: str
    models: list[BoostedModel]
    centre: NDArray[np.float64]
    basis: NDArray[np.float64]  # of shape (n_actions, n_directions)
    scale: NDArray[np.float64]


class Finished(NamedTuple):
    """All that decides: what each start came to, and the scores ``seen @ slopes.T`` on top of that.

    `seen` are the columns of x and the directions of all starts, of each row by models without it; `left_out` is the
    score of each row's own action by a regression without the row.
    """

    stages: list[Stage]  # none where x tells nothing
    seen: NDArray[np.float64]
    slopes: NDArray[np.float64]  # of shape (n_actions, n_columns)
    left_out: NDArray[np.float64]
    gain: float  # of what x tells of single actions, in standard errors
    without: WithoutFolds | None = None


class WithoutFolds(NamedTuple):
    """Scores ``seen @ slopes[fold].T`` of the rows of each fold, by a regression without that fold."""

    seen: NDArray[np.float64]
    slopes: NDArray[np.float64]  # of shape (n_folds, n_actions, n_columns)
    fold: NDArray[np.intp]


class Scores(NamedTuple):
    """Scores that are linear in what was seen, and those of rows by a regression without them."""

    slopes: NDArray[np.float64]
    left_out: NDArray[np.float64]


def finish(
    log: BoostedLog,
    stages: list[Stage],
    parts: list[NDArray[np.float64]],
    fold: NDArray[np.intp],
    gain: float | None = None,
) -> Finished:
    """Learn how to use the scores of rows left out; `parts` are where these lie along the directions of each start.

    What x tells may be how much all actions earn, and not which earns most: then the best action is the same for all
    x, and is found better by a model that has one function of x for all actions. `gain`, by how much that one is
    worse, is found here unless it is given.
    """
    seen = _all_seen(log, stages, parts)
    each = [_along(stage, seen.shape[1], begin) for stage, begin in zip(stages, _begins(log, stages), strict=True)]
    alike, plain = _alike(log, seen, each), _plain(log, seen, each)
    if gain is None:
        gain = _gain(log, alike.left_out, plain.left_out)
        if SURE <= gain < CLEAR:
            gain = min(gain, _gain_without_folds(log, seen, each, fold))
    if gain < SURE:
        constant = finish_without_x(log, gain)
        x_helps = _gain(log, constant.left_out, alike.left_out) >= SURE
        return Finished(stages, seen, *alike, gain) if x_helps else constant
    trust = min(max((gain - SAFE) / (CLEAR - SAFE), 0.0), 1.0)
    everyone = [list(range(len(stages)))]
    if any(stage.start == FOREST for stage in stages):
        # It cannot tell how much of each source to use for which action: each has a regression, and all count the same.
        trust, everyone = SHARE_IF_SHORT, [[place] for place in everyone[0]]
    if trust == 0:
        return Finished(stages, seen, *plain, gain)
    members = [_free(log, stages, seen, each, places) for places in everyone]
    free = Scores(*(np.mean(same, axis=0) for same in zip(*members, strict=True)))
    mixed = [(1 - trust) * one + trust * other for one, other in zip(plain, free, strict=True)]
    return Finished(stages, seen, mixed[0], mixed[1], gain)


def finish_without_folds(
    log: BoostedLog, stages: list[Stage], parts: list[NDArray[np.float64]], fold: NDArray[np.intp], gain: float
) -> WithoutFolds:
    """Learn it once without each fold: what a row earned then has no part at all in what is chosen for it.

    A score without the row for its own action alone, beside others that have seen it, is lowest where the row earned
    most: where actions are nearly level, its own is avoided just then.
    """
    seen = _all_seen(log, stages, parts)
    slopes = np.zeros((int(fold.max()) + 1, log.n_actions, seen.shape[1]))
    for f, own in enumerate(slopes):
        rows = np.flatnonzero(fold != f)
        found = finish(log.take(rows), stages, [part[rows] for part in parts], fold[rows], gain).slopes
        own[:, : found.shape[1]] = found
    return WithoutFolds(seen, slopes, fold)


def _all_seen(log: BoostedLog, stages: list[Stage], parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.hstack([log.design, *(part / stage.scale for stage, part in zip(stages, parts, strict=True))])


def finish_without_x(log: BoostedLog, gain: float = 0.0) -> Finished:
    """Score every action the same for all x."""
    models = constant_models(log)
    return Finished([], log.design[:, :1], models.weights, models.left_out, gain)


def _begins(log: BoostedLog, stages: list[Stage]) -> list[int]:
    """Return the column of what is seen at which the directions of each start begin."""
    sizes = [log.design.shape[1], *(stage.basis.shape[1] for stage in stages)]
    return [int(each) for each in np.cumsum(sizes)[:-1]]


def _along(stage: Stage, n_columns: int, begin: int) -> NDArray[np.float64]:
    """Return the sums of all actions by one start, as slopes in what is seen."""
    slopes = np.zeros((len(stage.basis), n_columns))
    slopes[:, 0] = stage.centre
    slopes[:, begin : begin + stage.basis.shape[1]] = stage.basis * stage.scale
    return slopes


def _plain(log: BoostedLog, seen: NDArray[np.float64], each: list[NDArray[np.float64]]) -> Scores:
    """Weigh the scores of all starts, and add x for each action, or a level if that is better without the row."""
    slopes, known = _weighed(log, each, [_own_scores(log, seen, one) for one in each])
    n_design = log.design.shape[1]
    level = constant_models(log, known)
    of_x = regression(log, log.design, groups_of(n_design), np.zeros(n_design), known)
    return _best(log, [_plus(slopes, each.weights, each.left_out) for each in (level, of_x)])


def _alike(log: BoostedLog, seen: NDArray[np.float64], each: list[NDArray[np.float64]]) -> Scores:
    """Take the mean score of all actions for each of them, with one function of x added, and a level for each."""
    count = np.bincount(log.action, log.weight, minlength=log.n_actions)
    means = [np.broadcast_to(count @ one / count.sum(), one.shape) for one in each]
    slopes, known = _weighed(log, means, [seen @ one[0] for one in means])
    n_design = log.design.shape[1]
    as_one = log._replace(action=np.zeros_like(log.action), n_actions=1)
    of_x = regression(as_one, log.design, groups_of(n_design), np.zeros(n_design), known)
    level, beside_x = constant_models(log, known), constant_models(log, of_x.left_out)
    with_x = _plus(slopes, of_x.weights, of_x.left_out)
    return _best(
        log,
        [_plus(slopes, level.weights, level.left_out), _plus(with_x.slopes, beside_x.weights, beside_x.left_out)],
    )


def _plus(slopes: NDArray[np.float64], weights: NDArray[np.float64], left_out: NDArray[np.float64]) -> Scores:
    """Return slopes with weights added to the first of them."""
    whole = slopes.copy()
    whole[:, : weights.shape[1]] += weights
    return Scores(whole, left_out)


def _best(log: BoostedLog, scores: list[Scores]) -> Scores:
    """Return the scores that predict rows best that were left out; of equals the first."""
    return min(scores, key=lambda each: float(np.average(_losses(log, each.left_out), weights=log.weight)))


def _free(
    log: BoostedLog, stages: list[Stage], seen: NDArray[np.float64], each: list[NDArray[np.float64]], places: list[int]
) -> Scores:
    """Regress on x, on the directions of some starts and on their sums of the row's own action, for each action."""
    begins = _begins(log, stages)
    blocks = [np.arange(begins[place], begins[place] + stages[place].basis.shape[1]) for place in places]
    columns = np.concatenate([np.arange(begins[0]), *blocks])
    ends = np.cumsum([begins[0], *(len(block) for block in blocks), *(1 for _ in places)])
    groups = [*groups_of(begins[0]), *(slice(int(begin), int(end)) for begin, end in pairwise(ends))]
    design = np.column_stack([seen[:, columns], *(_own_scores(log, seen, each[place]) for place in places)])
    mean = constant_mean(log, design.shape[1])
    mean[len(columns) :] = 1 / len(places)
    models = regression(log, design, groups, mean)
    slopes = np.zeros((log.n_actions, seen.shape[1]))
    slopes[:, columns] = models.weights[:, : len(columns)]
    for place, weights in zip(places, models.weights[:, len(columns) :].T, strict=True):
        slopes += weights[:, np.newaxis] * each[place]
    return Scores(slopes, models.left_out)


def _own_scores(log: BoostedLog, seen: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ip,ip->i", seen, slopes[log.action]))


def _weighed(
    log: BoostedLog, each: list[NDArray[np.float64]], scores: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of a level and of scores, each with a weight of at least 0: as slopes, and of the rows."""
    columns = np.column_stack([np.ones(len(log.reward)), *scores])
    counts = np.ones(len(log.reward)) if log.weight is None else log.weight

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        score = columns @ weights
        slope = sigmoid(score) - log.reward if log.logistic else 2 * (score - log.reward)
        return float(np.mean(counts * _losses(log, score))), np.asarray((counts * slope) @ columns / len(score))

    first = np.array([0.0, *(1 / len(each) for _ in each)])
    bounds = [(None, None), *((0, None) for _ in each)]
    weights = minimize(loss, first, jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = np.zeros(each[0].shape)
    slopes[:, 0] = weights[0]
    for weight, one in zip(weights[1:], each, strict=True):
        slopes += weight * one
    return slopes, np.asarray(columns @ weights)


def _losses(log: BoostedLog, score: NDArray[np.float64]) -> NDArray[np.float64]:
    return loss_of(score, log.reward, log.logistic)


def _gain(log: BoostedLog, less: NDArray[np.float64], more: NDArray[np.float64]) -> float:
    """Return by how much scores of rows left out predict better than other such scores, in standard errors."""
    gain = _losses(log, less) - _losses(log, more)
    if log.weight is not None:
        gain = gain * log.weight
    return float(gain.mean() / (gain.std() / np.sqrt(len(gain)) + 1e-12))


def _gain_without_folds(
    log: BoostedLog, seen: NDArray[np.float64], each: list[NDArray[np.float64]], fold: NDArray[np.intp]
) -> float:
    """Return the gain on the one model for all actions, of regressions that have not seen the rows at all.

    Leaving single rows out is not enough where few rewards tell: how much actions may differ is then known by those
    very rows.
    """
    light = log._replace(codes=log.codes[:0])
    less, more = np.empty((2, len(fold)))
    for part in range(PARTS):
        is_out = fold % PARTS == part
        learned = light.take(np.flatnonzero(~is_out))
        for found, fit in ((less, _alike), (more, _plain)):
            slopes = fit(learned, seen[~is_out], each).slopes
            found[is_out] = np.einsum("ip,ip->i", seen[is_out], slopes[log.action[is_out]])
    return _gain(log, less, more)


def groups_of(n_design: int) -> list[slice]:
    """Return the columns of one kind: the level, and x if there is any."""
    return [slice(0, 1), slice(1, n_design)] if n_design > 1 else [slice(0, 1)]


def regression(
    log: BoostedLog,
    design: NDArray[np.float64],
    groups: list[slice],
    mean: NDArray[np.float64],
    known: NDArray[np.float64] | None = None,
) -> ShrunkenModels:
    """Fit a linear model per action, with what the log says of losses and weights."""
    return fit_shrunken_models(
        design,
        log.action,
        log.reward,
        log.n_actions,
        mean=mean,
        groups=groups,
        logistic=log.logistic,
        weight=log.weight,
        known=known,
    )


def constant_models(log: BoostedLog, known: NDArray[np.float64] | None = None) -> ShrunkenModels:
    """Fit a score per action, whatever x is; those of few rows are pulled towards the mean of all."""
    mean = constant_mean(log, 1) if known is None else np.zeros(1)
    return regression(log, log.design[:, :1], [slice(0, 1)], mean, known)


def constant_mean(log: BoostedLog, n_columns: int) -> NDArray[np.float64]:
    """Return the model that says the same of every action and row."""
    mean = np.zeros(n_columns)
    level = float(np.average(log.reward, weights=log.weight))
    if log.logistic:
        level = min(max(level, 1e-6), 1 - 1e-6)
        level = float(np.log(level / (1 - level)))
    mean[0] = level
    return mean
