"""Commands and servers that the demonstration runs, all on this machine.  No process outlives its context."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

HOST = "127.0.0.1"
ISSUE = f"muster certs issue --out certs --name localhost --name {HOST}"
"""Command that issues the certificate of the servers."""
WAIT_SECONDS, STOP_SECONDS, ANSWER_SECONDS, COMMAND_SECONDS = 30.0, 15.0, 10.0, 60.0
"""Limits: until a process is ready or an output appears, until a process has stopped, for a response, for a command."""
ASK_EVERY = 0.1
LAST_LINES, LONGEST_LINE = 5, 300
"""Limits of lines that are shown of a process that fails, and of characters of each."""


class ServerError(Exception):
    """A command or server does not do what the demonstration needs; the message has the last lines of its output."""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a child, which has its files in *folder*: no settings of other servers or clusters, no proxies."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "PROMETHEUS_", "KUBE"))}
    return {name: value for name, value in ours.items() if not name.lower().endswith("_proxy")} | {"TMPDIR": str(folder), **more}


def muster(line: str) -> list[str]:
    """Return the words of a line that begins with ``muster``, for this installation of Muster."""
    # -P: a folder of the demonstration can have the name of a package.
    return [sys.executable, "-P", "-m", *shlex.split(line)]


@dataclasses.dataclass(frozen=True, slots=True)
class Shell:
    """Shell with two programs, ``muster`` and ``kubectl``, and the files that it reads and writes.

    The folder is also the home directory, so that settings of the user have no effect.
    """

    folder: Path
    kubectl: Path = Path("kubectl")
    kubeconfig: Path = Path(os.devnull)

    def run(self, line: str, *expected: str, refused: bool = False) -> list[str]:
        """Run a line, which can end in ``> FILE``, and return its errors and output; repeat it until these have all of *expected*.

        Raises ServerError: it fails, or does not fail although it must be *refused*, or the output does not appear in time.
        """
        before, _, target = line.partition(" > ")
        words = muster(before) if before.startswith("muster ") else [str(self.kubectl), *shlex.split(before)[1:]]
        settings = environment(self.folder, HOME=str(self.folder), KUBECONFIG=str(self.kubeconfig))
        end = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                done = subprocess.run(  # noqa: S603 - kubectl, or our own command
                    words, cwd=self.folder, env=settings, stdin=DEVNULL, capture_output=True, timeout=COMMAND_SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                raise ServerError(f"{line} did not end after {COMMAND_SECONDS:g} s") from None
            printed = (done.stderr + (b"" if target else done.stdout)).decode("utf-8", "replace").rstrip()
            missing = [each for each in expected if each not in printed]
            if (done.returncode != 0) is refused and not missing:
                break
            if not missing or time.monotonic() > end:
                without = f" without {missing[0]!r}" if missing else ""
                raise ServerError(f"{line} ends with status {done.returncode}{without}: {last_lines(printed)}")
            time.sleep(ASK_EVERY)
        if target:
            (self.folder / target).write_bytes(done.stdout)
        return printed.splitlines()


def minor_version(program: Path) -> int:
    """Return the minor version of a program of Kubernetes, from its own output; 0 if it does not print one."""
    try:
        done = subprocess.run(  # noqa: S603 - a program that the user names
            [program, "--version"], stdin=DEVNULL, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.search(r"\bv1\.(\d+)", done.stdout)
    return int(version[1]) if version else 0


@contextlib.contextmanager
def process(words: Sequence[str], log: Path, sign: str) -> Iterator[None]:
    """Context with a program, entered once *log*, which gets its output, has *sign*; it runs in the folder of *log*.

    Raises ServerError: it ends before, or is not ready in time; with the last lines of its log.
    """
    with log.open("wb") as sink:
        try:
            # In a session of its own: Ctrl-C reaches only this process, which stops the others in order.
            child = subprocess.Popen(  # noqa: S603 - a program that the user names, or our own
                words, cwd=log.parent, env=environment(log.parent), stdin=DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        except OSError as error:
            raise ServerError(f"{log.stem} does not start: {error.strerror}") from None
    try:
        end = time.monotonic() + WAIT_SECONDS
        while sign not in (text := log.read_text(encoding="utf-8", errors="replace")):
            if child.poll() is not None or time.monotonic() > end:
                raise ServerError(f"{log.stem} does not start: {last_lines(text)}")
            time.sleep(ASK_EVERY)
        yield
    finally:
        child.terminate()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(STOP_SECONDS)
        finally:
            # Its workers are in its session, which has no other processes.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


@contextlib.contextmanager
def server(line: str, folder: Path) -> Iterator[str]:
    """Context with a server of Muster, whose files are in *folder*; its value is the address as HOST:PORT.  Raises as ``process``."""
    words = muster(line)
    log = folder / f"muster {words[3]}.log"
    with process(words, log, '"listening"'):
        entries = [json.loads(each) for each in log.read_text(encoding="utf-8").splitlines() if '"listening"' in each]
        yield str(entries[0]["address"])


def ask(address: str, path: str, body: bytes, ca: Path) -> tuple[int, Any]:
    """Return status and JSON content of the response to a POST over TLS, verified with *ca*.

    Raises ServerError: there is no response, or one that is not JSON.
    """
    context = ssl.create_default_context(cafile=str(ca))
    with contextlib.closing(http.client.HTTPSConnection(address, timeout=ANSWER_SECONDS, context=context)) as connection:
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ServerError(f"the server at {address} does not answer correctly: {error}") from None


def last_lines(output: str) -> str:
    """Return the end of an output for a message."""
    return "; ".join(line[:LONGEST_LINE] for line in output.strip().splitlines()[-LAST_LINES:]) or "it prints nothing"
