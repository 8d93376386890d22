"""Muster's webhooks on a control plane: the manifests of deploy/ applied with kubectl, and ``muster serve`` as a process.

No kubelet runs the Deployment, and there is no Service network.  The process has the arguments and environment of the manifest's
container, with local addresses and files, and the webhook configurations have a loopback URL instead of the Service.  The rest
is unchanged: the ServiceAccount's token and role, the certificate and its CA.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from kubeapi.versions import kubernetes_releases
from tests import builders, forked
from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Process, free_port
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import await_rights
from tests.cluster.unfit import is_refused, unfit_group
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.sampling import WHOLE

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMESPACE, ACCOUNT = "muster-system", "muster-webhook"
CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
PROBES = 10
"""Number of probes that must succeed in a row, so that one of each worker is very likely among them."""
ASK_EVERY = 0.05


def muster(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``muster`` to its end."""
    environ = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"} | variables
    return forked.run(arguments, Path.cwd(), environ)


def eventually(claim: Callable[[], bool], seconds: float = WAIT_SECONDS) -> bool:
    """Return true once *claim* holds, false at the deadline.  For states without a watch, as a new webhook configuration."""
    end = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(ASK_EVERY)
    return True


class Installed:
    """The webhooks of one overlay on one control plane; a context manager by ``installed``."""

    def __init__(self, plane: ControlPlane, folder: Path, overlay: str = "issued", options: tuple[str, ...] = ()) -> None:
        """*options* are further ones of ``muster serve``."""
        self.plane, self.options = plane, options
        self.tree = folder / "deploy"
        self.overlay = self.tree / "overlays" / overlay
        self.certificates = self.tree / "overlays" / "issued" / "certs"
        self.port, self.probe_port = free_port(), free_port()
        self.server = Process("muster-serve", folder / "muster-serve.log")
        plane.companions.append(self.server)
        shutil.copytree(DEPLOY, self.tree, ignore=shutil.ignore_patterns("certs"))
        self.issue()
        self.objects = tuple(self.manifests())
        self._account = Path()

    def manifests(self) -> list[Manifest]:
        """Return the manifests of the overlay."""
        return mirroring(self.plane.kubectl("kustomize", str(self.overlay), check=True).stdout, self.plane)

    def issue(self, *arguments: str) -> None:
        """A certificate for the Service, as docs/operate/webhooks.md says, and for the loopback."""
        names = [f"{ACCOUNT}.{NAMESPACE}.svc", "127.0.0.1"]
        done = muster("certs", "issue", "--out", str(self.certificates), "--keep-ca-key", *(f"--name={each}" for each in names), *arguments)
        assert done.returncode == 0, done.stderr

    def apply(self) -> None:
        """Apply all manifests of the overlay, the configurations last and with the loopback's address."""
        others = [each for each in self.objects if each["kind"] not in CONFIGURATIONS]
        self._apply(others)
        roles = {each["metadata"]["name"]: each["rules"] for each in others if each["kind"] == "ClusterRole"}
        for each in (each for each in others if each["kind"] == "ClusterRoleBinding"):
            await_rights(self.plane.api, each["subjects"][0], roles[each["roleRef"]["name"]])
        self.apply_configurations()

    def apply_configurations(self) -> None:
        """Put the configurations (back) as they are shipped, but for the address; those that are there without kubectl."""
        missing = []
        for each in (self._by_url(each) for each in self.objects if each["kind"] in CONFIGURATIONS):
            if self.plane.api.exists(each["kind"], each["metadata"]["name"]):
                there = self.plane.api.get(each["kind"], each["metadata"]["name"])
                self.plane.api.replace({**there, "webhooks": each["webhooks"]})
            else:
                missing.append(each)
        if missing:
            self._apply(missing)

    def _apply(self, manifests: list[Manifest]) -> None:
        self.plane.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}), check=True)

    def _by_url(self, configuration: Manifest) -> Manifest:
        webhooks = []
        for each in configuration["webhooks"]:
            client = each["clientConfig"]
            url = f"https://127.0.0.1:{self.port}{client['service']['path']}"
            webhooks.append({**each, "clientConfig": {"url": url, "caBundle": client["caBundle"]}})
        return {**configuration, "webhooks": webhooks}

    def withdraw(self) -> None:
        """Delete the configurations."""
        for kind in CONFIGURATIONS:
            self.plane.api.delete_all(kind)

    def remove(self) -> None:
        """Stop the server and delete all objects but the namespace, which others use; no group waits for the webhooks any more."""
        self.withdraw()
        self.server.stop()
        assert eventually(self._unguarded), "the API server still calls the webhooks"
        for each in reversed(self.objects):
            if each["kind"] not in (*CONFIGURATIONS, "Namespace"):
                self.plane.api.delete(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""))

    def _unguarded(self) -> bool:
        """Return true if the API server accepts a group without the server."""
        try:
            self.plane.api.create(pod_group("probe", "default"), dryRun="All")
        except ApiError:
            return False
        return True

    def start(self) -> None:
        """Start the server as the Deployment would, with the rights of its ServiceAccount, and wait until it is ready."""
        if not self._account.is_file():
            self._account = self.plane.service_account(ACCOUNT, NAMESPACE)
        (deployment,) = (each for each in self.objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", ACCOUNT))
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        here = {
            "--bind": f"127.0.0.1:{self.port}",
            "--probe-bind": f"127.0.0.1:{self.probe_port}",
            "--tls-cert": str(self.certificates / "tls.crt"),
            "--tls-key": str(self.certificates / "tls.key"),
        }
        given = [f"{name}={here[name]}" if (name := each.partition("=")[0]) in here else each for each in container["args"]]
        environ = {**os.environ, **{each["name"]: each["value"] for each in container["env"]}, "MUSTER_DRAIN_SECONDS": "0"}
        arguments = [*given, f"--kubeconfig={self._account}", *self.options]
        if WHOLE:
            self.server.start([sys.executable, "-m", "muster", *arguments], environ)
        else:
            self.server.fork(arguments, environ, Path.cwd())
        # Each answer is that of some worker.
        self.server.await_answer(lambda: all(self.probe("/readyz")[0] == 200 for _ in range(PROBES)), WAIT_SECONDS)

    def probe(self, path: str) -> tuple[int, str]:
        """The answer on the plain port; (0, why) without one."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.probe_port, timeout=WAIT_SECONDS)) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except (OSError, http.client.HTTPException) as error:
                return 0, str(error)

    def logged(self, event: str = "review", *, least: int = 0, **fields: object) -> list[dict[str, Any]]:
        """Return the log lines of *event* with these fields, oldest first, once there are *least* of them.

        A line is written shortly after the response, and the next one possibly by another worker.
        """
        until(
            lambda: len(self._logged(event, fields)) >= least,
            told=lambda: f"{least} lines of {event} with {fields} are expected: {self._logged(event, fields)}",
        )
        return self._logged(event, fields)

    def _logged(self, event: str, fields: Mapping[str, object]) -> list[dict[str, Any]]:
        results = []
        # The last line may be half written yet.
        for line in self.server.log.read_text(encoding="utf-8").split("\n")[:-1]:
            entry = json.loads(line) if line.startswith("{") else {}
            if entry.get("event") == event and all(entry.get(key) == value for key, value in fields.items()):
                results.append(entry)
        return sorted(results, key=lambda entry: str(entry["time"]))

    def judges(self, namespace: str) -> bool:
        """Return true if the API server refuses an object that only Muster refuses."""
        try:
            self.plane.api.create(unfit_group("probe", namespace), dryRun="All")
        except ApiError as error:
            return is_refused(error.status)
        return False


def mirroring(manifests: str, plane: ControlPlane) -> list[Manifest]:
    """Return *manifests*, YAML; the webhooks mirror the version of *plane*, as an administrator of deploy/ lets them."""
    results = list(filter(None, yaml.safe_load_all(manifests)))
    if (minor := plane.programs.minor()) != kubernetes_releases.TODAY and minor >= kubernetes_releases.OLDEST:
        for each in (each for each in results if (each["kind"], each["metadata"]["name"]) == ("Deployment", ACCOUNT)):
            (container,) = each["spec"]["template"]["spec"]["containers"]
            container["env"].append({"name": "MUSTER_KUBERNETES", "value": kubernetes_releases.name(minor)})
    return results


@contextlib.contextmanager
def installed(
    plane: ControlPlane, folder: Path, overlay: str = "issued", options: tuple[str, ...] = (), kind: type[Installed] = Installed
) -> Iterator[Installed]:
    """The webhooks of *overlay* installed on *plane*, served and in effect."""
    created = kind(plane, folder, overlay, options)
    try:
        created.apply()
        created.start()
        assert eventually(lambda: created.judges("default")), "the API server does not call the webhooks"
        yield created
    finally:
        created.remove()
        plane.companions.remove(created.server)


def pod_group(name: str, namespace: str, spec: Mapping[str, Any] | None = None, version: str = "v1beta1") -> Manifest:
    """A gang of two, unless *spec* says else."""
    return builders.pod_group(name, 2, version=version, metadata={"namespace": namespace}, **(spec or {}))


def composite_group(name: str, namespace: str, spec: Mapping[str, Any] | None = None) -> Manifest:
    """A CompositePodGroup of the template ``train`` of a Workload of that name, with the basic policy unless *spec* says else."""
    given = {"workloadRef": {"workloadName": "train", "templateName": "train"}, **(spec or {})}
    return builders.composite_pod_group(name, metadata={"namespace": namespace}, **given)
