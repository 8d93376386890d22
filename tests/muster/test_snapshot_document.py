"""What is kept of a cluster, and that what simulate says of it stays the same."""

from __future__ import annotations

import copy
import itertools
import json
import random
import typing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.controllers import ReplicaSet, ReplicationController, Service, StatefulSet
from kubeapi.decoders import READ
from kubeapi.devices import DeviceClass, DeviceTaintRule, ResourceSlice
from kubeapi.disruption import PodDisruptionBudget
from kubeapi.gather import ADMISSION_KINDS, CONFIGURATION, KINDS
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import Empty
from kubeapi.nodes import Namespace, Node
from kubeapi.pods import Pod
from kubeapi.priority import PriorityClass
from kubeapi.redaction import Mark
from kubeapi.resource_claims import ResourceClaim, ResourceClaimTemplate
from kubeapi.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from kubeapi.volumes import EphemeralVolumeSource, PersistentVolume, PersistentVolumeClaim
from kubeapi.workloads import Workload
from muster.commands.progress import Progress
from muster.commands.simulate import simulation
from muster.commands.simulate.completed_input import ClusterInput
from muster.commands.simulate.request import SimulationRequest
from muster.commands.snapshot import other_projects_fields, struct_fields
from muster.commands.snapshot.fields import FIELDS
from muster.commands.snapshot.shapes import Each, Entries, IfPresent, OrScalar
from muster.commands.snapshot.snapshot_document import keep_simulated_fields
from muster.render import answer_json
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.pods import Health
from tests.muster.simulated import gang, node, pod
from tests.sampling import sampled
from tests.scheduler_core.oracle.strategies import clusters
from tests.scheduler_core.oracle.test_oracle import SCENARIOS, objects_of

SECRET = "hunter2"
CASES = Path(__file__).parents[1] / "cases"
VOLUMES = [
    case
    for name in ("bound-claims", "delayed-claims", "spread")
    for case in json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
]


def told(objects, problems=(), strategy="greedy"):
    answer, _ = simulation.run(ClusterInput([*objects], [*problems]), SimulationRequest(CycleOptions(strategy=strategy)), Progress())
    return answer_json.render(answer)


def replayed(objects):
    found = keep_simulated_fields(objects)
    assert () == found.problems
    return [found.document()]


def told_of_snapshot(objects):
    """Return the answer about the snapshot of *objects*, some of which it can report and leave out."""
    found = keep_simulated_fields(objects)
    return told([found.document()], found.problems)


def test_all_kinds_that_are_read_are_kept():
    assert {
        *KINDS,
        *ADMISSION_KINDS,
        CONFIGURATION,
        *(other_projects_fields.key_of(each.group, each.kind) for each in other_projects_fields.RESOURCES),
    } == set(FIELDS)


def structs(hint):
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for each in typing.get_args(hint):
        yield from structs(each)


def absent(model, shape, path, depth=0):
    """Fields of a model that a shape does not have."""
    hints = typing.get_type_hints(model)
    shape = shape.of if isinstance(shape, Each) else shape.value if isinstance(shape, Entries) else shape
    shape = shape.fields if isinstance(shape, (OrScalar, IfPresent)) else shape
    for field, name in zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True):
        if name not in shape:
            yield f"{path}.{name}"
            continue
        for inner in structs(hints[field]):
            if depth < 12 and inner is not Empty:
                yield from absent(inner, shape[name], f"{path}.{name}", depth + 1)


@pytest.mark.parametrize(
    "model",
    [
        Pod,
        Node,
        PodDisruptionBudget,
        Namespace,
        PersistentVolumeClaim,
        PersistentVolume,
        StorageClass,
        CSINode,
        CSIDriver,
        CSIStorageCapacity,
        VolumeAttachment,
        DeviceClass,
        DeviceTaintRule,
        ResourceSlice,
        ResourceClaim,
        ResourceClaimTemplate,
        Service,
        ReplicationController,
        ReplicaSet,
        StatefulSet,
        PodGroup,
        CompositePodGroup,
        Workload,
        PriorityClass,
    ],
)
def test_every_field_that_is_read_is_known(model):
    assert [] == [*absent(READ.of_struct(model), FIELDS[model.__name__], model.__name__)]


