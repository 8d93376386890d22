"""Compiled Jobs, JobSets and LeaderWorkerSets on a real control plane: kube-scheduler places them as wholes.

The objects compiled of a Job are compared with those that the Job controller creates.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from kubeapi.versions import kubernetes_releases
from scheduler_core.behavior.scheduler_behavior import behavior_of
from tests.cluster.groups import SCHEDULED, condition_of
from tests.cluster.kubelet import node
from tests.cluster.programs import find
from tests.cluster.resources import Manifest
from tests.cluster.waiting import until
from validators.rules import gang_nesting
from workloadbuilder import names, template_annotations
from workloadbuilder.adapters.compiled import CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known

RACK, ZONE = "topology.example/rack", "topology.example/zone"
GANG = {"schedulingPolicy": {"gang": {}}}

pytestmark = pytest.mark.usefixtures("kubelet")


def within(key: str) -> Manifest:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def compiled(found: Manifest, *further: Manifest, pods: bool = True) -> list[Manifest]:
    """The Workload, the groups and the pods of an object with which nothing is wrong."""
    result = compile_object(found, Known([found], further, kubernetes=find().minor()), CompileOptions(groups=True, pods=pods))
    assert result is not None
    assert () == result.errors
    return list(result.objects)


def template(cpu: int, **spec: Any) -> Manifest:
    """A pod template that asks for so many *cpu*."""
    container = {"name": "main", "image": "example.com/main:1", "resources": {"requests": {"cpu": str(cpu)}}}
    return {"spec": {"containers": [container], **spec}}


def job_spec(count: int, cpu: int, **scheduling: Any) -> Manifest:
    pods = template(cpu, restartPolicy="Never")
    spec: Manifest = {"parallelism": count, "completions": count, "completionMode": "Indexed", "template": pods}
    return {**spec, "scheduling": scheduling} if scheduling else spec


def job(namespace: str, count: int, cpu: int, **scheduling: Any) -> Manifest:
    metadata = {"name": "train", "namespace": namespace}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job_spec(count, cpu, **scheduling)}


def jobset(namespace: str, shape: str) -> Manifest:
    """A driver and two Jobs of two workers, in one zone and each Job's workers in one rack; *shape* is KEP-6089's A or B.

    The driver is a gang where it must be one.
    """
    driver = GANG if find().minor() >= gang_nesting.RULE.since else {}
    rack = {**GANG, **within(RACK)}
    nested = rack if shape == "A" else {}
    at_root = [] if shape == "A" else [{"targetReplicatedJob": "workers", **rack}]
    whole = {**GANG, **within(ZONE), **({"replicatedJobPolicies": at_root} if at_root else {})}
    replicated = [
        {"name": "driver", "replicas": 1, "template": {"spec": job_spec(1, 1, **driver)}},
        {"name": "workers", "replicas": 2, "template": {"spec": job_spec(2, 4, **nested)}},
    ]
    metadata = {"name": "train", "namespace": namespace}
    spec = {"scheduling": whole, "replicatedJobs": replicated}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def leaderworkerset(namespace: str) -> Manifest:
    """Two replicas of a leader and two workers, each replica in a rack of its own."""
    metadata = {"name": "serve", "namespace": namespace, "annotations": {"leaderworkerset.sigs.k8s.io/exclusive-topology": RACK}}
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template(4)}}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


def rack(name: str, count: int, *, zone: str = "z", cpu: int = 4) -> list[Manifest]:
    """So many nodes of one rack, called ``NAME-0`` and so on."""
    return [node(f"{name}-{number}", {RACK: name, ZONE: zone}, cpu=cpu) for number in range(count)]


@pytest.fixture(autouse=True)
def scheduler(plane) -> Iterator[None]:
    plane.start_scheduler()
    yield
    plane.scheduler.stop()


@pytest.fixture
def job_controller(plane, api, namespace) -> Iterator[None]:
    plane.start_controllers(("job-controller",))
    yield
    plane.controllers.stop()
    api.delete_all("Job", namespace, propagationPolicy="Background")


def places(api, namespace, count) -> dict[str, str]:
    """The node of each pod, once there are so many and all are bound."""
    result = api.wait_all(
        "Pod", namespace, until=lambda pods: len(pods) == count and all(each["spec"].get("nodeName") for each in pods.values())
    )
    return {name: each["spec"]["nodeName"] for name, each in result.items()}


def refused(api, namespace, name) -> str:
    """Return the message for which a PodGroup is not scheduled, once the scheduler has written it."""
    kind = SCHEDULED["PodGroup"]
    result = api.wait("PodGroup", name, namespace, until=lambda group: condition_of(group, kind).get("status") == "False")
    return condition_of(result, kind)["message"]


def racks_of(at: dict[str, str], prefix: str) -> set[str]:
    return {place.rpartition("-")[0] for name, place in at.items() if name.startswith(prefix)}


def test_a_gang_of_a_job_goes_to_the_one_rack_that_holds_it(api, namespace, nodes):
    nodes(*rack("small", 3), *rack("large", 4))
    api.create_all(compiled(job(namespace, 4, 4, **GANG, **within(RACK))))

    assert {"large"} == racks_of(places(api, namespace, 4), "train-")


@pytest.mark.parametrize("shape", ["A", "B"])
def test_a_jobset_waits_for_capacity_for_all_of_it_and_is_placed_zone_by_rack(api, namespace, nodes, shape):
    # Room for each of its groups, but in no zone for all of them.
    nodes(*rack("y-1", 2, zone="y", cpu=5), *rack("z-1", 2, zone="z", cpu=5))
    api.create_all(compiled(jobset(namespace, shape)))
    why = refused(api, namespace, "train-workers-0")

    behavior = behavior_of(find().minor())
    assert ("pod group is unschedulable" if behavior.prefixes_messages else 'ancestor composite pod group "train-') in why
    assert all(not each["spec"].get("nodeName") for each in api.objects("Pod", namespace))
    nodes(*rack("y-2", 2, zone="y", cpu=5))
    at = places(api, namespace, 5)
    assert at["train-driver-0-0"].startswith("y-")
    assert [1, 1] == [len(racks_of(at, f"train-workers-{number}-")) for number in range(2)]
    assert {"y-1", "y-2"} == racks_of(at, "train-workers-")


def test_the_replicas_of_a_leaderworkerset_are_trees_of_their_own(api, namespace, nodes):
    nodes(*rack("one", 3))
    created = compiled(leaderworkerset(namespace))
    roots = [each for each in created if each["kind"] == "CompositePodGroup"]
    api.create_all(created)

    assert ["serve-replica-0", "serve-replica-1"] == [each["metadata"]["name"] for each in roots]
    assert all("parentCompositePodGroupName" not in each["spec"] for each in roots)
    # One rack holds one replica: the other waits, and is placed when there is another.
    api.wait_all("Pod", namespace, until=lambda pods: sum(bool(each["spec"].get("nodeName")) for each in pods.values()) == 3)
    nodes(*rack("two", 3))
    at = places(api, namespace, 6)
    replicas = [racks_of(at, "serve-0"), racks_of(at, "serve-1")]
    assert {"one", "two"} == set.union(*replicas)
    assert [1, 1] == [len(each) for each in replicas]


@pytest.mark.usefixtures("job_controller")
@pytest.mark.parametrize(
    "scheduling",
    [
        pytest.param({**GANG, **within(RACK), "disruptionMode": {"all": {}}}, id="a gang in a rack"),
        pytest.param({"schedulingPolicy": {"gang": {"minCount": 2}}}, id="a gang of some"),
        pytest.param({"schedulingPolicy": {"basic": {}}, "disruptionMode": {"single": {}}}, id="pod by pod"),
        pytest.param({"resourceClaims": [{"name": "fabric", "resourceClaimName": "fabric"}]}, id="claims and nothing else"),
    ],
)
def test_a_compiled_job_is_what_the_job_controller_makes_of_it(api, namespace, scheduling):
    created = api.create(job(namespace, 3, 1, **scheduling))
    workload = next(iter(api.wait_all("Workload", namespace, until=bool).values()))
    group = next(iter(api.wait_all("PodGroup", namespace, until=bool).values()))
    ours = compiled(created, pods=False)

    # The template is called otherwise, and the group after it.
    theirs = workload["spec"]["podGroupTemplates"][0]["name"]
    renamed = _renamed(ours, theirs, created["metadata"]["uid"])
    assert _essence(workload) == renamed[0]
    assert _essence(group) == {**renamed[1], "spec": {**renamed[1]["spec"], "disruptionMode": group["spec"]["disruptionMode"]}}


def _essence(found: Manifest) -> Manifest:
    """Return an object without what the API server adds; of the owners, only the controller."""
    spec = {name: value for name, value in found["spec"].items() if name not in {"priority", "preemptionPolicy"}}
    for each in spec.get("podGroupTemplates", [spec]):
        if each.get("schedulingConstraints", "") is None:
            del each["schedulingConstraints"]
    owners = [each for each in found["metadata"]["ownerReferences"] if each.get("controller")]
    metadata = {"name": found["metadata"]["name"], "namespace": found["metadata"]["namespace"], "ownerReferences": owners}
    return {"apiVersion": found["apiVersion"], "kind": found["kind"], "metadata": metadata, "spec": spec}


def _renamed(objects: list[Manifest], wanted: str, uid: str) -> list[Manifest]:
    """A Workload and a group, of an owner with *uid*, with the one template called otherwise."""
    workload, group = copy.deepcopy(objects)
    workload["spec"]["podGroupTemplates"][0]["name"] = group["spec"]["workloadRef"]["templateName"] = wanted
    group["metadata"]["name"] = names.group_name(workload["metadata"]["name"], wanted, owner_uid=uid, kubernetes=find().minor())
    return [workload, group]


@pytest.mark.usefixtures("job_controller")
@pytest.mark.parametrize(
    ("nested", "want"),
    [
        pytest.param(False, "named", id="a template at the top is found"),
        pytest.param(True, "", id="one below a composite is not"),
    ],
)
def test_which_templates_the_job_controller_makes_a_childs_group_of(plane, api, namespace, nested, want):
    """A child Job gets no group of its own unless its template is at the top of the Workload; from 1.38 on no pods either."""
    minor = find().minor()
    owner = {"apiVersion": "example.com/v1", "kind": "Train", "name": "train", "uid": "uid-1", "controller": True}
    leaf = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
    whole = {"name": "root", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [leaf]}
    metadata = {"name": "described", "namespace": namespace, "ownerReferences": [owner]}
    reference = {"apiGroup": "example.com", "kind": "Train", "name": "train"}
    templates = {"compositePodGroupTemplates": [whole]} if nested else {"podGroupTemplates": [leaf]}
    workload = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": metadata}
    api.create({**workload, "spec": {"controllerRef": reference, **templates}})
    child = job(namespace, 2, 1)
    child["metadata"] |= {
        "ownerReferences": [owner],
        "annotations": template_annotations.write("described", "workers", "root" if nested else "", kubernetes=minor),
    }
    uid = api.create(child)["metadata"]["uid"]
    if nested and minor >= kubernetes_releases.FIRST_WITH_WORKLOAD_NAME:
        log = plane.controllers.log
        until(lambda: f'podGroupTemplate \\"workers\\" not found in workload {namespace}/described' in log.read_text(encoding="utf-8"))
        assert [] == api.objects("Pod", namespace)
        return
    pods = api.wait_all("Pod", namespace, until=lambda result: len(result) == 2)

    group = names.group_name("described", "workers", owner_uid=uid, kubernetes=minor) if want else None
    assert {group} == {each["spec"].get("schedulingGroup", {}).get("podGroupName") for each in pods.values()}
