"""Extension points of placement: generators, scorers and checks, alone and with the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.options import PlacingOptions
from scheduler_core.placement.extension_points import Assigned, Plugins
from scheduler_core.placement.greedy import Greedy
from tests.sampling import sampled
from tests.scheduler_core.builders import (
    Json,
    composite,
    conditions_of,
    decided,
    entities,
    leaf,
    message_of,
    node,
    placed,
    pod,
    pods,
    promising,
    run,
    state,
)


class ByLabel:
    """Generator: one placement for each value of a node label."""

    def __init__(self, key: str) -> None:
        self.key = key

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        column = nodes.column(self.key)
        result = {value: parent[column.ids[parent] == number] for number, value in enumerate(column.values)}
        return {value: inside for value, inside in result.items() if len(inside)}


class Unconcerned:
    """Generator that leaves the parent as it is."""

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        return None


class Nowhere:
    """Generator of no placement."""

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        return {}


class Prefers:
    """Scorer that prefers placements with one node."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[tuple[str, int, int]] = []

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        self.seen.append((entity.name.name, len(placement), len(assigned)))
        return 100 if nodes.index[self.name] in placement else 0


class NotOn:
    """Check that rejects one node."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        return f"{self.name} is for others" if any(nodes.names[node] == self.name for _, node in assigned) else ""


def plugged(objects: list[Json], *, generators: Any = (), scorers: Any = (), checks: Any = (), **placing: Any) -> Decision:
    chosen = CycleOptions(plugins=Plugins(tuple(generators), tuple(scorers), tuple(checks)), placing=PlacingOptions(**placing))
    (decision,) = run_cycle(load(objects), chosen).decisions
    return decision


def where(decision: Decision) -> set[str]:
    return {*placed(decision).values()}


NODES = [node(f"{rack}{feed}", "4", rack=rack, feed=feed) for rack in ("r1", "r2") for feed in ("a", "b")]
GANG = [leaf("g", 2, "rack"), *pods("g", 2, "2")]
FREE = [leaf("g", 2), *pods("g", 2, "2")]


def test_without_plugins_there_are_none():
    assert not Plugins()
    assert Plugins(checks=(NotOn("n"),))


@pytest.mark.parametrize(
    ("gang", "generators", "want"),
    [
        pytest.param(GANG, [], {"r1a", "r1b"}, id="the topology alone"),
        pytest.param(GANG, [ByLabel("feed")], {"r1a"}, id="with a generator"),
        pytest.param(GANG, [ByLabel("feed"), ByLabel("rack")], {"r1a"}, id="with two"),
        pytest.param(GANG, [Unconcerned()], {"r1a", "r1b"}, id="with one that leaves the parent as it is"),
        pytest.param(FREE, [ByLabel("feed")], {"r1a", "r2a"}, id="without a key of its own"),
        pytest.param(FREE, [Unconcerned()], {"r1a", "r1b"}, id="without a key and with nothing to divide"),
    ],
)
def test_placements_of_generators_are_intersected_with_the_domains(gang, generators, want):
    assert want == where(plugged([*NODES, *gang], generators=generators))


@pytest.mark.parametrize(
    ("generators", "texts"),
    [
        pytest.param([Nowhere()], "no feasible placements found", id="none is generated"),
        pytest.param(
            [ByLabel("kubernetes.io/hostname")],
            "0/4 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
            id="none is feasible",
        ),
    ],
)
def test_where_no_generated_placement_does_the_words_are_the_usual_ones(generators, texts):
    decision = plugged([*NODES, leaf("g", 2, "rack"), *pods("g", 2, "3")], generators=generators)

    assert "Unschedulable" == decision.status
    assert f"pod group is unschedulable, {texts}, pod group preemption" in conditions_of(decision)[0].message


def test_the_domain_is_named_by_all_its_parts():
    domain = plugged([*NODES, *GANG], generators=[ByLabel("feed")]).groups[0].domain

    assert domain is not None
    assert ("rack", "r1/a") == (domain.key, domain.value)


def test_a_score_is_added_to_those_built_in():
    likes = Prefers("r2b")

    assert {"r2a", "r2b"} == where(plugged([*NODES, *GANG], scorers=[likes]))
    assert [("g", 2, 2), ("g", 2, 2)] == likes.seen
    # A tighter rack is worth less than what the plugin gives, and more than nothing.
    there = pod("there", on="r1a", cpu="2")
    assert {"r2a", "r2b"} == where(plugged([*NODES, there, *GANG], scorers=[Prefers("r2b")]))
    assert {"r1a", "r1b"} == where(plugged([*NODES, there, *GANG], scorers=[Prefers("r2b"), Prefers("r1a")]))


def test_one_feasible_placement_is_taken_whatever_its_score():
    full = [pod(f"full-{name}", on=name, cpu="4") for name in ("r2a", "r2b")]

    assert {"r1a", "r1b"} == where(plugged([*NODES, *full, *GANG], scorers=[Prefers("r2b")]))


def test_a_check_keeps_a_group_off_a_placement():
    assert {"r2a", "r2b"} == where(plugged([*NODES, *GANG], checks=[NotOn("r1a")]))

    decision = plugged([*NODES, *GANG], checks=[NotOn("r1a"), NotOn("r2a")])
    assert ("Unschedulable", {}) == (decision.status, placed(decision))
    assert "0/2 placements are available, first placement status: r1a is for others" in conditions_of(decision)[0].message


def test_a_check_is_requested_every_group_of_a_tree():
    tree = [composite("root", 2, "rack"), leaf("a", 1, parent="root"), leaf("b", 1, parent="root"), *pods("a", 1), *pods("b", 1)]

    assert {"r2a", "r2b"} == where(plugged([*NODES, *tree], checks=[NotOn("r1b")]))


def test_children_are_generated_inside_what_their_parent_was_given():
    tree = [
        composite("root", 2, "rack"),
        leaf("a", 2, "feed", "root"),
        leaf("b", 2, "feed", "root"),
        *pods("a", 2, "2"),
        *pods("b", 2, "2"),
    ]
    decision = plugged([*NODES, *tree], generators=[Unconcerned()])

    assert {"a-0": "r1a", "a-1": "r1a", "b-0": "r1b", "b-1": "r1b"} == placed(decision)


def test_an_error_on_one_placement_is_the_groups():
    tree = [composite("root", 2, "rack"), leaf("a", 2, parent="root"), leaf("b", 2, "feed", "root"), *pods("a", 2), *pods("b", 1)]
    tree += [pod("b-8", "b", on="r1a", cpu="100m"), pod("b-9", "b", on="r1b", cpu="100m")]
    tree += [pod("a-9", "a", on="r1a", cpu="100m")]

    assert "Error" == decided([*NODES, *tree]).status
    assert "Error" == plugged([*NODES, *tree], generators=[Unconcerned()]).status


def test_an_error_is_not_hidden_by_a_placement_that_fails_before_it():
    # In the first rack the child that would err is never tried.
    full = [pod(f"full-{name}", on=name, cpu="3900m") for name in ("r1a", "r1b")]
    tree = [composite("root", 2), leaf("a", 1, parent="root"), leaf("b", 3, "feed", "root"), *pods("a", 1), *pods("b", 1)]
    tree += [pod(f"b-{name}", "b", on=name, cpu="100m") for name in ("r1a", "r1b")]
    decision = plugged([*NODES, *full, *tree], generators=[ByLabel("rack")])

    assert "Error" == decision.status
    assert "members run in 2 domains of 'feed'" in message_of(decision)


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param({}, {"r2a", "r2b"}, id="the best by score"),
        pytest.param({"percentage_of_placements": 1}, {"r1a", "r1b"}, id="the first that does"),
        pytest.param({"nominated_first": True}, {"r2a", "r2b"}, id="nobody is nominated"),
    ],
)
def test_options_hold_with_plugins_too(options, want):
    tight = pod("there", on="r2a", cpu="2")

    assert want == where(plugged([*NODES, tight, *GANG], generators=[Unconcerned()], **options))


def test_the_domain_of_nominated_members_comes_first_with_plugins_too():
    gang = [leaf("g", 2, "rack"), pod("g-0", "g"), pod("g-1", "g", nominated="r1b")]
    objects = [*NODES, pod("there", on="r2a", cpu="2"), *gang]

    assert {"r2b"} == where(plugged(objects, generators=[Unconcerned()]))
    assert {"r1a", "r1b"} == where(plugged(objects, generators=[Unconcerned()], nominated_first=True))


def test_nothing_is_remembered_of_what_plugins_may_see():
    objects = [*NODES, *GANG]
    greedy = Greedy(state(objects, plugins=Plugins(checks=(NotOn("r1a"),))))

    assert not greedy.request(entities(objects)["g"]).memorable


def decisions_of(objects: list[Json], plugins: Plugins) -> list[Any]:
    """Return all decisions without reasons, which are worded differently if nothing is cached."""
    return [
        (each.root, each.status, each.assignments, each.nominations, each.victims, [(of.status, of.domain) for of in each.groups])
        for each in run(objects, plugins=plugins).decisions
    ]


@settings(deadline=None, max_examples=sampled(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(promising())
def test_a_generator_that_divides_nothing_changes_no_decision(objects):
    assert decisions_of(objects, Plugins()) == decisions_of(objects, Plugins(generators=(Unconcerned(),)))
