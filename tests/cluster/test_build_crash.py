"""The sidecar is killed at each write of mode build, and started again: groups and pods are as if nothing had happened."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import yaml

from tests.cluster import go_tools
from tests.cluster.building import RACK, Building, apply, building_plane, built_namespace
from tests.cluster.conftest import available
from tests.cluster.kubelet import node
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_crash import doomed, moments
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", sampled="custom")
MODE = ("--mode", "build,ungate", "--lease", "none", "--settle", "1")
CASES = Path(__file__).parents[1] / "cases" / "controllers"
CONTROLLERS = ("jobset", "kuberay", "lws")
SHARE = 7
"""One of so many moments is tried by `make test`."""
CREATED = range(1, 13)
"""A Workload, a composite, three groups and an event; then each of three pods joins, and gets its node."""
SCALED = range(1, 5)
"""The minimum of the Workload and of the group; then a pod joins, and gets its node."""
REPLICA = range(1, 9)
"""A composite and two groups come or go; then pods join."""
SUSPENDED = range(1, 4)
"""A group, a composite and the Workload go."""


@pytest.fixture(scope="module")
def plane(programs, custom, tmp_path_factory):
    for name in CONTROLLERS:
        available(functools.partial(go_tools.find, name))
    with building_plane(programs, tmp_path_factory.mktemp("installed"), *CONTROLLERS, custom=custom) as started:
        started.api.create_all([node(f"{rack}-{number}", {RACK: rack}, cpu=64) for rack in "ab" for number in range(2)])
        yield started


@pytest.fixture
def building(plane):
    """A namespace of its own."""
    with built_namespace(plane.api, "JobSet", "RayCluster", "LeaderWorkerSet", "Job", "StatefulSet") as name:
        yield Building(plane, name)


def case(name):
    return list(yaml.safe_load_all((CASES / f"{name}.yaml").read_text(encoding="utf-8")))


def is_whole(building, pods):
    until(lambda: not building.troubles(pods), told=lambda: str(building.troubles(pods)))


@moments(CREATED, SHARE)
def test_groups_are_created_and_pods_join_them(plane, building, tmp_path, point, lose):
    (jobset,) = case("jobset")
    workers = jobset["spec"]["replicatedJobs"][1]
    workers["replicas"] = 2
    workers["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    del workers["template"]["metadata"]
    with doomed(plane, tmp_path, MODE, point, lose=lose):
        apply(plane.api, building.namespace, jobset, **{"muster.dev/topology": RACK})
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 3)


@moments(SCALED, SHARE)
def test_a_cluster_is_scaled(plane, building, tmp_path, point, lose):
    raycluster = apply(plane.api, building.namespace, *case("raycluster"))
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 5)
    groups = raycluster["spec"]["workerGroupSpecs"]
    groups[0]["replicas"] = 3
    with doomed(plane, tmp_path, MODE, point, lose=lose):
        plane.api.patch("RayCluster", "tuning", building.namespace, body={"spec": {"workerGroupSpecs": groups}})
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 6)


@moments(REPLICA, SHARE)
def test_a_replica_comes_and_goes(plane, building, tmp_path, point, lose):
    """It comes before the sidecar dies, or goes."""
    (lws,) = case("leaderworkerset")
    del lws["metadata"]["annotations"]
    before, after = (1, 2) if point % 2 == 1 else (2, 1)
    apply(plane.api, building.namespace, {**lws, "spec": {**lws["spec"], "replicas": before}})
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 4 * before)
    with doomed(plane, tmp_path, MODE, point, lose=lose):
        plane.api.patch("LeaderWorkerSet", "vllm", building.namespace, body={"spec": {"replicas": after}})
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 4 * after)


@moments(SUSPENDED, SHARE)
def test_a_suspended_object_loses_its_groups_and_gets_them_again(plane, building, tmp_path, point, lose):
    (jobset,) = case("jobset")
    del jobset["spec"]["replicatedJobs"][1]
    apply(plane.api, building.namespace, jobset)
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 1)
    with doomed(plane, tmp_path, MODE, point, lose=lose):
        plane.api.patch("JobSet", "training", building.namespace, body={"spec": {"suspend": True}})
    with sidecar(plane, tmp_path, *MODE, fork=True):
        is_whole(building, 0)
        plane.api.patch("JobSet", "training", building.namespace, body={"spec": {"suspend": False}})
        is_whole(building, 1)
