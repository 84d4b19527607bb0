"""The final regression (stacking): how much to use of the trees' held-out scores.

A row's score comes from models trained without its fold, and so depends on the rewards of that fold with the opposite
sign: the mean without some rows is lower, the more these earned. A regression with free signs reads the rewards back
out of such scores, and looks good where there is nothing to learn. So scores enter with nonnegative weights, the same
for all actions, which cannot exploit this. An unconstrained regression of what remains is added only as far as the
nonnegative one shows that x tells which action is better. It sees the scores of trees, but not of linear models, which
differ between folds by just the rewards left out.

A start is what boosting starts from: a constant, linear models, or a forest in place of boosting. A stage is the result
of one start, or the votes of offset trees. Directions are the principal directions, over the actions, of a stage's
scores.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offsettree.reductions.boosting._boosting import BoostedLog, BoostedModel
from offsettree.reductions.boosting._regressions import (
    Regressions,
    Scores,
    Source,
    add_if_better,
    constant_models,
    fit_basic,
    fit_common,
    gain_of,
    groups_of,
    nonnegative_sum,
    tells_apart,
)

HELPS = 2.0  # standard errors by which x must help to distinguish actions; else one action is always taken
TELLS_APART = 1.0  # standard errors, of scores and votes in the mean, which is enough as well on short logs
VOTES = "votes"  # of offset trees, on short logs: one direction per action
FOREST = "forest"  # independent trees grown from the linear start, on short logs
SHARE_IF_SHORT = 0.5  # of the unconstrained regression, with a forest
MORE_VOTES = 2.0  # nats by which held-out rewards must be predicted better with more votes than the regressions use
UNTRUSTED, TRUSTED = 5.0, 25.0  # gains at which the unconstrained regression has the share 0 and 1


class Stage(NamedTuple):
    """The result of one start: the trees of every fold, and the principal directions of their scores."""

    start: str
    models: list[BoostedModel]  # none of votes, whose trees are kept elsewhere
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


class LinearScores(NamedTuple):
    """Linear models without each fold, and the score of each row's action by the model without its fold."""

    weights: NDArray[np.float64]  # of shape (n_folds, n_actions, n_design)
    own: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> LinearScores:
        """Return the scores of some rows."""
        return self._replace(own=self.own[rows])


def fit_final(
    log: BoostedLog,
    stages: list[Stage],
    parts: list[NDArray[np.float64]],
    linear: LinearScores | None = None,
    gain: float | None = None,
    regressions: Regressions | None = None,
) -> FinalModel:
    """Fit the final regression; `parts` are the held-out coordinates along the directions of each stage.

    If x predicts how much all actions earn, but not which earns most, the best action is the same for all x. It is then
    found better by a model with one function of x for all actions. `gain` is how much that model loses; it is estimated
    unless given, as it is where a fold is left out. `regressions` are those of nearly the same rows, to start from.
    """
    regressions = Regressions() if regressions is None else regressions
    inputs = _all_inputs(log, stages, parts)
    sources = [
        _source_of_stage(log, stage, inputs, begin)
        for stage, begin in zip(stages, _first_columns(log, stages), strict=True)
    ]
    is_short = any(stage.start == FOREST for stage in stages)
    votes = [stage.start == VOTES for stage in stages]
    of_linear = [] if linear is None else [_source_of_linear(linear, inputs)]
    estimated = gain is None
    if gain is None or gain < HELPS:
        common = fit_common(log, inputs, [one for one, is_vote in zip(sources, votes, strict=True) if not is_vote])
    if gain is None or gain >= HELPS:
        known = nonnegative_sum(log, [*sources, *of_linear])
        basic = fit_basic(log, known, regressions)
    if gain is None:
        gain = gain_of(log, common.left_out, basic.left_out)
        witnesses = [basic, *(one for one, is_vote in zip(sources, votes, strict=True) if is_vote)]
        if is_short and np.mean([tells_apart(log, inputs, common, each) for each in witnesses]) >= TELLS_APART:
            gain = max(gain, HELPS)
    if gain < HELPS:
        constant = fit_constant(log, gain)
        x_helps = gain_of(log, constant.left_out, common.left_out) >= HELPS
        return FinalModel(stages, inputs, *common, gain) if x_helps else constant
    trust = min(max((gain - UNTRUSTED) / (TRUSTED - UNTRUSTED), 0.0), 1.0)
    name, places = "all", list(range(len(stages)))
    if is_short:
        # Too few rows to learn how much of each stage to use for which action: the forest's scores alone.
        trust = SHARE_IF_SHORT
        # Without a fold, it starts from these alone: else free weights of x would undo the linear models of the other
        # folds, which have seen the fold, and predict it far worse than new rows.
        start_from = of_linear if estimated else []
        places = [place for place in places if stages[place].start == FOREST]
        name, known = f"{FOREST}, {len(start_from)}", _sum_of([*(sources[place] for place in places), *start_from])
    if trust == 0:
        return FinalModel(stages, inputs, *basic, gain)
    unconstrained = _unconstrained(log, stages, inputs, sources, name, places, known, regressions)
    mixed = Scores(*((1 - trust) * one + trust * other for one, other in zip(basic, unconstrained, strict=True)))
    for source, is_vote in zip(sources, votes, strict=True):
        mixed = add_if_better(log, mixed, source, MORE_VOTES) if is_vote else mixed
    return FinalModel(stages, inputs, *mixed, gain)


