"""It learns: the demo's shop, an apprentice, candidates; and it promotes nothing where nothing differs."""

from __future__ import annotations

import heapq
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from offsettree.service import Engine, GroupWriter, Settings, SqliteStore
from offsettree.service.candidates import Candidate, spent
from offsettree.service.demo import BANNERS, Shop, demo_settings
from offsettree.service.export import write_log
from offsettree.service.records import Decision, EnsureLoop
from offsettree.service.requests import Action, Answer, DecideRequest, RewardRequest, encode
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings
from offsettree.service.values import Limits
from offsettree.service.wealth import GAINS, VALUES, Wealth
from tests.service.engines import Clock, decide, make_engine, reward, stored

N_VISITORS = 5000
RIDGE = ("--learner", "reward-regression", "--base", "ridge")
Choose = Callable[[dict[str, Any]], str]


def visit_shop(engine: Engine, clock: Clock, n_visitors: int, seed: int = 0, teacher: Any = None) -> None:
    """Send visitors, in batches; rewards come with delays, some too late, some never."""
    shop = Shop(seed)
    purchases: list[tuple[float, str, float]] = []
    waiting = engine.loops["demo"].settings.waiting
    for first in range(0, n_visitors, 50):
        visitors = [shop.visitor() for _ in range(50)]
        requests: list[DecideRequest] = []
        for visitor in visitors:
            told = {} if teacher is None else teacher(visitor, shop.random)
            event_id = f"{seed}-{first}-{len(requests)}"
            requests.append(DecideRequest(context=msgspec.Raw(encode(visitor)), event_id=event_id, **told))
        for visitor, answer in zip(visitors, engine.decide_all("demo", requests), strict=True):
            assert isinstance(answer, Answer)
            bought = shop.purchase(visitor, answer.action)
            if bought is not None:
                heapq.heappush(purchases, (clock.now + waiting * bought[1], answer.event_id, bought[0]))
        clock.now += 1.0
        came = []
        while purchases and purchases[0][0] <= clock.now:
            _, event_id, value = heapq.heappop(purchases)
            came.append((event_id, RewardRequest(reward=value)))
        engine.reward_all("demo", came)
        engine.step()
    clock.now += 10
    engine.step()


def policy_of(engine: Engine) -> Choose:
    decider, actions = engine.loops["demo"].decider, [Action(each) for each in BANNERS]
    return lambda visitor: BANNERS[decider.choose(visitor, actions)[0]]


def true_value(choose: Choose) -> float:
    return Shop(seed=999).true_value(choose)


def always(banner: str) -> Choose:
    return lambda _: banner


BEST_CONSTANT = max(true_value(always(each)) for each in BANNERS)
UNIFORM = float(np.mean([true_value(always(each)) for each in BANNERS]))


def engine_in(folder: Path, clock: Clock, **changed: Any) -> Engine:
    demo = demo_settings()
    loop = msgspec.structs.replace(demo.loops["demo"], **changed)
    store = SqliteStore(folder / "decisions.db")
    store.apply([EnsureLoop("demo", b"the same in every run", 0.0)])
    return Engine(Settings({"demo": loop}), GroupWriter(store), clock)


@pytest.fixture(scope="module")
def shop_engine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    clock = Clock()
    engine = engine_in(tmp_path_factory.mktemp("shop"), clock)
    visit_shop(engine, clock, N_VISITORS)
    yield engine
    engine.close()


def test_the_policy_beats_the_logging_policy_and_the_best_constant_within_5000_visitors(shop_engine: Engine) -> None:
    value = true_value(policy_of(shop_engine))
    assert value > BEST_CONSTANT + 0.05
    assert value > UNIFORM + 0.05
    facts = shop_engine.loops["demo"].learning.values.facts()
    assert facts["policy"] > max(facts["baseline"], facts["best_constant_value"])
    assert facts["gain_over_baseline"][0] > 0  # shown by the log alone
    assert facts["gain_over_constant"][0] > 0
    low, high = facts["policy_interval"]
    assert low < facts["policy"] < high
    assert shop_engine.store.summary(1)["late"] > 0


