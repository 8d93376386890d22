"""Groups placed by a running sidecar on a real API server."""

from __future__ import annotations

import json

import pytest

from scheduler_core.behavior.scheduler_behavior import behavior_of
from tests.cluster.api import ApiError
from tests.cluster.groups import LABEL, SCHEDULED, composite, condition_of, pod_group
from tests.cluster.kubelet import node, pod
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")

ZONE = "topology.example/zone"
GATE = "muster.dev/placement"


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory, strategy):
    options = ("--mode", "place,ungate,validate", "--lease", "none", "--strategy", strategy)
    with sidecar(plane, tmp_path_factory.mktemp("place"), *options) as running:
        yield running


@pytest.fixture
def placing(started, api, namespace, nodes):
    in_step(api, namespace, nodes)
    return started


def racks(count, size=2, cpu=4):
    """Nodes ``r0-0`` and so on, racks of *size* nodes, two racks a zone."""
    return [
        node(f"r{rack}-{number}", {LABEL: f"r{rack}", ZONE: f"z{rack // 2}"}, cpu=cpu) for rack in range(count) for number in range(size)
    ]


def ours(name, namespace, group="", cpu=1, **spec):
    return pod(name, namespace, group=group, spec={"schedulerName": "muster", **spec}, cpu=cpu)


def in_step(api, namespace, nodes):
    """Wait until a running sidecar has seen the deletion of the last test's nodes, to which it might still bind.

    Node events arrive in order: once it uses a new node, it has processed all earlier events.
    """
    name = f"step-{namespace}"
    nodes(node(name, cpu="100m"))
    api.create(ours("step", namespace, cpu="100m", nodeSelector={"kubernetes.io/hostname": name}))
    bound(api, namespace, 1)
    api.delete("Pod", "step", namespace, gracePeriodSeconds=0)
    api.delete("Node", name)


def places(api, namespace):
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in api.objects("Pod", namespace)}


def bound(api, namespace, count):
    """Return the nodes of the pods once *count* are bound."""
    result = api.wait_all("Pod", namespace, until=lambda pods: sum(bool(each["spec"].get("nodeName")) for each in pods.values()) == count)
    return {name: each["spec"].get("nodeName", "") for name, each in result.items()}


def scheduled(api, kind, name, namespace, status="True"):
    result = api.wait(kind, name, namespace, until=lambda result: condition_of(result, SCHEDULED[kind]).get("status") == status)
    return condition_of(result, SCHEDULED[kind])


def unschedulable(api, namespace, count):
    """Return the messages of the pods with PodScheduled=False, reason Unschedulable, once *count* have it."""

    def messages(pods):
        conditions = {name: condition_of(each, "PodScheduled") for name, each in pods.items()}
        wanted = ("False", "Unschedulable")
        return {name: each["message"] for name, each in conditions.items() if (each.get("status"), each.get("reason")) == wanted}

    return messages(api.wait_all("Pod", namespace, until=lambda pods: len(messages(pods)) == count))


def events_of(api, namespace, name):
    """The reasons of the events of what has this name."""
    return {each["reason"] for each in api.objects("Event", namespace) if each["involvedObject"]["name"] == name}


def test_a_gang_is_bound_in_one_rack_and_its_group_says_so(placing, api, namespace, nodes):
    nodes(*racks(2))
    api.create(pod_group("train", namespace, minimum=4, key=LABEL))
    api.create_all([ours(f"p{number}", namespace, "train", cpu=2) for number in range(4)])
    result = bound(api, namespace, 4)

    assert 1 == len({each.partition("-")[0] for each in result.values()})
    assert "Scheduled" == scheduled(api, "PodGroup", "train", namespace)["reason"]
    until(lambda: "Scheduled" in events_of(api, namespace, "train"))
    explanation = placing.explain(namespace, "train")
    assert ("Success", 4) == (explanation["status"], len(explanation["assignments"]))


