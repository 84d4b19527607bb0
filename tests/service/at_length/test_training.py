"""A candidate learned from the log in a process of its own."""

from __future__ import annotations

from pathlib import Path

from offsettree.service.facts import loop_facts
from offsettree.service.training import Trainer
from tests.service.engines import Clock
from tests.service.test_learning import BEST_CONSTANT, RIDGE, engine_in, policy_of, true_value, visit_shop


def test_a_candidate_is_learned_in_a_process_of_its_own_valued_later_and_run_by_hand(tmp_path: Path) -> None:
    clock = Clock()
    engine = engine_in(tmp_path, clock, learn_options=RIDGE, exploration="epsilon", epsilon=0.5)
    visit_shop(engine, clock, 1500)
    trainer = Trainer(engine)
    assert trainer.start("demo")
    trainer.wait()
    assert engine.loops["demo"].learn_fault is None
    learning = engine.loops["demo"].learning
    candidate = learning.candidate
    assert candidate is not None
    assert candidate.over_running.n_rows == 0
    visit_shop(engine, clock, 500, seed=7)
    assert candidate.fault is None
    assert learning.candidate is None or candidate.over_running.n_rows == 500
    former = engine.swap("demo", candidate.version)
    assert engine.loops["demo"].learning.running.kind == "learned"
    assert true_value(policy_of(engine)) > BEST_CONSTANT
    engine.swap("demo", former)
    assert engine.loops["demo"].learning.running.version == former
    engine.close()


def test_too_few_rows_are_no_candidate_and_the_reason_is_told(tmp_path: Path) -> None:
    clock = Clock()
    engine = engine_in(tmp_path, clock, learn_every=60.0)
    trainer = Trainer(engine)
    trainer.step()
    assert not trainer.is_busy
    clock.now += 61
    trainer.step()
    trainer.wait()
    loop = engine.loops["demo"]
    assert "500 matured rows" in str(loop.learn_fault)
    assert any("500 matured rows" in problem for problem in loop_facts(engine, loop)["problems"])
    trainer.stop()
    engine.close()
