"""Hashed names: nothing of them is left, and the decisions are the same up to names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.commands.snapshot.snapshot_document import keep_simulated_fields
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from tests.custom_group import in_custom_group
from tests.muster.simulated import gang, node, pod
from tests.sampling import sampled
from tests.scheduler_core.exact.devices.small_clusters import clusters as device_clusters
from tests.scheduler_core.exact.devices.small_clusters import manifests
from tests.scheduler_core.oracle.strategies import clusters
from tests.scheduler_core.oracle.test_oracle import SCENARIOS, objects_of
from tests.scheduler_core.worded_problems import worded


def redacted(objects, salt="salt"):
    return json.loads(keep_simulated_fields(objects).redacted(salt).document())["items"]


def test_different_objects_of_one_name_are_reported_again():
    objects = [node("n1", cpu="4"), *(pod("p", cpu=cpu) for cpu in ("2", "9"))]
    assert [each.message for each in worded(load(objects).problems)] == [each.message for each in worded(load(redacted(objects)).problems)]


def renamed(before, after):
    """Each text with what became of it, by place."""
    if isinstance(before, dict):
        # A namespace that was filled in comes last.
        for key, other in zip(before, after, strict=False):
            yield key, other
            yield from renamed(before[key], after[other])
    elif isinstance(before, list):
        for one, other in zip(before, after, strict=True):
            yield from renamed(one, other)
    elif isinstance(before, str):
        yield before, after


def decisions(objects, names=None, strategy="greedy"):
    """Everything that a cycle says, names replaced by *names*."""

    def mapped(text):
        return "/".join((names or {}).get(part, part) for part in text.split("/"))

    found = []
    for each in run_cycle(load(objects), CycleOptions(strategy=strategy)).decisions:
        groups = [
            (mapped(told.group.name), told.status, told.domain and (told.domain.key, mapped(told.domain.value))) for told in each.groups
        ]
        pods = {mapped(key): mapped(value) for key, value in each.assignments.items()}
        promised = {mapped(key): mapped(value) for key, value in each.nominations.items()}
        devices = sorted(mapped("/".join(given.id[1:])) for allocation in each.devices.values() for given in allocation.devices)
        found.append(
            (
                mapped(each.root.name),
                each.status,
                pods,
                promised,
                sorted(map(mapped, each.victims)),
                sorted(map(mapped, each.pending)),
                groups,
                devices,
            )
        )
    return found


def assert_alike(objects, strategy="greedy"):
    before = keep_simulated_fields(objects)
    after = before.redacted("salt")
    names = {}
    for one, other in zip(before.objects, after.objects, strict=True):
        names |= {text: name for text, name in renamed(one, other) if text != name}
        if other["metadata"].get("namespace") and not one["metadata"].get("namespace"):
            names["default"] = other["metadata"]["namespace"]
    assert decisions(objects, names, strategy) == decisions(after.objects, strategy=strategy)


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case["id"])
def test_cases_are_decided_alike_up_to_names(case, strategy):
    assert_alike(objects_of(case), strategy)


@settings(max_examples=sampled(80), deadline=None)
@given(clusters())
def test_any_cluster_is_decided_alike_up_to_names(objects):
    assert_alike(objects)


def test_names_are_gone_and_references_match():
    objects = [
        node("alpha", **{"topology.kubernetes.io/zone": "bravo", "team": "charlie"}),
        gang("delta", 1),
        pod("echo", on="alpha", group="delta", nodeSelector={"team": "charlie"}),
    ]
    machine, group, running = redacted(objects)
    text = json.dumps([machine, group, running])

    assert [] == [name for name in ("alpha", "bravo", "charlie", "delta", "echo", "default") if f'"{name}' in text]
    assert machine["metadata"]["name"] == machine["metadata"]["labels"]["kubernetes.io/hostname"] == running["spec"]["nodeName"]
    assert {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "team"} == set(machine["metadata"]["labels"])
    assert machine["metadata"]["labels"]["team"] == running["spec"]["nodeSelector"]["team"]
    assert group["metadata"]["name"] == running["spec"]["schedulingGroup"]["podGroupName"]


def test_namespace_that_is_not_written_is_the_default_one():
    unwritten = pod("p", group="g")
    del unwritten["metadata"]["namespace"]
    group, member = redacted([gang("g", 1), unwritten])
    assert group["metadata"]["namespace"] == member["metadata"]["namespace"]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([pod("p", priorityClassName="system-node-critical")], ["system-node-critical"], id="classes that every cluster has"),
        pytest.param([pod("p", schedulerName="mine")], ["mine"], id="schedulers"),
        pytest.param([pod("p", schedulingGates=[{"name": "example.com/gate"}])], ["example.com/gate"], id="gates"),
        pytest.param([node("n", **{"example.com/rack": "r"})], ["example.com/rack"], id="keys of labels"),
        pytest.param(
            [
                node("n", gpus="4", other="5"),
                pod(
                    "p",
                    affinity={
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpus", "operator": "Gt", "values": ["3"]}]}]
                            }
                        }
                    },
                ),
            ],
            ['"gpus": "4"', '["3"]'],
            id="numbers that are compared",
        ),
    ],
)
def test_what_has_a_meaning_stays(objects, want):
    text = json.dumps(redacted(objects))
    assert [] == [each for each in want if each not in text]


def labelled(name, labels, **spec):
    made = pod(name, group="g", **spec)
    made["metadata"]["labels"] = labels
    return made


def test_indexes_of_pods_and_selectors_of_them_stay():
    """The order of a gang's nodes depends on them as numbers, and 10 sorts before 9 as a text."""
    index = "batch.kubernetes.io/job-completion-index"
    term = {"labelSelector": {"matchExpressions": [{"key": index, "operator": "In", "values": ["9"]}]}, "topologyKey": "example.com/rack"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = [labelled(f"p-{number}", {index: str(number), "app": "9"}, affinity=apart) for number in (9, 10)]
    first, second = (each["metadata"]["labels"] for each in redacted(pods))

    assert ["10", "9"] == [first[index], second[index]]
    assert first["app"] != "9"
    assert '"values": ["9"]' in json.dumps(redacted(pods))
    machines = [node(f"n{number:02}", **{"example.com/rack": f"r{number % 2}"}) for number in range(12)]
    members = [labelled(f"p-{number}", {index: str(number)}) for number in range(12)]
    assert_alike([*machines, gang("g", 12), *members], "complete")


def test_numbers_that_nobody_compares_are_hashed():
    assert '"5"' not in json.dumps(redacted([node("n", gpus="5")]))


def test_prose_is_left_out():
    told = gang("g", 1)
    told["status"] = {
        "conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": "of g"}]
    }
    (group,) = redacted([told])
    assert {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": ""} == group["status"][
        "conditions"
    ][0]


