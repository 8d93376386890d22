"""Stores of nodes and groups: events that lead to some objects leave what files with these objects fill."""

from __future__ import annotations

import random

import pytest

from kubeapi.gather import gather
from scheduler_core.cluster.group_store import GroupPriorities, GroupStore
from scheduler_core.cluster.node_store import NodeChange, NodeStore
from scheduler_core.cluster.rule_lookups import with_nodes
from scheduler_core.cluster.store import Store
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, composite, leaf, node, table
from tests.scheduler_core.loading.manifests import budget, priority_class
from tests.scheduler_core.worded_problems import worded
from validators.model.objects import Named


def changed(store: Store, *objects: Json) -> list[object]:
    """Add or replace *objects*, and return the effects."""
    kinds, _ = gather(objects)
    return [
        store.add_or_update(each, (each.content()["metadata"].get("namespace", ""), each.content()["metadata"]["name"]))
        for kind in store.readers
        for each in kinds[kind]
    ]


def filled(store: Store, objects: list[Json]) -> Store:
    store.fill(gather(objects)[0], [])
    return store


def told(store: GroupStore) -> tuple[object, ...]:
    """All that a store of groups says."""
    known = {kind: store.list_kind(kind) for kind in store.readers}
    children = {name: store.children("PodGroup", "default", name) for name in ("c", "d")}
    return known, children, store.all_completed(), dict(GroupPriorities(store)), store.budgets, {*store.problems()}, {*store.unusable}


def random_object(chance: random.Random) -> Json:
    parent, priority = chance.choice(["", "c", "d"]), chance.choice([{}, {"priorityClassName": "high"}, {"priority": 3}])
    made = chance.choice(
        [
            leaf(chance.choice("gh"), 1, parent=parent, **priority),
            composite(chance.choice("cd"), 1, parent=parent),
            {**leaf(chance.choice("gh"), 1), "spec": "nonsense"},
            priority_class("high", chance.choice([5, 6]), preemptionPolicy=chance.choice(["Never", "PreemptLowerPriority"])),
            priority_class("usual", 2, globalDefault=chance.choice([True, False])),
            budget(status={"disruptionsAllowed": chance.choice([1, 2])}),
        ]
    )
    if made["kind"] != "PriorityClass":
        made["metadata"]["namespace"] = "default"
    return made


@pytest.mark.parametrize("seed", range(sampled(300)))
def test_events_leave_what_files_fill(seed):
    chance, store, present = random.Random(seed), GroupStore(), {}
    for _ in range(30):
        made = random_object(chance)
        key = made["kind"], made["metadata"].get("namespace", ""), made["metadata"]["name"]
        if chance.random() < 0.3:
            present.pop(key, None)
            store.remove(key[0], key[1:])
        else:
            present[key] = made
            changed(store, made)
        if chance.random() < 0.5:
            # What is kept of an answer must not show in the next.
            told(store)
    objects = [*present.values()]
    chance.shuffle(objects)
    assert told(filled(GroupStore(), objects)) == told(store)


def test_a_group_has_the_policy_of_its_class_until_the_class_goes():
    store = filled(GroupStore(), [leaf("g", 1, priorityClassName="high"), priority_class("high", 5, preemptionPolicy="Never")])
    key = ("PodGroup", "default", "g")
    assert (store.completed(key).spec.preemption_policy, store.priority(key)) == ("Never", 5)
    store.remove("PriorityClass", ("", "high"))
    assert (store.completed(key).spec.preemption_policy, store.priority(key)) == (None, 0)
    assert ['spec.priorityClassName is "high", which does not exist; priority 0 is used'] == [
        each.message for each in worded(store.problems())
    ]


def test_entries_of_a_group_are_those_of_its_last_version():
    claims = [{"name": "gpu", "resourceClaimName": "k"}]
    store = filled(GroupStore(), [leaf("g", 1)])
    name = ("default", "g")
    assert {} == store.entries(name)
    changed(store, leaf("g", 1, resourceClaims=claims))
    assert ["k"] == [entry.claim for entry in store.entries(name)]
    store.remove("PodGroup", name)
    assert store.entries(name) is None


def test_generated_groups_are_known_beside_the_others_and_the_store_stays_as_it_is():
    store = filled(GroupStore(), [leaf("g", 1), {**leaf("h", 1), "spec": 3}, budget()])
    (more,) = filled(GroupStore(), [leaf("more", 1)]).groups
    both = store.with_groups((more,))

    assert ["g", "more", "h"] == [each.metadata.name for each in both.list_kind("PodGroup")]
    assert isinstance(both.get("PodGroup", "default", "h"), Named)
    assert both.budgets == store.budgets != ()
    assert (None, store) == (store.get("PodGroup", "default", "more"), store.with_groups(()))


def test_system_classes_exist_and_kinds_without_objects_are_unknown():
    store = GroupStore()
    assert 2_000_000_000 == store.get("PriorityClass", "any", "system-cluster-critical").value
    assert (None, None, None) == (store.list_kind("PodGroup"), store.list_kind("Pod"), store.get("Pod", "default", "p"))


def test_nodes_are_known_by_their_table_and_other_kinds_as_before():
    groups = filled(GroupStore(), [leaf("g", 1)])
    known = with_nodes(groups, table([{"rack": "a"}, {}]))
    assert [("n000", {"rack": "a"}), ("n001", {})] == [(each.metadata.name, each.metadata.labels) for each in known.list_kind("Node")]
    assert ("n001", None) == (known.get("Node", "", "n001").metadata.name, known.get("Node", "", "n002"))
    assert groups.list_kind("PodGroup") == known.list_kind("PodGroup")
    assert with_nodes(groups, table([])).list_kind("Node") is None


def test_a_node_differs_only_if_a_field_changes_that_placement_reads():
    store = NodeStore()
    image = {"names": ["a:1"], "sizeBytes": 5}
    steps = [
        node("n"),
        node("n"),
        node("n", cpu="5"),
        {**node("n", cpu="5"), "status": {**node("n", cpu="5")["status"], "images": [image]}},
    ]
    found = [each for step in steps for each in changed(store, step)]
    assert [(each.differs, each.added) for each in found] == [(True, True), (False, False), (True, False), (False, False)]
    assert ["a:1"] == [name for each in store.nodes["n"].images for name in each.names]
    assert NodeChange("n", differs=True, added=False, removed=True) == changed(store, {**node("n"), "status": {"allocatable": 3}})[0]
    assert ({}, [("Node", "", "n")]) == (store.nodes, [*store.unusable])
    assert not store.remove("Node", ("", "n")).differs
