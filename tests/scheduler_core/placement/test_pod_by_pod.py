"""Placing pods one by one: filters, scores, normalization over feasible nodes, ports, nominations."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord
from scheduler_core.placement.pod_by_pod import PodByPod
from scheduler_core.placement.state import PlacementState
from scheduler_core.plugins.node_ports import conflict
from tests.scheduler_core.builders import HOST, Json, decided, leaf, node, placed, pod, pods, taint

TCP, UDP = "TCP", "UDP"


def steps(objects: list[Json], *where: str) -> tuple[PodByPod, dict[str, PodRecord], PlacementState]:
    """Return a step for each pod on the named nodes, or on all; and the pods by name."""
    snapshot = load(objects)
    state = PlacementState.from_snapshot(snapshot, PlacingOptions())
    nodes = np.array([state.nodes.index[name] for name in where] if where else range(len(state.nodes)), dtype=np.int64)
    return PodByPod(state.profile, state.ledger, state.stateful, state.capacity, nodes), {each.name: each for each in snapshot.pods}, state


def placed_nodes(objects: list[Json], *where: str) -> list[int]:
    """Return the nodes of the pending pods, in the order of their names."""
    created, records, state = steps(objects, *where)
    results = []
    for _, each in sorted(records.items()):
        if each.node < 0:
            # A pod's own promise does not stand in its way.
            state.nominations.release_until_rewind(each)
            results.append(created.place(each))
    return results


def preferring(name: str, weight: int = 100) -> Json:
    term = {"weight": weight, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}}
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_pods_go_to_the_emptiest_node_and_of_equal_ones_to_the_first_by_name():
    assert [0, 1, 0, 1] == placed_nodes([node("a"), node("b"), *(pod(f"p{number}") for number in range(4))])


def test_a_pod_that_fits_nowhere_takes_nothing():
    assert [-1, 0] == placed_nodes([node("a", "2"), pod("p0", cpu="3"), pod("p1", cpu="2")])


def test_what_earlier_pods_took_is_taken():
    assert [0, 1, -1] == placed_nodes([node("a", "2"), node("b", "2"), *(pod(f"p{number}", cpu="2") for number in range(3))])


def test_only_the_nodes_of_the_placement_are_used():
    assert [1, 1, -1] == placed_nodes([node("a", "9"), node("b", "2"), *(pod(f"p{number}") for number in range(3))], "b")


@pytest.mark.parametrize(
    ("expected", "used", "clash"),
    [
        pytest.param((TCP, "0.0.0.0", 80), (TCP, "0.0.0.0", 80), True, id="the same"),
        pytest.param((TCP, "0.0.0.0", 80), (TCP, "0.0.0.0", 81), False, id="another number"),
        pytest.param((TCP, "0.0.0.0", 80), (UDP, "0.0.0.0", 80), False, id="another protocol"),
        pytest.param((TCP, "10.0.0.1", 80), (TCP, "10.0.0.2", 80), False, id="another address"),
        pytest.param((TCP, "10.0.0.1", 80), (TCP, "10.0.0.1", 80), True, id="the same address"),
        pytest.param((TCP, "0.0.0.0", 80), (TCP, "10.0.0.2", 80), True, id="all addresses wanted"),
        pytest.param((TCP, "10.0.0.1", 80), (TCP, "0.0.0.0", 80), True, id="all addresses taken"),
    ],
)
def test_ports_clash_on_the_same_address_or_on_all(expected, used, clash):
    assert clash == conflict([expected], [used])
    assert clash == conflict([(TCP, "9.9.9.9", 1), expected], [(UDP, "9.9.9.9", 2), used])


def test_pods_with_one_port_of_the_host_each_need_a_node_of_their_own():
    web = [pod(f"p{number}", host_port=80) for number in range(3)]

    assert [0, 1, -1] == placed_nodes([node("a"), node("b"), *web])
    assert [1, -1, -1] == placed_nodes([node("a"), node("b"), pod("there", on="a", host_port=80), *web])


def test_a_gang_whose_ports_clash_is_not_placed_where_it_would_fit_by_its_size():
    gang = [leaf("g", 2, "rack"), *pods("g", 2, host_port=80)]
    roomy = [node("r1-0", "8", rack="r1")]
    two = [node("r2-0", "1", rack="r2"), node("r2-1", "1", rack="r2")]

    assert {"g-0": "r2-0", "g-1": "r2-1"} == placed(decided([*roomy, *two, *gang]))
    assert "Unschedulable" == decided([*roomy, *gang]).status


def test_a_preference_is_normalised_over_the_placement_and_not_over_the_cluster():
    # A preference of weight 1 counts in full where nothing better is feasible.
    small = preferring("b", 1)["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    large = preferring("c", 100)["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    preferences = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [*small, *large]}}}
    objects = [node("a", "8"), node("b", "2"), node("c"), pod("p", **preferences)]

    assert [2] == placed_nodes(objects)
    assert [1] == placed_nodes(objects, "a", "b")


def test_a_preference_of_a_gang_is_normalised_in_each_of_its_domains():
    terms = [
        term
        for name, weight in (("r1-b", 1), ("r2-a", 100))
        for term in preferring(name, weight)["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    ]
    preferences = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}
    gang = [leaf("g", 1, "rack"), pod("g-0", "g", **preferences)]
    # The first rack is the tighter one, and what is preferred does not count between racks.
    nodes = [node("r1-a", "8", rack="r1"), node("r1-b", "2", rack="r1"), node("r2-a", "99", rack="r2")]

    assert {"g-0": "r1-b"} == placed(decided([*nodes, *gang]))


def test_soft_taints_are_normalised_over_the_placement():
    twice = node("a", "8", taints=[taint("x=:PreferNoSchedule"), taint("y=:PreferNoSchedule")])
    once, none = node("b", "2", taints=[taint("x=:PreferNoSchedule")]), node("c", "1")

    # 0, 150 and 300 of 300 for the taints; without the last one 0 and 150.
    assert [2] == placed_nodes([twice, once, none, pod("p", cpu="500m")])
    assert [1] == placed_nodes([twice, once, none, pod("p", cpu="500m")], "a", "b")
    assert [0] == placed_nodes([twice, node("b", "8", taints=[*twice["spec"]["taints"]]), pod("p")], "a", "b")


def test_a_nominated_node_is_taken_without_scoring_where_it_fits():
    nodes = [node("a", "8"), node("b", "1")]

    assert [1] == placed_nodes([*nodes, pod("p", nominated="b")])
    assert [0] == placed_nodes([*nodes, pod("p", cpu="2", nominated="b")])


def test_a_nominated_node_outside_the_placement_is_passed_over():
    assert [0] == placed_nodes([node("a"), node("b"), pod("p", nominated="b")], "a")


def test_capacity_that_is_kept_for_others_is_not_free():
    waits = pod("z", cpu="4", nominated="a", schedulingGates=[{"name": "g"}])
    created, records, _ = steps([node("a"), node("b", "1"), waits, pod("p")])

    assert [False, True] == created.feasible(records["p"]).tolist()


def test_ports_that_are_kept_for_others_are_not_free():
    waits = pod("z", host_port=80, nominated="a", schedulingGates=[{"name": "g"}])
    created, records, _ = steps([node("a"), node("b"), waits, pod("p", host_port=80)])

    assert [False, True] == created.feasible(records["p"]).tolist()


def affinity_to(app: str) -> Json:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_affinity_to_pods_that_were_just_placed_counts():
    first = pod("p0", labels={"app": "web"}, nodeSelector={HOST: "b"})

    assert [1, 1] == placed_nodes([node("a", "9"), node("b"), first, pod("p1", **affinity_to("web"))])
    assert [-1] == placed_nodes([node("a"), pod("p1", **affinity_to("web"))])


def test_what_a_pod_says_of_others_and_is_not_modelled_refuses_it():
    affinity = affinity_to("web")
    affinity["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["namespaceSelector"] = {
        "matchLabels": {"team": "a"}
    }
    web = pod("web", on="a", labels={"app": "web"})

    assert [-1] == placed_nodes([node("a"), web, pod("p", **affinity)])


def test_the_ledger_is_left_as_it_is():
    snapshot = load([node("a"), pod("p", host_port=80)])
    state = PlacementState.from_snapshot(snapshot, PlacingOptions())
    before = (state.ledger.used.tobytes(), state.ledger.scored.tobytes(), {**state.ledger.ports}, state.ledger.mark())
    PodByPod(state.profile, state.ledger, state.stateful, state.capacity, state.nodes.everything).place(snapshot.pods[0])

    assert before == (state.ledger.used.tobytes(), state.ledger.scored.tobytes(), {**state.ledger.ports}, state.ledger.mark())
