"""The simulated schedule: times that can be worked out by hand, on the task graph that fits have."""

from __future__ import annotations

import pytest

from tools.simulate_schedule import Costs, graph, routing, simulate

FREE = Costs(route=1.0, subtree=1.0, join=0.0, task=0.0, driver=0.0, climbs=0.5)


@pytest.mark.parametrize(("n_workers", "expected"), [(1, 16.0), (4, 4.0), (16, 1.0), (100, 1.0)])
def test_equal_tasks_are_shared_out_evenly(n_workers: int, expected: float) -> None:
    tasks, seconds = routing(16, 16, FREE)
    assert simulate(tasks, seconds, n_workers, FREE)[0] == expected


def test_a_slow_driver_bounds_all_workers() -> None:
    slow = Costs(route=1.0, subtree=1.0, join=0.0, task=0.0, driver=2.0, climbs=0.5)
    tasks, seconds = routing(16, 16, slow)
    assert simulate(tasks, seconds, 100, slow)[0] == 16 * 2.0 + 1.0


def test_joins_wait_for_their_sides_and_follow_one_another() -> None:
    costs = Costs(route=0.0, subtree=0.0, join=1.0, task=0.0, driver=0.0, climbs=0.5)
    tasks, seconds = graph(n_rows=64, n_actions=64, n_workers=2, costs=costs)
    joins = [task for task in tasks if task.after]
    assert len(tasks) - len(joins) == 16
    assert len(joins) == 15
    by_key = {task.key: task for task in tasks}

    def path(key: str) -> float:
        return seconds[key] + max((path(each) for each in by_key[key].after), default=0.0)

    root = next(task.key for task in joins if not any(task.key in other.after for other in joins))
    endless = simulate(tasks, seconds, 1_000, costs)[0]
    assert endless == pytest.approx(path(root))
    alone, used = simulate(tasks, seconds, 1, costs)
    assert alone == pytest.approx(sum(seconds.values()))
    assert used == pytest.approx(1.0)
