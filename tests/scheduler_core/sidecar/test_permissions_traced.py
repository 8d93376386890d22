"""The permissions of each mode are those of the requests that the code sends in it: not one too many, not one too few."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from apiserver.api import ReplyError
from apiserver.discovery import base_path
from apiserver.election import Election
from apiserver.lease import Lease
from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37
from scheduler_core.sidecar.cache.cache import RESOURCES
from scheduler_core.sidecar.client.access_review import Permission
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.process.enabled_controllers import enabled_controllers
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.process.permissions import needed_permissions
from scheduler_core.sidecar.scheduling.scheduler import SchedulerOptions
from scheduler_core.sidecar.settings import LEASE_NAME, LEASE_NAMESPACE, Mode, Settings
from scheduler_core.sidecar.writer.executor import Executor
from scheduler_core.sidecar.writes import AddFinalizer, Deviations, EvictionMethod, RecordEvent, RemoveFinalizer, Write, WriteOutcome
from tests.apiserver.rights import Right, right_of, target_of
from tests.cluster.waiting import until
from tests.scheduler_core.builders import composite, leaf, pod, pods, racks
from tests.scheduler_core.sidecar.device_world import DeviceWorld
from tests.scheduler_core.sidecar.histories import Json, raw
from tests.scheduler_core.sidecar.test_crashes import NAME, gated, lived
from tests.scheduler_core.sidecar.test_devices_crashes import extended_gang
from tests.scheduler_core.sidecar.test_devices_crashes import gang as device_gang
from tests.scheduler_core.sidecar.test_volumes_crashes import gang as volume_gang
from tests.scheduler_core.sidecar.volume_world import DYNAMIC, STATIC, VolumeWorld
from tests.scheduler_core.sidecar.world import Luck, World

ROOT = Path(__file__).parents[3]
KIND_OF = {each.resource: each.kind for each in RESOURCES.values()}
BY_SERVER = Right("resource.k8s.io", "resourceclaims/binding", "update")
"""Right that no request names: the API server checks it for changes of a claim's allocation."""
GROUP_KINDS = frozenset({"PodGroup", "CompositePodGroup"})
SEEDS = range(2)
MODES = [(mode,) for mode in Mode if mode not in (Mode.PREEMPT, Mode.BUILD)] + [(Mode.PLACE, Mode.PREEMPT), (Mode.UNGATE, Mode.PREEMPT)]


class Reviewed:
    """An API server that notes the right that each request needs; a GET is answered from *objects*."""

    def __init__(self, objects: Mapping[tuple[str, str, str], Json]) -> None:
        self.objects = objects
        self.used: set[Right | None] = set()

    def send(self, method: str, path: str, body: bytes | None = None, **_options: Any) -> bytes:
        self.used.add(right_of(method, path))
        target = target_of(path)
        if method == "POST" or target is None or target.resource not in KIND_OF:
            return body or b""
        found = self.objects.get((KIND_OF[target.resource], target.namespace, target.name))
        if found is None:
            raise ReplyError(404, "not found")
        return raw(found)


class Traced(World):
    """A world in which the requests of every write are sent, and the controllers of its modes run."""

    def __init__(self, objects: list[Json], options: SchedulerOptions, luck: Luck, settings: Settings) -> None:
        self.settings = settings
        super().__init__(objects, options, luck)
        self.api: Any = Reviewed(self.server.objects)
        paths = Paths({name: f"{base_path(each.api_versions[0])}/{each.resource}" for name, each in RESOURCES.items()})
        self.executor = Executor(self.api, paths, EventRecorder("muster.dev/sidecar", "test"), lambda: 100.0)

    def start(self) -> None:
        super().start()
        self.controllers = [each.begin() for each in enabled_controllers(self.settings, self.store, SidecarMetrics(), KUBERNETES_1_37)]

    def step(self) -> bool:
        for reconcile in self.controllers:
            writes, _ = reconcile(self.now)
            for each in writes:
                self.send(each)
                if not isinstance(each, RecordEvent):
                    self.carry_out(each)
        return super().step()

    def write(self, write: Write) -> None:
        if self.budget != 0:
            self.send(write)
        super().write(write)

    def send(self, write: Write) -> None:
        # An event that was recorded before is patched.
        for _ in range(2 if isinstance(write, RecordEvent) else 1):
            with contextlib.suppress(ReplyError):
                self.executor.execute(write, dry_run=False)

    def carry_out(self, write: Write) -> WriteOutcome:
        if not isinstance(write, AddFinalizer | RemoveFinalizer):
            return super().carry_out(write)
        if (found := self.find(write.target)) is not None:
            current = [each for each in found["metadata"].get("finalizers") or () if each != write.finalizer]
            found["metadata"]["finalizers"] = [*current, write.finalizer] if isinstance(write, AddFinalizer) else current
            self.server.put(found)
        return WriteOutcome.DONE


class TracedDevices(Traced, DeviceWorld):
    """The same with devices."""


class TracedVolumes(Traced, VolumeWorld):
    """The same with volumes."""


