"""A cluster as events: any way in which its objects may have come to be what they are."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import strategies as st

from kubeapi.decode import ENCODER
from kubeapi.meta import replaced
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import kinds_of, other_group, versions_in
from scheduler_core.loading.read_groups import SCHEDULING_KINDS
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.sidecar.cache.cache import RESOURCES, Cache
from scheduler_core.sidecar.cache.optional_watches import NOTHING, Reads

Json = dict[str, Any]
Event = tuple[str, Json]
KINDS, VERSION = kinds_of(CUSTOM), versions_in(CUSTOM)[0].name


def name_of(each: Json) -> tuple[str, str, str]:
    return each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]


def raw(each: Json) -> bytes:
    return json.dumps(each).encode()


def resource_of(each: Json) -> str:
    """Return the name of the resource of an object."""
    group = other_group(each["kind"], each["apiVersion"].rpartition("/")[0])
    return f"{each['kind']}.{group}" if group else each["kind"]


def in_groups(objects: Iterable[Json], chance: random.Random) -> list[Json]:
    """The same objects, groups and Workloads in either API group, and pods that name their group by field or by label."""
    return [in_other_group(each) if chance.random() < 0.5 else each for each in objects]


def in_other_group(each: Json) -> Json:
    """A group or Workload as a custom resource, a pod with the label of its group; anything else as it is."""
    if each["kind"] in KINDS:
        return {**each, "apiVersion": VERSION}
    if each["kind"] != "Pod" or not (group := group_of(each)):
        return each
    metadata = {**each["metadata"], "labels": {**(each["metadata"].get("labels") or {}), POD_GROUP_LABEL: group}}
    return {**each, "metadata": metadata, "spec": {key: value for key, value in each["spec"].items() if key != "schedulingGroup"}}


def group_of(pod: Json) -> str:
    """The name of a pod's PodGroup, by field or by label; empty if none."""
    labels: Json = pod["metadata"].get("labels") or {}
    return (pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or labels.get(POD_GROUP_LABEL, "")


class Server:
    """Objects with versions, as an API server numbers them."""

    name_of = staticmethod(name_of)

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}
        self.version = 0
        self.events: list[Event] = []

    def put(self, each: Json) -> None:
        """Create or update."""
        self.version += 1
        known = self.objects.get(name := self.name_of(each))
        kept = copy.deepcopy(each)
        uid = known["metadata"]["uid"] if known else f"{'-'.join(name)}-{self.version}"
        kept["metadata"] |= {"resourceVersion": str(self.version), "uid": uid}
        self.objects[name] = kept
        self.events.append(("MODIFIED" if known else "ADDED", kept))

    def delete(self, name: tuple[str, str, str]) -> None:
        self.version += 1
        gone = copy.deepcopy(self.objects.pop(name))
        gone["metadata"]["resourceVersion"] = str(self.version)
        self.events.append(("DELETED", gone))

    def listed(self, resource: str) -> list[bytes]:
        return [raw(each) for each in self.objects.values() if resource_of(each) == resource]

    def fill(self, store: Cache) -> None:
        """A list of every resource."""
        for resource in RESOURCES:
            store.replace(resource, self.listed(resource), str(self.version))


class GroupsServer(Server):
    """A server that can have an object of one kind and name in each API group."""

    @staticmethod
    def name_of(each: Json) -> tuple[str, str, str]:
        return resource_of(each), *name_of(each)[1:]


class Watched:
    """A server, and a store that has listed what is there and hears of what happens then."""

    def __init__(self, *objects: Json, reads: Reads = NOTHING) -> None:
        self.server, self.reads = Server(), reads
        for each in objects:
            self.server.put(each)
        self.list()

    def list(self) -> None:
        """A new store, filled by a list of every resource."""
        self.store = Cache(reads=self.reads)
        self.server.fill(self.store)
        self.heard = len(self.server.events)

    def happens(self, *changes: Json | tuple[str, str, str]) -> None:
        """Objects are put, or, where a name is given, deleted."""
        for each in changes:
            if isinstance(each, tuple):
                self.server.delete(each)
            else:
                self.server.put(each)
        feed(self.store, self.server.events[self.heard :])
        self.heard = len(self.server.events)


@st.composite
def histories(draw: st.DrawFn, objects: list[Json], others: list[Json], kind: type[Server] = Server) -> Server:
    """A server that ends with *objects* after other objects came and went, and each of them was what one of *others* is."""
    server = kind()
    for each in draw(st.permutations(others)):
        server.put(each)
    wanted = {server.name_of(each) for each in objects}
    gone = [name for name in server.objects if name not in wanted]
    steps: list[Any] = draw(st.permutations([*objects, *gone]))
    for step in steps:
        if isinstance(step, tuple):
            server.delete(step)
        else:
            if server.name_of(step) in server.objects and draw(st.integers(0, 3)) == 0:
                server.delete(server.name_of(step))
            server.put(step)
    return server


@st.composite
def deliveries(draw: st.DrawFn, events: list[Event]) -> list[Event]:
    """*events* in order, some of them again later."""
    found: list[Event] = []
    for number, event in enumerate(events):
        found.append(event)
        if draw(st.integers(0, 7)) == 0:
            found.append(events[draw(st.integers(0, number))])
    return found


def feed(store: Cache, events: Iterable[Event]) -> None:
    for event, each in events:
        store.apply(resource_of(each), event, raw(each))


def told(snapshot: ClusterSnapshot) -> Json:
    """All that a snapshot says, so that two can be compared that number their shapes and resources in different ways."""
    table = snapshot.nodes
    return {
        "nodes": [
            (
                name,
                dict(table.labels[index]),
                table.taints[index],
                bool(table.unschedulable[index]),
                {
                    resource: int(table.allocatable[row, index])
                    for resource, row in table.row.items()
                    if table.allocatable[row, index] and row not in {*table.limit_rows, *table.counted} and resource not in table.backed
                },
            )
            for index, name in enumerate(table.names)
        ],
        "pods": [_pod(pod, table) for pod in snapshot.pods],
        "groups": list(snapshot.groups),
        "priorities": dict(snapshot.priorities),
        "desired": dict(snapshot.desired),
        "budgets": list(snapshot.budgets),
        "known": {kind: list(snapshot.known.list_kind(kind) or ()) for kind in ("Node", *SCHEDULING_KINDS)},
        "problems": list(snapshot.problems),
    }


def _pod(pod: Any, table: NodeTable) -> Json:
    fields = msgspec.structs.asdict(pod)
    shape = {field.name: getattr(pod.shape, field.name) for field in dataclasses.fields(pod.shape) if field.name != "serial"}
    # Specifications of claims are compared by identity; in a live cluster, pods that wait for other claims share a claim too.
    shape["devices"] = ENCODER.encode([replaced(each, shared="") for each in pod.shape.devices])
    # For the same reason the rows of devices can differ; the tests of live devices compare them.
    del shape["picks_devices"], shape["counts_devices"]
    shape["requests"] = sorted((table.resources[row], amount) for row, amount in pod.shape.requests if row not in table.counted)
    return fields | {"shape": shape, "labels": dict(pod.labels)}


def aligned(snapshot: ClusterSnapshot, other: ClusterSnapshot) -> ClusterSnapshot:
    """*snapshot* with the shapes and the nodes of *other*, which is told to be equal: shapes and resources may be numbered in any order."""
    shapes = {pod.key: pod.shape for pod in other.pods}
    pods = tuple(replaced(pod, shape=shapes[pod.key]) for pod in snapshot.pods)
    return dataclasses.replace(snapshot, nodes=other.nodes, pods=pods)
