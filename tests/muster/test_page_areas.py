"""The levels of a topology, and the areas that they make."""

from __future__ import annotations

import pytest

from muster.html.topology_areas import Area, AreaMap, areas, identity
from scheduler_core.cluster.load import load
from scheduler_core.model.topology_levels import levels
from tests.muster.paged import RACK, ZONE, machine

BLOCK, SLOT, LEGACY = "cloud.google.com/gce-topology-block", "example.com/slot", "failure-domain.beta.kubernetes.io/zone"


def nodes(*labels):
    return load([machine(f"n{number}", labels=each) for number, each in enumerate(labels)]).nodes


def drawn(area):
    """Titles of an area and all inside it, with its nodes where it has no parts."""
    if not area.parts:
        return {area.title: list(area.nodes)}
    inside = {}
    for part in area.parts:
        inside |= drawn(part)
    return {area.title: inside}


@pytest.mark.parametrize(
    ("labels", "wanted", "want"),
    [
        pytest.param([{ZONE: "z1", RACK: "r1"}, {ZONE: "z1", RACK: "r2"}, {ZONE: "z1", RACK: "r2"}], [], (ZONE, RACK), id="known ones"),
        pytest.param(
            [{ZONE: "z1", SLOT: "a"}, {ZONE: "z2", SLOT: "a"}, {ZONE: "z2", SLOT: "b"}],
            [SLOT],
            (SLOT,),
            id="a known one that crosses a wanted one",
        ),
        pytest.param(
            [{ZONE: "z1", SLOT: "a"}, {ZONE: "z2", SLOT: "a"}, {ZONE: "z2", SLOT: "b"}],
            [SLOT, ZONE],
            (ZONE, SLOT),
            id="two wanted ones that cross",
        ),
        pytest.param(
            [{ZONE: f"z{n // 4}", RACK: f"r{n // 2 % 2}"} for n in range(12)], [], (ZONE, RACK), id="racks of the same names in every zone"
        ),
        pytest.param(
            [{ZONE: "z1", SLOT: "a"}, {ZONE: "z1", SLOT: "b"}, {ZONE: "z2", SLOT: "c"}], [SLOT], (ZONE, SLOT), id="a wanted one of any name"
        ),
        pytest.param([{ZONE: "z1", SLOT: "a"}, {ZONE: "z1", SLOT: "b"}, {ZONE: "z2"}], [], (ZONE,), id="one that nobody wants"),
        pytest.param(
            [{ZONE: f"z{n}", BLOCK: "b1"} for n in range(3)] + [{ZONE: "z2", BLOCK: "b1"}], [], (BLOCK, ZONE), id="the wider one first"
        ),
        pytest.param(
            [{ZONE: "z1"}, {ZONE: "z2"}, {ZONE: "z3"}, {ZONE: "z3", RACK: "r1"}, {ZONE: "z3", RACK: "r1"}],
            [],
            (ZONE, RACK),
            id="a rack lies in its zone, though there are fewer racks",
        ),
        pytest.param([{ZONE: "z1", LEGACY: "z1"}, {ZONE: "z1", LEGACY: "z1"}], [], (ZONE,), id="a key of old"),
        pytest.param([{RACK: "r1", "topology.kubernetes.io/rack": "r1"}] * 2, [RACK], (RACK,), id="two that divide alike"),
        pytest.param([{RACK: f"r{n}"} for n in range(4)], [], (), id="one that sets every node apart"),
        pytest.param([{RACK: f"r{n}"} for n in range(4)], [RACK], (RACK,), id="the same, wanted"),
        pytest.param([{}, {}], [RACK, "kubernetes.io/hostname"], (), id="one that no node has, and the node itself"),
        pytest.param([], [RACK], (), id="no nodes"),
    ],
)
def test_levels(labels, wanted, want):
    assert want == levels(nodes(*labels), wanted)


def test_areas_lie_inside_each_other_and_what_lacks_a_label_comes_last():
    table = nodes({ZONE: "z10", RACK: "r1"}, {ZONE: "z2", RACK: "r1"}, {RACK: "r1"}, {}, {ZONE: "z2"})
    want = {
        "zone z2": {"rack r1": [1], "without rack": [4]},
        "zone z10": {"rack r1": [0]},
        "without zone": {"rack r1": [2], "without rack": [3]},
    }
    assert {"all nodes": want} == drawn(areas(table, (ZONE, RACK)))


def test_a_level_that_is_not_there_is_passed_over():
    table = nodes({ZONE: "z1"}, {ZONE: "z2", RACK: "rack-1"}, {ZONE: "z2", RACK: "rack-2"})
    assert {"all nodes": {"zone z1": [0], "zone z2": {"rack-1": [1], "rack-2": [2]}}} == drawn(areas(table, (ZONE, RACK)))


def test_nodes_are_in_the_order_in_which_people_count():
    table = load([machine(f"n{number}") for number in range(12)]).nodes
    assert [f"n{number}" for number in range(12)] == [table.names[index] for index in areas(table, ()).nodes]


def test_survey_finds_a_domain_by_its_nodes():
    area_map = AreaMap.from_nodes(nodes(*({ZONE: f"z{number // 4}", RACK: f"r{number // 2 % 2}"} for number in range(8))), [RACK])
    areas_of = {area.number: (area.title, area.nodes) for area in area_map.whole.walk()}

    assert ("zone z1", (4, 5, 6, 7)) == areas_of[area_map.find(ZONE, "z1", ["n5"])]
    assert ("rack r0", (0, 1)) == areas_of[area_map.find(RACK, "r0", ["n1"])]
    assert ("rack r0", (4, 5)) == areas_of[area_map.find(RACK, "r0", ["gone", "n5"])]
    assert ("rack r0", (0, 1)) == areas_of[area_map.find(RACK, "r0", [])]
    assert None is area_map.find(RACK, "r7", ["n0"])
    assert None is area_map.find("not/drawn", "x", [])


def test_of_areas_with_the_same_nodes_the_innermost_is_meant():
    area_map = AreaMap.from_nodes(
        nodes({ZONE: "z1", RACK: "r1"}, {ZONE: "z1", RACK: "r1"}, {ZONE: "z2", RACK: "r2"}, {ZONE: "z1", RACK: "r3"}), []
    )
    (inner,) = [area.number for area in area_map.whole.walk() if area.title == "rack r2"]
    assert inner == area_map.numbers[identity([2])]


def test_where_there_is_no_node_nothing_is_found():
    assert {} == AreaMap.from_nodes(nodes(), [RACK]).numbers


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [
        (RACK, "r1", "rack r1"),
        (RACK, "rack-1", "rack-1"),
        (BLOCK, "block-1", "gce-topology-block block-1"),
        (RACK, "", "the rack without a name"),
        (RACK, None, "without rack"),
    ],
    ids=["a name", "a name that says what it is", "a long key", "an empty name", "no name"],
)
def test_titles_are_those_of_messages(key, value, want):
    assert want == Area(1, key, value, (), ()).title
