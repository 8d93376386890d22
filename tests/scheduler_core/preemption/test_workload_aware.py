"""Whom a group makes leave."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.decision import Name, Status
from scheduler_core.model.entity import Entity
from scheduler_core.preemption.result import Preemption
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.victims.workload_aware import select_victims
from tests.scheduler_core.preemption import naive
from tests.scheduler_core.preemption.scene import (
    FirstFit,
    Outcome,
    budget,
    composite,
    leaf,
    ledger_of,
    names,
    node_table,
    pod,
    root,
    units_of,
)

PORT = (("TCP", "0.0.0.0", 80),)


def select(preemptor, pods, cpus, *, groups=(), priorities=None, budgets=(), leaving=frozenset(), room=110) -> Preemption[Outcome]:
    """Choose, and see to it that nothing else has changed."""
    nodes = node_table(cpus, room)
    ledger = ledger_of(nodes, pods)
    used, versions, ports = ledger.used.copy(), ledger.versions.copy(), {node: dict(taken) for node, taken in ledger.ports.items()}
    placer = FirstFit(ledger, pods)

    found = select_victims(preemptor, units_of(pods, groups, priorities), DisruptionBudgets(budgets), ledger, placer, leaving)

    assert np.array_equal(used, ledger.used)
    assert np.array_equal(versions, ledger.versions)
    assert ports == ledger.ports
    assert placer.away == set()
    return found


def test_who_is_in_the_way_leaves_and_who_is_not_stays():
    pods = [pod("in-the-way", 0, 10, 2000), pod("elsewhere", 1, 1, 1000)]

    found = select(root(pod("high", cpu=2000)), pods, [2000, 1000])

    assert ["in-the-way"] == names(found.victims)
    assert {"default/high": 0} == found.nominations
    assert (Status.SUCCESS, "found a placement for podgroup, preempting 1 victims") == (found.status, found.message)


def test_the_more_important_comes_back_first():
    pods = [pod("low", 0, 10), pod("middle", 0, 50), pod("lowest", 0, 5)]

    assert ["low", "lowest"] == names(select(root(pod("high", cpu=2000)), pods, [3000]).victims)


def test_who_started_first_stays():
    pods = [pod("young", 0, 10, started="2026-08-01T00:00:01Z"), pod("old", 0, 10, started="2026-08-01T00:00:00Z"), pod("new", 0, 10)]

    assert ["new"] == names(select(root(pod("high")), pods, [3000]).victims)


def test_victims_follow_the_placement_and_are_not_the_fewest():
    pods = [pod("a", 0, 50), pod("b", 0, 50), pod("c", 1, 10, 2000)]

    assert ["a", "b"] == names(select(root(pod("high", cpu=2000)), pods, [2000, 2000]).victims)


def test_a_group_of_mode_all_leaves_whole_even_where_it_is_not_in_the_way():
    pods = [pod("low-0", 0, 10, group="low"), pod("low-1", 1, 10, group="low"), pod("plain", 1, 10)]

    found = select(root(pod("high", cpu=1000)), pods, [1000, 2000], groups=[leaf("low", "all")], priorities={"low": 10})

    assert ["low-0", "low-1"] == names(found.victims)
    assert [Name("PodGroup", "default", "low")] == [unit.owner for unit in found.units]


def test_a_tree_of_mode_all_leaves_whole():
    groups = [composite("tree", "all"), leaf("one", "all", "tree"), leaf("two", "all", "tree")]
    pods = [pod("a", 0, group="one"), pod("b", 1, group="two"), pod("c", 1)]

    assert ["a", "b"] == names(select(root(pod("high")), pods, [1000, 2000], groups=groups).victims)


def test_of_a_group_of_mode_single_leave_only_as_many_as_must():
    pods = [pod(f"low-{index}", 0, 10, group="low") for index in range(3)]

    found = select(root(pod("high")), pods, [3000], groups=[leaf("low", "single")], priorities={"low": 10})

    assert ["low-2"] == names(found.victims)
    assert [("Pod", "PodGroup")] == [(unit.owner.kind, unit.type) for unit in found.units]


def test_a_group_counts_by_the_priority_of_its_root():
    pods = [pod("p", 0, 10, group="pg")]
    groups = [leaf("pg", "single", "top"), composite("top", "single")]

    found = select(root(pod("high")), pods, [1000], groups=groups, priorities={"pg": 10, "top": 500})

    assert (Status.UNRESOLVABLE, "No preemption victims found for incoming preemptor") == (found.status, found.message)


@pytest.mark.parametrize("priority", [100, 101])
def test_nobody_of_equal_or_higher_priority_leaves(priority):
    found = select(root(pod("high"), priority=100), [pod("p", 0, priority)], [1000])

    assert ((), "No preemption victims found for incoming preemptor", None) == (found.victims, found.message, found.outcome)


def test_a_root_that_must_not_preempt_does_not():
    found = select(root(pod("high"), preempts=False), [pod("p", 0)], [1000])

    assert (Status.UNSCHEDULABLE, "not eligible due to preemptionPolicy=Never.", ()) == (found.status, found.message, found.victims)


def test_nobody_leaves_where_the_whole_root_does_not_fit_even_so():
    found = select(root(pod("a"), pod("b"), pod("c")), [pod("p", 0), pod("q", 1)], [1000, 1000])

    assert (Status.UNSCHEDULABLE, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining") == (found.status, found.message)
    assert ((), {}) == (found.victims, found.nominations)
    assert found.outcome is not None


def test_pods_beyond_the_minimum_cost_victims_too():
    found = select(root(pod("a"), pod("b"), minimum=1), [pod("p", 0), pod("q", 1)], [1000, 1000])

    assert ["p", "q"] == names(found.victims)


NOMINATED = pod("high", nominated=0)


@pytest.mark.parametrize(
    ("pods", "leaving"),
    [
        pytest.param([pod("p", 0, 10, terminating=True, preempted=True)], frozenset(), id="as the cluster says"),
        pytest.param([pod("p", 0, 10)], frozenset({"default/p"}), id="as an earlier decision says"),
    ],
)
def test_while_victims_are_on_their_way_nobody_else_is_chosen(pods, leaving):
    found = select(root(NOMINATED), [*pods, pod("q", 1, 10)], [1000, 1000], leaving=leaving)

    assert (Status.SUCCESS, "ongoing preemption on nominated nodes", ()) == (found.status, found.message, found.victims)
    assert {"default/high": 0} == found.nominations


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("p", 1, 10, terminating=True, preempted=True), id="on another node"),
        pytest.param(pod("p", 0, 100, cpu=0, terminating=True, preempted=True), id="of no lower priority"),
        pytest.param(pod("p", 0, 10, cpu=0, terminating=True), id="that leaves for another reason"),
        pytest.param(pod("p", 0, 10, cpu=0), id="that stays"),
    ],
)
def test_a_nomination_alone_holds_nothing_up(other):
    found = select(root(NOMINATED), [other, pod("q", 0, 5)], [1000, 1000])

    assert "found a placement for podgroup, preempting 1 victims" == found.message


def test_the_nomination_of_a_member_deep_in_the_tree_counts():
    inner = Entity(Name("PodGroup", "default", "inner"), 1, True, "", 100, True, "", (), (NOMINATED,))
    outer = Entity(Name("CompositePodGroup", "default", "outer"), 1, True, "", 100, True, "", (inner,))

    assert "ongoing preemption on nominated nodes" == select(outer, [pod("p", 0, 10, terminating=True, preempted=True)], [1000]).message


def test_who_leaves_already_is_not_told_again_but_is_counted():
    pods = [pod("a", 0, 10, group="low", terminating=True), pod("b", 0, 10, group="low"), pod("c", 0, 10, group="low")]

    found = select(root(pod("high", cpu=3000)), pods, [3000], groups=[leaf("low", "all")], leaving={"default/c"})

    assert (["b"], ["a", "c"]) == (names(found.victims), names(found.being_evicted))
    assert "found a placement for podgroup, preempting 3 victims" == found.message


def test_who_would_break_a_budget_comes_back_first():
    pods = [pod("guarded", 0, 10, labels={"app": "db"}), pod("plain", 0, 50)]

    found = select(root(pod("high")), pods, [2000], budgets=[budget("b", 0, {"app": "db"})])

    assert (["plain"], 0) == (names(found.victims), found.violating)


def test_a_budget_is_no_veto():
    pods = [pod("guarded", 0, 10, labels={"app": "db"})]

    found = select(root(pod("high")), pods, [1000], budgets=[budget("b", 0, {"app": "db"})])

    assert (["guarded"], 1) == (names(found.victims), found.violating)


def test_budgets_are_used_up_by_units_that_are_not_in_the_way_too():
    pods = [pod("far", 1, 90, labels={"app": "db"}), pod("near", 0, 10, labels={"app": "db"}), pod("plain", 0, 50)]

    found = select(root(pod("high")), pods, [2000, 1000], budgets=[budget("b", 1, {"app": "db"})])

    assert ["plain"] == names(found.victims)


def test_all_proposed_pods_must_still_fit_on_their_nodes():
    pods = [pod("wide-0", 0, 50, 500, group="wide"), pod("wide-1", 1, 50, 500, group="wide"), pod("p", 0, 10, 500), pod("q", 1, 10, 500)]

    found = select(root(pod("a", cpu=1000), pod("b", cpu=2000)), pods, [1500, 2000], groups=[leaf("wide", "all")], priorities={"wide": 50})

    assert ["q", "wide-0", "wide-1"] == names(found.victims)


def test_a_unit_that_cannot_come_back_takes_nothing():
    pods = [pod("big", 0, 50, 2000), pod("small", 0, 10, 1000)]

    assert ["big"] == names(select(root(pod("high", cpu=1000)), pods, [2999]).victims)


def test_resources_that_the_root_does_not_request_do_not_matter():
    pods = [pod("p", 0, 10, 1000, memory=10**12), pod("q", 0, 5, 1000)]

    assert ["q"] == names(select(root(pod("high")), pods, [2000]).victims)


def test_the_number_of_pods_counts():
    assert ["q"] == names(select(root(pod("high", cpu=0)), [pod("p", 0, 10, 0), pod("q", 0, 5, 0)], [1000], room=2).victims)


def test_a_port_of_the_host_is_given_up_for_the_root():
    pods = [pod("p", 0, 50, ports=PORT), pod("q", 0, 10)]

    assert ["p"] == names(select(root(pod("high", ports=PORT)), pods, [9000]).victims)


def test_room_held_for_others_is_not_given_away():
    pods = [pod("p", 0, 10), pod("q", 0, 5)]
    nodes = node_table([3000])
    ledger = ledger_of(nodes, pods)
    ledger.held[0, 0] = 1000

    found = select_victims(root(pod("high")), units_of(pods), DisruptionBudgets([]), ledger, FirstFit(ledger))

    assert ["q"] == names(found.victims)


def test_what_the_placer_leaves_assumed_is_rewound():
    class Assuming(FirstFit):
        def place(self, entity: Entity) -> Outcome:
            outcome = super().place(entity)
            load = units_of([dataclasses.replace(each, node=node) for each, node in outcome.assigned]).potential_victims(10**9).loads
            self.ledger.assume(load, self.ledger.fresh())
            return outcome

    pods = [pod("p", 0, 10), pod("q", 0, 5)]
    ledger = ledger_of(node_table([2000]), pods)

    found = select_victims(root(pod("high")), units_of(pods), DisruptionBudgets([]), ledger, Assuming(ledger))

    assert ["q"] == names(found.victims)
    assert 2000 == ledger.used[0, 0]


def test_an_error_while_placing_leaves_everything_as_it_was():
    class Failing(FirstFit):
        def place(self, entity: Entity) -> Outcome:
            raise ArithmeticError

    pods = [pod("p", 0)]
    ledger = ledger_of(node_table([1000]), pods)
    placer = Failing(ledger, pods)

    with pytest.raises(ArithmeticError):
        select_victims(root(pod("high")), units_of(pods), DisruptionBudgets([]), ledger, placer)

    assert (1000, set()) == (ledger.used[0, 0], placer.away)


def test_a_pod_that_the_root_will_not_stand_beside_leaves():
    pods = [pod("rival", 0, 50, 100, labels={"app": "rival"}), pod("friend", 0, 10, 100, labels={"app": "friend"})]

    found = select(root(pod("high", labels={"apart": "rival"})), pods, [9000])

    assert ["rival"] == names(found.victims)


def test_a_pod_that_the_root_will_not_have_anywhere_leaves_from_wherever_it_runs():
    pods = [pod("rival", 1, 50, 100, labels={"app": "rival"}), pod("friend", 1, 10, 100), pod("beside", 0, 10, 100)]

    found = select(root(pod("high", labels={"alone": "rival"})), pods, [9000, 9000])

    assert ["rival"] == names(found.victims)


def test_who_may_not_be_beside_the_root_takes_no_room_from_others():
    pods = [pod("rival", 0, 50, labels={"app": "rival"}), pod("friend", 0, 10)]

    found = select(root(pod("high", labels={"apart": "rival"})), pods, [2000])

    assert ["rival"] == names(found.victims)


def test_on_a_node_that_is_promised_twice_nobody_comes_back_anywhere():
    class Generous(FirstFit):
        def place(self, entity: Entity) -> Outcome:
            return Outcome(Status.SUCCESS, "", tuple((each, 0) for each in entity.waiting))

    pods = [pod("p", 0, 10, 0), pod("q", 1, 10, 0)]
    ledger = ledger_of(node_table([1000, 1000]), pods)

    found = select_victims(root(pod("a"), pod("b")), units_of(pods), DisruptionBudgets([]), ledger, Generous(ledger, pods))

    assert ["p", "q"] == names(found.victims)


def test_whoever_cannot_make_a_difference_is_not_asked_about():
    pods = [pod(f"p{index}", index, labels={"app": "friend"}) for index in range(4)]
    ledger = ledger_of(node_table([1000] * 4), pods)
    placer = FirstFit(ledger, pods)

    select_victims(root(pod("high", labels={"apart": "rival"})), units_of(pods), DisruptionBudgets([]), ledger, placer)

    # Once, for where it was placed.
    assert 1 == placer.asked


PODS = st.lists(
    st.builds(
        dict,
        node=st.integers(0, 3),
        priority=st.integers(0, 4),
        cpu=st.sampled_from([0, 500, 1000, 1500]),
        group=st.sampled_from(["", "", "all", "single", "under"]),
        app=st.sampled_from(["", "a", "b"]),
        started=st.sampled_from(["", "2026-08-01T00:00:00Z", "2026-08-01T00:00:00.5Z", "2026-08-01T01:00:00+01:00"]),
        ports=st.sampled_from([(), (), PORT]),
    ),
    max_size=10,
)
GROUPS = [leaf("all", "all"), leaf("single", "single"), leaf("under", "single", "top"), composite("top", "all")]
PRIORITIES = {"all": 1, "single": 3, "top": 2}
BUDGETS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([{"app": "a"}, {"app": "b"}, {}])), max_size=3)
WAITING = st.lists(
    st.tuples(st.sampled_from([500, 1000, 2000]), st.sampled_from(["", "a"]), st.sampled_from([(), PORT])), min_size=1, max_size=4
)


def running(members):
    return [
        pod(
            f"p{index:02}",
            each["node"],
            each["priority"],
            each["cpu"],
            group=each["group"],
            labels={"app": each["app"]} if each["app"] else {},
            started=each["started"],
            ports=each["ports"],
        )
        for index, each in enumerate(members)
    ]


def members_of(waiting):
    return [
        pod(f"high-{index}", priority=4, cpu=cpu, labels={"apart": apart} if apart else {}, ports=ports)
        for index, (cpu, apart, ports) in enumerate(waiting)
    ]


@given(PODS, WAITING, BUDGETS, st.integers(1, 4), st.randoms())
def test_the_choice_is_that_of_the_long_way_whatever_the_order(members, waiting, allowed, priority, random):
    pods, budgets = running(members), [budget(f"b{index}", *each) for index, each in enumerate(allowed)]
    cpus = [1500, 2000, 2500, 3000]
    preemptor = root(*members_of(waiting), priority=priority)
    scene = {"groups": GROUPS, "priorities": PRIORITIES}
    found = select(preemptor, pods, cpus, budgets=budgets, **scene)
    if found.outcome is None or found.status is not Status.SUCCESS:
        assert () == found.victims
        return

    units = units_of(pods, GROUPS, PRIORITIES)
    lower = naive.candidates(units, priority)
    gone = {each.key for unit in lower for each in unit.pods}
    staying = [each for each in pods if each.key not in gone]
    ordered, counts = naive.split(lower, budgets)
    want = naive.reprieve(found.outcome.assigned, ordered, staying, node_table(cpus))
    evicted = {each.key for unit in want for each in unit.pods}

    assert sorted(evicted) == [each.key for each in found.victims]
    assert sum(counts[unit.pods[0].key] for unit in want) == found.violating
    assert all(unit.priority < priority for unit in found.units)
    assert naive.stand(found.outcome.assigned, [each for each in pods if each.key not in evicted], node_table(cpus))
    random.shuffle(pods)
    random.shuffle(budgets)
    again = select(preemptor, pods, cpus, budgets=budgets, **scene)
    assert (found.message, names(found.victims), found.violating) == (again.message, names(again.victims), again.violating)
