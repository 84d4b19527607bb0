"""Memory of the service over many events: decided, rewarded, settled and learned from in batches, in this process."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import msgspec

from offsettree.service import Engine, GroupWriter, SqliteStore
from offsettree.service.demo import Shop, demo_settings
from offsettree.service.requests import Answer, DecideRequest, RewardRequest, encode

BATCH = 1000


class Clock:
    """A time that goes on by itself only between batches."""

    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def memory() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    """Send events, and print the memory now and then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--every", type=int, default=50_000)
    options = parser.parse_args()
    shop, clock, started = Shop(1), Clock(), time.perf_counter()
    contexts = [msgspec.Raw(encode(shop.visitor())) for _ in range(5 * BATCH)]
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(demo_settings(), GroupWriter(SqliteStore(Path(folder) / "decisions.db")), clock)
        for first in range(0, options.events, BATCH):
            requests = [DecideRequest(context=contexts[(first + i) % len(contexts)]) for i in range(BATCH)]
            answers = [each for each in engine.decide_all("demo", requests) if isinstance(each, Answer)]
            engine.reward_all("demo", [(each.event_id, RewardRequest(reward=1.0)) for each in answers[::5]])
            clock.now += 5
            engine.step()
            if (first + BATCH) % options.every == 0:
                print(
                    f"{first + BATCH:10,} events: {memory():.1f} MB, {time.perf_counter() - started:.0f} s", flush=True
                )
        engine.close()


if __name__ == "__main__":
    main()
