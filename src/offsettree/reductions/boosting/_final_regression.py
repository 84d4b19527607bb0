"""The final regression (stacking): how much to use of the trees' held-out scores.

A row's score comes from models trained without its fold, and so depends on the rewards of that fold with the opposite
sign: the mean without some rows is lower, the more these earned. A regression with free signs reads the rewards back
out of such scores, and looks good where there is nothing to learn. So scores enter with nonnegative weights, the same
for all actions, which cannot exploit this. An unconstrained regression of what remains is added only as far as the
nonnegative one shows that x tells which action is better. It sees the scores of trees, but not of linear models, which
differ between folds by just the rewards left out.

A start is what boosting starts from: a constant, linear models, or a forest in place of boosting. A stage is the result
of one start. Directions are the principal directions, over the actions, of a stage's scores.
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
    "FinalModel",
    "LinearScores",
    "Stage",
    "constant_mean",
    "fit_constant",
    "fit_final",
    "fit_final_without_folds",
    "groups_of",
    "regression",
]

HELPS = 2.0  # standard errors by which x must help to distinguish actions; else one action is always taken
LIKELIER = 6.0  # logarithm of how much likelier held-out rewards are, which on a short log is enough as well
FOREST = "forest"  # independent trees grown from the linear start, on short logs
SHARE_IF_SHORT = 0.5  # of the unconstrained regression, with a forest
FARTHEST = 5.0  # from the mean score, in log-odds, that a leave-one-out score counts
UNTRUSTED, TRUSTED = 5.0, 25.0  # gains at which the unconstrained regression has the share 0 and 1


class Stage(NamedTuple):
    """The result of one start: the trees of every fold, and the principal directions of their scores."""

    start: str
    models: list[BoostedModel]
    centre: NDArray[np.float64]
    basis: NDArray[np.float64]  # of shape (n_actions, n_directions)
    scale: NDArray[np.float64]


class FinalModel(NamedTuple):
    """The fitted model: the stages, and scores ``inputs @ slopes.T`` on top of them.

    `inputs` are the columns of x and, by models without the row's fold, the coordinates along the directions of all
    stages. `left_out` is the leave-one-out score of each row's own action.
    """

    stages: list[Stage]  # empty if x does not help
    inputs: NDArray[np.float64]
    slopes: NDArray[np.float64]  # of shape (n_actions, n_columns)
    left_out: NDArray[np.float64]
    gain: float  # from letting x favour single actions, in standard errors
    without: WithoutFolds | None = None


class WithoutFolds(NamedTuple):
    """Scores ``inputs @ slopes[fold].T`` of each fold's rows, by a final regression without that fold."""

    inputs: NDArray[np.float64]
    slopes: NDArray[np.float64]  # of shape (n_folds, n_actions, n_columns)
    fold: NDArray[np.intp]


class Source(NamedTuple):
    """Scores to regress on: their slopes on the inputs, and the held-out score of each row's own action."""

    slopes: NDArray[np.float64]
    own: NDArray[np.float64]


class LinearScores(NamedTuple):
    """Linear models without each fold, and the score of each row's action by the model without its fold."""

    weights: NDArray[np.float64]  # of shape (n_folds, n_actions, n_design)
    own: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> LinearScores:
        """Return the scores of some rows."""
        return self._replace(own=self.own[rows])


class Scores(NamedTuple):
    """Slopes of scores on the inputs, and leave-one-out scores of each row's own action."""

    slopes: NDArray[np.float64]
    left_out: NDArray[np.float64]


def fit_final(
    log: BoostedLog,
    stages: list[Stage],
    parts: list[NDArray[np.float64]],
    linear: LinearScores | None = None,
    gain: float | None = None,
) -> FinalModel:
    """Fit the final regression; `parts` are the held-out coordinates along the directions of each stage.

    If x predicts how much all actions earn, but not which earns most, the best action is the same for all x. It is then
    found better by a model with one function of x for all actions. `gain` is how much that model loses; it is estimated
    unless given.
    """
    inputs = _all_inputs(log, stages, parts)
    sources = [
        _source_of_stage(log, stage, inputs, begin)
        for stage, begin in zip(stages, _first_columns(log, stages), strict=True)
    ]
    common = _common(log, inputs, sources)
    of_linear = [] if linear is None else [_source_of_linear(linear, inputs)]
    known = _nonnegative_sum(log, [*sources, *of_linear])
    basic = _basic(log, known)
    is_short = any(stage.start == FOREST for stage in stages)
    if gain is None:
        gain = _gain(log, common.left_out, basic.left_out)
        if is_short and _log_ratio(log, common.left_out, basic.left_out) >= LIKELIER:
            gain = max(gain, HELPS)
    if gain < HELPS:
        constant = fit_constant(log, gain)
        x_helps = _gain(log, constant.left_out, common.left_out) >= HELPS
        return FinalModel(stages, inputs, *common, gain) if x_helps else constant
    trust = min(max((gain - UNTRUSTED) / (TRUSTED - UNTRUSTED), 0.0), 1.0)
    combinations = [(list(range(len(stages))), known)]
    if is_short:
        # Too few rows to learn how much of each stage to use for which action: one regression per stage, averaged.
        trust = SHARE_IF_SHORT
        combinations = [([place], _sum_of([source, *of_linear])) for place, source in enumerate(sources)]
    if trust == 0:
        return FinalModel(stages, inputs, *basic, gain)
    members = [_unconstrained(log, stages, inputs, sources, places, base) for places, base in combinations]
    unconstrained = Scores(*(np.mean(same, axis=0) for same in zip(*members, strict=True)))
    mixed = [(1 - trust) * one + trust * other for one, other in zip(basic, unconstrained, strict=True)]
    return FinalModel(stages, inputs, mixed[0], mixed[1], gain)


