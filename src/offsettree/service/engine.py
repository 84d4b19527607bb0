"""The service without HTTP: loops by name, for an event loop or for plain calls."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from offsettree.service.learner import HashedLearner
from offsettree.service.loop import Loop, Question
from offsettree.service.records import AddDecisions, Decision, Delete, EnsureLoop
from offsettree.service.requests import Answer, DecideRequest, RequestError, RewardRequest
from offsettree.service.settings import Settings
from offsettree.service.store import StoreError
from offsettree.service.writer import GroupWriter

__all__ = ["Engine"]

ROWS_AT_ONCE = 32  # learned from between two requests


class Engine:
    """Decides, takes rewards and learns, for all loops of the settings.

    Parameters
    ----------
    settings : Settings
        The loops.
    writer : GroupWriter
        Where everything is kept; closed with the engine.
    clock : callable, default=time.time
        Tells the time.

    Examples
    --------
    >>> import tempfile, msgspec
    >>> from offsettree.service import Engine, GroupWriter, LoopSettings, Settings, SqliteStore
    >>> from offsettree.service.requests import DecideRequest, RewardRequest
    >>> folder = tempfile.TemporaryDirectory()
    >>> settings = Settings({"shop": LoopSettings(actions=("mail", "call"), waiting_time="1h")})
    >>> engine = Engine(settings, GroupWriter(SqliteStore(f"{folder.name}/decisions.db")))
    >>> answer = engine.decide("shop", DecideRequest(context=msgspec.Raw(b'{"age": 33}'), event_id="first"))
    >>> answer.event_id, answer.probability, answer.policy_version
    ('first', 0.5, 1)
    >>> engine.reward("shop", "first", RewardRequest(reward=1.0))
    'kept'
    >>> engine.close()
    >>> folder.cleanup()
    """

    def __init__(self, settings: Settings, writer: GroupWriter, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.writer = writer
        self.store = writer.store
        self.clock = clock
        self.started = clock()
        self.loops: dict[str, Loop] = {}
        self._learning = threading.Lock()
        self._tasks: set[asyncio.Future[Any]] = set()
        HashedLearner.warm_up()
        for name, each in settings.loops.items():
            record = writer.write(EnsureLoop(name, secrets.token_bytes(32), self.started))
            self.loops[name] = Loop(record, each, settings.server, writer, self.started)

    def loop(self, name: str) -> Loop:
        """Return a loop; one that is not in the settings is a problem of status 404."""
        try:
            return self.loops[name]
        except KeyError:
            known = ", ".join(sorted(self.loops))
            raise RequestError(404, f"there must be a loop {name!r:.80} in the settings; there are: {known}") from None

    def decide(self, name: str, request: DecideRequest) -> Answer:
        """Decide, and return once the decision is on the disk."""
        loop = self.loop(name)
        question = loop.question(request)
        rows = self.writer.write(loop.rows(question, loop.choose(question), self.clock()))
        return loop.answer(rows, question.digest)

    def decide_all(self, name: str, requests: Sequence[DecideRequest]) -> list[Answer | RequestError | StoreError]:
        """Decide for many in as few commits as possible; what is wrong with one is its own answer."""
        loop = self.loop(name)
        asked = [_or_problem(loop.question, request) for request in requests]
        now = self.clock()

        def rows_of(question: Question) -> AddDecisions:
            return loop.rows(question, loop.choose(question), now)

        rows = [each if isinstance(each, RequestError) else _or_problem(rows_of, each) for each in asked]
        stored = iter(self.writer.write_all([each for each in rows if not isinstance(each, RequestError)]))
        answers: list[Any] = []
        for question, each in zip(asked, rows, strict=True):
            answer = each if isinstance(each, RequestError) else next(stored)
            if not isinstance(answer, Exception):
                answer = _or_problem(partial(loop.answer, answer), question.digest)
            answers.append(answer)
        return answers

    def reward_all(
        self, name: str, rewards: Sequence[tuple[str, RewardRequest]]
    ) -> list[str | RequestError | StoreError]:
        """Keep many rewards in as few commits as possible; what is wrong with one is its own answer."""
        loop, now = self.loop(name), self.clock()
        changes = [_or_problem(lambda given: loop.reward(given[0], given[1], now), each) for each in rewards]
        return self._write_right(changes)

    def _write_right(self, changes: list[Any]) -> list[Any]:
        """Make the changes that are no problems; return what became of each."""
        kept = iter(self.writer.write_all([each for each in changes if not isinstance(each, RequestError)]))
        return [each if isinstance(each, RequestError) else next(kept) for each in changes]

    def activate_all(self, name: str, event_ids: Sequence[str]) -> list[str | RequestError | StoreError]:
        """Activate many decisions in as few commits as possible; what is wrong with one is its own answer."""
        loop, now = self.loop(name), self.clock()
        changes = [_or_problem(lambda each: loop.activation(each, now), event_id) for event_id in event_ids]
        return self._write_right(changes)

    async def decide_soon(self, name: str, request: DecideRequest) -> Answer:
        """Decide in an event loop."""
        loop = self.loop(name)
        question = loop.question(request)
        choice = await loop.choose_soon(question)
        rows: list[Decision] = await self.writer.submit(loop.rows(question, choice, self.clock()))
        return loop.answer(rows, question.digest)

    def decide_then(self, name: str, request: DecideRequest, told: Callable[[Answer | Exception], None]) -> None:
        """Decide in an event loop, in which `told` is called with the answer: no task for each decision."""
        loop = self.loop(name)
        question = loop.question(request)
        if not question.running.decider.is_bounded:
            task = asyncio.ensure_future(self.decide_soon(name, request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda done: told(done.exception() or done.result()))  # type: ignore[arg-type]
            return

        def stored(rows: list[Decision] | Exception) -> None:
            told(rows if isinstance(rows, Exception) else _or_error(loop.answer, rows, question.digest))

        self.writer.submit_then(loop.rows(question, loop.choose(question), self.clock()), stored)

    def reward(self, name: str, event_id: str, request: RewardRequest) -> str:
        """Keep a reward; return kept, late, unknown or repeated."""
        return str(self.writer.write(self.loop(name).reward(event_id, request, self.clock())))

    async def reward_soon(self, name: str, event_id: str, request: RewardRequest) -> str:
        """Keep a reward, in an event loop."""
        return str(await self.writer.submit(self.loop(name).reward(event_id, request, self.clock())))

    def activate(self, name: str, event_id: str) -> str:
        """Start a deferred decision's waiting time; return activated, active or unknown."""
        return str(self.writer.write(self.loop(name).activation(event_id, self.clock())))

    async def activate_soon(self, name: str, event_id: str) -> str:
        """Start a deferred decision's waiting time, in an event loop."""
        return str(await self.writer.submit(self.loop(name).activation(event_id, self.clock())))

    def delete(self, name: str, *, event_id: str | None = None, customer: str | None = None) -> int:
        """Delete an event, or all of a customer, with their rewards; return how many events."""
        if (event_id is None) == (customer is None):
            raise RequestError(422, "give either an event or a customer to delete")
        return int(self.writer.write(Delete(self.loop(name).record.id, event_id, customer)))

    def step(self) -> int:
        """Let all loops learn from rows whose waiting time is over; return how many."""
        self._count_together(self._counts())
        done, errors, now = 0, list[Exception](), self.clock()
        with self._learning:
            for loop in self.loops.values():
                try:
                    done += loop.learning.step(now)
                except Exception as error:  # the other loops go on
                    errors.append(error)
        if errors:
            raise errors[0]
        return done

    def _counts(self) -> dict[str, int]:
        """Return how many decisions all processes have made, for the explorers that count them."""
        shared = [each for each in self.loops.values() if self.store.is_shared and each.counts_decisions]
        return {each.record.name: int(self.store.summary(each.record.id)["decisions"]) for each in shared}

    def _count_together(self, counts: dict[str, int]) -> None:
        for name, count in counts.items():
            self.loops[name].count = max(self.loops[name].count, count)

    async def step_soon(self) -> int:
        """Let all loops learn, in an event loop: in slices between requests, as a busy thread would hold them up."""
        if self.store.is_shared and not await asyncio.to_thread(self._is_leading):
            return await asyncio.to_thread(self.step)
        done, now = 0, self.clock()
        if self.store.is_shared:
            await asyncio.to_thread(self._notice, now)
            self._count_together(await asyncio.to_thread(self._counts))
        loops = list(self.loops.values())
        # All in one transaction. What some of them have settled must be learned from, also where others failed.
        settled = await asyncio.gather(
            *(self.writer.submit(loop.learning.settlement(now)) for loop in loops), return_exceptions=True
        )
        errors = [each for each in settled if isinstance(each, BaseException)]
        for loop, rows in zip(loops, settled, strict=True):
            if isinstance(rows, BaseException):
                continue
            try:
                await self._learn_soon(loop, rows, now)
                done += len(rows)
            except Exception as error:
                errors.append(error)
        if done:
            await asyncio.to_thread(self._finish, now)
        if errors:
            raise errors[0]
        return done

    async def _learn_soon(self, loop: Loop, rows: Sequence[Decision], now: float) -> None:
        """Let a loop learn from settled rows, in slices between requests."""
        for first in range(0, len(rows), ROWS_AT_ONCE):
            while not self._learning.acquire(blocking=False):  # a version is being swapped
                await asyncio.sleep(0.01)
            try:
                part = rows[first : first + ROWS_AT_ONCE]
                if loop.learning.is_bounded:
                    loop.learning.process(part, now)
                else:  # a candidate is asked, too
                    await asyncio.to_thread(loop.learning.process, part, now)
            finally:
                self._learning.release()
            await asyncio.sleep(0)

    def _is_leading(self) -> bool:
        return self.store.leads() and all(loop.learning.is_leading for loop in self.loops.values())

    def _notice(self, now: float) -> None:
        with self._learning:
            for loop in self.loops.values():
                loop.learning.notice(now)

    def _finish(self, now: float) -> None:
        with self._learning:
            for loop in self.loops.values():
                loop.learning.finish(now)

    def forget(self) -> int:
        """Delete what is older than each loop's retention."""
        with self._learning:
            return sum(loop.learning.forget(self.clock()) for loop in self.loops.values())

    def swap(self, name: str, version: int, reason: str = "by hand") -> int:
        """Let a version decide from now on; return the version that did."""
        learning = self.loop(name).learning
        with self._learning:
            former = learning.running.version
            learning.swap(version, reason, self.clock())
        return former

    def add_candidate(self, name: str, data: bytes, trained_to: int, note: str) -> int:
        """Take a policy file as a loop's candidate; return its version."""
        with self._learning:
            return self.loop(name).learning.add_candidate(data, trained_to, note, self.clock())

    def close(self) -> None:
        """Keep the state of all loops, and close the store."""
        with self._learning:
            for loop in self.loops.values():
                if loop.learning.is_leading and self.store.leads():
                    loop.learning.checkpoint()
        for loop in self.loops.values():
            loop.close()
        self.writer.close()


def _or_problem(function: Callable[[Any], Any], given: Any) -> Any:
    try:
        return function(given)
    except RequestError as problem:
        return problem


def _or_error(function: Callable[..., Any], *given: Any) -> Any:
    try:
        return function(*given)
    except Exception as error:
        return error