def test_names_that_no_object_can_have_stay_so():
    assert load(redacted([{**pod("p"), "metadata": {"name": "a/b"}}])).problems


def test_hashes_depend_on_the_salt_alone_and_without_one_on_the_content():
    def hash_of(objects, salt):
        return redacted(objects, salt)[0]["metadata"]["name"].partition("-")[2]

    one, more = [node("n1")], [node("n1"), node("n2")]
    assert hash_of(one, "a") == hash_of(more, "a")
    assert hash_of(one, "a") != hash_of(one, "b")
    assert hash_of(one, None) == hash_of(one, None)
    assert hash_of(one, None) != hash_of(more, None)


@pytest.mark.parametrize(
    ("of_pod", "of_node", "want"),
    [
        pytest.param("zzz:1", "zzz:1", "n1", id="equal"),
        pytest.param("zzz", "zzz:latest", "n1", id="latest is the default"),
        pytest.param("zzz", "zzz", "n0", id="not of a node"),
        pytest.param("r:5000/zzz", "r:5000/zzz:latest", "n1", id="a port"),
        pytest.param("zzz:1", "zzz:2", "n0", id="another tag"),
    ],
)
def test_hashed_images_are_found_on_the_same_nodes(of_pod, of_node, want):
    having, wanting = node("n1"), pod("p")
    having["status"]["images"] = [{"names": [of_node], "sizeBytes": 10**9}]
    wanting["spec"]["containers"][0]["image"] = of_pod
    objects = [node("n0"), having, wanting]
    hidden = redacted(objects)
    names = [each["metadata"]["name"] for each in hidden if each["kind"] == "Node"]
    (before,), (after,) = (run_cycle(load(each), CycleOptions(strategy="greedy")).decisions for each in (objects, hidden))

    assert {"default/p": want} == dict(before.assignments)
    assert [names[("n0", "n1").index(want)]] == [*after.assignments.values()]
    assert of_pod not in json.dumps(hidden)
    assert of_node not in json.dumps(hidden)


