"""The regressions that the final one is made of, and how much better one predicts rows left out than another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from offsettree.reductions.boosting._boosting import BoostedLog, loss_of
from offsettree.reductions.boosting._shrunken import ShrunkenModels, fit_shrunken_models, sigmoid

FARTHEST = 5.0  # from the mean score, in log-odds, that a leave-one-out score counts


class Source(NamedTuple):
    """Scores to regress on: their slopes on the inputs, and the held-out score of each row's own action."""

    slopes: NDArray[np.float64]
    own: NDArray[np.float64]


class Scores(NamedTuple):
    """Slopes of scores on the inputs, and leave-one-out scores of each row's own action."""

    slopes: NDArray[np.float64]
    left_out: NDArray[np.float64]


def nonnegative_sum(log: BoostedLog, sources: list[Source]) -> Source:
    """Fit a constant plus scores with nonnegative weights that all actions share."""
    columns = np.column_stack([np.ones(len(log.reward)), *(source.own for source in sources)])
    counts = np.ones(len(log.reward)) if log.weight is None else log.weight

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        score = columns @ weights
        slope = sigmoid(score) - log.reward if log.logistic else 2 * (score - log.reward)
        mean = np.mean(counts * loss_of(score, log.reward, log.logistic))
        return float(mean), np.asarray((counts * slope) @ columns / len(score))

    first = np.array([0.0, *(1 / len(sources) for _ in sources)])
    bounds = [(None, None), *((0, None) for _ in sources)]
    weights = minimize(loss, first, jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = np.zeros(sources[0].slopes.shape)
    slopes[:, 0] = weights[0]
    for weight, source in zip(weights[1:], sources, strict=True):
        slopes += weight * source.slopes
    return Source(slopes, np.asarray(columns @ weights))


class Regressions:
    """Regressions by name: each starts from the first of that name, which was of nearly the same rows."""

    def __init__(self) -> None:
        self._first: dict[str, ShrunkenModels] = {}

    def fit(
        self, name: str, log: BoostedLog, design: NDArray[np.float64], groups: list[slice], known: NDArray[np.float64]
    ) -> ShrunkenModels:
        """Fit a linear model per action to what known scores leave over."""
        models = regression(log, design, groups, np.zeros(design.shape[1]), known, self._first.get(name))
        self._first.setdefault(name, models)
        return models


def fit_basic(log: BoostedLog, known: Source, regressions: Regressions) -> Scores:
    """Add x or a constant per action to a nonnegative sum, whichever has the lower leave-one-out loss."""
    level = constant_models(log, known.own)
    of_x = regressions.fit("x", log, log.design, groups_of(log.design.shape[1]), known.own)
    return _best(log, [_plus(known.slopes, models) for models in (level, of_x)])


def add_if_better(log: BoostedLog, scores: Scores, source: Source, least: float) -> Scores:
    """Add other scores, both with nonnegative weights, if the likelihood of held-out rewards grows by `least` nats.

    That is the difference of the logarithms; 2 nats are 2 standard errors of the weight of what is added.
    """
    alone, both = (nonnegative_sum(log, parts) for parts in ([Source(*scores)], [Source(*scores), source]))
    before, after = (
        np.average(loss_of(each.own, log.reward, log.logistic), weights=log.weight) for each in (alone, both)
    )
    gained = before - after if log.logistic else np.log((before + 1e-300) / (after + 1e-300)) / 2
    return Scores(*both) if gained * len(log.reward) >= least else scores


def fit_common(log: BoostedLog, inputs: NDArray[np.float64], sources: list[Source]) -> Scores:
    """Fit one function of x for all actions (from the mean scores, and x if it helps), and a constant per action."""
    count = np.bincount(log.action, log.weight, minlength=log.n_actions)
    means = [count @ source.slopes / count.sum() for source in sources]
    alike = [np.broadcast_to(mean, source.slopes.shape) for mean, source in zip(means, sources, strict=True)]
    slopes, known = nonnegative_sum(log, [Source(each, inputs @ each[0]) for each in alike])
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


def _left_out_losses(log: BoostedLog, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses of leave-one-out scores, of which none may outweigh all others.

    They are extrapolated by one Newton step. A log-odds of 60 for a row that earned nothing hid a gain of 12 standard
    errors.
    """
    if log.logistic:
        level = constant_mean(log, 1)[0]
        score = np.clip(score, level - FARTHEST, level + FARTHEST)
    return loss_of(score, log.reward, log.logistic)


def gain_of(log: BoostedLog, less: NDArray[np.float64], more: NDArray[np.float64]) -> float:
    """Return how much lower the loss of the scores `more` is than that of `less`, in standard errors."""
    gain = _left_out_losses(log, less) - _left_out_losses(log, more)
    if log.weight is not None:
        gain = gain * log.weight
    return float(gain.mean() / (gain.std() / np.sqrt(len(gain)) + 1e-12))


def tells_apart(
    log: BoostedLog,
    inputs: NDArray[np.float64],
    common: Scores,
    scores: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> float:
    """Return how far held-out scores go along with what `common` leaves over of the rewards, in standard errors.

    A score counts by its lead over the mean score of all actions in its row. From each lead, the mean lead of the rows
    with the same action is subtracted. Scores need the right direction only; a lower loss needs the right size too,
    and so about four times the rows where x tells little.
    """
    slopes, own = scores
    ahead = own - inputs @ slopes.mean(axis=0)
    count = np.bincount(log.action, minlength=log.n_actions)
    mean = np.bincount(log.action, ahead, minlength=log.n_actions) / np.maximum(count, 1)
    expected = sigmoid(common.left_out) if log.logistic else common.left_out
    moment = (log.reward - expected) * (ahead - mean[log.action])
    if log.weight is not None:
        moment = moment * log.weight
    return float(moment.sum() / (np.sqrt((moment**2).sum()) + 1e-12))


def groups_of(n_design: int) -> list[slice]:
    """Return the groups of columns: the constant, and x if there is any."""
    return [slice(0, 1), slice(1, n_design)] if n_design > 1 else [slice(0, 1)]


def regression(
    log: BoostedLog,
    design: NDArray[np.float64],
    groups: list[slice],
    mean: NDArray[np.float64],
    known: NDArray[np.float64] | None = None,
    near: ShrunkenModels | None = None,
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
        near=near,
        room=log.room,
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
