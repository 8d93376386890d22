"""`muster sidecar` as a process, with the rights that `deploy/sidecar` gives it and no more."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.api import Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.resources import Manifest

ROOT = Path(__file__).parents[2]
NAMESPACE = "muster-system"
READY_SECONDS = 30.0
STOP_SECONDS = 30.0


def install(api: Api) -> None:
    """The namespace and the rights, as the manifests have them; nothing twice."""
    paths = ("base/namespace.yaml", "sidecar/rbac.yaml", "sidecar/ungate.yaml")
    for each in (each for path in paths for each in yaml.safe_load_all((ROOT / "deploy" / path).read_text())):
        if each["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            each["metadata"]["namespace"] = NAMESPACE
        for subject in each.get("subjects", ()):
            subject["namespace"] = NAMESPACE
        with contextlib.suppress(ApiError):
            api.create(each)


def kubeconfig(plane: ControlPlane) -> Path:
    """That of the service account, with a token."""
    install(plane.api)
    return plane.service_account("muster-sidecar", NAMESPACE)


@dataclasses.dataclass
class Sidecar:
    """A running process."""

    process: subprocess.Popen[bytes]
    log: Path
    probes: str

    def get(self, path: str) -> tuple[int, str]:
        """What it answers to a GET."""
        try:
            with urllib.request.urlopen(f"http://{self.probes}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def explain(self, namespace: str, name: str) -> Any:
        return json.loads(self.get(f"/explain/{namespace}/{name}")[1])

    def metric(self, line: str) -> float:
        """The value of a figure, by its name with labels as it is written."""
        for each in self.get("/metrics")[1].splitlines():
            if each.startswith(line + " "):
                return float(each.rpartition(" ")[2])
        return 0.0

    @property
    def lines(self) -> list[Manifest]:
        return [json.loads(each) for each in self.log.read_text().splitlines() if each.startswith("{")]

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)


@contextlib.contextmanager
def sidecar(
    plane: ControlPlane, folder: Path, *options: str, through: Path | None = None, wait: bool = True, environ: dict[str, str] | None = None
) -> Iterator[Sidecar]:
    """A sidecar on *plane*; *through* is a kubeconfig in place of its own."""
    log = folder / f"sidecar-{len(list(folder.iterdir()))}.log"
    command = [sys.executable, "-m", "muster", "sidecar", "--kubeconfig", str(through or kubeconfig(plane)), "--probe-bind", "127.0.0.1:0"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *options], stdout=out, stderr=out, cwd=ROOT, env={**os.environ, **(environ or {})}, start_new_session=True
        )
    found = Sidecar(process, log, "")
    try:
        found.probes = _address(found)
        if wait:
            until(
                lambda: found.get("/readyz")[0] == 200,
                READY_SECONDS,
                lambda: f"not ready: {found.get('/readyz')}\n{log.read_text()[-3000:]}",
            )
        yield found
    except BaseException:
        print(log.read_text()[-6000:])
        raise
    finally:
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                found.stop()
        if process.poll() is None:
            found.kill()


def _address(found: Sidecar) -> str:
    def told() -> str:
        return next((each["address"] for each in found.lines if each.get("event") == "listening"), "")

    until(lambda: told() or found.process.poll() is not None, READY_SECONDS, lambda: found.log.read_text()[-3000:])
    assert found.process.poll() is None, found.log.read_text()[-3000:]
    return told()


def until(condition: Callable[[], Any], seconds: float, told: Callable[[], str] = lambda: "") -> None:
    """Wait for *condition*; AssertionError with what *told* says if it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(0.02)
