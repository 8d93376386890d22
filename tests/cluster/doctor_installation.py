"""An installation of Muster on a control plane, examined by ``muster doctor --cluster``; commands of findings are run.

The webhooks are installed as they are shipped, so they are called by a Service, which this control plane does not have a network for;
their server is a process, whose address is given.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import json
import os
import shlex
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from click.testing import CliRunner, Result

from certs.pair import Pair
from kubeapi.versions import kubernetes_releases
from muster import cli
from muster.doctor.checks import discover
from tests.cluster import go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.forwarding import forwarding_node
from tests.cluster.installed import ACCOUNT, CONFIGURATIONS, DEPLOY, NAMESPACE, Installed, mirroring, muster
from tests.cluster.options import Options
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import await_rights
from tests.cluster.waiting import until

ENDPOINTS = "endpoints"
SECRET, SIDECAR = "muster-webhook-tls", "muster-sidecar"
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
HOST = f"{ACCOUNT}.{NAMESPACE}.svc"
SCHEDULER_GATES = Options().gate_flags(kubernetes_releases.TODAY)[0].partition("=")[2]
PROVOKED_ELSEWHERE = {
    "certificates": frozenset({"ca-bundle-missing", "ca-expiry", "leaf-expiry", "leaf-names", "leaf-stale", "leaf-untrusted"}),
    "control plane": frozenset(
        {
            "api-not-served",
            "definitions-differ",
            "gate-off",
            "gates-differ",
            "kubernetes-differs",
            "object-ignored",
            "review-seconds-long",
            "scheduler-too-old",
        }
    ),
    "foreign": frozenset(each for each in discover() if each.startswith("foreign-")) | {"policy-refuses", "timeouts-add-up"},
    "probe": frozenset({"probe-failed"}),
    "upgrade": frozenset({"upgrade-blocks-creation", "upgrade-blocks-placement", "upgrade-blocks-updates", "upgrade-gates"}),
}
"""Checks that other files than test_doctor.py provoke."""


class Examined:
    """Muster on a control plane, and the results of ``muster doctor``."""

    seen: ClassVar[set[str]] = set()
    """Checks with findings so far."""

    def __init__(self, plane: ControlPlane, webhooks: Installed, programs: Path = Path()) -> None:
        """*programs* is a folder with kubectl and helm."""
        self.plane, self.api, self.webhooks = plane, plane.api, webhooks
        self.address, self.programs = f"127.0.0.1:{webhooks.port}", programs

    def doctor(self, *options: str, kubeconfig: Path | None = None, replica: str = "") -> Result:
        """Examine the cluster; the replica is that of the process, or all endpoints of the Service with ``ENDPOINTS``."""
        where = ["doctor", "--cluster", f"--kubeconfig={kubeconfig or self.plane.kubeconfig}", "--format=json"]
        observed = [] if replica == ENDPOINTS else [f"--replica={replica or self.address}"]
        return CliRunner().invoke(cli.main, [*where, *observed, *options])

    def findings(self, *options: str, replica: str = "") -> dict[str, list[dict[str, str]]]:
        answer = self.doctor(*options, replica=replica)
        assert answer.stderr == "", answer.stderr
        found = json.loads(answer.stdout)["findings"]
        self.seen.update(each["id"] for each in found)
        assert answer.exit_code == (1 if found else 0)
        return {check: [each for each in found if each["id"] == check] for check in {each["id"] for each in found}}

    def provoked(self, check: str, *options: str, replica: str = "") -> str:
        """Return the command of the finding, once there is one and nothing else is wrong."""
        found: dict[str, list[dict[str, str]]] = {}

        def is_found() -> bool:
            nonlocal found
            found = self.findings(*options, replica=replica)
            return found.keys() == {check}

        until(is_found, told=lambda: f"{check}: {found}")
        return found[check][0]["command"]

    def mend(self, command: str) -> None:
        """Run the command of a finding as the administrator, in the root of the checkout; a rotation waits for a short time only."""
        program, *words = shlex.split(command)
        if program == "muster":
            done = muster(*words, *(["--settle=1"] if words[0] == "certs" else []))
            assert done.returncode == 0, done.stdout + done.stderr
            return
        assert program in ("kubectl", "helm")
        environ = {**os.environ, "KUBECONFIG": str(self.plane.kubeconfig), "PATH": f"{self.programs}:{os.environ['PATH']}"}
        done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=DEPLOY.parent, env=environ, check=False)
        assert done.returncode == 0, done.stderr

    def well(self) -> None:
        until(lambda: not self.findings(), told=lambda: str(self.findings()))

    def apply(self, *manifests: Manifest) -> None:
        for each in manifests:
            place = each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")
            self.api.patch(*place, body=each, how="apply", version=each["apiVersion"], fieldManager="kubectl", force="true")

    def set_webhook(self, number: int, **fields: Any) -> None:
        operations = [{"op": "add", "path": f"/webhooks/{number}/{name}", "value": value} for name, value in fields.items()]
        self.api.patch("ValidatingWebhookConfiguration", "muster", body=operations, how="json")

    def set_bundles(self, ca: bytes) -> None:
        for kind in CONFIGURATIONS:
            value = base64.b64encode(ca).decode()
            count = len(self.api.get(kind, "muster")["webhooks"])
            operations = [{"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": value} for number in range(count)]
            self.api.patch(kind, "muster", body=operations, how="json")

    def set_secret(self, **files: bytes) -> None:
        data = {name.replace("_", "."): base64.b64encode(content).decode() for name, content in files.items()}
        self.api.patch("Secret", SECRET, NAMESPACE, body={"data": data})

    def serve(self, pair: Pair) -> None:
        """Put a certificate into the Secret, and its CA into every caBundle."""
        self.set_secret(ca_crt=pair.ca, tls_crt=pair.certificate, tls_key=pair.key)
        self.set_bundles(pair.ca)

    @contextlib.contextmanager
    def as_pods(self, *ports: Mapping[int, int]) -> Iterator[None]:
        """A pod for each of *ports*, as an endpoint of the Service: a kubelet forwards its ports to those of this machine.

        Nothing answers at the addresses of the pods.
        """
        api, template = self.api, self.api.get("Deployment", ACCOUNT, NAMESPACE)["spec"]["template"]
        endpoints = [
            {"addresses": [f"192.0.2.{number}"], "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": f"replica-{number}"}}
            for number in range(1, len(ports) + 1)
        ]
        slices = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": ACCOUNT, "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": ACCOUNT}},
            "addressType": "IPv4",
            "ports": [{"name": "webhook", "port": 9443}],
            "endpoints": endpoints,
        }
        url = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
        with contextlib.ExitStack() as undone:
            for number, forwarded in enumerate(ports, 1):
                own = undone.enter_context(forwarding_node(self.plane, f"forwarding-{number}", forwarded))
                api.create({**own, "spec": {"unschedulable": True}})
                undone.callback(api.delete, "Node", f"forwarding-{number}")
                metadata = {"name": f"replica-{number}", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}
                spec = {**template["spec"], "nodeName": f"forwarding-{number}"}
                api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
                undone.callback(api.delete, "Pod", f"replica-{number}", NAMESPACE, gracePeriodSeconds=0)
            api.send("POST", url, slices)
            undone.callback(api.send, "DELETE", f"{url}/{ACCOUNT}")
            yield

    def restore(self) -> None:
        """Put the objects back as they are shipped."""
        self.api.delete("Service", ACCOUNT, NAMESPACE)
        for kind in CONFIGURATIONS:
            self.api.delete(kind, "muster")
        for name in (SIDECAR, ACCOUNT):
            self.api.delete("Deployment", name, NAMESPACE)
        kept = ("Namespace", "ServiceAccount", "ClusterRole", "Deployment")
        self.apply(*(each for each in self.webhooks.objects if each["kind"] not in kept), *deployments(self.plane))
        self.api.set_status("Deployment", ACCOUNT, NAMESPACE, status={"replicas": 3, "readyReplicas": 3})


def scheduler(version: str = "v1.37.1", gates: str = SCHEDULER_GATES) -> Manifest:
    """Return the pod of a kube-scheduler."""
    container = {
        "name": "s",
        "image": f"registry.k8s.io/kube-scheduler:{version}",
        "command": ["kube-scheduler", f"--feature-gates={gates}"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"kube-scheduler-{version}", "namespace": "kube-system"},
        "spec": {"containers": [container]},
    }


def deployments(plane: ControlPlane) -> list[Manifest]:
    """Return those of the sidecar and of the webhooks as they are shipped, the latter with the version of *plane*."""
    every = [mirroring((DEPLOY / folder / "deployment.yaml").read_text(encoding="utf-8"), plane) for folder in ("sidecar", "base")]
    return [each for manifests in every for each in manifests if each["kind"] == "Deployment"]


@contextlib.contextmanager
def examination(plane: ControlPlane, folder: Path) -> Iterator[Examined]:
    """Webhooks and sidecar installed on *plane*; the webhooks have a replica."""
    programs = folder / "programs"
    programs.mkdir()
    for name, path in (("helm", available(lambda: go_tools.find("helm"))), ("kubectl", plane.programs.path("kubectl"))):
        (programs / name).symlink_to(path)
    webhooks = Installed(plane, folder)
    sidecar = [each for name in ("rbac", "deployment") for each in yaml.safe_load_all((DEPLOY / "sidecar" / f"{name}.yaml").read_text())]
    result = Examined(plane, webhooks, programs)
    others = [*sidecar, scheduler()]
    try:
        webhooks.apply()
        webhooks.start()
        # The configurations as shipped: by Service.
        webhooks.withdraw()
        result.apply(*others, *(each for each in webhooks.objects if each["kind"] in CONFIGURATIONS))
        subject = {"kind": "ServiceAccount", "name": SIDECAR, "namespace": NAMESPACE}
        for each in sidecar:
            if each["kind"] == "ClusterRole" and not each["metadata"]["name"].endswith("-ungate"):
                await_rights(plane.api, subject, each["rules"])
        plane.api.set_status("Deployment", ACCOUNT, NAMESPACE, status={"replicas": 3, "readyReplicas": 3})
        yield result
    finally:
        webhooks.remove()
        plane.companions.remove(webhooks.server)
        for each in reversed(others):
            plane.api.delete(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""), gracePeriodSeconds=0)


def demand_provoked(request: pytest.FixtureRequest, checks: Collection[str]) -> None:
    """Assert that the tests of the file have provoked all *checks*; skip the test unless all tests of the file run."""
    chosen = {each.function.__name__ for each in request.session.items if isinstance(each, pytest.Function) and each.path == request.path}
    if missing := {name for name in vars(request.module) if name.startswith("test_")} - chosen:
        pytest.skip(f"not all tests of this file run: {', '.join(sorted(missing))}")
    assert {*checks} - Examined.seen == set()
