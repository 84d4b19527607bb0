"""Learning from the log in a process of its own: exported rows, ``offsettree learn``, and a candidate."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from offsettree.exceptions import ParameterError
from offsettree.registry import POLICIES
from offsettree.service.engine import Engine
from offsettree.service.export import clipped, exported, has_features, write_log
from offsettree.service.loop import Loop
from offsettree.service.records import Decision
from offsettree.service.settings import seconds

__all__ = ["Trainer"]

FEWEST_ROWS = 500
LONGEST = 6 * 3600.0
log = logging.getLogger("offsettree.service")


class Trainer:
    """Starts `offsettree learn` for loops whose time has come; one process at a time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._last = dict.fromkeys(engine.loops, engine.clock())
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False

    @property
    def is_busy(self) -> bool:
        """Whether a process is learning."""
        return self._thread is not None and self._thread.is_alive()

    def step(self) -> None:
        """Start learning for a loop whose time has come, in the process that leads."""
        if not any(loop.learning.is_leading for loop in self.engine.loops.values()):
            return
        for name, loop in self.engine.loops.items():
            every = seconds(loop.settings.learn_every)
            if every is not None and not self.is_busy and self.engine.clock() - self._last[name] >= every:
                self.start(name)

    def start(self, name: str) -> bool:
        """Start learning now; return False if another loop is being learned for."""
        loop = self.engine.loop(name)
        if self.is_busy or self._stopping:
            return False
        self._last[name] = self.engine.clock()
        self._thread = threading.Thread(target=self._learn, args=(loop,), name="offsettree-learn", daemon=True)
        self._thread.start()
        return True

    def wait(self) -> None:
        """Wait until nothing is learned any more."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End a process that is learning."""
        self._stopping = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
        self.wait()

    def _learn(self, loop: Loop) -> None:
        name = loop.record.name
        try:
            with tempfile.TemporaryDirectory(prefix="offsettree-learn-") as folder:
                version = self._learn_in(Path(folder), loop)
                loop.learn_fault = None
                log.info("candidate learned", extra={"loop": name, "version": version})
        except Exception as error:  # a loop goes on deciding, whatever happens here
            if not self._stopping:
                loop.learn_fault = str(error)
                log.warning("learning from the log failed", extra={"loop": name, "error": str(error)})

    def _learn_in(self, folder: Path, loop: Loop) -> int:
        trained_to = loop.learning.last
        low, high = loop.settings.reward_range

        def rows() -> Iterator[Decision]:
            rows = exported(self.engine.store.scan(loop.record.id))
            return clipped((row for row in rows if (row.matured or 0) <= trained_to), (low, high))

        n_rows, command = _write_for_learn(rows, folder, loop.settings.learn_options)
        if n_rows < FEWEST_ROWS:
            raise ParameterError(f"there must be {FEWEST_ROWS} matured rows to learn from; there are {n_rows}.")
        command = [sys.executable, "-m", "offsettree.cli", "learn", *command, "--out", "policy.ot", "--json"]
        command += ["--action", "action", "--reward", "reward", "--propensity", "propensity"]
        command += ["--reward-range", repr(low), repr(high), *loop.settings.learn_options]
        with (folder / "errors.txt").open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors
            )
            with contextlib.suppress(OSError):  # decisions come first
                os.setpriority(os.PRIO_PROCESS, self._process.pid, 10)
            try:
                code = self._process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise
        if code != 0:
            said = (folder / "errors.txt").read_text(encoding="utf-8", errors="replace").strip()[-500:]
            raise ParameterError(f"offsettree learn ended with code {code}: {said}")
        data = (folder / "policy.ot").read_bytes()
        return self.engine.add_candidate(loop.record.name, data, trained_to, f"learned from {n_rows:,} rows")


def _write_for_learn(
    rows: Callable[[], Iterator[Decision]], folder: Path, options: Sequence[str]
) -> tuple[int, list[str]]:
    """Write a log in the form that suits its actions; return the number of rows, and arguments of `learn`.

    Actions with features are learned about by these, others by their ids. Where not all rows had the same actions, the
    eligible ones are read beside each row.
    """
    first, by_features, varies = None, False, False
    for row in rows():
        first = first or row.actions
        by_features |= has_features(row)
        varies |= row.actions != first
        if by_features:
            break
    if _takes_rows_one_by_one(options):
        by_features = varies = False
    form = "ndjson" if by_features else "parquet"
    n_rows = write_log(rows, folder / f"log.{form}", form, eligible=varies)
    arguments = [f"log.{form}"]
    if by_features or varies:
        arguments += ["--eligible", "eligible"]
    return n_rows, arguments if by_features else [*arguments, "--labels"]


def _takes_rows_one_by_one(options: Sequence[str]) -> bool:
    """Whether `learn` is told to use a learner of labels that reads no eligible actions."""
    if "--learner" not in options[:-1]:
        return False
    entry = POLICIES.known.get(options[options.index("--learner") + 1])
    return entry is not None and entry.online and not entry.over_sets
