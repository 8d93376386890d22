"""Random clusters whose devices running pods of low priority use, and in which several roots preempt."""

from __future__ import annotations

import random

from tests.scheduler_core.builders import Json, leaf, node
from tests.scheduler_core.plugins.device_objects import (
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)

NODES = ("n0", "n1", "n2")
NUMA = "gpu.example/numa"
KINDS = ("plain", "plain", "partitions", "shares", "fabric")
COUNTERS = [{"name": "set", "counters": {"memory": {"value": "4"}}}]


class Contested:
    """One cluster, made from *seed*: ``objects`` before ``running`` pods have nodes, and ``roots`` that come later."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._nodes = NODES[: self._chance.choice((1, 2, 2, 3))]
        self._templates = [f"t{number}" for number in range(self._chance.randint(1, 3))]
        self._claims = [f"c{number}" for number in range(self._chance.randint(0, 2))]
        self.objects = [*self._cluster()]
        self.running = [each for number in range(self._chance.randint(1, 5)) for each in self._root(f"low{number}", 3)]
        self.roots = [each for number in range(self._chance.randint(1, 4)) for each in self._root(f"high{number}", 9)]

    def _cluster(self) -> list[Json]:
        chance = self._chance
        objects = [device_class(), device_class("x", selectors=[{"cel": {"expression": 'device.attributes["gpu.example"].model == "x"'}}])]
        objects.append(_namespace())
        for name in self._nodes:
            objects.append(node(name, cpu=str(chance.randint(2, 6)), rack=f"r{int(name[1]) % 2}"))
            objects += self._slices(name, chance.choice(KINDS))
        objects += [template(name, *self._requests(), constraints=self._constraints()) for name in self._templates]
        objects += [resource_claim(name, *self._requests()) for name in self._claims]
        return objects

    def _slices(self, name: str, kind: str) -> list[Json]:
        chance, found = self._chance, []
        for number in range(chance.randint(1, 4)):
            more: Json = {}
            if kind == "partitions":
                amount = {"memory": {"value": str(chance.randint(1, 3))}}
                more["consumesCounters"] = [{"counterSet": "set", "counters": amount}]
            if kind == "shares":
                more |= {"allowMultipleAllocations": True, "capacity": {"slots": {"value": "4"}}}
            found.append(device(f"d{number}", {"model": chance.choice("xxy"), "numa": chance.randint(0, 1)}, **more))
        count = 2 if kind == "partitions" else 1
        on = None if kind == "fabric" else name
        reach: Json = {} if on else {"allNodes": True}
        slices = [device_slice(on, *found, pool=name, count=count, **reach)]
        if kind == "partitions":
            slices.append(device_slice(on, pool=name, name=f"s-{name}-counters", count=count, sharedCounters=COUNTERS, **reach))
            del slices[-1]["spec"]["devices"]
        return slices

    def _requests(self) -> list[Json]:
        chance, found = self._chance, []
        for number in range(chance.choice((1, 1, 1, 2))):
            more: Json = chance.choice(({}, {}, {}, {"count": 2}, {"allocationMode": "All"}, {"adminAccess": True}))
            if chance.random() < 0.2 and not more:
                more = {"capacity": {"requests": {"slots": str(chance.randint(1, 3))}}}
            name = chance.choice(("gpu", "gpu", "x"))
            if chance.random() < 0.2 and "adminAccess" not in more:
                alternatives = [{"name": "a", "deviceClassName": "x", "count": 2}, {"name": "b", "deviceClassName": name, **more}]
                found.append({"name": f"r{number}", "firstAvailable": alternatives})
            else:
                found.append(request(f"r{number}", name, **more))
        return found

    def _constraints(self) -> list[Json]:
        return [{self._chance.choice(("matchAttribute", "distinctAttribute")): NUMA}] if self._chance.random() < 0.3 else []

    def _root(self, name: str, most: int) -> list[Json]:
        """Return a single pod or a gang, with a priority up to *most*; running pods are single."""
        chance = self._chance
        priority = chance.randint(0 if most < 5 else 4, most)
        size = chance.randint(2, 3) if most > 5 and chance.random() < 0.4 else 1
        group = name if size > 1 or (most > 5 and chance.random() < 0.2) else ""
        entries = [f"x:{chance.choice(self._templates)}"] if chance.random() < 0.8 else []
        entries += [f"s={claim}" for claim in self._claims[:1] if chance.random() < 0.3]
        entries += [f"u={claim}" for claim in self._claims[1:] if chance.random() < 0.2]
        own: Json = {}
        if group and chance.random() < 0.3:
            entries.append(f"of:{self._templates[0]}")
            own["resourceClaims"] = [{"name": "of", "resourceClaimTemplateName": self._templates[0]}]
        cpu, never = str(chance.randint(0, 2)), most > 5 and chance.random() < 0.15
        policy = {"preemptionPolicy": "Never"} if never else {}
        found = [leaf(group, chance.randint(1, size), chance.choice(("", "", "rack")), priority=priority, **own, **policy)] if group else []
        for number in range(size):
            made = wanting(f"{name}-{number}", *entries, group=group, cpu=cpu, priority=priority, **policy)
            if not entries:
                del made["spec"]["resourceClaims"]
            found.append(made)
        return found


def _namespace() -> Json:
    labels = {"resource.kubernetes.io/admin-access": "true"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}
