"""Small clusters with devices: their content, and their manifests."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
DRIVER = "gpu.example"
API = "resource.k8s.io/v1"
CLASSES = {
    "gpu": "true",
    "x": f"device.attributes['{DRIVER}'].?model.orValue('') == 'x'",
    "numa0": f"device.attributes['{DRIVER}'].numa == 0",
}
"""Selector by device class; that of the last class cannot be evaluated for a device without the attribute."""
TAINT = {"key": "broken", "effect": "NoSchedule"}


@dataclasses.dataclass(frozen=True)
class Device:
    """Device; *memory* is what it takes of the counter of its pool, *capacity* what its users share (0: it has one user)."""

    name: str
    model: str = ""
    numa: int | None = None
    tainted: bool = False
    memory: int = 0
    capacity: int = 0


@dataclasses.dataclass(frozen=True)
class Pool:
    """Pool of the nodes with one label: ``rack`` or ``kubernetes.io/hostname``; *memory* is its counter; a slice can be missing."""

    name: str
    key: str
    value: str
    devices: tuple[Device, ...]
    memory: int = 0
    incomplete: bool = False


@dataclasses.dataclass(frozen=True)
class Request:
    """Request for *count* devices of one of *classes*, the first possible; for all devices if *count* is 0."""

    name: str
    classes: tuple[str, ...]
    count: int = 1
    tolerant: bool = False
    amount: int = 0


@dataclasses.dataclass(frozen=True)
class Spec:
    """Specification of a claim; *constraint* is matchAttribute or distinctAttribute for ``numa``, or empty."""

    requests: tuple[Request, ...]
    constraint: str = ""


HELD = Spec((Request("r0", ("gpu",)),))
"""Specification of the claims that running pods use."""


@dataclasses.dataclass
class Pod:
    """Pod of a group, or running on *node*; *shared* are claims that several pods name."""

    name: str
    group: str
    own: list[Spec]
    shared: list[str]
    node: str = ""
    priority: int = 10
    cpu: int = 1


@dataclasses.dataclass
class Cluster:
    """Cluster with one root: PodGroup ``g0``, or a composite with ``g0`` and ``g1``.

    Attributes:
        rack: rack by node; each node has 2 cpu.
        shared: specification of the claims that pods share.
        held: devices (``pool/device``) of allocated claims, each with its users.
        minimum: by group.
        by_rack: groups with the rack as their topology key.

    """

    rack: dict[str, str]
    pools: list[Pool]
    pods: list[Pod]
    shared: dict[str, Spec]
    held: list[tuple[str, tuple[str, ...]]]
    minimum: dict[str, int]
    by_rack: list[str]

    def pools_of(self, node: str) -> list[Pool]:
        """Return the pools that *node* reaches."""
        return [pool for pool in self.pools if pool.value in (node, self.rack[node])]

    def reached(self, node: str) -> list[tuple[Pool, Device]]:
        """Return the devices that *node* reaches; none of an incomplete pool."""
        return [(pool, each) for pool in self.pools_of(node) if not pool.incomplete for each in pool.devices]


@st.composite
def clusters(draw: st.DrawFn, *, counted: bool = False, running: int = 1, priority: int = 10, named: bool = False) -> Cluster:
    """Draw a cluster; if *counted*, devices are interchangeable in nested sets; if *named*, waiting pods name claims in use."""
    rack = {f"n{number}": f"r{number % 2}" for number in range(draw(st.integers(2, 3)))}
    kinds = ("plain",) if counted else ("plain", "plain", "counters", "shares")
    pools = [_pool(draw, f"pool-{name}", "kubernetes.io/hostname", name, kinds) for name in rack]
    if not counted and draw(st.booleans()):
        pools.append(_pool(draw, "fabric", "rack", "r0", kinds))
    tree = draw(st.booleans())
    templates = [_spec(draw, counted=counted) for _ in range(draw(st.integers(1, 2)))]
    shared = {"common": _spec(draw, counted=counted, every=False)} if not counted and draw(st.integers(0, 2)) == 0 else {}
    pods = []
    for number in range(draw(st.integers(1, 3))):
        own = [draw(st.sampled_from(templates)) for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2))))]
        pods.append(Pod(f"p{number}", f"g{number % 2 if tree else 0}", own, [name for name in shared if draw(st.booleans())]))
    held: list[tuple[str, tuple[str, ...]]] = []
    for number in range(draw(st.integers(1 if named else 0, running))):
        node = draw(st.sampled_from(sorted(rack)))
        pods.append(Pod(f"q{number}", "", [], [], node, priority, draw(st.integers(0, 1))))
    taken = [(pool, each) for pool in pools for each in pool.devices if not each.capacity and draw(st.integers(0, 2)) == 0]
    for pool, each in taken:
        near = [one.name for one in pods if one.node and pool.value in (one.node, rack[one.node])]
        users = [name for name in near if named or draw(st.integers(0, 2)) > 0][: 1 if counted and draw(st.integers(0, 3)) else 2]
        held.append((f"{pool.name}/{each.name}", tuple(users)))
    for pod in pods if named else ():
        pod.shared += [held_name(number) for number, (_, users) in enumerate(held) if users and not pod.node and draw(st.integers(0, 2))]
    sizes = {name: sum(each.group == name for each in pods) for name in ("g0", "g1") if _has(pods, name)}
    minimum = {name: draw(st.integers(size if named else 1, size)) for name, size in sizes.items()}
    if tree:
        minimum["root"] = draw(st.integers(1, len(minimum)))
    by_rack = [name for name in minimum if draw(st.integers(0, 2)) == 0]
    return Cluster(rack, pools, pods, shared, held, minimum, by_rack)


def _pool(draw: st.DrawFn, name: str, key: str, value: str, kinds: Sequence[str]) -> Pool:
    kind, counted = draw(st.sampled_from(kinds)), len(kinds) == 1
    devices = []
    for number in range(draw(st.integers(0, 3))):
        model, numa, tainted = draw(st.sampled_from("xy")), draw(st.sampled_from((None, 0, 0, 1))), draw(st.integers(0, 5)) == 0
        memory = draw(st.integers(0, 3)) if kind == "counters" else 0
        devices.append(Device(f"d{number}", model, 0 if counted else numa, tainted, memory, 4 if kind == "shares" else 0))
    return Pool(name, key, value, tuple(devices), 4 if kind == "counters" else 0)


def _spec(draw: st.DrawFn, *, counted: bool, every: bool = True) -> Spec:
    requests = []
    for number in range(draw(st.sampled_from((1, 1, 2)))):
        classes = draw(st.sampled_from([("gpu",), ("gpu",), ("x",)] if counted else [("gpu",), ("x",), ("x", "gpu"), ("numa0",)]))
        count = draw(st.sampled_from((1, 1, 2) if counted or not every else (1, 1, 1, 2, 0)))
        amount = 0 if counted else draw(st.sampled_from((0, 0, 1, 2)))
        requests.append(Request(f"r{number}", classes, count, draw(st.booleans()), amount))
    return Spec(tuple(requests), "" if counted else draw(st.sampled_from(("", "", "matchAttribute", "distinctAttribute"))))


def held_name(number: int) -> str:
    """Return the name of the claim of the held device *number*."""
    return f"held-{number}"


def _has(pods: list[Pod], group: str) -> bool:
    return any(each.group == group for each in pods)


def manifests(cluster: Cluster) -> list[Json]:
    """Return the objects of *cluster*."""
    objects: list[Json] = [_node(name, rack) for name, rack in cluster.rack.items()]
    objects += [_object("DeviceClass", name, API, spec={"selectors": [_selector(text)]}) for name, text in CLASSES.items()]
    objects += [each for pool in cluster.pools for each in _slices(pool)]
    for name, spec in cluster.shared.items():
        objects.append(_object("ResourceClaim", name, API, spec=_claim(spec)))
    for number, (device, users) in enumerate(cluster.held):
        objects.append(_allocated(held_name(number), device, users, cluster))
    for pod in cluster.pods:
        objects += _pod(pod)
    for name, minimum in cluster.minimum.items():
        objects.append(_group(cluster, name, minimum))
    return objects


def _selector(text: str) -> Json:
    return {"cel": {"expression": text}}


def _object(kind: str, name: str, version: str = "v1", **content: Any) -> Json:
    metadata = {
        "name": name,
        **({} if kind in ("Node", "DeviceClass", "ResourceSlice") else {"namespace": "default"}),
        **content.pop("metadata", {}),
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def _node(name: str, rack: str) -> Json:
    amounts = {"cpu": "2", "memory": "8Gi", "pods": "10"}
    labels = {"kubernetes.io/hostname": name, "rack": rack}
    return _object("Node", name, metadata={"labels": labels}, status={"allocatable": amounts, "capacity": amounts})


def _slices(pool: Pool) -> list[Json]:
    terms = [{"matchExpressions": [{"key": pool.key, "operator": "In", "values": [pool.value]}]}]
    reach = {"nodeName": pool.value} if pool.key != "rack" else {"nodeSelector": {"nodeSelectorTerms": terms}}
    described = {"name": pool.name, "generation": 1, "resourceSliceCount": 1 + bool(pool.memory) + pool.incomplete}
    body = {"driver": DRIVER, "pool": described, **reach}
    found = [_object("ResourceSlice", pool.name, API, spec={**body, "devices": [_device(each) for each in pool.devices]})]
    if pool.memory:
        counters = [{"name": "set", "counters": {"memory": {"value": str(pool.memory)}}}]
        found.append(_object("ResourceSlice", f"{pool.name}-counters", API, spec={**body, "sharedCounters": counters}))
    return found


def _device(device: Device) -> Json:
    attributes: Json = {"model": {"string": device.model}, **({} if device.numa is None else {"numa": {"int": device.numa}})}
    written: Json = {"name": device.name, "attributes": attributes}
    if device.tainted:
        written["taints"] = [TAINT]
    if device.memory:
        written["consumesCounters"] = [{"counterSet": "set", "counters": {"memory": {"value": str(device.memory)}}}]
    if device.capacity:
        written |= {"allowMultipleAllocations": True, "capacity": {"slots": {"value": str(device.capacity)}}}
    return written


def _claim(spec: Spec) -> Json:
    constraints = [{spec.constraint: f"{DRIVER}/numa"}] if spec.constraint else []
    return {"devices": {"requests": [_request(each) for each in spec.requests], **({"constraints": constraints} if constraints else {})}}


def _request(request: Request) -> Json:
    written = []
    for name in request.classes:
        one: Json = {"deviceClassName": name, **({"count": request.count} if request.count else {"allocationMode": "All"})}
        if request.tolerant:
            one["tolerations"] = [{"operator": "Exists"}]
        if request.amount:
            one["capacity"] = {"requests": {"slots": str(request.amount)}}
        written.append(one)
    if len(written) == 1:
        return {"name": request.name, "exactly": written[0]}
    return {"name": request.name, "firstAvailable": [{"name": f"a{number}", **one} for number, one in enumerate(written)]}


def _allocated(name: str, device: str, users: tuple[str, ...], cluster: Cluster) -> Json:
    pool, _, own = device.partition("/")
    result = {"request": "r0", "driver": DRIVER, "pool": pool, "device": own}
    (home,) = [each for each in cluster.pools if each.name == pool]
    terms = [{"matchExpressions": [{"key": home.key, "operator": "In", "values": [home.value]}]}]
    allocation = {
        "devices": {"results": [result]},
        "allocationTimestamp": "2026-08-01T00:00:00Z",
        "nodeSelector": {"nodeSelectorTerms": terms},
    }
    reserved = [{"resource": "pods", "name": user, "uid": user} for user in users]
    return _object(
        "ResourceClaim",
        name,
        API,
        spec=_claim(HELD),
        status={"allocation": allocation, "reservedFor": reserved},
    )


def _pod(pod: Pod) -> list[Json]:
    found, entries = [], [{"name": name, "resourceClaimName": name} for name in pod.shared]
    for number, spec in enumerate(pod.own):
        name = f"{pod.name}-{number}"
        found.append(_object("ResourceClaimTemplate", name, API, spec={"spec": _claim(spec)}))
        entries.append({"name": f"c{number}", "resourceClaimTemplateName": name})
    container = {"name": "c", "resources": {"requests": {"cpu": str(pod.cpu)}}}
    spec_of: Json = {"containers": [container], "resourceClaims": entries, "priority": pod.priority}
    if pod.node:
        spec_of["nodeName"] = pod.node
    if pod.group:
        spec_of["schedulingGroup"] = {"podGroupName": pod.group}
    status = {"phase": "Running"} if pod.node else {}
    return [*found, _object("Pod", pod.name, metadata={"uid": pod.name}, spec=spec_of, status=status)]


def _group(cluster: Cluster, name: str, minimum: int) -> Json:
    root = name == "root"
    spec: Json = {"schedulingPolicy": {"gang": {"minGroupCount" if root else "minCount": minimum}}, "priority": 10}
    if name in cluster.by_rack:
        spec["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    if "root" in cluster.minimum:
        spec["workloadRef"] = {"workloadName": "w", "templateName": name}
        if not root:
            spec["parentCompositePodGroupName"] = "root"
    return _object("CompositePodGroup" if root else "PodGroup", name, "scheduling.k8s.io/v1alpha3", spec=spec)
