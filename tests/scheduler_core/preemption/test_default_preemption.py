"""Victims of a pod without a group: the node that is chosen, and the order in which pods are reprieved."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.model.status import Status
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.victims.default_preemption import PodPreemption
from scheduler_core.wording.kube_scheduler import preemption_words
from tests.scheduler_core.preemption.default_preemption import select
from tests.scheduler_core.preemption.scene import budget, composite, leaf, ledger_of, names, node_table, pod, units_of
from tests.scheduler_core.preemption.workload_aware import PORT

HIGH = pod("high", priority=100, cpu=1000)


def test_the_victim_and_the_node_are_named():
    result = select(HIGH, [pod("p", 0, 10)], [1000])

    assert (Status.SUCCESS, "found a potential placement for pod on node node-00, preempting 1 victims") == (
        result.status,
        preemption_words(result.reason),
    )
    assert (["p"], {"default/high": 0}) == (names(result.victims), result.nominations)


@pytest.mark.parametrize(
    ("pods", "budgets"),
    [
        pytest.param(
            [pod("a", 0, 1, labels={"app": "db"}), pod("b", 1, 90)], [budget("b", 0, {"app": "db"})], id="fewest pods that break a budget"
        ),
        pytest.param([pod("a", 0, 50), pod("b", 1, 10, 500), pod("c", 1, 40, 500)], [], id="lowest highest priority"),
        pytest.param([pod("a", 0, 50, 500), pod("b", 0, 20, 500), pod("c", 1, 50, 500), pod("d", 1, 10, 500)], [], id="smallest sum"),
        pytest.param(
            [
                pod("a", 0, 10, 500, started="2026-08-01T00:00:01Z"),
                pod("b", 0, -(2**31), 500),
                pod("c", 1, 10, started="2026-08-01T00:00:00Z"),
            ],
            [],
            id="fewest victims where the sums are equal",
        ),
        pytest.param([pod("a", 0, -5, 500), pod("b", 0, -5, 500), pod("c", 1, -5)], [], id="one of a negative priority rather than two"),
        pytest.param(
            [pod("a", 0, 5, started="2026-08-01T00:00:00Z"), pod("b", 1, 5, started="2026-08-01T00:00:01Z")], [], id="who started last"
        ),
        pytest.param([pod("a", 0, 5, started="2026-08-01T00:00:00Z"), pod("b", 1, 5)], [], id="who has not started"),
        pytest.param(
            [
                pod("a", 0, 9, 500, started="2026-08-01T00:00:01Z"),
                pod("b", 0, 5, 500, started="2026-08-01T00:00:09Z"),
                pod("c", 1, 9, 500, started="2026-08-01T00:00:02Z"),
                pod("d", 1, 5, 500, started="2026-08-01T00:00:00Z"),
            ],
            [],
            id="only those of the highest priority tell the age",
        ),
    ],
)
def test_the_second_node_is_better(pods, budgets):
    assert {"default/high": 1} == select(HIGH, pods, [1000, 1000], budgets=budgets).nominations


def test_of_nodes_equally_good_the_first_by_name_is_taken():
    assert {"default/high": 0} == select(HIGH, [pod("z", 0, 5), pod("a", 1, 5)], [1000, 1000]).nominations


def test_the_sum_weighs_the_number_of_victims():
    pods = [pod("a", 0, 10, 500), pod("b", 0, -(2**30), 500), pod("c", 1, 10)]

    assert {"default/high": 1} == select(HIGH, pods, [1000, 1000]).nominations


def test_the_sum_comes_before_the_number():
    least = -(2**31)
    few = [pod("a", 0, 10, 500), pod("b", 0, 9, 500)]
    many = [pod("c", 1, 10, 400), pod("d", 1, least, 300), pod("e", 1, least, 300)]

    assert {"default/high": 1} == select(HIGH, [*few, *many], [1000, 1000]).nominations


def test_nodes_may_be_given_in_any_order_and_twice():
    pods = [pod("a", 0, 100), pod("b", 1, 100), pod("c", 2, 5)]
    results = [select(HIGH, pods[:count], [1000, 1000, 1000], where=where) for count, where in ((2, [1, 0, 1]), (3, [2, 1, 2]))]

    assert {"default/high": 2} == results[1].nominations
    assert (
        "0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    ) == preemption_words(results[0].reason)


def test_only_nodes_where_eviction_could_help_are_examined():
    pods = [pod("a", 0, 5), pod("b", 1, 50)]

    assert {"default/high": 1} == select(HIGH, pods, [1000, 1000], where=[1]).nominations


def test_a_group_of_mode_all_leaves_with_all_its_pods_and_weighs_with_all():
    pods = [pod("a", 0, 5, group="low"), pod("b", 2, 5, group="low"), pod("c", 1, 5)]

    result = select(HIGH, pods, [1000, 1000, 1000], groups=[leaf("low", "all")], priorities={"low": 5})

    assert ["c"] == names(result.victims)
    assert ["a", "b"] == names(select(HIGH, pods, [1000] * 3, groups=[leaf("low", "all")], where=[0]).victims)


def test_the_more_important_comes_back_first():
    pods = [pod("a", 0, 10), pod("b", 0, 50), pod("c", 0, 5)]

    assert ["c"] == names(select(HIGH, pods, [3000]).victims)


def test_victims_that_break_a_budget_are_reprieved_first_and_counted_by_node():
    pods = [pod("a", 0, 10, labels={"app": "db"}), pod("b", 0, 10, labels={"app": "db"}), pod("c", 1, 90, labels={"app": "db"})]

    result = select(HIGH, pods, [2000, 1000], budgets=[budget("b", 1, {"app": "db"})])

    assert (["a"], 0, {"default/high": 0}) == (names(result.victims), result.violating, result.nominations)


def test_nobody_of_equal_priority_leaves():
    result = select(HIGH, [pod("a", 0, 100)], [1000])

    assert (Status.UNSCHEDULABLE, ()) == (result.status, result.victims)
    assert "0/1 nodes are available: 1 No preemption victims found for incoming pod." == preemption_words(result.reason)


def test_why_no_node_will_do_is_counted():
    pods = [
        pod("a", 0, 100),
        pod("b", 1, 10, 500),
        pod("c", 1, 100, 500),
        pod("d", 2, 10, 500, ports=PORT),
        pod("e", 2, 100, 500, ports=(("TCP", "10.0.0.1", 80),)),
        pod("f", 3, 10),
    ]

    result = select(pod("high", priority=100, ports=PORT), pods, [1000, 1000, 9000, 1000], where=[0, 1, 2])

    assert (
        "0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling, 1 node(s) didn't have free ports for the requested pod ports."
    ) == preemption_words(result.reason)


def test_too_many_pods_is_a_reason():
    pods = [pod("a", 0, 10, 0), pod("b", 0, 100, 0)]

    assert "0/1 nodes are available: 1 Too many pods." == preemption_words(select(HIGH, pods, [1000], room=1).reason)


def test_a_pod_that_must_not_preempt_does_not():
    result = select(pod("high", priority=100, preempts=False), [pod("a", 0)], [1000])

    assert (Status.UNSCHEDULABLE, "not eligible due to preemptionPolicy=Never.") == (result.status, preemption_words(result.reason))


NOMINATED = pod("high", priority=100, nominated=0)
GOING = pod("a", 0, 10, terminating=True, preempted=True)


def test_while_victims_leave_the_nominated_node_nobody_else_is_chosen():
    result = select(NOMINATED, [GOING, pod("b", 1, 10)], [1000, 1000])

    assert (Status.UNSCHEDULABLE, "not eligible due to a terminating pod on the nominated node.") == (
        result.status,
        preemption_words(result.reason),
    )
    assert ((), {"default/high": 0}) == (result.victims, result.nominations)


def test_a_nominated_node_that_will_never_do_holds_nothing_up():
    assert {"default/high": 1} == select(NOMINATED, [GOING, pod("b", 1, 10)], [1000, 1000], where=[1]).nominations


def test_who_leaves_already_is_not_reported_again():
    result = select(HIGH, [GOING, pod("b", 0, 10, 500), pod("c", 0, 10, 500)], [1000], leaving={"default/c"})

    assert (["b"], ["a", "c"]) == (names(result.victims), names(result.being_evicted))
    assert "found a potential placement for pod on node node-00, preempting 3 victims" == preemption_words(result.reason)


def test_capacity_held_for_others_is_not_given_away():
    pods = [pod("a", 0, 10), pod("b", 0, 5)]
    ledger = ledger_of(node_table([3000]), pods)
    ledger.held[0, 0] = 1000

    result = PodPreemption(units_of(pods), DisruptionBudgets([]), ledger).select_victims(HIGH, np.array([0]))

    assert ["b"] == names(result.victims)


def test_one_chooser_serves_pods_of_many_priorities():
    pods = [pod("a", 0, 10), pod("b", 0, 50)]
    ledger = ledger_of(node_table([2000]), pods)
    chooser = PodPreemption(units_of(pods), DisruptionBudgets([]), ledger)

    result = [chooser.select_victims(pod("high", priority=priority, cpu=2000), np.array([0])) for priority in (5, 40, 60)]

    assert [[], [], ["a", "b"]] == [names(each.victims) for each in result]


def test_without_nodes_there_is_nobody_to_make_leave():
    assert "0/1 nodes are available: 1 Preemption is not helpful for scheduling." == preemption_words(
        select(HIGH, [pod("a", 0)], [1000], where=[]).reason
    )


def test_a_tree_of_mode_all_counts_once():
    groups = [composite("tree", "all"), leaf("one", "all", "tree"), leaf("two", "all", "tree")]
    pods = [pod("a", 0, 5, 500, group="one"), pod("b", 0, 5, 500, group="two")]

    result = select(HIGH, pods, [1000], groups=groups, priorities={"tree": 5})

    assert ["tree"] == [unit.owner.name for unit in result.units]
