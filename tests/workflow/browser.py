"""Headless Chromium, driven through a pair of pipes: no port, no driver, no package."""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
PATIENCE = 1800.0
"""Seconds that a page may take."""
KEYS = {"Tab": 9, "Enter": 13}
LOCAL = ("file:", "data:", "blob:", "about:", "devtools:", "chrome:")


class BrowserError(Exception):
    """Chromium did not do what it was asked to."""


@dataclass
class Page:
    """A page that is open, and what it has complained of and asked for since it was opened."""

    browser: "Browser"
    session: str
    complaints: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    """Requests that would have left the machine."""
    loaded: bool = False

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.browser.call(
            "Runtime.evaluate",
            {"expression": expression, "awaitPromise": True, "returnByValue": True},
            self,
        )
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def barriers(self) -> list[str]:
        """What keeps people from using the page, as axe-core finds it: contrast, names, order."""
        carried = pytest.importorskip("axe_core_python", reason="no axe-core in this environment")
        self.evaluate((Path(carried.__file__).parent / "axe.min.js").read_text() + ";0")
        found: list[str] = self.evaluate(
            "axe.run().then((said) => said.violations.map((v) => `${v.id}: ${v.nodes[0].html}`))"
        )
        return found

    def picture(self, file: Path) -> None:
        """The whole page as a PNG."""
        options = {"format": "png", "captureBeyondViewport": True}
        shot = self.browser.call("Page.captureScreenshot", options, self)
        file.write_bytes(base64.b64decode(shot["data"]))

    def press(self, key: str) -> None:
        """A key, as a person presses it."""
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            self.browser.call("Input.dispatchKeyEvent", event, self)

    def noted(self, method: str, event: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", "")
            self.complaints.append(f"{details['text']} {thrown}".strip())
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "assert"):
            said = [str(part.get("value", part.get("description"))) for part in event["args"]]
            self.complaints.append(f"console.{event['type']}: {' '.join(said)}")
        elif method == "Log.entryAdded" and event["entry"]["level"] == "error":
            entry = event["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')[:200]}".strip())
        elif method == "Network.requestWillBeSent":
            url = event["request"]["url"]
            if not url.startswith(LOCAL):
                self.outside.append(url)


class Browser:
    """The process; messages are JSON that ends with a zero byte."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int) -> None:
        self.process, self.to, self.back = process, to, back
        self.pages: dict[str, Page] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._last = 0
        self._rest = b""

    def call(
        self, method: str, parameters: dict[str, Any] | None = None, page: Page | None = None
    ) -> dict[str, Any]:
        self._last += 1
        number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters or {}}
        if page:
            message["sessionId"] = page.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while number not in self._answers:
            self._listen(deadline, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _listen(self, deadline: float, what: str) -> None:
        if not select([self.back], [], [], max(deadline - time.monotonic(), 0.0))[0]:
            raise BrowserError(f"{what} took more than {PATIENCE:.0f} s")
        read = os.read(self.back, 1 << 20)
        if not read:
            raise BrowserError(f"Chromium ended during {what}")
        *messages, self._rest = (self._rest + read).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].noted(message["method"], message["params"])

    def open(self, file: Path | str) -> Page:
        """Open a file, or an address, in a page of its own and wait until it has loaded."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = self.pages.setdefault(attached["sessionId"], Page(self, str(attached["sessionId"])))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", page=page)
        page.loaded = False
        address = file if isinstance(file, str) else file.resolve().as_uri()
        answer = self.call("Page.navigate", {"url": address}, page)
        if "errorText" in answer:
            raise BrowserError(f"{file}: {answer['errorText']}")
        deadline = time.monotonic() + PATIENCE
        while not page.loaded:
            self._listen(deadline, f"loading {file}")
        return page


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that cannot reach any other machine."""
    if CHROMIUM is None:
        raise BrowserError("there is no chromium; apt-get install chromium")
    inward, to = os.pipe()
    back, outward = os.pipe()
    # Its helpers may still write while they are being killed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Chromium reads commands from file 3 and answers on file 4.
        command = f'exec "$0" "$@" 3<&{inward} 4>&{outward}'
        options = [
            *("--headless", "--remote-debugging-pipe", f"--user-data-dir={folder}"),
            *("--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1200,900"),
            # Root has no sandbox, and the pages are our own.
            *(["--no-sandbox"] if os.getuid() == 0 else []),
        ]
        process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, *options],
            pass_fds=(inward, outward),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(inward)
        os.close(outward)
        browser = Browser(process, to, back)
        try:
            yield browser
        finally:
            os.close(to)
            os.close(back)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
