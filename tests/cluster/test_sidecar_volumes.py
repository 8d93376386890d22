"""Volumes that the sidecar binds before pods, with the real volume controllers; a provisioner of the tests stands in for a CSI driver."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import clean
from tests.cluster.groups import LABEL, condition_of, pod_group
from tests.cluster.kubelet import node
from tests.cluster.sidecars import install, sidecar
from tests.cluster.test_sidecar_bad_days import ALONE
from tests.cluster.test_sidecar_place import bound, ours, places, scheduled, unschedulable
from tests.cluster.test_sidecar_reports import described, reason_and_message, rules
from tests.cluster.volumes import DRIVER, SELECTED_NODE, STATIC, Provisioner, claim, completed, mount, storage_class, volume
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")

CONTROLLERS = ("persistentvolume-binder-controller", "ephemeral-volume-controller")
CLAIM, HOSTNAME = "PersistentVolumeClaim", "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def plane(plane):
    """The shared one, with volume controllers and two classes."""
    classes = (storage_class("dynamic"), storage_class("local", STATIC))
    try:
        plane.start_controllers(CONTROLLERS)
        plane.api.create_all(classes)
        yield plane
    finally:
        plane.controllers.stop()
        for each in classes:
            plane.api.delete("StorageClass", each["metadata"]["name"])


@pytest.fixture(scope="module")
def provisioner(plane):
    with Provisioner(plane.api) as running:
        yield running


@pytest.fixture
def racks(api, namespace, nodes):
    yield nodes(*(node(f"{rack}-{number}", {LABEL: rack}, cpu=1) for rack in ("a", "b") for number in range(3)))
    clean(api, ("Pod", CLAIM), namespace)
    clean(api, ("PersistentVolume",))


@pytest.fixture
def started(plane, racks, tmp_path, strategy):
    with sidecar(plane, tmp_path, *ALONE, "--strategy", strategy, fork=True) as running:
        yield running


def gang(api, namespace, volumes, count=3):
    """A gang in one rack whose pods have these *volumes*."""
    api.create(pod_group("g", namespace, minimum=count, key=LABEL))
    api.create_all([ours(f"g-{number}", namespace, "g", volumes=volumes(number)) for number in range(count)])


def claims(api, namespace):
    return {each["metadata"]["name"]: each for each in api.objects(CLAIM, namespace)}


def with_claims(api, namespace, storage, count=3):
    api.create_all([claim(f"data-{number}", namespace, storage, 10) for number in range(count)])
    gang(api, namespace, lambda number: [mount(f"data-{number}")], count)


def test_provisioned_volumes_of_a_gang_are_bound_before_its_pods(started, provisioner, api, namespace):
    with_claims(api, namespace, "dynamic")
    result = bound(api, namespace, 3)
    assert 1 == len({on.partition("-")[0] for on in result.values()})
    assert all(map(completed, claims(api, namespace).values()))
    selected = {name: each["metadata"]["annotations"][SELECTED_NODE] for name, each in claims(api, namespace).items()}
    assert {f"data-{number}": result[f"g-{number}"] for number in range(3)} == selected
    scheduled(api, "PodGroup", "g", namespace)


def test_volumes_of_ephemeral_volumes_are_provisioned_too(started, provisioner, api, namespace):
    template = {"spec": claim("", "", "dynamic", 1)["spec"]}
    gang(api, namespace, lambda _: [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    bound(api, namespace, 3)
    assert {f"g-{number}-scratch" for number in range(3)} == {name for name, each in claims(api, namespace).items() if completed(each)}


def test_local_volumes_are_reserved_and_no_pod_is_bound_before_all_are_bound(started, api, namespace):
    # Rack a has too few volumes.
    api.create_all([volume(f"{on}-pv", "local", 20, nodes={HOSTNAME: [on]}) for on in ("a-0", "a-1", "b-0", "b-1", "b-2")])
    with_claims(api, namespace, "local")
    result = bound(api, namespace, 3)
    assert {f"b-{number}" for number in range(3)} == set(result.values())
    assert {f"data-{number}": f"{result[f'g-{number}']}-pv" for number in range(3)} == {
        name: each["spec"]["volumeName"] for name, each in claims(api, namespace).items()
    }


def test_gang_without_enough_local_volumes_is_unschedulable_until_there_is_another(started, api, namespace):
    api.create_all([volume(f"{on}-pv", "local", 20, nodes={HOSTNAME: [on]}) for on in ("a-0", "a-1", "b-0")])
    with_claims(api, namespace, "local")
    messages = unschedulable(api, namespace, 3)
    assert any("didn't find available persistent volumes to bind" in each for each in messages.values()), messages
    assert {""} == set(places(api, namespace).values())
    api.create(volume("a-2-pv", "local", 20, nodes={HOSTNAME: ["a-2"]}))
    assert {"a-0", "a-1", "a-2"} == set(bound(api, namespace, 3).values())
    scheduled(api, "PodGroup", "g", namespace)


def test_volume_that_is_not_created_binds_no_pod_and_is_reported(started, provisioner, api, namespace):
    provisioner.failing = {f"{rack}-{number}" for rack in "ab" for number in range(3)}
    try:
        with_claims(api, namespace, "dynamic")

        def waits():
            found = condition_of(api.get("PodGroup", "g", namespace), "PodGroupInitiallyScheduled")
            return "waiting for volumes: 3 claims" in found.get("message", "") and found["reason"] == "Waiting"

        until(waits)
        assert {""} == set(places(api, namespace).values())
        explained = started.explain(namespace, "g")
        assert {"total": 3, "written": 3, "underWay": 0, "failed": 0} == explained["writes"]["volumes"]
        assert ("Success", "binding") == (explained["status"], explained["writes"]["queue"])
        selected = {name: each["metadata"]["annotations"][SELECTED_NODE] for name, each in claims(api, namespace).items()}
        assert {f"{namespace}/{name}": {"selectedNode": node} for name, node in selected.items()} == explained["volumes"]
    finally:
        provisioner.failing = set()
    for each in claims(api, namespace).values():
        provisioner.provision(each)
    bound(api, namespace, 3)


def test_a_csi_storage_capacity_without_capacity_does_not_stop_the_sidecar(started, provisioner, api, namespace):
    """kube-scheduler 1.37.1 crashes when it scores several nodes by such an object; the size of the largest volume still counts."""
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "storageClassName": "dynamic"}

    def capacity(name, **fields):
        return {**head, "metadata": {"name": name, "namespace": namespace}, "nodeTopology": {"matchLabels": {LABEL: name}}, **fields}

    measured = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}
    api.create(measured)
    try:
        api.create_all([capacity("a", maximumVolumeSize="9Gi"), capacity("b")])
        with_claims(api, namespace, "dynamic")
        messages = unschedulable(api, namespace, 3)
        assert any("did not have enough free storage" in each for each in messages.values()), messages
        api.create({**capacity("b", maximumVolumeSize="10Gi"), "metadata": {"name": "more", "namespace": namespace}})
        assert {"b-0", "b-1", "b-2"} == set(bound(api, namespace, 3).values())
        scheduled(api, "PodGroup", "g", namespace)
        assert "Traceback" not in started.log.read_text()
    finally:
        api.delete("CSIDriver", DRIVER)
        clean(api, ("CSIStorageCapacity",), namespace)


def without(rules, *resources):
    """Return *rules* of cluster roles without these resources."""
    kept = [{**each, "resources": [name for name in each["resources"] if name not in resources]} for each in rules]
    return [each for each in kept if each["resources"]]


def test_only_gangs_with_volumes_wait_for_a_kind_that_is_forbidden(plane, racks, api, namespace, tmp_path):
    """The role lacks CSINodes and StorageClasses; they are granted while the sidecar runs."""
    install(api)
    granted, user = rules()[0], f"volumes-{namespace}"
    config = plane.user(user, without(granted, "csinodes", "storageclasses"))
    api.create_all(
        [volume(f"{on}-pv", "local", 20, nodes={HOSTNAME: [on]}) for on in (f"{rack}-{number}" for rack in "ab" for number in range(3))]
    )
    with_claims(api, namespace, "local")
    with sidecar(plane, tmp_path, *ALONE, through=config, wait=False, fork=True) as running:
        api.create(pod_group("h", namespace, minimum=2, key=LABEL))
        api.create_all([ours(f"h-{number}", namespace, "h") for number in range(2)])
        bound(api, namespace, 2)
        scheduled(api, "PodGroup", "h", namespace)
        rule = "allow the verbs list and watch for csinodes.storage.k8s.io and storageclasses.storage.k8s.io in the sidecar's ClusterRole"
        wanted = f"waiting for objects that pod {namespace}/g-0 needs: CSINode and StorageClass objects cannot be listed: {rule}"
        assert ("Waiting", wanted) == reason_and_message(api, "PodGroup", "g", namespace, rule)
        until(lambda: wanted in described(plane, namespace, "g"), told=lambda: described(plane, namespace, "g"))
        explained = running.explain(namespace, "g")
        assert ("Wait", wanted, "gated") == (explained["status"], explained["message"], explained["writes"]["queue"])
        one = "allow the verbs list and watch for csinodes.storage.k8s.io in the sidecar's ClusterRole"
        code, reasons = running.get("/readyz")
        assert (503, True) == (code, "CSINode objects are not listed yet: HTTP 403: " in reasons and one in reasons), reasons
        assert [line for line in running.lines if line["event"] == "watch" and line["kind"] == "CSINode" and line["reason"].endswith(one)]
        assert {""} == {on for name, on in places(api, namespace).items() if name.startswith("g-")}

        plane.grant(user, granted, {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user})
        result = bound(api, namespace, 5)
        assert 1 == len({on.partition("-")[0] for name, on in result.items() if name.startswith("g-")})
        scheduled(api, "PodGroup", "g", namespace)
        until(lambda: running.get("/readyz") == (200, "ok\n"), told=lambda: str(running.get("/readyz")))


def test_gang_with_annotated_claims_is_completed_by_a_new_process(plane, racks, provisioner, api, namespace, tmp_path):
    provisioner.failing = {f"{rack}-{number}" for rack in "ab" for number in range(3)}
    with sidecar(plane, tmp_path, *ALONE, fork=True) as first:
        with_claims(api, namespace, "dynamic")
        until(lambda: all(SELECTED_NODE in (each["metadata"].get("annotations") or {}) for each in claims(api, namespace).values()))
        first.kill()
    provisioner.failing = set()
    for each in claims(api, namespace).values():
        provisioner.provision(each)
    with sidecar(plane, tmp_path, *ALONE, fork=True):
        bound(api, namespace, 3)
        scheduled(api, "PodGroup", "g", namespace)


def test_claims_of_a_gang_deleted_during_a_restart_lose_their_annotation(plane, racks, provisioner, api, namespace, tmp_path):
    """The sidecar recognizes its annotations by their field manager; no pod needs claims, so it lists them once at its start."""
    everywhere = {f"{rack}-{number}" for rack in "ab" for number in range(3)}

    def annotated():
        return {name for name, each in claims(api, namespace).items() if SELECTED_NODE in (each["metadata"].get("annotations") or {})}

    try:
        provisioner.failing = everywhere
        with sidecar(plane, tmp_path, *ALONE, fork=True) as first:
            with_claims(api, namespace, "dynamic")
            until(lambda: len(annotated()) == 3)
            first.kill()
        clean(api, ("Pod", "PodGroup"), namespace)
        api.create(claim("others", namespace, "dynamic", 10))
        api.patch(CLAIM, "others", namespace, body={"metadata": {"annotations": {SELECTED_NODE: "a-0"}}})
        with sidecar(plane, tmp_path, *ALONE, fork=True):
            until(lambda: annotated() == {"others"}, told=lambda: str(annotated()))
    finally:
        provisioner.failing = set()
