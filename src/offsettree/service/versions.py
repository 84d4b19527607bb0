"""What a loop has learned, in the store: versions, snapshots, candidates, swaps, and the state for a restart."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from offsettree.exceptions import ParameterError
from offsettree.service.asking import Asker
from offsettree.service.candidates import Candidate
from offsettree.service.deciders import WARM_UP, Decider, OnlineDecider, make_decider
from offsettree.service.health import Health
from offsettree.service.learner import HashedLearner
from offsettree.service.records import AddVersion, LoopRecord, PutState, Swap, SwapRecord, Version
from offsettree.service.rows import MaturedRow
from offsettree.service.settings import LoopSettings
from offsettree.service.values import Limits, LoopValues
from offsettree.service.writer import GroupWriter

__all__ = ["STATE", "Running", "Versions"]

STATE = "learning"
CANDIDATES_WAIT = 1.0  # seconds for a candidate's answer; one that takes longer is none any more
log = logging.getLogger("offsettree.service")


class Running(NamedTuple):
    """What decides now; replaced as a whole, so that every decision has one version."""

    version: int
    decider: Decider
    kind: str


class Versions:
    """Keeps and swaps what a loop has learned; its methods are called by one thread at a time."""

    running: Running

    def __init__(self, record: LoopRecord, settings: LoopSettings, writer: GroupWriter, now: float) -> None:
        self.record = record
        self.settings = settings
        self.lock = threading.Lock()  # of values, health and candidate, which others look at while rows are counted
        self.writer = writer
        self.store = writer.store
        self.limits = Limits.of(settings)
        self.asker = Asker(CANDIDATES_WAIT)
        self.values = LoopValues(self.limits)
        self.health = Health()
        self.learner = HashedLearner(settings.bits)
        self.candidate: Candidate | None = None
        self.n_candidates = 0
        self.changed = 0.0  # when another policy began to decide; snapshots of the online learner are the same one
        self.last = 0  # the last matured row learned from
        self.left_out = 0  # rows that could not be learned from
        self.online_version = 0
        self.offered = 0  # the last version that was looked at as a candidate
        self.last_swap = 0  # the number of the last swap that was made here
        self._seen_swap = 0  # the same, of a swap that the leader has yet to make
        self.snapshot_time, self.snapshot_rows = now, 0
        self._leads = self.store.leads()

    # Restarts

    def _take_over(self, kept: dict[str, Any]) -> None:
        self.learner = HashedLearner.restored(kept["learner"])  # of as many bits as it has learned with
        self.values = LoopValues(self.limits)
        self.values.restore(kept["values"])
        self.last, self.online_version, self.n_candidates = kept["last"], kept["online"], kept["n_candidates"]
        self.snapshot_rows, self.left_out = kept["snapshot_rows"], kept.get("left_out", 0)
        self.candidate, self.offered, self.changed = None, kept.get("offered", 0), kept.get("changed", 0.0)
        if "offered" not in kept:  # of an earlier release
            self.offered = max((each.version for each in self.store.versions(self.record.id)), default=0)
        if kept["candidate"] is not None:
            state = msgspec.msgpack.decode(kept["candidate"])
            version = self._version(state["version"])
            decider = make_decider(version.kind, self.store.version_data(self.record.id, version.version))
            self.candidate = Candidate(version.version, state["number"], state["trained_to"], decider, self.limits)
            self.candidate.restore(state)

    def _add_given(self, now: float) -> None:
        """Let the policy file of the settings decide, if it is not among the versions yet."""
        if self.settings.policy is None:
            return
        data = Path(self.settings.policy).read_bytes()
        before = {each.version for each in self.store.versions(self.record.id)}
        make_decider("given", data)  # a file that cannot be used is refused before it is a version
        note = f"policy of the settings, {self.settings.policy}"
        number = self._add_version("given", data, None, note, now, "same")
        while number not in before:  # until this process, or one that started with it, has swapped once
            swaps = self.store.swaps(self.record.id)
            if any(swap.version == number for swap in swaps):
                break
            self._try_swap(number, "policy of the settings", now, after=swaps[-1].seq if swaps else 0)

    def _version(self, number: int) -> Version:
        for each in self.store.versions(self.record.id, number - 1):
            if each.version == number:
                return each
        raise ParameterError(f"version must be one of the loop's; {number} is not.")

    def _running(self, version: Version) -> Running:
        if version.kind == "online" and version.version == self.online_version:
            return Running(version.version, OnlineDecider(self.learner), "online")
        decider = make_decider(version.kind, self.store.version_data(self.record.id, version.version))
        if isinstance(decider, OnlineDecider) and isinstance(decider.learner, HashedLearner):
            self.learner, self.online_version = decider.learner, version.version  # it goes on learning from there
        return Running(version.version, decider, version.kind)

    # Versions

    def snapshot(self, now: float) -> int:
        """Keep the online learner as a version, and all that a restart needs."""
        number = self._add_version(
            "online", self.learner.state(), self.online_version or None, f"after {self.learner.n_rows:,} rows", now
        )
        was_running = self.running.kind == "online"
        former, self.online_version = self.online_version, number
        self.snapshot_time, self.snapshot_rows = now, self.learner.n_rows
        if not was_running:
            self.checkpoint()
        elif not self._swap(Running(number, self.running.decider, "online"), "snapshot", now, self.last_swap):
            self.online_version = former  # another process has swapped meanwhile: that is made first
        return number

    def checkpoint(self) -> None:
        """Keep all that a restart needs; rows that matured since are learned from again."""
        self.writer.write(self._checkpoint())

    def _checkpoint(self, last_swap: int | None = None) -> PutState:
        state = {
            "last": self.last,
            "online": self.online_version,
            "n_candidates": self.n_candidates,
            "snapshot_rows": self.snapshot_rows,
            "left_out": self.left_out,
            "offered": self.offered,
            "changed": self.changed,
            "last_swap": self.last_swap if last_swap is None else last_swap,
            "learner": self.learner.state(),
            "values": self.values.state(),
            "candidate": None if self.candidate is None else self.candidate.state(),
        }
        return PutState(self.record.id, STATE, msgspec.msgpack.encode(state))

    def _add_version(
        self, kind: str, data: bytes, parent: int | None, note: str, now: float, unless: str | None = None
    ) -> int:
        version = Version(self.record.id, 0, now, kind, parent, note, self.last, data)
        return int(self.writer.write(AddVersion(version, unless)))

    def _try_swap(self, number: int, reason: str, now: float, after: int | None) -> int:
        """Note a swap in the store; return its number there, 0 if another process was first."""
        swap = Swap(self.record.id, SwapRecord(now, number, reason), after)
        return int(self.writer.write(swap))

    def _swap(self, running: Running, reason: str, now: float, after: int | None = None) -> bool:
        """Let something decide, unless another process has swapped since the swap `after`."""
        record = SwapRecord(now, running.version, reason)
        former, self.running = self.running, running
        number = int(self.writer.write(Swap(self.record.id, record, after, self._checkpoint)))
        if not number:
            self.running = former
            return False
        self.last_swap = self._seen_swap = number
        self._log_swap(running.version, reason)
        return True

    def _log_swap(self, version: int, reason: str) -> None:
        log.info("version swapped", extra={"loop": self.record.name, "version": version, "reason": reason})

    def swap(self, number: int, reason: str, now: float) -> Running:
        """Let an earlier or a new version decide; a request that is under way is answered by the one it began with.

        A process that does not lead notes it in the store, where the leader finds it, and decides so at once.
        """
        version = self._version(number)
        if not self._leads:
            decider = make_decider(version.kind, self.store.version_data(self.record.id, number))
            self._warm_up(decider)
            self._seen_swap = self._try_swap(number, reason, now, after=None)
            self.running = Running(number, decider, version.kind)
            self._log_swap(number, reason)
            return self.running
        self._swap(self._ready(version, now), reason, now)
        return self.running

    def _ready(self, version: Version, now: float) -> Running:
        """Return a version as what is to decide. Another candidate is valued anew: its gain is over another policy."""
        running = self._running(version)
        self.changed = now
        if self.candidate is not None:
            former, self.candidate = self.candidate, None
            if former.version != version.version:
                self._value_anew(former.version, max(former.trained_to, self.last), former.decider)
        self._warm_up(running.decider)
        self.snapshot_time, self.snapshot_rows = now, self.learner.n_rows
        return running

    def _warm_up(self, decider: Decider) -> None:
        """Ask some times before it counts: kernels are compiled when they are first used."""
        for decision in self.store.matured(self.record.id, max(self.last - 1, 0), 1):
            try:
                row = MaturedRow(decision, self.settings.reward_range)
            except Exception:  # noqa: S112 - it was left out of learning, too
                continue
            for _ in range(WARM_UP):
                decider.choose(row.context, row.actions)

    def add_candidate(self, data: bytes, trained_to: int, note: str, now: float) -> int:
        """Take a learned policy file as the loop's candidate, in the place of a former one; return its version.

        A process that does not lead only adds the version: the leader finds it there.
        """
        decider = make_decider("learned", data)
        self._warm_up(decider)
        version = Version(self.record.id, 0, now, "learned", self.running.version, note, trained_to, data)
        number = int(self.writer.write(AddVersion(version)))
        if self._leads:
            self._consider(msgspec.structs.replace(version, version=number), decider)
            self.checkpoint()
        return number

    def _consider(self, version: Version, decider: Decider) -> None:
        """Value a version as a candidate on rows that mature from now on."""
        self.offered = max(self.offered, version.version)
        self._value_anew(version.version, max(version.trained_to, self.last), decider)

    def _value_anew(self, version: int, trained_to: int, decider: Decider) -> None:
        """Begin to value a candidate; each beginning spends a share of alpha."""
        self.n_candidates += 1
        self.candidate = Candidate(version, self.n_candidates, trained_to, decider, self.limits, self.changed)

    def _promote(self, now: float) -> None:
        candidate = self.candidate
        if candidate is None or not self.settings.promote or not candidate.is_better(self.settings.alpha):
            return
        reason = f"promoted: better on {candidate.over_running.n_rows:,} later rows"
        if not self._swap(self._ready(self._version(candidate.version), now), reason, now, self.last_swap):
            self.candidate = candidate  # another process has swapped meanwhile: its gain over that is not known
