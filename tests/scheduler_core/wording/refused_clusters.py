"""Seeded random clusters whose pending roots are refused for many kinds of reasons, several at a time."""

from __future__ import annotations

import random
from typing import Any

from scheduler_core.model.options import PlacingOptions
from tests.scheduler_core.diagnosis.diagnosing import GPU, HOST, RACK, composite, group, labelled, node, pod
from tests.scheduler_core.plugins import device_objects as devices
from tests.scheduler_core.plugins import test_delayed_claims as delayed
from tests.scheduler_core.plugins import test_volumes as bound

Json = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
TAINTS = ("team=a:NoSchedule", "old:NoExecute", "drain=b:NoSchedule", "gpu=x:NoSchedule")
OPTIONS = (PlacingOptions(), PlacingOptions(four_statuses=True), PlacingOptions(every_pod=True), PlacingOptions(sparing=True))


def refused_cluster(seed: int) -> list[Json]:
    """Return nodes with running pods, and roots that are likely to be refused."""
    chance = random.Random(seed)
    nodes = [_node(chance, number) for number in range(chance.randint(2, 9))]
    names = [each["metadata"]["name"] for each in nodes]
    running = [
        pod(f"run-{number}", "", str(chance.randint(1, 2)), on=chance.choice(names), ports=_ports(chance)) for number in range(len(names))
    ]
    for each in running:
        each["metadata"]["labels"] = {"app": chance.choice("abg")}
    objects = [*nodes, *running, *_storage(chance, names), *_devices(chance, names)]
    for number in range(chance.randint(1, 2)):
        objects += _tree(chance, f"t{number}") if chance.random() < 0.4 else _leaf(chance, f"g{number}")
    return [*objects, *_lone(chance)]


def _node(chance: random.Random, number: int) -> Json:
    rack = chance.choice(("r1", "r2", "rack-3", ""))
    taints = tuple(chance.sample(TAINTS, chance.choice((0, 0, 0, 0, 0, 1, 2))))
    found = node(f"n{number}", str(chance.randint(2, 8)), rack=rack, taints=taints, cordoned=chance.random() < 0.15, **{GPU: "2"})
    labels = {ZONE: chance.choice(("z1", "z2")), **({"pool": "fast"} if chance.random() < 0.6 else {})}
    return labelled(found, **labels)


def _ports(chance: random.Random) -> list[Json]:
    return [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}] if chance.random() < 0.2 else []


def _storage(chance: random.Random, names: list[str]) -> list[Json]:
    zone = chance.choice(("z1", "z2", "z9"))
    return [
        *(bound.claim("datasets", "pv-7"), bound.volume("pv-7", bound.on(ZONE, zone))),
        *(bound.claim("broken", "pv-9"), bound.claim("late"), bound.storage_class("Immediate")),
        *(delayed.claim("scratch", f"{chance.randint(1, 20)}Gi"), delayed.storage_class()),
        delayed.volume("local-1", chance.choice(names)),
    ]


def _devices(chance: random.Random, names: list[str]) -> list[Json]:
    slices = [devices.device_slice(name, "x", "y") for name in names if chance.random() < 0.5]
    taken = devices.resource_claim("u", devices=[f"gpu={names[0]}/x"], users=["other"])
    return [devices.device_class(), *slices, devices.template(), taken]


def _spec(chance: random.Random, label: str) -> Json:
    """Return what the pods of a leaf require besides their requests."""
    term = {"topologyKey": chance.choice((HOST, RACK, ZONE)), "labelSelector": {"matchLabels": {"app": chance.choice(("a", label))}}}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    rules: list[Json] = [
        {"nodeSelector": {"pool": chance.choice(("fast", "slow"))}},
        {"affinity": {"podAntiAffinity": terms}},
        {"affinity": {"podAffinity": terms}},
        {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term}]},
        {"tolerations": [{"key": "team", "operator": "Exists"}]},
        {"ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]},
        {
            "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": chance.choice(("datasets", "broken", "late", "scratch", "no"))}}
            ]
        },
        {"volumes": [{"name": "v", "azureFile": {}}]},
        {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "g"}]},
        {"resourceClaims": [{"name": "c", "resourceClaimName": "u"}]},
    ]
    found: Json = {}
    for rule in chance.sample(rules, chance.choice((0, 0, 1, 1, 2, 3))):
        found |= rule
    return found


def _leaf(chance: random.Random, name: str, parent: str = "", age: int = 0) -> list[Json]:
    count, minimum = chance.randint(1, 5), chance.randint(0, 6)
    spec, sizes = _spec(chance, name), [str(chance.randint(1, 5))] * count
    if chance.random() < 0.2:
        sizes = [str(chance.randint(1, 3)) for _ in range(count)]
    requests = {GPU: "1"} if chance.random() < 0.4 else {}
    members = [pod(f"{name}-{number}", name, size, requests=requests, **dict(spec)) for number, size in enumerate(sizes)]
    return [group(name, minimum, key=chance.choice(("", RACK, ZONE, HOST, "none")), parent=parent, age=age), *members]


def _tree(chance: random.Random, name: str) -> list[Json]:
    children = chance.randint(1, 4)
    objects = [composite(name, chance.randint(1, children + 1), key=chance.choice(("", RACK, ZONE, ZONE, "none")))]
    for number in range(children):
        if chance.random() < 0.2:
            inner = f"{name}-c{number}"
            objects.append(composite(inner, 1, key=chance.choice(("", RACK)), parent=name, age=number))
            objects += _leaf(chance, f"{inner}-x", inner)
        else:
            objects += _leaf(chance, f"{name}-g{number}", name, number)
    return objects


def _lone(chance: random.Random) -> list[Json]:
    return [pod(f"lone-{number}", "", str(chance.randint(1, 6)), **_spec(chance, "lone")) for number in range(chance.randint(0, 2))]
