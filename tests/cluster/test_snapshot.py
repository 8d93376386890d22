"""``muster snapshot`` of a live cluster, and what ``muster simulate`` makes of it beside what kube-scheduler does."""

from __future__ import annotations

import json

import pytest

from muster.commands.snapshot.live_cluster import PAGE
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import composite_group, muster, pod_group
from tests.cluster.kubelet import node, pod
from tests.cluster.options import Options
from tests.sampling import WHOLE

GPU = {"nvidia.com/gpu": 4}
LISTED = {
    "": [
        "nodes",
        "pods",
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "services",
        "replicationcontrollers",
        "limitranges",
        "resourcequotas",
    ],
    "apps": ["replicasets", "statefulsets"],
    "storage.k8s.io": ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"],
    "scheduling.k8s.io": ["podgroups", "compositepodgroups", "workloads", "priorityclasses"],
    "node.k8s.io": ["runtimeclasses"],
    "resource.k8s.io": ["deviceclasses", "devicetaintrules", "resourceclaims", "resourceclaimtemplates", "resourceslices"],
    "policy": ["poddisruptionbudgets"],
}
OF_EVERY_CLUSTER = ("Namespace", "Service")
"""Kinds with objects that the API server creates."""
TREE = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "spec": {
        "compositePodGroupTemplates": [
            {
                "name": "train",
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "schedulingConstraints": {"topology": [{"key": "zone"}]},
                "podGroupTemplates": [
                    {
                        "name": "stage",
                        "schedulingPolicy": {"gang": {"minCount": 2}},
                        "schedulingConstraints": {"topology": [{"key": "rack"}]},
                    }
                ],
            }
        ]
    },
}


@pytest.fixture(scope="module")
def plane(programs):
    """One of its own: a snapshot is of the whole cluster."""
    with ControlPlane(Options(), programs) as started:
        yield started


def rules(*, without=""):
    """The rules that docs/simulate.md says are needed."""
    return [
        {"apiGroups": [group], "resources": [each for each in resources if each != without], "verbs": ["list"]}
        for group, resources in LISTED.items()
    ]


@pytest.fixture
def cluster(plane, api, namespace, nodes):
    """Two zones of two racks each; the stages of a tree go to racks a and b, and in zone z2 one is too full for it."""
    names = [(zone, rack, number) for zone in ("z1", "z2") for rack in ("a", "b") for number in (1, 2)]
    nodes(
        *(
            node(f"{zone}-{rack}-{number}", {"zone": zone, "rack": f"{zone}-{rack}", "side": rack}, cpu=8, **GPU)
            for zone, rack, number in names
        )
    )
    api.create(pod("busy", namespace, cpu=1, **GPU))
    api.bind("busy", namespace, "z2-a-1")
    api.create({**TREE, "metadata": {"name": "train", "namespace": namespace}})
    zone = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}}
    api.create(composite_group("root", namespace, zone))
    for stage, side in (("s0", "a"), ("s1", "b")):
        spec = {
            "parentCompositePodGroupName": "root",
            "workloadRef": {"workloadName": "train", "templateName": "stage"},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        }
        api.create(pod_group(stage, namespace, spec))
        api.create_all(
            pod(f"{stage}-{number}", namespace, group=stage, spec={"nodeSelector": {"side": side}}, cpu=1, **GPU) for number in range(2)
        )
    return namespace


def snapshot(plane, kubeconfig=None, *options):
    return muster("snapshot", "--kubeconfig", str(kubeconfig or plane.kubeconfig), *options)


def simulated(document, tmp_path, *options):
    path = tmp_path / "cluster.json"
    path.write_text(document, encoding="utf-8")
    return muster("simulate", str(path), "--format", "json", *options)


def test_a_live_snapshot_is_that_of_the_same_objects_from_kubectl(plane, cluster, tmp_path):
    kinds = ",".join(f"{resource}.{group}".rstrip(".") for group, resources in LISTED.items() for resource in resources)
    dump = tmp_path / "dump.json"
    dump.write_text(plane.kubectl("get", kinds, "-A", "-o", "json", check=True).stdout, encoding="utf-8")

    live = snapshot(plane)

    assert (0, "") == (live.returncode, live.stderr)
    assert muster("snapshot", str(dump)).stdout == live.stdout


