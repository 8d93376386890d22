"""Placements and the domains inside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.topology import Placement, Topology
from tests.scheduler_core.builders import cases, table

labelled = st.lists(
    st.fixed_dictionaries({}, optional={"zone": st.sampled_from(["a", "b"]), "rack": st.sampled_from(["r1", "r2", "r3"])}), max_size=12
)


def domains_of(topology: Topology, parent: Placement, key: str) -> dict[str, list[str]]:
    names = topology.nodes.names
    return {each.value: [names[node] for node in each.nodes.tolist()] for each in topology.divide(parent, key).domains}


def test_the_root_placement_is_all_nodes():
    topology = Topology(table([{}, {}, {}]))

    assert ([0, 1, 2], 0, "", 3) == (topology.root.nodes.tolist(), topology.root.serial, topology.root.key, len(topology.root))


def test_domains_are_distinguished_by_their_value_within_the_parent():
    topology = Topology(table([{"zone": zone, "rack": rack} for zone in "ab" for rack in ("r1", "r2")]))
    zones = topology.divide(topology.root, "zone").domains

    assert {"a": ["n000", "n001"], "b": ["n002", "n003"]} == domains_of(topology, topology.root, "zone")
    assert {"r1": ["n000"], "r2": ["n001"]} == domains_of(topology, zones[0], "rack")
    assert {"r1": ["n002"], "r2": ["n003"]} == domains_of(topology, zones[1], "rack")
    assert {"r1": ["n000", "n002"], "r2": ["n001", "n003"]} == domains_of(topology, topology.root, "rack")


@given(labelled)
def test_the_domain_of_a_value_has_exactly_the_nodes_with_the_label(labels):
    topology = Topology(table(labels))
    for parent in (topology.root, *topology.divide(topology.root, "zone").domains):
        expected: dict[str, list[int]] = {}
        for node in parent.nodes.tolist():
            if "rack" in labels[node]:
                expected.setdefault(labels[node]["rack"], []).append(node)
        division = topology.divide(parent, "rack")

        assert sorted(expected.items()) == [(each.value, each.nodes.tolist()) for each in division.domains]
        assert {each.value: row for row, each in enumerate(division.domains)} == division.rows
        assert [division.first + row for row in range(len(division.domains))] == [each.serial for each in division.domains]


@given(labelled)
def test_members_are_the_nodes_of_each_domain_and_padding(labels):
    topology = Topology(table(labels))
    division = topology.divide(topology.root, "rack")
    widest = max((len(each) for each in division.domains), default=0)

    assert (len(division.domains), widest) == division.members.shape
    for row, domain in enumerate(division.domains):
        assert [*domain.nodes.tolist(), *[-1] * (widest - len(domain))] == division.members[row].tolist()


def test_the_capacity_of_a_domain_is_that_of_its_nodes():
    topology = Topology(table([{"rack": "r1"}, {"rack": "r1"}, {"rack": "r2"}, {}], cpu=[1, 2, 4, 8], memory=[10, 20, 40, 80]))
    division = topology.divide(topology.root, "rack")

    assert [[3, 4], [30, 40]] == division.capacities.tolist()
    assert [(3, 30), (4, 40)] == [division.capacity(row) for row in range(2)]


def test_a_division_is_made_once():
    topology = Topology(table([{"rack": "r1"}, {"rack": "r2"}]))
    division = topology.divide(topology.root, "rack")

    assert 3 == topology.count
    assert division is topology.divide(topology.root, "rack")
    assert 3 == topology.count


@pytest.mark.parametrize("labels", [[{}, {}], []], ids=["no node has the key", "there are no nodes"])
def test_without_a_label_there_is_no_domain(labels):
    topology = Topology(table(labels))
    division = topology.divide(topology.root, "rack")

    assert ((), (2, 0), (0, 0)) == (division.domains, division.capacities.shape, division.members.shape)


@given(labelled, st.data())
def test_around_are_all_placements_that_have_one_of_the_nodes(labels, data):
    topology = Topology(table(labels))
    placements = [topology.root]
    for key in ("zone", "rack"):
        for parent in tuple(placements):
            placements += topology.divide(parent, key).domains
    if labels:
        placements.append(topology.add("", "by hand", np.array([len(labels) - 1], dtype=np.int64)))
    nodes = data.draw(st.lists(st.integers(0, len(labels) - 1), max_size=4, unique=True)) if labels else []

    assert {each.serial for each in placements if {*each.nodes.tolist()} & {*nodes}} == topology.placements_containing(nodes)


def test_serials_are_never_given_twice():
    topology = Topology(table([{"zone": "a", "rack": "r1"}, {"zone": "b", "rack": "r1"}]))
    created = [topology.root, *topology.divide(topology.root, "zone").domains, topology.add("", "x", topology.root.nodes)]
    created += [each for zone in topology.divide(topology.root, "zone").domains for each in topology.divide(zone, "rack").domains]

    assert list(range(topology.count)) == sorted(each.serial for each in created)


@pytest.mark.parametrize("case", [case for case in cases("generatePlacements") if not case["scheduledPods"]], ids=lambda case: case["id"])
def test_domains_are_those_of_the_generator_of_kube_scheduler(case):
    labels = {**case["placementNodes"], **case["otherNodes"]}
    topology = Topology(table(labels.values()))
    parent = topology.add("", "<parent>", np.arange(len(case["placementNodes"]), dtype=np.int64))
    result = topology.divide(parent, case["topologyKey"]).domains if case["topologyKey"] else (parent,)

    assert case["expect"]["placements"] == {each.value: [[*labels][node] for node in each.nodes.tolist()] for each in result}
