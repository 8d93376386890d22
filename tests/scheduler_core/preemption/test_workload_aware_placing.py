"""Victims of a root that is placed again: host ports, inter-pod anti-affinity, rewinding, and agreement with a naive implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.meta import replaced
from scheduler_core.model.entity import Entity
from scheduler_core.model.status import Status
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.preemption.victims.workload_aware import select_victims
from tests.scheduler_core.preemption import naive
from tests.scheduler_core.preemption.scene import (
    FirstFit,
    Outcome,
    budget,
    ledger_of,
    names,
    node_table,
    pod,
    root,
    units_of,
)
from tests.scheduler_core.preemption.workload_aware import BUDGETS, GROUPS, PODS, PORT, PRIORITIES, running, select


def test_a_port_of_the_host_is_given_up_for_the_root():
    pods = [pod("p", 0, 50, ports=PORT), pod("q", 0, 10)]

    assert ["p"] == names(select(root(pod("high", ports=PORT)), pods, [9000]).victims)


def test_capacity_held_for_others_is_not_given_away():
    pods = [pod("p", 0, 10), pod("q", 0, 5)]
    nodes = node_table([3000])
    ledger = ledger_of(nodes, pods)
    ledger.held[0, 0] = 1000

    result = select_victims(root(pod("high")), units_of(pods), DisruptionBudgets([]), ledger, FirstFit(ledger))

    assert ["q"] == names(result.victims)


def test_what_the_placer_leaves_assumed_is_rewound():
    class Assuming(FirstFit):
        def place(self, entity: Entity) -> Outcome:
            outcome = super().place(entity)
            load = units_of([replaced(each, node=node) for each, node in outcome.assigned]).potential_victims(10**9).loads
            self.ledger.assume(load, self.ledger.fresh())
            return outcome

    pods = [pod("p", 0, 10), pod("q", 0, 5)]
    ledger = ledger_of(node_table([2000]), pods)

    result = select_victims(root(pod("high")), units_of(pods), DisruptionBudgets([]), ledger, Assuming(ledger))

    assert ["q"] == names(result.victims)
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


def test_a_pod_that_conflicts_with_the_root_is_preempted():
    pods = [pod("rival", 0, 50, 100, labels={"app": "rival"}), pod("friend", 0, 10, 100, labels={"app": "friend"})]

    result = select(root(pod("high", labels={"apart": "rival"})), pods, [9000])

    assert ["rival"] == names(result.victims)


def test_a_pod_that_the_root_will_not_have_anywhere_leaves_from_wherever_it_runs():
    pods = [pod("rival", 1, 50, 100, labels={"app": "rival"}), pod("friend", 1, 10, 100), pod("beside", 0, 10, 100)]

    result = select(root(pod("high", labels={"alone": "rival"})), pods, [9000, 9000])

    assert ["rival"] == names(result.victims)


def test_a_pod_that_conflicts_with_the_root_takes_no_capacity_from_others():
    pods = [pod("rival", 0, 50, labels={"app": "rival"}), pod("friend", 0, 10)]

    result = select(root(pod("high", labels={"apart": "rival"})), pods, [2000])

    assert ["rival"] == names(result.victims)


def test_on_a_node_that_is_promised_twice_nobody_comes_back_anywhere():
    class Generous(FirstFit):
        def place(self, entity: Entity) -> Outcome:
            return Outcome(Status.SUCCESS, None, tuple((each, 0) for each in entity.waiting))

    pods = [pod("p", 0, 10, 0), pod("q", 1, 10, 0)]
    ledger = ledger_of(node_table([1000, 1000]), pods)

    result = select_victims(root(pod("a"), pod("b")), units_of(pods), DisruptionBudgets([]), ledger, Generous(ledger, pods))

    assert ["p", "q"] == names(result.victims)


def test_pods_that_cannot_matter_are_not_considered():
    pods = [pod(f"p{index}", index, labels={"app": "friend"}) for index in range(4)]
    ledger = ledger_of(node_table([1000] * 4), pods)
    placer = FirstFit(ledger, pods)

    select_victims(root(pod("high", labels={"apart": "rival"})), units_of(pods), DisruptionBudgets([]), ledger, placer)

    # Once, for where it was placed.
    assert 1 == placer.asked


WAITING = st.lists(
    st.tuples(st.sampled_from([500, 1000, 2000]), st.sampled_from(["", "a"]), st.sampled_from([(), PORT])), min_size=1, max_size=4
)


def members_of(waiting):
    return [
        pod(f"high-{index}", priority=4, cpu=cpu, labels={"apart": apart} if apart else {}, ports=ports)
        for index, (cpu, apart, ports) in enumerate(waiting)
    ]


@given(PODS, WAITING, BUDGETS, st.integers(1, 4), st.randoms())
def test_the_choice_is_that_of_a_naive_implementation_in_any_order(members, waiting, allowed, priority, random):
    pods, budgets = running(members), [budget(f"b{index}", *each) for index, each in enumerate(allowed)]
    cpus = [1500, 2000, 2500, 3000]
    preemptor = root(*members_of(waiting), priority=priority)
    scene = {"groups": GROUPS, "priorities": PRIORITIES}
    result = select(preemptor, pods, cpus, budgets=budgets, **scene)
    if result.outcome is None or result.status is not Status.SUCCESS:
        assert () == result.victims
        return

    units = units_of(pods, GROUPS, PRIORITIES)
    lower = naive.candidates(units, priority)
    removed = {each.key for unit in lower for each in unit.pods}
    staying = [each for each in pods if each.key not in removed]
    ordered, counts = naive.split(lower, budgets)
    want = naive.reprieve(result.outcome.assigned, ordered, staying, node_table(cpus))
    evicted = {each.key for unit in want for each in unit.pods}

    assert sorted(evicted) == [each.key for each in result.victims]
    assert sum(counts[unit.pods[0].key] for unit in want) == result.violating
    assert all(unit.priority < priority for unit in result.units)
    assert naive.fit_together(result.outcome.assigned, [each for each in pods if each.key not in evicted], node_table(cpus))
    random.shuffle(pods)
    random.shuffle(budgets)
    again = select(preemptor, pods, cpus, budgets=budgets, **scene)
    assert (result.reason, names(result.victims), result.violating) == (again.reason, names(again.victims), again.violating)