def test_the_rights_that_are_documented_are_enough(plane, cluster):
    done = snapshot(plane, plane.user("looks", rules()))

    assert (0, "") == (done.returncode, done.stderr)
    assert snapshot(plane).stdout == done.stdout


def test_what_must_not_be_listed_is_reported_and_the_rest_is_there(plane, cluster):
    done = snapshot(plane, plane.user("partly", rules(without="podgroups")))

    assert 2 == done.returncode
    (line,) = done.stderr.strip().splitlines()
    assert 'podgroups: cannot be listed: HTTP 403: podgroups.scheduling.k8s.io is forbidden: User "partly" cannot list resource' in line
    kinds = {each["kind"] for each in json.loads(done.stdout)["items"]}
    assert {"Node", "Pod", "CompositePodGroup", "Workload", "PriorityClass", *OF_EVERY_CLUSTER} == kinds


def test_without_the_right_to_see_nodes_there_is_no_snapshot(plane, cluster):
    done = snapshot(plane, plane.user("blind", rules(without="nodes")))

    assert (2, "") == (done.returncode, done.stdout)
    assert "nodes cannot be listed: HTTP 403" in done.stderr


def test_an_api_server_that_is_away_is_one_line(plane, tmp_path):
    plane.apiserver.kill()
    try:
        done = snapshot(plane)
    finally:
        plane.start_apiserver()

    assert (2, "") == (done.returncode, done.stdout)
    assert 1 == len(done.stderr.strip().splitlines())
    assert plane.url in done.stderr


def test_a_list_of_many_pages_is_whole(plane, api, namespace):
    names = [f"p-{number:04}" for number in range(1100 if WHOLE else PAGE + 50)]
    api.create_all(pod(name, namespace) for name in names)

    result = json.loads(snapshot(plane).stdout)["items"]

    assert names == sorted(
        each["metadata"]["name"] for each in result if each["kind"] == "Pod" and each["metadata"]["namespace"] == namespace
    )


def test_kube_scheduler_does_what_was_simulated(plane, api, cluster, tmp_path, strategy):
    """There is one answer, up to which pod of a gang goes where: the tree in zone z1, each stage in its rack."""
    done = simulated(snapshot(plane).stdout, tmp_path, "--strategy", strategy)
    assert 0 == done.returncode, done.stderr
    (decision,) = json.loads(done.stdout)["decisions"]
    want = {each["name"]: each["domain"]["value"] for each in decision["groups"] if each["kind"] == "PodGroup"}
    assert {"s0": "z1-a", "s1": "z1-b"} == want

    plane.start_scheduler()
    try:
        bound = api.wait_all(
            "Pod", cluster, until=lambda pods: len(pods) == 5 and all("nodeName" in each["spec"] for each in pods.values())
        )
    finally:
        plane.scheduler.stop()

    nodes = {name: each["spec"]["nodeName"] for name, each in bound.items() if name != "busy"}
    assert sorted(decision["assignments"].values()) == sorted(nodes.values())
    assert all(node.startswith(want[name.partition("-")[0]]) for name, node in nodes.items())


def test_a_root_that_cannot_be_placed_is_reported_before_it_waits(plane, api, cluster, tmp_path):
    """The same tree, where a second pod takes the room that it needs: kube-scheduler says Unschedulable too."""
    api.create(pod("late", cluster, cpu=1, **GPU))
    api.bind("late", cluster, "z1-b-2")
    done = simulated(snapshot(plane).stdout, tmp_path, "--strategy", "greedy")
    (decision,) = json.loads(done.stdout)["decisions"]
    assert (1, "Unschedulable") == (done.returncode, decision["status"])

    plane.start_scheduler()
    try:
        messages = api.wait(
            "Pod", "s0-0", cluster, until=lambda result: result is not None and conditions(result).get("PodScheduled") == "False"
        )
    finally:
        plane.scheduler.stop()
    assert "nodeName" not in messages["spec"]


def conditions(found):
    return {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())}
