"""The requests that writes come to: what is in them, and what must hold for the server to take them."""

from __future__ import annotations

import json

import pytest

from kubeapi.pods import PLACEMENT_GATE
from scheduler_core.model.names import HOSTNAME
from scheduler_core.sidecar.client import requests
from scheduler_core.sidecar.client.requests import JSON, MERGE_PATCH, STRATEGIC_PATCH, Paths
from scheduler_core.sidecar.writes import Bind, Condition, Evict, EvictionMethod, Nominate, Ref, Remove, SetCondition, Ungate

PATHS = Paths({"Pod": "/api/v1/pods", "PodGroup": "/apis/scheduling.k8s.io/v1beta1/podgroups"})
POD, GROUP = Ref("Pod", "a", "p", "uid-p"), Ref("PodGroup", "a", "g", "uid-g")
NOW, SINCE = "2026-08-01T00:00:00.000000Z", "2026-07-01T00:00:00Z"
CONDITION = Condition("PodGroupInitiallyScheduled", "False", "Unschedulable", "no room")


def body(request):
    return json.loads(request.body)


@pytest.mark.parametrize(
    ("ref", "path", "api_version"),
    [
        pytest.param(POD, "/api/v1/namespaces/a/pods/p", "v1", id="of the core"),
        pytest.param(GROUP, "/apis/scheduling.k8s.io/v1beta1/namespaces/a/podgroups/g", "scheduling.k8s.io/v1beta1", id="of a group"),
    ],
)
def test_an_object_is_where_its_kind_is_served(ref, path, api_version):
    assert (path, api_version) == (PATHS.object_path(ref), PATHS.api_version(ref.kind))


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("muster", "muster-sidecar", id="as it is by default"),
        pytest.param("gpu", "gpu-sidecar", id="of another scheduler"),
        pytest.param("g\tpü\n", "g-p---sidecar", id="what is not printable"),
        pytest.param("x" * 253, "x" * 120 + "-sidecar", id="longer than it may be"),
    ],
)
def test_a_sidecar_writes_as_that_of_its_scheduler(name, want):
    assert want == requests.field_manager(name)


def test_a_kind_that_is_not_served_has_no_path():
    with pytest.raises(KeyError, match="CompositePodGroup"):
        PATHS.object_path(Ref("CompositePodGroup", "a", "c"))


def test_a_kind_that_comes_to_be_served_has_one():
    collections = {}
    paths = Paths(collections)
    collections["Pod"] = "/api/v1/pods"

    assert "/api/v1/namespaces/a/pods/p" == paths.object_path(POD)


def test_a_bind_is_of_one_pod_alone():
    request = requests.bind(Bind(POD, "n1"), PATHS)

    assert ("POST", "/api/v1/namespaces/a/pods/p/binding", JSON) == (request.method, request.path, request.content_type)
    assert {"name": "p", "namespace": "a", "uid": "uid-p"} == body(request)["metadata"]
    assert {"apiVersion": "v1", "kind": "Node", "name": "n1"} == body(request)["target"]


def gated(*gates, version="7"):
    return {"metadata": {"resourceVersion": version, "uid": "uid-p"}, "spec": {"schedulingGates": [{"name": each} for each in gates]}}


@pytest.mark.parametrize(
    ("gates", "left"),
    [
        pytest.param([PLACEMENT_GATE], None, id="ours alone"),
        pytest.param([PLACEMENT_GATE, "x"], [{"name": "x"}], id="ours and another"),
        pytest.param(["x", PLACEMENT_GATE, "y"], [{"name": "x"}, {"name": "y"}], id="ours between others"),
    ],
)
def test_a_gated_pod_with_the_right_uid_is_pinned_and_ungated_in_one_request(gates, left):
    request = requests.ungate(Ungate(POD, "n1", "host-1"), gated(*gates), PATHS)

    assert ("PATCH", "/api/v1/namespaces/a/pods/p", MERGE_PATCH) == (request.method, request.path, request.content_type)
    want = {
        "metadata": {"uid": "uid-p", "resourceVersion": "7", "annotations": {PLACEMENT_GATE: "n1"}},
        "spec": {"nodeSelector": {HOSTNAME: "host-1"}, "schedulingGates": left},
    }
    assert want == body(request)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gated(), id="no gates"),
        pytest.param(gated("x"), id="those of others"),
        pytest.param({"metadata": {}, "spec": {"schedulingGates": None}}, id="null"),
        pytest.param({}, id="nothing said"),
    ],
)
def test_a_pod_without_our_gate_is_left_as_it_is(content):
    assert None is requests.ungate(Ungate(POD, "n1", "n1"), content, PATHS)


