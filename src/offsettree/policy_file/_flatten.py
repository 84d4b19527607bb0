"""From a fitted policy of any kind to a model in flat arrays: the one place that knows all policies."""

from __future__ import annotations

from typing import Any, NamedTuple

from offsettree._features import is_frame, numeric_columns
from offsettree._traits import takes_missing
from offsettree.base import BasePolicy
from offsettree.online import Banditron, OnlineOffsetTree, OnlineRewardRegression
from offsettree.policy_file._boosted import Boosted
from offsettree.policy_file._flatten_classes import flatten_importance_weighted
from offsettree.policy_file._flatten_contests import flatten_contests, flatten_native
from offsettree.policy_file._flatten_rewards import flatten_doubly_robust, flatten_reward_regression
from offsettree.policy_file._flatten_rules import flatten_policy_tree
from offsettree.policy_file._inputs import Inputs
from offsettree.policy_file._models import Constant, Model
from offsettree.policy_file._not_flat import NotFlat, name_of
from offsettree.policy_file._online import OnlineBanditron, OnlineRegression, OnlineTree
from offsettree.policy_file._space import ColumnSpace
from offsettree.policy_file._tournaments import Tournaments
from offsettree.reductions import (
    BinaryOffset,
    ConstantPolicy,
    DoublyRobust,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
)
from offsettree.reductions._native import NativeContests
from offsettree.topology import ActionTree

__all__ = ["Flat", "flatten", "inputs_of"]

# By which a policy decides: a subclass that has its own is another policy.
DECIDES_BY = ("_choose", "_choose_within", "_positions", "predict", "predict_proba", "decide", "_rank")


class Flat(NamedTuple):
    """A policy in flat arrays, and what it takes."""

    model: Model
    inputs: Inputs


def flatten(policy: BasePolicy) -> Flat:
    """Flatten a fitted policy; `NotFlat` says what stands in the way."""
    kind = next((each for each in FLATTENED if isinstance(policy, each)), None)
    if kind is None or any(getattr(type(policy), name) is not getattr(kind, name) for name in DECIDES_BY):
        raise NotFlat(name_of(policy))
    space = _space_of(policy)
    model = FLATTENED[kind](policy, space)
    return Flat(model, inputs_of(policy, space, model))


def _space_of(policy: BasePolicy) -> ColumnSpace:
    names = getattr(policy, "feature_names_in_", None)
    frame = policy._frame_like
    nominal = [] if frame is None else [name for name in frame.columns if name not in set(numeric_columns(frame))]
    listed = None if names is None else names.tolist()
    return ColumnSpace(policy.n_features_in_, listed, nominal if is_frame(frame) else [])


def inputs_of(policy: BasePolicy, space: ColumnSpace | None = None, model: Model | None = None) -> Inputs:
    """Return what a policy takes."""
    names = getattr(policy, "feature_names_in_", None)
    learner = policy._learner()
    fills = model is None or model.takes_missing
    return Inputs(
        int(policy.n_features_in_),
        None if names is None else tuple(map(str, names)),
        fills and takes_missing(learner),
        fills and takes_missing(learner, sparse=True),
        None if space is None else space.encoding(),
    )


def _flatten_offset_tree(policy: OffsetTree, space: ColumnSpace) -> Model:
    contests: Any = policy.estimators_
    flat = (
        flatten_native([contests], space) if isinstance(contests, NativeContests) else flatten_contests(contests, space)
    )
    return Tournaments([policy.tree_], flat, voting=False)


def _flatten_offset_forest(policy: OffsetForest, space: ColumnSpace) -> Model:
    members = policy.estimators_
    if all(isinstance(member.estimators_, NativeContests) for member in members):
        contests: Any = flatten_native([member.estimators_ for member in members], space)  # type: ignore[misc]
    else:
        contests = flatten_contests([each for member in members for each in member.estimators_], space)
    return Tournaments([member.tree_ for member in members], contests, voting=True)


def _flatten_binary_offset(policy: BinaryOffset, space: ColumnSpace) -> Model:
    return Tournaments([ActionTree.balanced(2)], flatten_contests([policy.estimator_], space), voting=False)


def _flatten_online(policy: OnlineOffsetTree, space: ColumnSpace) -> Model:
    model = policy._model
    layout, weights = OnlineTree.for_deciding(model.layout, model.weights)
    return OnlineTree(layout, weights, OnlineTree.bits_of(layout), policy.tree_, model.scales)


def _flatten_banditron(policy: Banditron, space: ColumnSpace) -> Model:
    model = policy._model
    n_bits = OnlineBanditron.bits_of(model.layout)
    return OnlineBanditron(model.layout, model.weights, n_bits, len(policy.actions_), float(policy.gamma))


def _flatten_online_regression(policy: OnlineRewardRegression, space: ColumnSpace) -> Model:
    model = policy._model
    layout, weights = OnlineRegression.for_deciding(model.layout, model.weights)
    n_rows, _, rewards = model.totals.tolist()
    mean = min(max(rewards / n_rows, 0.0), 1.0) if n_rows > 0 else 0.5
    return OnlineRegression(layout, weights, OnlineRegression.bits_of(layout), model.starts, mean, model.scales)


FLATTENED: dict[type[BasePolicy], Any] = {
    OffsetTree: _flatten_offset_tree,
    OffsetForest: _flatten_offset_forest,
    BinaryOffset: _flatten_binary_offset,
    ConstantPolicy: Constant.of,
    PolicyTree: flatten_policy_tree,
    RewardBoosting: Boosted.of,
    RewardRegression: flatten_reward_regression,
    DoublyRobust: flatten_doubly_robust,
    ImportanceWeighted: flatten_importance_weighted,
    OnlineOffsetTree: _flatten_online,
    OnlineRewardRegression: _flatten_online_regression,
    Banditron: _flatten_banditron,
}
