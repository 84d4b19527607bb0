"""A search on an engine chooses as one in this process does."""

from __future__ import annotations

import pytest

from offsettree import OffsetTree, PolicySearch, RewardBoosting, RewardRegression
from offsettree.exceptions import ParameterError
from tests.distributed.conftest import AT_LENGTH, ENGINES, running
from tests.policy_files import content_of, many_actions

CANDIDATES = [
    ("regression", RewardRegression(random_state=0)),
    ("boosting", RewardBoosting(n_trees=10, random_state=0)),
    ("tree", OffsetTree(random_state=0)),
    ("broken", OffsetTree(offset=7.0)),
]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.filterwarnings("ignore")  # those of engines, of their own accord
def test_candidates_and_folds_are_spread_and_the_choice_is_the_same(name: str) -> None:
    if name != "local" and not AT_LENGTH:
        pytest.skip("make test-engines searches on Dask and Ray")
    log = many_actions(800)
    here = PolicySearch(CANDIDATES, cv=3, random_state=0).fit(**log.arrays())
    with running(name, 1 if name == "local" else 2) as engine:
        there = PolicySearch(CANDIDATES, cv=3, random_state=0, engine=engine).fit(**log.arrays())
    assert there.best_name_ == here.best_name_
    assert there.estimate_ == here.estimate_
    assert there.chosen_by_fold_ == here.chosen_by_fold_
    assert there.results_.column("error") == here.results_.column("error")
    assert content_of(there.best_policy_) == content_of(here.best_policy_)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ParameterError, match="client must be None"):
        PolicySearch(CANDIDATES, engine="abacus").fit(**many_actions(200).arrays())
