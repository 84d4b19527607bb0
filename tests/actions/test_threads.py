"""What docs/threads.md promises of policies over actions with features."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from offsettree import (
    ActionOffsetTree,
    ActionRegression,
    OnlineActionOffsetTree,
    OnlineActionRegression,
    load_action_policy,
    save,
    simulate_catalogue,
)
from tests.suites.test_threads import at_once

LOG = simulate_catalogue(300, 20, 4, random_state=0).log
SETS: Any = LOG.action_sets
ROWS = [(LOG.X[row], np.asarray(SETS.items)[SETS.item[SETS.starts[row] : SETS.starts[row + 1]]]) for row in range(60)]
ONLINE = [OnlineActionRegression(n_bits=12), OnlineActionOffsetTree(n_bits=12)]
BATCH = [ActionRegression(random_state=0), ActionOffsetTree(random_state=0)]


@pytest.mark.parametrize("policy", [*BATCH, *ONLINE], ids=lambda policy: type(policy).__name__)
def test_threads_decide_as_one_does_from_the_first_call_on(policy: Any, tmp_path: Path) -> None:
    policy = clone(policy).fit(**LOG.arrays())
    fresh = pickle.dumps(policy)
    save(policy, tmp_path / "policy.ot")
    expected = policy.predict(LOG.X, SETS).tolist()
    alone = [policy.decide(*row) for row in ROWS]
    for shared in (pickle.loads(fresh), load_action_policy(tmp_path / "policy.ot")):

        def ask(shared: Any = shared) -> tuple[list[Any], list[Any]]:
            return [shared.decide(*row) for row in ROWS], shared.predict(LOG.X, SETS).tolist()

        for one_by_one, together in at_once(*[ask] * 6):
            assert one_by_one == alone
            assert together == expected


@pytest.mark.parametrize("policy", ONLINE, ids=lambda policy: type(policy).__name__)
def test_nothing_is_lost_of_what_one_thread_learns_while_others_decide(policy: Any) -> None:
    alone, shared = clone(policy), clone(policy)
    for one in (alone, shared):
        one.partial_fit(**LOG[:1].arrays())
    chunks = np.array_split(np.arange(1, len(LOG)), 40)
    for chunk in chunks:
        alone.partial_fit(**LOG[chunk].arrays())
    done = threading.Event()

    def learn() -> None:
        try:
            for chunk in chunks:
                shared.partial_fit(**LOG[chunk].arrays())
        finally:
            done.set()

    def decide() -> bool:
        within = True
        while not done.is_set():
            within &= all(shared.decide(*row) in range(len(row[1])) for row in ROWS[:5])
            within &= all(label in SETS[row] for row, label in enumerate(shared.predict(LOG.X, SETS).tolist()))
        return within

    _, *within = at_once(learn, *[decide] * 3)
    assert all(within)
    np.testing.assert_array_equal(shared.weights_, alone.weights_)
    np.testing.assert_array_equal(shared.totals_, alone.totals_)


@pytest.mark.parametrize("policy", ONLINE, ids=lambda policy: type(policy).__name__)
def test_two_threads_that_learn_at_once_crash_nothing(policy: Any) -> None:
    """What both learn may be lost; what is left still decides within each row's set."""
    shared = clone(policy).partial_fit(**LOG[:1].arrays())

    def learn() -> None:
        for row, (x, actions) in enumerate(ROWS):
            shared.learn(x, actions, row % len(actions), 0.5, 0.5)
        shared.partial_fit(**LOG.arrays())

    at_once(*[learn] * 4)
    assert all(label in SETS[row] for row, label in enumerate(shared.predict(LOG.X, SETS).tolist()))
    assert np.isfinite(shared.weights_).all()
