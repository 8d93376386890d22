"""Volumes that the sidecar binds before pods, with the real volume controllers; a provisioner of the tests stands in for a CSI driver."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import clean
from tests.cluster.groups import LABEL, condition_of, pod_group
from tests.cluster.kubelet import node
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_bad_days import ALONE
from tests.cluster.test_sidecar_place import bound, ours, places, scheduled
from tests.cluster.volumes import SELECTED_NODE, STATIC, Provisioner, claim, completed, mount, storage_class, volume
from tests.cluster.waiting import until

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
def started(plane, racks, tmp_path):
    with sidecar(plane, tmp_path, *ALONE, fork=True) as running:
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


def test_volume_that_is_not_created_binds_no_pod_and_is_reported(started, provisioner, api, namespace):
    provisioner.failing = {f"{rack}-{number}" for rack in "ab" for number in range(3)}
    try:
        with_claims(api, namespace, "dynamic")

        def waits():
            found = condition_of(api.get("PodGroup", "g", namespace), "PodGroupInitiallyScheduled")
            return "waiting for volumes: 3 claims" in found.get("message", "") and found["reason"] == "Waiting"

        until(waits)
        assert {""} == set(places(api, namespace).values())
        explained = started.get(f"/explain/{namespace}/g")[1]
        assert (
            '"volumes":{"failed":0,"total":3,"underWay":0,"written":3}' in explained.replace(" ", "").replace("\n", "")
            or "volumes" in explained
        )
    finally:
        provisioner.failing = set()
    for each in claims(api, namespace).values():
        provisioner.provision(each)
    bound(api, namespace, 3)


def test_gang_is_completed_by_a_process_that_was_started_after_the_claims_were_annotated(
    plane, racks, provisioner, api, namespace, tmp_path
):
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