DRIVER = "gpu.example"


def device(name, **attributes):
    return {"name": name, "attributes": {key: {"string": value} for key, value in attributes.items()}}


ENTRY = {"name": "entry", "resourceClaimTemplateName": "template"}


def device_objects(expression):
    spec = {"driver": DRIVER, "pool": {"name": "pool-n1", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n1"}
    spec["devices"] = [device("dev-a", model="A100", site="north"), device("dev-b", model="B200", site="south")]
    selectors = [{"cel": {"expression": expression}}]
    request = {"name": "r", "exactly": {"deviceClassName": "the-class", "selectors": selectors}}
    return [
        node("n1"),
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "the-class"}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "slice"}, "spec": spec},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "template", "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
        pod("p", resourceClaims=[ENTRY]),
    ]


MODEL = f'device.attributes["{DRIVER}"].model'


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        pytest.param(f'{MODEL} == "B200"', (), id="equal"),
        pytest.param(f'device.driver == "{DRIVER}" && {MODEL} in ["B200", "C300"]', (), id="one of several"),
        pytest.param(f'{MODEL}.startsWith("B2")', ("A100", "B200", "B2"), id="a part of the value"),
        pytest.param(f'device.capacity["{DRIVER}"].memory.compareTo(quantity("10Gi")) >= 0', ("10Gi", "A100", "B200"), id="an amount"),
    ],
)
def test_devices_and_their_attributes_are_hashed(expression, kept):
    text = json.dumps(redacted(device_objects(expression)))
    hidden = {"pool-n1", "dev-a", "dev-b", "the-class", "slice", "template", "entry", "C300"}
    hidden |= set() if "compareTo" in expression else {"A100", "B200", "north", "south"} - set(kept)
    assert [] == [each for each in sorted(hidden) if each in text]
    assert [] == [each for each in kept if each not in text and "compareTo" not in expression]
    assert DRIVER in text


@pytest.mark.parametrize(
    "expression",
    [
        f'{MODEL} == "B200"',
        f'{MODEL} in ["B200", "C300"]',
        f'{MODEL}.startsWith("B2")',
        f'{MODEL} == "\\u0042200"',
        f'{MODEL} == """B200"""',
        f"""{MODEL} == '''B200'''""",
        f'"model" in device.attributes["{DRIVER}"] && "{DRIVER}" in device.attributes && {MODEL} == "B200"',
    ],
)
def test_redacted_selectors_select_the_same_devices(expression):
    objects = device_objects(expression)
    (before,), (after,) = (run_cycle(load(each), CycleOptions(strategy="greedy")).decisions for each in (objects, redacted(objects)))
    assert [["b"], [True]] == [
        [given.id[2][-1] for allocation in before.devices.values() for given in allocation.devices],
        [given.id[2] != "dev-b" for allocation in after.devices.values() for given in allocation.devices],
    ]


