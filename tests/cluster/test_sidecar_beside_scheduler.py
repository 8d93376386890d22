"""The sidecar and the real kube-scheduler place pods on the same nodes: what one takes from the other is placed anew, as a gang."""

from __future__ import annotations

import threading

import pytest

from tests.cluster.faults import WELL, Fault, faults
from tests.cluster.groups import LABEL, pod_group
from tests.cluster.kubelet import Kubelet, node, pod
from tests.cluster.sidecars import kubeconfig, sidecar
from tests.cluster.test_sidecar_bad_days import ALONE
from tests.cluster.test_sidecar_place import events_of, ours, places, scheduled
from tests.cluster.waiting import until

CPU = "600m"


@pytest.fixture(scope="module")
def plane(plane):
    """The shared one, with kube-scheduler."""
    try:
        plane.start_scheduler()
        yield plane
    finally:
        plane.scheduler.stop()


def test_gang_that_loses_a_node_to_kube_scheduler_is_placed_again_as_a_gang(plane, api, namespace, nodes, tmp_path):
    names = [f"{rack}-{number}" for rack in ("a", "b") for number in range(2)]
    nodes(*(node(name, {LABEL: name[0]}, cpu=1) for name in names))
    bindings = threading.Event()

    def decide(request):
        if not request.path.endswith("/binding"):
            return WELL
        bindings.set()
        return Fault(delay=2.0)

    with (
        Kubelet(api, dict.fromkeys(names, 1000)),
        faults(plane) as proxy,
        sidecar(plane, tmp_path, *ALONE, through=proxy.kubeconfig(kubeconfig(plane)), fork=True),
    ):
        proxy.decide = decide
        api.create(pod_group("g", namespace, minimum=2, key=LABEL))
        api.create_all([ours(f"g-{number}", namespace, "g", cpu=CPU) for number in range(2)])
        assert bindings.wait(60)
        # The sidecar chose the first of two equal racks.
        api.create(pod("fast", namespace, spec={"nodeSelector": {LABEL: "a"}}, cpu=CPU))
        api.wait("Pod", "fast", namespace, until=lambda found: bool((found or {}).get("spec", {}).get("nodeName")))
        proxy.decide = lambda _: WELL
        found = api.wait_all(
            "Pod", namespace, until=lambda pods: any(one.get("status", {}).get("phase") == "Failed" for one in pods.values())
        )
        (rejected,) = [name for name, one in found.items() if one["status"]["phase"] == "Failed"]
        assert rejected.startswith("g-")
        until(lambda: placed_again(api, namespace))
        assert "PlacementUndone" in events_of(api, namespace, "g")
        scheduled(api, "PodGroup", "g", namespace)

    assert {"g-0": "b", "g-1": "b", "fast": "a"} == {name: on.partition("-")[0] for name, on in places(api, namespace).items()}


def placed_again(api, namespace):
    """Create pods of the gang again that have failed or were deleted, as its controller does; return True once all are bound."""
    found = {one["metadata"]["name"]: one for one in api.objects("Pod", namespace)}
    for name in ("g-0", "g-1"):
        if found.get(name, {}).get("status", {}).get("phase") == "Failed":
            api.delete("Pod", name, namespace, gracePeriodSeconds=0)
            del found[name]
        if name not in found:
            api.create(ours(name, namespace, "g", cpu=CPU))
    return len(found) == 3 and all(one["spec"].get("nodeName") and not one["metadata"].get("deletionTimestamp") for one in found.values())
