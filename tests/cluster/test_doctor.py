"""``muster doctor --cluster`` on a real API server: each finding is provoked, reported, and mended by the command that it names.

The webhooks are installed as they are shipped, so they are called by a Service, which this control plane does not have a network for;
their server is a process, whose address is given.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import socketserver
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import yaml

from certs import issue
from certs.pair import Pair, names_of
from muster.doctor.checks import discover
from tests.cluster.api import ApiError
from tests.cluster.doctor_installation import DAY, ENDPOINTS, NOW, PROVOKED_ELSEWHERE, demand_provoked
from tests.cluster.installed import ACCOUNT, DEPLOY, NAMESPACE
from tests.cluster.kubelet import node, pod
from tests.cluster.waiting import until

SELECT_ALL = {
    "namespaceSelector": {},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods", "configmaps"]}],
}


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": NAMESPACE}}


def _is_created(api) -> bool:
    try:
        api.create(CONFIG_MAP, dryRun="All")
    except ApiError:
        return False
    return True


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
    command = examined.provoked("fail-without-replicas")
    # If a quota or a policy refuses the pods, only the ReplicaSet has events.
    assert "describe replicasets,pods" in command
    examined.mend(command)


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


def test_a_missing_role(examined) -> None:
    examined.api.delete("ClusterRoleBinding", "muster-sidecar-place")
    examined.mend(examined.provoked("rights-missing"))
    examined.well()


def test_a_certificate_in_another_secret(examined) -> None:
    """The replicas manage it, and the shipped roles name another Secret."""
    granted = [*yaml.safe_load_all((DEPLOY / "components" / "managed-certificate" / "rbac.yaml").read_text(encoding="utf-8"))]
    examined.apply(*granted)
    names = ("MUSTER_CERTIFICATES=managed", "MUSTER_CERTIFICATE_SECRET=other")
    examined.plane.kubectl("-n", NAMESPACE, "set", "env", f"deployment/{ACCOUNT}", *names, check=True)
    try:
        command = examined.provoked("rights-missing")
        assert command.startswith("helm template")
        examined.mend(command)
        examined.well()
    finally:
        for each in granted:
            examined.api.delete(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""))


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


def test_each_replica_is_observed_through_the_api_server(examined, tmp_path) -> None:
    """Certificate and durations are read by port-forwarding to the pods, whose addresses nothing from here reaches."""
    stale = issue.leaf(issue.authority(NOW), names_of((f"{ACCOUNT}.{NAMESPACE}.svc",)), NOW)
    own = {9443: examined.webhooks.port, 8080: examined.webhooks.probe_port}
    with tls_server(stale, tmp_path) as address, examined.as_pods(own, {9443: int(address.rpartition(":")[2])}):
        answer = examined.doctor(replica=ENDPOINTS)
        found, unchecked = (json.loads(answer.stdout)[each] for each in ("findings", "unchecked"))
    assert {each["id"] for each in found} == {"leaf-stale", "leaf-untrusted"}
    assert all("replica 192.0.2.2:9443" in each["message"] for each in found)
    (reason,) = (each["reason"] for each in unchecked if "cannot be read" in each["reason"])
    assert reason.startswith(
        "the durations of reviews cannot be read of pod replica-2: pod muster-system/replica-2 does not answer at port"
    )


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
    demand_provoked(request, {*discover()}.difference(*PROVOKED_ELSEWHERE.values()))
