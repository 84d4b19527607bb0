"""What a reward model gets wrong about each action, learned from doubly robust errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import delayed

from offsettree._available import Available
from offsettree._features import Features, count_rows, is_frame, take_rows
from offsettree._traits import tags_of
from offsettree._workers import parallel
from offsettree.learners import NominalEncoder, Template
from offsettree.reductions._nodes import may_assume_finite, node_settings

MOST_TARGETS = 8  # with 32 the values are the same, and it takes twice as long
VALUES_AT_ONCE = 1 << 24
LEAST_ROWS, LEAST_COLUMNS = 5, 4


@dataclass(frozen=True)
class Errors:
    """What corrections are learned from: (reward - prediction) / propensity of the action logged, row by row."""

    action: NDArray[np.intp]
    error: NDArray[np.float64]
    n_actions: int
    available: Available | None = None


class CorrectionForest(ExtraTreesRegressor):
    """Extra-trees that take frames with nominal columns, which `ForestCorrections` encodes for them.

    See `adapt` for leaves and columns.
    """

    categorical_features = "nominal"  # how a learner says so: see `takes_nominal`

    def adapt(self, n_rows: int, n_columns: int) -> None:
        """Set the size of leaves and the columns tried, for a log of some size.

        Errors are noise for the most part: leaves are larger in a longer log, though there are more of them.
        """
        leaf = max(LEAST_ROWS, round(np.sqrt(n_rows) / 4))
        self.set_params(min_samples_leaf=leaf, max_features=min(1.0, max(1 / 3, LEAST_COLUMNS / n_columns)))


FORESTS = (CorrectionForest, ExtraTreesRegressor, RandomForestRegressor)


class Corrections(ABC):
    """What is to be added to the predicted reward of every action."""

    @abstractmethod
    def predict(self, X: Features) -> Any:
        """Return the corrections of every action, of shape (n_rows, n_actions), as an array or a sparse one."""


class ForestCorrections(Corrections):
    """The mean error of each action in each leaf of a forest.

    The error of a row belongs to the one action that was logged, so that a leaf holds no more numbers than it has
    rows, however many actions there are. Where there are more than 8 actions the trees are grown on 8 random
    combinations of their errors, and the leaves then filled with those of all actions.
    """

    def __init__(self, estimator: Any, X: Features, errors: Errors, random: np.random.RandomState) -> None:
        action, error, n_actions = errors.action, errors.error, errors.n_actions
        self._before = estimator[:-1] if isinstance(estimator, Pipeline) else None
        if isinstance(estimator, CorrectionForest) and is_frame(X):
            self._before = NominalEncoder()
        self._forest = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        X = X if self._before is None else self._before.fit_transform(X)
        combined = np.eye(n_actions) if n_actions <= MOST_TARGETS else random.standard_normal((n_actions, MOST_TARGETS))
        self._forest.fit(X, error[:, np.newaxis] * combined[action])
        self._n_actions = n_actions
        self._offset = np.cumsum([0, *(tree.tree_.node_count for tree in self._forest.estimators_)])
        means = []
        for place in range(len(self._forest.estimators_)):
            leaf = self._leaves(X, place)
            n_leaves = int(self._offset[place + 1] - self._offset[place])
            total = sp.csr_array((error, (leaf, action)), shape=(n_leaves, n_actions))
            total.sum_duplicates()
            means.append(_over_counts(total, leaf, errors.available))
        self._means = sp.vstack(means, format="csr")

    def predict(self, X: Features) -> Any:
        X = X if self._before is None else self._before.transform(X)
        n_rows, n_trees = count_rows(X), len(self._forest.estimators_)
        leaves = np.stack([self._leaves(X, place) for place in range(n_trees)], axis=1) + self._offset[:-1]
        where = sp.csr_array(
            (np.full(leaves.size, 1 / n_trees), leaves.ravel(), np.arange(n_rows + 1) * n_trees),
            shape=(n_rows, int(self._offset[-1])),
        )
        return where @ self._means

    def _leaves(self, X: Features, place: int) -> NDArray[np.intp]:
        return np.asarray(self._forest.estimators_[place].apply(X), dtype=np.intp)


def _over_counts(total: Any, leaf: NDArray[np.intp], available: Available | None) -> Any:
    """Divide sums of leaves by the number of their rows; of those only to which the action was available."""
    n_leaves, n_actions = total.shape
    of_entry = np.repeat(np.arange(n_leaves), np.diff(total.indptr))
    if available is None:
        total.data /= np.bincount(leaf, minlength=n_leaves)[of_entry]
        return total
    member = sp.csr_array((np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=(n_leaves, len(leaf)))
    step = max(1, VALUES_AT_ONCE // len(leaf))
    for begin in range(0, n_actions, step):
        count = member @ Available(available.mask[:, begin : begin + step]).dense().astype(np.float64)
        here = (total.indices >= begin) & (total.indices < begin + step)
        total.data[here] /= count[of_entry[here], total.indices[here] - begin]
    return total


class RegressedCorrections(Corrections):
    """A regressor of the error of each action on all rows, of many actions at once where it takes several targets."""

    def __init__(
        self,
        template: Template,
        X: Features,
        errors: Errors,
        random: np.random.RandomState,
        n_jobs: int | None,
        together: bool,
    ) -> None:
        n_actions, together = errors.n_actions, together and errors.available is None
        step = max(1, min(n_actions, VALUES_AT_ONCE // len(errors.action))) if together else 1
        seeds = random.randint(np.iinfo(np.int32).max, size=n_actions).tolist()
        self._models = parallel(n_jobs=n_jobs)(
            delayed(_fit_some)(template, X, errors, begin, min(begin + step, n_actions), seed)
            for begin, seed in zip(range(0, n_actions, step), seeds, strict=False)
        )

    def predict(self, X: Features) -> Any:
        n_rows = count_rows(X)
        return np.hstack([np.asarray(model.predict(X), dtype=np.float64).reshape(n_rows, -1) for model in self._models])


def _fit_some(template: Template, X: Features, errors: Errors, begin: int, end: int, seed: int) -> Any:
    action, available = errors.action, errors.available
    target = np.where(action[:, np.newaxis] == np.arange(begin, end), errors.error[:, np.newaxis], 0.0)
    target = target if end - begin > 1 else target.ravel()
    if available is not None:  # of where the action was not to be had, nothing is known
        rows = np.flatnonzero(available.any_of(np.arange(len(action)), begin, end))
        if len(rows) == 0:
            rows = np.arange(len(action))  # all of them 0
        X, target = take_rows(X, rows), target[rows]
    with node_settings(assume_finite=False):
        return template.copy(seed).fit(X, target)


def fit_corrections(
    estimator: Any, X: Features, errors: Errors, random: np.random.RandomState, n_jobs: int | None
) -> Corrections:
    """Learn what the reward model gets wrong."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    template = Template(estimator)
    if type(last) in FORESTS:
        forest = template.copy(int(random.randint(np.iinfo(np.int32).max)))
        (forest[-1] if isinstance(forest, Pipeline) else forest).set_params(n_jobs=n_jobs)
        with node_settings(assume_finite=may_assume_finite(estimator, X)):
            return ForestCorrections(forest, X, errors, random)
    tags = tags_of(last)
    together = tags is not None and bool(tags.target_tags.multi_output)
    return RegressedCorrections(template, X, errors, random, n_jobs, together)