def tree(*, fits: bool) -> list[Json]:
    """A tree of two gangs in racks; if it does not *fit*, pods of lower priority are in its way."""
    low = [] if fits else [pod(f"low-{number}", on=f"a-{number}", priority=0) for number in range(3)]
    groups = [composite("top", 2, "", priority=10), *(leaf(name, 3, "rack", "top", priority=10) for name in ("left", "right"))]
    return [*racks({"a": 3, "b": 3}, cpu="1"), *low, *groups, *(each for name in ("left", "right") for each in pods(name, 3, priority=10))]


def invalid() -> list[Json]:
    """Two groups, each the parent of the other, above gangs, one of which another scheduler has reported on."""
    groups = [composite("one", 1, parent="two"), composite("two", 1, parent="one"), leaf("g", 1, parent="one"), leaf("h", 1, parent="one")]
    condition = {
        "type": INITIALLY_SCHEDULED["PodGroup"],
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available",
    }
    groups[-1]["status"] = {"conditions": [condition]}
    return groups


def cannot_be_completed() -> list[Json]:
    """A gang without room for its last pods, one of which is nominated for a node."""
    members = [pod("g-0", "g", on="a-0", cpu="1"), *(pod(f"g-{number}", "g", cpu="1") for number in (1, 2))]
    members[1]["status"] = {"nominatedNodeName": "a-0"}
    return [*racks({"a": 2}, cpu="1"), leaf("g", 3, "rack"), *members]


def worlds(modes: tuple[Mode, ...]) -> list[tuple[type[Traced], list[Json]]]:
    """Return clusters that together need every write of the modes."""
    plain = [invalid(), tree(fits=True), tree(fits=False), cannot_be_completed()]
    made = [(Traced, gated(each) if Mode.UNGATE in modes else each) for each in plain]
    if Mode.PLACE in modes:
        made += [(TracedVolumes, volume_gang(each)) for each in (STATIC, DYNAMIC)]
        made += [(TracedDevices, each) for each in (device_gang(), extended_gang())]
    return made


def traced(modes: tuple[Mode, ...], method: EvictionMethod, deviations: Deviations) -> set[Right | None]:
    """Return the rights of all requests in all worlds of the modes, without and with failures and a crash."""
    settings = Settings(modes=frozenset(modes), eviction_method=method, deviations=deviations, scheduler_name=NAME, lease=None)
    on = {mode.value: mode in modes for mode in (Mode.PLACE, Mode.UNGATE, Mode.PREEMPT)}
    options = SchedulerOptions(scheduler_name=NAME, eviction_method=method, deviations=deviations, **on)
    used: set[Right | None] = set()
    for seed in SEEDS:
        for kind, objects in worlds(modes):
            world = kind(objects, options, Luck(random.Random(seed), fails=3 * (seed % 2)), settings)
            used |= lived(world, [seed] if seed else []).api.used
    return used


@pytest.mark.parametrize("modes", MODES, ids=",".join)
def test_a_mode_has_the_permissions_of_its_requests_and_no_other(modes):
    methods = EvictionMethod if Mode.PREEMPT in modes else (EvictionMethod.EVICT,)
    for method, deviations in itertools.product(methods, Deviations if Mode.UNGATE in modes else (Deviations.REPORT,)):
        settings = Settings(modes=frozenset(modes), eviction_method=method, deviations=deviations, lease=None)
        permissions = needed_permissions(settings, GROUP_KINDS)
        needed = {Right(each.group, each.resource, each.verb) for each in permissions if each.verb not in ("list", "watch")}
        used = traced(modes, method, deviations)
        assert (set(), set()) == (used - needed, needed - used - {BY_SERVER})


class LeaseServer:
    """An API server with Leases, which notes the object and the verb of each request; a POST names no object."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.used: set[Permission] = set()

    def send(self, method: str, path: str, body: bytes | None = None, **_options: Any) -> bytes:
        right, target = right_of(method, path), target_of(path)
        assert right is not None
        assert target is not None
        self.used.add(Permission(right.resource, right.verb, right.group, target.namespace, target.name))
        if body is not None:
            self.stored[json.loads(body)["metadata"]["name"]] = body
        if method == "GET" and target.name not in self.stored:
            raise ReplyError(404, "not found")
        return self.stored[target.name] if method == "GET" else b""


def test_the_lease_has_the_permissions_of_its_requests_and_no_other():
    """From no Lease to a leader, which releases the Lease at its end; compared with the code, and with the manifest."""
    namespace, name = LEASE_NAMESPACE, LEASE_NAME
    server = LeaseServer()
    lease = Lease(cast("Any", server), namespace, name, Election("a"))
    lease.start()
    until(lease.leading)
    lease.stop()
    needed = {*needed_permissions(Settings(), GROUP_KINDS)} - {*needed_permissions(Settings(lease=None), GROUP_KINDS)}
    manifests = yaml.safe_load_all((ROOT / "deploy/sidecar/rbac.yaml").read_text(encoding="utf-8"))
    (role,) = (each for each in manifests if each["kind"] == "Role")
    granted = {
        Permission(resource, verb, group, role["metadata"]["namespace"], each)
        for rule in role["rules"]
        for resource, verb, group in itertools.product(rule["resources"], rule["verbs"], rule["apiGroups"])
        for each in rule.get("resourceNames", [""])
    }

    assert server.used == needed == granted
