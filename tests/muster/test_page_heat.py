"""The heat map: levels, marks, groups, and sizes with which it fits on one screen."""

from __future__ import annotations

import pytest

from muster.html import heat_map as module
from muster.html.heat_map import INDEX, SCREENS, VISIBLE_TILE, HeatArea, heat_map, height, layouts
from muster.html.placed_pods import resources
from tests.muster import paged
from tests.muster.paged import GPU, RACK, ZONE, gang, machine, member, racks


def drawn(objects, rows=4):
    case = paged.case(objects)
    return heat_map(case.final, case.area_map.whole, resources(case.final, ())[:rows], indexed=True)


def tiles(area):
    return [tile for each in area.walk() for tile in each.tiles]


@pytest.mark.parametrize(
    ("cpu", "want"),
    [("", "a"), ("1m", "b"), ("999m", "b"), ("1", "c"), ("2", "d"), ("3", "e"), ("3999m", "e"), ("4", "f"), ("9", "f")],
)
def test_level_is_the_quarter_of_the_share_in_use(cpu, want):
    found = drawn([machine("n", cpu="4"), *([member("p", on="n", cpu=cpu)] if cpu else [])], rows=1)
    assert [f"r{want}"] == tiles(found.whole)


def test_each_resource_has_its_level_and_a_node_can_lack_one():
    nodes = [machine("n1", gpus=2), machine("n2")]
    found = drawn([*nodes, member("p", on="n1", cpu="4", gpus=1)])
    case = paged.case([*nodes, member("p", on="n1", cpu="4", gpus=1)])
    names = [case.final.nodes.resources[row] for row in resources(case.final, ())]
    letters = dict(zip(names, module.RESOURCES, strict=False))

    assert {f"{letters['cpu']}f", f"{letters[GPU]}d", f"{letters['memory']}a"} == set(tiles(found.whole)[0].split())
    assert f"{letters[GPU]}n" in tiles(found.whole)[1].split()
    assert ("without",) == found.marks


def test_marks_are_what_the_simulation_changes():
    evicting = drawn([*paged.evicting(), machine("shut", cordoned=True, labels={RACK: "r2", ZONE: "z1"})], rows=1)
    assert ["rf leaves comes", "ra closed"] == tiles(evicting.whole)
    assert ("leaves", "comes", "closed") == evicting.marks
    assert {"new"} == {mark for tile in tiles(drawn(paged.placed_tree(), rows=1).whole) for mark in tile.split()[1:]}


def test_tiles_are_in_the_order_of_the_nodes_below():
    found = paged.case([*racks(3, 2), machine("bare")]).area_map.whole
    below = [node for area in found.walk() if not area.parts for node in area.nodes]
    order = [str(node) for node in below]
    assert order == tiles(module._drawn(found, 8, [str(node) for node in range(6)], 6, labels=True))
    assert order == tiles(module._drawn(found, 1, [str(node) for node in range(6)], 6, labels=True))


def test_too_many_groups_are_those_of_a_wider_level(monkeypatch):
    nodes = [machine(f"{z}-{r}-{n}", labels={ZONE: f"z{z}", RACK: f"z{z}r{r}"}) for z in range(2) for r in range(3) for n in range(2)]
    nodes = [*nodes, *gang("g", 1, key=RACK)]
    assert [2, 2, 2, 2, 2, 2] == [len(each.tiles) for each in drawn(nodes).whole.walk() if each.tiles]
    monkeypatch.setattr(module, "MOST_GROUPS", 5)
    assert [6, 6] == [len(each.tiles) for each in drawn(nodes).whole.walk() if each.tiles]
    monkeypatch.setattr(module, "MOST_GROUPS", 1)
    assert [12] == [len(each.tiles) for each in drawn(nodes).whole.walk() if each.tiles]


def test_groups_have_labels_unless_they_are_too_many(monkeypatch):
    assert ["zone z1", "rack r1", "rack r2"] == [
        each.title for each in drawn([*racks(2, 2), *gang("g", 1, key=RACK)]).whole.walk() if each.labelled
    ]
    monkeypatch.setattr(module, "MOST_LABELS", 1)
    assert [] == [each.title for each in drawn([*racks(2, 2), *gang("g", 1, key=RACK)]).whole.walk() if each.labelled]


SHAPES = {
    "one area": [5000],
    "zones": [1000] * 5,
    "racks": [100] * 50,
    "racks in zones": [[100] * 10] * 5,
    "small racks": [14] * 357,
    "small racks in zones": [[14] * 36] * 10,
    "one large, many small": [3000, *[10] * 200],
}


def area(sizes, number=0):
    if isinstance(sizes, list):
        parts = tuple(area(each, place) for place, each in enumerate(sizes, number + 1))
        return HeatArea("", number, bool(number), False, (), parts)
    return HeatArea("", number, True, sizes >= 625, ("ra",) * sizes, ())


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
def test_tiles_of_five_thousand_nodes_are_visible(sizes, indexed):
    whole = area(sizes)
    chosen = layouts(whole, indexed=indexed)
    extra = [0 if indexed or least < INDEX[0] else INDEX[1] for least, _, _ in SCREENS]
    heights = [height(whole, layout, width + more) for layout, (_, width, _), more in zip(chosen, SCREENS, extra, strict=True)]

    assert min(layout.tile for layout in chosen) >= VISIBLE_TILE
    assert heights[0] <= 2400
    assert max(heights[3:]) <= 1000


def test_few_nodes_have_large_tiles_and_labels():
    found = layouts(drawn([*racks(4, 4), *gang("g", 1, key=RACK)]).whole, indexed=True)
    assert {(module._LARGEST_TILE, True)} == {(layout.tile, layout.labels) for layout in found}


def test_labels_are_left_out_if_the_tiles_were_small_with_them():
    found = layouts(area([10] * 100), indexed=True)
    assert [(False, True), (True, True)] == [(layout.labels, layout.gaps) for layout in (found[0], found[-1])]


def test_gaps_are_left_out_if_the_tiles_were_small_with_them():
    assert not layouts(area([[3] * 160] * 10), indexed=True)[0].gaps


def test_a_map_that_is_too_large_has_the_smallest_tiles():
    assert module._LEAST_TILE == layouts(area([200] * 1000), indexed=True)[0].tile


def test_widths_are_those_of_the_stylesheet():
    style = drawn([*racks(8, 2), *gang("g", 1, key=RACK)]).style
    assert [
        "@media (min-width:0px){.heat{--tile:40px}.heat .groups{gap:8px;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}"
    ] == [style.splitlines()[0].partition(".heat .labelled")[0]]
