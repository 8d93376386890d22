"""Objects of synthetic clusters, as JSON values of the API."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

NODES_OF_A_RACK, RACKS_OF_A_ZONE = 100, 10
"""Sizes of the topology-aware workload of kube-scheduler's own benchmark; a node has 4 CPU, 32Gi and 110 pods."""
ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
DRIVER = "gpu.example.com"
"""Driver of the devices."""
PADDING = "x" * 350
"""Text that brings a pod to the usual size of 1 KB."""

Json = dict[str, Any]


def nodes(count: int) -> list[Json]:
    """Return *count* nodes in racks of 100 and zones of 10 racks."""
    return [_node(number) for number in range(count)]


def gangs(
    count: int, size: int, *, key: str = RACK, parent: str = "", prefix: str = "gang", requests: dict[str, str] | None = None
) -> Iterator[Json]:
    """Yield *count* gangs of *size* equal pods, each gang in one domain of *key*."""
    for number in range(count):
        name = f"{prefix}-{number:04d}"
        yield group("PodGroup", name, {"gang": {"minCount": size}}, key, parent)
        yield from (pod(f"{name}-{member:04d}", name, requests=requests) for member in range(size))


def with_services(objects: Iterable[Json]) -> Iterator[Json]:
    """Yield *objects* with the label ``job`` on each pod of a group, and a Service for each group that selects it."""
    groups: set[str] = set()
    for each in objects:
        if each["kind"] == "Pod" and (group := each["spec"].get("schedulingGroup")):
            name = group["podGroupName"]
            each["metadata"]["labels"]["job"] = name
            groups.add(name)
        yield each
    for name in sorted(groups):
        yield {"apiVersion": "v1", "kind": "Service", "metadata": _meta(name), "spec": {"selector": {"job": name}}}


def exclusive(objects: Iterable[Json], *, nodes_of_a_rack: int) -> Iterator[Json]:
    """Yield *objects*, with racks of that size, each for the pods of one group, as a LeaderWorkerSet with exclusive topology has it."""
    label = "group-key"
    for number, each in enumerate(objects):
        if each["kind"] == "Node":
            each["metadata"]["labels"][RACK] = f"rack-{number // nodes_of_a_rack:04d}"
        if each["kind"] == "Pod" and (group := each["spec"].get("schedulingGroup")):
            name = group["podGroupName"]
            each["metadata"]["labels"][label] = name
            own, others = {"key": label, "operator": "In", "values": [name]}, {"key": label, "operator": "NotIn", "values": [name]}
            each["spec"]["affinity"] = {
                "podAffinity": _required_term([own]),
                "podAntiAffinity": _required_term([{"key": label, "operator": "Exists"}, others]),
            }
        yield each


def _required_term(expressions: list[Json]) -> Json:
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": RACK}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def trees(count: int, width: int, size: int) -> Iterator[Json]:
    """Yield *count* trees: a composite in one zone over *width* gangs of *size* pods, each gang in one rack."""
    for number in range(count):
        name = f"tree-{number:04d}"
        yield group("CompositePodGroup", name, {"gang": {"minGroupCount": width}}, ZONE)
        yield from gangs(width, size, parent=name, prefix=name)


def shapes(count: int, size: int, zones: int) -> Iterator[Json]:
    """Yield *count* gangs of *size* pods, each of another shape: random requests, and a node selector for every second gang."""
    chance = random.Random(1)
    for number in range(count):
        name = f"shape-{number:04d}"
        requests = {"cpu": f"{chance.randint(50, 500)}m", "memory": f"{chance.randint(50, 900)}Mi"}
        selector = {ZONE: f"zone-{chance.randrange(zones):02d}"} if number % 2 else {}
        yield group("PodGroup", name, {"gang": {"minCount": size}}, RACK)
        for member in range(size):
            yield pod(f"{name}-{member}", name, requests=requests, selector=selector)


def with_claims(objects: Iterable[Json], *, local: int = 0) -> Iterator[Json]:
    """Yield *objects*, each pending pod with a claim that waits for it.

    Its volume is provisioned; with *local* it is one of that many volumes of a node.
    """
    provisioner = "kubernetes.io/no-provisioner" if local else "csi.example"
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "data"}}
    yield {**head, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    for each in objects:
        name, modes = each["metadata"]["name"], ["ReadWriteOnce"]
        if each["kind"] == "Node":
            terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}]
            spec = {"storageClassName": "data", "accessModes": modes, "capacity": {"storage": "200Gi"}}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
            for number in range(local):
                yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"{name}-{number}"}, "spec": spec}
        if each["kind"] != "Pod" or "nodeName" in each["spec"]:
            yield each
            continue
        wanted = {"storageClassName": "data", "accessModes": modes, "resources": {"requests": {"storage": "100Gi"}}}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": _meta(name), "spec": wanted}
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        yield {**each, "spec": {**each["spec"], "volumes": volumes}}


