"""Several replicas of the webhooks with a managed certificate, behind a Service: the manifests of ``overlays/managed``, and processes.

A replica has the arguments, environment and rights of the Deployment, with local addresses.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import http.client
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import yaml

from tests.cluster.api import Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import ACCOUNT, CONFIGURATIONS, DEPLOY, NAMESPACE, composite_group, eventually, mirroring
from tests.cluster.process import Process, free_port
from tests.cluster.resources import Manifest
from tests.cluster.service import Service
from tests.cluster.take_effect import await_rights
from tests.cluster.unfit import is_refused, unfit_group
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.sampling import WHOLE

SECRET = "muster-webhook-tls"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
DRAIN_SECONDS = 2
ENDPOINT_SECONDS = 1.0
"""Time after which kube-proxy has removed a pod that is being deleted."""
PAUSE_SECONDS = 0.0 if WHOLE else 0.03
"""Time between two pairs of reviews of a thread; without it they take all processors for as long as a rotation lasts."""
VARIABLES = {
    "MUSTER_CERTIFICATE_NAMES": f"{ACCOUNT}.{NAMESPACE}.svc,127.0.0.1",
    "MUSTER_CERTIFICATE_POLL_SECONDS": "1",
    "MUSTER_CERTIFICATE_SETTLE_SECONDS": "2",
    "MUSTER_TLS_POLL_SECONDS": "0.5",
    "MUSTER_DRAIN_SECONDS": str(DRAIN_SECONDS),
}


class Replica:
    """One process of the Deployment; of another version if there is an *environ* of that."""

    def __init__(
        self,
        name: str,
        folder: Path,
        container: Manifest,
        kubeconfig: Path,
        variables: dict[str, str],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.port, self.probe_port = free_port(), free_port()
        self.process = Process(name, folder / f"{name}.log")
        self._container, self._kubeconfig, self._variables, self._environ = container, kubeconfig, variables, environ

    def start(self) -> None:
        here = {"--bind": f"127.0.0.1:{self.port}", "--probe-bind": f"127.0.0.1:{self.probe_port}"}
        given = [f"{name}={here[name]}" if (name := each.partition("=")[0]) in here else each for each in self._container["args"]]
        inherited = os.environ if self._environ is None else self._environ
        environ = {**inherited, **{each["name"]: each["value"] for each in self._container["env"]}, **VARIABLES, **self._variables}
        arguments = [*given, f"--kubeconfig={self._kubeconfig}"]
        if WHOLE or self._environ is not None:
            self.process.start([sys.executable, "-m", "muster", *arguments], environ)
        else:
            self.process.fork(arguments, environ, Path.cwd())

    def probe(self, path: str) -> tuple[int, str]:
        """Return status and body of the answer on the plain port; (0, why) without one."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.probe_port, timeout=WAIT_SECONDS)) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except (OSError, http.client.HTTPException) as error:
                return 0, str(error)

    @property
    def ready(self) -> bool:
        return all(self.probe("/readyz")[0] == 200 for _ in range(4))

    def metric(self, name: str) -> float:
        """Return the sum of the samples whose name and labels begin with *name*."""
        lines = self.probe("/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = self.process.log.read_text(encoding="utf-8").split("\n")[:-1] if self.process.log.exists() else []
        entries = (json.loads(line) for line in lines if line.startswith("{"))
        return [each for each in entries if each.get("event") == event]


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """Version of Muster: its manifests, and its environ if it is another one than this."""

    overlay: Path = DEPLOY / "overlays/managed"
    environ: Mapping[str, str] | None = None


class Managed:
    """The webhooks of ``overlays/managed`` on one control plane; a context manager by ``managed``."""

    def __init__(self, plane: ControlPlane, folder: Path, service: Service, through: Callable[[Path], Path]) -> None:
        self.plane, self.api, self.folder, self.service, self._through = plane, plane.api, folder, service, through
        self.objects: list[Manifest] = []
        self.replicas: list[Replica] = []
        self._account = Path()

    def apply(self, version: Version) -> None:
        """Apply all manifests of *version*, of which replicas are from now on; the configurations have the address of the Service."""
        text = self.plane.kubectl("kustomize", str(version.overlay), check=True).stdout
        self._environ = version.environ
        # An earlier version of Muster knows no newer version of Kubernetes.
        self.objects = mirroring(text, self.plane) if self._environ is None else list(filter(None, yaml.safe_load_all(text)))
        (deployment,) = (each for each in self.objects if each["kind"] == "Deployment")
        (self._container,) = deployment["spec"]["template"]["spec"]["containers"]
        self._apply([each for each in self.objects if each["kind"] not in CONFIGURATIONS])
        roles = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in self.objects if "rules" in each}
        for each in (each for each in self.objects if "roleRef" in each):
            rules = roles[each["roleRef"]["kind"], each["roleRef"]["name"]]
            await_rights(self.api, each["subjects"][0], rules, each["metadata"].get("namespace", ""))
        self._account = self._through(self.plane.service_account(ACCOUNT, NAMESPACE))
        self.apply_configurations()

    def apply_configurations(self) -> None:
        self._apply([self._by_url(each) for each in self.objects if each["kind"] in CONFIGURATIONS])

    def compare(self, *options: str) -> str:
        """Return what ``kubectl diff`` shows for the configurations."""
        manifests = [self._by_url(each) for each in self.objects if each["kind"] in CONFIGURATIONS]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
        done = self.plane.kubectl("diff", *options, "-f", "-", stdin=text)
        assert done.returncode < 2, done.stderr
        return done.stdout

    def _apply(self, manifests: list[Manifest]) -> None:
        self.plane.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}), check=True)

    def _by_url(self, configuration: Manifest) -> Manifest:
        address = f"https://127.0.0.1:{self.service.port}"
        webhooks = [
            {**each, "clientConfig": {"url": f"{address}{each['clientConfig']['service']['path']}"}} for each in configuration["webhooks"]
        ]
        return {**configuration, "webhooks": webhooks}

    def start(self, count: int = 1) -> list[Replica]:
        """Start further replicas, which observe each other; they are not in the Service yet."""
        names = [f"replica-{len(self.replicas) + number}" for number in range(count)]
        new = [Replica(each, self.folder, self._container, self._account, {}, self._environ) for each in names]
        addresses = ",".join(f"127.0.0.1:{each.port}" for each in new)
        for each in new:
            each._variables["MUSTER_CERTIFICATE_REPLICAS"] = addresses
            self.plane.companions.append(each.process)
            each.start()
        self.replicas += new
        return new

    def await_ready(self, replica: Replica) -> None:
        """Wait until *replica* is ready, and put it into the Service."""
        replica.process.await_answer(lambda: replica.ready, WAIT_SECONDS)
        self.service.backends.append(replica.port)

    def delete(self, replica: Replica) -> None:
        """End *replica* as the kubelet ends a pod, which leaves the endpoints a moment later."""
        os.kill(replica.process.pid, signal.SIGTERM)
        time.sleep(ENDPOINT_SECONDS)
        self.service.backends.remove(replica.port)
        until(lambda: not replica.process.running, told=lambda: f"it does not end:\n{replica.process.tail()}")

    def secret(self) -> dict[str, bytes]:
        return {name: base64.b64decode(value) for name, value in self.api.get("Secret", SECRET, NAMESPACE)["data"].items()}

    def bundles(self) -> set[bytes]:
        found = [each["clientConfig"] for kind in CONFIGURATIONS for each in self.api.get(kind, "muster")["webhooks"]]
        return {base64.b64decode(each.get("caBundle", "")) for each in found}

    def judges(self) -> bool:
        """Return true if the API server refuses a group that only Muster refuses."""
        try:
            self.api.create(unfit_group("probe", "default"), dryRun="All")
        except ApiError as error:
            return is_refused(error.status)
        return False

    def remove(self) -> None:
        for kind in CONFIGURATIONS:
            self.api.delete_all(kind)
        for each in self.replicas:
            each.process.kill()
            self.plane.companions.remove(each.process)
        assert eventually(lambda: not self.judges()), "the API server still calls the webhooks"
        self.api.delete("Secret", SECRET, NAMESPACE)
        with contextlib.suppress(ApiError):
            self.api.send("DELETE", f"{LEASES}/{ACCOUNT}")
        for each in reversed(self.objects):
            if each["kind"] not in (*CONFIGURATIONS, "Namespace"):
                self.api.delete(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""))


