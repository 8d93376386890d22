"""Victims of a pod without a group with host ports, inter-pod anti-affinity, and agreement with a naive implementation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.wording.kube_scheduler import preemption_words
from tests.scheduler_core.preemption import naive
from tests.scheduler_core.preemption.default_preemption import select
from tests.scheduler_core.preemption.scene import budget, leaf, names, node_table, pod, units_of
from tests.scheduler_core.preemption.workload_aware import BUDGETS, GROUPS, PODS, PORT, PRIORITIES, running


def test_a_port_of_the_host_is_given_up():
    pods = [pod("a", 0, 50, ports=PORT), pod("b", 0, 10)]

    assert ["a"] == names(select(pod("high", priority=100, ports=PORT), pods, [9000]).victims)


def test_a_port_that_a_victim_has_on_another_node_frees_nothing_here():
    pods = [pod("stays", 0, 200, 100, ports=PORT), pod("a", 0, 5, group="low"), pod("b", 1, 5, group="low", ports=PORT)]

    result = select(pod("high", priority=100, ports=PORT), pods, [9000, 500], groups=[leaf("low", "all")], where=[0])

    assert (
        "0/2 nodes are available: 1 Preemption is not helpful for scheduling, 1 node(s) didn't have free ports for the requested pod ports."
    ) == preemption_words(result.reason)


def test_a_port_is_given_up_where_relations_matter_too():
    pods = [pod("a", 0, 50, ports=PORT), pod("b", 0, 10)]

    assert ["a"] == names(select(pod("high", priority=100, ports=PORT), pods, [9000], related=True).victims)


def test_pods_with_anti_affinity_are_preempted():
    pods = [pod("rival", 0, 50, 100, labels={"app": "rival"}), pod("friend", 0, 10, 100)]

    result = select(pod("high", priority=100, labels={"apart": "rival"}), pods, [9000], related=True)

    assert ["rival"] == names(result.victims)


def test_a_node_where_a_rival_stays_will_not_do():
    pods = [pod("rival", 0, 200, 100, labels={"app": "rival"}), pod("friend", 0, 10, 100)]

    result = select(pod("high", priority=100, labels={"apart": "rival"}), pods, [9000], related=True)

    assert "0/1 nodes are available: 1 node(s) didn't satisfy the pod's relations to other pods." == preemption_words(result.reason)


@given(
    PODS,
    st.sampled_from([500, 1000, 2000]),
    st.sampled_from(["", "a"]),
    st.sampled_from([(), PORT]),
    BUDGETS,
    st.integers(1, 4),
    st.randoms(),
)
def test_the_choice_is_that_of_a_naive_implementation_in_any_order(members, cpu, apart, ports, allowed, priority, random):
    pods, budgets = running(members), [budget(f"b{index}", *each) for index, each in enumerate(allowed)]
    cpus = [1500, 2000, 2500, 3000]
    preemptor = pod("high", priority=priority, cpu=cpu, ports=ports, labels={"apart": apart} if apart else {})
    scene = {"groups": GROUPS, "priorities": PRIORITIES, "related": bool(apart)}

    result = select(preemptor, pods, cpus, budgets=budgets, **scene)
    node, victims, violating = naive.single(preemptor, units_of(pods, GROUPS, PRIORITIES), budgets, node_table(cpus))

    assert (victims, violating) == ([each.key for each in result.victims], result.violating)
    assert ([node] if node else []) == [node_table(cpus).names[each] for each in result.nominations.values()]
    random.shuffle(pods)
    random.shuffle(budgets)
    assert result.reason == select(preemptor, pods, cpus, budgets=budgets, **scene).reason


@given(PODS, st.sampled_from([500, 2000]), st.integers(1, 4))
def test_relations_that_forbid_nothing_change_nothing(members, cpu, priority):
    pods, preemptor = running(members), pod("high", priority=priority, cpu=cpu)
    result = [select(preemptor, pods, [2000] * 4, groups=GROUPS, priorities=PRIORITIES, related=related) for related in (False, True)]

    assert result[0].reason == result[1].reason
    assert names(result[0].victims) == names(result[1].victims)
