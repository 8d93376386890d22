"""`muster sidecar` as a process, with the rights that `deploy/sidecar` gives it and no more."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.api import CONFLICT, Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import begun
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import await_rights
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.forked import ForkedProcess
from tests.sampling import WHOLE

ROOT = Path(__file__).parents[2]
NAMESPACE = "muster-system"
BUSY = 503


def install(api: Api) -> None:
    """The namespace and the rights, as the manifests have them and in effect; nothing twice."""
    paths = ("base/namespace.yaml", "sidecar/rbac.yaml", "sidecar/ungate.yaml", "sidecar/undo.yaml", "sidecar/build.yaml")
    manifests = [each for path in paths for each in yaml.safe_load_all((ROOT / "deploy" / path).read_text())]
    new = [each for each in manifests if _installed(api, each)]
    roles = {(each["kind"], each["metadata"]["name"]): each for each in manifests}
    for each in new:
        if each["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            role = roles[each["roleRef"]["kind"], each["roleRef"]["name"]]
            await_rights(api, each["subjects"][0], role["rules"], each["metadata"].get("namespace", ""))


def _installed(api: Api, manifest: Manifest) -> bool:
    """Create an object; whether it was not there."""
    if manifest["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
        manifest["metadata"]["namespace"] = NAMESPACE
    for subject in manifest.get("subjects", ()):
        subject["namespace"] = NAMESPACE
    try:
        api.create(manifest)
    except ApiError as error:
        if error.code != CONFLICT:
            raise
        return False
    return True


def kubeconfig(plane: ControlPlane) -> Path:
    """That of the service account, with a token."""
    install(plane.api)
    return plane.service_account("muster-sidecar", NAMESPACE)


@dataclasses.dataclass
class Sidecar:
    """A running process."""

    process: subprocess.Popen[bytes] | ForkedProcess
    log: Path
    probes: str

    def get(self, path: str) -> tuple[int, str]:
        """Return the response to a GET."""
        try:
            with urllib.request.urlopen(f"http://{self.probes}{path}", timeout=WAIT_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def explain(self, namespace: str, name: str) -> Any:
        answers: list[tuple[int, str]] = []
        # It may have more to decide than time to tell.
        until(lambda: answers.append(self.get(f"/explain/{namespace}/{name}")) or answers[-1][0] != BUSY)
        return json.loads(answers[-1][1])

    def metric(self, line: str) -> float:
        """The value of a figure, by its name with labels as it is written."""
        for each in self.get("/metrics")[1].splitlines():
            if each.startswith(line + " "):
                return float(each.rpartition(" ")[2])
        return 0.0

    @property
    def lines(self) -> list[Manifest]:
        """Return its log lines; the last line may be incomplete."""
        return [json.loads(each) for each in self.log.read_text().split("\n")[:-1] if each.startswith("{")]

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_SECONDS)


@contextlib.contextmanager
def sidecar(
    plane: ControlPlane,
    folder: Path,
    *options: str,
    through: Path | None = None,
    wait: bool = True,
    environ: dict[str, str] | None = None,
    fork: bool = False,
) -> Iterator[Sidecar]:
    """Run a sidecar on *plane*; *through* is a kubeconfig that replaces its own.

    With *fork* it is forked from a process that has imported its modules: for tests that do not depend on how it starts.
    """
    log = folder / f"sidecar-{len(list(folder.iterdir()))}.log"
    arguments = ["sidecar", "--kubeconfig", str(through or kubeconfig(plane)), "--probe-bind", "127.0.0.1:0", *options]
    surroundings = {**os.environ, **(environ or {})}
    process = (_forked if fork and not WHOLE else _started)(arguments, log, surroundings)
    result, passed = Sidecar(process, log, ""), False
    try:
        result.probes = _address(result)
        if wait:
            until(lambda: result.get("/readyz")[0] == 200, told=lambda: f"not ready: {result.get('/readyz')}\n{log.read_text()[-3000:]}")
        yield result
        passed = True
    finally:
        if not passed:
            print(log.read_text()[-6000:])
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                result.stop()
        if process.poll() is None:
            result.kill()


def _forked(arguments: list[str], log: Path, environ: dict[str, str]) -> ForkedProcess:
    with log.open("wb") as out:
        return ForkedProcess(arguments, out, out, environ, ROOT)


def _started(arguments: list[str], log: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return begun([sys.executable, "-m", "muster", *arguments], out, environ, cwd=ROOT)


def _address(found: Sidecar) -> str:
    def told() -> str:
        return next((each["address"] for each in found.lines if each.get("event") == "listening"), "")

    until(lambda: told() or found.process.poll() is not None, told=lambda: found.log.read_text()[-3000:])
    assert found.process.poll() is None, found.log.read_text()[-3000:]
    return told()
