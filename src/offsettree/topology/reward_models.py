"""One cheap model of the reward per action, and trees that put actions of similar models side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from offsettree._features import Features, is_frame, numeric_columns
from offsettree._validation import is_number
from offsettree.exceptions import ParameterError
from offsettree.topology._design import Design
from offsettree.topology._moments import ActionSums, RowsByAction, row_weights
from offsettree.topology._principal_order import principal_order
from offsettree.topology._shrinkage import Shrinkage
from offsettree.topology.action_tree import ActionTree
from offsettree.topology.builders import balanced

__all__ = ["RewardModels", "fit_shrunken"]

_SAMPLE_ACTIONS = 256
_MOST_SLOPES = 256


@dataclass(frozen=True)
class RewardModels:
    """Linear models of the reward given x, one per action, in coordinates in which distance is difference of reward.

    Attributes
    ----------
    coefficients : ndarray of shape (n_actions, n_coordinates)
        A row per action. The squared distance between two rows is the mean squared difference between the rewards
        that the two models predict over the contexts of the log, in units of the rewards' variance. The first
        coordinate is the mean reward, the others belong to uncorrelated directions of X.
    slopes : ndarray of shape (n_actions, n_features) or None
        The same models as slopes on the columns of X, but for their intercepts; 0 at nominal columns. None where X has
        more than 256 columns.
    centre : ndarray of shape (n_features,) or None
        Where the slopes count from: the mean of each column.

    Notes
    -----
    Ridge regressions, each shrunk towards the mean of all models: an action with few rows is near it, one with none
    is there, in the middle. How strongly is estimated (empirical Bayes: how much coefficients differ between actions,
    against the noise of the rewards), so there is nothing to tune. X is standardised, and where it has more than 64
    columns replaced by its 64 leading principal directions.

    Where propensities differ between the rows of an action, rows count by 1 / propensity, so that a model is that of
    all contexts and not of those in which the logging policy liked the action. A weight is at most ten times the
    median weight of the action, and an action counts as many rows as its weights are worth.
    """

    coefficients: NDArray[np.float64]
    slopes: NDArray[np.float64] | None = None
    centre: NDArray[np.float64] | None = None

    @classmethod
    def fit(
        cls,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        n_actions: int,
        *,
        propensity: NDArray[np.float64] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Self:
        """Fit the models to a checked log whose actions are positions from 0 to n_actions - 1.

        X is passed over two or three times, in blocks. The random state draws the rows and the actions where a sample
        is enough.
        """
        random = check_random_state(random_state)
        design = Design(X, random)
        coefficients, shrinkage = fit_shrunken(
            design, action, _standardised(reward), n_actions, propensity=propensity, random=random
        )
        if X.shape[1] > _MOST_SLOPES:
            return cls(coefficients)
        slopes, centre = design.on_numbers(coefficients @ shrinkage.basis.T[:, 1:])
        return cls(coefficients, *_at_columns(X, slopes, centre))

    def tree(self, random_state: int | np.random.RandomState | None = None, randomize: float = 0.0) -> ActionTree:
        """Return the tree of `ActionTree.learned`; with `randomize`, another one at each call."""
        if not is_number(randomize) or not 0 <= randomize <= 1:
            raise ParameterError(
                f"randomize must be a number from 0 (no chance) to 1 (nearly a random tree); got {randomize!r}."
            )
        order = principal_order(self.coefficients, check_random_state(random_state), float(randomize))
        return ActionTree(*balanced(order))


def fit_shrunken(
    design: Design,
    action: NDArray[np.intp],
    target: NDArray[np.float64],
    n_actions: int,
    *,
    propensity: NDArray[np.float64] | None,
    random: np.random.RandomState,
) -> tuple[NDArray[np.float64], Shrinkage]:
    """Fit a model per action to targets of variance 1; return coefficients in the basis of the shrinkage, and that."""
    rows = RowsByAction(design, action, target, row_weights(action, propensity, n_actions), n_actions)
    logged = np.unique(action)
    sample = np.sort(random.permutation(logged)[:_SAMPLE_ACTIONS])
    pooled: NDArray[np.float64] | float = 0.0
    sampled: list[ActionSums] = []
    for sums in rows:
        pooled = pooled + sums.gram.sum(axis=0)
        chosen = sample[(sample >= sums.begin) & (sample < sums.begin + len(sums.gram))] - sums.begin
        sampled.append(ActionSums(sums.begin, *(part[chosen] for part in sums[1:])))
    gram, product, square = (np.concatenate(parts) for parts in list(zip(*sampled, strict=True))[1:])
    shrinkage = Shrinkage.estimate(np.asarray(pooled), gram, product, square)
    if len(sample) == n_actions:
        return shrinkage.coefficients(gram, product), shrinkage
    return np.concatenate([shrinkage.coefficients(sums.gram, sums.product) for sums in rows]), shrinkage


def _at_columns(
    X: Features, slopes: NDArray[np.float64], centre: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put slopes where their columns are: of a frame, the numbers have come first and indicators after them."""
    if not is_frame(X):
        return slopes, centre
    numeric = numeric_columns(X)
    place = [list(X.columns).index(name) for name in numeric]
    at_columns, at_centre = np.zeros((len(slopes), X.shape[1])), np.zeros(X.shape[1])
    at_columns[:, place], at_centre[place] = slopes[:, : len(place)], centre[: len(place)]
    return at_columns, at_centre


def _standardised(reward: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = reward - reward.mean()
    deviation = centred.std()
    # Rewards that are all equal tell nothing: all models are then zero.
    return centred / deviation if deviation > 1e-12 * np.abs(reward).max() else np.zeros_like(centred)
