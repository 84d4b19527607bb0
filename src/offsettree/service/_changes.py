"""Changes as SQL that SQLite and PostgreSQL read alike: many rows per statement, as each hands over Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

import msgspec

from offsettree.service.records import (
    Activate,
    AddDecisions,
    AddReward,
    AddVersion,
    Decision,
    Delete,
    EnsureLoop,
    LoopRecord,
    PutState,
    Settle,
    Swap,
)

FIELDS = Decision.__struct_fields__
SEQ = FIELDS.index("seq")
INSERTED = FIELDS[:SEQ]  # what follows is known when a row matures
REWARD_FIELDS = ("loop", "event_id", "time", "value", "metrics", "reward_id", "status")
PIECES = (64, 16, 4, 1)  # rows per statement: few texts, which stay prepared
DELETED_AT_ONCE = 500
WITH_SLOTS = "(event_id=? OR (event_id>=? AND event_id<?))"


class Changes:
    """Makes changes within a transaction that its caller begins and ends.

    Parameters
    ----------
    run : callable
        Runs a statement with values for its question marks, and returns a cursor.
    taken : exception class
        What it raises for a row that is there already.
    writer : int, default=0
        The number of this process among those that write: each counts by itself.
    share, change : str
        What locks rows that are read, and rows that are about to be changed.
    goes_on : bool, default=False
        Whether a transaction goes on after a statement that failed, as if there had been none.
    counted : bool, default=False
        Whether the database itself adds decisions to the totals.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        taken: type[Exception],
        *,
        writer: int = 0,
        share: str = "",
        change: str = "",
        goes_on: bool = False,
        counted: bool = False,
    ) -> None:
        self._run = run
        self._taken = taken
        self._writer = writer
        self._share, self._change = share, change
        self._goes_on = goes_on
        self._counted = counted

    def add_alone(self, changes: Sequence[Any]) -> list[list[Decision]] | None:
        """Add new decisions, and nothing else, by one statement that is a transaction by itself.

        Every statement hands over Python's lock, and may have to wait for it afterwards. None: it takes more than one
        statement, and nothing was done.
        """
        if any(type(change) is not AddDecisions or "#" in change.rows[0].event_id for change in changes):
            return None
        rows = [row for call in changes for row in call.rows]
        return [call.rows for call in changes] if 0 < len(rows) <= PIECES[0] and self._insert_once(rows) else None

    def make(self, changes: Sequence[Any]) -> list[Any]:
        """Make all changes; decisions first, then rewards, as a reward may only come after its decision."""
        answers: list[Any] = [None] * len(changes)
        decisions = [i for i, change in enumerate(changes) if type(change) is AddDecisions]
        rewards = [i for i, change in enumerate(changes) if type(change) is AddReward]
        for i, answer in zip(decisions, self._add_decisions([changes[i] for i in decisions]), strict=True):
            answers[i] = answer
        for i, status in zip(rewards, self._add_rewards([changes[i] for i in rewards]), strict=True):
            answers[i] = status
        for i, change in enumerate(changes):
            if type(change) is not AddDecisions and type(change) is not AddReward:
                answers[i] = OTHERS[type(change)](self, change)
        return answers

    def _add_decisions(self, calls: Sequence[AddDecisions]) -> list[list[Decision]]:
        if not calls:
            return []
        slotted = {_event(call) for call in calls if "#" in call.rows[0].event_id}
        if not slotted and self._insert_new([row for call in calls for row in call.rows]):
            return [call.rows for call in calls]
        found = self._known({(row.loop, row.event_id) for call in calls for row in call.rows})
        events = {event: self._of_event(*event) for event in slotted}  # with slots that this call does not name
        answers, new = [], []
        for call in calls:
            first = [row for each in call.rows if (row := found.get((each.loop, each.event_id))) is not None]
            first = first or events.get(_event(call), [])
            if not first:
                new += call.rows
                found.update({(row.loop, row.event_id): row for row in call.rows})
                if _event(call) in slotted:
                    events[_event(call)] = call.rows
            answers.append(first or call.rows)
        self._insert("decisions", INSERTED, [_inserted(row) for row in new])
        self._count_decisions(new)
        return answers

    def _insert_new(self, rows: list[Decision]) -> bool:
        """Insert rows if all their events are new, which is the rule; else leave everything as it was."""
        if self._goes_on and len(rows) <= PIECES[0]:
            if not self._insert_once(rows):
                return False
        else:
            self._run("SAVEPOINT added")
            try:
                self._insert("decisions", INSERTED, list(map(_inserted, rows)))
            except self._taken:
                self._run("ROLLBACK TO added")
                self._run("RELEASE added")
                return False
            self._run("RELEASE added")
        self._count_decisions(rows)
        return True

    def _insert_once(self, rows: list[Decision]) -> bool:
        """Insert rows by one statement, which is made as a whole or not at all."""
        try:
            self._run(_insertion("decisions", INSERTED, len(rows)), list(chain.from_iterable(map(_inserted, rows))))
        except self._taken:
            return False
        return True

    def _count_decisions(self, rows: Sequence[Decision]) -> None:
        if self._counted:
            return
        for loop in {row.loop for row in rows}:
            mine = [row.count for row in rows if row.loop == loop]
            self._run(
                "UPDATE totals SET decisions=decisions+?, count=CASE WHEN count<? THEN ? ELSE count END WHERE loop=? "
                "AND writer=?",
                (len(mine), max(mine), max(mine), loop, self._writer),
            )

    def _known(self, keys: set[tuple[int, str]], lock: str = "") -> dict[tuple[int, str], Decision]:
        rows: list[Any] = []
        for loop in sorted({loop for loop, _ in keys}):
            # By a list of ids: pairs of loops and ids would not be looked up in the index, but compared with every row.
            for part in _pieces(sorted(event_id for each, event_id in keys if each == loop)):
                rows += self._run(_selection(len(part), lock), (loop, *part)).fetchall()
        return {(row[0], row[1]): Decision(*row) for row in rows}

    def _of_event(self, loop: int, event_id: str) -> list[Decision]:
        query = f"SELECT {', '.join(FIELDS)} FROM decisions WHERE loop=? AND {WITH_SLOTS} ORDER BY seq"
        return [Decision(*row) for row in self._run(query, (loop, *with_slots(event_id))).fetchall()]

    def _add_rewards(self, rewards: Sequence[AddReward]) -> list[str]:
        if not rewards:
            return []
        # A reward waits for rows that are being settled, and these wait for it: it counts, or it is late.
        known = self._known({(each.loop, each.event_id) for each in rewards}, self._share)
        answers, new = [], []
        taken: set[tuple[int, str, str]] = set()
        for each in rewards:
            decision = known.get((each.loop, each.event_id))
            if each.reward_id is not None:
                key = (each.loop, each.event_id, each.reward_id)
                if (
                    key in taken
                    or self._run("SELECT 1 FROM rewards WHERE loop=? AND event_id=? AND reward_id=?", key).fetchone()
                ):
                    answers.append("repeated")
                    continue
                taken.add(key)
            status = "unknown" if decision is None else "late" if _is_late(decision, each.time) else "kept"
            answers.append(status)
            new.append((each.loop, each.event_id, each.time, each.value, each.metrics, each.reward_id, status))
        self._insert("rewards", REWARD_FIELDS, new)
        for loop in {row[0] for row in new}:
            came = [row[-1] for row in new if row[0] == loop]
            self._count(loop, rewards=len(came), late=came.count("late"), unknown=came.count("unknown"))
        return answers

    def _settle(self, change: Settle) -> list[Decision]:
        rows = [
            Decision(*row)
            for row in self._run(
                f"SELECT {', '.join(FIELDS)} FROM decisions WHERE loop=? AND matured IS NULL AND due IS NOT NULL AND "
                f"due<=? ORDER BY due, seq LIMIT ?{self._change}",
                (change.loop, change.now, change.limit),
            ).fetchall()
        ]
        if not rows:
            return rows
        came: dict[str, list[float]] = {}
        due = {row.event_id: row.due for row in rows}
        for part in _pieces([row.event_id for row in rows]):
            marks = ", ".join("?" * len(part))
            query = f"SELECT event_id, time, value FROM rewards WHERE loop=? AND event_id IN ({marks}) ORDER BY seq"
            for event_id, time, value in self._run(query, (change.loop, *part)).fetchall():
                if time <= due[event_id]:
                    came.setdefault(event_id, []).append(value)
        number = self._last_matured(change.loop)
        for row in rows:
            number += 1
            values = came.get(row.event_id, [])
            row.matured, row.n_rewards, row.reward = number, len(values), change.combine(values)
        for part in _pieces(rows):
            marks = ", ".join(["(?, ?, ?, ?)"] * len(part))
            self._run(
                f"WITH final(seq, matured, n_rewards, reward) AS (VALUES {marks}) UPDATE decisions SET matured="
                "final.matured, n_rewards=final.n_rewards, reward=final.reward FROM final WHERE "
                "decisions.seq=final.seq",
                [value for row in part for value in (row.seq, row.matured, row.n_rewards, row.reward)],
            )
        self._count(change.loop, matured=len(rows), defaults=sum(row.n_rewards == 0 for row in rows))
        return rows

    def _last_matured(self, loop: int) -> int:
        # Deleted rows do not free their numbers: the totals have counted all that were ever given.
        row = self._run("SELECT coalesce(sum(matured), 0) FROM totals WHERE loop=?", (loop,)).fetchone()
        return int(row[0])

    def _activate(self, change: Activate) -> str:
        row = self._run(
            f"SELECT activated FROM decisions WHERE loop=? AND {WITH_SLOTS} LIMIT 1",
            (change.loop, *with_slots(change.event_id)),
        ).fetchone()
        if row is None:
            return "unknown"
        if row[0] is not None:
            return "active"
        self._run(
            f"UPDATE decisions SET activated=?, due=? WHERE loop=? AND {WITH_SLOTS}",
            (change.time, change.time + change.waiting, change.loop, *with_slots(change.event_id)),
        )
        return "activated"

    def _ensure_loop(self, change: EnsureLoop) -> LoopRecord:
        self._run(
            "INSERT INTO loops(name, secret, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (change.name, change.secret, change.time),
        )
        found = LoopRecord(
            *self._run("SELECT id, name, secret, created FROM loops WHERE name=?", (change.name,)).fetchone()
        )
        self._run("INSERT INTO totals(loop, writer) VALUES (?, ?) ON CONFLICT DO NOTHING", (found.id, self._writer))
        return found

    def _add_version(self, change: AddVersion) -> int:
        version = change.version
        self._lock_loop(version.loop)
        there = None
        if change.unless == "any":
            there = self._run("SELECT min(version) FROM versions WHERE loop=?", (version.loop,)).fetchone()[0]
        elif change.unless == "same":
            query = "SELECT min(version) FROM versions WHERE loop=? AND kind=? AND data=?"
            there = self._run(query, (version.loop, version.kind, version.data)).fetchone()[0]
        if there is not None:
            return int(there)
        number = version.version
        if number == 0:
            last = self._run("SELECT coalesce(max(version), 0) FROM versions WHERE loop=?", (version.loop,)).fetchone()
            number = int(last[0]) + 1
        values = msgspec.structs.astuple(msgspec.structs.replace(version, version=number))
        self._run(f"INSERT INTO versions VALUES ({', '.join('?' * len(values))})", values)
        return number

    def _swap(self, change: Swap) -> int:
        swap = change.swap
        self._lock_loop(change.loop)
        last = "SELECT coalesce(max(seq), 0) FROM swaps WHERE loop=?"
        if change.after is not None and self._run(last, (change.loop,)).fetchone()[0] != change.after:
            return 0
        self._run(
            "INSERT INTO swaps(loop, time, version, reason) VALUES (?, ?, ?, ?)",
            (change.loop, swap.time, swap.version, swap.reason),
        )
        number = int(self._run(last, (change.loop,)).fetchone()[0])
        if change.keep is not None:
            self._put_state(change.keep(number))
        return number

    def _lock_loop(self, loop: int) -> None:
        """Let other processes wait until this transaction ends: versions and swaps come one after another."""
        if self._change:
            self._run(f"SELECT id FROM loops WHERE id=?{self._change}", (loop,))

    def _put_state(self, change: PutState) -> None:
        self._run(
            "INSERT INTO state(loop, key, value) VALUES (?, ?, ?) ON CONFLICT(loop, key) DO UPDATE SET "
            "value=excluded.value",
            (change.loop, change.key, change.value),
        )

    def _delete(self, change: Delete) -> int:
        values: list[Any]
        if change.event_id is not None:
            where, values = WITH_SLOTS, list(with_slots(change.event_id))
            # Rewards of events that were never known are deleted as well.
            self._run(f"DELETE FROM rewards WHERE loop=? AND {where}", (change.loop, *values))
        elif change.customer is not None:
            where, values = "customer=?", [change.customer]
        else:
            where, values = f"time<? ORDER BY seq LIMIT {DELETED_AT_ONCE}", [change.before]
            self._run(
                "DELETE FROM rewards WHERE seq IN (SELECT seq FROM rewards WHERE loop=? AND time<? AND "
                f"status='unknown' LIMIT {DELETED_AT_ONCE})",
                (change.loop, change.before),
            )
        rows = self._run(f"SELECT seq, event_id FROM decisions WHERE loop=? AND {where}", (change.loop, *values))
        found = rows.fetchall()
        for part in _pieces(found):
            marks = ", ".join("?" * len(part))
            events = [event_id for _, event_id in part]
            self._run(f"DELETE FROM rewards WHERE loop=? AND event_id IN ({marks})", (change.loop, *events))
            self._run(f"DELETE FROM decisions WHERE seq IN ({marks})", [seq for seq, _ in part])
        return len(found)

    def _count(self, loop: int, **added: int) -> None:
        sets = ", ".join(f"{name}={name}+?" for name in added)
        self._run(f"UPDATE totals SET {sets} WHERE loop=? AND writer=?", (*added.values(), loop, self._writer))

    def _insert(self, table: str, fields: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        for part in _pieces(rows):
            self._run(_insertion(table, fields, len(part)), list(chain.from_iterable(part)))


@cache
def _selection(n_events: int, lock: str) -> str:
    """Return the query for some events of a loop."""
    marks = ", ".join("?" * n_events)
    return f"SELECT {', '.join(FIELDS)} FROM decisions WHERE loop=? AND event_id IN ({marks}){lock}"


@cache
def _insertion(table: str, fields: tuple[str, ...], n_rows: int) -> str:
    """Return the statement that inserts some rows; there are few sizes."""
    one = f"({', '.join('?' * len(fields))})"
    return f"INSERT INTO {table}({', '.join(fields)}) VALUES {', '.join([one] * n_rows)}"


OTHERS: dict[type, Any] = {
    Activate: Changes._activate,
    AddVersion: Changes._add_version,
    Delete: Changes._delete,
    EnsureLoop: Changes._ensure_loop,
    PutState: Changes._put_state,
    Settle: Changes._settle,
    Swap: Changes._swap,
}


def with_slots(event_id: str) -> tuple[str, str, str]:
    """Return the values of `WITH_SLOTS`: an event, and the range of the ids of its slots, which follow a #."""
    return event_id, f"{event_id}#", f"{event_id}$"


def _event(call: AddDecisions) -> tuple[int, str]:
    """Return the event that a call's decisions are of: their ids up to a #."""
    return call.rows[0].loop, call.rows[0].event_id.partition("#")[0]


def _is_late(decision: Decision, time: float) -> bool:
    return decision.matured is not None or (decision.due is not None and time > decision.due)


def _inserted(row: Decision) -> tuple[Any, ...]:
    return msgspec.structs.astuple(row)[:SEQ]


def _pieces(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Split rows into parts of few different sizes."""
    first = 0
    for size in PIECES:
        while len(rows) - first >= size:
            yield rows[first : first + size]
            first += size
