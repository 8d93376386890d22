"""Storage capacity that the claims of several pods use together: summed by complete search, compared with each claim by greedy."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.decision import Decision
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, composite, decided, leaf, message_of, node, placed, pod
from tests.scheduler_core.plugins.test_delayed_claims import DYNAMIC, SELECTED, capacity, claim, driver, scratch, using

NODES = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b")]
CLASS = [DYNAMIC, driver()]
TOO_MUCH = "its claims need more storage together than the CSIStorageCapacities offer"


def gang(count: int, minimum: int = 0, **of_claims: Any) -> list[Json]:
    """Return a gang whose pods have a claim of 5Gi each."""
    pods = [using(f"c{number}", name=f"p{number}", group="g") for number in range(count)]
    return [leaf("g", minimum or count), *pods, *(claim(f"c{number}", storage_class="dyn", **of_claims) for number in range(count))]


def outcome(*objects: Json) -> Decision:
    return decided([*NODES, *CLASS, *objects], strategy="complete")


@pytest.mark.parametrize(
    ("capacities", "fits"),
    [
        pytest.param([capacity("a", "a", capacity="15Gi")], True, id="one segment has it all"),
        pytest.param([capacity("a", "a", capacity="14Gi")], False, id="one segment is too small"),
        pytest.param([capacity("a", "a", capacity="14Gi"), capacity("b", "b", capacity="5Gi")], True, id="two segments"),
        pytest.param([capacity("a", "a", capacity="9Gi"), capacity("b", "b", capacity="9Gi")], False, id="a rest in each is too small"),
        pytest.param([capacity("a", "a", capacity="50Gi", maximumVolumeSize="5Gi")], True, id="the size of a volume is no sum"),
        pytest.param([capacity("a", "a", capacity="10Gi", maximumVolumeSize="9Gi")], False, id="both figures limit"),
        pytest.param([capacity("a", "a", maximumVolumeSize="5Gi")], True, id="capacity not known"),
        pytest.param([capacity("a", "a", capacity="9Gi"), capacity("x", "a", capacity="9Gi")], True, id="two capacities for a node"),
    ],
)
def test_claims_of_a_gang_share_a_capacity(capacities, fits):
    objects = [*gang(3), *capacities]
    decision = outcome(*objects)
    assert (fits, "placed" if fits else "infeasible") == (decision.status is Status.SUCCESS, decision.search.outcome)
    assert fits or TOO_MUCH in message_of(decision)
    assert 3 == len(placed(decided([*NODES, *CLASS, *objects], strategy="greedy")))


def test_pods_beyond_the_minimum_are_placed_while_there_is_capacity():
    assert 2 == len(placed(outcome(*gang(4, 1), capacity("a", "a", capacity="12Gi"))))


def test_ephemeral_volumes_share_a_capacity():
    pods = [scratch(f"p{number}", "dyn", schedulingGroup={"podGroupName": "g"}) for number in range(2)]
    for size, count in (("10Gi", 2), ("9Gi", 0)):
        assert count == len(placed(outcome(leaf("g", 2), *pods, capacity("a", "a", capacity=size))))


def test_a_claim_that_pods_share_counts_once():
    pods = [using("c", name=f"p{number}", group="g") for number in range(3)]
    decision = outcome(leaf("g", 3), *pods, claim("c", storage_class="dyn"), capacity("a", "a", capacity="5Gi"))
    assert 3 == len(placed(decision))


def test_a_shared_claim_of_the_minimum_counts_with_the_pods_beyond_it():
    """The pod of the minimum is assumed, and so has selected the node of the claim, when the other pod is added."""
    pods = [using("c", name="p0", group="gx"), using("c", name="p1", group="gy"), using("d", name="p2", group="gy")]
    claims = [claim("c", "5Gi", "dyn"), claim("d", "10Gi", "dyn")]
    objects = [composite("root", 1), leaf("gx", 1, parent="root"), leaf("gy", 1, parent="root"), *pods, *claims]
    nodes = [node("a1", "1", zone="a"), node("a2", "1", zone="a")]
    for size, count in (("10Gi", 1), ("15Gi", 2)):
        objects_in_zone = [*nodes, *CLASS, *objects, capacity("a", "a", capacity=size)]
        assert count == len(placed(decided(objects_in_zone, strategy="complete")))


def test_a_volume_that_is_being_provisioned_may_be_subtracted_already():
    objects = gang(2, annotations={SELECTED: "a1"})
    assert 2 == len(placed(outcome(*objects, capacity("a", "a", capacity="5Gi"))))


def test_groups_of_a_tree_share_a_capacity():
    objects = [composite("root", 2), capacity("a", "a", capacity="9Gi")]
    for name in "xy":
        objects += [leaf(f"g{name}", 1, "zone", parent="root"), using(f"c{name}", name=f"p{name}", group=f"g{name}")]
        objects.append(claim(f"c{name}", storage_class="dyn"))
    assert "infeasible" == outcome(*objects).search.outcome
    assert {"a", "b"} == {each[0] for each in placed(outcome(*objects, capacity("b", "b", capacity="9Gi"))).values()}


def test_a_later_root_gets_what_an_earlier_one_leaves():
    pods = [using(f"c{number}", name=f"p{number}", priority=9 - number) for number in range(3)]
    objects = [
        *NODES,
        *CLASS,
        *pods,
        *(claim(f"c{number}", storage_class="dyn") for number in range(3)),
        capacity("a", "a", capacity="10Gi"),
    ]
    decisions = run_cycle(load(objects), CycleOptions(strategy="complete")).decisions
    assert [["p0"], ["p1"], []] == [[*placed(each)] for each in decisions]


def test_a_second_cycle_counts_what_the_first_one_provisions():
    """The pod with the victim is placed in the second cycle; the last pod does not get the storage of the first then."""
    pods = [using("c0", name="first", priority=9), pod("evicting", priority=8, cpu="2"), using("c1", name="last", priority=7)]
    full = [node("a1", "2", zone="a"), node("b1", "2", zone="b"), pod("victim", on="b1", cpu="2")]
    claims = [claim(f"c{number}", storage_class="dyn") for number in range(2)]
    objects = [*full, *CLASS, *pods, *claims, capacity("a", "a", capacity="9Gi")]
    decisions = run_cycle(load(objects), CycleOptions(strategy="complete", evict=True)).decisions
    assert {"first", "evicting"} == {name for each in decisions for name in placed(each)}


def test_message_has_the_figures_of_each_storage_capacity():
    first = [using("first", name="first", priority=9), claim("first", "4Gi", storage_class="dyn")]
    objects = [*NODES, *CLASS, *first, *gang(3), capacity("a", "a", capacity="12Gi"), capacity("b", "b", capacity="6Gi")]
    decisions = run_cycle(load(objects), CycleOptions(strategy="complete")).decisions
    offers = {"a1": "8Gi in zone a and 6Gi in zone b", "a2": "8Gi in zone a and 6Gi in zone b", "b1": "12Gi in zone a and 2Gi in zone b"}
    (where,) = decisions[0].assignments.values()
    assert f"{TOO_MUCH}, " in message_of(decisions[1])
    assert f": storage class dyn offers {offers[where]}, 15Gi needed for 3 claims" in message_of(decisions[1])


SPREAD = {
    "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}
    ]
}


def spread(*objects: Json) -> list[Json]:
    """Return *objects* with pods that no search serves, because they spread."""
    return [
        {**each, "metadata": {**each["metadata"], "labels": {"app": "a"}}, "spec": {**each["spec"], **SPREAD}}
        if each["kind"] == "Pod"
        else each
        for each in objects
    ]


@pytest.mark.parametrize(
    ("objects", "count"),
    [
        pytest.param([*gang(3, 1), pod("running", "g", on="a1"), capacity("a", "a", capacity="9Gi")], 1, id="more pods of a running gang"),
        pytest.param([*spread(*gang(3, 1)), capacity("a", "a", capacity="12Gi")], 2, id="pods that are not searched"),
        pytest.param([*spread(*gang(3)), capacity("a", "a", capacity="9Gi"), capacity("b", "b", capacity="5Gi")], 0, id="too few of them"),
        pytest.param([*spread(*gang(3)), capacity("a", "a", capacity="12Gi"), capacity("b", "b", capacity="5Gi")], 3, id="two segments"),
        pytest.param([composite("root", 1), *spread(*gang(3, 2)), capacity("a", "a", capacity="12Gi")], 2, id="a group of a tree"),
    ],
)
def test_pods_that_are_not_searched_stay_within_the_storage(objects, count):
    tree = any(each["kind"] == "CompositePodGroup" for each in objects)
    for each in objects if tree else ():
        if each["kind"] == "PodGroup":
            each["spec"]["parentCompositePodGroupName"] = "root"
    decision = outcome(*objects)
    assert count == len(placed(decision))
    if not count:
        assert TOO_MUCH in message_of(decision)
        assert "The greedy algorithm may have missed a placement" in message_of(decision)
        assert decision.search.outcome == "not-searched"
