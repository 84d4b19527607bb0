"""Try files, tables and masks made wrong at random: none may crash, hang, or raise an error that is not ours.

    python tools/fuzz.py [--seconds 3600] [--seed 0] [--targets policy archive ...] [--json FILE]
    python tools/fuzz.py --case policy/policies/offset-tree/17    # one case again, with its traceback

A case is known by its target, the file it is made from and a number. Kernels are compiled with bounds checks, in
a cache of their own. Cases run in a process of their own, which is started again where one ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".fuzz"
MEMORY = 8 << 30  # of addresses; libraries reserve a good one. A case that asks for more is told
SECONDS_PER_CASE = 60  # of processor time
SECONDS_OF_SILENCE = 600
TARGETS = ("policy", "archive", "table", "log", "sets", "choices", "chooser")


def main() -> int:
    """Run as many cases as there is time for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first round of cases")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--case", help="run this one again")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    if options.case:
        return _again(options.case)
    return _work(options) if options.work else _watch(options)


def _watch(options: argparse.Namespace) -> int:
    """Start the process that runs the cases, as often as one of them ends it, and count."""
    _prepare()
    end = time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    findings: dict[str, str] = {}
    after = ""
    while (left := end - time.monotonic()) > 1:
        command = [sys.executable, __file__, "--work", "--seconds", str(left), "--seed", str(options.seed)]
        with subprocess.Popen(
            [*command, "--targets", *options.targets],
            env=_environment() | {"FUZZ_AFTER": after},
            stdout=subprocess.PIPE,
            text=True,
        ) as worker:
            last = _listen(worker, counts, findings)
        if worker.returncode == 0:
            break
        findings[last] = f"the process ended with {worker.returncode}"
        sys.stdout.write(f"{last}: {findings[last]}\n")
        after = last
    seconds = options.seconds - max(0.0, end - time.monotonic())
    total = sum(counts[target] for target in options.targets)
    figures = {
        "cases": total,
        "seconds": round(seconds),
        "per_hour": round(total / seconds * 3600),
        "seed": options.seed,
        **{target: {"cases": counts[target], "taken": counts[f"{target} taken"]} for target in options.targets},
        "findings": findings,
    }
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if findings else 0


def _listen(worker: subprocess.Popen[str], counts: Counter[str], findings: dict[str, str]) -> str:
    """Take down what the process says of its cases; return the last that it began."""
    last = "none"
    assert worker.stdout is not None  # noqa: S101 - asked for above
    while True:
        silence = _Silence(worker)
        line = worker.stdout.readline()
        silence.end()
        if not line:
            return last
        said = json.loads(line)
        last = said.get("begun", last)
        counts.update(said.get("counts", {}))
        if "found" in said:
            findings[said["found"]] = said["error"]
            sys.stdout.write(f"{said['found']}: {said['error'].splitlines()[-1]}\n")
            sys.stdout.flush()


class _Silence:
    """Ends a process that waits for something that does not come; one that waits for a processor is let be."""

    def __init__(self, worker: subprocess.Popen[str]) -> None:
        self._worker = worker
        self._start()

    def _start(self) -> None:
        self._alarm = Timer(SECONDS_OF_SILENCE, self._ring)
        self._alarm.start()

    def _ring(self) -> None:
        stat = Path(f"/proc/{self._worker.pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "R":
            self._start()
        else:
            self._worker.kill()

    def end(self) -> None:
        self._alarm.cancel()


def _environment(folder: Path = FOLDER) -> dict[str, str]:
    cache = folder / "kernels"
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    one = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMBA_BOUNDSCHECK", "MALLOC_ARENA_MAX"), "1")
    # Arrow's own pools keep the addresses of what they have freed. A forged file that claims gigabytes, of which not
    # one is ever written, would use up the limit for all cases after it; malloc gives them back.
    return {
        **os.environ,
        **one,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONHASHSEED": "0",
    }


def _prepare() -> None:
    """Make what cases are made from, unless it is newer than all code; forget machine code older than the kernels."""
    mark = FOLDER / "seeds" / "made"
    makers = ("suites/policies.py", "suites/readers.py", "fuzzing/seeds.py", "fuzzing/action_seeds.py")
    files = [*(ROOT / "tests" / maker for maker in makers), *(ROOT / "src").rglob("*.py")]
    if not mark.exists() or mark.stat().st_mtime < max(file.stat().st_mtime for file in files):
        subprocess.run(
            [sys.executable, "-m", "tests.fuzzing.seeds", str(mark.parent)],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        )
        mark.touch()
    newest = max(file.stat().st_mtime for file in (ROOT / "src").rglob("_kernels*.py"))
    for kept in (FOLDER / "kernels").rglob("*.nb[ic]"):
        if kept.stat().st_mtime < newest:
            kept.unlink()


def _work(options: argparse.Namespace) -> int:
    """Run cases until the time is over, in the same order every time."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_long)
    end = time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    after, passed = os.environ["FUZZ_AFTER"], not os.environ["FUZZ_AFTER"]
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108
        for name, target, seed, number in _cases(options.targets, options.seed):
            if not passed:
                passed = name == after
                continue
            if time.monotonic() > end:
                break
            if counts.total() % 200 == 0:
                _say(counts=counts)
                counts.clear()
            _say(begun=name)
            _run(name, (target, seed, number, Path(folder, "case")), counts)
    _say(counts=counts)
    return 0


def _cases(targets: Any, first: int) -> Iterator[tuple[str, str, Path, int]]:
    """Name all cases, round by round: as many of each target as it is given, from every file."""
    from tests.fuzzing.targets import TARGETS as KNOWN

    seeds = {
        target: sorted(file for folder in KNOWN[target][0] for file in (FOLDER / "seeds" / folder).iterdir())
        for target in targets
    }
    number = first * 10**9
    while True:
        for target in targets:
            for seed in seeds[target]:
                for each in range(KNOWN[target][2]):
                    case = number * 10 + each
                    yield f"{target}/{seed.parent.name}/{seed.name}/{case}", target, seed, case
        number += 1


def _run(name: str, case: tuple[Any, ...], counts: Counter[str]) -> None:
    from tests.fuzzing.targets import run_case

    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_CASE)
    try:
        taken = run_case(*case)
    except Exception:
        _say(found=name, error=traceback.format_exc(limit=-6))
    else:
        counts[f"{case[0]} taken"] += taken
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    counts[case[0]] += 1


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"a case took longer than {SECONDS_PER_CASE} seconds")


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _again(name: str) -> int:
    """Run one case in this process, with bounds checks."""
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        _prepare()
        return subprocess.run([sys.executable, __file__, "--case", name], env=_environment(), check=False).returncode
    from tests.fuzzing.targets import run_case

    target, folder, seed, number = name.split("/")
    with tempfile.TemporaryDirectory() as scratch:
        taken = run_case(target, FOLDER / "seeds" / folder / seed, int(number), Path(scratch, "case"))
    sys.stdout.write(f"{name}: {'taken' if taken else 'refused'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
