"""A labelled dataset: the label of a row gives the reward of every action."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows with their labels; `simulate_log` turns the labels into actions.

    Parameters
    ----------
    name : str
        The name in the paper's Table 1.
    X : array of shape (n_rows, n_features) or pandas frame
        An array of floats if all features are numeric; else a frame with categorical columns of strings for the
        nominal features and floats for the others. Missing values are kept.
    y : array of str, of shape (n_rows,)
        The label of each row.
    feature_names : tuple of str
        The names of the columns of X.
    nominal : tuple of str
        The nominal features, including those coded by digits.
    source : str
        Where the rows come from.

    Examples
    --------
    >>> from offsettree import simulate_log
    >>> from offsettree.datasets import load
    >>> glass = load("glass")
    >>> glass
    <Dataset glass: 214 rows, 9 features, 6 actions>
    >>> simulate_log(glass.X, glass.y, random_state=0)
    <LoggedData: 214 rows, 9 features, 6 actions, mean reward ...>
    """

    name: str
    X: Features
    y: NDArray[np.str_]
    feature_names: tuple[str, ...]
    nominal: tuple[str, ...]
    source: str

    @property
    def classes(self) -> NDArray[np.str_]:
        """The labels that occur, sorted."""
        return np.unique(self.y)

    @property
    def n_actions(self) -> int:
        """Number of labels: the paper's k."""
        return len(self.classes)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return (
            f"<Dataset {self.name}: {len(self):,} rows, {len(self.feature_names)} features, {self.n_actions} actions>"
        )
