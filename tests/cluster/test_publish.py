"""Each kind of write, executed on a real API server."""

from __future__ import annotations

import queue

import pytest

from apiserver.api import Api as Caller
from apiserver.connect import find_connection
from kubeapi.pods import PLACEMENT_GATE
from kubeapi.versions.api_versions import CUSTOM
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writer.dispatcher import Dispatcher
from scheduler_core.sidecar.writes import (
    AddFinalizer,
    Bind,
    Condition,
    Evict,
    EvictionMethod,
    Nominate,
    RecordEvent,
    Ref,
    Remove,
    RemoveFinalizer,
    SetCondition,
    Ungate,
    WriteOutcome,
)
from tests import builders
from tests.cluster import custom_resources
from tests.cluster.kubelet import node, pod
from tests.cluster.sidecars import kubeconfig
from tests.cluster.waiting import WAIT_SECONDS, until

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

GROUPS = "/apis/scheduling.k8s.io"
PATHS = Paths(
    {
        "Pod": "/api/v1/pods",
        "PodGroup": f"{GROUPS}/v1beta1/podgroups",
        "CompositePodGroup": f"{GROUPS}/v1alpha3/compositepodgroups",
        f"PodGroup.{CUSTOM}": f"/apis/{custom_resources.VERSION}/podgroups",
        f"CompositePodGroup.{CUSTOM}": f"/apis/{custom_resources.VERSION}/compositepodgroups",
    }
)


def ref(thing):
    metadata = thing["metadata"]
    group = CUSTOM if thing["apiVersion"] == custom_resources.VERSION else ""
    return Ref(thing["kind"], metadata["namespace"], metadata["name"], metadata["uid"], group)


def group(name, namespace, kind="PodGroup", **spec):
    version = "v1beta1" if kind == "PodGroup" else "v1alpha3"
    return builders.manifest(f"scheduling.k8s.io/{version}", kind, name, {"schedulingPolicy": {"basic": {}}, **spec}, namespace=namespace)


class Writing:
    """A publisher, and what it told of each write."""

    def __init__(self, kubeconfig, leads=lambda: 100.0):
        self.told = queue.Queue()
        self.publisher = Dispatcher(
            Caller(find_connection(str(kubeconfig)), "muster-sidecar"),
            PATHS,
            lambda *result: self.told.put(result),
            remaining=leads,
            term=lambda: 1,
            recorder=EventRecorder("muster.dev/sidecar", "test"),
        )

    def outcomes(self, count):
        result = [self.told.get(timeout=WAIT_SECONDS) for _ in range(count)]
        return {(type(write).__name__, write.pod.name if hasattr(write, "pod") else write.target.name): what for write, what, _ in result}

    def submit(self, *writes):
        self.publisher.submit(writes)
        return set(self.outcomes(len(writes)).values())


@pytest.fixture
def writing(plane):
    """With the sidecar's rights, and no more."""
    result = Writing(kubeconfig(plane))
    result.publisher.start(4)
    yield result
    result.publisher.stop()


def test_a_pod_is_bound_once(writing, api, namespace, nodes):
    nodes(node("n1"), node("n2"))
    created = api.create(pod("a", namespace))

    assert {WriteOutcome.DONE} == writing.submit(Bind(ref(created), "n1"))
    assert "n1" == api.get("Pod", "a", namespace)["spec"]["nodeName"]
    assert {WriteOutcome.DONE} == writing.submit(Bind(ref(created), "n1"))
    assert {WriteOutcome.REFUSED} == writing.submit(Bind(ref(created), "n2"))


def test_a_pod_of_another_uid_is_left_alone(writing, api, namespace, nodes):
    nodes(node("n1"))
    old = ref(api.create(pod("a", namespace)))
    api.delete("Pod", "a", namespace, gracePeriodSeconds=0)
    assert {WriteOutcome.GONE} == writing.submit(Bind(old, "n1"))
    api.create(pod("a", namespace))

    for write in (
        Bind(old, "n1"),
        Nominate(old, "n1"),
        Remove(old, "undone"),
        Evict(old, "make room"),
        SetCondition(old, Condition("X", "True", "Y", "")),
        Ungate(old, "n1", "n1"),
    ):
        assert {WriteOutcome.GONE} == writing.submit(write), write
    remaining = api.get("Pod", "a", namespace)
    assert (None, None) == (remaining["spec"].get("nodeName"), remaining["metadata"].get("deletionTimestamp"))
    assert [] == [each["type"] for each in remaining["status"].get("conditions") or []]