def test_every_field_of_a_claim_template_is_known():
    assert [] == [*absent(EphemeralVolumeSource, struct_fields.fields_of(EphemeralVolumeSource), "ephemeral")]


def test_field_that_is_missing_would_be_seen(monkeypatch):
    monkeypatch.setitem(FIELDS["Node"]["spec"], "taints", Each({"key": Mark.KEPT, "effect": Mark.KEPT}))
    assert ["Node.spec.taints.value"] == [*absent(Node, FIELDS["Node"], "Node")]


def test_nothing_that_is_not_read_leaves():
    secretive = pod("p", on="n1", owner="ReplicaSet")
    secretive["metadata"] |= {
        "annotations": {SECRET: SECRET},
        "finalizers": [SECRET],
        "generateName": SECRET,
        "managedFields": [{"manager": SECRET}],
        "ownerReferences": [{"kind": "ReplicaSet", "name": "owner", "uid": SECRET}],
    }
    secretive["spec"] |= {
        "serviceAccountName": SECRET,
        "volumes": [{"name": SECRET, "secret": {"secretName": SECRET}}, {"name": "c", "persistentVolumeClaim": {"claimName": "data"}}],
        "containers": [{"name": "c", "command": [SECRET], "env": [{"name": "TOKEN", "value": SECRET}]}],
        "imagePullSecrets": [{"name": SECRET}],
        "resourceClaims": [{"name": "gpu", "parameters": SECRET}],
    }
    secretive["status"] = {"conditions": [{"type": "Ready", "message": SECRET}], "message": SECRET, "podIP": SECRET}
    machine = node("n1")
    machine["metadata"] |= {"annotations": {"a": SECRET}}
    machine["spec"] = {"providerID": SECRET}
    machine["status"] |= {"addresses": [{"address": SECRET}]}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "annotations": {"a": SECRET}}}
    claim["metadata"] |= {"labels": {"a": SECRET}, "finalizers": [SECRET]}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"nfs": {"server": SECRET}}}
    volume["spec"] |= {"awsElasticBlockStore": {"volumeID": SECRET}, "mountOptions": [SECRET]}
    foreign = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": {"a": SECRET}}
    document = keep_simulated_fields([secretive, machine, claim, volume, foreign]).document()

    assert SECRET.encode() not in document
    assert {"kind": "List", "apiVersion": "v1"} == {key: value for key, value in json.loads(document).items() if key != "items"}
    assert ["Node", "PersistentVolume", "PersistentVolumeClaim", "Pod"] == [each["kind"] for each in json.loads(document)["items"]]


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(("metadata", "annotations"), id="annotations"),
        pytest.param(("metadata",), id="metadata"),
        pytest.param(("spec",), id="spec"),
        pytest.param(("spec", "containers"), id="containers"),
        pytest.param(("spec", "containers", 0), id="a container"),
        pytest.param(("spec", "containers", 0, "resources"), id="resources"),
        pytest.param(("spec", "volumes"), id="volumes"),
        pytest.param(("status", "conditions"), id="conditions"),
    ],
)
@pytest.mark.parametrize("value", [SECRET, [SECRET], {SECRET: SECRET}, {"env": SECRET}, [{"value": SECRET}]], ids=repr)
def test_what_has_the_wrong_type_loses_its_content(place, value):
    odd = {**pod("p"), "status": {}}
    inner = odd
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value

    assert SECRET.encode() not in keep_simulated_fields([odd]).document()
    assert told([odd]) == told_of_snapshot([odd])


def test_images_are_kept():
    having, wanting = node("n1"), pod("p")
    having["status"]["images"] = [{"names": ["x:latest", "x@sha256:0"], "sizeBytes": 10**9}]
    wanting["spec"]["containers"][0]["image"] = "x"
    wanting["spec"]["volumes"] = [{"name": "v", "image": {"reference": "y:1", "pullPolicy": "Always"}}]
    objects = [node("n0"), having, wanting]

    assert '"default/p":"n1"' in told(objects).replace(" ", "")
    assert told(objects) == told(replayed(objects))


