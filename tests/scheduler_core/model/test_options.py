"""Options of placement: each changes its own behaviour and nothing else."""

from __future__ import annotations

import pytest

from scheduler_core.model.decision import Decision
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from tests.scheduler_core.builders import Json, composite, decided, leaf, node, place_root, placed, pod, pods, racks, run
from tests.scheduler_core.test_agreement import SCENARIOS, objects_of

SUCCESS, UNSCHEDULABLE, UNRESOLVABLE = Status.SUCCESS, Status.UNSCHEDULABLE, Status.UNRESOLVABLE
FULL = [node("n", "2"), pod("low", on="n", cpu="2", priority=0)]


def statuses(decision: Decision) -> dict[str, Status]:
    return {each.group.name: each.status for each in decision.groups}


INADMISSIBLE = [
    node("n", "1"),
    pod("low", on="n", priority=0),
    composite("root", 1, priority=5),
    composite("pair", 2, parent="root", priority=5),
    leaf("whole", 1, parent="pair", priority=5),
    leaf("short", 3, parent="pair", priority=5),
    leaf("other", 1, parent="root", priority=5),
    *pods("whole", 1, priority=5),
    *pods("short", 2, priority=5),
    *pods("other", 1, "9", priority=5),
]


def test_groups_that_no_eviction_helps_are_distinguished_only_on_request():
    plain, by_document = (decided(INADMISSIBLE, four_statuses=requested) for requested in (False, True))

    assert dict.fromkeys(("root", "pair", "whole", "short", "other"), UNSCHEDULABLE) == statuses(plain)
    assert {"pair": UNRESOLVABLE, "short": UNRESOLVABLE} == {
        name: status for name, status in statuses(by_document).items() if name in {"pair", "short"}
    }
    # Eviction could help the sibling, for all that is known before it is tried.
    assert (UNSCHEDULABLE, UNSCHEDULABLE) == (by_document.status, statuses(by_document)["other"])


def test_a_root_without_hope_makes_nobody_leave():
    objects = [*FULL, leaf("g", 1, "rack", priority=5), *pods("g", 1, "2", priority=5)]

    assert [UNSCHEDULABLE, UNRESOLVABLE] == [decided(objects, four_statuses=requests).status for requests in (False, True)]
    assert () == decided(objects, four_statuses=True).victims


def test_pods_of_an_inadmissible_child_are_not_tried_with_four_statuses():
    tree = [composite("root", 1), leaf("short", 3, parent="root"), leaf("fits", 1, parent="root"), *pods("short", 2), *pods("fits", 1)]
    result = {}
    for requested in (False, True):
        _, _, outcome = place_root([node("n"), *tree], "root", PlacingOptions(four_statuses=requested))
        result[requested] = [each and each.status for each in outcome.children]

    assert {False: [UNSCHEDULABLE, SUCCESS], True: [UNRESOLVABLE, SUCCESS]} == result


@pytest.mark.parametrize(
    "case", [case for case in SCENARIOS if isinstance(case["expect"].get("kepStatus"), dict)], ids=lambda case: case["id"]
)
def test_four_statuses_are_those_of_the_documents(case):
    result: dict[str, Status] = {}
    for decision in run(objects_of(case), order=tuple(case.get("schedulingOrder") or ()), four_statuses=True).decisions:
        result |= statuses(decision)

    assert case["expect"]["kepStatus"] == {name: result[name].value for name in case["expect"]["kepStatus"]}


NOMINATED = [leaf("g", 2, "rack"), pod("g-0", "g", nominated="r2-0"), pod("g-1", "g")]


@pytest.mark.parametrize(
    ("options", "rack"),
    [
        pytest.param({}, "r1-0", id="the tighter rack as kube-scheduler"),
        pytest.param({"nominated_first": True}, "r2-0", id="the rack of the nominated member"),
    ],
)
def test_the_domain_of_nominated_members_comes_first_when_that_is_requested(options, rack):
    objects = [*racks({"r1": 1, "r2": 1}), pod("there", on="r1-0", cpu="1"), *NOMINATED]

    assert {rack} == {*placed(decided(objects, **options)).values()}


def test_members_nominated_to_several_domains_prefer_none():
    gang = [leaf("g", 2, "rack"), pod("g-0", "g", nominated="r1-0"), pod("g-1", "g", nominated="r2-0")]
    objects = [*racks({"r1": 1, "r2": 1, "r3": 1}, "9"), pod("there", on="r3-0", cpu="1"), *gang]

    assert {"r3-0"} == {*placed(decided(objects, nominated_first=True)).values()}


def test_the_domain_of_nominated_members_is_left_where_it_is_not_feasible():
    objects = [*racks({"r1": 1, "r2": 1}), pod("there", on="r2-0", cpu="3"), *NOMINATED]

    assert {"r1-0"} == {*placed(decided(objects, nominated_first=True)).values()}


