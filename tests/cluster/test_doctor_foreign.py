"""Webhooks of other programs as ``muster doctor --cluster`` sees them: which requests a real API server refuses, and each finding, mended."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
from collections.abc import Iterator

import pytest

from certs import issue
from muster.doctor.entries import Entry
from muster.doctor.requests import Matched, Place, Request
from muster.doctor.world import Item
from tests.cluster.api import ApiError
from tests.cluster.doctor_installation import DAY, NOW, PROVOKED_ELSEWHERE, demand_provoked
from tests.cluster.installed import NAMESPACE as MUSTER
from tests.cluster.installed import pod_group
from tests.cluster.kubelet import pod
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until
from tests.muster.doctor import foreign_examples as examples
from tests.muster.doctor.foreign_examples import (
    CONFIGURATION,
    EVERYTHING,
    GROUPS,
    LEASES,
    NAMESPACE,
    NODES,
    OPTED_IN,
    PODS,
    POLICY,
    SPAM,
    but,
    url,
    webhook,
    when,
)

KIND, MUTATING = CONFIGURATION[0], examples.MUTATING
CA = issue.authority(NOW)
CANARIES = itertools.count()
NOWHERE = url("https://127.0.0.1:1/validate")


def configuration(*webhooks: Manifest, kind: str = KIND) -> Manifest:
    content = [{**each, "admissionReviewVersions": ["v1"]} for each in webhooks]
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": POLICY}, "webhooks": content}


def bundle(*authorities, extra=b""):
    """Return the client of the Service with the CAs that are valid now, unless others are given."""
    content = b"".join(each.certificate for each in authorities or ([] if extra else [CA])) + extra
    return {"clientConfig": {"service": webhook()["clientConfig"]["service"], "caBundle": base64.b64encode(content).decode()}}


def without_bundle():
    return {"clientConfig": {"service": webhook()["clientConfig"]["service"]}}


@pytest.fixture(scope="module")
def server(examined_plane) -> Iterator[list[Manifest]]:
    """Create the server of the webhooks: Namespace, Service, Deployment and a ready endpoint."""
    objects = [each for each in examples.server() if each["metadata"]["name"] != "kube-system"]
    api = examined_plane.api
    for each in objects:
        if each["kind"] == "Deployment":
            each["spec"]["selector"] = {"matchLabels": each["spec"]["template"]["metadata"]["labels"]}
        if each["kind"] == "EndpointSlice":
            each["addressType"] = "IPv4"
        api.create(each)
    yield objects
    for each in reversed(objects):
        api.delete(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""))


@contextlib.contextmanager
def installed(api, manifest) -> Iterator[None]:
    api.create(manifest)
    try:
        yield
    finally:
        api.delete(manifest["kind"], POLICY)


@pytest.fixture
def foreign(examined, server) -> Iterator[object]:
    """Return a function that installs webhooks and returns the findings about them; all objects are put back after the test."""
    api = examined.api
    with contextlib.ExitStack() as stack:

        def findings(*webhooks: Manifest, kind: str = KIND) -> set[str]:
            stack.enter_context(installed(api, configuration(*webhooks, kind=kind)))
            return {*examined.findings()}

        yield findings
    for each in server:
        if each["kind"] in ("Service", "EndpointSlice"):
            api.delete(each["kind"], POLICY, NAMESPACE)
            api.create(each)


def mend(examined, check) -> None:
    """Run the commands of the findings of a check until there is none."""
    for _ in range(5):
        found = examined.findings().get(check, [])
        if not found:
            return
        examined.mend(found[0]["command"])
    raise AssertionError(f"{check} is not mended: {found}")


ONLY = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-system"]}]}
OWN = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [NAMESPACE]}]}
CASES = {
    "pods": ([webhook(PODS, **bundle())], {"foreign-blocks-all"}),
    "bindings": ([webhook(PODS | {"resources": ["*/binding"]}, **bundle())], {"foreign-blocks-all"}),
    "groups": ([webhook(GROUPS, **bundle())], {"foreign-blocks-all"}),
    "kube-system": ([webhook(PODS, namespaceSelector=ONLY, **bundle())], {"foreign-blocks-system"}),
    "leases": ([webhook(LEASES, namespaceSelector={}, timeoutSeconds=3, **bundle())], {"foreign-blocks-system"}),
    "nodes": ([webhook(NODES, **bundle())], {"foreign-blocks-system"}),
    "itself": ([webhook(PODS, namespaceSelector=OWN, **bundle())], {"foreign-self-lock"}),
    "expired": ([webhook(PODS, **bundle(issue.authority(NOW - 400 * DAY, 365)))], {"foreign-ca", "foreign-blocks-all"}),
    "not valid yet": ([webhook(PODS, **bundle(issue.authority(NOW + 2 * DAY)))], {"foreign-ca", "foreign-blocks-all"}),
    "no PEM": ([webhook(PODS, **bundle(extra=b"x"))], {"foreign-ca", "foreign-blocks-all"}),
    "no bundle": ([webhook(PODS, **without_bundle())], {"foreign-ca", "foreign-blocks-all"}),
    "slow": ([webhook(PODS, timeoutSeconds=30, failurePolicy="Ignore", **bundle())], {"foreign-timeout"}),
    "slow leases": ([webhook(LEASES, namespaceSelector={}, timeoutSeconds=10, failurePolicy="Ignore", **bundle())], {"foreign-timeout"}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_webhook_is_mended(examined, foreign, case) -> None:
    webhooks, checks = CASES[case]
    assert foreign(*webhooks) == checks
    for check in checks:
        mend(examined, check)
    examined.well()


def test_timeouts_that_add_up(examined, foreign) -> None:
    slow = [webhook(PODS, name=f"w{number}.policy.example", failurePolicy="Ignore", timeoutSeconds=10, **bundle()) for number in range(4)]
    assert foreign(*slow, kind=MUTATING) == {"timeouts-add-up"}
    mend(examined, "timeouts-add-up")
    examined.well()


def test_side_effects_that_only_older_versions_store(examined, foreign) -> None:
    """The API refuses a new one, so it is written into etcd, as an upgrade of the cluster leaves it."""
    assert foreign(webhook(PODS, failurePolicy="Ignore", **bundle())) == set()
    stored = examined.api.get(KIND, POLICY)
    stored["webhooks"][0]["sideEffects"] = "Unknown"
    examined.plane.put(f"/registry/{KIND.lower()}s/{POLICY}", json.dumps(stored).encode())
    until(lambda: {*examined.findings()} == {"foreign-dry-run"}, told=lambda: str(examined.findings()))
    with pytest.raises(ApiError, match="does not support dry run"):
        examined.api.create(pod("x", "default"), dryRun="All")
    examined.mend(examined.provoked("foreign-dry-run"))


@pytest.mark.parametrize("missing", ["Service", "EndpointSlice", "port"])
def test_a_server_that_is_not_reached(examined, foreign, missing) -> None:
    if missing == "port":
        examined.api.patch("Service", POLICY, NAMESPACE, body=[{"op": "replace", "path": "/spec/ports/0/port", "value": 8443}], how="json")
    else:
        examined.api.delete(missing, POLICY, NAMESPACE)
    assert foreign(webhook(PODS, **bundle())) == {"foreign-unreachable", "foreign-blocks-all"}
    with pytest.raises(ApiError, match=r"failed calling webhook \"pods.policy.example\""):
        until_called(examined.api)
    command = examined.findings()["foreign-unreachable"][0]["command"]
    if missing == "EndpointSlice":
        assert f"-n {NAMESPACE} describe replicasets,pods --selector=app={POLICY}" in command
        examined.mend(command)
    else:
        mend(examined, "foreign-unreachable")
    mend(examined, "foreign-blocks-all")


def until_called(api) -> None:
    """Create pods in a dry run until one is refused."""
    until(lambda: not api.create(pod("x", "default"), dryRun="All"), told=lambda: "the API server does not call the webhook")


def refused(api) -> str:
    """Return why a pod is refused; empty if it is not."""
    try:
        api.create(pod("x", "default"), dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


POLICIES = {
    "freeze": ("!(request.operation in ['CREATE', 'UPDATE'])", "denied request: failed expression"),
    "type error": ("object.spec.nodeNames == 'x'", "no such key: nodeNames"),
}


@pytest.mark.parametrize("case", POLICIES)
def test_an_admission_policy_that_refuses(examined, case) -> None:
    api = examined.api
    expression, refusal = POLICIES[case]
    objects = examples.policy_objects(expression, rules=(PODS,), bound={"namespaceSelector": examples.EXEMPT})
    try:
        api.create_all(objects)
        if case == "type error":
            # As kube-controller-manager does, which is not running.
            api.set_status(objects[0]["kind"], POLICY, status=TYPE_ERROR)
        with pytest.raises(ApiError, match=refusal):
            until_called(api)
        examined.mend(examined.provoked("policy-refuses"))
        examined.well()
        until(lambda: not refused(api), told=lambda: refused(api))
    finally:
        for each in objects:
            api.delete(each["kind"], POLICY)


TYPE_ERROR = {
    "typeChecking": {"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": "undefined field 'nodeNames'"}]}
}
BINDING = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
LABELLED = pod("labelled", "default")
LABELLED["metadata"]["labels"] = {"policy": "on"}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
REQUESTS = {
    "pods in default": (Request("", "pods", "CREATE"), "default", "/api/v1/namespaces/default/pods", pod("p", "default"), {}),
    "pods with a label": (Request("", "pods", "CREATE"), "default", "/api/v1/namespaces/default/pods", LABELLED, {"policy": "on"}),
    "pods in kube-system": (
        Request("", "pods", "CREATE"),
        "kube-system",
        "/api/v1/namespaces/kube-system/pods",
        pod("p", "kube-system"),
        {},
    ),
    "bindings": (Request("", "pods/binding", "CREATE"), "default", "/api/v1/namespaces/default/pods/p/binding", BINDING, {}),
    "leases": (
        Request("coordination.k8s.io", "leases", "CREATE"),
        "kube-system",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
        LEASE,
        {},
    ),
    "groups": (
        Request("scheduling.k8s.io", "podgroups", "CREATE", versions=("v1beta1", "v1alpha3")),
        # Muster's own webhooks, which are called first, are not called there.
        "kube-system",
        "/apis/scheduling.k8s.io/v1beta1/namespaces/kube-system/podgroups",
        pod_group("p", "kube-system"),
        {},
    ),
    "nodes": (Request("", "nodes", "CREATE", namespaced=False), "", "/api/v1/nodes", NODE, {}),
    "subject access reviews": (
        Request("authorization.k8s.io", "subjectaccessreviews", "CREATE", namespaced=False),
        "",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": "x", "nonResourceAttributes": {"path": "/", "verb": "get"}},
        },
        {},
    ),
}
EQUIVALENT = GROUPS | {"apiVersions": ["v1alpha3"]}
WEBHOOKS = {
    "everything": webhook(EVERYTHING, namespaceSelector={}),
    "no subresource": webhook(SPAM, namespaceSelector={}),
    "pods": webhook(PODS, namespaceSelector={}),
    "pods but kube-system": webhook(PODS, namespaceSelector=but("kube-system")),
    "opted in": webhook(EVERYTHING, namespaceSelector=OPTED_IN),
    "objects opted in": webhook(EVERYTHING, namespaceSelector={}, objectSelector=OPTED_IN),
    "objects opted out": webhook(
        EVERYTHING, namespaceSelector={}, objectSelector={"matchExpressions": [{"key": "policy", "operator": "DoesNotExist"}]}
    ),
    "all bindings": webhook(PODS | {"resources": ["*/binding"]}, namespaceSelector={}),
    "subresources of pods": webhook(PODS | {"resources": ["pods/*"]}, namespaceSelector={}),
    "of the cluster": webhook(EVERYTHING | {"scope": "Cluster"}, namespaceSelector=OPTED_IN),
    "in namespaces": webhook(EVERYTHING | {"scope": "Namespaced"}, namespaceSelector={}),
    "another group": webhook(EVERYTHING | {"apiGroups": ["apps"]}, namespaceSelector={}),
    "updates": webhook(EVERYTHING | {"operations": ["UPDATE", "DELETE"]}, namespaceSelector={}),
    "equivalent": webhook(EQUIVALENT, namespaceSelector={}),
    "another version": webhook(EVERYTHING | {"apiVersions": ["v1alpha1"]}, namespaceSelector={}),
    "no leases": webhook(
        EVERYTHING,
        namespaceSelector={},
        matchConditions=when('!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")'),
    ),
    "conditions": webhook(
        EVERYTHING,
        namespaceSelector={},
        matchConditions=when("request.operation == 'CREATE'", "!has(request.subResource)", "!has(object.metadata.deletionTimestamp)"),
    ),
    "namespace by condition": webhook(
        EVERYTHING, namespaceSelector={}, matchConditions=when("request.?namespace.orValue('') != 'kube-system'")
    ),
}


def test_the_same_requests_as_those_that_the_api_server_refuses(examined, nodes, server) -> None:
    """No server answers at the address of the webhooks: each request that they match is refused."""
    api = examined.api
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in api.objects("Namespace")}
    api.create(pod("p", "default"))
    try:
        for name, content in WEBHOOKS.items():
            but_canaries = when("request.resource.resource != 'configmaps'")[0] | {"name": "canary"}
            called = {**content, **NOWHERE, "matchConditions": [*content.get("matchConditions", ()), but_canaries]}
            with installed(api, configuration(called, canary := canary_webhook())):
                until(lambda each=canary: refusing(api, "/api/v1/namespaces/default/configmaps", CONFIG_MAP) == each["name"])
                for title, (request, namespace, path, body, object_labels) in REQUESTS.items():
                    matched = Entry(Item({}), 0, called).matched(request, Place(namespace, labels.get(namespace, {})), object_labels)
                    exempt = title == "subject access reviews" and examined.plane.programs.minor() >= 37
                    expected = "" if exempt else {Matched.YES: called["name"], Matched.NO: ""}[matched]
                    assert refusing(api, path, body) == expected, f"{title}, {name}"
    finally:
        api.delete("Pod", "p", "default", gracePeriodSeconds=0)


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "canary"}}


def canary_webhook() -> Manifest:
    """Return a webhook by whose calls a configuration is known to be in effect."""
    rule = {**PODS, "resources": ["configmaps"]}
    return {**webhook(rule, name=f"a{next(CANARIES)}.canary.example"), **NOWHERE}


def refusing(api, path: str, body: Manifest) -> str:
    """Return the webhook that refuses a request, of which nothing is stored; empty if it is allowed, or refused by the API server."""
    try:
        api.send("POST", path, body, query={"dryRun": "All"})
    except ApiError as error:
        text = str(error)
        return text.partition('failed calling webhook "')[2].partition('"')[0]
    return ""


def test_muster_is_not_needed_to_know_its_namespace(examined) -> None:
    """A webhook that refuses the start of Muster is found by the namespace of its Service."""
    selector = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [MUSTER]}]}
    with installed(examined.api, configuration(webhook(PODS, namespaceSelector=selector, **bundle(), failurePolicy="Fail"))):
        (found,) = examined.findings()["foreign-blocks-system"]
    assert f"refuses create pods in {MUSTER}, while its server is down" in found["message"]


def test_every_check_is_provoked(examined, request) -> None:
    demand_provoked(request, PROVOKED_ELSEWHERE["foreign"])
