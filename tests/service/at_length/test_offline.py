"""Logs of several shops: what the log alone shows of the online policy, and what is learned from it offline."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from offsettree.cli import main
from offsettree.policy_file import load
from offsettree.service.export import write_log
from tests.service.engines import Clock
from tests.service.test_learning import (
    BEST_CONSTANT,
    N_VISITORS,
    UNIFORM,
    engine_in,
    policy_of,
    true_value,
    visit_shop,
)

SEEDS = (11, 12, 13, 14)


def test_offline_learning_is_at_least_as_good_as_the_online_policy_that_made_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online, offline = [], []
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        clock = Clock()
        engine = engine_in(folder, clock)
        visit_shop(engine, clock, N_VISITORS, seed=seed)
        online.append(true_value(policy_of(engine)))
        assert online[-1] > max(BEST_CONSTANT, UNIFORM) + 0.05
        facts = engine.loops["demo"].learning.values.facts()
        assert facts["gain_over_baseline"][0] > 0
        assert facts["gain_over_constant"][0] > 0
        store = engine.store
        assert write_log(lambda store=store: store.scan(1), folder / "log.parquet", "parquet") == N_VISITORS  # type: ignore[misc]
        engine.close()
        assert main(["learn", "log.parquet", "--learner", "reward-boosting", "--out", "policy.ot", "--json"]) == 0
        offline.append(true_value(load("policy.ot").decide))
        shown = {name: [round(end, 3) for end in facts[f"gain_over_{name}"]] for name in ("baseline", "constant")}
        values = f"online {online[-1]:.3f}, offline {offline[-1]:.3f}, best constant {BEST_CONSTANT:.3f}"
        sys.stdout.write(f"\nshop {seed}, {N_VISITORS:,} visitors, true values: {values}; bands of gains: {shown}\n")
    assert np.mean(offline) >= np.mean(online)
    assert (np.array(offline) >= np.array(online) - 0.001).all()
