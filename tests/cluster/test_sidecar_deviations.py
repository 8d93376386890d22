"""Pods that the sidecar has opened, and that the real kube-scheduler does not bind as planned: reported, and by option undone as a gang."""

from __future__ import annotations

import contextlib

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import custom_plane
from tests.cluster.groups import LABEL, pod_group
from tests.cluster.kubelet import Kubelet, node, pod
from tests.cluster.options import Options
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_crash import doomed, moments
from tests.cluster.test_sidecar_place import GATE, bound, events_of, scheduled
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", sampled="custom")

MODE = ("--mode", "ungate,validate", "--lease", "none")
REPORT = (*MODE, "--deviation-after", "8")
UNDO = (*REPORT, "--deviations", "undo")
HOST = "kubernetes.io/hostname"
SIZE = 2
POINTS = range(1, 10)
"""Gates, conditions of the group, and for each pod a condition and its deletion."""


@pytest.fixture(scope="module")
def plane(programs, custom):
    """One of its own, with the controller of ReplicaSets; kube-scheduler is started by the tests."""
    with custom_plane(programs) if custom else ControlPlane(Options(), programs) as started:
        started.start_controllers(("replicaset-controller",))
        yield started


@contextlib.contextmanager
def kube_scheduler(plane):
    plane.start_scheduler()
    try:
        yield
    finally:
        plane.scheduler.stop()


@pytest.fixture
def racks(nodes):
    """Two racks of two nodes, each with room for one pod of a gang."""
    nodes(*(node(f"{rack}-{number}", {LABEL: rack}, cpu=4) for rack in "ab" for number in range(SIZE)))


def gang(api, namespace):
    """A gang with gated pods that a ReplicaSet creates, and creates again."""
    api.create(pod_group("g", namespace, minimum=SIZE, key=LABEL))
    template = pod("", namespace, group="g", spec={"schedulingGates": [{"name": GATE}]}, labels={"app": "g"}, cpu=3)
    created = api.create(template | {"metadata": {**template["metadata"], "name": "template"}}, dryRun="All")
    kept = ("containers", "schedulingGates", "schedulingGroup")
    spec = {key: created["spec"][key] for key in kept if key in created["spec"]}
    labels = created["metadata"]["labels"]
    selector = {"matchLabels": {"app": "g"}}
    api.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "g", "namespace": namespace},
            "spec": {"replicas": SIZE, "selector": selector, "template": {"metadata": {"labels": labels}, "spec": spec}},
        }
    )


def members(pods):
    return {name: each for name, each in pods.items() if name.startswith("g-") and not each["metadata"].get("deletionTimestamp")}


def running_members(api, namespace):
    """Return the gang's pods once all are bound: a kube-scheduler that knows the group calls it scheduled before."""

    def on_nodes(pods):
        return [each for each in members(pods).values() if each["spec"].get("nodeName")]

    return members(api.wait_all("Pod", namespace, until=lambda pods: len(on_nodes(pods)) == len(members(pods)) == SIZE))


def racks_of(pods):
    return {each["spec"]["nodeName"].partition("-")[0] for each in pods.values()}


def opened(api, namespace):
    """Return the planned nodes of the gang's pods once they are open, by name."""

    def plan(pods):
        return {name: each["metadata"].get("annotations", {}).get(GATE, "") for name, each in members(pods).items()}

    return plan(api.wait_all("Pod", namespace, until=lambda pods: len(plan(pods)) == SIZE and all(plan(pods).values())))


def fill(api, namespace, where):
    """A pod of someone else takes what was planned for the gang."""
    api.create(pod(f"taken-{where}", namespace, spec={"nodeName": where}, cpu=3))


def deviating(running, namespace):
    answer = running.explain(namespace, "g")
    return {each["plannedNode"]: each for each in answer.get("deviating", ())}


def waits(api, namespace, text):
    """Wait until the condition of the group has *text*."""
    until(lambda: text in scheduled(api, "PodGroup", "g", namespace, "False")["message"])


def count(running, deviation):
    return running.metric(f'muster_placement_deviations_total{{deviation="{deviation}"}}')


def test_capacity_that_others_take_first_is_reported_and_nothing_is_deleted(plane, api, namespace, racks, tmp_path):
    with Kubelet(api), sidecar(plane, tmp_path, *REPORT, fork=True) as running:
        gang(api, namespace)
        planned = opened(api, namespace)
        full = min(planned.values())
        fill(api, namespace, full)
        with kube_scheduler(plane):
            until(lambda: full in deviating(running, namespace))
            until(lambda: deviating(running, namespace)[full].get("message"))
            found = deviating(running, namespace)[full]
            assert "not-bound" == found["deviation"]
            assert "Insufficient cpu" in found["message"] or "didn't match" in found["message"], found
            until(lambda: "PlacementDeviated" in events_of(api, namespace, "g"))
            assert count(running, "not-bound") >= 1
            assert [each for each in running.lines if each["event"] == "deviation"]
            assert planned.keys() <= members({each["metadata"]["name"]: each for each in api.objects("Pod", namespace)}).keys()
            assert "PlacementUndone" not in events_of(api, namespace, "g")
            # What stood in the way is gone: the gang is complete, and says so.
            api.delete("Pod", f"taken-{full}", namespace, gracePeriodSeconds=0)
            scheduled(api, "PodGroup", "g", namespace)
            until(lambda: {} == deviating(running, namespace))


