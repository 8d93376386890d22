"""Capacity reserved for nominated pods: against which pods it counts, and when it is released."""

from __future__ import annotations

import pytest

from kubeapi.meta import replaced
from scheduler_core.model.entity import Entity
from scheduler_core.model.ledger import Ledger
from scheduler_core.model.names import Name
from scheduler_core.model.nominations import Nominations
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.topology import Topology
from tests.scheduler_core.builders import composite, decided, leaf, node, placed, pod, pods, record, run, shape, table

ONE_CPU = shape(1000)


def promised(*records: PodRecord) -> tuple[Ledger, Nominations]:
    ledger = Ledger(Topology(table([{}] * 3)))
    return ledger, Nominations(ledger, records)


def reserved_millicores(ledger: Ledger) -> list[int]:
    """Return the millicores reserved on each node."""
    return ledger.held[0].tolist()


def group(*waiting: PodRecord, priority: int) -> Entity:
    return Entity(Name("PodGroup", "default", "g"), 1, True, "", priority, True, "", waiting=waiting)


def test_capacity_is_kept_for_pods_that_wait_with_a_nominated_node():
    waits, runs = record("waits", ONE_CPU, nominated=1), record("runs", ONE_CPU, node=0, nominated=2)
    leaves = replaced(record("leaves", ONE_CPU, nominated=2), terminating=True)
    ledger, _ = promised(waits, runs, leaves, record("free", ONE_CPU))

    assert [0, 1000, 0] == reserved_millicores(ledger)
    assert not ledger.used.any()


def test_a_new_promise_takes_the_place_of_the_old_one():
    each = record("p", ONE_CPU, nominated=1)
    ledger, nominations = promised(each)
    nominations.nominate(each, 2)

    assert [0, 0, 1000] == reserved_millicores(ledger)


def test_a_promise_that_is_withdrawn_is_gone_for_good():
    each = record("p", ONE_CPU, nominated=1)
    ledger, nominations = promised(each)
    nominations.withdraw(each)
    nominations.withdraw(each)

    assert [0, 0, 0] == reserved_millicores(ledger)


def test_capacity_that_is_lifted_is_kept_again_after_a_rewind():
    each = record("p", ONE_CPU, nominated=1)
    ledger, nominations = promised(each)
    mark = ledger.mark()
    nominations.release_until_rewind(each)
    lifted = reserved_millicores(ledger)
    ledger.rewind(mark)

    assert ([0, 0, 0], [0, 1000, 0]) == (lifted, reserved_millicores(ledger))


def test_a_pod_that_was_placed_is_not_lifted_again():
    each = record("p", ONE_CPU, nominated=1)
    ledger, nominations = promised(each)
    nominations.release_until_rewind(each)
    nominations.delete_nominations([each])
    nominations.release_until_rewind(each)

    assert [0, 0, 0] == reserved_millicores(ledger)


@pytest.mark.parametrize(("priority", "want"), [(4, [0, 1000, 1000]), (5, [0, 1000, 1000]), (6, [0, 0, 1000]), (8, [0, 0, 0])])
def test_promises_of_a_lower_priority_step_aside(priority, want):
    ledger, nominations = promised(record("low", ONE_CPU, nominated=1, priority=5), record("high", ONE_CPU, nominated=2, priority=7))
    nominations.release_lower_priority(group(priority=priority))

    assert want == reserved_millicores(ledger)


def test_a_roots_own_promises_are_let_go_of_and_kept_again():
    own, other = record("own", ONE_CPU, nominated=1, priority=5), record("other", ONE_CPU, nominated=2, priority=5)
    ledger, nominations = promised(own, other)
    entity = group(own, record("none", ONE_CPU, priority=5), priority=5)
    released = nominations.release_own(entity)
    without = reserved_millicores(ledger)
    nominations.hold_again(released)

    assert ([0, 0, 1000], [0, 1000, 1000]) == (without, reserved_millicores(ledger))


def test_a_promise_that_stepped_aside_already_is_not_let_go_of_twice():
    own = record("own", ONE_CPU, nominated=1, priority=1)
    ledger, nominations = promised(own)
    root = group(own, priority=5)
    nominations.release_lower_priority(root)
    nominations.release_own(root)

    assert [0, 0, 0] == reserved_millicores(ledger)


NODES = [node("a", "2"), node("b", "1")]


@pytest.mark.parametrize(
    ("priority", "where"),
    [pytest.param(5, "b", id="of the same priority"), pytest.param(9, "a", id="of a higher priority")],
)
def test_a_nominated_pod_keeps_its_capacity_from_who_has_no_higher_priority(priority, where):
    waits = pod("waits", cpu="2", nominated="a", priority=5)
    other = pod("other", priority=priority)
    result = {each.root.name: placed(each) for each in run([*NODES, waits, other], order=("other",)).decisions}

    assert {"other": where} == result["other"]


