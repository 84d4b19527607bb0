"""Policies that take the action of the largest predicted reward, as models in flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from offsettree.learners import ConstantRegressor
from offsettree.models.planes import Planes
from offsettree.models.scores import BoostedRewardScores, LeafMeans, LinearScores, Scores, TreeScores
from offsettree.models.tree_table import TreeTable
from offsettree.reading.cannot_flatten import CannotFlatten, name_of
from offsettree.reading.choice_column import read_by_action
from offsettree.reading.columns import ColumnSpace
from offsettree.reading.pieces import LinearPiece
from offsettree.reading.pipelines import steps_before
from offsettree.reading.scores import join_pieces, read_regressor
from offsettree.reading.trees import TreeList, read_tree
from offsettree.reductions._boosted_rewards import BoostedRewards
from offsettree.reductions._corrections import ForestCorrections, RegressedCorrections
from offsettree.reductions._reward_models import LinearRewards, RegressedRewards

if TYPE_CHECKING:
    from offsettree.reductions.doubly_robust import DoublyRobust
    from offsettree.reductions.reward_regression import RewardRegression


def flatten_reward_regression(policy: RewardRegression, space: ColumnSpace) -> Scores:
    """Flatten one regressor per action, or one for all of them."""
    n_actions = len(policy.actions_)
    if policy.per_action:
        return Scores([join_pieces([read_regressor(each, space) for each in policy.estimators_], space)], n_actions)
    if policy._as_category:
        return Scores([_by_category(policy, space)], n_actions)
    piece = read_regressor(policy.estimators_[0], space, n_more=n_actions)
    logged, mean, n = policy._was_logged, policy._mean_reward, space.n_columns
    if isinstance(piece, LinearPiece):
        own = piece.bias[0] + piece.weights[0, n:]
        weights = np.where(logged[:, np.newaxis], piece.weights[:, :n], 0.0)
        missing = None
        if piece.at_missing is not None:
            missing = np.where(logged[:, np.newaxis], piece.at_missing[:, :n], 0.0)
        return Scores([LinearScores(Planes(weights, np.where(logged, own, mean), missing))], n_actions)
    if len(piece.base) != 1:
        raise CannotFlatten("a regressor of several targets")
    trees = TreeList()
    trees.extend(piece.trees, -1)
    sums = trees.sums(
        np.where(logged, piece.base[0], mean),
        np.where(logged, piece.divisor, 1.0),
        narrow=piece.narrow,
        which=np.where(logged, np.arange(n_actions), -1).astype(np.int32),
    )
    return Scores([TreeScores(sums)], n_actions)


def _by_category(policy: RewardRegression, space: ColumnSpace) -> LinearScores | TreeScores:
    logged = np.flatnonzero(policy._was_logged)
    read = dict(zip(logged.tolist(), read_by_action(policy.estimators_[0], space, logged), strict=True))
    unknown = read_regressor(ConstantRegressor(policy._mean_reward), space)
    return join_pieces([read.get(action, unknown) for action in range(len(policy.actions_))], space)


def flatten_doubly_robust(policy: DoublyRobust, space: ColumnSpace) -> Scores:
    """Flatten the reward model and the corrections."""
    n_actions = len(policy.actions_)
    model, corrections = policy._model, policy._corrections
    pieces: list[Any] = []
    if isinstance(model, LinearRewards):
        pieces.append([_linear_rewards(model, space)])
    elif isinstance(model, BoostedRewards):
        fitted = model.policy
        pieces.append(BoostedRewardScores(fitted._as_boosted(space), fitted._logistic, fitted._unit))
    elif isinstance(model, RegressedRewards):
        pieces.append([read_regressor(each, space) for each in model._models])
    else:
        raise CannotFlatten(name_of(model))
    if isinstance(corrections, ForestCorrections):
        pieces.append(_leaf_means(corrections, space))
    elif isinstance(corrections, RegressedCorrections):
        pieces.append([read_regressor(each, space) for each in corrections._models])
    else:
        raise CannotFlatten(name_of(corrections))
    # Joined only now, as reading may have found more columns.
    joined = [
        join_pieces(each, space, clipped=place == 0) if isinstance(each, list) else each
        for place, each in enumerate(pieces)
    ]
    return Scores(joined, n_actions)


def _linear_rewards(model: LinearRewards, space: ColumnSpace) -> LinearPiece:
    """Fold standardised columns, flags of missing values and directions into weights of the columns themselves."""
    design = model._design
    source = space.numbers if model._encoder is None else steps_before(model._encoder, space).source
    slopes = model._scale * model._weights[:, 1:]
    if design._directions is not None:
        slopes = slopes @ design._directions.T
    bias = model._mean + model._scale * model._weights[:, 0] - slopes @ design._shift
    per_column = slopes / design._deviation
    n_seen = len(source)
    of_number = design._columns < n_seen
    n_actions = len(slopes)
    weights, missing = np.zeros((n_actions, space.n_columns)), np.zeros((n_actions, space.n_columns))
    numbers = design._columns[of_number]
    np.add.at(weights.T, source[numbers], per_column[:, of_number].T)
    np.add.at(missing.T, source[numbers], (per_column[:, of_number] * design._filling[numbers]).T)
    flags = design._flagged[design._columns[~of_number] - n_seen]
    np.add.at(missing.T, source[flags], per_column[:, ~of_number].T)
    return LinearPiece(weights, bias, missing)


def _leaf_means(corrections: ForestCorrections, space: ColumnSpace) -> LeafMeans:
    if corrections._before is None:
        before = space.numbers
    else:
        chosen = steps_before(corrections._before, space)
        if not chosen.only_selects:
            raise CannotFlatten("a forest after a step that scales or fills")
        before = chosen.source
    trees = TreeList()
    for tree in corrections._forest.estimators_:
        read_tree(tree.tree_, trees)
    return LeafMeans(TreeTable.joined(trees.on_columns(before).tables, np.float64), corrections._means)