@pytest.mark.parametrize("cause", ["capacity", "node"])
def test_gang_is_undone_as_a_whole_and_placed_anew(plane, api, namespace, racks, tmp_path, cause):
    with Kubelet(api), sidecar(plane, tmp_path, *UNDO, fork=True) as running:
        gang(api, namespace)
        planned = opened(api, namespace)
        (rack,) = {each.partition("-")[0] for each in planned.values()}
        if cause == "capacity":
            fill(api, namespace, min(planned.values()))
        else:
            api.delete("Node", min(planned.values()))
        with kube_scheduler(plane):
            until(lambda: "PlacementUndone" in events_of(api, namespace, "g"))
            scheduled(api, "PodGroup", "g", namespace)
            assert {"a", "b"} - {rack} == racks_of(found := running_members(api, namespace))
            assert set() == found.keys() & planned.keys()
            assert count(running, "node-gone" if cause == "node" else "not-bound") >= 1


@pytest.mark.parametrize("rack", ["a", "b"])
def test_pod_on_the_twin_of_its_node_is_found(plane, api, namespace, nodes, tmp_path, custom, rack):
    """Two nodes have one label of the host name, and kube-scheduler binds to the other one; a gang in two racks is not scheduled."""
    if rack == "b" and not custom:
        pytest.skip("a kube-scheduler that knows the group keeps its rack itself")
    nodes(node("a-0", {LABEL: "a"}, cpu=4), node("a-1", {LABEL: "a"}, cpu=4))
    with Kubelet(api), sidecar(plane, tmp_path, *REPORT, fork=True) as running:
        gang(api, namespace)
        opened(api, namespace)
        fill(api, namespace, "a-1")
        nodes(node("twin", {LABEL: rack, HOST: "a-1"}, cpu=4))
        with kube_scheduler(plane):
            until(lambda: deviating(running, namespace).get("a-1", {}).get("node") == "twin")
        assert "bound-elsewhere" == deviating(running, namespace)["a-1"]["deviation"]
        until(lambda: "PlacementDeviated" in events_of(api, namespace, "g"))
        assert 1 == count(running, "bound-elsewhere")
        if rack == "a":
            scheduled(api, "PodGroup", "g", namespace)
        else:
            waits(api, namespace, "is bound to node twin, not to a-1")


def test_gang_of_which_a_pod_is_preempted_is_undone_and_placed_anew(plane, api, namespace, racks, tmp_path, custom):
    if not custom:
        pytest.skip("a kube-scheduler that knows the group binds no part of it")
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"urgent-{namespace}"}, "value": 1000}
    api.create(priority)
    with Kubelet(api), sidecar(plane, tmp_path, *UNDO, fork=True):
        gang(api, namespace)
        rack = min(opened(api, namespace).values()).partition("-")[0]
        fill(api, namespace, f"{rack}-1")
        with kube_scheduler(plane):
            bound(api, namespace, 2)
            urgent = {"nodeSelector": {HOST: f"{rack}-0"}, "priorityClassName": f"urgent-{namespace}"}
            api.create(pod("urgent", namespace, spec=urgent, cpu=3))
            scheduled(api, "PodGroup", "g", namespace)
            assert "PlacementUndone" in events_of(api, namespace, "g")
            assert {"a", "b"} - {rack} == racks_of(running_members(api, namespace))
    api.delete("PriorityClass", f"urgent-{namespace}")


@moments(POINTS)
def test_an_undoing_is_finished_whenever_the_sidecar_dies(plane, api, namespace, racks, tmp_path, point, lose):
    """No kube-scheduler binds the pods, so that the gang is undone; in the end it is whole, in one rack."""
    with Kubelet(api):
        with doomed(plane, tmp_path, (*MODE, "--deviation-after", "1", "--deviations", "undo"), point, lose=lose):
            gang(api, namespace)
        with sidecar(plane, tmp_path, *MODE, "--deviation-after", "60", "--deviations", "undo", fork=True), kube_scheduler(plane):
            scheduled(api, "PodGroup", "g", namespace)
            found = bound(api, namespace, SIZE)
            assert 1 == len({each.partition("-")[0] for each in found.values()})
