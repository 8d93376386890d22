"""Outcomes of complete search for a root."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from scheduler_core.exact.complete import Complete
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.placement.outcome import PlacementOutcome, assigned
from tests.sampling import every
from tests.scheduler_core.builders import Json, entities, leaf, node, pod, pods, state
from tests.scheduler_core.cp_sat import corpus, model
from tests.scheduler_core.cp_sat.runs import decide
from tests.scheduler_core.exact.small_trees import RACK, ZONE, cluster, gang, tree


def placed(objects: list[Json], steps: int = DEFAULT) -> tuple[PlacementOutcome, Complete]:
    here = state(objects)
    complete = Complete(here, steps)
    return complete.place(complete.request(entities(objects)["t"])), complete


def rack_of(outcome: PlacementOutcome, name: str, complete: Complete, objects: list[Json]) -> set[str]:
    request = complete.request(entities(objects)["t"])
    nodes = {node for pod, node in assigned(request, outcome) if pod.key.startswith(f"default/{name}-")}
    return {complete.state.nodes.labels[node][RACK] for node in nodes}


def zone(name: str, *wide: int, spare: int = 0) -> list[Json]:
    """Racks of 5 and 4 cores where greedy cannot place gangs of 1, 4 and 4, one without enough memory; *spare* cores in no rack."""
    there = [node(f"{name}-{cores}", str(cores), f"{4 * cores}Gi", zone=name, rack=f"{name}-{cores}") for cores in (5, 4)]
    there += [node(f"{name}-w{number:02}", str(cores), "1Gi", zone=name, rack=f"{name}-w") for number, cores in enumerate(wide)]
    return [*there, node(f"{name}-spare", str(spare), f"{spare}Gi", zone=name)] if spare else there


SMALL = [gang("a", 1, memory="4Gi"), gang("b", 4, memory="4Gi"), gang("c", 4, memory="4Gi")]


def test_most_pods_come_before_the_tightest_domain():
    outcome, complete = placed([*zone("z0", 3), *zone("z1", 5), *tree(*SMALL, gang("d", 3, 5), minimum=4, key=ZONE)])

    assert ("z1", 14) == (outcome.placement.value, outcome.placed)
    assert complete.search.explored


@pytest.mark.parametrize(
    ("spare", "want"),
    [((9, 0), "z1"), ((0, 9), "z0"), ((0, 0), "z0")],
    ids=["the second is tighter", "the first is tighter", "both are equally tight"],
)
def test_of_equally_many_pods_the_tightest_domain_wins_and_then_the_first_by_name(spare, want):
    there = [each for number, cores in enumerate(spare) for each in zone(f"z{number}", spare=cores)]
    outcome, complete = placed([*there, *tree(*SMALL, minimum=3, key=ZONE)])

    assert (want, Status.SUCCESS) == (outcome.placement.value, outcome.status)
    assert complete.search.explored


def test_what_is_beyond_the_budget_is_not_said_to_be_impossible():
    objects = [*cluster([[5], [5], [5]]), *tree(*(gang(name, 3) for name in "abcd"), minimum=4)]
    few, many = placed(objects, steps=1)[1].search, placed(objects)[1].search

    assert ("budget", "infeasible") == (few.outcome, many.outcome)


def test_a_domain_that_takes_long_does_not_hide_another_one():
    kinds = itertools.islice(itertools.cycle((3, 4, 5)), 49)
    large = [leaf("d", 49, RACK, "t"), *(pod(f"d-{number:02}", "d", str(cores)) for number, cores in enumerate(kinds))]
    below = tree(*SMALL, large, minimum=4, key=ZONE)
    hard, easy = zone("z0", *[7, 9, 11, 13] * 5), zone("z1", *[5] * 49)
    _, alone = placed([*hard, *below], steps=2000)
    outcome, beside = placed([*hard, *easy, *below], steps=4000)

    assert ("budget", "placed", "z1") == (alone.search.outcome, beside.search.outcome, outcome.placement.value)


@pytest.mark.parametrize("slack", [5, 10, 20])
def test_as_many_pods_are_placed_as_can_be(slack):
    """Trees of equal pods, a quarter of them optional."""
    short = []
    for seed in every(4, range(30)):
        objects = corpus.instance(seed, corpus.Make(slack=slack, optional=True))
        if len(decide(objects, "complete").assignments) != model.most_pods(objects)["t"]:
            short.append(seed)

    assert [] == short


def test_of_pods_of_several_shapes_hardly_any_is_left_out_that_could_be_placed():
    result = possible = 0
    for seed in every(5, range(24)):
        make = corpus.Make(slack=5 * (seed % 4), optional=True, depth=1 + seed % 3, shapes=2 + seed % 2, spare=seed % 2)
        objects = corpus.instance(seed, make)
        result += len(decide(objects, "complete").assignments)
        possible += model.most_pods(objects)["t"]

    assert result >= 0.98 * possible


def test_members_that_run_keep_their_group_where_it_is():
    objects = [*cluster([[4], [4]]), *tree(gang("a", 4), [leaf("b", 3, RACK, "t"), *pods("b", 2)], minimum=2)]
    running = [dict(each) for each in pods("c", 1, on="n1-0")]
    running[0]["spec"] = {**running[0]["spec"], "schedulingGroup": {"podGroupName": "b"}}
    outcome, complete = placed([*objects, *running])

    assert Status.SUCCESS is outcome.status
    assert ({"r0"}, {"r1"}) == tuple(rack_of(outcome, name, complete, [*objects, *running]) for name in "ab")


def test_an_outcome_does_not_hang_on_what_was_searched_before():
    objects = [*cluster([[6], [5]]), *tree(gang("a", 3, 6), gang("b", 4, 5), minimum=2)]
    _, complete = placed(objects)
    request = complete.request(dataclasses.replace(entities(objects)["t"]))
    first, again = complete.search, complete.place(request)

    assert (first, 11) == (complete.search, again.placed)


@pytest.mark.parametrize("steps", range(20, 400, 20))
def test_no_node_is_given_more_than_it_holds_where_every_pod_is_requested(steps):
    """Partial results of greedy before it failed are for the diagnosis and take no capacity."""
    objects = [node("n1", "4", "64Gi", rack="r"), *tree(gang("a", 2, 6), gang("b", 2, 6), minimum=1)]
    here = state(objects, PlacingOptions(every_pod=True, four_statuses=True))
    complete = Complete(here, steps)
    request = complete.request(entities(objects)["t"])
    outcome = complete.place(request)

    assert len(assigned(request, outcome) if outcome.success else []) <= 4
