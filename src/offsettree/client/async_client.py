"""The client for an event loop: the same calls, each awaited, over a few threads with connections of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

from offsettree.client.client import Client
from offsettree.client.decision import Decision, ServiceError

__all__ = ["AsyncClient"]


class AsyncClient:
    """Calls one loop of a service from an event loop.

    Parameters
    ----------
    address : str
        Such as ``"http://127.0.0.1:8000"``.
    loop : str
        The loop's name.
    connections : int, default=16
        How many calls go on at once; others wait.
    **options
        As for `Client`: key, timeout, retries, fallback.

    Examples
    --------
    >>> import asyncio
    >>> from offsettree.client import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:1", "shop", retries=0, fallback="mail") as shop:
    ...         return await shop.decide({"age": 33})
    >>> asyncio.run(main()).action
    'mail'
    """

    def __init__(self, address: str, loop: str, *, connections: int = 16, **options: Any) -> None:
        self._client = Client(address, loop, **options)
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="offsettree-client")

    async def decide(self, context: Mapping[str, Any] | None = None, **options: Any) -> Decision:
        """Ask for a decision; see `Client.decide`."""
        decision: Decision = await self._run(self._client.decide, context, **options)
        return decision

    async def decide_many(self, contexts: Sequence[Mapping[str, Any]], **options: Any) -> list[Decision | ServiceError]:
        """Ask for many decisions in one call; see `Client.decide_many`."""
        decisions: list[Decision | ServiceError] = await self._run(self._client.decide_many, contexts, **options)
        return decisions

    async def reward(self, event: Decision | str, value: float | None = None, **options: Any) -> str:
        """Send a reward; see `Client.reward`."""
        return str(await self._run(self._client.reward, event, value, **options))

    async def reward_many(self, rewards: Mapping[str, float]) -> dict[str, str]:
        """Send many rewards in one call; see `Client.reward_many`."""
        statuses: dict[str, str] = await self._run(self._client.reward_many, rewards)
        return statuses

    async def activate(self, event: Decision | str) -> str:
        """Activate a deferred decision; see `Client.activate`."""
        return str(await self._run(self._client.activate, event))

    async def close(self) -> None:
        """Wait for calls under way, and end the threads."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _run(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        call = partial(function, *arguments, **options)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)