@contextlib.contextmanager
def managed(
    plane: ControlPlane, folder: Path, version: Version = Version(), through: Callable[[Path], Path] = lambda path: path
) -> Iterator[Managed]:
    """Install the webhooks without a replica; *through* returns the kubeconfig that replaces that of the replicas, as of a proxy."""
    with Service() as service:
        created = Managed(plane, folder, service, through)
        try:
            created.apply(version)
            yield created
        finally:
            created.remove()


class Reviews:
    """Threads that create groups as dry runs until the end of the block: the API server calls both webhooks for those that are accepted."""

    def __init__(self, kubeconfig: Path, namespace: str, threads: int = 4) -> None:
        self.errors: list[str] = []
        self._kubeconfig, self._namespace, self._ended = kubeconfig, namespace, threading.Event()
        self._counts = [0] * threads
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(threads)]

    @property
    def count(self) -> int:
        """Return the number of requests that were answered."""
        return sum(self._counts)

    def await_count(self, count: int) -> None:
        """Wait until *count* requests were answered, or one failed."""
        until(lambda: self.errors or self.count >= count, 20 * WAIT_SECONDS, told=lambda: f"{self.count} requests")

    def _run(self, number: int) -> None:
        api = Api(self._kubeconfig)
        good, bad = composite_group("probe", self._namespace), unfit_group("probe", self._namespace)
        while not self._ended.wait(PAUSE_SECONDS):
            try:
                api.create(good, dryRun="All")
                self._counts[number] += 1
                if refusal := _refusal(api, bad):
                    self.errors.append(refusal)
                self._counts[number] += 1
            except (ApiError, OSError) as error:
                self.errors.append(str(error))
        api.close()

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for each in self._threads:
            each.join(WAIT_SECONDS)


def _refusal(api: Api, bad: Manifest) -> str:
    """Return what is wrong with the answer to a group that Muster must refuse."""
    try:
        api.create(bad, dryRun="All")
    except ApiError as error:
        return "" if is_refused(error.status) else str(error)
    return "a group was not reviewed"