def test_a_tree_is_bound_whole_zone_by_rack(placing, api, namespace, nodes):
    nodes(*racks(4))
    api.create(composite("top", namespace, minimum=2, key=ZONE))
    for leaf in ("a", "b"):
        api.create(pod_group(leaf, namespace, minimum=4, key=LABEL, parent="top"))
        api.create_all([ours(f"{leaf}{number}", namespace, leaf, cpu=2) for number in range(4)])
    result = bound(api, namespace, 8)
    rack = {leaf: {result[f"{leaf}{number}"].partition("-")[0] for number in range(4)} for leaf in "ab"}

    assert all(len(each) == 1 for each in rack.values())
    assert rack["a"] != rack["b"]
    assert 1 == len({int(next(iter(each))[1:]) // 2 for each in rack.values()})
    for kind, name in (("PodGroup", "a"), ("PodGroup", "b"), ("CompositePodGroup", "top")):
        scheduled(api, kind, name, namespace)


def test_optional_pods_leave_room_for_a_sibling(placing, strategy, api, namespace, nodes):
    """As kube-scheduler, greedy places group after group: the optional pods of the first take what the second needs (KEP-6012)."""
    nodes(*racks(1, size=1))
    api.create(composite("top", namespace, minimum=2))
    for leaf, count in (("a", 4), ("b", 1)):
        api.create(pod_group(leaf, namespace, minimum=1, parent="top"))
        api.create_all([ours(f"{leaf}{number}", namespace, leaf) for number in range(count)])
    if strategy == "greedy":
        assert "Unschedulable" == scheduled(api, "CompositePodGroup", "top", namespace, "False")["reason"]
        assert {""} == set(places(api, namespace).values())
        return
    result = bound(api, namespace, 4)
    assert result["b0"]
    for kind, name in (("PodGroup", "a"), ("PodGroup", "b"), ("CompositePodGroup", "top")):
        scheduled(api, kind, name, namespace)


def test_a_gang_without_capacity_gets_a_reason_and_placed_when_there_is(placing, api, namespace, nodes):
    nodes(*racks(1, size=1))
    api.create(pod_group("train", namespace, minimum=2, key=LABEL))
    api.create_all([ours(f"p{number}", namespace, "train", cpu=4) for number in range(2)])
    why = scheduled(api, "PodGroup", "train", namespace, "False")
    assert "Unschedulable" == why["reason"]
    assert {"p0": "", "p1": ""} == places(api, namespace)
    until(lambda: "FailedScheduling" in events_of(api, namespace, "train"))
    # A cluster autoscaler adds nodes for such pods.
    messages = unschedulable(api, namespace, 2)
    assert ({"p0", "p1"}, True) == (messages.keys(), all(messages.values()))

    nodes(node("more", {LABEL: "r0"}, cpu=4))
    assert {"r0-0", "more"} == set(bound(api, namespace, 2).values())
    scheduled(api, "PodGroup", "train", namespace)


def test_a_gang_that_is_not_complete_waits(placing, api, namespace, nodes):
    nodes(*racks(1))
    api.create(pod_group("train", namespace, minimum=2))
    api.create(ours("p0", namespace, "train"))
    api.create(ours("alone", namespace))
    bound(api, namespace, 1)
    assert "" == places(api, namespace)["p0"]

    api.create(ours("p1", namespace, "train"))
    bound(api, namespace, 3)


def test_pods_of_other_schedulers_are_left_alone_and_count(placing, api, namespace, nodes):
    nodes(*racks(1, size=1))
    api.create(pod("other", namespace, cpu=3))
    api.bind("other", namespace, "r0-0")
    api.create(pod("pending", namespace, cpu=1))
    api.create(ours("big", namespace, cpu=2))
    api.create(ours("small", namespace, cpu=1))
    result = bound(api, namespace, 2)

    assert {"other": "r0-0", "small": "r0-0", "pending": "", "big": ""} == result


def test_an_extra_pod_of_a_placed_gang_goes_to_its_rack(placing, api, namespace, nodes):
    nodes(*racks(2))
    api.create(pod_group("train", namespace, minimum=2, key=LABEL))
    api.create_all([ours(f"p{number}", namespace, "train") for number in range(2)])
    before = bound(api, namespace, 2)
    scheduled(api, "PodGroup", "train", namespace)
    api.create(ours("later", namespace, "train"))
    after = bound(api, namespace, 3)

    assert before["p0"].partition("-")[0] == after["later"].partition("-")[0]


def test_gated_pods_are_pinned_and_opened_and_bound_by_kube_scheduler(placing, plane, api, namespace, nodes):
    nodes(*racks(2))
    plane.start_scheduler()
    try:
        api.create(pod_group("train", namespace, minimum=3, key=LABEL))
        gated = {"schedulingGates": [{"name": GATE}]}
        api.create_all([pod(f"p{number}", namespace, group="train", spec=gated, cpu=2) for number in range(3)])
        result = bound(api, namespace, 3)
    finally:
        plane.scheduler.stop()

    assert 1 == len({each.partition("-")[0] for each in result.values()})
    for each in api.objects("Pod", namespace):
        assert each["metadata"]["annotations"][GATE] == each["spec"]["nodeName"]


def marked(manifest, node):
    manifest["metadata"]["annotations"] = {GATE: node}
    return manifest


def refused(ask):
    """Return true if the API server refuses it for the mark: a policy takes effect some time after its creation."""
    try:
        ask()
    except ApiError as error:
        return GATE in str(error)
    return False


def test_only_the_sidecar_may_mark_a_pod(placing, api, namespace, nodes):
    """Whoever else could would take a node's room with a pod that is never bound."""
    nodes(*racks(1))
    there = {"nodeSelector": {"kubernetes.io/hostname": "r0-0"}}
    until(lambda: refused(lambda: api.create(marked(pod("a", namespace, spec=there), "r0-0"))))
    api.delete("Pod", "a", namespace, gracePeriodSeconds=0)
    api.create(pod("b", namespace))
    change = {"metadata": {"annotations": {GATE: "r0-0"}}}
    assert refused(lambda: api.patch("Pod", "b", namespace, body=change))
    assert refused(lambda: api.patch("Pod", "b", namespace, body=change, subresource="status"))
    api.patch("Pod", "b", namespace, body={"metadata": {"annotations": {"example.com/other": "x"}}})

    api.create(pod("gated", namespace, spec={"schedulingGates": [{"name": GATE}]}))
    api.wait("Pod", "gated", namespace, until=lambda result: GATE in (result["metadata"].get("annotations") or {}))
    assert refused(lambda: api.patch("Pod", "gated", namespace, body={"metadata": {"annotations": {GATE: None}}}))
    api.set_status("Pod", "gated", namespace, status={"phase": "Pending", "message": "others go on writing of it"})


def test_what_is_not_a_root_has_no_explanation(placing):
    code, text = placing.get("/explain/nowhere/nothing")

    assert 404 == code
    assert "nowhere/nothing" in json.loads(text)["error"]


def test_probes_and_figures(placing, api, namespace, nodes):
    attempts = 'muster_schedule_attempts_total{profile="muster",result="scheduled"}'
    before = placing.metric(attempts)
    nodes(*racks(1))
    api.create(ours("p", namespace))
    bound(api, namespace, 1)

    assert (200, "ok\n") == placing.get("/healthz")
    assert (200, "ok\n") == placing.get("/readyz")
    assert 1 == placing.metric("muster_leader")
    # Counted when the bind is on its way, which may be a moment before or after it is there.
    until(lambda: before + 1 <= placing.metric(attempts))


def test_placements_are_counted(placing, plane, api, namespace, nodes):
    entity = 'entity="podgroup",' if behavior_of(plane.programs.minor()).counts_composites_apart else ""
    feasible, total = f'muster_placement_evaluations_total{{{entity}profile="muster",result="feasible"}}', "muster_placement_total"
    # With a pod on each it is known that the sidecar has heard of all nodes: they come by another watch than pods.
    there = [each["metadata"]["name"] for each in nodes(*racks(3))]
    api.create_all([ours(f"on-{name}", namespace, nodeSelector={"kubernetes.io/hostname": name}) for name in there])
    bound(api, namespace, len(there))
    before = {name: placing.metric(name) for name in (feasible, total)}
    api.create(pod_group("g", namespace, minimum=1, key=LABEL))
    api.create(ours("p", namespace, "g"))
    bound(api, namespace, len(there) + 1)

    assert before[feasible] + 3 <= placing.metric(feasible)
    assert before[total] + 3 <= placing.metric(total)
