"""``muster doctor --cluster`` on a real API server: each finding is provoked, reported, and mended by the command that it names.

The webhooks are installed as they are shipped, so they are called by a Service, which this control plane does not have a network for;
their server is a process, whose address is given.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import functools
import json
import os
import re
import shlex
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import yaml
from click.testing import CliRunner

from certs import issue
from certs.pair import Pair, names_of
from muster import cli
from muster.doctor.checks import discover
from tests.cluster.api import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import ACCOUNT, CONFIGURATIONS, DEPLOY, NAMESPACE, Installed
from tests.cluster.kubelet import node, pod
from tests.cluster.options import ALL_GATES, NO_GATES, Options
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import await_rights
from tests.cluster.waiting import until

PAGE = DEPLOY.parent / "docs" / "operate" / "doctor.md"
SECRET, SIDECAR = "muster-webhook-tls", "muster-sidecar"
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
HOST = f"{ACCOUNT}.{NAMESPACE}.svc"
SCHEDULER_GATES = ",".join(f"{name}=true" for name in ALL_GATES)
SELECT_ALL = {
    "namespaceSelector": {},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods", "configmaps"]}],
}


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": NAMESPACE}}


class Examined:
    """Muster on a control plane, and the results of ``muster doctor``."""

    seen: ClassVar[set[str]] = set()
    """Checks with findings so far."""

    def __init__(self, plane: ControlPlane, webhooks: Installed) -> None:
        self.plane, self.api, self.webhooks = plane, plane.api, webhooks
        self.address = f"127.0.0.1:{webhooks.port}"

    def doctor(self, *options: str, kubeconfig: Path | None = None, replica: str = ""):
        where = ["doctor", "--cluster", f"--kubeconfig={kubeconfig or self.plane.kubeconfig}", "--format=json"]
        return CliRunner().invoke(cli.main, [*where, f"--replica={replica or self.address}", *options])

    def findings(self, *options: str, replica: str = "") -> dict[str, list[dict[str, str]]]:
        answer = self.doctor(*options, replica=replica)
        assert answer.stderr == "", answer.stderr
        found = json.loads(answer.stdout)["findings"]
        self.seen.update(each["id"] for each in found)
        assert answer.exit_code == (1 if found else 0)
        return {check: [each for each in found if each["id"] == check] for check in {each["id"] for each in found}}

    def provoked(self, check: str, *options: str, replica: str = "") -> str:
        """Return the command of the finding, once there is one; nothing else is wrong."""
        found: dict[str, list[dict[str, str]]] = {}

        def is_found() -> bool:
            nonlocal found
            found = self.findings(*options, replica=replica)
            return check in found

        until(is_found, told=lambda: f"{check}: {found}")
        assert set(found) == {check}
        return found[check][0]["command"]

    def mend(self, command: str) -> None:
        """Run a command of kubectl as the administrator, in the root of the checkout."""
        environ = {
            **os.environ,
            "KUBECONFIG": str(self.plane.kubeconfig),
            "PATH": f"{self.plane.programs.path('kubectl').parent}:{os.environ['PATH']}",
        }
        assert shlex.split(command)[0] == "kubectl"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=DEPLOY.parent, env=environ, check=False)
        assert done.returncode == 0, done.stderr

    def well(self) -> None:
        until(lambda: not self.findings(), told=lambda: str(self.findings()))

    def apply(self, *manifests) -> None:
        for each in manifests:
            place = each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")
            self.api.patch(*place, body=each, how="apply", version=each["apiVersion"], fieldManager="kubectl", force="true")

    def set_webhook(self, number: int, **fields) -> None:
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


def _is_created(api) -> bool:
    try:
        api.create(CONFIG_MAP, dryRun="All")
    except ApiError:
        return False
    return True


def scheduler(version: str = "v1.37.1", gates: str = SCHEDULER_GATES):
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


@functools.cache
def _deployments() -> tuple[Manifest, ...]:
    """Return those of the sidecar and of the webhooks as they are shipped."""
    every = (yaml.safe_load_all((DEPLOY / folder / "deployment.yaml").read_text(encoding="utf-8")) for folder in ("sidecar", "base"))
    return tuple(each for manifests in every for each in manifests if each["kind"] == "Deployment")


@pytest.fixture(scope="module")
def examined(plane, tmp_path_factory):
    webhooks = Installed(plane, tmp_path_factory.mktemp("installed"))
    sidecar = [each for name in ("rbac", "deployment") for each in yaml.safe_load_all((DEPLOY / "sidecar" / f"{name}.yaml").read_text())]
    result = Examined(plane, webhooks)
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


@pytest.fixture(autouse=True)
def restored(examined):
    """Put the objects back after each test."""
    yield
    examined.api.delete("Service", ACCOUNT, NAMESPACE)
    for kind in CONFIGURATIONS:
        examined.api.delete(kind, "muster")
    for name in (SIDECAR, ACCOUNT):
        examined.api.delete("Deployment", name, NAMESPACE)
    kept = ("Namespace", "ServiceAccount", "ClusterRole", "Deployment")
    examined.apply(*(each for each in examined.webhooks.objects if each["kind"] not in kept), *_deployments())
    examined.api.set_status("Deployment", ACCOUNT, NAMESPACE, status={"replicas": 3, "readyReplicas": 3})


def test_the_shipped_installation_is_well(examined) -> None:
    answer = examined.doctor()
    assert (answer.exit_code, answer.stderr, json.loads(answer.stdout)["findings"]) == (0, "", [])
    assert [each["id"] for each in json.loads(answer.stdout)["unchecked"]] == ["timeout-exceeded"]


def test_self_lock(examined) -> None:
    examined.set_webhook(0, **SELECT_ALL)
    until(lambda: not _is_created(examined.api), told=lambda: "the webhook does not refuse objects in its own namespace")
    found = examined.findings()
    assert {check: len(each) for check, each in found.items()} == {"self-lock": 2}
    # Each command exempts one namespace, and is made for the current selector.
    examined.mend(found["self-lock"][0]["command"])
    examined.mend(examined.provoked("self-lock"))
    examined.well()
    until(lambda: _is_created(examined.api), told=lambda: "the webhook still refuses objects in its own namespace")


def test_a_server_that_webhooks_wait_for(examined) -> None:
    examined.api.patch("Deployment", ACCOUNT, NAMESPACE, body={"spec": {"replicas": 1}})
    examined.mend(examined.provoked("fail-without-replicas"))
    examined.well()
    examined.api.delete("PodDisruptionBudget", ACCOUNT, NAMESPACE)
    examined.mend(examined.provoked("fail-without-budget"))
    examined.well()
    examined.api.patch("PodDisruptionBudget", ACCOUNT, NAMESPACE, body={"spec": {"maxUnavailable": 0}})
    examined.mend(examined.provoked("drain-blocked"))
    examined.well()
    examined.api.set_status("Deployment", ACCOUNT, NAMESPACE, status={"readyReplicas": 0})
    examined.provoked("fail-without-replicas")


def test_fields_of_webhooks(examined, tmp_path) -> None:
    examined.set_webhook(3, failurePolicy="Fail")
    examined.mend(examined.provoked("fail-in-lenient-mode"))
    examined.well()
    examined.set_webhook(0, **{"clientConfig/service/path": "/nope"})
    examined.mend(examined.provoked("path-unknown"))
    examined.well()
    examined.set_webhook(0, timeoutSeconds=30)
    examined.mend(examined.provoked("timeout-long"))
    examined.well()
    metrics = tmp_path / "metrics"
    buckets = "".join(
        f'muster_review_duration_seconds_bucket{{le="{le}",path="/validate"}} {n}\n' for le, n in ((1, 10), (2.5, 500), ("+Inf", 500))
    )
    metrics.write_text(buckets, encoding="utf-8")
    examined.mend(examined.provoked("timeout-exceeded", f"--metrics={metrics}"))
    assert not examined.findings(f"--metrics={metrics}")


def test_metrics_of_the_server(examined) -> None:
    answer = examined.doctor(f"--metrics=http://127.0.0.1:{examined.webhooks.probe_port}/metrics")
    assert answer.exit_code in (0, 2)
    if answer.exit_code:
        assert "has no muster_review_duration_seconds" in answer.stderr


def test_trust(examined) -> None:
    examined.set_bundles(issue.authority(NOW).certificate)
    examined.provoked("leaf-untrusted")
    examined.set_bundles(b"")
    examined.provoked("ca-bundle-missing")


def test_certificates(examined) -> None:
    ca = issue.authority(NOW - 4000 * DAY, 6000)
    trusted = (examined.webhooks.certificates / "ca.crt").read_bytes()
    examined.set_bundles(trusted + ca.certificate)
    for check, pair in (
        ("leaf-names", issue.leaf(ca, names_of(("elsewhere.example.com",)), NOW)),
        ("leaf-expiry", issue.leaf(ca, names_of((HOST,)), NOW - 366 * DAY)),
        ("leaf-expiry", issue.leaf(ca, names_of((HOST,)), NOW - 300 * DAY)),
    ):
        examined.set_secret(tls_crt=pair.certificate)
        found = examined.findings()
        # The replica serves its own certificate, and the CA is old.
        assert set(found) == {check, "leaf-stale", "ca-expiry"}


def test_reach(examined) -> None:
    examined.provoked("unreachable", replica="127.0.0.1:1")
    examined.api.patch("Service", ACCOUNT, NAMESPACE, body=[{"op": "replace", "path": "/spec/ports/0/port", "value": 8443}], how="json")
    # One for each configuration.
    examined.mend(examined.provoked("unreachable"))
    examined.mend(examined.provoked("unreachable"))
    examined.well()
    examined.api.delete("Service", ACCOUNT, NAMESPACE)
    examined.mend(examined.provoked("unreachable"))
    assert "there is no Service" not in str(examined.findings())


def test_options_that_differ_from_the_api_server(examined) -> None:
    for kind, env in (
        ("gates-differ", "MUSTER_GATES=WorkloadWithJob=false"),
        ("kubernetes-differs", "MUSTER_KUBERNETES=1.36"),
        ("review-seconds-long", "MUSTER_REQUEST_SECONDS=20"),
    ):
        examined.plane.kubectl("-n", NAMESPACE, "set", "env", f"deployment/{ACCOUNT}", env, check=True)
        examined.mend(examined.provoked(kind))
        examined.well()


def test_an_old_scheduler(examined) -> None:
    old = scheduler("v1.36.2")
    examined.api.create(old)
    try:
        assert "kubeadm upgrade" in examined.provoked("scheduler-too-old")
    finally:
        examined.api.delete("Pod", old["metadata"]["name"], "kube-system", gracePeriodSeconds=0)


def test_a_missing_role(examined) -> None:
    examined.api.delete("ClusterRoleBinding", "muster-sidecar-place")
    examined.mend(examined.provoked("rights-missing"))
    examined.well()


def test_two_schedulers_on_one_node(examined, nodes, namespace) -> None:
    nodes(node("shared"))
    for name in ("muster", "default-scheduler"):
        created = pod(name, namespace)
        created["spec"]["schedulerName"] = name
        examined.api.create(created)
        examined.api.bind(name, namespace, "shared")
    examined.mend(examined.provoked("two-schedulers"))
    # The permissions of the new mode are not bound.
    assert set(examined.findings()) <= {"rights-missing"}


def test_a_control_plane_without_the_kinds(examined, programs) -> None:
    with ControlPlane(Options(gates=NO_GATES, served=()), programs) as bare:
        bare.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        shipped = Examined(bare, examined.webhooks)
        shipped.apply(*(each for each in examined.webhooks.objects if each["kind"] not in ("Namespace", "Secret")), scheduler())
        bare.api.set_status("Deployment", ACCOUNT, NAMESPACE, status={"replicas": 3, "readyReplicas": 3})
        found = shipped.findings()
    assert {"api-not-served", "gate-off", "gates-differ"} == found.keys() - {"rights-missing"}
    missing = {each["message"].split()[6] for each in found["api-not-served"]}
    assert missing == {"compositepodgroups", "podgroups", "workloads"}


def test_the_role_of_the_page_is_enough_and_needed(examined, namespace) -> None:
    (block,) = (
        each for each in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "kind: ClusterRole\n" in each
    )
    (role,) = yaml.safe_load_all(block)
    allowed = examined.plane.user("doctor", role["rules"])
    assert json.loads(examined.doctor(kubeconfig=allowed).stdout) == json.loads(examined.doctor().stdout)
    nobody = examined.plane.write_kubeconfig("nobody")
    answer = examined.doctor(kubeconfig=nobody)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "cannot list resource" in answer.stderr
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        examined.api.delete(kind, "doctor")


def test_a_policy_that_closes_the_port(examined) -> None:
    policy = yaml.safe_load((DEPLOY / "base" / "network-policy.yaml").read_text(encoding="utf-8"))
    examined.apply({**policy, "spec": {**policy["spec"], "ingress": []}})
    try:
        examined.mend(examined.provoked("port-closed"))
        examined.well()
    finally:
        examined.api.delete("NetworkPolicy", policy["metadata"]["name"], NAMESPACE)


def test_the_mode_of_the_server(examined) -> None:
    examined.plane.kubectl("-n", NAMESPACE, "set", "env", f"deployment/{ACCOUNT}", "MUSTER_ENFORCEMENT=audit", check=True)
    examined.mend(examined.provoked("fail-in-lenient-mode"))
    examined.mend(examined.provoked("fail-in-lenient-mode"))
    examined.well()


def test_commands_reach_the_cluster_that_was_examined(examined) -> None:
    context = examined.plane.kubectl("config", "current-context", check=True).stdout.strip()
    examined.set_webhook(0, timeoutSeconds=30)
    examined.set_bundles(issue.authority(NOW).certificate)
    found = examined.findings(f"--context={context}")

    connection = [f"--kubeconfig={examined.plane.kubeconfig}", f"--context={context}"]
    assert ["kubectl", *connection] == shlex.split(found["timeout-long"][0]["command"])[:3]
    assert ["muster", "certs", "rotate", *connection, f"--replica={examined.address}"] == shlex.split(found["leaf-untrusted"][0]["command"])


def test_something_else_at_the_address_of_a_replica(examined, tmp_path) -> None:
    foreign = issue.leaf(issue.authority(NOW), names_of(("elsewhere.example.com", "other.example.com")), NOW - 366 * DAY)
    with tls_server(foreign, tmp_path) as address:
        found = examined.findings(replica=address)
    assert {"leaf-untrusted", "leaf-stale"} == set(found)
    assert "something else may answer there" in found["leaf-untrusted"][0]["message"]
    assert "example.com" not in str(found)


@contextlib.contextmanager
def tls_server(pair: Pair, folder: Path) -> Iterator[str]:
    """A server that ends each connection after the handshake."""
    for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (folder / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                context.wrap_socket(self.request, server_side=True).close()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_every_check_is_provoked(examined, request) -> None:
    chosen = {each.originalname for each in request.session.items if each.path == request.path}
    if missing := {name for name in globals() if name.startswith("test_")} - chosen:
        pytest.skip(f"not all tests of this file run: {', '.join(sorted(missing))}")
    assert set(discover()) - examined.seen == set()
