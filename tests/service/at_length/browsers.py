"""A real browser, driven by its own protocol over pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM, BASH = shutil.which("chromium"), shutil.which("bash")


class Browser:
    """Chromium with one page. It reads commands from descriptor 3 and writes answers to descriptor 4."""

    def __init__(self, folder: Path) -> None:
        theirs, self._to = os.pipe()
        self._from, answers = os.pipe()
        script = f'exec "$@" 3<&{theirs} 4>&{answers}'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        command = [str(BASH), "-c", script, "browser", str(CHROMIUM), *options, f"--user-data-dir={folder}/profile"]
        self._process = subprocess.Popen(  # noqa: S603
            command, pass_fds=(theirs, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(answers)
        self._number, self._read, self._session = 0, b"", ""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Page.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _answer(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            data = os.read(self._from, 1 << 16)
            assert data, "the browser has ended"
            self._read += data
        text, _, self._read = self._read.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def show(self, address: str, width: int, scheme: str) -> None:
        """Open a page on a screen of a width, for somebody who prefers light or dark."""
        size = {"width": width, "height": 1400, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page; None where it fails."""
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression: str, seconds: float = 60.0) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not (found := self.value(expression)):
            assert time.monotonic() < end, (expression, self.value("document.body.innerText"))
            time.sleep(0.1)
        return found

    def click(self, expression: str) -> None:
        """Press the mouse on an element."""
        place = self.until(
            f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); "
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        mouse = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, **mouse)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