def test_what_protects_pods_from_an_eviction_is_kept():
    running = {**pod("p", on="n1"), "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "message": SECRET}]}}
    leaving = {
        **pod("q", on="n1"),
        "status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]},
    }
    leaving["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:00Z"
    status = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"}, "status": status}
    budget["spec"] = {"selector": {}, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    objects = [node("n1"), running, leaving, budget]
    (document,) = replayed(objects)
    before, after = load(objects), load([document])

    assert before.budgets == after.budgets
    assert [(Health.READY, False), (Health.READY, True)] == [(each.health, each.preempted) for each in before.pods]
    assert [(each.health, each.preempted) for each in before.pods] == [(each.health, each.preempted) for each in after.pods]
    assert SECRET.encode() not in document


def test_features_of_pods_and_nodes_are_kept():
    declaring, needing = node("n1"), pod("p")
    declaring["status"]["declaredFeatures"] = ["VolumeBindMountOptions"]
    mounts = [{"name": SECRET, "mountPath": SECRET}, {"name": SECRET, "mountPath": SECRET, "bindMountOptions": ["noexec"]}]
    needing["spec"]["containers"][0] |= {"volumeMounts": mounts, "restartPolicyRules": [{"action": "Restart", "exitCodes": {}}]}
    needing["spec"]["initContainers"] = [{"name": "i", "volumeMounts": mounts[:1]}]
    objects = [node("n0"), declaring, needing]
    (document,) = replayed(objects)
    kept = json.loads(document)["items"][-1]["spec"]

    assert {"volumeMounts": [{"bindMountOptions": ["noexec"]}], "restartPolicyRules": [{"action": "Restart"}]} == {
        key: kept["containers"][0][key] for key in ("volumeMounts", "restartPolicyRules")
    }
    assert "volumeMounts" not in kept["initContainers"][0]
    assert SECRET.encode() not in document
    assert told(objects) == told([document])
    assert '"default/p":"n1"' in told(objects).replace(" ", "")


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case["id"])
def test_cases_are_answered_alike(case):
    assert told(objects_of(case)) == told(replayed(objects_of(case)))


@pytest.mark.parametrize("case", VOLUMES, ids=lambda case: case["id"])
def test_volumes_and_spread_are_answered_alike(case):
    objects = [*objects_of(case), *case["others"]]
    assert told(objects) == told(replayed(objects))
    kept = keep_simulated_fields(objects)
    answers = [json.loads(told([each.document()])) for each in (kept, kept.redacted("salt"))]
    assert answers[0]["summary"] == answers[1]["summary"]
    assert 1 == len({len(answer["pending"]) for answer in answers})


@settings(max_examples=sampled(60), deadline=None)
@given(clusters())
def test_any_cluster_is_answered_alike(objects):
    assert told(objects) == told(replayed(objects))


JUNK = (None, True, 0, -7, 1.5, "", "x", "3", [], [1], ["x"], [None], {}, {"a": 1}, {"a": "b"}, {"name": 3})


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def spoilt(value, path, junk):
    changed = copy.deepcopy(value)
    inner = changed
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = junk
    return changed


@settings(max_examples=sampled(200), deadline=None)
@given(clusters(), st.integers(0, 2**32))
def test_clusters_with_something_odd_are_answered_alike(objects, seed):
    chance = random.Random(seed)
    objects = [json.loads(json.dumps(each)) for each in objects]
    for _ in range(3):
        place = chance.randrange(len(objects))
        paths = [path for path in places(objects[place]) if path and path not in {("kind",), ("apiVersion",)}]
        objects[place] = spoilt(objects[place], chance.choice(paths), chance.choice(JUNK))
    assert told(objects) == told_of_snapshot(objects)


@pytest.mark.parametrize("value", [1.5, 7, True, [1], {"a": 1}], ids=repr)
@pytest.mark.parametrize("field", ["uid", "annotations", "finalizers", "name", "labels"])
def test_metadata_of_the_wrong_type_is_reported_alike(field, value):
    odd = [{**pod("p"), "metadata": {"name": "p", field: value}}]
    assert told(odd) == told_of_snapshot(odd)


@pytest.mark.parametrize("value", [1.5, 7, True, "x", None, [1], {"a": 1}], ids=repr)
@pytest.mark.parametrize("field", ["type", "status", "reason", "message", "observedGeneration", "lastTransitionTime"])
def test_condition_of_the_wrong_type_is_reported_alike(field, value):
    odd = [{**pod("p"), "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "True", field: value}]}}]
    assert told(odd) == told(replayed(odd))


def test_conditions_without_a_reader_are_omitted():
    plain = {"type": "Initialized", "status": "True", "reason": "r", "message": "m", "observedGeneration": 3, "lastTransitionTime": "t"}
    resized, ready = {**plain, "type": "PodResizePending"}, {**plain, "type": "Ready"}
    (found,) = keep_simulated_fields([{**pod("p"), "status": {"conditions": [plain, resized, ready]}}]).objects
    want = [{key: value for key, value in each.items() if key not in ("lastTransitionTime", "message")} for each in (ready, resized)]
    assert want == sorted(found["status"]["conditions"], key=lambda each: each["type"], reverse=True)


def test_same_objects_in_any_order_are_the_same_bytes():
    objects = [node("n1"), node("n2"), gang("g", 1), pod("p", group="g"), pod("p", cpu="9"), {"apiVersion": "v1", "kind": "Pod"}]
    assert 1 == len({keep_simulated_fields(each).document() for each in itertools.permutations(objects)})


def test_a_snapshot_of_a_snapshot_is_the_same():
    objects = [node("n1"), gang("g", 1), pod("p", group="g"), pod("p", cpu="9")]
    once = keep_simulated_fields(objects).document()
    assert once == keep_simulated_fields([once]).document()


@pytest.mark.parametrize("cpus", [("2", "9"), ("9", "2")])
def test_different_objects_of_one_name_are_reported_again(cpus):
    objects = [node("n1", cpu="4"), *(pod("p", cpu=cpu) for cpu in cpus)]
    assert "is defined several times" in told(objects)
    assert told(objects) == told(replayed(objects))


def test_objects_of_one_name_that_are_alike_are_one():
    assert keep_simulated_fields([pod("p")]).document() == keep_simulated_fields([pod("p"), pod("p")]).document()


def test_items_of_lists_get_the_kind_of_their_list():
    plain = {key: value for key, value in pod("p").items() if key not in {"kind", "apiVersion"}}
    assert (
        keep_simulated_fields([pod("p")]).document()
        == keep_simulated_fields([{"apiVersion": "v1", "kind": "PodList", "items": [plain]}]).document()
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"metadata": {}}, id="no kind"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b'{"apiVersion":"v1","kind":"Pod","spec":' + b"[" * 3000 + b"]" * 3000 + b"}", id="too deep"),
    ],
)
def test_unreadable_objects_are_reported(source):
    found = keep_simulated_fields([source, pod("p")])
    assert (1, 1) == (len(found.problems), len(found.objects))


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(
            [
                {
                    "apiVersion": "scheduling.k8s.io/v1alpha1",
                    "kind": "Workload",
                    "metadata": {"name": "w", "namespace": "default"},
                    "spec": {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 2}}}]},
                },
                *(pod(f"p{number}", workloadRef={"name": "w", "podGroup": "g"}) for number in range(2)),
            ],
            id="v1alpha1",
        ),
        pytest.param(
            [
                {
                    "apiVersion": "scheduling.k8s.io/v1alpha2",
                    "kind": "PodGroup",
                    "metadata": {"name": "g", "namespace": "default"},
                    "spec": {
                        "schedulingPolicy": {"gang": {"minCount": 2}},
                        "disruptionMode": "PodGroup",
                        "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
                    },
                },
                *(pod(f"p{number}", group="g") for number in range(2)),
            ],
            id="v1alpha2",
        ),
    ],
)
def test_retired_versions_are_answered_alike(objects):
    whole = [node("n1"), *objects]
    assert '"status": "Success"' in told(whole)
    assert told(whole) == told(replayed(whole))
