"""Scorers of policies for scikit-learn's model selection."""

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
    """Scorer of fitted policies, made by `make_policy_scorer`.

    It is a `BaseEstimator` for parameters, cloning and metadata requests only.
    """

    # Requested by default, so that users need not call set_score_request.
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
        """Call `score`: scikit-learn calls scorers."""
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
        """Return the estimated value of a fitted policy on a log; `y` are the logged actions."""
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
    """Return a scorer, for GridSearchCV, cross_val_score and the like, that estimates the value of a policy.

    Parameters
    ----------
    method : {"snips", "ips", "direct", "doubly_robust", "switch", "log_smoothing"}, default="snips"
        The estimator, as in `evaluate`. "direct" prefers policies that agree with its reward model; "log_smoothing" is
        pessimistic about policies whose value depends on few rows.
    reward_model : regressor, "boosting" or "linear", optional
        For methods with a model, as in `evaluate`; cross-fitted within the scored rows.
    actions : array of shape (n_actions,), optional
        All action labels; by default those of the policy and the log.
    random_state : int, RandomState instance or None, default=0
        Draws the folds of the reward model. An int gives every candidate the same folds.

    Returns
    -------
    PolicyScorer
        Called as ``scorer(policy, X, action, reward=..., propensity=...)``.

    Notes
    -----
    Reward and propensity reach the scorer by metadata routing, which must be enabled. The scorer requests both by
    default. A direct call needs no routing.

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
            "reward_model must be a regressor here, not an array of predictions, which cannot be split into folds."
        )
    return PolicyScorer(method, reward_model=reward_model, actions=actions, random_state=random_state)
