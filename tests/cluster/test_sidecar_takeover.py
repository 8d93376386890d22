"""A second replica takes over while its watch of one kind is late: it places nothing where the first one has just placed something."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from kubeapi.pods import group_in
from tests.cluster.api import Api
from tests.cluster.conftest import clean
from tests.cluster.faults import faults
from tests.cluster.groups import LABEL, pod_group
from tests.cluster.kubelet import node
from tests.cluster.sidecars import Sidecar, kubeconfig, sidecar
from tests.cluster.test_sidecar_bad_days import leader
from tests.cluster.test_sidecar_place import bound, ours, places
from tests.cluster.volumes import STATIC, claim, mount, storage_class, volume
from tests.cluster.waiting import until
from tests.sampling import WHOLE
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, resource_claim

pytestmark = pytest.mark.custom_resources("1.37")
MODE = ("--mode", "place,preempt")
TAKEOVERS = range(30 if WHOLE else 1)
"""In each of the API groups; a new leader waits up to 15 s for the lease of a process that was killed."""
CLAIM, DEVICES = "PersistentVolumeClaim", "ResourceClaim"


@pytest.fixture(scope="module")
def plane(plane):
    """The shared one, with the controllers of volumes and claims, and a class of each."""
    try:
        plane.start_controllers(("persistentvolume-binder-controller", "resourceclaim-controller"))
        plane.api.create_all([storage_class("local", STATIC), device_class()])
        yield plane
    finally:
        plane.controllers.stop()
        plane.api.delete("StorageClass", "local")
        plane.api.delete("DeviceClass", device_class()["metadata"]["name"])


@dataclasses.dataclass(frozen=True)
class World:
    api: Api
    namespace: str
    nodes: Callable[..., Any]

    def gang(self, name: str, count: int, *, grouped: bool = True, **spec: Any) -> None:
        """A gang; without its group it waits."""
        if grouped:
            self.group(name, count)
        self.api.create_all([ours(f"{name}-{number}", self.namespace, name, **spec) for number in range(count)])

    def group(self, name: str, count: int, key: str = "") -> None:
        self.api.create(pod_group(name, self.namespace, minimum=count, key=key))


class LatePods:
    """The first leader fills a node."""

    resources = {"pods"}

    def before(self, world: World) -> None:
        world.nodes(node("n", cpu=2))
        world.gang("x", 2, grouped=False)

    def meanwhile(self, world: World) -> None:
        world.gang("y", 2)
        bound(world.api, world.namespace, 2)
        world.group("x", 2)


class LateNodes:
    """A node shrinks."""

    resources = {"nodes"}

    def before(self, world: World) -> None:
        world.nodes(node("n", cpu=2))
        world.gang("x", 2, grouped=False)

    def meanwhile(self, world: World) -> None:
        smaller = world.api.get("Node", "n")
        smaller["status"]["allocatable"]["cpu"] = "1"
        world.api.replace(smaller, subresource="status")
        world.group("x", 2)


class LateGroups:
    """A group is replaced by one whose pods must be in one rack."""

    resources = {"podgroups"}

    def before(self, world: World) -> None:
        world.nodes(*(node(f"{rack}-0", {LABEL: rack}, cpu=1) for rack in "ab"))
        world.group("x", 2)

    def meanwhile(self, world: World) -> None:
        before = world.api.get("PodGroup", "x", world.namespace)
        world.api.replace({**before, "metadata": {**before["metadata"], "finalizers": []}})
        world.api.delete("PodGroup", "x", world.namespace)
        world.group("x", 2, key=LABEL)
        world.gang("x", 2, grouped=False)


class LateClaims:
    """The first leader allocates the only device."""

    resources = {"resourceclaims"}

    def before(self, world: World) -> None:
        world.nodes(node("n", cpu=8))
        world.api.create(device_slice("n", "d0"))
        world.api.create_all([{**each, "metadata": {**each["metadata"], "namespace": world.namespace}} for each in map(_unallocated, "xy")])
        world.gang("x", 1, grouped=False, resourceClaims=[{"name": "gpu", "resourceClaimName": "x"}])

    def meanwhile(self, world: World) -> None:
        world.gang("y", 1, resourceClaims=[{"name": "gpu", "resourceClaimName": "y"}])
        bound(world.api, world.namespace, 1)
        world.group("x", 1)


class LateVolumes:
    """The first leader binds the only volume."""

    resources = {"persistentvolumes", "persistentvolumeclaims"}

    def before(self, world: World) -> None:
        world.nodes(node("n", cpu=8))
        world.api.create(volume("only", "local", 20, nodes={"kubernetes.io/hostname": ["n"]}))
        world.api.create_all([claim(name, world.namespace, "local", 10) for name in "xy"])
        world.gang("x", 1, grouped=False, volumes=[mount("x")])

    def meanwhile(self, world: World) -> None:
        world.gang("y", 1, volumes=[mount("y")])
        bound(world.api, world.namespace, 1)
        world.group("x", 1)


def _unallocated(name: str) -> dict[str, Any]:
    return {key: value for key, value in resource_claim(name).items() if key != "status"}


def overfull(api: Api, namespace: str) -> dict[str, Any]:
    """Return the nodes with more pods than capacity, gangs in several racks, devices and volumes in use by several claims."""
    used: Counter[str] = Counter()
    racks: dict[str, set[str]] = {}
    nodes = {each["metadata"]["name"]: each for each in api.objects("Node")}
    for each in api.objects("Pod", namespace):
        if on := each["spec"].get("nodeName"):
            used[on] += int(each["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            racks.setdefault(group_in(each), set()).add(nodes[on]["metadata"]["labels"].get(LABEL, ""))
    apart = {
        each["metadata"]["name"]
        for each in api.objects("PodGroup", namespace)
        if each["spec"].get("schedulingConstraints") and len(racks.get(each["metadata"]["name"], ())) > 1
    }
    claims = [
        each.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []) for each in api.objects(DEVICES, namespace)
    ]
    given = Counter(f"{result['pool']}/{result['device']}" for results in claims for result in results)
    volumes = Counter(name for each in api.objects(CLAIM, namespace) if (name := each["spec"].get("volumeName")))
    result = {
        "nodes": {name: cpu for name, cpu in used.items() if cpu > Fraction(nodes[name]["status"]["allocatable"]["cpu"])},
        "apart": apart,
        "twice": {name for name, count in (given + volumes).items() if count > 1},
    }
    return {key: value for key, value in result.items() if value}


def decided(running: Sidecar, namespace: str) -> Any:
    """Return the status that *running* has decided on for the gang ``x``; empty if it has not."""
    status = running.explain(namespace, "x").get("status", "")
    return status if status != "Wait" else ""


@pytest.mark.parametrize("way", ["SIGTERM", "kill -9"])
@pytest.mark.parametrize("takeover", TAKEOVERS)
@pytest.mark.parametrize("late", [LatePods(), LateNodes(), LateGroups(), LateClaims(), LateVolumes()], ids=lambda each: type(each).__name__)
def test_a_new_leader_uses_nothing_that_the_one_before_has_just_used(plane, api, namespace, nodes, tmp_path, late, takeover, way):
    world = World(api, namespace, nodes)
    with contextlib.ExitStack() as stack:
        stack.callback(clean, api, ("ResourceSlice", "PersistentVolume"))
        stack.callback(clean, api, ("Pod", CLAIM, DEVICES), namespace)
        first = stack.enter_context(sidecar(plane, tmp_path, *MODE, "--identity", "first", fork=True))
        until(lambda: leader(api) == "first")
        proxy = stack.enter_context(faults(plane))
        through = proxy.kubeconfig(kubeconfig(plane))
        second = stack.enter_context(sidecar(plane, tmp_path, *MODE, "--identity", "second", through=through, fork=True))
        # Pods that are created from now on are events, not part of a list.
        until(lambda: "pods" in proxy.streams)
        late.before(world)
        seen = len(api.objects("Pod", namespace))
        until(lambda: second.metric('muster_watch_events_total{kind="Pod"}') >= seen and late.resources <= proxy.streams)
        proxy.held = frozenset(late.resources)
        late.meanwhile(world)
        until(lambda: decided(first, namespace), told=lambda: str(first.explain(namespace, "x")))
        if way == "SIGTERM":
            first.stop()
        else:
            first.kill()
        until(lambda: leader(api) == "second")
        until(lambda: decided(second, namespace), told=lambda: str(second.explain(namespace, "x")))
        status, placed = decided(second, namespace), places(api, namespace)
        proxy.held = frozenset()

        assert {} == overfull(api, namespace)
        # The decision comes before the binds.
        assert status.startswith("Unschedulable"), status
        assert not any(on for name, on in placed.items() if name.startswith("x-")), placed
