"""`simulate --strategy greedy` and the real kube-scheduler decide alike on random clusters."""

from __future__ import annotations

import contextlib

import pytest

from scheduler_core.loading.configuration.scheduler_configuration import read_configuration
from tests.cluster.conftest import clean, new_namespace
from tests.cluster.random_clusters import Drawing
from tests.cluster.random_devices import NAMESPACE_LABELS, CountedDrawing, DeviceDrawing
from tests.cluster.random_groups import GroupsDrawing
from tests.cluster.random_profiles import TEAM, AffinityDrawing, placing_profile, profile_name
from tests.cluster.scheduler_agreement import begin, build, compared, namespaces, observed, present
from tests.cluster.scheduler_configs import configuration as configuration_of
from tests.cluster.volumes import Provisioner
from tests.sampling import every

CONTROLLERS = ("persistentvolume-binder-controller", "ephemeral-volume-controller", "resourceclaim-controller")
PROFILED = every(50, range(1000, 1100))
"""Seeds of clusters that are placed by a random profile."""
CONFIGURATION = configuration_of({"schedulerName": "default-scheduler"}, *map(placing_profile, PROFILED))
TRIES = 3
"""Of a cluster on which the two differ: kube-scheduler can decide before it has seen all objects."""


@pytest.fixture(scope="module")
def plane(plane):
    """The shared one, with kube-scheduler, volume controllers and a provisioner."""
    try:
        plane.start_controllers(CONTROLLERS)
        plane.start_scheduler(CONFIGURATION)
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


def comparison(
    api, seed, features=None, drawing=Drawing, labels=None, scheduler="default-scheduler", configuration=CONFIGURATION, recorded=None
):
    """Compare the results of a cluster, with the profiles that kube-scheduler has; *recorded* is told what was compared."""
    with new_namespace(api, labels) as namespace, contextlib.ExitStack() as leaving:
        cluster = drawing(seed, namespace, features, scheduler).cluster()
        leaving.callback(removed, api, cluster)
        leaving.callback(clean, api, ("Pod", "ResourceClaim", "PersistentVolumeClaim"), namespace)
        for other in namespaces(cluster):
            leaving.callback(clean, api, ("Pod",), other)
        build(api, cluster)
        objects = present(api, cluster)
        root = begin(api, cluster)
        real = observed(api, cluster)
        if recorded is not None:
            recorded("result", f"{real.status} {len(real.victims)} victims, {' '.join(cluster.features)}")
        used = [each for each in configuration["profiles"] if each["schedulerName"] == scheduler]
        return compared(real, [*objects, *root], cluster, {**configuration, "profiles": used})


def agrees(plane, seed, record_property, **options):
    """Compare the results, several times if they differ."""
    for number in range(TRIES):
        # The report of the run (--junitxml) has what was compared.
        found = comparison(plane.api, seed, recorded=record_property, **options)
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


@pytest.mark.parametrize("seed", every(50, range(200)))
def test_random_clusters_with_affinity_namespaces_owners_and_taints(plane, seed, record_property):
    agrees(plane, seed, record_property, drawing=AffinityDrawing, labels=TEAM)


@pytest.mark.parametrize("seed", every(50, range(200)))
def test_random_clusters_with_running_groups_and_deep_trees(plane, seed, record_property):
    agrees(plane, seed, record_property, drawing=GroupsDrawing)


@pytest.mark.parametrize("seed", PROFILED)
def test_random_clusters_by_random_profiles(plane, seed, record_property):
    agrees(plane, seed, record_property, drawing=AffinityDrawing, labels=TEAM, scheduler=profile_name(seed))


def test_all_of_the_random_profiles_is_modelled():
    read = read_configuration(configuration_of(*map(placing_profile, range(1000, 1100))))
    assert ((), ()) == (read.errors, read.notes)
