from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from offsettree import (
    ActionRegression,
    OnlineActionRegression,
    PolicySearch,
    PopularAction,
    RewardRegression,
    evaluate,
    load,
    load_action_policy,
    save,
    simulate_catalogue,
)
from offsettree.exceptions import ParameterError
from offsettree.selection import default_candidates

CATALOGUE = simulate_catalogue(1500, 30, 5, random_state=0)
TRAIN, TEST = CATALOGUE.split_days(6)
CANDIDATES = [
    ("popular", PopularAction()),
    ("ridge", ActionRegression(Ridge(), id_effects=False)),
    ("online", OnlineActionRegression()),
]


@pytest.fixture(scope="module")
def search() -> PolicySearch:
    return PolicySearch(CANDIDATES, cv=3, random_state=0).fit(**TRAIN.log.arrays())


def test_the_best_candidate_over_action_sets_is_kept(search: PolicySearch, tmp_path: Path) -> None:
    assert search.best_name_ in ("ridge", "online")
    assert search.takes_action_sets
    chosen = search.predict(TEST.log.X, TEST.sets)
    assert TEST.value(chosen) > TEST.uniform_value + 0.2
    assert search.decide(TEST.log.X[0], TEST.sets.take([0])) == chosen[0]
    save(search, tmp_path / "p.ot")
    np.testing.assert_array_equal(load_action_policy(tmp_path / "p.ot").predict(TEST.log.X, TEST.sets), chosen)


def test_the_estimate_is_honest(search: PolicySearch) -> None:
    estimate = search.estimate_
    assert estimate.low < TRAIN.value(search.predict(TRAIN.log.X, TRAIN.sets))
    assert estimate.difference is not None
    assert estimate.difference.low > 0
    assert len(search.chosen_by_fold_) == 3
    assert evaluate(search, **TEST.log.arrays()).value > TEST.uniform_value


def test_labels_take_the_sets_as_masks(tmp_path: Path) -> None:
    log = simulate_catalogue(600, 6, 3, new_share=0.0, random_state=1).log
    search = PolicySearch([("labels", RewardRegression(random_state=0))], cv=2, random_state=0).fit(**log.arrays())
    assert log.action_sets is not None
    chosen = search.predict(log.X, log.action_sets)
    log.action_sets.find(chosen)  # all are eligible
    save(search, tmp_path / "p.ot")
    assert load(tmp_path / "p.ot").actions_.tolist() == list(range(6))


def test_what_does_not_fit_is_refused() -> None:
    log = TRAIN.log
    with pytest.raises(ParameterError, match="is for logs with action sets"):
        PolicySearch(CANDIDATES).fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
    with pytest.raises(ParameterError, match="leave out available"):
        PolicySearch(CANDIDATES).fit(**log.arrays(), available=np.ones((len(log), 2), dtype=bool))
    with pytest.raises(ParameterError, match="must have the search's reward_range"):
        PolicySearch([PopularAction(reward_range=(0.0, 3.0))]).fit(**log.arrays())


def test_the_default_candidates_begin_with_the_most_popular_action() -> None:
    names = [name for name, _ in default_candidates(over_sets=True)]
    assert names[0] == "most popular"
    assert "action offset tree" in names
    assert not set(names) & {name for name, _ in default_candidates()}
