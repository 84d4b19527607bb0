"""Scorers by which scikit-learn's model selection compares policies on a log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from offsettree._features import Features
from offsettree.evaluation._terms import METHODS
from offsettree.evaluation.evaluate import evaluate
from offsettree.exceptions import LogError, ParameterError

__all__ = ["PolicyScorer", "make_policy_scorer"]


class PolicyScorer(BaseEstimator):
    """Callable that scikit-learn scores a fitted policy with; made by `make_policy_scorer`.

    An estimator only in that it has parameters, is cloned, and says which metadata it wants.
    """

    # Requested by default: with metadata routing enabled nothing else is to be set.
    __metadata_request__score = {  # noqa: RUF012
        "estimator": UNUSED,
        "reward": True,
        "propensity": True,
        "available": True,
    }

    def __init__(
        self,
        method: str = "snips",
        *,
        reward_model: Any = None,
        actions: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.reward_model = reward_model
        self.actions = actions
        self.random_state = random_state

    def __call__(self, estimator: Any, X: Features, y: ArrayLike, **routed: Any) -> float:
        """Do as `score` does: the form in which scikit-learn asks."""
        return self.score(estimator, X, y, **routed)

    def score(
        self,
        estimator: Any,
        X: Features,
        y: ArrayLike,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        available: Any = None,
    ) -> float:
        """Return the estimated value of a fitted policy on a log, whose actions scikit-learn calls `y`."""
        if reward is None or propensity is None:
            lacking = " and ".join(n for n, v in (("reward", reward), ("propensity", propensity)) if v is None)
            raise LogError(
                f"a policy scorer needs reward and propensity of the rows to score on; {lacking} did not arrive. "
                "Enable sklearn.set_config(enable_metadata_routing=True) and pass both: to the search's fit, or "
                "by params= to cross_val_score."
            )
        estimate = evaluate(
            estimator,
            X,
            y,
            reward=reward,
            propensity=propensity,
            method=self.method,
            reward_model=self.reward_model,
            actions=self.actions,
            available=available,
            baseline=None,
            random_state=self.random_state,
        )
        return estimate.value


def make_policy_scorer(
    method: str = "snips",
    *,
    reward_model: Any = None,
    actions: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> PolicyScorer:
    """Return a scorer for GridSearchCV, cross_val_score and their like: the estimated value of a policy.

    Parameters
    ----------
    method : {"snips", "ips", "direct", "doubly_robust", "switch"}, default="snips"
        The estimator, as in `evaluate`. "direct" trusts its reward model, and so prefers policies that agree with it.
    reward_model : regressor, "boosting" or "linear", optional
        For the last three methods, as in `evaluate`; cross-fitted within the rows that are scored.
    actions : array of shape (n_actions,), optional
        All action labels; by default those that the policy and the log know.
    random_state : int, RandomState instance or None, default=0
        Draws the folds of the reward model. A number gives every candidate the same folds.

    Returns
    -------
    PolicyScorer
        Called as ``scorer(policy, X, action, reward=..., propensity=...)``.

    Notes
    -----
    Reward and propensity reach it by metadata routing, which must be enabled: the ways from before it pass a scorer
    nothing but X and y. The scorer asks for both by itself. Called by hand, it needs no routing.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from offsettree import OffsetTree, make_policy_scorer, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_val_score(
    ...         OffsetTree(random_state=0), log.X, log.action, cv=3, scoring=make_policy_scorer("ips"),
    ...         params={"reward": log.reward, "propensity": log.propensity},
    ...     )
    >>> scores.shape
    (3,)
    """
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    if isinstance(reward_model, np.ndarray | list):
        raise ParameterError(
            "reward_model must be a regressor here: folds take rows out, and an array of predictions cannot follow."
        )
    return PolicyScorer(method, reward_model=reward_model, actions=actions, random_state=random_state)
