"""Worlds in which nothing differs: how many runs of a whole loop ever promote a candidate that it learned."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from offsettree.service import Engine
from offsettree.service.deciders import OnlineDecider, hashed_action, hashed_context
from offsettree.service.learner import HashedLearner
from offsettree.service.records import AddVersion, Version
from offsettree.service.rows import MaturedRow
from tests.service.engines import Clock, decide_all, make_engine, reward_all

N_RUNS, N_CANDIDATES, N_ROWS = 200, 4, 300


def learned(engine: Engine, first: int) -> HashedLearner:
    """Return what the rows of the log say since one of them: nothing but noise."""
    learner = HashedLearner(10)
    for decision in engine.store.matured(1, first, 10_000):
        row = MaturedRow(decision, (0.0, 1.0))
        learner.learn(hashed_context(row.context), hashed_action(row.action), row.share, decision.probability)
    return learner


def promotions(folder: Path, seed: int) -> int:
    random, clock = np.random.default_rng(seed), Clock()
    rate, chance = random.choice([0.1, 0.3, 1.0]), random.choice([0.05, 0.3, 0.8])
    engine = make_engine(folder, clock, exploration="epsilon", epsilon=float(rate), bits=10, snapshot_rows=10**6)
    learning = engine.loops["shop"].learning
    for period in range(N_CANDIDATES + 1):
        contexts = random.integers(3, size=N_ROWS).tolist()
        asked = [({"x": f"x{x}"}, f"{period}-{i}") for i, x in enumerate(contexts)]
        for part in range(0, N_ROWS, 100):  # after each part, it is looked at
            answers = decide_all(engine, asked[part : part + 100])
            reward_all(engine, {each.event_id: float(random.random() < chance) for each in answers})
            clock.now += 20
            engine.step()
        learner = learned(engine, period // 2 * N_ROWS)
        version = Version(1, 0, clock.now, "online", None, "learned from noise", learning.last, learner.state())
        number = engine.writer.write(AddVersion(version))
        learning._consider(engine.store.versions(1, number - 1)[0], OnlineDecider(learner))
    found = sum(swap.reason.startswith("promoted") for swap in engine.store.swaps(1))
    assert learning.n_candidates >= N_CANDIDATES
    engine.close()
    return found


def test_at_most_15_of_200_runs_of_a_loop_ever_promote_where_nothing_differs(tmp_path: Path) -> None:
    """All candidates of a run together; each is learned from its run's own log."""
    promoted = 0
    for seed in range(N_RUNS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        promoted += promotions(folder, seed) > 0
        shutil.rmtree(folder)
    sys.stdout.write(f"\n{promoted} of {N_RUNS} runs promoted any of {N_CANDIDATES} candidates\n")
    assert promoted <= 15