def test_a_nominated_pod_takes_its_node_without_a_look_at_better_ones():
    assert {"p": "b"} == placed(decided([*NODES, pod("p", nominated="b")]))
    assert {"p": "a"} == placed(decided([*NODES, pod("p")]))


def test_where_the_nominated_node_does_not_do_any_more_another_does():
    assert {"p": "a"} == placed(decided([*NODES, pod("p", cpu="2", nominated="b")]))


def test_members_of_a_gang_keep_capacity_for_each_other_until_they_are_placed():
    gang = [leaf("g", 2), pod("g-0", "g"), pod("g-1", "g", nominated="b"), pod("g-2", "g", nominated="b")]
    decision = decided([*NODES, *gang])

    # The last one finds its promised node taken by its sibling.
    assert {"g-0": "a", "g-1": "a", "g-2": "b"} == placed(decision)


def test_a_member_that_finds_no_node_keeps_the_capacity_that_it_was_promised():
    gang = [leaf("g", 1), pod("g-0", "g", cpu="2", nominated="a", nodeSelector={"disk": "none"}), pod("g-1", "g")]

    assert {"g-1": "b"} == placed(decided([*NODES, *gang]))


def test_a_placed_member_needs_no_nomination_while_its_siblings_are_tried():
    tree = [composite("root", 2), leaf("first", 1, parent="root"), leaf("second", 1, parent="root")]
    members = [pod("f", "first", nominated="a"), pod("s", "second")]

    assert {"f": "a", "s": "a"} == placed(decided([node("a", "2"), *tree, *members]))


def test_what_a_placed_pod_was_promised_is_not_given_back_a_second_time():
    low = pod("low", nominated="a", priority=1)
    gang = [leaf("g", 2, priority=5), *pods("g", 2, priority=5)]
    first, second = run([node("a", "2"), low, *gang], order=("low", "g")).decisions

    assert ({"low": "a"}, "Unschedulable", ("default/low",)) == (placed(first), second.status, second.victims)


def test_a_preemption_places_the_root_with_its_own_nominations():
    # What the second member was promised is no room for the first one, so more must leave.
    nodes = [node("a", "2"), node("b", "1")]
    low = [pod("low-a", on="a", cpu="2", priority=0), pod("low-b", on="b", cpu="1", priority=0)]
    gang = [leaf("g", 2, priority=5), pod("g-0", "g", priority=5), pod("g-1", "g", cpu="2", nominated="a", priority=5)]
    decision = decided([*nodes, *low, *gang])

    assert ({"default/g-0": "b", "default/g-1": "a"}, ("default/low-a", "default/low-b")) == (decision.nominations, decision.victims)


def test_a_nomination_does_not_count_in_scores():
    # Were it counted, the emptier node would be the other one.
    waits = pod("waits", cpu="1", nominated="a", priority=9, schedulingGates=[{"name": "g"}])
    result = {each.root.name: placed(each) for each in run([node("a"), node("b"), waits, pod("p")]).decisions}

    assert {"p": "a"} == result["p"]


def test_what_is_promised_in_a_cycle_is_kept_from_the_roots_after_it():
    low = pod("low", cpu="2", on="a", priority=0)
    gang = [leaf("g", 1, priority=9), *pods("g", 1, "2", priority=9)]
    later = pod("later", cpu="2", priority=5, preemptionPolicy="Never")
    first, second, again, after = run([node("a", "2"), low, *gang, later], evict=True).decisions

    assert (["default/low"], {"default/g-0": "a"}) == ([*first.victims], first.nominations)
    assert "Unschedulable" == second.status
    assert {"g-0": "a"} == placed(again)
    assert "Unschedulable" == after.status


def test_a_group_that_fails_without_a_preemption_loses_its_nominations():
    # Nobody can leave for it, so what was promised is void and the next root may have the room.
    gang = [leaf("g", 2, priority=5), pod("g-0", "g", nominated="a", priority=5), pod("g-1", "g", cpu="9", priority=5)]
    result = {each.root.name: placed(each) for each in run([node("a", "1"), *gang, pod("after", priority=1)]).decisions}

    assert {"g": {}, "after": {"after": "a"}} == result


def test_a_pod_by_itself_that_must_not_preempt_keeps_its_nomination():
    waits = pod("waits", cpu="2", nominated="a", priority=5, preemptionPolicy="Never")
    blocks = pod("blocks", on="a", priority=0)
    result = {each.root.name: placed(each) for each in run([node("a", "2"), waits, blocks, pod("after", priority=1)]).decisions}

    assert {"waits": {}, "after": {}} == result