def fit_final_without_folds(
    log: BoostedLog,
    stages: list[Stage],
    parts: list[NDArray[np.float64]],
    linear: LinearScores | None,
    fold: NDArray[np.intp],
    gain: float,
    regressions: Regressions | None = None,
) -> WithoutFolds:
    """Fit the final regression without each fold, so that a row's reward has no influence on the choice for it.

    Leave-one-out scores exist for a row's own action only. Compared with scores of other actions that have seen the
    row, they are lowest if the row earned most: if actions are nearly equal, its own would then be avoided.
    """
    regressions = Regressions() if regressions is None else regressions
    inputs = _all_inputs(log, stages, parts)
    slopes = np.zeros((int(fold.max()) + 1, log.n_actions, inputs.shape[1]))
    for f, own in enumerate(slopes):
        rows = np.flatnonzero(fold != f)
        # What is predicted for the fold must not come from linear models that were trained on it.
        of_rows = None if linear is None else LinearScores(linear.weights[f : f + 1], linear.own[rows])
        of_parts = [part[rows] for part in parts]
        found = fit_final(log.take(rows), stages, of_parts, of_rows, gain, regressions).slopes
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


def _unconstrained(
    log: BoostedLog,
    stages: list[Stage],
    inputs: NDArray[np.float64],
    sources: list[Source],
    name: str,
    places: list[int],
    known: Source,
    regressions: Regressions,
) -> Scores:
    """Add to known scores a regression, per action, on x, the directions of some stages, and their own scores."""
    begins = _first_columns(log, stages)
    blocks = [np.arange(begins[place], begins[place] + stages[place].basis.shape[1]) for place in places]
    columns = np.concatenate([np.arange(begins[0]), *blocks])
    ends = np.cumsum([begins[0], *(len(block) for block in blocks), *(1 for _ in places)])
    groups = [*groups_of(begins[0]), *(slice(int(begin), int(end)) for begin, end in pairwise(ends))]
    design = np.column_stack([inputs[:, columns], *(sources[place].own for place in places)])
    models = regressions.fit(name, log, design, groups, known.own)
    slopes = known.slopes.copy()
    slopes[:, columns] += models.weights[:, : len(columns)]
    for place, weights in zip(places, models.weights[:, len(columns) :].T, strict=True):
        slopes += weights[:, np.newaxis] * sources[place].slopes
    return Scores(slopes, models.left_out)


def _sum_of(sources: list[Source]) -> Source:
    return Source(*(np.sum(same, axis=0) for same in zip(*sources, strict=True)))
