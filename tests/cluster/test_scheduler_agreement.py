"""`simulate --strategy greedy` and the real kube-scheduler decide alike on random clusters."""

from __future__ import annotations

import contextlib

import pytest

from tests.cluster.conftest import clean, new_namespace
from tests.cluster.random_clusters import Drawing
from tests.cluster.scheduler_agreement import begin, build, differs, observed, present
from tests.cluster.volumes import Provisioner
from tests.sampling import every

CONTROLLERS = ("persistentvolume-binder-controller", "ephemeral-volume-controller")
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


def difference(api, seed, features=None):
    """Return in which way the results of a cluster differ; empty if only by lot."""
    with new_namespace(api) as namespace, contextlib.ExitStack() as leaving:
        cluster = Drawing(seed, namespace, features).cluster()
        leaving.callback(removed, api, cluster)
        leaving.callback(clean, api, ("Pod", "PersistentVolumeClaim"), namespace)
        build(api, cluster)
        objects = present(api, namespace)
        root = begin(api, cluster)
        return differs(observed(api, cluster), [*objects, *root], cluster)


@pytest.mark.parametrize("seed", every(50, range(200)))
def test_random_clusters_with_volumes(plane, seed, record_property):
    for number in range(TRIES):
        if not (found := difference(plane.api, seed)):
            return
        # A report of the run (--junitxml) lists the differences that did not come again.
        record_property(f"difference {number + 1}", found)
    pytest.fail(found)
