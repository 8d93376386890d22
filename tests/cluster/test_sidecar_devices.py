"""Devices that the sidecar allocates before pods, with the real resourceclaim controller; the tests publish the devices."""

from __future__ import annotations

import contextlib

import pytest

from tests.cluster.conftest import clean
from tests.cluster.groups import LABEL, condition_of, pod_group
from tests.cluster.kubelet import node
from tests.cluster.sidecars import sidecar
from tests.cluster.take_effect import priority_classes
from tests.cluster.test_sidecar_bad_days import ALONE, MODE
from tests.cluster.test_sidecar_place import bound, ours, places, scheduled
from tests.cluster.test_sidecar_roles import ROLES
from tests.cluster.waiting import until
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_class, device_slice, request, resource_claim, template

CLAIM = "ResourceClaim"
RESOURCE = "example.com/gpu"
OK = 200
ATTACHED, BROKEN = "example.com/attached", "example.com/broken"


@pytest.fixture(scope="module")
def plane(plane):
    """The shared one, with the resourceclaim controller and two classes."""
    classes = (device_class(), device_class("provider", extendedResourceName=RESOURCE))
    try:
        plane.start_controllers(("resourceclaim-controller",))
        plane.api.create_all(classes)
        yield plane
    finally:
        plane.controllers.stop()
        for each in classes:
            plane.api.delete("DeviceClass", each["metadata"]["name"])


@pytest.fixture
def racks(api, namespace, nodes):
    yield nodes(*(node(f"{rack}-{number}", {LABEL: rack}, cpu=1) for rack in ("a", "b") for number in range(3)))
    clean(api, ("Pod", CLAIM), namespace)
    clean(api, ("ResourceSlice",))


@pytest.fixture
def started(plane, racks, namespace, tmp_path, strategy):
    """A sidecar that has only the roles of its modes."""
    names = ("muster-sidecar", *(f"muster-sidecar-{mode}" for mode in MODE[1].split(",")))
    config = plane.user(f"devices-{namespace}", [rule for name in names for rule in ROLES[name]])
    with sidecar(plane, tmp_path, *ALONE, "--strategy", strategy, through=config, fork=True) as running:
        yield running
        assert [] == [line for line in running.lines if line["event"] in ("watch", "permissions", "write")]


def publish(api, *nodes, **content):
    """Two devices on each of *nodes*."""
    api.create_all([device_slice(on, *(device(name, **content) for name in ("d0", "d1"))) for on in nodes])


def gang(api, namespace, *requests, count=3, key=LABEL, **spec):
    """A gang in one rack, or another domain, whose pods have a claim each."""
    wanted = template("one", *requests)
    wanted["metadata"]["namespace"] = namespace
    api.create(wanted)
    api.create(pod_group("g", namespace, minimum=count, key=key))
    entries = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    api.create_all([ours(f"g-{number}", namespace, "g", resourceClaims=entries, **spec) for number in range(count)])


def results_of(claim):
    return claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])


def devices(api, namespace):
    """The devices of each pod's claim."""
    return {
        claim["metadata"]["ownerReferences"][0]["name"]: {f"{each['pool']}/{each['device']}" for each in results_of(claim)}
        for claim in api.objects(CLAIM, namespace)
    }


