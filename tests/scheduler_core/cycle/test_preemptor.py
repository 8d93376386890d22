"""Preemptor: placing a root, nodes where preemption could help, and conflicts between pods."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.preemptor import Preemptor
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.status import Status
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.state import PlacementState
from scheduler_core.wording.kube_scheduler import attempt_words
from tests.scheduler_core.builders import (
    GPU,
    HOST,
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
    taint,
)


def set_up(objects: list[Json]) -> tuple[Preemptor, PlacementState, dict[str, PodRecord]]:
    snapshot = load(objects)
    state = PlacementState.from_snapshot(snapshot, PlacingOptions())
    return Preemptor(Greedy(state)), state, {each.name: each for each in snapshot.pods}


def apart(app: str, *, key: str = HOST) -> Json:
    """Return anti-affinity to pods with the label ``app``."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def affinity_to(app: str, *, key: str = HOST) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def labelled(app: str, name: str, **more: Any) -> Json:
    return pod(name, labels={"app": app}, **more)


NODES = [
    node("a-small", "1"),
    node("b-full", "2"),
    node("c-cordoned", unschedulable=True),
    node("d-tainted", taints=[taint("team=x:NoSchedule")]),
    node("e-port", "2"),
    node("f-one-slot", pods=1),
]
THERE = [pod("fills", on="b-full", cpu="2"), pod("web", on="e-port", host_port=80), pod("slot", on="f-one-slot")]


@pytest.mark.parametrize(
    ("preemptor", "nodes"),
    [
        pytest.param(pod("p", cpu="2"), ["b-full", "e-port", "f-one-slot"], id="room, a slot or a port can be made"),
        pytest.param(pod("p", cpu="3"), ["f-one-slot"], id="a node that is too small even when empty cannot be helped"),
        pytest.param(pod("p", cpu="2", nodeSelector={HOST: "b-full"}), ["b-full"], id="a selector cannot be helped"),
        pytest.param(pod("p", cpu="2", host_port=80), ["b-full", "e-port", "f-one-slot"], id="a port can be given up"),
        pytest.param(pod("p", gpu="1"), [], id="a device that no node has"),
        pytest.param(
            pod("p", cpu="2", tolerations=[{"operator": "Exists"}]),
            ["b-full", "c-cordoned", "d-tainted", "e-port", "f-one-slot"],
            id="who tolerates everything",
        ),
    ],
)
def test_resolvable_are_nodes_where_eviction_could_help(preemptor, nodes):
    result, state, records = set_up([*NODES, *THERE, preemptor])

    assert nodes == [state.nodes.names[index] for index in result.resolvable(records["p"]).tolist()]


def test_anti_affinity_can_be_helped_by_eviction_and_affinity_cannot():
    here = [node("a"), node("b"), labelled("web", "web", on="a")]
    result, state, records = set_up([*here, pod("p", **apart("web"))])
    assert ["a", "b"] == [state.nodes.names[index] for index in result.resolvable(records["p"]).tolist()]

    result, state, records = set_up([*here, pod("p", **affinity_to("web"))])
    assert ["a"] == [state.nodes.names[index] for index in result.resolvable(records["p"]).tolist()]


def test_placing_leaves_no_trace():
    objects = [node("a", "4"), leaf("g", 2), pod("g-0", "g", cpu="2"), pod("g-1", "g", nominated="a")]
    result, state, _ = set_up(objects)
    before = (state.ledger.used.tobytes(), state.ledger.held.tobytes(), state.ledger.mark())
    proposal = result.place(entities(objects)["g"])

    assert (Status.SUCCESS, None, [("g-0", 0), ("g-1", 0)]) == (
        proposal.status,
        proposal.reason,
        [(each.name, where) for each, where in proposal.assigned],
    )
    assert before == (state.ledger.used.tobytes(), state.ledger.held.tobytes(), state.ledger.mark())


def test_nothing_is_proposed_for_a_root_that_does_not_fit():
    objects = [node("a", "1"), leaf("g", 2), *pods("g", 2)]
    result, _, _ = set_up(objects)
    proposal = result.place(entities(objects)["g"])

    assert (Status.UNSCHEDULABLE, []) == (proposal.status, proposal.assigned)
    assert "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining" == attempt_words(proposal.reason)