@pytest.mark.parametrize(("node", "want"), [pytest.param("n1", "n1", id="set"), pytest.param("", None, id="cleared")])
def test_a_nomination_is_a_field_of_the_status(node, want):
    request = requests.nominate(Nominate(POD, node), PATHS)

    assert ("/api/v1/namespaces/a/pods/p/status", STRATEGIC_PATCH) == (request.path, request.content_type)
    assert {"metadata": {"uid": "uid-p"}, "status": {"nominatedNodeName": want}} == body(request)


def condition_of(request):
    (found,) = body(request)["status"]["conditions"]
    return found


@pytest.mark.parametrize(
    ("since", "want"), [pytest.param("", "2026-08-01T00:00:00Z", id="now"), pytest.param(SINCE, SINCE, id="as it was")]
)
def test_a_condition_says_since_when(since, want):
    condition = Condition("T", "False", "R", "why", since)
    request = requests.set_condition(SetCondition(GROUP, condition), PATHS, NOW)

    assert {"type": "T", "status": "False", "reason": "R", "message": "why", "lastTransitionTime": want} == condition_of(request)
    assert {"uid": "uid-g"} == body(request)["metadata"]
    assert STRATEGIC_PATCH == request.content_type


def test_a_condition_without_a_status_is_taken_away_and_no_other():
    request = requests.set_condition(SetCondition(GROUP, Condition("T", "", "", "")), PATHS, NOW)

    assert {"type": "T", "$patch": "delete"} == condition_of(request)


@pytest.mark.parametrize(
    ("length", "want"), [pytest.param(32768, 32768, id="as long as it may be"), pytest.param(32769, 32768, id="longer than it may be")]
)
def test_a_message_is_cut_to_what_the_server_takes(length, want):
    request = requests.set_condition(SetCondition(GROUP, Condition("T", "False", "R", "ä" * length)), PATHS, NOW)

    assert want == len(condition_of(request)["message"])


def test_a_victim_gets_the_condition_that_kube_scheduler_writes():
    found = condition_of(requests.disruption_target(Evict(POD, "room for a/g"), PATHS, NOW))

    assert ("DisruptionTarget", "True", "PreemptionByScheduler") == (found["type"], found["status"], found["reason"])


@pytest.mark.parametrize(
    ("write", "method", "suffix", "kind"),
    [
        pytest.param(Evict(POD, ""), "POST", "/eviction", "Eviction", id="evicted"),
        pytest.param(Evict(POD, "", EvictionMethod.DELETE), "DELETE", "", "DeleteOptions", id="a victim, deleted"),
        pytest.param(Remove(POD, ""), "DELETE", "", "DeleteOptions", id="of a gang that did not come about"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_who_leaves_is_one_pod_alone(write, method, suffix, kind, dry_run):
    request = requests.evict_or_delete(write, PATHS, dry_run=dry_run)
    said = body(request)

    assert (method, f"/api/v1/namespaces/a/pods/p{suffix}", dry_run) == (request.method, request.path, request.dry_run)
    assert kind == said["kind"]
    assert {"uid": "uid-p"} == (said.get("deleteOptions") or said)["preconditions"]


@pytest.mark.parametrize("wanted", [pytest.param((), id="none left"), pytest.param(("x", "y"), id="some left")])
def test_finalizers_are_set_only_on_the_object_that_was_read(wanted):
    request = requests.finalizers(GROUP, {"metadata": {"resourceVersion": "9", "finalizers": ["x", "y", "z"]}}, wanted, PATHS)

    assert MERGE_PATCH == request.content_type
    assert {"metadata": {"uid": "uid-g", "resourceVersion": "9", "finalizers": [*wanted]}} == body(request)


def test_the_same_write_is_the_same_bytes():
    content = gated(PLACEMENT_GATE)
    other = dict(reversed(content.items()))
    write = Ungate(POD, "n1", "n1")

    assert requests.ungate(write, content, PATHS) == requests.ungate(write, other, PATHS)
    assert b'{"apiVersion"' == requests.bind(Bind(POD, "n1"), PATHS).body[:13]
