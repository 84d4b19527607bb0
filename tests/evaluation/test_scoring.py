"""Scikit-learn's tools choose among policies by their estimated values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from offsettree import LoggedData, OffsetTree, evaluate, make_policy_scorer, simulate_log
from offsettree.evaluation._terms import METHODS
from offsettree.exceptions import LogError, ParameterError

MODELS = {"reward_model": Ridge()}


@pytest.fixture(scope="module")
def log() -> LoggedData:
    random = np.random.RandomState(0)
    X = random.normal(size=(400, 3))
    return simulate_log(X, np.digitize(X[:, 0], [-0.5, 0.5]), random_state=0)


def routed(log: LoggedData) -> dict[str, Any]:
    return {"reward": log.reward, "propensity": log.propensity}


@pytest.mark.parametrize("method", METHODS)
def test_a_score_is_the_value_that_evaluate_estimates(log: LoggedData, method: str) -> None:
    train, test = log.split(0.5, random_state=0)
    policy = OffsetTree(random_state=0).fit(**train.arrays())
    score = make_policy_scorer(method, **MODELS)(policy, test.X, test.action, **routed(test))
    assert score == evaluate(policy, **test.arrays(), method=method, **MODELS, random_state=0).value


@pytest.mark.parametrize("method", ["snips", "ips", "doubly_robust"])
def test_a_grid_search_tunes_the_learner_of_an_offset_tree(log: LoggedData, method: str) -> None:
    policy = OffsetTree(random_state=0)
    learners = [DummyClassifier(), DecisionTreeClassifier(max_depth=3)]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(policy, {"estimator": learners}, cv=3, scoring=make_policy_scorer(method, **MODELS)).fit(
            log.X, log.action, **routed(log)
        )
        assert search.best_score_ > 0.8
    assert search.best_params_["estimator"] is learners[1]


def test_several_scorers_and_pipelines_are_routed_as_well(log: LoggedData) -> None:
    pipeline = make_pipeline(StandardScaler(), OffsetTree(LogisticRegression(), random_state=0))
    scoring = {"snips": make_policy_scorer("snips"), "ips": make_policy_scorer("ips")}
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(pipeline, log.X, log.action, cv=3, scoring=scoring, params=routed(log))
    assert (result["test_snips"] > 0.5).all()
    assert (result["test_ips"] > 0.5).all()


def test_every_candidate_is_scored_with_the_same_folds_of_the_reward_model(log: LoggedData) -> None:
    scorer = make_policy_scorer("doubly_robust", reward_model=ExtraTreesRegressor(5))
    policy = OffsetTree(random_state=0).fit(**log[:200].arrays())
    rest = log[200:]
    scores = [scorer(policy, rest.X, rest.action, **routed(rest)) for _ in range(2)]
    assert scores[0] == scores[1] == clone(scorer)(policy, rest.X, rest.action, **routed(rest))


def test_without_routing_the_error_says_what_to_do(log: LoggedData) -> None:
    policy = OffsetTree(random_state=0).fit(**log.arrays())
    with pytest.raises(LogError, match=r"propensity did not arrive. Enable .*enable_metadata_routing=True"):
        make_policy_scorer()(policy, log.X, log.action, reward=log.reward)
    with pytest.raises(LogError, match="reward and propensity did not arrive"):
        cross_val_score(
            policy, log.X, log.action, scoring=make_policy_scorer(), params=routed(log), error_score="raise", cv=2
        )


def test_what_cannot_score_is_refused_at_once() -> None:
    with pytest.raises(ParameterError, match=r"method must be one of 'snips', .*; got 'accuracy'"):
        make_policy_scorer("accuracy")
    with pytest.raises(ParameterError, match="reward_model must be a regressor here"):
        make_policy_scorer("direct", reward_model=np.zeros((3, 2)))


@pytest.mark.parametrize("scoring", [None, make_policy_scorer("ips"), {"own": make_policy_scorer("ips")}])
def test_a_search_without_metadata_routing_fails_at_once_and_tells_the_remedy(log: LoggedData, scoring: Any) -> None:
    fits: list[int] = []

    class Counted(DecisionTreeClassifier):
        def fit(self, *arguments: Any, **more: Any) -> Any:
            fits.append(1)
            return super().fit(*arguments, **more)

    policy = OffsetTree(Counted())
    refit = "own" if isinstance(scoring, dict) else True
    search = GridSearchCV(policy, {"offset": [0.3, 0.5]}, cv=2, scoring=scoring, refit=refit)
    with sklearn.config_context(enable_metadata_routing=False):
        with pytest.raises(ValueError, match=r"sklearn\.set_config\(enable_metadata_routing=True\)"):
            search.fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
        assert fits == []
        by_labels = GridSearchCV(policy, {"offset": [0.5]}, cv=2, scoring=lambda fitted, X, action: 1.0)
        by_labels.fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
        assert fits