def test_pods_of_a_failed_child_are_proposed_too_as_by_kube_scheduler():
    objects = [node("a", "2"), composite("root", 1), leaf("first", 3, parent="root"), leaf("second", 1, parent="root")]
    objects += [*pods("first", 3), *pods("second", 1)]
    result, _, _ = set_up(objects)

    assert ["first-0", "first-1", "second-0"] == [each.name for each, _ in result.place(entities(objects)["root"]).assigned]


def test_relations_matter_only_to_pods_that_they_touch():
    result, _, records = set_up([node("a"), labelled("web", "web", on="a"), pod("p", **apart("web")), pod("q")])

    assert result.may_affect([records["web"]], [(records["p"], 0)])
    assert not result.may_affect([records["web"]], [(records["q"], 0)])
    assert not result.may_affect([], [(records["p"], 0)])


def test_without_relations_nothing_matters_and_everyone_agrees():
    result, _, records = set_up([node("a"), pod("web", on="a"), pod("p")])
    result.move([records["web"]], away=True)

    assert not result.may_affect([records["web"]], [(records["p"], 0)])
    assert result.passes_filters([(records["p"], 0)])


def test_who_is_away_bothers_nobody_and_is_back_afterwards():
    result, _, records = set_up([node("a"), labelled("web", "web", on="a"), pod("p", **apart("web"))])
    proposed = [(records["p"], 0)]
    answers = [result.passes_filters(proposed)]
    result.move([records["web"]], away=True)
    answers.append(result.passes_filters(proposed))
    result.move([records["web"]], away=False)
    answers.append(result.passes_filters(proposed))

    assert [False, True, False] == answers


def test_proposed_pods_must_get_along_with_each_other_in_their_order():
    objects = [node("a"), node("b"), labelled("x", "p", **apart("x")), labelled("x", "q", **apart("x"))]
    result, state, records = set_up(objects)
    mark = state.stateful.mark()

    assert not result.passes_filters([(records["p"], 0), (records["q"], 0)])
    assert result.passes_filters([(records["p"], 0), (records["q"], 1)])
    assert mark == state.stateful.mark()


def test_a_pod_by_itself_preempts_on_the_node_where_that_helps():
    objects = [node("a", "1"), node("b", "2", gpu="1"), pod("low", on="b", cpu="2", priority=0)]
    decision = decided([*objects, pod("p", cpu="2", priority=5)])

    assert (Status.UNSCHEDULABLE, ("default/low",), {"default/p": "b"}) == (decision.status, decision.victims, decision.nominations)
    assert {} == placed(decision)


def test_an_error_met_without_the_victims_is_the_roots():
    # As things stand the first child fails and the second is never tried; once the victim is gone it is, and its members run apart.
    objects = [node("a", "2", rack="r1"), node("b", "1", rack="r2"), pod("low", on="a", cpu="1", priority=0)]
    objects += [composite("root", 2, priority=5), leaf("first", 1, parent="root", priority=5), pod("f", "first", cpu="1", priority=5)]
    objects += [leaf("second", 3, key="rack", parent="root", priority=5), pod("s", "second", cpu="1", priority=5)]
    objects += [pod("s-1", "second", cpu="1", on="a", priority=5), pod("s-2", "second", cpu="1", on="b", priority=5)]
    decision = decided(objects)

    assert (Status.ERROR, (), {}) == (decision.status, decision.victims, decision.nominations)
    assert dict.fromkeys(("root", "first", "second"), Status.ERROR) == {each.group.name: each.status for each in decision.groups}
    assert "members run in 2 domains of 'rack'" in message_of(decision)
    assert [("SchedulerError", "False")] * 3 == [(each.reason, each.status) for each in conditions_of(decision)]


def test_devices_count_as_any_other_resource():
    objects = [node("a", gpu="1"), pod("low", on="a", gpu="1", priority=0), pod("p", gpu="1", priority=5)]

    assert ("default/low",) == decided(objects).victims
    assert GPU in message_of(decided(objects))