def test_the_exported_log_learned_offline_gives_a_policy_at_least_as_good(
    shop_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from offsettree.cli import main
    from offsettree.policy_file import load

    monkeypatch.chdir(tmp_path)
    for form, suffix in (("parquet", "parquet"), ("ndjson", "ndjson"), ("dsjson", "dsjson")):
        n_rows = write_log(lambda: shop_engine.store.scan(1), tmp_path / f"log.{suffix}", form)
        assert n_rows == N_VISITORS
    assert main(["learn", "log.parquet", *RIDGE, "--out", "policy.ot", "--json"]) == 0
    policy = load("policy.ot")
    assert set(policy.encoder.names_in) <= {"segment", "device", "source", "hour", "visits"}
    noise = 0.003  # of one log; over several logs, test_offline.py allows none
    assert true_value(policy.decide) + noise >= true_value(policy_of(shop_engine)) > BEST_CONSTANT
    for log in ("log.parquet", "log.ndjson", "log.dsjson"):
        assert main(["evaluate", "policy.ot", log, "--json"]) == 0
    engine = engine_in(tmp_path, Clock(), policy="policy.ot", mode="frozen", hold_back=0.0)
    visitors = [Shop(5).visitor() for _ in range(20)]
    requests = [DecideRequest(context=msgspec.Raw(encode(each))) for each in visitors]
    answers = engine.decide_all("demo", requests)
    assert [each.action for each in answers if isinstance(each, Answer)] == [policy.decide(each) for each in visitors]
    assert engine.loops["demo"].faults == 0
    engine.close()
    again = engine_in(tmp_path, Clock(), policy="policy.ot", mode="frozen", hold_back=0.0)
    assert [each.kind for each in again.store.versions(1)] == ["online", "given"]
    again.close()


def test_an_apprentice_overtakes_its_teacher_and_is_valued_honestly(tmp_path: Path) -> None:
    clock = Clock()
    engine = engine_in(tmp_path, clock, mode="apprentice", hold_back=0.0)

    def teacher(visitor: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
        chances = dict.fromkeys(BANNERS, 0.12) | {"discount": 0.52}
        names = list(chances)
        choice = names[random.choice(5, p=list(chances.values()))]
        return {"choice": choice, "choice_probabilities": chances}

    visit_shop(engine, clock, 4000, teacher=teacher)
    others = sum(true_value(always(each)) for each in BANNERS if each != "discount")
    teachers = 0.52 * true_value(always("discount")) + 0.12 * others
    assert true_value(policy_of(engine)) > teachers + 0.05
    facts = engine.loops["demo"].learning.values.facts()
    assert facts["gain_over_baseline"][0] > 0
    assert facts["baseline"] < facts["policy"]
    engine.close()
    changed = engine_in(tmp_path, clock)
    assert true_value(policy_of(changed)) > teachers + 0.05
    changed.close()


class Fixed:
    """A policy by a table of two contexts."""

    is_bounded = True

    def __init__(self, choices: list[int]) -> None:
        self.choices = choices

    def choose(self, context: dict[str, Any], actions: list[Action]) -> tuple[int, None]:
        return self.choices[context["x"]], None


def row_of(x: int, action: int, reward: float, number: int = 1) -> MaturedRow:
    p = [0.8, 0.1, 0.1]
    decision = Decision(
        1, f"e{number}", 0.0, encode({"x": x}).decode(), '["a","b","c"]', encode(p).decode(), action, "abc"[action],
        p[action], 1, '{"by":"epsilon","rate":0.3}', "explore", 0, 1, matured=number, reward=reward,
    )  # fmt: skip
    return MaturedRow(decision, (0.0, 1.0))


ROWS = {key: row_of(*key) for key in itertools.product((0, 1), (0, 1, 2), (0.0, 1.0))}


def matured(random: np.random.Generator, n: int, reward_of: Callable[[int, int], float]) -> list[MaturedRow]:
    contexts, actions = random.integers(2, size=n).tolist(), random.choice(3, p=[0.8, 0.1, 0.1], size=n).tolist()
    draws = random.random(n)
    return [
        ROWS[x, action, float(draw < reward_of(x, action))]
        for x, action, draw in zip(contexts, actions, draws, strict=True)
    ]


LIMITS = Limits.of(LoopSettings(actions=("a", "b", "c"), epsilon=0.3))


def test_at_most_15_of_200_runs_ever_promote_where_nothing_differs() -> None:
    """All candidates of a run together; 40 runs here, 200 in make test-service."""
    n_runs, promoted = 200 if os.environ.get("OFFSETTREE_TEST_SERVICE") == "1" else 40, 0
    for seed in range(n_runs):
        random = np.random.default_rng(seed)
        for number in range(1, 4):
            candidate = Candidate(number, number, 0, Fixed(random.integers(3, size=2).tolist()), LIMITS)
            for _ in range(4):
                candidate.add(matured(random, 100, lambda x, action: 0.3), ["a", "b", "c"])
                if candidate.is_better(0.05):
                    promoted += 1
                    break
            else:
                continue
            break
    sys.stdout.write(f"\n{promoted} of {n_runs} runs promoted a candidate\n")
    assert promoted <= 15 * n_runs / 200


def test_a_candidate_that_is_better_than_all_is_promoted_and_one_that_is_a_constant_is_not() -> None:
    def reward_of(x: int, action: int) -> float:
        return 0.9 if action == (1 if x == 0 else 2) else 0.1

    random = np.random.default_rng(0)
    good, constant = (Candidate(i, 1, 0, Fixed(choices), LIMITS) for i, choices in enumerate(([1, 2], [1, 1])))
    for _ in range(20):
        rows = matured(random, 100, reward_of)
        for candidate in (good, constant):
            candidate.add(rows, ["a", "b", "c"])
    assert good.is_better(0.05)
    assert not constant.is_better(0.05)
    assert good.facts(0.05)["gain_over_running"][0] > 0


def test_rows_before_the_training_do_not_count() -> None:
    candidate = Candidate(1, 1, 150, Fixed([1, 2]), LIMITS)
    candidate.add([row_of(0, 1, 1.0, number) for number in range(1, 201)], ["a"])
    assert candidate.over_running.n_rows == 50


def test_a_candidate_is_valued_anew_when_another_policy_begins_to_decide(tmp_path: Path) -> None:
    """Its gain over the former policy says nothing of its gain over the present one."""
    clock = Clock()
    engine = make_engine(tmp_path, clock, exploration="epsilon", epsilon=0.5, promote=False)
    learning = engine.loops["shop"].learning
    decide(engine, {"x": 0}, "before")
    clock.now += 20
    engine.step()
    learning._consider(learning.store.versions(1)[0], Fixed([1, 2]))
    first = learning.candidate
    for number in range(30):
        decide(engine, {"x": number % 2}, f"first {number}")
    clock.now += 20
    engine.step()
    assert first is not None
    assert first.over_running.n_rows == 30
    decide(engine, {"x": 0}, "decided before the swap")
    clock.now += 1
    learning.snapshot(clock.now)  # the same policy goes on
    assert learning.candidate is first
    latest = engine.store.versions(1)[-1].version
    learning.candidate = Candidate(7, 1, 0, Fixed([1, 2]), learning.limits)
    engine.swap("shop", latest)
    second = learning.candidate
    assert second is not None
    assert (second.version, second.number, second.over_running.n_rows) == (7, 2, 0)
    clock.now += 1
    for number in range(10):
        decide(engine, {"x": number % 2}, f"second {number}")
    clock.now += 20
    engine.step()
    assert second.over_running.n_rows == 10
    learning.candidate = None
    engine.close()


def test_all_candidates_together_spend_alpha() -> None:
    assert sum(spent(0.05, number) for number in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("mean", [0.02, 0.3])
def test_bands_hold_at_all_times(mean: float) -> None:
    """Of 200 runs, each looked at ten times, the share of those that ever miss the mean is 5 % or less."""
    missed = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        wealth = Wealth(VALUES, 0.0, 5.0)
        for _ in range(10):
            weight = np.where(random.random(100) < 0.5, 2.0, 0.0)
            wealth.add(weight * (random.random(100) < mean))
            low, high = wealth.ends(0.95)
            if not low <= mean <= high:
                missed += 1
                break
    assert missed <= binom.ppf(0.999, 200, 0.05)


def test_a_gain_of_nothing_is_never_bounded_away_from_0_by_rows_that_cannot_tell() -> None:
    wealth = Wealth(GAINS, -5.0, 5.0)
    for _ in range(20):
        wealth.add(np.zeros(100))
    low, high = wealth.ends(0.95)
    assert low < 0 < high


def test_the_trainer_learns_from_rewards_within_their_range_and_sums_stay_finite(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from offsettree.exceptions import ParameterError
    from offsettree.service.training import Trainer

    clock = Clock()
    engine = make_engine(tmp_path, clock, combine="sum", reward_range=(-1.0, 2.0))
    sent = {"high": 1e308, "low": -1e308, "within": 0.25}
    for event_id, value in sent.items():
        decide(engine, {"age": 3}, event_id)
        for _ in range(2):
            reward(engine, event_id, value)
    clock.now += 20
    engine.step()
    kept = {event_id: stored(engine, event_id).reward or 0.0 for event_id in sent}
    assert np.isfinite(list(kept.values())).all()
    with pytest.raises(ParameterError, match="500 matured rows"):
        Trainer(engine)._learn_in(tmp_path, engine.loops["shop"])
    rewards = pq.read_table(tmp_path / "log.parquet", columns=["reward"])["reward"].to_pylist()
    assert sorted(rewards) == [-1.0, 0.5, 2.0]
    engine.close()
