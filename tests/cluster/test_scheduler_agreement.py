"""`simulate --strategy greedy` and the real kube-scheduler decide alike on random clusters."""

from __future__ import annotations

import contextlib

import pytest

from tests.cluster.conftest import clean, new_namespace
from tests.cluster.random_clusters import Drawing
from tests.cluster.random_devices import NAMESPACE_LABELS, CountedDrawing, DeviceDrawing
from tests.cluster.scheduler_agreement import begin, build, compared, observed, present
from tests.cluster.volumes import Provisioner
from tests.sampling import every

CONTROLLERS = ("persistentvolume-binder-controller", "ephemeral-volume-controller", "resourceclaim-controller")
TRIES = 3
"""Of a cluster on which the two differ: kube-scheduler can decide before it has seen all objects."""


@pytest.fixture(scope="module")
def plane(plane):
    """The shared one, with kube-scheduler, volume controllers and a provisioner."""
    try:
        plane.start_controllers(CONTROLLERS)
        plane.start_scheduler()
        with Provisioner(plane.api):
            yield plane
    finally:
        plane.scheduler.stop()
        plane.controllers.stop()


def removed(api, cluster):
    for each in cluster.shared:
        if each["kind"] != "PersistentVolume":
            api.delete(each["kind"], each["metadata"]["name"])
    clean(api, ("PersistentVolume",))


def comparison(api, seed, record_property, features=None, drawing=Drawing, labels=None):
    """Compare the results of a cluster; the report of the run (--junitxml) has what was compared."""
    with new_namespace(api, labels) as namespace, contextlib.ExitStack() as leaving:
        cluster = drawing(seed, namespace, features).cluster()
        leaving.callback(removed, api, cluster)
        leaving.callback(clean, api, ("Pod", "ResourceClaim", "PersistentVolumeClaim"), namespace)
        build(api, cluster)
        objects = present(api, namespace)
        root = begin(api, cluster)
        real = observed(api, cluster)
        record_property("result", f"{real.status} {len(real.victims)} victims, {' '.join(cluster.features)}")
        return compared(real, [*objects, *root], cluster)


def agrees(plane, seed, record_property, **options):
    """Compare the results, several times if they differ."""
    for number in range(TRIES):
        found = comparison(plane.api, seed, record_property, **options)
        if not found.difference:
            record_property("lots", found.lots)
            return
        # The report lists the differences that did not come again.
        record_property(f"difference {number + 1}", found.difference)
    pytest.fail(found.difference)


@pytest.mark.parametrize("seed", every(50, range(200)))
def test_random_clusters_with_volumes(plane, seed, record_property):
    agrees(plane, seed, record_property)


@pytest.mark.parametrize("seed", every(50, range(200)))
def test_random_clusters_with_devices(plane, seed, record_property):
    agrees(plane, seed, record_property, drawing=DeviceDrawing, labels=NAMESPACE_LABELS)


@pytest.mark.parametrize("seed", every(50, range(200)))
def test_random_clusters_with_interchangeable_devices(plane, seed, record_property):
    agrees(plane, seed, record_property, drawing=CountedDrawing, labels=NAMESPACE_LABELS)