@settings(max_examples=sampled(80), deadline=None)
@given(device_clusters(), st.sampled_from(["greedy", "complete"]))
def test_any_cluster_with_devices_is_decided_alike_up_to_names(cluster, strategy):
    assert_alike(manifests(cluster), strategy)


def test_the_resource_of_a_class_has_the_hash_of_the_class():
    pending = pod("p")
    pending["spec"]["containers"][0]["resources"] = {"requests": {"deviceclass.resource.kubernetes.io/the-class": "1"}}
    hidden = redacted([*device_objects("true")[:-1], pending])
    assert "the-class" not in json.dumps(hidden)
    (decision,) = run_cycle(load(hidden), CycleOptions(strategy="greedy")).decisions
    assert len(decision.assignments) == 1


def test_the_classes_in_the_resources_of_quotas_have_the_hashes_of_the_classes():
    hard = {
        "requests.storage": "9Gi",
        "the.gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
        "the.gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
        "the-class.deviceclass.resource.k8s.io/devices": "3",
        "requests.deviceclass.resource.kubernetes.io/the-class": "4",
    }
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": hard}}
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "the.gold"}, "provisioner": "csi.example"}
    hidden = redacted([*device_objects("true"), storage, {**quota, "status": {"hard": hard, "used": hard}}])
    assert not any(name in json.dumps(hidden) for name in ("the-class", "the.gold"))
    names = {each["kind"]: each["metadata"]["name"] for each in hidden}
    after = next(each for each in hidden if each["kind"] == "ResourceQuota")
    for of_quota in (after["spec"]["hard"], after["status"]["used"]):
        assert {
            "requests.storage": "9Gi",
            f"{names['StorageClass']}.storageclass.storage.k8s.io/requests.storage": "5Gi",
            f"{names['StorageClass']}.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
            f"{names['DeviceClass']}.deviceclass.resource.k8s.io/devices": "3",
            f"requests.deviceclass.resource.kubernetes.io/{names['DeviceClass']}": "4",
        } == of_quota


def generated(objects, owner, kind="Pod", uid="uid-of-p", group="v1"):
    """Return *objects* with a claim that was created for their pod, or a claim of the same name that was created for *owner*."""
    reference = {"apiVersion": group, "kind": kind, "name": owner, "uid": uid, "controller": True}
    metadata = {"name": "the-claim", "namespace": "default", "ownerReferences": [reference]}
    (spec,) = (each["spec"]["spec"] for each in objects if each["kind"] == "ResourceClaimTemplate")
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
    own = objects[-1]
    of_group = {"schedulingGroup": {"podGroupName": "the-group"}} if kind == "PodGroup" else {}
    entries = [{"name": "entry", "resourceClaimName": "the-claim"}]
    status = {"resourceClaimStatuses": entries}
    spec = {**own["spec"], **of_group}
    return [*objects[:-1], claim, {**own, "metadata": {**own["metadata"], "uid": "uid-of-p"}, "spec": spec, "status": status}]


@pytest.mark.parametrize(
    ("owner", "status"),
    [
        pytest.param({"owner": "p"}, "Success", id="this pod"),
        pytest.param({"owner": "p", "uid": "uid-of-an-earlier-p"}, "Wait", id="an earlier pod"),
        pytest.param({"owner": "the-group", "kind": "PodGroup", "group": "scheduling.k8s.io/v1beta1"}, "Success", id="its group"),
        pytest.param({"owner": "the-group", "kind": "PodGroup", "group": "scheduling.x-k8s.io/v1alpha1"}, "Wait", id="another PodGroup"),
    ],
)
def test_owner_of_a_generated_claim_is_the_same_in_a_snapshot(owner, status):
    objects = generated([*device_objects("true")[:-1], gang("the-group", 1), pod("p", resourceClaims=[ENTRY])], **owner)
    for each in (objects, keep_simulated_fields(objects).objects, redacted(objects)):
        (decision,) = run_cycle(load(each), CycleOptions(strategy="greedy")).decisions
        assert status == decision.status.value
    assert "uid-of" not in json.dumps(redacted(objects))


