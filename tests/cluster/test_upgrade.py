"""Another version of the sidecar takes over the objects, conditions, finalizers and the Lease of this one, and the other way round.

The other version is a commit of this repository, with the libraries of this version.
"""

from __future__ import annotations

import os

import pytest

from tests.cluster.groups import LABEL, composite, condition_of, pod_group
from tests.cluster.other_version import environ_of, extracted
from tests.cluster.sidecars import NAMESPACE, sidecar
from tests.cluster.take_effect import priority_classes
from tests.cluster.test_sidecar_place import bound, ours, places, racks, scheduled
from tests.cluster.test_sidecar_preempt import evicted, gang
from tests.cluster.test_sidecar_validate import circle, reported_condition
from tests.cluster.waiting import until

BEFORE = "365db5fd70c707e29165d77f99f9f174e468a8b7"
"""The last commit with the layout before packages were divided into layers."""
LEASE = "muster-sidecar"
ORDERS = {"upgrade": ("before", "now"), "rollback": ("now", "before")}


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """Return the environment of each version."""
    return {"now": {**os.environ}, "before": environ_of(extracted(BEFORE, tmp_path_factory.mktemp("before")))}


@pytest.fixture(autouse=True)
def classes(api):
    with priority_classes(api, {"low": 1, "high": 100}):
        yield


def lease(api):
    return api.get("Lease", LEASE, NAMESPACE)["spec"]


def leads(api, running):
    """Wait until a sidecar leads."""
    until(lambda: running.metric("muster_leader") == 1, told=lambda: running.log.read_text()[-2000:])


def observed(api, namespace):
    """Return what a version has reported on groups, without the times of updates."""
    groups = [*api.objects("PodGroup", namespace), *api.objects("CompositePodGroup", namespace)]
    return {
        (each["kind"], each["metadata"]["name"]): (each["metadata"].get("finalizers"), each.get("status", {}).get("conditions"))
        for each in groups
    }


@pytest.mark.parametrize("order", ORDERS)
def test_another_version_continues(plane, api, namespace, nodes, kubelet, tmp_path, environments, order):
    first, second = (environments[each] for each in ORDERS[order])
    nodes(*racks(2))
    with sidecar(plane, tmp_path, environ=first) as running:
        leads(api, running)
        gang(api, namespace, "low", "low", mode="all")
        bound(api, namespace, 2)
        scheduled(api, "PodGroup", "low", namespace)
        api.create(composite("top", namespace, minimum=1, key=LABEL, priorityClassName="high"))
        api.create(pod_group("below", namespace, minimum=2, parent="top", priorityClassName="high"))
        api.create_all([ours(f"below{number}", namespace, "below", cpu=4, priorityClassName="high") for number in range(2)])
        bound(api, namespace, 4)
        scheduled(api, "CompositePodGroup", "top", namespace)
        circle(api, namespace)
        reported_condition(api, "PodGroup", "leaf", namespace)
        kubelet.linger()
        gang(api, namespace, "high", "high")
        for name in ("low0", "low1"):
            evicted(api, name, namespace)
        api.wait("PodGroup", "low", namespace, until=lambda result: condition_of(result, "DisruptionTarget"))
        assert 0 == running.stop()
    before, transitions = observed(api, namespace), lease(api)["leaseTransitions"]
    assert not lease(api).get("holderIdentity")

    with sidecar(plane, tmp_path, environ=second) as running:
        leads(api, running)
        assert transitions + 1 >= lease(api)["leaseTransitions"]
        until(lambda: running.explain(namespace, "high").get("status", "Success") != "Success")
        kept = {key: value for key, value in observed(api, namespace).items() if key[1] != "high"}
        assert {key: value for key, value in before.items() if key[1] != "high"} == kept
        kubelet.finish()
        scheduled(api, "PodGroup", "high", namespace)
        assert {"below0", "below1", "high0", "high1"} == {name for name, where in places(api, namespace).items() if where}
        for name in ("below0", "below1"):
            api.delete("Pod", name, namespace, gracePeriodSeconds=0)
        for kind, name in (("PodGroup", "below"), ("CompositePodGroup", "top")):
            api.delete(kind, name, namespace)
            api.wait(kind, name, namespace, until=lambda result: result is None)
        api.create(pod_group("later", namespace, minimum=2, key=LABEL))
        api.create_all([ours(f"later{number}", namespace, "later", cpu=4) for number in range(2)])
        scheduled(api, "PodGroup", "later", namespace)
        assert [] == [each for each in running.lines if each["level"] == "error"]
