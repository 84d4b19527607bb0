"""A linear reward model per action, and trees that put actions of similar models side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, is_frame, numeric_columns
from offsettree._validation import as_random_state, is_number
from offsettree.exceptions import ParameterError
from offsettree.topology._design import Design
from offsettree.topology._moments import ActionSums, RowsByAction, row_weights
from offsettree.topology._principal_order import principal_order
from offsettree.topology._shrinkage import Shrinkage
from offsettree.topology.builders import Children, balanced

__all__ = ["RewardModels", "fit_shrunken"]

_SAMPLE_ACTIONS = 256
_MOST_SLOPES = 256


@dataclass(frozen=True)
class RewardModels:
    """Linear models of the reward given x, one per action; their distance is the difference of predicted rewards.

    Attributes
    ----------
    coefficients : ndarray of shape (n_actions, n_coordinates)
        A row per action. The squared distance between two rows is the mean squared difference between the two models'
        predictions over the log, in units of the rewards' variance. The first coordinate is the mean reward, the others
        belong to uncorrelated directions of X.
    slopes : ndarray of shape (n_actions, n_features) or None
        The slopes of the same models on the columns of X; 0 at nominal columns. None if X has more than 256 columns.
    centre : ndarray of shape (n_features,) or None
        The mean of each column, at which slopes contribute 0.

    Notes
    -----
    Ridge regressions, each shrunk towards the mean of all models. The model of an action with few rows is near it;
    without rows it is that mean. The penalty is estimated by empirical Bayes (the variance of coefficients between
    actions against the noise of rewards), so there is nothing to tune. X is standardised; if it has more than 64
    columns, it is replaced by its 64 leading principal directions.

    If propensities differ between the rows of an action, rows are weighted by 1 / propensity, so that a model
    represents all contexts and not those in which the logging policy preferred the action. A weight is at most ten
    times the median weight of the action. An action counts with its effective sample size.
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

        X is read two or three times, in blocks. The random state draws samples of rows and actions.
        """
        random = as_random_state(random_state)
        design = Design(X, random)
        coefficients, shrinkage = fit_shrunken(
            design, action, _standardised(reward), n_actions, propensity=propensity, random=random
        )
        if X.shape[1] > _MOST_SLOPES:
            return cls(coefficients)
        slopes, centre = design.on_numbers(coefficients @ shrinkage.basis.T[:, 1:])
        return cls(coefficients, *_at_columns(X, slopes, centre))

    def children(self, random_state: int | np.random.RandomState | None = None, randomize: float = 0.0) -> Children:
        """Return `left` and `right` of `ActionTree.learned`; with `randomize`, of another tree at each call."""
        if not is_number(randomize) or not 0 <= randomize <= 1:
            raise ParameterError(
                f"randomize must be a number from 0 (not random) to 1 (nearly a random tree); got {randomize!r}."
            )
        order = principal_order(self.coefficients, as_random_state(random_state), float(randomize))
        return balanced(order)


def fit_shrunken(
    design: Design,
    action: NDArray[np.intp],
    target: NDArray[np.float64],
    n_actions: int,
    *,
    propensity: NDArray[np.float64] | None,
    random: np.random.RandomState,
) -> tuple[NDArray[np.float64], Shrinkage]:
    """Fit a model per action to targets of variance 1; return the shrinkage and the coefficients in its basis."""
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
    """Put slopes at the columns of X: in the design of a frame, numeric columns come before one-hot columns."""
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
    # If all rewards are equal, all models are zero.
    return centred / deviation if deviation > 1e-12 * np.abs(reward).max() else np.zeros_like(centred)
