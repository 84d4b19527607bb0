from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from offsettree import simulate_catalogue
from offsettree.exceptions import ParameterError


@pytest.mark.parametrize("kind", ["linear", "nonlinear"])
@pytest.mark.parametrize("exploration", [1.0, 0.3])
def test_the_truth_is_what_a_log_of_it_estimates(kind: Any, exploration: float) -> None:
    catalogue = simulate_catalogue(60_000, 40, 5, kind=kind, exploration=exploration, random_state=0)
    log, sets = catalogue.log, catalogue.sets
    assert abs(log.reward.mean() - catalogue.value(log.action)) < 0.01
    first = sets.ids[sets.starts[:-1]]
    ips = ((log.action == first) / log.propensity * log.reward).mean()
    assert abs(ips - catalogue.value(first)) < 0.02
    assert catalogue.uniform_value < catalogue.best_value
    # Propensities of all actions of a row add up to 1: their inverse is the number of actions, on average.
    assert abs((1 / log.propensity).mean() - 5) < 0.2


def test_half_of_the_items_are_new_in_the_second_half_and_as_many_are_gone() -> None:
    train, test = simulate_catalogue(4000, 60, 6, random_state=1).split_days(10)
    before, after = set(train.sets.ids.tolist()), set(test.sets.ids.tolist())
    assert len(after - before) == 30
    last_day = set(test.sets.take(np.flatnonzero(test.day == test.day.max())).ids.tolist())
    assert len(before - last_day) >= 20


def test_without_new_items_all_are_always_there() -> None:
    train, test = simulate_catalogue(4000, 20, 6, new_share=0.0, random_state=1).split_days(10)
    assert set(train.sets.ids.tolist()) == set(test.sets.ids.tolist()) == set(range(20))


def test_a_seed_draws_the_same_again() -> None:
    one, other = (simulate_catalogue(200, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.log.reward, other.log.reward)
    np.testing.assert_array_equal(one.sets.ids, other.sets.ids)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_rows": 0}, "n_rows must be"),
        ({"n_eligible": 200}, "n_eligible must be at most n_items"),
        ({"kind": "odd"}, "kind must be"),
        ({"new_share": 2}, "new_share must be"),
        ({"exploration": -0.1}, "exploration must be"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        simulate_catalogue(**settings)
