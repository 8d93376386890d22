"""Who stands where in the end, and which resources are worth showing."""

from __future__ import annotations

import pytest

from muster.html.placed_pods import State, resources
from tests.muster import paged
from tests.muster.paged import GPU, gang, machine, member, racks


def seated(final):
    """States and pods by the name of the node."""
    return {final.nodes.names[node]: [(state.value, pod.name) for state, pod in seats] for node, seats in sorted(final.seats.items())}


def test_pods_run_are_placed_leave_and_are_promised_a_node():
    assert {"r1-1": [("leaving", "leaves"), ("running", "stays"), ("promised", "urgent-0")]} == seated(paged.case(paged.evicting()).final)


def test_once_they_have_left_others_are_in_their_place():
    final = paged.case(paged.evicting(), evict=True).final
    assert {"r1-1": [("running", "stays"), ("placed", "urgent-0")]} == seated(final)
    assert frozenset({"default/leaves"}) == final.evicted


def test_usage_is_shown_by_state():
    used = paged.case(paged.evicting()).final.used
    assert {"running": 1000, "leaving": 3000, "placed": 0, "promised": 2000} == {state.value: int(used[state][0, 0]) for state in State}


def test_free_is_what_nobody_takes_and_never_below_nothing():
    objects = [*racks(2, cpu="4"), member("run", on="r1-1", cpu="3"), member("too-much", on="r1-2", cpu="9")]
    assert [1000, 0] == paged.case(objects).final.free[0].tolist()


@pytest.mark.parametrize(
    ("node", "waiting", "want"),
    [
        pytest.param(machine("n", taint="t"), [member("p")], True, id="a taint that nobody tolerates"),
        pytest.param(
            machine("n", taint="t"),
            [member("p"), member("q", tolerations=[{"operator": "Exists"}])],
            False,
            id="a taint that somebody tolerates",
        ),
        pytest.param(machine("n", cordoned=True), [member("p")], True, id="cordoned"),
        pytest.param(machine("n", cordoned=True), [], True, id="cordoned, and nobody waits"),
        pytest.param(machine("n", taint="t"), [], False, id="a taint, and nobody waits"),
        pytest.param(machine("n"), [member("p", nodeSelector={"a": "b"})], True, id="not selected"),
        pytest.param(machine("n"), [member("p", cpu="99")], False, id="too small"),
    ],
)
def test_a_node_is_closed_where_no_pod_that_waits_may_run(node, waiting, want):
    assert [want] == paged.case([node, *waiting]).final.closed.tolist()


def shown(objects, **options):
    case = paged.case(objects, **options)
    placed = [case.final.pods[pod] for decision in case.placed for pod in decision.assignments]
    return [case.snapshot.nodes.resources[row] for row in resources(case.final, placed)]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([machine("n", gpus=8), *gang("g", 2, gpus=5)], [GPU, "cpu", "memory"], id="the device that is wanted"),
        pytest.param(
            [machine("n", cpu="4", gpus=8), *gang("g", 2, cpu="4", gpus=1)], ["cpu", GPU, "memory"], id="cpu, of which more is wanted"
        ),
        pytest.param([machine("n", gpus=8), *gang("g", 2, cpu="3")], ["cpu", "memory", GPU], id="a device that nobody asks for comes last"),
        pytest.param([machine("n"), *gang("g", 2, gpus=1)], [GPU, "cpu", "memory"], id="a device that no node has"),
        pytest.param(
            [machine("n", gpus=4), *gang("placed", 2, cpu="1", gpus=1), *gang("left", 1, cpu="9")],
            ["cpu", GPU, "memory"],
            id="what is left counts, not what is placed",
        ),
        pytest.param(
            [machine("n", gpus=8), member("run", on="n", gpus=6)], [GPU, "cpu", "memory"], id="where nobody waits, what is used most"
        ),
    ],
)
def test_the_scarcest_resource_comes_first(objects, want):
    assert want == shown(objects)


def test_slots_for_pods_are_shown_where_they_are_what_is_short():
    small = machine("n")
    small["status"]["allocatable"]["pods"] = "2"
    objects = [small, *gang("g", 3, cpu="100m")]
    assert "pods" == shown(objects)[0]
