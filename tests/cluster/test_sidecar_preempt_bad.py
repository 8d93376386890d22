"""Preemption while the sidecar is killed and the API server fails: no unneeded victim, and the root is placed."""

from __future__ import annotations

import random

import pytest

from tests.cluster.faults import WELL, Fault, faults
from tests.cluster.groups import LABEL, pod_group
from tests.cluster.sidecars import kubeconfig, sidecar
from tests.cluster.take_effect import priority_classes
from tests.cluster.test_sidecar_crash import killed_at, moments
from tests.cluster.test_sidecar_place import bound, ours, places, racks, scheduled
from tests.cluster.waiting import until
from tests.sampling import every

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

MODE = ("--mode", "place,preempt", "--lease", "none")
POINTS = range(1, 19)
"""All writes of a preemption: what is told and promised, each eviction, the binds, and what is told then."""


@pytest.fixture(autouse=True, scope="module")
def classes(plane):
    with priority_classes(plane.api, {"low": 1, "high": 100}):
        yield


def gang(api, namespace, name, level):
    """Two pods that take a rack of two nodes, and leave together."""
    api.create(pod_group(name, namespace, minimum=2, key=LABEL, disruptionMode={"all": {}}, priorityClassName=level))
    api.create_all([ours(f"{name}-{number}", namespace, name, cpu=4, priorityClassName=level) for number in range(2)])


def filled(api, namespace, nodes):
    """Two racks, each with a gang that may be made to leave; nothing of it is still to be written."""
    nodes(*racks(2))
    for name in ("low-a", "low-b"):
        gang(api, namespace, name, "low")
        scheduled(api, "PodGroup", name, namespace)
    bound(api, namespace, 4)
    # Events come last.
    until(lambda: 2 == sum(each["reason"] == "Scheduled" for each in api.objects("Event", namespace)))


def evicted_one_gang(api, namespace):
    """Both pods of the gang that came are in one rack, one of the two others is whole where it was, and the other is gone."""
    api.wait_all(
        "Pod", namespace, until=lambda pods: {"high-0", "high-1"} <= {name for name, each in pods.items() if each["spec"].get("nodeName")}
    )
    scheduled(api, "PodGroup", "high", namespace)
    api.wait_all("Pod", namespace, until=lambda pods: not any("deletionTimestamp" in each["metadata"] for each in pods.values()))
    result = places(api, namespace)
    gangs = sorted({name.rpartition("-")[0] for name in result})
    assert 4 == len(result), result
    assert all(result.values()), result
    assert gangs in (["high", "low-a"], ["high", "low-b"])
    for name in gangs:
        assert 1 == len({result[f"{name}-{number}"].partition("-")[0] for number in range(2)})


@moments(POINTS)
def test_no_pod_is_preempted_in_vain_whenever_the_sidecar_dies(plane, api, namespace, nodes, kubelet, tmp_path, point, lose):
    with faults(plane) as proxy, sidecar(plane, tmp_path, *MODE, through=proxy.kubeconfig(kubeconfig(plane)), fork=True) as first:
        filled(api, namespace, nodes)
        with killed_at(proxy, first, len(proxy.writes) + point, lose=lose):
            gang(api, namespace, "high", "high")
    with sidecar(plane, tmp_path, *MODE, fork=True):
        evicted_one_gang(api, namespace)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(code=409), id="conflicts"),
        pytest.param(Fault(code=429, retry_after=0), id="too many requests"),
        pytest.param(Fault(code=500), id="internal errors"),
        pytest.param(Fault(lose=True), id="lost answers"),
    ],
)
@pytest.mark.parametrize("seed", every(2, [1, 2]))
def test_no_pod_is_preempted_in_vain_whatever_fails(plane, api, namespace, nodes, kubelet, tmp_path, fault, seed):
    chance = random.Random(seed)
    with faults(plane) as proxy, sidecar(plane, tmp_path, *MODE, through=proxy.kubeconfig(kubeconfig(plane)), fork=True):
        filled(api, namespace, nodes)
        proxy.decide = lambda requested: fault if requested.changes and chance.random() < 0.4 else WELL
        gang(api, namespace, "high", "high")
        evicted_one_gang(api, namespace)
