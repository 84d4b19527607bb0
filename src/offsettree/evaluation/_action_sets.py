"""Logs with a set of eligible actions per row: their masks, decisions within them, and reward models over features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree._features import Features, take_rows
from offsettree.actions import ActionRegression, PopularAction
from offsettree.evaluation._reward_models import Folds, Predictions
from offsettree.evaluation._targets import PairProbabilities, Target
from offsettree.exceptions import LogError, ParameterError
from offsettree.logs import ActionSets


def mask_of(sets: Any, n_rows: int) -> tuple[NDArray[Any], sp.csr_array]:
    """Return all ids, sorted, and which of them each row may choose from."""
    if not isinstance(sets, ActionSets) or len(sets) != n_rows:
        raise LogError(
            f"action_sets must be the eligible actions of each of the {n_rows:,} rows, as ActionSets(...); got "
            f"{f'sets of {len(sets):,} rows' if isinstance(sets, ActionSets) else f'a {type(sets).__name__}'}."
        )
    labels, code = np.unique(sets.ids, return_inverse=True)
    shape = (n_rows, len(labels))
    return labels, sp.csr_array((np.ones(len(code), dtype=bool), code, sets.starts), shape=shape)


def decisions_in(sets: ActionSets, policy: Any, X: Features) -> Any:
    """Return the decisions of a policy over action sets in a form that needs no sets; other policies as they are."""
    if not getattr(policy, "takes_action_sets", False):
        return policy
    if hasattr(policy, "choose"):  # an explorer
        return PairProbabilities(sets.ids, sets.starts, policy.predict_proba(X, action_sets=sets))
    return policy.predict(X, sets)


def predict_set_rewards(
    model: Any,
    X: Features,
    sets: ActionSets,
    pair: NDArray[np.intp],
    reward: NDArray[np.float64],
    targets: list[Target],
    folds: Folds,
    random: np.random.RandomState,
    prior: float,
) -> list[Predictions]:
    """Return cross-fitted predictions for every target, by one model over the features of context and action."""
    if isinstance(model, np.ndarray | list):
        predicted = _given(model, len(sets.ids))
    else:
        predicted = predict_pairs(model, X, sets, pair, reward, folds, random, prior)
    return [Predictions(predicted[pair], _on_policy(target, sets, predicted)) for target in targets]


def predict_pairs(
    model: Any,
    X: Features,
    sets: ActionSets,
    pair: NDArray[np.intp],
    reward: NDArray[np.float64],
    folds: Folds,
    random: np.random.RandomState,
    prior: float,
) -> NDArray[np.float64]:
    """Return the cross-fitted predicted reward of every pair; `pair` is that of the action taken in each row.

    Where actions have no features, each id is predicted by its own mean.
    """
    if isinstance(model, str):
        raise ParameterError(
            "with action sets, reward_model must be a regressor of scikit-learn, which learns from the features of "
            f"context and action, or your own prediction for each pair; got {model!r:.60}."
        )
    low, high = float(reward.min()), float(reward.max())
    predicted = np.empty(len(sets.ids))
    has_features = sets.n_item_features + sets.n_pair_features > 0
    for train, test in folds:
        part, places = sets.take(test), _pairs_of(sets, test)
        if len(train) == 0 or low == high:
            predicted[places] = prior if len(train) == 0 else low
            continue
        fitted: Any = PopularAction(reward_range=(low, high))
        if has_features:
            fitted = ActionRegression(model, id_effects=False, reward_range=(low, high), random_state=random)
        own = sets.take(train)
        fitted.fit(take_rows(X, train), sets.ids[pair[train]], reward=reward[train], propensity=1.0, action_sets=own)
        predicted[places] = fitted.predict_rewards(take_rows(X, test), part)
    return predicted


def _given(model: Any, n_pairs: int) -> NDArray[np.float64]:
    """Return predictions of the caller's own, one per pair."""
    try:
        predicted = np.asarray(model, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"reward_model must be numbers, one per pair of row and action; {error}.") from None
    if predicted.shape != (n_pairs,) or not np.isfinite(predicted).all():
        raise ParameterError(
            f"with action sets, an array as reward_model must have a finite prediction per pair of row and action, "
            f"{n_pairs:,}, in the order of action_sets.ids; got shape {predicted.shape}."
        )
    return predicted


def _pairs_of(sets: ActionSets, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    sizes = sets.sizes[rows]
    ends = np.cumsum(sizes)
    return np.asarray(np.repeat(sets.starts[:-1][rows] - (ends - sizes), sizes) + np.arange(ends[-1]), dtype=np.intp)


def _on_policy(target: Target, sets: ActionSets, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    code = np.unique(sets.ids, return_inverse=True)[1]
    row = np.repeat(np.arange(len(sets)), sets.sizes)
    if target.chosen is not None:
        return predicted[np.flatnonzero(code == target.chosen[row])]
    probability = np.empty(len(code))
    for each in range(len(sets)):
        span = slice(sets.starts[each], sets.starts[each + 1])
        probability[span] = target.probability(np.array([each]))[0, code[span]]
    return np.asarray(np.bincount(row, probability * predicted))