def with_devices(objects: Iterable[Json], count: int, requested: int = 1, *, created: bool = False) -> Iterator[Json]:
    """Yield *objects* with *count* devices on each node, and a claim to *requested* of them for each pending pod.

    The devices have the attributes and capacities that drivers of GPUs publish.  The claims come from a template, or are *created*.
    """
    api = "resource.k8s.io/v1"
    selector = f"device.driver == '{DRIVER}' && device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"
    yield {
        "apiVersion": api,
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": selector}}]},
    }
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": requested}}
    claim = {"devices": {"requests": [request]}}
    if not created:
        yield {"apiVersion": api, "kind": "ResourceClaimTemplate", "metadata": _meta("gpu"), "spec": {"spec": claim}}
    for each in objects:
        name = each["metadata"]["name"]
        if each["kind"] == "Node":
            yield _slice(name, count)
        elif each["kind"] == "Pod" and "nodeName" not in each["spec"]:
            if created:
                yield {"apiVersion": api, "kind": "ResourceClaim", "metadata": _meta(name), "spec": claim}
            source = {"resourceClaimName": name} if created else {"resourceClaimTemplateName": "gpu"}
            each["spec"]["resourceClaims"] = [{"name": "gpu", **source}]
        yield each


def device_claim(pod: Json) -> Json:
    """Return a claim to one device of the class of ``with_devices``, and let *pod* use it."""
    name = f"{pod['metadata']['name']}-gpu"
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    metadata = {**_meta(name), "uid": name, "resourceVersion": pod["metadata"]["resourceVersion"]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 1}}]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def _slice(node: str, count: int) -> Json:
    devices = [
        {
            "name": f"gpu-{number}",
            "attributes": {
                "uuid": {"string": f"GPU-{node}-{number:02d}-4cf8-93ab-0d1b"},
                "index": {"int": number},
                "productName": {"string": "Example H200"},
                "architecture": {"string": "Hopper"},
                "driverVersion": {"version": "570.86.15"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number // 2:02x}"},
                "numa": {"int": number // 4},
            },
            "capacity": {"memory": {"value": "141Gi"}, "cores": {"value": "132"}},
        }
        for number in range(count)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    metadata = {"name": f"{node}-{DRIVER}", "uid": node, "creationTimestamp": "2026-08-01T00:00:00Z", "generateName": f"{node}-{DRIVER}-"}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def running(count: int, nodes_: int, *, priority: int = 0, cpu: str = "900m", memory: str = "6Gi") -> Iterator[Json]:
    """Yield *count* running pods, spread over *nodes_* nodes."""
    for number in range(count):
        yield pod(
            f"running-{number:06d}", "", node=f"node-{number % nodes_:05d}", requests={"cpu": cpu, "memory": memory}, priority=priority
        )


def group(kind: str, name: str, policy: Json, key: str, parent: str = "", priority: int = 0) -> Json:
    """Return a PodGroup or a CompositePodGroup."""
    spec: Json = {"schedulingPolicy": policy, "schedulingConstraints": {"topology": [{"key": key}]} if key else {}}
    spec |= {"priority": priority, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": _meta(name), "spec": spec}


def pod(name: str, of: str, *, node: str = "", requests: Json | None = None, selector: Json | None = None, priority: int = 0) -> Json:
    """Return a pod of the PodGroup *of*, about 1 KB of JSON."""
    requests = requests or {"cpu": "100m", "memory": "100Mi"}
    container = {"name": "main", "image": "registry.example/training:1", "args": [PADDING], "resources": {"requests": requests}}
    spec: Json = {"containers": [container], "priority": priority, "schedulerName": "default-scheduler", "restartPolicy": "Never"}
    spec |= {"nodeName": node} if node else {}
    spec |= {"schedulingGroup": {"podGroupName": of}} if of else {}
    spec |= {"nodeSelector": selector} if selector else {}
    status = {"phase": "Running", "startTime": "2026-08-01T00:00:00Z"} if node else {"phase": "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _meta(name), "spec": spec, "status": status}


def as_bytes(objects: Iterator[Json] | list[Json]) -> list[bytes]:
    """Return each object encoded as JSON."""
    return [json.dumps(each).encode() for each in objects]


def _node(number: int) -> Json:
    rack = number // NODES_OF_A_RACK
    labels = {"kubernetes.io/hostname": f"node-{number:05d}", RACK: f"rack-{rack:03d}", ZONE: f"zone-{rack // RACKS_OF_A_ZONE:02d}"}
    size = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    metadata = {"name": f"node-{number:05d}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {"allocatable": size, "capacity": size}}


def _meta(name: str) -> Json:
    labels = {"app.kubernetes.io/name": "training", "app.kubernetes.io/instance": name}
    return {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-08-01T00:00:00Z", "labels": labels}
