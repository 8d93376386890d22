"""The map: areas, shelves, lines."""

# ruff: noqa: RUF001 - the multiplication sign is meant to be one

from __future__ import annotations

import pytest

from muster.html import cluster_map
from muster.html.cluster_map import SHELVES, chart
from tests.muster import paged
from tests.muster.paged import gang, group, machine, member


def drawn(objects, **options):
    case = paged.case(objects, **options)
    return chart(case)


def last(plot):
    """The areas that hold nodes."""
    return [each for part in plot.parts for each in last(part)] if plot.parts else [plot]


def test_areas_report_what_is_free_of_each_resource():
    found = drawn(paged.many_gpus())

    assert (("zone", "rack"), ("nvidia.com/gpu", "cpu", "memory")) == (found.levels, found.resources)
    assert [
        ("rack r1", "2 nodes", "8 of 16 nvidia.com/gpu free"),
        ("rack r2", "3 nodes", "12 of 24 nvidia.com/gpu free, 8 of that closed"),
    ] == [(plot.title, plot.size, plot.totals[0]) for plot in last(found.plot)]


def test_areas_report_the_groups_placed_in_them():
    assert ["a ×4", "b ×4", ""] == [plot.placed_groups for plot in last(drawn(paged.placed_tree()).plot)]


def test_a_shelf_has_its_resources_the_scarcest_first():
    shelf = last(drawn(paged.many_gpus()).plot)[1].shelves[1]
    assert "r2-2" == shelf.name
    assert [("gpu", "squares", "4 of 8"), ("cpu", "bar", "3 of 4"), ("memory", "bar", "16Gi of 16Gi")] == [
        (meter.name, meter.shape, meter.text) for meter in shelf.meters
    ]
    assert (("default/three", "running", "4 nvidia.com/gpu, 1 cpu"),) == shelf.pods


def test_a_shelf_says_who_comes_and_leaves():
    (shelf,) = last(drawn(paged.evicting()).plot)[0].shelves
    assert [("leaving", "would be evicted: leaves"), ("promised", "nominated: urgent")] == [(note.kind, note.text) for note in shelf.notes]
    assert {("default/leaves", "would be evicted"), ("default/stays", "running"), ("default/urgent-0", "nominated")} == {
        pod[:2] for pod in shelf.pods
    }


@pytest.mark.parametrize(
    ("node", "want"),
    [
        pytest.param({"taint": "maintenance"}, "closed to pending pods: maintenance=yes:NoSchedule", id="a taint"),
        pytest.param({"cordoned": True, "taint": "t"}, "closed to pending pods: cordoned", id="cordoned"),
        pytest.param({}, "closed to pending pods: not selected by them", id="not selected"),
    ],
)
def test_a_shelf_says_why_it_is_closed(node, want):
    (shelf,) = drawn([machine("n", **node), member("p", nodeSelector={"a": "b"})]).plot.shelves
    assert [want] == [note.text for note in shelf.notes if note.kind == "closed"]


def test_a_shelf_has_facts_of_its_own():
    (shelf,) = drawn([machine("n", gpus=2, taint="t", cordoned=True)]).plot.shelves
    assert {
        "nvidia.com/gpu": "2 of 2 free",
        "cpu": "4 of 4 free",
        "memory": "16Gi of 16Gi free",
        "taints": "t=yes:NoSchedule",
        "cordoned": "yes",
    } == dict(shelf.facts)


def test_many_pods_of_a_node_are_cut(monkeypatch):
    monkeypatch.setattr(cluster_map, "PODS_SHOWN", 2)
    (shelf,) = drawn([machine("n"), *(member(f"p{number}", on="n", cpu="1m") for number in range(5))]).plot.shelves
    assert (2, 3) == (len(shelf.pods), shelf.more)


def test_many_devices_are_a_bar():
    (shelf,) = drawn([machine("n", gpus=64), *gang("g", 1, gpus=32)]).plot.shelves
    assert ("gpu", "bar") == (shelf.meters[0].name, shelf.meters[0].shape)


def test_legend_explains_what_is_drawn():
    assert ("running", "free", "closed") == drawn(paged.many_gpus()).kinds
    assert ("running", "leaving", "line", "free") == drawn(paged.evicting()).kinds


def crowd(count):
    return [machine(f"n{number}", cpu="4", gpus=4 if number % 2 else 0) for number in range(count)]


def test_many_nodes_are_lines_of_a_table():
    few, many = drawn(crowd(SHELVES)), drawn([*crowd(SHELVES + 1), *gang("g", 3, gpus=4)])
    assert (True, False) == (few.as_shelves, many.as_shelves)
    (plot,) = last(many.plot)
    assert SHELVES + 1 == len(plot.lines)
    assert [("n0", "none"), ("n1", "0 of 4"), ("n2", "none")] == [(line.name, line.amounts[0]) for line in plot.lines[:3]]
    assert ["placed: g"] == [note.text for note in plot.lines[1].notes]
    assert ["nvidia.com/gpu", "cpu", "memory"] == list(many.resources)
    assert [(), ()] == [plot.shelves, last(few.plot)[0].lines]


def test_on_many_nodes_a_shelf_has_one_picture():
    shelves = drawn(crowd(cluster_map.FULL_SHELVES + 1)).plot.shelves
    assert {1} == {len(shelf.meters) for shelf in shelves}


def test_a_level_that_a_tree_requests_becomes_a_level():
    nodes = [machine(f"n{number}", labels={"example.com/pool": f"p{number // 2}"}) for number in range(4)]
    assert () == drawn(nodes).levels
    assert ("pool",) == drawn([*nodes, group("t", 1, key="example.com/pool")]).levels
