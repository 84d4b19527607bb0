"""Online reward regression: a linear reward model per action; the action of the largest prediction is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features, count_rows
from offsettree._lazy import ModuleOnDemand
from offsettree.online._layout import RegressionModel, make_layout, new_scales, new_weights, table_of
from offsettree.online._models import OnlineRegression
from offsettree.online._policy import OnlinePolicy, check_bits, check_rate
from offsettree.reading import ColumnSpace

__all__ = ["OnlineRewardRegression"]


class OnlineRewardRegression(OnlinePolicy):
    """A linear reward model per action, learned one row at a time; the action of the largest prediction is taken.

    This is the online form of `RewardRegression`, best if rewards are nearly linear in the features. Each row updates
    the model of its own action only, by least squares. Learning takes one step per row, whatever the number of actions.
    A decision takes k dot products; `OnlineOffsetTree` takes about log2 k. Propensities are checked, but not used.

    Parameters
    ----------
    learning_rate : "adaptive" or float, default="adaptive"
        "adaptive": every weight has its own rate, which falls with its sum of squared gradients, and features are
        scaled by their largest absolute value so far (at least 1e-15), so that nothing needs tuning or scaling. A
        number: a constant rate, and features are not scaled.
    n_bits : int, optional
        Hash features into 2 ** n_bits buckets for all actions together (12 bytes each: a weight, its sum of squared
        gradients, and a scale), which bounds the memory. By default every action has a weight for every feature.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of shape (n_actions,), optional
        All action labels, in the order wanted for `actions_`. Required, except for `fit`.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    n_rows_seen_ : int
        The number of rows learned from.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The prediction for an action never seen is the mean of all rewards so far; its model starts from there when it is
    first seen. Ties go to the first action.

    A step moves the prediction towards the reward as many small steps would, and never beyond it (Karampatziakis and
    Langford, 2011).

    References
    ----------
    Beygelzimer and Langford, "The Offset Tree for Learning with Partial Labels", KDD 2009, Algorithms 4 and 5.
    Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 2011.
    Ross, Mineiro and Langford, "Normalized online learning", UAI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import OnlineRewardRegression, simulate_log
    >>> log = simulate_log(*load_digits(return_X_y=True), random_state=0)
    >>> policy = OnlineRewardRegression(actions=range(10))
    >>> for _ in range(5):
    ...     policy = policy.partial_fit(**log.arrays())
    >>> policy.decide(log.X[0])
    0
    >>> policy.predict_rewards(log.X).shape
    (1797, 10)
    """

    _has_table_kernels = True
    _kernels = ModuleOnDemand("offsettree.online._kernels_regression")

    def __init__(
        self,
        *,
        learning_rate: float | Literal["adaptive"] = "adaptive",
        n_bits: int | None = None,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.n_bits = n_bits
        self.reward_range = reward_range
        self.actions = actions

    @property
    def n_rows_seen_(self) -> int:
        """The number of rows learned from."""
        model: RegressionModel | None = self.__dict__.get("_model")
        if model is None:
            raise AttributeError("the policy has not learned from any row yet.")
        return int(model.totals[0])

    def predict_rewards(self, X: Features) -> NDArray[np.float64]:
        """Return the predicted reward of each action in each row, in the order of `actions_`.

        A linear model may predict values outside the range of rewards, far from the rows it has seen.
        """
        X = self._checked(X)
        check_is_fitted(self, "_model")
        score = np.empty((count_rows(X), len(self.actions_)))
        model = self._kernels.ToChoose(*self._model.for_choosing())
        self._kernels.score_rows(model, table_of(model.layout, X), score)
        low, high = self._range
        return np.asarray(low + (score + 1) / 2 * (high - low))

    def _settings(self) -> tuple[Any, ...]:
        return *super()._settings(), self.learning_rate, self.n_bits

    def _new_model(self, n_features: int) -> RegressionModel:
        rate, n_bits = check_rate(self.learning_rate), check_bits(self.n_bits)
        adaptive = isinstance(self.learning_rate, str)
        n_actions = len(self.actions_)
        layout = make_layout(n_features, n_actions, bias=True, spacing=2 if adaptive else 1, n_bits=n_bits)
        return RegressionModel(
            layout,
            weights=new_weights(layout),
            scales=new_scales(layout) if adaptive else None,
            starts=np.full(n_actions, np.nan),
            totals=np.zeros(3),
            rate=np.array([rate]),
        )

    def _as_model(self, space: ColumnSpace) -> OnlineRegression:
        model = self._model
        layout, weights = OnlineRegression.for_deciding(model.layout, model.weights)
        n_rows, _, rewards = model.totals.tolist()
        mean = min(max(rewards / n_rows, 0.0), 1.0) if n_rows > 0 else 0.5
        return OnlineRegression(layout, weights, OnlineRegression.bits_of(layout), model.starts, mean, model.scales)
