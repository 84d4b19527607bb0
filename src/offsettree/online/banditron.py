"""The Banditron, the paper's rival in section 7.2: a multiclass perceptron with bandit feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features
from offsettree._lazy import ModuleOnDemand
from offsettree.online._layout import BanditronModel, make_layout, new_weights
from offsettree.online._models import OnlineBanditron
from offsettree.online._policy import OnlinePolicy
from offsettree.online.explorer import Explores, check_probability
from offsettree.reading import ColumnSpace

__all__ = ["Banditron"]


class Banditron(Explores, OnlinePolicy):
    """One linear model per action; explores with a fixed probability, and learns from every row.

    The row is subtracted from the model of the greedy action and added, times reward / propensity, to the model of the
    chosen action. If one action earns 1 and all others 0, this is on average the step of the multiclass perceptron.

    Parameters
    ----------
    gamma : float, default=0.05
        The probability of exploration. With 0 other actions are never tried.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward; they are scaled to 0 and 1.
    actions : array of shape (n_actions,), optional
        All action labels, in the order wanted for `actions_`. Required, except for `fit`.
    random_state : int, RandomState, Generator or None, default=None
        Draws the exploration.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    n_chosen_ : int
        The number of actions chosen by `choose`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    There is no intercept, as in the original: add a constant feature if you want one. A decision takes k dot products.

    References
    ----------
    Kakade, Shalev-Shwartz and Tewari, "Efficient bandit algorithms for online multiclass prediction", ICML 2008.

    Examples
    --------
    >>> from offsettree import Banditron
    >>> banditron = Banditron(actions=["mail", "call"], random_state=0)
    >>> for row in range(1000):
    ...     x = [row % 2, 1.0]
    ...     action, propensity = banditron.choose(x)
    ...     reward = float((action == "mail") == (row % 2 == 0))
    ...     banditron = banditron.learn(x, action, reward, propensity)
    >>> banditron.decide([0, 1.0]), banditron.decide([1, 1.0])
    ('mail', 'call')
    """

    _kernels = ModuleOnDemand("offsettree.online._kernels_banditron")

    def __init__(
        self,
        *,
        gamma: float = 0.05,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.gamma = gamma
        self.reward_range = reward_range
        self.actions = actions
        self.random_state = random_state

    def choose(self, x: Any) -> tuple[Any, float]:
        """Return an action for one context, and the probability with which it was chosen."""
        greedy, _ = super().choose(x)
        known = self.__dict__.get("_row_checks")
        action, propensity = self._draw(
            self._labels.index(greedy) if known is None else known[0][greedy], len(self._labels)
        )
        return self._labels[action], propensity

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the action of each row, without exploring."""
        return OnlinePolicy.predict(self, X, available)

    def _rates(self, first: int, n_rows: int) -> NDArray[np.float64]:
        return np.full(n_rows, check_probability(self.gamma, "gamma"))

    def _rate_settings(self) -> tuple[Any, ...]:
        return (self.gamma,)

    def _new_model(self, n_features: int) -> BanditronModel:
        check_probability(self.gamma, "gamma")
        layout = make_layout(n_features, len(self.actions_), bias=False)
        return BanditronModel(layout, new_weights(layout))

    def _as_model(self, space: ColumnSpace) -> OnlineBanditron:
        layout, weights = self._model.layout, self._model.weights
        n_bits = OnlineBanditron.bits_of(layout)
        return OnlineBanditron(layout, weights, n_bits, len(self.actions_), float(self.gamma))
