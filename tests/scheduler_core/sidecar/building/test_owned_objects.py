"""Watched objects by name and by controller."""

from __future__ import annotations

import random

from scheduler_core.sidecar.building.owned_objects import Objects

GROUP = ("scheduling.muster.dev", "PodGroup")


def group(name, owner="", **metadata):
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner, "controller": True}] if owner else []
    return {"kind": "PodGroup", "metadata": {"name": name, "namespace": "a", "ownerReferences": owners, **metadata}}


def names(objects):
    return [each["metadata"]["name"] for each in objects]


def test_the_order_of_events_makes_no_difference():
    chance = random.Random(47)
    for _ in range(200):
        changed = []
        objects, expected = Objects(lambda kind, each, changed=changed: changed.append((kind, each["metadata"]["name"]))), {}
        for _ in range(20):
            name, owner = chance.choice("abcd"), chance.choice(["", "x", "y"])
            match chance.randrange(4):
                case 0:
                    objects.remove(GROUP, group(name))
                    expected.pop(name, None)
                case 1:
                    expected = {name: owner}
                    objects.set_all(GROUP, [group(name, owner)])
                case _:
                    expected[name] = owner
                    objects.add_or_update(GROUP, group(name, owner))

        assert sorted(expected) == names(objects.list_kind(GROUP, "a"))
        for owner in "xy":
            assert sorted(name for name, own in expected.items() if own == owner) == names(objects.owned_by(owner))
        assert {GROUP} == {kind for kind, _ in changed}


def test_the_objects_of_a_list_that_are_gone_count_as_changed():
    changed = []
    objects = Objects(lambda _, each: changed.append(each["metadata"]["name"]))
    objects.set_all(GROUP, [group("a"), group("b")])
    changed.clear()

    objects.set_all(GROUP, [group("b")])

    assert ["a", "b"] == changed
    assert objects.get(GROUP, ("a", "a")) is None