def test_a_nomination_is_set_and_cleared(writing, api, namespace, nodes):
    nodes(node("n1"))
    target = ref(api.create(pod("a", namespace)))

    assert {WriteOutcome.DONE} == writing.submit(Nominate(target, "n1"))
    assert "n1" == api.get("Pod", "a", namespace)["status"]["nominatedNodeName"]
    assert {WriteOutcome.DONE} == writing.submit(Nominate(target, ""))
    assert "nominatedNodeName" not in api.get("Pod", "a", namespace)["status"]


@pytest.mark.parametrize("kind", ["PodGroup", "CompositePodGroup"])
def test_a_condition_is_next_to_others_and_can_be_taken_away(writing, api, namespace, kind):
    spec = {} if kind == "PodGroup" else {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    created = api.create(group("g", namespace, kind, **spec))
    target = ref(created)

    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, Condition("A", "True", "Fine", "yes")))
    since = "2026-01-01T00:00:00Z"
    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, Condition("B", "False", "Bad", "no", since)))
    result = {each["type"]: each for each in api.get(kind, "g", namespace)["status"]["conditions"]}
    assert ({"A", "B"}, since) == (set(result), result["B"]["lastTransitionTime"])
    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, Condition("A", "", "", "")))
    assert ["B"] == [each["type"] for each in api.get(kind, "g", namespace)["status"]["conditions"]]


def test_the_scheduled_condition_is_never_removed_whoever_wrote_it(writing, api, namespace):
    kind = "PodGroupInitiallyScheduled"
    target = ref(api.create(group("g", namespace)))
    reported, invalid = Condition(kind, "False", "Invalid", "the tree is invalid"), Condition(kind, "False", "Invalid", "in another way")

    def stands():
        return [(each["status"], each["message"]) for each in api.get("PodGroup", "g", namespace)["status"].get("conditions") or ()]

    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, reported))
    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, invalid))
    assert [("False", "in another way")] == stands()
    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, Condition(kind, "", "", "")))
    assert [] == stands()
    assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, Condition(kind, "True", "Scheduled", "")))
    for late in (reported, Condition(kind, "", "", "")):
        assert {WriteOutcome.DONE} == writing.submit(SetCondition(target, late))
    assert [("True", "")] == stands()


def test_the_longest_message_is_reported_as_an_event(writing, api, namespace):
    target = ref(api.create(group("g", namespace)))
    writing.publisher.submit([RecordEvent(target, "Warning", "FailedScheduling", "x" * 1023 + "…")])
    until(lambda: api.objects("Event", namespace))

    assert ["x" * 1023] == [each["message"] for each in api.objects("Event", namespace)]


def test_a_gated_pod_is_pinned_annotated_and_ungated_in_one_write(writing, api, namespace, nodes):
    nodes(node("n1"))
    gates = [{"name": PLACEMENT_GATE}, {"name": "example.com/other"}]
    target = ref(api.create(pod("a", namespace, spec={"schedulingGates": gates, "nodeSelector": {"x": "y"}})))

    assert {WriteOutcome.DONE} == writing.submit(Ungate(target, "n1", "n1"))
    result = api.get("Pod", "a", namespace)
    assert [{"name": "example.com/other"}] == result["spec"]["schedulingGates"]
    assert {"x": "y", "kubernetes.io/hostname": "n1"} == result["spec"]["nodeSelector"]
    assert "n1" == result["metadata"]["annotations"][PLACEMENT_GATE]
    assert {WriteOutcome.DONE} == writing.submit(Ungate(target, "n1", "n1"))


def test_the_last_gate_is_removed(writing, api, namespace, nodes):
    nodes(node("n1"))
    target = ref(api.create(pod("a", namespace, spec={"schedulingGates": [{"name": PLACEMENT_GATE}]})))

    assert {WriteOutcome.DONE} == writing.submit(Ungate(target, "n1", "n1"))
    assert not api.get("Pod", "a", namespace)["spec"].get("schedulingGates")


def running(api, namespace, name, labels=None):
    """A pod that a kubelet would have to end: it stays, being deleted, until it is finished off."""
    api.create(pod(name, namespace, labels=labels or {}))
    api.bind(name, namespace, "n1")
    return ref(api.set_status("Pod", name, namespace, status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))


