"""Candidate placements of a group."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.topology import Topology
from scheduler_core.placement.candidate_placements import PinError, enough, in_domain, merged, pinned_value
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.scheduler_core.builders import cases, decided, leaf, message_of, node, placed, pod, pods, racks, run, table
from tests.scheduler_core.worded_problems import worded

GENERATED = [case for case in cases("generatePlacements") if case["topologyKey"]]


def nodes_of(case: dict[str, Any]) -> tuple[NodeTable, list[str]]:
    labels = {**case["placementNodes"], **case["otherNodes"]}
    return table(labels.values()), [*labels]


def generated(case: dict[str, Any]) -> dict[str, list[str]]:
    """Return the domains of a case's parent; only those of running members if there are any."""
    nodes, names = nodes_of(case)
    topology = Topology(nodes)
    parent = topology.add("", "", np.arange(len(case["placementNodes"]), dtype=np.int64))
    key, running = case["topologyKey"], [names.index(each) for each in case["scheduledPods"].values()]
    if running:
        domain = in_domain(topology, parent, key, pinned_value(nodes, key, running))
        domains = () if domain is None else (domain,)
    else:
        domains = topology.divide(parent, key).domains
    return {each.value: [names[index] for index in each.nodes.tolist()] for each in domains}


@pytest.mark.parametrize("case", [case for case in GENERATED if case["expect"]["status"] == "Success"], ids=lambda case: case["id"])
def test_placements_are_those_of_the_generator_of_kube_scheduler(case):
    assert case["expect"]["placements"] == generated(case)


def known(case: dict[str, Any]) -> bool:
    return {*case["scheduledPods"].values()} <= {*case["placementNodes"], *case["otherNodes"]}


@pytest.mark.parametrize(
    "case", [case for case in GENERATED if case["expect"]["status"] == "Error" and known(case)], ids=lambda case: case["id"]
)
def test_members_that_no_domain_can_hold_are_an_error(case):
    with pytest.raises(PinError):
        generated(case)


@pytest.mark.parametrize("case", [case for case in GENERATED if not known(case)], ids=lambda case: case["id"])
def test_a_member_on_a_node_that_is_not_there_is_left_out_and_reported(case):
    # The snapshot holds no such pod, so nothing of it can be in conflict.
    nodes = [node(name, topology=labels["topology"]) for name, labels in (case["placementNodes"] | case["otherNodes"]).items()]
    running = [pod(name, "g", on=where) for name, where in case["scheduledPods"].items()]
    result = run([*nodes, leaf("g", 2, "topology"), *running, pod("new", "g")])

    assert ["Pod default/pod2"] == [each.object for each in worded(result.problems)]
    assert {"new": "node1"} == placed(result.decisions[0])


def test_the_words_of_a_conflict_name_the_domains_and_the_nodes():
    nodes = table([{"rack": "r2"}, {"rack": "r1"}, {"rack": "r2"}])

    with pytest.raises(PinError) as error:
        pinned_value(nodes, "rack", [0, 1, 2])

    assert attempt_words(error.value.reason) == "members run in 2 domains of 'rack': 'r1' (n001), 'r2' (n000); a group must be in one"


def test_the_words_for_a_node_without_the_label_name_both():
    with pytest.raises(PinError) as error:
        pinned_value(table([{"rack": "r"}, {}]), "rack", [0, 1])

    assert attempt_words(error.value.reason) == "node 'n001', where a member runs, has no label 'rack'"


def test_a_conflict_ends_the_cycle_of_the_whole_root_in_an_error():
    running = [pod("g-8", "g", on="r1-0"), pod("g-9", "g", on="r2-0")]
    decision = decided([*racks({"r1": 1, "r2": 1}), leaf("g", 1, "rack"), *running, *pods("g", 1)])

    assert ("Error", {}) == (decision.status, placed(decision))
    assert "members run in 2 domains of 'rack': 'r1' (r1-0), 'r2' (r2-0); a group must be in one" in message_of(decision)


def test_members_that_run_pin_their_group_to_their_domain():
    nodes = [*racks({"r1": 1}, "8"), *racks({"r2": 1}, "2")]
    pinned = [pod("g-9", "g", on="r2-0"), pod("g-0", "g")]

    assert {"g-0": "r2-0"} == placed(decided([*nodes, leaf("g", 2, "rack"), *pinned]))


@pytest.mark.parametrize("case", cases("mergePlacements"), ids=lambda case: case["id"])
def test_placements_of_several_generators_meet(case):
    parts = []
    for plugin in case["plugins"]:
        given_ = {"": case["nodes"]} if plugin == "<parent>" else plugin
        parts.append({name: np.array([case["nodes"].index(each) for each in nodes]) for name, nodes in given_.items()})
    result = {name: [case["nodes"][index] for index in nodes.tolist()] for name, nodes in merged(parts).items()}

    assert (case["expect"]["placements"] or {}) == result


parts_of_ten = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(0, 9), min_size=1).map(sorted), max_size=3), min_size=1, max_size=3
)


@given(parts_of_ten)
def test_a_meeting_is_what_is_common_to_one_placement_of_each(parts):
    want = {
        "/".join(names): sorted(common)
        for names in itertools.product(*parts)
        if (common := set.intersection(*({*part[name]} for part, name in zip(parts, names, strict=True))))
    }

    assert want == {name: nodes.tolist() for name, nodes in merged([{k: np.array(v) for k, v in part.items()} for part in parts]).items()}


def racks_of(domains: int, nodes: int) -> Any:
    topology = Topology(table([{"rack": f"r{number % domains:03}"} for number in range(nodes)]))
    return topology.divide(topology.root, "rack").domains


@pytest.mark.parametrize(
    ("percentage", "domains", "nodes", "want"),
    [
        pytest.param(0, 50, 50, 50, id="all of a very small cluster"),
        pytest.param(0, 50, 55, 50, id="all of one a little larger"),
        pytest.param(0, 50, 56, 49, id="99 %"),
        pytest.param(0, 50, 1000, 41, id="82 % of 1,000 nodes"),
        pytest.param(0, 50, 5000, 5, id="10 % of 5,000 nodes"),
        pytest.param(0, 50, 5300, 2, id="5 % at the least"),
        pytest.param(0, 50, 9000, 2, id="5 % of 9,000 nodes"),
        pytest.param(0, 3, 9000, 1, id="one at the least"),
        pytest.param(30, 10, 10, 3, id="30 %"),
        pytest.param(39, 10, 9000, 3, id="cut off, whatever the size"),
        pytest.param(1, 10, 10, 1, id="one of a small share"),
        pytest.param(100, 10, 9000, 10, id="all where that is said"),
    ],
)
def test_so_many_feasible_placements_are_enough(percentage, domains, nodes, want):
    assert want == enough(percentage, racks_of(domains, nodes))


def test_a_domain_that_is_not_in_the_parent_is_none():
    topology = Topology(table([{"zone": "a", "rack": "r1"}, {"zone": "b", "rack": "r2"}]))
    first = topology.divide(topology.root, "zone").domains[0]

    assert in_domain(topology, first, "rack", "r2") is None
    assert in_domain(topology, first, "rack", "r1") is topology.divide(first, "rack").domains[0]
