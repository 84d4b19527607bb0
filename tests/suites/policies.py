"""Every policy that the contracts are checked on. A new reduction adds one line to POLICIES."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from offsettree import (
    Banditron,
    BinaryOffset,
    ConstantPolicy,
    DoublyRobust,
    ImportanceWeighted,
    LoggedData,
    OffsetForest,
    OffsetTree,
    OnlineOffsetTree,
    OnlineRewardRegression,
    PolicySearch,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
    simulate_log,
)
from offsettree._features import check_features, take_rows
from offsettree.base import BasePolicy
from offsettree.exceptions import OffsetTreeWarning
from offsettree.reductions._partial import teaches_chunks
from tests.toys import toys

POLICIES: dict[str, BasePolicy] = {
    "offset tree": OffsetTree(random_state=0),
    "offset tree, logistic": OffsetTree(LogisticRegression(), offset=0.4, random_state=0),
    "offset tree, forests": OffsetTree(RandomForestClassifier(5, max_depth=4), random_state=0),
    "offset tree, not compiled": OffsetTree(KNeighborsClassifier(9, algorithm="brute"), random_state=0),
    "offset tree, out of fold": OffsetTree(path_filter="out_of_fold", random_state=0),
    "offset tree, soft filter": OffsetTree(path_filter=0.1, random_state=0),
    "offset tree, shared": OffsetTree(DecisionTreeClassifier(max_depth=6), node_models="shared", random_state=0),
    "offset tree, learned": OffsetTree(tree="learned", random_state=0),
    "offset tree, stochastic gradient": OffsetTree(SGDClassifier(alpha=0.01, average=True), offset=0.4, random_state=0),
    "offset tree, reward model": OffsetTree(reward_model="linear", random_state=0),
    "offset forest": OffsetForest(n_trees=10, random_state=0),
    "offset forest, logistic": OffsetForest(LogisticRegression(), n_trees=3, bootstrap=True, random_state=0),
    "online offset tree": OnlineOffsetTree(random_state=0),
    "online offset tree, hashed": OnlineOffsetTree(loss="logistic", tree="random", n_bits=12, random_state=0),
    "online reward regression": OnlineRewardRegression(),
    "online reward regression, hashed": OnlineRewardRegression(n_bits=12),
    "banditron": Banditron(random_state=0),
    "binary offset": BinaryOffset(random_state=0),
    "constant": ConstantPolicy(),
    "policy tree": PolicyTree(random_state=0),
    "reward boosting": RewardBoosting(random_state=0),
    "reward regression": RewardRegression(random_state=0),
    "reward regression, one for all": RewardRegression(RandomForestRegressor(20), per_action=False, random_state=0),
    "doubly robust": DoublyRobust(random_state=0),
    "doubly robust, ridge": DoublyRobust(Ridge(), DecisionTreeRegressor(min_samples_leaf=5), random_state=0),
    "importance weighted": ImportanceWeighted(random_state=0),
    "policy search": PolicySearch(
        [RewardRegression(Ridge()), OffsetTree(LogisticRegression(solver="newton-cholesky", tol=1e-10), offset=0.4)],
        cv=2,
        scoring="snips",
        simpler_within=0,
        random_state=0,
    ),
    "importance weighted, no draws": ImportanceWeighted(LogisticRegression(), n_draws=None, random_state=0),
    "from outside": toys.ToyAdvantage(),
    "offset tree, a learner from outside": OffsetTree(toys.ToyLinearClassifier(), offset=0.4, random_state=0),
}


COLOURS = ("red", "blue", "green")

# Those that differ from another only by a learner or a setting that scikit-learn's own checks do not look at.
VARIANTS = (
    "offset tree, forests",
    "offset tree, soft filter",
    "offset tree, learned",
    "offset forest, logistic",
    "online offset tree, hashed",
    "online reward regression, hashed",
    "reward regression, one for all",
    "doubly robust, ridge",
    "importance weighted, no draws",
    "offset tree, a learner from outside",
)


def worth_at_least(policy: BasePolicy) -> float:
    """What a policy is worth after a fair number of rows of `make_log`, where chance has a third."""
    if isinstance(policy, Banditron):
        return 0.4  # no intercept and one pass: of the three actions it can tell apart the outer two
    return 0.85 if looks_at_x(policy) else 0.2


def looks_at_x(policy: BasePolicy) -> bool:
    """Whether its decisions depend on the context at all."""
    return not isinstance(policy, ConstantPolicy)


def n_actions_of(policy: BasePolicy) -> int:
    return 2 if isinstance(policy, BinaryOffset) else 3


def make_log(policy: BasePolicy, labels: ArrayLike | None = None, n_rows: int = 300, seed: int = 0) -> LoggedData:
    """A log that the policy can learn from: the right action is told by the first feature."""
    random = np.random.RandomState(seed)
    n_actions = n_actions_of(policy)
    X = random.normal(size=(n_rows, 4))
    right = np.digitize(X[:, 0], [0.0] if n_actions == 2 else [-0.5, 0.5])
    names = np.arange(n_actions) if labels is None else np.asarray(labels)[:n_actions]
    return simulate_log(X, names[right], random_state=seed, actions=names)


@cache
def _pickled(name: str, labels: tuple[str, ...] | None, n_rows: int) -> bytes:
    policy: BasePolicy = clone(POLICIES[name])
    return pickle.dumps(policy.fit(**make_log(policy, labels, n_rows).arrays()))


def fitted(name: str, labels: tuple[str, ...] | None = None, n_rows: int = 300) -> Any:
    """A policy that has learned from `make_log`, of its own: every test that only asks one shares the fit."""
    return pickle.loads(_pickled(name, labels, n_rows))


class AsClassifier(BasePolicy):
    """The adapter through which scikit-learn's estimator checks see a policy: they fit on (X, y) alone.

    Every row is logged with its right label, which earned 1 under uniform logging. Each vote is then for the row's
    own side, and the offset tree is a tournament of ordinary classifiers. A policy that learns from what failed as
    well (`needs_failures`) is given every row once per label, with the reward 1 for the right one and 0 for others.
    """

    needs_failures = False

    def fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if not get_tags(self).classifier_tags.multi_class and len(np.unique(y)) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        if not self.needs_failures:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OffsetTreeWarning)  # that all rewards are 1
                return super().fit(X, y, reward=np.ones(len(y)), propensity=np.full(len(y), 0.5))
        names = getattr(X, "columns", None)
        X = check_features(self, X, learner=self._learner(), reset=True)
        check_consistent_length(X, y)
        labels = np.unique(y)
        X = take_rows(X, np.repeat(np.arange(len(y)), len(labels)))
        reward = (y[:, np.newaxis] == labels).ravel().astype(float)
        X = X if names is None else pd.DataFrame(X, columns=names)
        return super().fit(X, np.tile(labels, len(y)), reward=reward, propensity=1 / max(2, len(labels)))

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        return float((self.predict(X) == y).mean())


def partial_fit_on_labels(policy: Any, partial_fit: Any, X: Any, y: Any, classes: Any) -> Any:
    """The checks name the labels in the first call, where a policy is told of them when it is made."""
    actions = policy.actions
    try:
        policy.set_params(actions=actions if classes is None else classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffsetTreeWarning)  # that all rewards are 1
            return partial_fit(policy, X, y, reward=np.ones(len(y)), propensity=0.5)
    finally:
        policy.set_params(actions=actions)


class OffsetTreeAsClassifier(AsClassifier, OffsetTree):
    @property
    def needs_failures(self) -> bool:  # type: ignore[override]
        return self.reward_model is not None  # which rewards that are all alike leave nothing to learn from

    @available_if(teaches_chunks)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        return partial_fit_on_labels(self, OffsetTree.partial_fit, X, y, classes)


class OnlineOffsetTreeAsClassifier(AsClassifier, OnlineOffsetTree):
    needs_failures = True

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:  # type: ignore[override]
        return partial_fit_on_labels(self, OnlineOffsetTree.partial_fit, X, y, classes)


class OnlineRewardRegressionAsClassifier(AsClassifier, OnlineRewardRegression):
    needs_failures = True

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:  # type: ignore[override]
        return partial_fit_on_labels(self, OnlineRewardRegression.partial_fit, X, y, classes)


class BanditronAsClassifier(AsClassifier, Banditron):
    needs_failures = True

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:  # type: ignore[override]
        return partial_fit_on_labels(self, Banditron.partial_fit, X, y, classes)


class OffsetForestAsClassifier(AsClassifier, OffsetForest):
    needs_failures = True  # at the mean reward as offset, rewards that are all alike say nothing


class BinaryOffsetAsClassifier(AsClassifier, BinaryOffset):
    pass


class PolicyTreeAsClassifier(AsClassifier, PolicyTree):
    needs_failures = True


class ConstantPolicyAsClassifier(AsClassifier, ConstantPolicy):
    needs_failures = True


class RewardRegressionAsClassifier(AsClassifier, RewardRegression):
    needs_failures = True


class RewardBoostingAsClassifier(AsClassifier, RewardBoosting):
    needs_failures = True


class DoublyRobustAsClassifier(AsClassifier, DoublyRobust):
    needs_failures = True


class PolicySearchAsClassifier(AsClassifier, PolicySearch):  # type: ignore[misc]
    needs_failures = True


class ToyAdvantageAsClassifier(AsClassifier, toys.ToyAdvantage):
    needs_failures = True


class ImportanceWeightedAsClassifier(AsClassifier, ImportanceWeighted):
    pass


def as_classifier(policy: BasePolicy) -> Any:
    adapted = {
        OffsetTree: OffsetTreeAsClassifier,
        OffsetForest: OffsetForestAsClassifier,
        OnlineOffsetTree: OnlineOffsetTreeAsClassifier,
        OnlineRewardRegression: OnlineRewardRegressionAsClassifier,
        Banditron: BanditronAsClassifier,
        BinaryOffset: BinaryOffsetAsClassifier,
        ConstantPolicy: ConstantPolicyAsClassifier,
        DoublyRobust: DoublyRobustAsClassifier,
        PolicySearch: PolicySearchAsClassifier,
        PolicyTree: PolicyTreeAsClassifier,
        RewardBoosting: RewardBoostingAsClassifier,
        RewardRegression: RewardRegressionAsClassifier,
        ImportanceWeighted: ImportanceWeightedAsClassifier,
        toys.ToyAdvantage: ToyAdvantageAsClassifier,
    }
    return adapted[type(policy)](**policy.get_params(deep=False))