@pytest.mark.parametrize("by", list(EvictionMethod))
def test_a_victim_says_why_it_leaves(writing, api, namespace, nodes, by):
    nodes(node("n1"))
    target = running(api, namespace, "a")

    assert {WriteOutcome.DONE} == writing.submit(Evict(target, "room for default/train", by))
    result = api.get("Pod", "a", namespace)
    why = {each["type"]: each for each in result["status"]["conditions"]}["DisruptionTarget"]
    assert result["metadata"]["deletionTimestamp"]
    assert ("True", "PreemptionByScheduler", "room for default/train") == (why["status"], why["reason"], why["message"])


def budget(name, namespace, app):
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def test_a_dry_run_reports_what_a_budget_forbids_and_evicts_no_pod(writing, api, namespace, nodes):
    nodes(node("n1"))
    api.create(budget("keep", namespace, "kept"))
    retained, other = running(api, namespace, "kept", {"app": "kept"}), running(api, namespace, "other")
    answers = queue.Queue()
    writing.publisher.dry_run_evictions([Evict(other, "x"), Evict(retained, "x")], lambda *result: answers.put(result))
    refused, why = answers.get(timeout=WAIT_SECONDS)

    assert "kept" == refused.pod.name
    assert "disruption budget" in why
    writing.publisher.dry_run_evictions([Evict(other, "x")], lambda *result: answers.put(result))
    assert (None, "") == answers.get(timeout=WAIT_SECONDS)
    for name in ("kept", "other"):
        leftover = api.get("Pod", name, namespace)
        assert "deletionTimestamp" not in leftover["metadata"]
        assert ["Ready"] == [each["type"] for each in leftover["status"]["conditions"]]
    assert {WriteOutcome.REFUSED} == writing.submit(Evict(retained, "x"))
    api.delete("PodDisruptionBudget", "keep", namespace)


def test_finalizers_are_added_to_what_lives_and_removed_from_what_leaves(writing, api, namespace):
    spec = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    target = ref(api.create(group("g", namespace, "CompositePodGroup", **spec)))
    ours, other = "scheduling.k8s.io/compositepodgroup-protection", "example.com/other"

    assert {WriteOutcome.DONE} == writing.submit(AddFinalizer(target, ours), AddFinalizer(target, other))
    assert {WriteOutcome.DONE} == writing.submit(RemoveFinalizer(target, ours))
    assert {ours, other} == set(api.get("CompositePodGroup", "g", namespace)["metadata"]["finalizers"])
    api.delete("CompositePodGroup", "g", namespace)
    assert {WriteOutcome.DONE} == writing.submit(AddFinalizer(target, "example.com/late"), RemoveFinalizer(target, ours))
    assert [other] == api.get("CompositePodGroup", "g", namespace)["metadata"]["finalizers"]
    assert {WriteOutcome.DONE} == writing.submit(RemoveFinalizer(target, other))
    assert not api.exists("CompositePodGroup", "g", namespace)
    assert {WriteOutcome.GONE} == writing.submit(RemoveFinalizer(target, other))


def test_an_event_that_comes_again_is_counted(writing, api, namespace):
    target = ref(api.create(group("g", namespace)))
    report = RecordEvent(target, "Warning", "FailedScheduling", "no room")
    writing.publisher.submit([report, report, report])

    def events():
        result = [each for each in api.objects("Event", namespace) if each["involvedObject"]["name"] == "g"]
        return [(each["reason"], each["message"], (each.get("series") or {}).get("count", 1)) for each in result]

    # Events are not told of.
    until(lambda: 3 in {count for *_, count in events()})
    assert [("FailedScheduling", "no room", 3)] == events()


def test_who_does_not_lead_writes_nothing(plane, api, namespace, nodes):
    nodes(node("n1"))
    created = api.create(pod("a", namespace))
    writing = Writing(plane.kubeconfig, lambda: 0.0)
    writing.publisher.start(1)
    try:
        assert {WriteOutcome.DROPPED} == writing.submit(Bind(ref(created), "n1"))
    finally:
        writing.publisher.stop()
    assert 0 == writing.publisher.requests
    assert "nodeName" not in api.get("Pod", "a", namespace)["spec"]
