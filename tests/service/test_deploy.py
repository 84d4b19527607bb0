"""The systemd unit and the container file: what can be checked of them without systemd as process 1, and a daemon."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.service.servers import call, free_port

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "offsettree.service"
CONTAINER = ROOT / "deploy" / "Containerfile"
KEY, ADMIN_KEY = "a-key-of-those-who-decide", "a-key-of-those-who-look-after-it"
INSTRUCTIONS = {"FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENV", "ENTRYPOINT", "CMD"}
SYSTEMD = shutil.which("systemd-analyze")


def instructions() -> list[tuple[str, str]]:
    """Return the container file's instructions with their texts."""
    text = re.sub(r"(?m)^#.*\n", "", CONTAINER.read_text()).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def unit(name: str) -> list[str]:
    """Return what the unit says under a name."""
    lines = [line.partition("=") for line in UNIT.read_text().splitlines()]
    return [value for key, _, value in lines if key == name]


def assert_serves(arguments: list[str], environment: dict[str, str], folder: Path) -> None:
    """Start the command on a free port with these variables alone; it must decide with a key, and refuse without."""
    port = free_port()
    command = [sys.executable, "-m", "offsettree", *arguments, "--port", str(port)]
    plain = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=plain | environment)  # noqa: S603
    try:
        for _ in range(1200):
            assert process.poll() is None, (folder / "log").read_text()
            try:
                if call(port, "GET", "/health/ready")[0] == 200:
                    break
            except OSError:
                time.sleep(0.05)
        assert call(port, "POST", "/v1/loops/shop/decide", {})[0] == 401
        with_key = {"Authorization": f"Bearer {KEY}"}
        status, answer = call(port, "POST", "/v1/loops/shop/decide", {}, **with_key)
        assert (status, answer["action"] in ("a", "b")) == (200, True)
        assert call(port, "GET", "/v1/loops/shop", **with_key)[0] == 401
        assert call(port, "GET", "/v1/loops/shop", Authorization=f"Bearer {ADMIN_KEY}")[1]["decisions"] == 1
    finally:
        process.terminate()
        assert process.wait(30) in (0, -15, 143)
    assert list(folder.rglob("decisions.db"))


def settings_in(folder: Path) -> Path:
    path = folder / "loops.toml"
    path.write_text('[loops.shop]\nactions = ["a", "b"]\n')
    return path


def test_the_container_file_copies_what_is_there_and_its_command_serves(tmp_path: Path) -> None:
    steps = instructions()
    assert {name for name, _ in steps} <= INSTRUCTIONS
    assert steps[0][0] == "FROM"
    for name, text in steps:
        if name == "COPY":
            assert all((ROOT / source).exists() for source in text.split()[:-1])
    wanted = re.search(r">=(3\.\d+)", (ROOT / "pyproject.toml").read_text())
    found = re.search(r"python:(3\.\d+)", steps[0][1])
    assert wanted is not None
    assert found is not None
    assert [int(part) for part in found[1].split(".")] >= [int(part) for part in wanted[1].split(".")]
    said = dict(steps)
    command = json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
    assert command[0] == "offsettree"
    assert said["USER"] == "offsettree"
    data = tmp_path / "data"
    data.mkdir()
    places = {"/etc/offsettree/loops.toml": str(settings_in(tmp_path)), "/data": str(data)}
    given = dict(word.split("=", 1) for name, text in steps if name == "ENV" for word in shlex.split(text))
    given = {name: value.replace("/data", str(data)) for name, value in given.items()}
    arguments = [places.get(word, word) for word in command[1:]]
    assert arguments[arguments.index("--host") + 1] == "0.0.0.0"  # noqa: S104 - within a container
    assert_serves(arguments, given | {"DECIDE_KEY": KEY, "ADMIN_KEY": ADMIN_KEY}, tmp_path)


def test_the_command_of_the_unit_serves_with_its_credentials(tmp_path: Path) -> None:
    for name, key in (("decide", KEY), ("admin", ADMIN_KEY)):
        (tmp_path / name).write_text(key)
        assert f"{name}:/etc/offsettree/{name}.key" in unit("LoadCredential")
    state = tmp_path / "state"
    state.mkdir()
    (command,) = unit("ExecStart")
    words = shlex.split(command)
    assert words[0].endswith("/bin/offsettree")
    places = {"/etc/offsettree/loops.toml": str(settings_in(tmp_path)), "/var/lib/offsettree": str(state)}
    given = [shlex.split(text)[0].split("=", 1) for text in unit("Environment")]
    environment = {name: value.replace("%d", str(tmp_path)).replace("%S", str(state)) for name, value in given}
    assert_serves([places.get(word, word) for word in words[1:]], environment, tmp_path)


@pytest.mark.skipif(SYSTEMD is None, reason="there is no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/offsettree/bin/offsettree", sys.executable))
    done = subprocess.run(  # noqa: S603
        [str(SYSTEMD), "verify", str(copy)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
