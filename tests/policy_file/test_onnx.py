"""The same decisions by another runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from offsettree import (
    ConstantPolicy,
    DoublyRobust,
    OffsetForest,
    OffsetTree,
    OnlineOffsetTree,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
    export_onnx,
)
from offsettree.exceptions import PolicyFileError
from offsettree.learners import make_learner
from tests.policy_file.forgery import UnvotedBoosting, contexts, small_log

EXPORTED: dict[str, Any] = {
    "offset tree": OffsetTree(random_state=0),
    "decision trees": OffsetTree(DecisionTreeClassifier(max_depth=4), random_state=0),
    "logistic": OffsetTree(LogisticRegression(), random_state=0),
    "logistic that fills": OffsetTree(make_learner("logistic"), random_state=0),
    "offset forest": OffsetForest(n_trees=5, random_state=0),
    "forest of logistic": OffsetForest(LogisticRegression(), n_trees=3, random_state=0),
    "constant": ConstantPolicy(),
    "policy tree": PolicyTree(random_state=0),
    "boosting": UnvotedBoosting(n_trees=30, random_state=0),
    "boosting and votes": RewardBoosting(n_trees=30, random_state=0),
    "ridge": RewardRegression(Ridge()),
    "trees of rewards": RewardRegression(DecisionTreeRegressor(max_depth=4)),
    "extra-trees of rewards": RewardRegression(ExtraTreesRegressor(5, min_samples_leaf=5, random_state=0)),
    "one model, nominal action": RewardRegression(
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5), per_action=False
    ),
    "doubly robust by boosting": DoublyRobust(ExtraTreesRegressor(3, min_samples_leaf=5), "boosting", random_state=0),
    "doubly robust": DoublyRobust(ExtraTreesRegressor(5, min_samples_leaf=5), random_state=0),
}
TAKES_MISSING = (
    "offset tree",
    "decision trees",
    "logistic that fills",
    "offset forest",
    "boosting",
    "constant",
    "policy tree",
)


@pytest.mark.parametrize("name", EXPORTED)
def test_onnxruntime_decides_alike(name: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    missing = 0.1 if name in TAKES_MISSING else 0.0
    log = small_log(missing=missing)
    labels = np.array(["mail", "call", "visit", "wait"])[log.action] if "logistic" in name else log.action
    policy = EXPORTED[name].fit(log.X, labels, reward=log.reward, propensity=log.propensity)
    export_onnx(policy, tmp_path / "policy.onnx")
    X = contexts(missing=missing).astype(np.float32)
    session = runtime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    position, label = session.run(["position", "label"], {"X": X})
    expected = policy.predict(X)
    np.testing.assert_array_equal(policy.actions_[position], expected)
    np.testing.assert_array_equal(label.astype(expected.dtype), expected)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (OnlineOffsetTree(actions=range(4)), "decides by online tree"),
        (OffsetTree(RandomForestClassifier(2, max_depth=2)), "contests of committees"),
        (RewardRegression(per_action=False), "one model of all actions"),
    ],
)
def test_what_has_no_such_form_is_named(policy: Any, reason: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(PolicyFileError, match=f"{reason} cannot be written as an ONNX graph"):
        export_onnx(policy.fit(**small_log().arrays()), tmp_path / "policy.onnx")
    assert list(tmp_path.iterdir()) == []
