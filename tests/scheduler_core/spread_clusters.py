"""Random small clusters with topology spread constraints, Services and controllers, as manifests."""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_SELECTORS = ({"app": "a"}, {"app": "b"}, {"job": "j0"}, {"job": "j1"}, {}, None, {"app": "a", "job": "j0"})
_POD_SELECTORS = (None, {}, {"matchLabels": {"app": "a"}}, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]})
_OWNERS = (None, None, ("apps/v1", "ReplicaSet", "rs"), ("v1", "ReplicationController", "rc"), ("batch/v1", "Job", "rs"))
_PREFERENCE = {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}


def cluster(chance: random.Random) -> list[Json]:
    """Return nodes, Services, controllers, running pods, and pending gangs and trees."""
    count = chance.randint(1, 14)
    zones, racks = chance.randint(0, 4), chance.randint(1, 4)
    objects = [_node(chance, number, zones, racks) for number in range(count)]
    for number in range(chance.randint(0, 3)):
        objects.append(_object("v1", "Service", f"s{number}", {"selector": chance.choice(_SELECTORS)}))
    objects.append(_object("apps/v1", "ReplicaSet", "rs", {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}))
    objects.append(_object("v1", "ReplicationController", "rc", {"selector": {"app": "a"}}))
    objects += [_running(chance, number, count) for number in range(chance.randint(0, 10))]
    constraints = _constraints(chance)
    for number in range(chance.randint(1, 4)):
        if chance.random() < 0.6:
            objects += _gang(chance, f"g{number}", constraints, ("", "rack", ZONE))
            continue
        width = chance.randint(1, 3)
        objects.append(
            _group("CompositePodGroup", f"t{number}", {"minGroupCount": chance.randint(1, width)}, chance.choice(("", ZONE, "rack")))
        )
        for child in range(width):
            objects += _gang(chance, f"t{number}c{child}", constraints, ("", "rack"), f"t{number}")
    return objects


def _node(chance: random.Random, number: int, zones: int, racks: int) -> Json:
    name = f"n{number:02}"
    labels = {HOSTNAME: name} if chance.random() < 0.9 else {}
    if zones and chance.random() < 0.85:
        labels[ZONE] = f"z{chance.randrange(zones)}" if chance.random() < 0.95 else ""
    if chance.random() < 0.9:
        labels["rack"] = f"r{chance.randrange(racks)}"
    if chance.random() < 0.3:
        labels["pool"] = chance.choice("ab")
    effect = chance.choice(("NoSchedule", "PreferNoSchedule"))
    taints = [{"key": "t", "value": "v", "effect": effect}] if chance.random() < 0.2 else []
    size = {"cpu": chance.choice("1248"), "memory": chance.choice(("4Gi", "8Gi", "64Gi")), "pods": chance.choice(("2", "5", "110"))}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": {"allocatable": size}}


def _object(api_version: str, kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _group(kind: str, name: str, gang: Json | None, key: str, parent: str = "") -> Json:
    spec: Json = {"schedulingPolicy": {"gang": gang} if gang else {"basic": {}}, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    spec["schedulingConstraints"] = {"topology": [{"key": key}]} if key else {}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return _object("scheduling.k8s.io/v1alpha3", kind, name, spec)


def _constraints(chance: random.Random) -> list[Json]:
    found: dict[tuple[str, str], Json] = {}
    for _ in range(chance.randint(1, 3)):
        key, effect = chance.choice((HOSTNAME, ZONE, "rack", "rack")), chance.choice(["ScheduleAnyway"] * 5 + ["DoNotSchedule"])
        each: Json = {"maxSkew": chance.randint(1, 4), "topologyKey": key, "whenUnsatisfiable": effect}
        each["labelSelector"] = chance.choice(_POD_SELECTORS)
        each |= {"matchLabelKeys": ["job"]} if chance.random() < 0.3 else {}
        each |= {"nodeTaintsPolicy": "Honor"} if chance.random() < 0.3 else {}
        each |= {"nodeAffinityPolicy": "Ignore"} if chance.random() < 0.3 else {}
        found.setdefault((key, effect), each)
    return [*found.values()]


def _pod(chance: random.Random) -> tuple[Json, Json]:
    requests = {"cpu": chance.choice(("100m", "1", "2")), "memory": chance.choice(("100Mi", "1Gi"))}
    labels = {"app": chance.choice("ab"), "job": chance.choice(("j0", "j1"))}
    return labels, {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}


def _running(chance: random.Random, number: int, nodes: int) -> Json:
    labels, spec = _pod(chance)
    metadata: Json = {"name": f"x{number}", "namespace": "default" if chance.random() < 0.9 else "other", "labels": labels}
    if chance.random() < 0.1:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec["nodeName"] = f"n{chance.randrange(nodes):02}"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def _gang(chance: random.Random, name: str, constraints: list[Json], keys: tuple[str, ...], parent: str = "") -> list[Json]:
    size = chance.randint(1, 9)
    gang = {"minCount": chance.randint(1, size)} if chance.random() < 0.8 else None
    objects = [_group("PodGroup", name, gang, chance.choice(keys), parent)]
    kinds = [_pod(chance), _pod(chance)]
    spec = kinds[0][1]
    spec |= {"topologySpreadConstraints": constraints} if chance.random() < 0.4 else {}
    spec |= {"nodeSelector": {"pool": "a"}} if chance.random() < 0.2 else {}
    spec |= {"tolerations": [{"key": "t", "operator": "Exists"}]} if chance.random() < 0.3 else {}
    if chance.random() < 0.3:
        preferred = [{"weight": chance.randint(1, 5), "preference": _PREFERENCE}]
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    owner, mixed = chance.choice(_OWNERS), chance.random() < 0.3
    for member in range(size):
        labels, spec = chance.choice(kinds) if mixed else kinds[0]
        metadata: Json = {"name": f"{name}-{member}", "namespace": "default", "labels": {**labels, "index": f"{name}-{member}"}}
        if owner:
            metadata["ownerReferences"] = [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "controller": True}]
        spec = {**spec, "schedulingGroup": {"podGroupName": name}}
        objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return objects
