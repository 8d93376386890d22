"""Pods that ask for what no node has: anybody may, for as much as fits into a pod, and it costs the others nothing."""

from __future__ import annotations

import pytest

from scheduler_core.model.nodes import OTHERS
from scheduler_core.sidecar.cache.node_cache import MAX_UNKNOWN_RESOURCES
from scheduler_core.sidecar.writes import Bind
from tests.scheduler_core.builders import node, pod, reasons_of
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, nodes_of, of

BUILT_IN = 4


def asking(name, *resources, **more):
    found = pod(name, **MUSTER, **more)
    found["spec"]["containers"][0]["resources"]["requests"].update({f"example.com/{each}": "1" for each in resources})
    return found


def having(name, *resources):
    found = node(name)
    found["status"]["allocatable"].update({f"example.com/{each}": "1" for each in resources})
    return found


def many(count=1000):
    return [f"r{number:04}" for number in range(count)]


def rows(scene):
    return scene.store.usage.placement_state().nodes.resources


def why(scene, name):
    return reasons_of(scene.scheduler.explain("default", name).decision)[f"default/{name}"]


def test_few_are_reported_by_name():
    scene = Scene(node("n1"), asking("p", *many(2)))
    assert [] == of(Bind, scene.writes())

    assert OTHERS not in rows(scene)
    assert "example.com/r0000" in why(scene, "p")


def test_many_share_a_row_and_fit_nowhere():
    scene = Scene(node("n1"), asking("p", *many()), pod("q", **MUSTER))
    assert {"q": "n1"} == nodes_of(scene.writes())

    assert BUILT_IN + MAX_UNKNOWN_RESOURCES + 1 == len(rows(scene))
    # After those with a row, by name.
    assert "example.com/r0000" in why(scene, "p")


def test_one_that_has_no_row_of_its_own_is_missed_all_the_same():
    scene = Scene(node("n1"), asking("p", *many()), asking("q", "zzz"))
    assert [] == of(Bind, scene.writes())

    assert OTHERS in why(scene, "q")


def test_a_later_request_does_not_count_everything_again():
    scene = Scene(node("n1"), asking("p", *many()))
    scene.writes()
    before = scene.store.usage.placement_state()
    scene.put(asking("q", "zzz"))
    scene.writes()

    assert before is scene.store.usage.placement_state()


@pytest.mark.parametrize("name", ["r0000", "r0999", "zzz"])
def test_a_node_that_has_the_resource_has_capacity(name):
    scene = Scene(node("n1"), asking("p", *many()), asking("q", name))
    scene.writes()
    scene.put(having("n2", name))

    assert {"q": "n2"} == nodes_of(scene.wait(60.0))


def test_a_node_that_gets_the_resource_later_has_capacity():
    scene = Scene(node("n1"), asking("p", *many()), asking("q", "zzz"))
    scene.writes()
    scene.put(having("n1", "zzz"))

    assert {"q": "n1"} == nodes_of(scene.wait(60.0))


def test_what_changes_on_a_node_leaves_the_rows_as_they_are():
    scene = Scene(node("n1"), asking("p", *many()))
    scene.writes()
    before = rows(scene)
    scene.put(node("n1", "8"))
    scene.writes()

    assert before == rows(scene)


def test_pods_on_an_overcommitted_node_still_use_its_other_resources():
    scene = Scene(node("n1", "2"), asking("p", *many(), on="n1"), pod("q", **MUSTER), pod("r", **MUSTER))

    assert 1 == len(nodes_of(scene.writes()))
