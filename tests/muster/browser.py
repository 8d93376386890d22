"""A headless Chromium, told what to do over its own debugging protocol."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING = "Chromium is not there: apt-get install chromium"
_TRIES, _PAUSE = 600, 0.1
CONTROL, SHIFT = 2, 8
"""Keys that are held, as the protocol numbers them."""


def program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in *folder*; the test is skipped where there is none."""
    if (path := program()) is None:
        pytest.skip(MISSING)
    arguments = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0", "--no-first-run")
    command = [path, *arguments, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            with contextlib.closing(websocket.create_connection(_address(folder), timeout=60, suppress_origin=True)) as socket:
                yield Browser(socket)
        finally:
            process.terminate()


def _address(folder: Path) -> str:
    """Where the browser listens: it leaves word in its profile."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError, ValueError):
            port, path = (folder / "DevToolsActivePort").read_text(encoding="utf-8").split()
            return f"ws://127.0.0.1:{port}{path}"
        time.sleep(_PAUSE)
    raise TimeoutError("Chromium does not come up")


class Browser:
    """One page at a time."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._session = ""
        self.log: list[str] = []
        """What the browser complained of since the page was opened: refusals of its policy and errors of scripts."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self._call(f"{domain}.enable")

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        script: bool = True,
        medium: str = "",
        still: bool = False,
    ) -> None:
        """Show a file."""
        self.log = []
        features = {"color-scheme": "dark" if dark else "light", "reduced-motion": "reduce" if still else "no-preference"}
        preferred = [{"name": f"prefers-{name}", "value": value} for name, value in features.items()]
        self._call("Emulation.setEmulatedMedia", media=medium, features=preferred)
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setScriptExecutionDisabled", value=not script)
        self.visit(path.as_uri())

    def visit(self, url: str) -> None:
        """Show what a server answers, in the size that was set."""
        self._events: list[dict[str, Any]] = []
        self._call("Page.navigate", url=url)
        while not any(each.get("method") == "Page.loadEventFired" for each in self._events):
            self._receive()

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def awaited(self, expression: str) -> Any:
        """What a promise of JavaScript comes to."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until a JavaScript expression holds: what the pointer does reaches the page with its next frame."""
        wait = f"new Promise((done) => {{ const look = () => ({expression}) ? done() : setTimeout(look, 20); look() }})"
        self._call("Runtime.evaluate", expression=wait, awaitPromise=True)

    def press(self, *keys: str, held: int = 0) -> None:
        """Press keys, one after the other, while others are *held*: CONTROL, SHIFT."""
        for key in keys:
            more: dict[str, Any] = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 and not held else {}
            code = {
                "Tab": 9,
                "Enter": 13,
                " ": 32,
                "ArrowLeft": 37,
                "ArrowUp": 38,
                "ArrowRight": 39,
                "ArrowDown": 40,
                "End": 35,
                "Home": 36,
                "Escape": 27,
                "PageUp": 33,
                "PageDown": 34,
                "/": 191,
            }
            for kind in ("keyDown", "keyUp"):
                number = code[key] if key in code else ord(key.upper())
                place = {" ": "Space", "/": "Slash"}.get(key, f"Key{key.upper()}" if len(key) == 1 else key)
                self._call("Input.dispatchKeyEvent", type=kind, key=key, code=place, windowsVirtualKeyCode=number, modifiers=held, **more)

    def type(self, text: str) -> None:
        """Enter a text where the focus is."""
        self._call("Input.insertText", text=text)

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Press the button of the pointer."""
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write what is to be seen."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def spoken(self) -> list[dict[str, Any]]:
        """What a screen reader is given: role and name of all that it is not to pass over."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [
            {"role": each["role"]["value"], "name": each.get("name", {}).get("value", "")}
            for each in nodes
            if not each.get("ignored", False)
        ]

    def _call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv())
        method, parameters = message.get("method", ""), message.get("params", {})
        if method == "Log.entryAdded":
            self.log.append(parameters["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.log.append(str(parameters["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.log.append(f"request: {parameters['request']['url']}")
        if method:
            self._events = [*getattr(self, "_events", []), message]
        return message