def report(api, namespace, condition):
    """Let the drivers of all allocated devices report *condition*."""
    for claim in api.objects(CLAIM, namespace):
        claim["status"]["devices"] = [
            {
                **{key: each[key] for key in ("driver", "pool", "device")},
                "conditions": [
                    {"type": condition, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-08-01T00:00:00Z"}
                ],
            }
            for each in results_of(claim)
        ]
        api.replace(claim, subresource="status")


def test_claims_of_a_gang_are_allocated_and_reserved_before_its_pods_are_bound(started, api, namespace):
    # Rack a has too few devices.
    publish(api, "a-0", "a-1", "b-0", "b-1", "b-2")
    gang(api, namespace, request(count=2))
    result = bound(api, namespace, 3)
    assert {f"g-{number}": {f"{result[f'g-{number}']}/d0", f"{result[f'g-{number}']}/d1"} for number in range(3)} == devices(api, namespace)
    assert {"b"} == {on.partition("-")[0] for on in result.values()}
    for claim in api.objects(CLAIM, namespace):
        (user,) = claim["status"]["reservedFor"]
        assert claim["status"]["allocation"]["allocationTimestamp"]
        assert claim["metadata"]["ownerReferences"][0]["uid"] == user["uid"]
        assert ["resource.kubernetes.io/delete-protection"] == claim["metadata"]["finalizers"]
    scheduled(api, "PodGroup", "g", namespace)


def test_claim_of_a_podgroup_is_reserved_once_and_its_gang_is_bound_whole(started, api, namespace):
    publish(api, *(f"b-{number}" for number in range(3)))
    api.create(device_slice(None, "f", pool="fabric", allNodes=True))
    fabric = template("fabric", request(selectors=[{"cel": {"expression": 'device.driver == "gpu.example"'}}]))
    fabric["metadata"]["namespace"] = namespace
    api.create(fabric)
    entry = {"name": "fabric", "resourceClaimTemplateName": "fabric"}
    group = pod_group("g", namespace, minimum=3, key=LABEL)
    group["spec"]["resourceClaims"] = [entry]
    created = api.create(group)
    api.create_all([ours(f"g-{number}", namespace, "g", resourceClaims=[entry]) for number in range(3)])
    bound(api, namespace, 3)
    (claim,) = api.objects(CLAIM, namespace)
    wanted = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": created["metadata"]["uid"]}
    assert [wanted] == claim["status"]["reservedFor"]


def test_claims_for_extended_resources_are_created_and_named_in_their_pods(started, api, namespace):
    publish(api, *(f"b-{number}" for number in range(3)))
    api.create(pod_group("g", namespace, minimum=3, key=LABEL))
    pods = [ours(f"g-{number}", namespace, "g") for number in range(3)]
    for each in pods:
        each["spec"]["containers"][0]["resources"]["limits"] = {RESOURCE: "2"}
        each["spec"]["containers"][0]["resources"]["requests"][RESOURCE] = "2"
    api.create_all(pods)
    result = bound(api, namespace, 3)
    assert {name: {f"{on}/d0", f"{on}/d1"} for name, on in result.items()} == devices(api, namespace)
    claims = {each["metadata"]["ownerReferences"][0]["name"]: each for each in api.objects(CLAIM, namespace)}
    for each in api.objects("Pod", namespace):
        status = each["status"]["extendedResourceClaimStatus"]
        assert claims[each["metadata"]["name"]]["metadata"]["name"] == status["resourceClaimName"]
        assert [RESOURCE] == [mapping["resourceName"] for mapping in status["requestMappings"]]


def test_gang_waits_for_binding_conditions_and_another_process_completes_it(plane, racks, api, namespace, tmp_path):
    publish(api, *(f"b-{number}" for number in range(3)), bindsToNode=True, bindingConditions=[ATTACHED], bindingFailureConditions=[BROKEN])
    with sidecar(plane, tmp_path, *ALONE, fork=True) as first:
        gang(api, namespace)

        def waits():
            found = condition_of(api.get("PodGroup", "g", namespace), "PodGroupInitiallyScheduled")
            return "waiting for devices: 3 claims" in found.get("message", "") and found["reason"] == "Waiting"

        until(waits)
        assert {""} == set(places(api, namespace).values())
        assert {"total": 3, "written": 3, "underWay": 0, "failed": 0} == first.explain(namespace, "g")["writes"]["devices"]
        first.kill()
    given = devices(api, namespace)
    with sidecar(plane, tmp_path, *ALONE, fork=True):
        report(api, namespace, ATTACHED)
        bound(api, namespace, 3)
        scheduled(api, "PodGroup", "g", namespace)
    assert given == devices(api, namespace)


def test_gang_stays_in_the_nvlink_domain_that_devices_name(plane, racks, api, namespace, tmp_path):
    """Three nodes of two racks are one domain; each rack has three nodes too."""
    key = f"{DRIVER}/clique"
    cliques = {"a-0": "c1", "a-1": "c1", "a-2": "c2", "b-0": "c2", "b-1": "c2"}
    with sidecar(plane, tmp_path, *ALONE, "--device-topology", key, fork=True) as running:
        gang(api, namespace, request(count=2), key=key)
        # No node has a domain before devices name it.
        until(lambda: "attribute" in condition_of(api.get("PodGroup", "g", namespace), "PodGroupInitiallyScheduled").get("message", ""))
        assert running.get("/readyz")[0] == OK
        for on, clique in cliques.items():
            publish(api, on, attributes={"clique": clique})
        publish(api, "b-2")
        assert {"a-2", "b-0", "b-1"} == set(bound(api, namespace, 3).values())
        scheduled(api, "PodGroup", "g", namespace)


@pytest.mark.parametrize("killed", [False, True], ids=["", "another process goes on"])
def test_gang_that_comes_while_victims_terminate_gets_neither_claim_nor_device(
    killed, plane, racks, nodes, kubelet, api, namespace, tmp_path
):
    def root(name, claim, priority, cpu):
        api.create(pod_group(name, namespace, minimum=1, priorityClassName=priority))
        entries = [{"name": "gpu", "resourceClaimName": claim}]
        api.create(ours(f"{name}-0", namespace, name, cpu=cpu, resourceClaims=entries, priorityClassName=priority))

    def place(name):
        return places(api, namespace)[f"{name}-0"]

    nodes(node("c-0", {LABEL: "c"}, cpu=4))
    api.create(device_slice("c-0", "d"))
    for each in ("used", "new"):
        claim = resource_claim(each, request())
        claim["metadata"]["namespace"] = namespace
        api.create(claim)
    options = ("--mode", "place,preempt", "--lease", "none")
    with priority_classes(api, {"low": 1, "middle": 50, "high": 100}), sidecar(plane, tmp_path, *options, fork=True) as first:
        root("low", "used", "low", 1)
        until(lambda: place("low"))
        kubelet.linger()
        root("high", "new", "high", 1)
        api.wait("Pod", "low-0", namespace, until=lambda result: "deletionTimestamp" in result["metadata"])
        api.wait("Pod", "high-0", namespace, until=lambda result: result.get("status", {}).get("nominatedNodeName") == "c-0")
        if killed:
            first.kill()
        with sidecar(plane, tmp_path, *options, fork=True) if killed else contextlib.nullcontext():
            root("late", "used", "middle", 1)
            api.wait("PodGroup", "late", namespace, until=lambda result: "when evicted pods are gone" in str(result.get("status")))
            assert ["low-0"] == [each["name"] for each in api.get(CLAIM, "used", namespace)["status"]["reservedFor"]]
            kubelet.finish()
            until(lambda: place("high"))
            assert ("c-0", "") == (place("high"), place("late"))
            scheduled(api, "PodGroup", "high", namespace)
            assert [] == results_of(api.get(CLAIM, "used", namespace))
