"""Causes of decisions about devices: their order, and what they leave to the groups."""

from __future__ import annotations

import pytest

from scheduler_core.causes.claims import PodsAwaitDevices, PodsLeftOut, ReservationRefused
from scheduler_core.causes.groups import PartlyPlaced
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, composite, decided, leaf, message_of, node, pod
from tests.scheduler_core.plugins.device_objects import device_class, device_slice, request, resource_claim, wanting

CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
AWAITED = "pod default/p: waiting for binding conditions for device on node n1"
NAMES = ("c", "c-d", "c.d", "c0", "cd")


def fabric(*devices: str) -> list[Json]:
    return [*(node(f"n{number}", cpu="100") for number in range(4)), device_class(), device_slice(None, *devices, pool="x", allNodes=True)]


@pytest.mark.parametrize("strategy", ["greedy", "complete"])
def test_a_root_that_waits_for_devices_leaves_the_cause_of_a_child_to_its_group(strategy):
    claim = resource_claim("c", devices=["gpu=x/a"], results=CONDITIONS)
    tree = [composite("root"), leaf("a", 1, parent="root"), leaf("b", 1, parent="root"), pod("b-0", "b", "99")]
    decision = decided([node("n1"), device_class(), claim, *tree, wanting("p", "x=c", group="a")], strategy=strategy)

    assert (Status.WAIT, [PartlyPlaced, PodsAwaitDevices]) == (decision.status, [*map(type, decision.causes)])
    assert AWAITED == message_of(decision)


def test_pods_that_are_left_out_have_a_sentence_before_those_that_wait():
    claim = resource_claim("c", request(), devices=["gpu=x/f"], results=CONDITIONS)
    users = [wanting(f"g-{number}", "f=c", group="g") for number in range(257)]
    decision = decided([*fabric("f"), claim, leaf("g", 2), *users], strategy="complete")

    assert [PodsLeftOut, PodsAwaitDevices] == [*map(type, decision.causes)]
    assert message_of(decision).startswith("1 pod is left out: claim default/c can have at most 256 consumers")
    assert "which is then its only consumer. pod default/g-0: waiting for binding conditions" in message_of(decision)


def test_refused_reservations_are_in_the_order_of_their_words():
    full = [resource_claim(name, request(), devices=[f"gpu=x/f-{name}"], users=[f"q{number}" for number in range(256)]) for name in NAMES]
    users = [wanting(f"g-{name}", f"f={name}", group="g") for name in NAMES]
    decision = decided([*fabric(*(f"f-{name}" for name in NAMES)), *full, leaf("g", 1), *users], strategy="greedy")
    texts = message_of(decision).split("; ")

    assert (Status.ERROR, {ReservationRefused}) == (decision.status, {*map(type, decision.causes)})
    assert len(NAMES) == len(texts)
    assert sorted(texts) == texts
