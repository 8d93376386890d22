"""Pods are evicted for devices while other roots come, and wherever the process is killed: no eviction is in vain, no device is given twice."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from tests.sampling import sampled
from tests.scheduler_core.builders import leaf, node
from tests.scheduler_core.plugins.device_objects import (
    claim_spec,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)
from tests.scheduler_core.sidecar.device_world import DeviceWorld
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.test_crashes import MANY, in_vain, options
from tests.scheduler_core.sidecar.world import Luck

HOSTNAME = "kubernetes.io/hostname"
FREE = [resource_claim(name, request()) for name in ("f0", "f1")]


def crowded(chance: random.Random) -> DeviceWorld:
    """Nodes with few devices, most of which running pods of low priority have."""
    objects: list[Json] = [device_class(), template(), *FREE]
    if chance.random() < 0.5:
        spec = claim_spec(request(count=chance.randint(1, 2)), constraints=[{"requests": ["gpu"], "matchAttribute": "x/numa"}])
        objects[-1] = FREE[-1] | {"spec": spec}
    free: dict[str, list[str]] = {}
    for name in "abc"[: chance.randint(1, 3)]:
        free[name] = [f"d{number}" for number in range(chance.randint(1, 2))]
        devices = [device(each, {"x/numa": chance.randint(0, 1)}) for each in free[name]]
        objects += [node(name, cpu=str(chance.randint(1, 2))), device_slice(name, *devices)]
    world = DeviceWorld(objects, options("preempt", "complete"), Luck(chance, late=chance.random() < 0.5))
    for number in range(chance.randint(1, 4)):
        on = chance.choice([*free])
        if free[on]:
            world.server.put(wanting(f"low-{number}", f"x=c{number}", on=on, cpu="1", priority=chance.randint(0, 3)))
            uid = world.server.objects["Pod", "default", f"low-{number}"]["metadata"]["uid"]
            nodes = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]}
            used = resource_claim(f"c{number}", request(), devices=[f"gpu={on}/{free[on].pop()}"], users=[uid], nodes=nodes)
            used["status"]["reservedFor"][0]["name"] = f"low-{number}"
            used["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
            world.server.put(used)
    return world


def root(chance: random.Random, name: str, claims: list[str], nodes: list[str]) -> list[Json]:
    """A pod, or a gang, with a claim of its own or one of *claims*, or both."""
    shared, own = f"x={chance.choice(claims)}", "g:one"
    entries = chance.choice([[own], [shared], [shared, own], [shared]])
    more: Json = {"nodeSelector": {HOSTNAME: chance.choice(nodes)}} if chance.random() < 0.4 else {}
    more["priority"] = chance.randint(3, 9)
    if chance.random() < 0.6:
        return [wanting(name, *entries, cpu=str(chance.randint(0, 2)), **more)]
    size = chance.randint(1, 2)
    members = [wanting(f"{name}-{number}", *entries, group=name, cpu=str(chance.randint(0, 1)), **more) for number in range(size)]
    return [leaf(name, size, priority=more["priority"]), *members]


@settings(MANY, max_examples=sampled(400, share=20))
@given(seed=st.integers(0, 2**32))
def test_no_pod_is_evicted_in_vain_and_no_device_is_given_twice(seed):
    chance = random.Random(seed)
    world = crowded(chance)
    claims = [name for kind, _, name in world.server.objects if kind == "ResourceClaim"]
    nodes = [name for kind, _, name in world.server.objects if kind == "Node"]
    restarts = chance.random() < 0.3
    for number in range(chance.randint(2, 4)):
        for each in root(chance, f"r{number}", claims, nodes):
            world.server.put(each)
        for _ in range(chance.randint(0, 25)):
            if not world.step():
                world.now += 0.5
        if restarts and chance.random() < 0.5:
            world.start()
    world.run(3000)
    world.check_devices()
    assert [] == in_vain(world)
    table = load(world.server.objects.values()).nodes
    live = world.store.usage.placement_state()
    used = {name: int(live.requested.sums()[0, live.nodes.index[name]]) for name in table.names}
    cpu: dict[str, int] = dict.fromkeys(table.names, 0)
    for each in load(world.server.objects.values()).pods:
        if each.node >= 0:
            cpu[table.names[each.node]] += dict(each.shape.requests).get(0, 0)
    assert cpu == used
