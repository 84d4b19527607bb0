"""SquareCB: the better an action's predicted reward, the more often it is taken (inverse gap weighting)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from offsettree._available import check_available
from offsettree._features import Features, count_rows
from offsettree._validation import check_range, is_number
from offsettree.exceptions import ParameterError
from offsettree.online.explorer import Explorer

__all__ = ["SquareCB"]

LARGEST = 1e150  # of a predicted reward: gaps beyond make no difference


class SquareCB(Explorer):
    """Takes each action with a probability that falls with the gap between its predicted reward and the largest.

    An action whose predicted reward is below the largest by ``gap`` has probability 1 / (n + gamma * gap), with n
    actions to choose from; the best one has the rest. Rewards are scaled to between 0 and 1 by the policy's
    `reward_range`.

    Parameters
    ----------
    policy : policy
        Predicts rewards, decides and learns: `OnlineActionRegression`, `ActionRegression`, `OnlineRewardRegression`,
        `RewardRegression`, `RewardBoosting` and the like.
    gamma_scale : float, default=10.0
        Gamma is ``gamma_scale * t ** exponent`` in row t = 1, 2, ...: it falls to the best action the more rows there
        were.
    exponent : float, default=0.5
        See `gamma_scale`.
    random_state : int, RandomState, Generator or None, default=None
        Draws the exploration.

    Attributes
    ----------
    n_chosen_ : int
        The number of actions chosen.
    actions_ : ndarray of shape (n_actions,)
        The labels, of a policy whose actions are labels.

    References
    ----------
    Foster and Rakhlin, "Beyond UCB: optimal and efficient contextual bandits with regression oracles", ICML 2020.

    Examples
    --------
    >>> from offsettree import OnlineActionRegression, SquareCB
    >>> explorer = SquareCB(OnlineActionRegression(), random_state=0)
    >>> news = [{"id": "n1", "topic": "sport"}, {"id": "n2", "topic": "music"}]
    >>> for _ in range(200):
    ...     action, propensity = explorer.choose({"age": "young"}, news)
    ...     reward = float(action == "n2")
    ...     explorer = explorer.learn({"age": "young"}, action, reward, propensity, actions=news)
    >>> explorer.decide({"age": "young"}, news)
    'n2'
    """

    def __init__(
        self,
        policy: Any,
        *,
        gamma_scale: float = 10.0,
        exponent: float = 0.5,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.policy = policy
        self.gamma_scale = gamma_scale
        self.exponent = exponent
        self.random_state = random_state

    def _rates(self, first: int, n_rows: int) -> NDArray[np.float64]:
        """Return gamma in each row."""
        for name, value in (("gamma_scale", self.gamma_scale), ("exponent", self.exponent)):
            if not is_number(value) or not 0 <= value < np.inf:
                raise ParameterError(f"{name} must be a number of at least 0; got {value!r}.")
        row = np.arange(first, first + n_rows, dtype=np.float64)
        return np.asarray(self.gamma_scale * row**self.exponent)

    def _rate_settings(self) -> tuple[Any, ...]:
        return self.gamma_scale, self.exponent

    def _pick(self, x: Any, labels: list[Any], actions: Any, available: Any) -> tuple[int, float]:
        rewards = self._rewards_among(x, len(labels), actions, available)
        probability = inverse_gap_weights(rewards, np.array([0, len(labels)]), self._next_rate())
        whether = float(self._next_draws(1)[0, 0])
        place = min(int(np.searchsorted(np.cumsum(probability), whether, side="right")), len(labels) - 1)
        return place, float(probability[place])

    def _rewards_among(self, x: Any, n: int, actions: Any, available: Any) -> NDArray[np.float64]:
        """Return the predicted rewards of the actions to choose from, all equal before the first row."""
        try:
            if self.takes_action_sets:
                return self._scaled(self.policy.rewards(x, actions))
            rewards = self._scaled(np.asarray(self.policy.predict_rewards(self._one_row(x)))[0])
        except NotFittedError:
            return np.zeros(n)
        return rewards if available is None else rewards[self._mask_of_one(available)]

    def predict_proba(self, X: Features, available: Any = None, action_sets: Any = None) -> NDArray[np.float64]:
        """Return the probability with which `choose` would now take each action; see `Explorer.predict_proba`."""
        self._check_policy()
        gamma = float(self._rates(self.n_chosen_ + 1, 1)[0])
        if action_sets is not None:
            rewards = self._scaled(self.policy.predict_rewards(X, action_sets))
            return inverse_gap_weights(rewards, action_sets.starts, gamma)
        rewards = self._scaled(np.asarray(self.policy.predict_rewards(X)))
        mask = np.ones(rewards.shape, dtype=bool)
        if available is not None:
            mask = check_available(available, count_rows(X), self.actions_).dense()
        probability = np.zeros(rewards.shape)
        starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        probability[mask] = inverse_gap_weights(rewards[mask], starts, gamma)
        return probability

    def _scaled(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = check_range(getattr(self.policy, "reward_range", (0.0, 1.0)))
        return np.asarray((np.asarray(rewards) - low) / (high - low))

    def _check_policy(self) -> None:
        super()._check_policy()
        wanted = "rewards" if self.takes_action_sets else "predict_rewards"
        if not hasattr(self.policy, wanted):
            raise ParameterError(
                f"the policy must predict rewards, as OnlineActionRegression and RewardRegression do; "
                f"{type(self.policy).__name__} does not. Explore with EpsilonGreedy."
            )


def inverse_gap_weights(rewards: NDArray[np.float64], starts: NDArray[np.intp], gamma: float) -> NDArray[np.float64]:
    """Return the probability of each action; those of row i are from ``starts[i]`` on."""
    sizes = np.diff(starts)
    row = np.repeat(np.arange(len(sizes)), sizes)
    # Predictions may overflow; probabilities must not. What is no number is the least.
    rewards = np.clip(np.where(np.isnan(rewards), -np.inf, rewards), -LARGEST, LARGEST)
    gap = np.maximum.reduceat(rewards, starts[:-1])[row] - rewards
    with np.errstate(over="ignore"):
        probability = 1 / (sizes[row] + gamma * gap)
    # The first of the best has what is left.
    order = np.lexsort((np.arange(len(gap)), gap, row))
    best = order[starts[:-1]]
    probability[best] = 0.0
    probability[best] = 1 - np.bincount(row, probability, minlength=len(sizes))
    return probability
