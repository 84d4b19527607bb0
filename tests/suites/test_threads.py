"""What docs/threads.md promises: decisions from many threads, one that learns, policies and files replaced."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from offsettree import OffsetForest, OffsetTree, OnlineOffsetTree, OnlineRewardRegression, load, save
from offsettree.exceptions import FeatureError
from tests.suites.policies import POLICIES, make_log

N_THREADS = 8
SHARED = ["offset tree", "offset forest", "offset tree, forests", "reward regression", "online offset tree, hashed"]


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """Call all at the same time, and return what they return."""
    ready = threading.Barrier(len(work))

    def begin(one: Callable[[], Any]) -> Any:
        ready.wait()
        return one()

    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(begin, work))


@pytest.mark.parametrize("name", SHARED)
def test_threads_decide_as_one_does_from_the_first_call_on(name: str, tmp_path: Path) -> None:
    policy = clone(POLICIES[name])
    log = make_log(policy, n_rows=120)
    fresh = pickle.dumps(policy.fit(**log.arrays()))
    save(policy, tmp_path / "policy.ot")
    expected = policy.predict(log.X).tolist()
    shares = policy.predict_proba(log.X)
    for shared in (pickle.loads(fresh), load(tmp_path / "policy.ot")):

        def ask(shared: Any = shared) -> tuple[list[Any], list[Any], Any]:
            return [shared.decide(x) for x in log.X], shared.predict(log.X).tolist(), shared.predict_proba(log.X)

        for one_by_one, together, probability in at_once(*[ask] * N_THREADS):
            assert one_by_one == expected
            assert together == expected
            np.testing.assert_array_equal(probability, shares)


@pytest.mark.parametrize("policy", [OnlineOffsetTree(actions=range(3)), OnlineRewardRegression(actions=range(3))])
def test_nothing_is_lost_of_what_one_thread_learns_while_others_decide(policy: Any) -> None:
    log = make_log(OffsetTree(), n_rows=3000)
    rows = list(zip(log.X, log.action.tolist(), log.reward.tolist(), log.propensity.tolist(), strict=True))
    alone, shared = clone(policy), clone(policy)
    for row in rows:
        alone.learn(*row)
    shared.learn(*rows[0])
    done = threading.Event()

    def learn() -> None:
        for row in rows[1:]:
            shared.learn(*row)
        done.set()

    def decide() -> set[Any]:
        answers = set()
        while not done.is_set():
            answers.update(shared.predict(log.X[:50]).tolist())
            answers.add(shared.decide(log.X[0]))
            with suppress(FeatureError):  # refused, and nothing is put back that was learned meanwhile
                shared.decide([1.0, 2.0])
        return answers

    _, *answers = at_once(learn, *[decide] * 4)
    assert set().union(*answers) <= {0, 1, 2}
    assert shared.n_rows_seen_ == len(rows)
    for mine, theirs in zip(shared._model, alone._model, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_policy_is_replaced_while_it_serves() -> None:
    log = make_log(OffsetTree(), n_rows=200)
    policies = [OffsetForest(n_trees=3, random_state=seed).fit(**log.arrays()) for seed in range(2)]
    expected = [policy.predict(log.X).tolist() for policy in policies]
    serving = {"policy": policies[0]}
    done = threading.Event()

    def replace() -> None:
        for turn in range(200):
            serving["policy"] = policies[turn % 2]
            serving["policy"].predict(log.X)
        done.set()

    def ask() -> bool:
        right = True
        while not done.is_set():
            right &= serving["policy"].predict(log.X).tolist() in expected
        return right

    _, *right = at_once(replace, *[ask] * 3)
    assert all(right)


def test_a_file_is_rewritten_while_others_load_it(tmp_path: Path) -> None:
    log = make_log(OffsetTree(), n_rows=100)
    policies = [OffsetTree(random_state=0).fit(log.X, **labelled(log, words)) for words in ("abc", "xyz")]
    file = tmp_path / "policy.ot"
    save(policies[0], file)
    done = threading.Event()

    def rewrite() -> None:
        for turn in range(30):
            save(policies[turn % 2], file)
        done.set()

    def read() -> set[str]:
        met = set()
        while not done.is_set():
            met.add("".join(load(file).actions_.tolist()))
        return met

    _, *met = at_once(rewrite, *[read] * 3)
    assert set().union(*met) <= {"abc", "xyz"}
    assert [path.name for path in tmp_path.iterdir()] == ["policy.ot"]


def labelled(log: Any, words: str) -> dict[str, Any]:
    return {"action": np.array(list(words))[log.action], "reward": log.reward, "propensity": log.propensity}
