from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import OffsetTree, RewardRegression, simulate_log
from offsettree.exceptions import ParameterError
from offsettree.learners import make_learner
from offsettree.registry import CLASSIFIERS, REGRESSORS

random = np.random.RandomState(0)
frame = pd.DataFrame({"colour": random.choice(["red", "blue", "green"], 300), "size": random.normal(size=300)})
frame.loc[::9, "size"] = np.nan
right = np.where(frame["colour"] == "red", 2, np.where(frame["size"] > 0, 1, 0))
WEKA = {"j48", "m5p", "reptree"}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_named_classifier_learns_a_policy_on_a_mixed_frame(name: str) -> None:
    check(name, OffsetTree(make_learner(name), random_state=0))


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_named_regressor_learns_a_policy_on_a_mixed_frame(name: str) -> None:
    check(name, RewardRegression(make_learner(name, "regressor"), random_state=0))


@pytest.mark.filterwarnings("ignore:Found unknown categories")
def check(name: str, policy: Any) -> None:
    if name in WEKA:
        pytest.importorskip("jpype", reason="Weka's learners need the extra weka")
    log = simulate_log(frame, right, random_state=1)
    policy.fit(**log.arrays())
    assert (policy.predict(frame) == right).mean() > 0.55
    assert policy.decide({"colour": "red", "size": 0.0}) in (0, 1, 2)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="no classifier called 'm5p'; there are boosting, extra-trees"):
        make_learner("m5p")
    with pytest.raises(ParameterError, match="kind must be"):
        make_learner("tree", "transformer")  # type: ignore[arg-type]
