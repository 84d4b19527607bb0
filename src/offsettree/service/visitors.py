"""The demo's traffic: simulated visitors who call the engine as a shop would, with rewards that come later or never."""

from __future__ import annotations

import asyncio
import heapq
import itertools

import msgspec

from offsettree.service.demo import Shop
from offsettree.service.engine import Engine
from offsettree.service.requests import DecideRequest, RewardRequest, encode
from offsettree.service.store import StoreError

__all__ = ["visit"]


async def visit(engine: Engine, name: str = "demo", *, per_second: float = 40.0, seed: int | None = None) -> None:
    """Send visitors for ever, or until cancelled.

    Parameters
    ----------
    engine : Engine
        The service.
    name : str, default="demo"
        The loop.
    per_second : float, default=40
        How many come.
    seed : int, optional
        Draws them.
    """
    shop = Shop(seed or 0)
    waiting = engine.loop(name).settings.waiting
    numbers = itertools.count()
    purchases: list[tuple[float, int, str, float]] = []
    while True:
        await asyncio.sleep(1 / per_second)
        now = engine.clock()
        try:
            visitor = shop.visitor()
            answer = await engine.decide_soon(name, DecideRequest(context=msgspec.Raw(encode(visitor))))
            bought = shop.purchase(visitor, answer.action)
            if bought is not None:
                heapq.heappush(purchases, (now + waiting * bought[1], next(numbers), answer.event_id, bought[0]))
            while purchases and purchases[0][0] <= now:
                _, _, event_id, value = heapq.heappop(purchases)
                await engine.reward_soon(name, event_id, RewardRequest(reward=value))
        except StoreError:
            await asyncio.sleep(1.0)