@pytest.mark.parametrize(
    ("percentage", "rack"),
    [
        pytest.param(100, "r3-0", id="all of them"),
        pytest.param(0, "r3-0", id="the adaptive limit is all of a small cluster"),
        pytest.param(67, "r2-0", id="two thirds of three are two"),
        pytest.param(34, "r1-0", id="one third of three is one"),
        pytest.param(1, "r1-0", id="one at the least"),
    ],
)
def test_only_so_many_feasible_placements_are_compared(percentage, rack):
    there = [pod("b", on="r2-0", cpu="1"), pod("c", on="r3-0", cpu="2")]
    objects = [*racks({"r0": 1}, "1"), *racks({"r1": 1, "r2": 1, "r3": 1}), *there, leaf("g", 2, "rack"), *pods("g", 2)]
    # The rack that is too small is no feasible one, and counts for the limit all the same: of four, 3, 2, 1 and 1.
    percentage = {67: 50, 34: 25}.get(percentage, percentage)

    assert {rack} == {*placed(decided(objects, percentage_of_placements=percentage)).values()}


def test_a_limit_does_not_stop_before_a_feasible_placement_is_found():
    objects = [*racks({"r1": 1, "r2": 1}, "1"), *racks({"r3": 1}, "2"), leaf("g", 2, "rack"), *pods("g", 2)]

    assert {"r3-0"} == {*placed(decided(objects, percentage_of_placements=1)).values()}


@pytest.mark.parametrize(
    ("every_pod", "want"),
    [pytest.param(False, {"g-0": "r1-0", "g-1": "r1-0"}, id="the minimum"), pytest.param(True, {}, id="every pod")],
)
def test_a_placement_that_leaves_a_pod_out_is_rejected_when_that_is_requested(every_pod, want):
    objects = [*racks({"r1": 1}, "2"), leaf("g", 1, "rack"), *pods("g", 3)]

    assert want == placed(decided(objects, every_pod=every_pod))


def test_every_pod_means_a_larger_domain_where_there_is_one():
    objects = [*racks({"r1": 1}, "2"), *racks({"r2": 1}, "90"), leaf("g", 1, "rack"), pod("g-0", "g"), pod("g-1", "g"), pod("g-2", "g")]
    # By the scores the small rack wins: full, with two thirds of the pods.
    assert ({"r1-0"}, {"r2-0"}) == tuple({*placed(decided(objects, every_pod=requested)).values()} for requested in (False, True))


@pytest.mark.parametrize(
    ("group", "count", "requested", "victims"),
    [
        pytest.param(leaf("g", 1, priority=5), 2, False, (), id="a gang as kube-scheduler"),
        pytest.param(leaf("g", 1, priority=5), 2, True, ("default/low",), id="a gang that leaves one over"),
        pytest.param(leaf("g", 1, priority=5), 1, True, (), id="a gang that leaves none over"),
        pytest.param(leaf("g", priority=5), 2, True, (), id="a basic group that places one"),
        pytest.param(leaf("g", 1, priority=5), 4, True, ("default/low",), id="a gang that leaves several over"),
        pytest.param(leaf("g", 1), 2, True, (), id="a gang that is no more important than who could leave"),
    ],
)
def test_leftovers_of_a_running_group_make_others_leave_only_when_that_is_requested(group, count, requested, victims):
    rank = group["spec"].get("priority", 0)
    runs = [node("n", "3"), pod("low", on="n", cpu="1", priority=0), pod("g-9", "g", on="n", priority=rank)]
    decision = decided([*runs, group, *pods("g", count, priority=rank)], preempt_for_leftovers=requested)

    assert victims == decision.victims
    assert SUCCESS == decision.status
    # Binding and preemption never happen in one cycle.
    assert not (decision.victims and decision.assignments)


def test_a_basic_group_without_a_feasible_pod_preempts_with_and_without_the_option():
    full = [node("n", "2"), pod("low", on="n", cpu="1", priority=0), pod("g-9", "g", on="n", priority=5)]
    for requested in (False, True):
        decision = decided([*full, leaf("g", priority=5), *pods("g", 1, priority=5)], preempt_for_leftovers=requested)

        assert (UNSCHEDULABLE, ("default/low",)) == (decision.status, decision.victims)


def test_leftovers_of_a_group_that_did_not_run_before_are_left():
    objects = [node("n", "2"), pod("low", on="n", cpu="1", priority=0), leaf("g", 1, priority=5), *pods("g", 2, priority=5)]
    decision = decided(objects, preempt_for_leftovers=True)

    assert ((), {"g-0": "n"}) == (decision.victims, placed(decision))


def workload(desired: int) -> Json:
    """Return a Workload of v1alpha1, the version that has desiredCount, with one basic group."""
    group = {
        "name": "g",
        "policy": {"basic": {"desiredCount": desired} if desired else {}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
    }
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"podGroups": [group]},
    }


@pytest.mark.parametrize(
    ("desired", "node_"),
    [
        pytest.param(0, "r1-0", id="none: the tightest rack"),
        pytest.param(2, "r1-0", id="reached already"),
        pytest.param(3, "r2-0", id="the tightest of those that hold it"),
        pytest.param(6, "r3-0", id="the only one that holds it"),
        pytest.param(7, "r1-0", id="none holds it: the tightest rack"),
    ],
)
def test_a_rack_that_holds_the_desired_count_comes_first(desired, node_):
    nodes = [*racks({"r1": 1}, "2"), *racks({"r2": 1}, "4"), *racks({"r3": 1}, "6")]
    members = [pod(f"p{number}", workloadRef={"name": "w", "podGroup": "g"}) for number in range(2)]

    assert {node_} == {*placed(decided([*nodes, workload(desired), *members])).values()}
