"""The learning side of a loop: rows mature, are learned from and valued; processes follow one that leads."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

import msgspec

from offsettree.exceptions import OffsetTreeError
from offsettree.service.deciders import hashed_action, listed_context, make_decider
from offsettree.service.learner import joined, joined_lists
from offsettree.service.records import Decision, Delete, LoopRecord, Settle, SwapRecord
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings, seconds
from offsettree.service.store import StoreError
from offsettree.service.versions import STATE, Running, Versions
from offsettree.service.writer import GroupWriter

__all__ = ["Learning", "combine"]

ROWS_AT_ONCE = 256
LEARNS_FROM = ("explore", "apprentice")
log = logging.getLogger("offsettree.service")


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


class Learning(Versions):
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
        super().__init__(record, settings, writer, now)
        self.running = self._restore(now)

    # Restarts

    def _restore(self, now: float) -> Running:
        """Take up what the store has. Processes that start at once make the first version, and its swap, once."""
        loop = self.record.id
        kept = self.store.state(loop, STATE)
        state = {} if kept is None else msgspec.msgpack.decode(kept)
        if state:
            self._take_over(state)
        if not self.store.versions(loop):
            self.online_version = self._add_version(
                "online", self.learner.state(), None, "empty, at the start", now, "any"
            )
            self._try_swap(self.online_version, "start", now, after=0)
        self._add_given(now)
        swap = self.store.last_swap(loop)
        if swap is None:  # ended between its first version and its swap
            self.online_version = self.online_version or self.store.versions(loop)[0].version
            self._try_swap(self.online_version, "start", now, after=0)
            swap = self.store.last_swap(loop)
        if swap is None:
            raise StoreError("a loop must have a version that decides; its swaps were deleted.")
        self.running = self._running(self._version(swap.version))
        self.last_swap = self._seen_swap = swap.seq
        while rows := self.store.matured(loop, self.last, ROWS_AT_ONCE):
            self.process(rows, now)
        if self._leads and state.get("last_swap") != swap.seq:
            self.checkpoint()  # others wait for the state that goes with this swap
        return self.running

    # Rows

    def step(self, now: float, most: int = 20 * ROWS_AT_ONCE) -> int:
        """Settle and learn from rows whose waiting time is over; return how many."""
        if not self.store.leads():
            return self._follow(now)
        if not self._leads:
            self._lead(now)
        if self.store.is_shared:
            self.notice(now)
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
    def is_bounded(self) -> bool:
        """Whether a row takes microseconds: no candidate is asked that may take long."""
        return self.candidate is None or self.candidate.decider.is_bounded

    def close(self) -> None:
        """End the threads in which candidates are asked."""
        self.asker.close()

    @property
    def is_leading(self) -> bool:
        """Whether this process has settled the last rows: if not, it must first take over, or follow."""
        return self._leads

    def notice(self, now: float) -> None:
        """As the leader, make the swaps and take the candidates that other processes have put into the store."""
        swap = self.store.last_swap(self.record.id)
        if swap is not None and swap.seq != self.last_swap:
            self.running = self._ready(self._version(swap.version), now)
            self.last_swap = self._seen_swap = swap.seq
            self.checkpoint()
            self._log_swap(swap.version, swap.reason)
        for version in self.store.versions(self.record.id, self.offered):
            self.offered = version.version
            if version.kind == "learned":
                try:
                    data = self.store.version_data(self.record.id, version.version)
                    self._consider(version, make_decider("learned", data))
                except OffsetTreeError as error:
                    log.warning(
                        "a version cannot be a candidate",
                        extra={"loop": self.record.name, "version": version.version, "error": str(error)},
                    )

    def _follow(self, now: float) -> int:
        """Learn from the rows that another process has settled, and swap when any process swaps."""
        self._leads = False
        done = 0
        swap = self.store.last_swap(self.record.id)
        if swap is not None and swap.seq != self.last_swap:
            self._follow_swap(swap)
        while rows := self.store.matured(self.record.id, self.last, ROWS_AT_ONCE):
            self.process(rows, now)
            done += len(rows)
        return done

    def _follow_swap(self, swap: SwapRecord) -> None:
        """Swap as the leader did, and go on learning from where it does; until it did, decide by that version as it is.

        Its state is of one transaction with its swap: from there on, the same rows in the same order make the same
        learner.
        """
        if swap.reason == "snapshot" and self.running.kind == "online" and self._seen_swap == self.last_swap:
            self.online_version = swap.version  # it is the same learner
            self.running = Running(swap.version, self.running.decider, "online")
            self.last_swap = self._seen_swap = swap.seq
            return
        kept = self.store.state(self.record.id, STATE)
        state = None if kept is None else msgspec.msgpack.decode(kept)
        if state is not None and state.get("last_swap", 0) >= swap.seq:
            with self.lock:
                self._take_over(state)
            self.running = self._running(self._version(swap.version))
            self.last_swap = self._seen_swap = swap.seq
        elif self._seen_swap != swap.seq:
            version = self._version(swap.version)
            data = self.store.version_data(self.record.id, version.version)
            self.running = Running(version.version, make_decider(version.kind, data), version.kind)
            self._seen_swap = swap.seq

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
                self.candidate.add(rows, self._constants(), self.asker.ask)
            self._learn(rows)
        self.last = decisions[-1].matured or self.last

    def _learn(self, rows: Sequence[MaturedRow]) -> None:
        learns, learned = self.settings.mode in LEARNS_FROM, []
        for row in rows:
            try:
                self.health.add([row])
                if learns and not row.is_fault:
                    learned.append((listed_context(row.context), hashed_action(row.action), row.share))
            except Exception as error:
                self._leave_out(row.decision, error)
        if learned:
            contexts, actions, rewards = zip(*learned, strict=True)
            self.learner.learn_all(joined_lists(contexts), joined(actions), rewards)

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