def fit_final_without_folds(
    log: BoostedLog,
    stages: list[Stage],
    parts: list[NDArray[np.float64]],
    linear: LinearScores | None,
    fold: NDArray[np.intp],
    gain: float,
) -> WithoutFolds:
    """Fit the final regression without each fold, so that a row's reward has no influence on the choice for it.

    Leave-one-out scores exist for a row's own action only. Compared with scores of other actions that have seen the
    row, they are lowest if the row earned most: if actions are nearly equal, its own would then be avoided.
    """
    inputs = _all_inputs(log, stages, parts)
    slopes = np.zeros((int(fold.max()) + 1, log.n_actions, inputs.shape[1]))
    for f, own in enumerate(slopes):
        rows = np.flatnonzero(fold != f)
        # What is predicted for the fold must not come from linear models that were trained on it.
        of_rows = None if linear is None else LinearScores(linear.weights[f : f + 1], linear.own[rows])
        found = fit_final(log.take(rows), stages, [part[rows] for part in parts], of_rows, gain).slopes
        own[:, : found.shape[1]] = found
    return WithoutFolds(inputs, slopes, fold)


def _all_inputs(log: BoostedLog, stages: list[Stage], parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.hstack([log.design, *(part / stage.scale for stage, part in zip(stages, parts, strict=True))])


def fit_constant(log: BoostedLog, gain: float = 0.0) -> FinalModel:
    """Fit scores that do not depend on x."""
    models = constant_models(log)
    return FinalModel([], log.design[:, :1], models.weights, models.left_out, gain)


def _first_columns(log: BoostedLog, stages: list[Stage]) -> list[int]:
    """Return the first column of each stage's directions in the inputs."""
    sizes = [log.design.shape[1], *(stage.basis.shape[1] for stage in stages)]
    return [int(each) for each in np.cumsum(sizes)[:-1]]


def _source_of_stage(log: BoostedLog, stage: Stage, inputs: NDArray[np.float64], begin: int) -> Source:
    """Return the scores of one stage, whose directions begin at a column of the inputs."""
    slopes = np.zeros((len(stage.basis), inputs.shape[1]))
    slopes[:, 0] = stage.centre
    slopes[:, begin : begin + stage.basis.shape[1]] = stage.basis * stage.scale
    return Source(slopes, np.einsum("ip,ip->i", inputs, slopes[log.action]))


def _source_of_linear(linear: LinearScores, inputs: NDArray[np.float64]) -> Source:
    mean = linear.weights.mean(axis=0)
    slopes = np.zeros((len(mean), inputs.shape[1]))
    slopes[:, : mean.shape[1]] = mean
    return Source(slopes, linear.own)


def _sum_of(sources: list[Source]) -> Source:
    return Source(*(np.sum(same, axis=0) for same in zip(*sources, strict=True)))


def _basic(log: BoostedLog, known: Source) -> Scores:
    """Add x or a constant per action to a nonnegative sum, whichever has the lower leave-one-out loss."""
    n_design = log.design.shape[1]
    level = constant_models(log, known.own)
    of_x = regression(log, log.design, groups_of(n_design), np.zeros(n_design), known.own)
    return _best(log, [_plus(known.slopes, models) for models in (level, of_x)])


def _common(log: BoostedLog, inputs: NDArray[np.float64], sources: list[Source]) -> Scores:
    """Fit one function of x for all actions (from the mean scores, and x if it helps), and a constant per action."""
    count = np.bincount(log.action, log.weight, minlength=log.n_actions)
    means = [count @ source.slopes / count.sum() for source in sources]
    alike = [np.broadcast_to(mean, source.slopes.shape) for mean, source in zip(means, sources, strict=True)]
    slopes, known = _nonnegative_sum(log, [Source(each, inputs @ each[0]) for each in alike])
    n_design = log.design.shape[1]
    as_one = log._replace(action=np.zeros_like(log.action), n_actions=1)
    of_x = regression(as_one, log.design, groups_of(n_design), np.zeros(n_design), known)
    with_x = _plus(_plus(slopes, of_x).slopes, constant_models(log, of_x.left_out))
    return _best(log, [_plus(slopes, constant_models(log, known)), with_x])


def _plus(slopes: NDArray[np.float64], models: ShrunkenModels) -> Scores:
    """Return the scores with models of the first inputs added."""
    total = slopes.copy()
    total[:, : models.weights.shape[1]] += models.weights
    return Scores(total, models.left_out)


def _best(log: BoostedLog, scores: list[Scores]) -> Scores:
    """Return the scores of the lowest leave-one-out loss; of equals the first."""
    return min(scores, key=lambda each: float(np.average(_left_out_losses(log, each.left_out), weights=log.weight)))


def _unconstrained(
    log: BoostedLog,
    stages: list[Stage],
    inputs: NDArray[np.float64],
    sources: list[Source],
    places: list[int],
    known: Source,
) -> Scores:
    """Add to known scores a regression, per action, on x, the directions of some stages, and their own scores."""
    begins = _first_columns(log, stages)
    blocks = [np.arange(begins[place], begins[place] + stages[place].basis.shape[1]) for place in places]
    columns = np.concatenate([np.arange(begins[0]), *blocks])
    ends = np.cumsum([begins[0], *(len(block) for block in blocks), *(1 for _ in places)])
    groups = [*groups_of(begins[0]), *(slice(int(begin), int(end)) for begin, end in pairwise(ends))]
    design = np.column_stack([inputs[:, columns], *(sources[place].own for place in places)])
    models = regression(log, design, groups, np.zeros(design.shape[1]), known.own)
    slopes = known.slopes.copy()
    slopes[:, columns] += models.weights[:, : len(columns)]
    for place, weights in zip(places, models.weights[:, len(columns) :].T, strict=True):
        slopes += weights[:, np.newaxis] * sources[place].slopes
    return Scores(slopes, models.left_out)


def _nonnegative_sum(log: BoostedLog, sources: list[Source]) -> Source:
    """Fit a constant plus scores with nonnegative weights that all actions share."""
    columns = np.column_stack([np.ones(len(log.reward)), *(source.own for source in sources)])
    counts = np.ones(len(log.reward)) if log.weight is None else log.weight

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        score = columns @ weights
        slope = sigmoid(score) - log.reward if log.logistic else 2 * (score - log.reward)
        return float(np.mean(counts * _losses(log, score))), np.asarray((counts * slope) @ columns / len(score))

    first = np.array([0.0, *(1 / len(sources) for _ in sources)])
    bounds = [(None, None), *((0, None) for _ in sources)]
    weights = minimize(loss, first, jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = np.zeros(sources[0].slopes.shape)
    slopes[:, 0] = weights[0]
    for weight, source in zip(weights[1:], sources, strict=True):
        slopes += weight * source.slopes
    return Source(slopes, np.asarray(columns @ weights))


def _losses(log: BoostedLog, score: NDArray[np.float64]) -> NDArray[np.float64]:
    return loss_of(score, log.reward, log.logistic)


def _left_out_losses(log: BoostedLog, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses of leave-one-out scores, of which none may outweigh all others.

    They are extrapolated by one Newton step. A log-odds of 60 for a row that earned nothing hid a gain of 12 standard
    errors.
    """
    if log.logistic:
        level = constant_mean(log, 1)[0]
        score = np.clip(score, level - FARTHEST, level + FARTHEST)
    return _losses(log, score)


def _gain(log: BoostedLog, less: NDArray[np.float64], more: NDArray[np.float64]) -> float:
    """Return how much lower the loss of the scores `more` is than that of `less`, in standard errors."""
    gain = _left_out_losses(log, less) - _left_out_losses(log, more)
    if log.weight is not None:
        gain = gain * log.weight
    return float(gain.mean() / (gain.std() / np.sqrt(len(gain)) + 1e-12))


def _log_ratio(log: BoostedLog, less: NDArray[np.float64], more: NDArray[np.float64]) -> float:
    """Return the logarithm of how much likelier rewards 0 and 1 are by the scores `more` than by `less`.

    If few rows earned anything, a gain comes from few rows. Their standard error is then too large to tell.
    """
    gain = _left_out_losses(log, less) - _left_out_losses(log, more)
    return float(gain.sum()) if log.logistic and log.weight is None else 0.0


def groups_of(n_design: int) -> list[slice]:
    """Return the groups of columns: the constant, and x if there is any."""
    return [slice(0, 1), slice(1, n_design)] if n_design > 1 else [slice(0, 1)]


def regression(
    log: BoostedLog,
    design: NDArray[np.float64],
    groups: list[slice],
    mean: NDArray[np.float64],
    known: NDArray[np.float64] | None = None,
) -> ShrunkenModels:
    """Fit a linear model per action, with the log's loss and weights."""
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
    """Fit a constant score per action, shrunk towards the mean of all."""
    mean = constant_mean(log, 1) if known is None else np.zeros(1)
    return regression(log, log.design[:, :1], [slice(0, 1)], mean, known)


def constant_mean(log: BoostedLog, n_columns: int) -> NDArray[np.float64]:
    """Return the weights of the model that predicts the mean reward everywhere."""
    mean = np.zeros(n_columns)
    level = float(np.average(log.reward, weights=log.weight))
    if log.logistic:
        level = min(max(level, 1e-6), 1 - 1e-6)
        level = float(np.log(level / (1 - level)))
    mean[0] = level
    return mean
