"""Visual Studio Code in a browser, with the extension installed and one folder open."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.process import free_port
from tests.editors import assets
from tests.muster import browser
from tests.muster.browser import CONTROL, SHIFT, Browser

SECONDS = 60
QUIET: dict[str, object] = {
    "workbench.startupEditor": "none",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.autoCheckUpdates": False,
    "editor.suggestOnTriggerCharacters": False,
    "[yaml]": {"editor.quickSuggestions": {"other": "off", "strings": "off"}},
}
"""Settings without which the editor shows other things than the folder, or offers before it is asked: the key would then do something else."""
SUGGESTIONS = ".suggest-widget.visible .monaco-list-row"
PROBLEMS = ".markers-panel .monaco-list-row"


@contextlib.contextmanager
def running(home: Path, folder: Path, **settings: object) -> Iterator[EditorPage]:
    """Start the editor for *folder* with *settings*; the test is skipped where that cannot be done."""
    if browser.program() is None:
        pytest.skip(browser.MISSING)
    try:
        command = ["node", str(assets.server()), f"--user-data-dir={home / 'data'}", f"--extensions-dir={home / 'extensions'}"]
        package = assets.package()
    except assets.MissingError as error:
        pytest.skip(str(error))
    (home / "data" / "User").mkdir(parents=True)
    (home / "data" / "User" / "settings.json").write_text(json.dumps(QUIET | settings), encoding="utf-8")
    environment = os.environ | {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}
    subprocess.run([*command, f"--install-extension={package}"], check=True, env=environment, capture_output=True, timeout=SECONDS)
    address = f"127.0.0.1:{free_port()}"
    options = ("--auth=none", f"--bind-addr={address}", "--disable-telemetry", "--disable-update-check")
    with (home / "log").open("wb") as log, subprocess.Popen([*command, *options], stdout=log, stderr=log, env=environment) as process:
        try:
            _await(f"http://{address}/healthz")
            with browser.running(home / "browser") as chromium:
                page = EditorPage(chromium)
                page.visit(f"http://{address}/?folder={urllib.parse.quote(str(folder))}")
                yield page
        finally:
            process.terminate()


def _await(url: str) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=SECONDS):
                return
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class EditorPage:
    """Window of the editor."""

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium

    def visit(self, url: str) -> None:
        """Open the window."""
        self._chromium.visit(url)

    def open(self, name: str) -> None:
        """Open a file of the folder."""
        self._click(f".explorer-folders-view .monaco-list-row[aria-label^='{name}']", times=2)
        self._click(".view-lines .view-line")
        self.until(".monaco-editor.focused")

    def _click(self, selector: str, times: int = 1) -> None:
        self.until(selector)
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self._chromium.value(f"[{box}.x + 30, {box}.y + {box}.height / 2]")
        self._chromium.click(x, y, times)

    def type_at_end(self, text: str) -> None:
        """Enter a text at the end of the file."""
        self._chromium.press("End", held=CONTROL)
        self._chromium.type(text)

    def suggestions(self) -> list[str]:
        """Return what the editor offers at the cursor."""
        self._chromium.press(" ", held=CONTROL)
        return self.labels(SUGGESTIONS)

    def dismiss(self) -> None:
        """Close the offers."""
        self._chromium.press("Escape")
        self.until(SUGGESTIONS, gone=True)

    def accept(self) -> None:
        """Take the first offer."""
        self._chromium.press("Enter")
        self.until(SUGGESTIONS, gone=True)

    def problems(self) -> list[str]:
        """Return the findings that the editor lists."""
        self._chromium.press("m", held=CONTROL | SHIFT)
        return self.labels(PROBLEMS)

    def text(self) -> str:
        """Return the visible text of the file."""
        text = str(self._chromium.value("document.querySelector('.view-lines').innerText"))
        return text.replace("\N{NO-BREAK SPACE}", " ")

    def labels(self, selector: str) -> list[str]:
        """Return what a screen reader says of the elements, once there are some."""
        self.until(selector)
        found = self._chromium.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.getAttribute('aria-label') || each.innerText)"
        )
        return [str(each) for each in found]

    def until(self, selector: str, *, gone: bool = False) -> None:
        """Wait for an element, or for its end."""
        end = time.monotonic() + SECONDS
        while bool(self._chromium.value(f"!!document.querySelector({json.dumps(selector)})")) == gone:
            if time.monotonic() > end:
                raise AssertionError(f"not within {SECONDS} s: {selector}; shown: {self._chromium.value('document.body.innerText')}")
            time.sleep(0.1)