MORE_THAN_3 = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpus", "operator": "Gt", "values": ["3"]}]}]}


def of_slice(objects, **fields):
    """Return *objects* with *fields* in the spec of the ResourceSlice instead of the name of its node."""
    return [
        {**each, "spec": {key: value for key, value in {**each["spec"], **fields}.items() if key != "nodeName"}}
        if each["kind"] == "ResourceSlice"
        else each
        for each in objects
    ]


def by_device(objects):
    """Return *objects* with the selector in each device."""
    (devices,) = (each["spec"]["devices"] for each in objects if each["kind"] == "ResourceSlice")
    return of_slice(objects, perDeviceNodeSelection=True, devices=[{**each, "nodeSelector": MORE_THAN_3} for each in devices])


def allocated(objects):
    """Return *objects* with a claim that is allocated to the nodes of the selector."""
    metadata = {"name": "the-claim", "namespace": "default"}
    status = {"allocation": {"devices": {"results": []}, "nodeSelector": MORE_THAN_3, "allocationTimestamp": "2026-08-01T00:00:00Z"}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "status": status}
    return [*objects[:-1], claim, pod("p", resourceClaims=[{"name": "entry", "resourceClaimName": "the-claim"}])]


@pytest.mark.parametrize(
    "selected",
    [
        pytest.param(lambda objects: of_slice(objects, nodeSelector=MORE_THAN_3), id="of a slice"),
        pytest.param(by_device, id="of a device"),
        pytest.param(allocated, id="of an allocation"),
    ],
)
def test_numbers_that_node_selectors_of_device_objects_compare_stay(selected):
    objects = [node("n0", gpus="2", other="5"), *selected(device_objects("true"))]
    objects[1]["metadata"]["labels"]["gpus"] = "4"
    hidden = redacted(objects)
    text = json.dumps(hidden)
    assert all(each in text for each in ('"gpus": "2"', '"gpus": "4"', '["3"]'))
    assert '"5"' not in text
    names = [each["metadata"]["name"] for each in hidden if each["kind"] == "Node"]
    (before,), (after,) = (run_cycle(load(each), CycleOptions(strategy="greedy")).decisions for each in (objects, hidden))
    assert {"default/p": "n1"} == dict(before.assignments)
    assert [names[1]] == [*after.assignments.values()]


@pytest.mark.parametrize("wrong", [0.5, 1, True, "x", {}, [], [{}], [0.5]])
@pytest.mark.parametrize("field", ["key", "operator", "values"])
def test_expressions_of_the_wrong_type_do_not_keep_the_rest_from_being_redacted(field, wrong):
    expression = {"key": "gpus", "operator": "Gt", "values": ["3"], field: wrong}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    text = json.dumps(redacted([*of_slice(device_objects("true"), nodeSelector=selector), pod("q", affinity=required)]))
    assert "the-class" not in text


@pytest.mark.parametrize("wrong", [0.5, 1, True, "x", [], [0.5]])
def test_nodes_of_the_wrong_type_do_not_keep_the_rest_from_being_redacted(wrong):
    labelled, tainted = node("n1"), node("n2")
    labelled["metadata"]["labels"] = wrong
    tainted["spec"] = {"taints": wrong}
    assert '"n1"' not in json.dumps(redacted([labelled, tainted]))


def test_a_label_that_names_a_group_is_hashed_as_the_group():
    objects = in_custom_group([node("n1", cpu="4"), gang("workers", 2), pod("a", group="workers"), pod("b", group="workers")])
    hashed = redacted(objects)
    (group,) = (each["metadata"]["name"] for each in hashed if each["kind"] == "PodGroup")

    assert group != "workers"
    assert [each["metadata"]["labels"] for each in hashed if each["kind"] == "Pod"] == [{"scheduling.muster.dev/pod-group": group}] * 2
    assert [each.status.value for each in run_cycle(load(hashed), CycleOptions()).decisions] == ["Success"]
