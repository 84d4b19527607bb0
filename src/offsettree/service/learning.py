"""The learning side of a loop: rows mature, are learned from and valued; snapshots, candidates, swaps and restarts."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from offsettree.exceptions import ParameterError
from offsettree.service.candidates import Candidate
from offsettree.service.deciders import Decider, OnlineDecider, hashed_action, hashed_context, make_decider
from offsettree.service.health import Health
from offsettree.service.learner import HashedLearner
from offsettree.service.records import (
    AddVersion,
    Decision,
    Delete,
    LoopRecord,
    PutState,
    Settle,
    Swap,
    SwapRecord,
    Together,
    Version,
)
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings, seconds
from offsettree.service.values import Limits, LoopValues
from offsettree.service.writer import GroupWriter

__all__ = ["Learning", "Running", "combine"]

ROWS_AT_ONCE = 256
STATE = "learning"
LEARNS_FROM = ("explore", "apprentice")
log = logging.getLogger("offsettree.service")


class Running(NamedTuple):
    """What decides now; replaced as a whole, so that every decision has one version."""

    version: int
    decider: Decider
    kind: str


def combine(how: str, default: float, values: list[float]) -> float:
    """Return the final reward of those that came in time; a sum too large for a number is the largest one.

    Examples
    --------
    >>> [combine(how, 0.0, [1.0, 3.0, 2.0]) for how in ("first", "sum", "last", "max")], combine("sum", 0.5, [])
    ([1.0, 6.0, 2.0, 3.0], 0.5)
    """
    if not values:
        return default
    value = {"first": values[0], "sum": sum(values), "last": values[-1], "max": max(values)}[how]
    return min(max(value, -sys.float_info.max), sys.float_info.max)


class Learning:
    """Learns from a loop's rows; its methods are called by one thread at a time.

    Parameters
    ----------
    record : LoopRecord
        The loop.
    settings : LoopSettings
        Its settings.
    writer : GroupWriter
        Where everything is kept.
    now : float
        The time.
    """

    def __init__(self, record: LoopRecord, settings: LoopSettings, writer: GroupWriter, now: float) -> None:
        self.record = record
        self.settings = settings
        self.lock = threading.Lock()  # of values, health and candidate, which others look at while rows are counted
        self.writer = writer
        self.store = writer.store
        self.limits = Limits.of(settings)
        self.values = LoopValues(self.limits)
        self.health = Health()
        self.learner = HashedLearner(settings.bits)
        self.candidate: Candidate | None = None
        self.n_candidates = 0
        self.last = 0  # the last matured row learned from
        self.left_out = 0  # rows that could not be learned from
        self.online_version = 0
        self.snapshot_time, self.snapshot_rows = now, 0
        self._leads = self.store.leads()
        self.running = self._restore(now)

    # Restarts

    def _restore(self, now: float) -> Running:
        versions = {each.version: each for each in self.store.versions(self.record.id)}
        kept = self.store.state(self.record.id, STATE)
        if kept is not None:
            self._take_over(msgspec.msgpack.decode(kept), versions)
        if not versions:
            self.online_version = self._add_version("online", self.learner.state(), None, "empty, at the start", now)
        swaps = self.store.swaps(self.record.id)
        given = self._given_policy(versions, now)
        if given is not None:
            running = given
        elif swaps and swaps[-1].version in versions:
            running = self._running(versions[swaps[-1].version])
        else:
            running = Running(self.online_version, OnlineDecider(self.learner), "online")
            self._swap(running, "start", now)
        self.running = running
        while rows := self.store.matured(self.record.id, self.last, ROWS_AT_ONCE):
            self.process(rows, now)
        return running

    def _take_over(self, kept: dict[str, Any], versions: dict[int, Version]) -> None:
        self.learner = HashedLearner.restored(kept["learner"])  # of as many bits as it has learned with
        self.values.restore(kept["values"])
        self.last, self.online_version, self.n_candidates = kept["last"], kept["online"], kept["n_candidates"]
        self.snapshot_rows, self.left_out = kept["snapshot_rows"], kept.get("left_out", 0)
        if kept["candidate"] is not None:
            state = msgspec.msgpack.decode(kept["candidate"])
            version = versions.get(state["version"])
            if version is not None:
                decider = make_decider(version.kind, self.store.version_data(self.record.id, version.version))
                self.candidate = Candidate(version.version, state["number"], state["trained_to"], decider, self.limits)
                self.candidate.restore(state)

    def _given_policy(self, versions: dict[int, Version], now: float) -> Running | None:
        """Return the policy file of the settings, if it is not among the versions yet."""
        if self.settings.policy is None:
            return None
        data = Path(self.settings.policy).read_bytes()
        for version in versions.values():
            if version.kind == "given" and self.store.version_data(self.record.id, version.version) == data:
                return None
        number = self._add_version("given", data, None, f"policy of the settings, {self.settings.policy}", now)
        running = Running(number, make_decider("given", data), "given")
        self._swap(running, "policy of the settings", now)
        return running

    def _running(self, version: Version) -> Running:
        if version.kind == "online" and version.version == self.online_version:
            return Running(version.version, OnlineDecider(self.learner), "online")
        decider = make_decider(version.kind, self.store.version_data(self.record.id, version.version))
        if isinstance(decider, OnlineDecider) and isinstance(decider.learner, HashedLearner):
            self.learner, self.online_version = decider.learner, version.version  # it goes on learning from there
        return Running(version.version, decider, version.kind)

    # Rows

    def step(self, now: float, most: int = 20 * ROWS_AT_ONCE) -> int:
        """Settle and learn from rows whose waiting time is over; return how many."""
        if not self.store.leads():
            return self._follow(now)
        if not self._leads:
            self._lead(now)
        done = 0
        while done < most:
            rows = self.writer.write(self.settlement(now))
            self.process(rows, now)
            done += len(rows)
            if len(rows) < ROWS_AT_ONCE:
                break
        self.finish(now)
        return done

    def settlement(self, now: float) -> Settle:
        """Return the change that settles the next rows whose waiting time is over."""
        how, default = self.settings.combine, self.settings.default_reward
        return Settle(self.record.id, now, ROWS_AT_ONCE, lambda values: combine(how, default, values))

    def finish(self, now: float) -> None:
        """Promote a candidate that is shown to be better, and keep a snapshot if it is time."""
        self._promote(now)
        if self.learner.n_rows - self.snapshot_rows >= self.settings.snapshot_rows and now - self.snapshot_time >= (
            seconds(self.settings.snapshot_every) or 0.0
        ):
            self.snapshot(now)

    @property
    def is_leading(self) -> bool:
        """Whether this process has settled the last rows: if not, it must first take over, or follow."""
        return self._leads

    def _follow(self, now: float) -> int:
        """Learn from the rows that another process has settled, and swap when it swaps."""
        self._leads = False
        done = 0
        while rows := self.store.matured(self.record.id, self.last, ROWS_AT_ONCE):
            self.process(rows, now)
            done += len(rows)
        swaps = self.store.swaps(self.record.id)
        if swaps and swaps[-1].version != self.running.version:
            version = next(each for each in self.store.versions(self.record.id) if each.version == swaps[-1].version)
            if version.kind == "online" and self.running.kind == "online" and swaps[-1].reason == "snapshot":
                self.online_version = version.version  # the same rows in the same order: it is the same learner
                self.running = Running(version.version, self.running.decider, "online")
            else:
                self.running = self._running(version)
        return done

    def _lead(self, now: float) -> None:
        """Take over from a process that has led: its state, then the rows since."""
        self._leads = True
        self.running = self._restore(now)

    def process(self, decisions: Sequence[Decision], now: float) -> None:
        """Count settled rows, and learn from them."""
        if not decisions:
            return
        rows = []
        for decision in decisions:
            try:
                rows.append(MaturedRow(decision, self.settings.reward_range).checked())
            except Exception as error:  # one row must not stop the others, nor a restart
                self._leave_out(decision, error)
        with self.lock:
            self.values.add(rows, now)
            if self.candidate is not None:
                self.candidate.add(rows, self._constants())
        for row in rows:
            try:
                self._learn(row)
            except Exception as error:
                self._leave_out(row.decision, error)
        self.last = decisions[-1].matured or self.last

    def _learn(self, row: MaturedRow) -> None:
        with self.lock:
            self.health.add([row])
        if self.settings.mode in LEARNS_FROM and not row.is_fault:
            action = hashed_action(row.action)
            self.learner.learn(hashed_context(row.context), action, row.share, row.decision.probability)

    def _leave_out(self, decision: Decision, error: Exception) -> None:
        self.left_out += 1
        said = f"{type(error).__name__}: {error}"
        log.warning(
            "a settled row cannot be learned from; it is left out",
            extra={"loop": self.record.name, "event_id": decision.event_id, "error": said},
        )

    def history(self) -> list[list[float]]:
        """Return the values over time."""
        with self.lock:
            return [list(point) for point in self.values.history]

    def _constants(self) -> list[str]:
        return list(self.settings.actions) or list(self.values.constants)

    def forget(self, now: float) -> int:
        """Delete what is older than the retention; return how many events."""
        kept = seconds(self.settings.retention)
        if kept is None:
            return 0
        total = 0
        while deleted := self.writer.write(Delete(self.record.id, before=now - kept)):
            total += deleted
        return total

    # Versions

    def snapshot(self, now: float) -> int:
        """Keep the online learner as a version, and all that a restart needs."""
        number = self._add_version(
            "online", self.learner.state(), self.online_version or None, f"after {self.learner.n_rows:,} rows", now
        )
        was_running = self.running.kind == "online"
        self.online_version = number
        self.snapshot_time, self.snapshot_rows = now, self.learner.n_rows
        if was_running:
            self._swap(Running(number, self.running.decider, "online"), "snapshot", now)
        else:
            self.checkpoint()
        return number

    def checkpoint(self) -> None:
        """Keep all that a restart needs; rows that matured since are learned from again."""
        self.writer.write(self._checkpoint())

    def _checkpoint(self) -> PutState:
        state = {
            "last": self.last,
            "online": self.online_version,
            "n_candidates": self.n_candidates,
            "snapshot_rows": self.snapshot_rows,
            "left_out": self.left_out,
            "learner": self.learner.state(),
            "values": self.values.state(),
            "candidate": None if self.candidate is None else self.candidate.state(),
        }
        return PutState(self.record.id, STATE, msgspec.msgpack.encode(state))

    def _add_version(self, kind: str, data: bytes, parent: int | None, note: str, now: float) -> int:
        version = Version(self.record.id, 0, now, kind, parent, note, self.last, data)
        return int(self.writer.write(AddVersion(version)))

    def _swap(self, running: Running, reason: str, now: float) -> None:
        swap = Swap(self.record.id, SwapRecord(now, running.version, reason))
        self.running = running
        self.writer.write(Together([swap, self._checkpoint()]))
        log.info("version swapped", extra={"loop": self.record.name, "version": running.version, "reason": reason})

    def swap(self, number: int, reason: str, now: float) -> Running:
        """Let an earlier or a new version decide; a request that is under way is answered by the one it began with."""
        version = next((each for each in self.store.versions(self.record.id) if each.version == number), None)
        if version is None:
            raise ParameterError(f"version must be one of the loop's; {number} is not.")
        running = self._running(version)
        if self.candidate is not None and self.candidate.version == number:
            self.candidate = None
        self._warm_up(running.decider)
        self.snapshot_time, self.snapshot_rows = now, self.learner.n_rows
        self._swap(running, reason, now)
        return running

    def _warm_up(self, decider: Decider) -> None:
        """Ask once before it counts: kernels are compiled at their first use."""
        for decision in self.store.matured(self.record.id, max(self.last - 1, 0), 1):
            try:
                row = MaturedRow(decision, self.settings.reward_range)
            except Exception:  # noqa: S112 - it was left out of learning, too
                continue
            decider.choose(row.context, row.actions)

    def add_candidate(self, data: bytes, trained_to: int, note: str, now: float) -> int:
        """Take a learned policy file as the loop's candidate, in the place of a former one; return its version."""
        decider = make_decider("learned", data)
        version = Version(self.record.id, 0, now, "learned", self.running.version, note, trained_to, data)
        number = int(self.writer.write(AddVersion(version)))
        self._warm_up(decider)
        self.n_candidates += 1
        self.candidate = Candidate(number, self.n_candidates, max(trained_to, self.last), decider, self.limits)
        self.checkpoint()
        return number

    def _promote(self, now: float) -> None:
        candidate = self.candidate
        if candidate is None or not self.settings.promote or not candidate.is_better(self.settings.alpha):
            return
        rows = candidate.over_running.n_rows
        self.swap(candidate.version, f"promoted: better on {rows:,} later rows", now)
