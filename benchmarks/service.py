"""Decisions per second of the service, beside itself without a log, and FastAPI with a commit per request.

All with 32 connections on this machine, the load generator included. The ratios are what counts: `log` is the rate with
durable commits over that without a log (at least 0.5), `plain` that over FastAPI's with the same policy (at least 2).
Processor time per decision, of the server and of the load generator, says more where other programs run as well.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

WITHOUT_LOG = """
import sys
from offsettree.service import server, sqlite_store
def skipped(self, changes):  # what is asked for, as if it were stored
    from offsettree.service.records import AddDecisions
    if all(type(each) is AddDecisions for each in changes):
        return [each.rows for each in changes]
    return self.with_log(changes)
sqlite_store.SqliteStore.with_log = sqlite_store.SqliteStore.apply
sqlite_store.SqliteStore.apply = skipped
from offsettree.cli import main
sys.exit(main(sys.argv[1:]))
"""

PLAIN = """
import json, sqlite3, sys, uuid
import uvicorn
from fastapi import FastAPI
from offsettree.service.deciders import OnlineDecider, hashed_action, hashed_context
from offsettree.service.demo import BANNERS
from offsettree.service.learner import HashedLearner
from offsettree.service.requests import Action
port, folder = int(sys.argv[1]), sys.argv[2]
learner, actions = HashedLearner(), [Action(each) for each in BANNERS]
learner.learn(hashed_context({"segment": "new"}), hashed_action(actions[0]), 1.0, 0.2)
decider = OnlineDecider(learner)
database = sqlite3.connect(f"{folder}/plain.db", check_same_thread=False)
database.execute("PRAGMA journal_mode=WAL")
database.execute("PRAGMA synchronous=FULL")
database.execute("CREATE TABLE decisions(event_id TEXT PRIMARY KEY, context TEXT, action TEXT, probability REAL)")
app = FastAPI()

@app.get("/health/ready")
async def ready():
    return {}

@app.post("/decide")
async def decide(body: dict):
    greedy, scores = decider.choose(body["context"], actions)
    event_id = uuid.uuid4().hex
    row = (event_id, json.dumps(body["context"]), actions[greedy].id, 1.0)
    database.execute("INSERT INTO decisions VALUES (?, ?, ?, ?)", row)
    database.commit()
    return {"event_id": event_id, "action": actions[greedy].id, "probability": 1.0, "policy_version": 1}

uvicorn.run(app, port=port, access_log=False, log_level="warning")
"""


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _server_time(process: int) -> float:
    """Return the seconds of processor time that a process has used; none where the system does not tell."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return float("nan")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _load_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of those that have ended: the load generators
    return used.ru_utime + used.ru_stime


def measure(command: list[str], port: int, path: str, seconds: float) -> dict[str, Any]:
    """Start a server, load it, and return the rates; a first load warms it up."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        load = [sys.executable, str(HERE / "_service_load.py"), "--port", str(port), "--path", path]
        for length in (2.0, seconds):
            before = _server_time(process.pid), _load_time()
            done = subprocess.run([*load, "--seconds", str(length)], capture_output=True, text=True, check=True)  # noqa: S603
        found: dict[str, Any] = json.loads(done.stdout)
        spent = _server_time(process.pid) - before[0], _load_time() - before[1]
        found |= {"server_us": 1e6 * spent[0] / found["n"], "load_us": 1e6 * spent[1] / found["n"]}
        rss = Path(f"/proc/{process.pid}/status")
        if rss.exists():
            found["memory_mb"] = int(rss.read_text().split("VmRSS:")[1].split()[0]) / 1024
        return found
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Measure all three, and print the rates and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("service", "without_log", "plain"):
            port, place = _free_port(), Path(folder, name)
            place.mkdir()
            ours = ["serve", "--demo", "--no-visitors", "--port", str(port), "--folder", str(place)]
            command, path = [sys.executable, "-m", "offsettree", *ours], "/v1/loops/demo/decide"
            if name == "without_log":
                command = [sys.executable, "-c", WITHOUT_LOG, *ours]
            elif name == "plain":
                try:
                    import fastapi  # noqa: F401
                except ImportError:
                    print("plain: FastAPI is not installed (pip install fastapi)")
                    continue
                command, path = [sys.executable, "-c", PLAIN, str(port), str(place)], "/decide"
            results[name] = found = measure(command, port, path, options.seconds)
            times = f"p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms"
            spent = (
                f"processor time per decision {found['server_us']:.0f} us, of the load generator {found['load_us']:.0f}"
            )
            print(f"{name:12s} {found['per_second']:8.0f} a second, {times}; {spent}")
    results["log"] = results["service"]["per_second"] / results["without_log"]["per_second"]
    print(f"with a log over without: {results['log']:.2f}")
    if "plain" in results:
        results["over_plain"] = results["service"]["per_second"] / results["plain"]["per_second"]
        print(f"over FastAPI with a commit per request: {results['over_plain']:.2f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
