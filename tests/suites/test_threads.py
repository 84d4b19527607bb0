"""What docs/threads.md promises: decisions from many threads, one that learns, policies and files replaced."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from offsettree import Banditron, OffsetForest, OffsetTree, OnlineOffsetTree, OnlineRewardRegression, load, save
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
    shares, ranked = policy.predict_proba(log.X), policy.rank(log.X, 2)
    for shared in (pickle.loads(fresh), load(tmp_path / "policy.ot")):

        def ask(shared: Any = shared) -> tuple[list[Any], list[Any], Any, Any]:
            one_by_one = [shared.decide(x) for x in log.X]
            return one_by_one, shared.predict(log.X).tolist(), shared.predict_proba(log.X), shared.rank(log.X, 2)

        for one_by_one, together, probability, best in at_once(*[ask] * N_THREADS):
            assert one_by_one == expected
            assert together == expected
            np.testing.assert_array_equal(probability, shares)
            np.testing.assert_array_equal(best, ranked)


ONLINE = [OnlineOffsetTree(actions=range(3)), OnlineRewardRegression(actions=range(3)), Banditron(actions=range(3))]


def learn_all(policy: Any, log: Any, way: str, first: int = 0) -> None:
    """Learn from all rows but the first ones, one by one or in chunks."""
    if way == "learn":
        rows = zip(log.X, log.action.tolist(), log.reward.tolist(), log.propensity.tolist(), strict=True)
        for row in islice(rows, first, None):
            policy.learn(*row)
        return
    for chunk in np.array_split(np.arange(first, len(log)), 60):
        policy.partial_fit(**log[chunk].arrays())


@pytest.mark.parametrize("way", ["learn", "partial_fit"])
@pytest.mark.parametrize("policy", ONLINE, ids=lambda policy: type(policy).__name__)
def test_nothing_is_lost_of_what_one_thread_learns_while_others_decide(policy: Any, way: str) -> None:
    log = make_log(OffsetTree(), n_rows=3000)
    alone, shared = clone(policy), clone(policy)
    for one in (alone, shared):
        learn_all(one, log[np.arange(1)], "learn")
    learn_all(alone, log, way, 1)
    done = threading.Event()

    def learn() -> None:
        try:
            learn_all(shared, log, way, 1)
        finally:
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
    assert getattr(shared, "n_rows_seen_", len(log)) == len(log)  # a Banditron does not count
    for mine, theirs in zip(shared._model, alone._model, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("policy", ONLINE, ids=lambda policy: type(policy).__name__)
def test_two_threads_that_learn_at_once_crash_nothing(policy: Any) -> None:
    """What both learn may be lost; what is left still decides among the actions."""
    log, shared = make_log(OffsetTree(), n_rows=1000), clone(policy)
    learn_all(shared, log[np.arange(1)], "learn")
    at_once(*[lambda: learn_all(shared, log, "learn", 1)] * 2, *[lambda: learn_all(shared, log, "partial_fit", 1)] * 2)
    assert set(shared.predict(log.X).tolist()) <= {0, 1, 2}
    assert np.isfinite(np.concatenate([np.ravel(part) for part in shared._model if part.dtype.kind == "f"])).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.usefixtures("all_cores")
def test_a_process_that_was_forked_after_decisions_decides_as_well() -> None:
    log = make_log(OffsetTree(), n_rows=25_000)  # which are cut into pieces for threads
    policy = OffsetForest(n_trees=3, random_state=0).fit(**log[np.arange(300)].arrays())
    expected = policy.predict(log.X)
    child = os.fork()
    if child == 0:
        os._exit(0 if (policy.predict(log.X) == expected).all() else 1)
    ended, status = os.waitpid(child, os.WNOHANG)
    end = time.monotonic() + 60
    while not ended and time.monotonic() < end:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended
    assert os.waitstatus_to_exitcode(status) == 0


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
