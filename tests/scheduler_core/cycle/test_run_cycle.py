"""One scheduling cycle as a whole: options, order of the roots, preemption, and objects that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, prepared, queued
from scheduler_core.model.status import Status
from scheduler_core.preemption.result import Preemption
from tests.scheduler_core.builders import (
    Json,
    decided,
    leaf,
    node,
    placed,
    pod,
    pods,
    reasons_of,
    run,
)
from tests.scheduler_core.worded_problems import worded

SUCCESS, UNSCHEDULABLE = Status.SUCCESS, Status.UNSCHEDULABLE


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(
            {"volumes": [{"name": "v"}, {"name": "w", "azureFile": {}}]},
            "spec.volumes[1].azureFile",
            id="an Azure file share",
        ),
    ],
)
def test_a_field_that_is_not_modelled_refuses_the_pod_and_can_be_ignored(spec, field):
    objects = [node("n"), pod("p", **spec)]
    refused = decided(objects)
    ignorable = field.replace("[1]", "")

    assert (UNSCHEDULABLE, {}) == (refused.status, placed(refused))
    assert field in reasons_of(refused)["default/p"]
    assert f"--ignore {ignorable}" in reasons_of(refused)["default/p"]
    assert {"p": "n"} == placed(decided(objects, ignore=frozenset({ignorable})))


def test_one_refused_member_does_not_refuse_the_others():
    claim = {"volumes": [{"name": "w", "azureFile": {}}]}
    decision = decided([node("n"), leaf("g", 1), *pods("g", 2), pod("g-9", "g", **claim)])

    assert (SUCCESS, {"g-0": "n", "g-1": "n"}) == (decision.status, placed(decision))
    assert ["default/g-9"] == [*decision.pending]


WRONG = [
    pytest.param({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}, "Node x", id="a node without room"),
    pytest.param(node("x", "lots"), "Node x", id="an amount that is none"),
    pytest.param(pod("x", cpu="-1"), "Pod default/x", id="less than nothing"),
    pytest.param(pod("x", on="nowhere"), "Pod default/x", id="a node that is not there"),
    pytest.param({**pod("x"), "spec": {"containers": "none"}}, "Pod default/x", id="a pod of another shape"),
    pytest.param({**leaf("x"), "spec": []}, "PodGroup default/x", id="a group of another shape"),
    pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "Pod", id="a pod without a name"),
    pytest.param(b"7", "", id="no object"),
    pytest.param(b"{", "", id="no JSON"),
]


@pytest.mark.parametrize(("wrong", "name"), WRONG)
def test_what_cannot_be_used_does_not_stop_the_rest(wrong, name):
    good = [node("n"), leaf("g", 2), *pods("g", 2)]
    result = run([*good, wrong])

    assert {"g-0": "n", "g-1": "n"} == placed(result.decisions[0])
    assert any(each.object.startswith(name) for each in worded(result.problems))
    assert 1 == len(result.decisions)


def test_a_cluster_without_anything_has_nothing_to_decide():
    assert ((), (), ()) == (run([]).decisions, run([]).pending, run([]).problems)


@pytest.mark.parametrize(("key", "status"), [("", Status.ERROR), ("rack", UNSCHEDULABLE)])
def test_a_cluster_without_nodes_places_nothing(key, status):
    decision = decided([leaf("g", 1, key), *pods("g", 2)])

    assert (status, {}) == (decision.status, placed(decision))


TWO_ROOTS = [node("n", "2"), leaf("first", 2), *pods("first", 2), leaf("second", 2), *pods("second", 2)]


def winners(objects: list[Json], **options: Any) -> list[tuple[str, str]]:
    return [(each.root.name, each.status.value) for each in run(objects, **options).decisions]


def test_what_one_root_is_given_the_next_does_not_find():
    assert [("first", "Success"), ("second", "Unschedulable")] == winners(TWO_ROOTS)


@pytest.mark.parametrize("name", ["second", "default/second", "PodGroup/default/second"])
def test_roots_come_in_the_order_requested(name):
    assert [("second", "Success"), ("first", "Unschedulable")] == winners(TWO_ROOTS, order=(name,))


def test_an_order_that_names_no_root_is_refused():
    with pytest.raises(ValueError, match="third"):
        run(TWO_ROOTS, order=("third",))


def test_only_pods_of_the_requested_scheduler_are_placed():
    objects = [node("n"), pod("mine", schedulerName="muster"), pod("theirs")]

    assert [{"mine": "n"}] == [placed(each) for each in run(objects, scheduler_name="muster").decisions]


def test_progress_is_reported_root_by_root():
    seen: list[tuple[int, int]] = []
    run([*TWO_ROOTS, {**pod("stray", "nowhere")}], progress=lambda done, all_: seen.append((done, all_)))

    assert [(1, 2), (2, 2)] == seen


def test_the_roots_that_are_ready_are_reported_in_the_order_of_their_cycles():
    objects = [*TWO_ROOTS, leaf("short", 3), *pods("short", 1), pod("high", priority=9)]
    snapshot, options = load(objects), CycleOptions(order=("second",))

    assert ["second", "high", "first"] == [each.name.name for each in queued(snapshot, options)]
    decider, roots = prepared(snapshot, options)
    assert [("second", SUCCESS), ("high", UNSCHEDULABLE)] == [(each.name.name, decider.decide(each).status) for each in roots[:2]]


def test_what_would_fit_is_reported_without_taking_it():
    decider, roots = prepared(load(TWO_ROOTS), CycleOptions())
    results = [[each.name for each, _ in decider.fitting(root) or ()] for root in roots]

    assert [["first-0", "first-1"], ["second-0", "second-1"]] == results
    decider.decide(roots[0])
    assert decider.fitting(roots[1]) is None


FULL = [node("n", "2"), pod("low", on="n", cpu="2", priority=0)]


def test_victims_leave_and_the_next_cycle_places_the_root_when_that_is_requested():
    objects = [*FULL, leaf("g", 2, priority=5), *pods("g", 2, priority=5)]
    (first,) = run(objects).decisions
    again = run(objects, evict=True).decisions

    assert (UNSCHEDULABLE, ("default/low",), {}) == (first.status, first.victims, placed(first))
    assert {"default/g-0": "n", "default/g-1": "n"} == first.nominations
    assert first == again[0]
    assert [("g", SUCCESS, {"g-0": "n", "g-1": "n"})] == [(each.root.name, each.status, placed(each)) for each in again[1:]]


def test_without_victims_there_is_no_second_cycle():
    assert 2 == len(run(TWO_ROOTS, evict=True).decisions)


def test_a_root_that_was_evicted_is_not_searched_for_in_the_order_of_the_next_cycle():
    objects = [*FULL, pod("p", cpu="2", priority=5)]
    decisions = run(objects, evict=True, order=("low", "p")).decisions

    assert [("p", UNSCHEDULABLE), ("p", SUCCESS)] == [(each.root.name, each.status) for each in decisions]


def test_no_pod_is_preempted_twice():
    low = [pod(f"low-{number}", on="n", cpu="1", priority=0) for number in range(2)]
    gangs = [leaf("a", 1, priority=5), *pods("a", 1, "2", priority=5), leaf("b", 1, priority=4), *pods("b", 1, "2", priority=4)]
    first, second = run([node("n", "2"), *low, *gangs]).decisions

    assert ("default/low-0", "default/low-1") == first.victims
    assert (UNSCHEDULABLE, (), {}) == (second.status, second.victims, second.nominations)


def test_the_search_of_greedy_says_so():
    first, second = run(TWO_ROOTS).decisions

    assert [("greedy", "placed"), ("greedy", "not-searched")] == [(each.search.strategy, each.search.outcome) for each in (first, second)]


def test_every_pod_that_is_not_placed_has_a_reason():
    objects = [
        *TWO_ROOTS,
        pod("large", cpu="9"),
        leaf("short", 3),
        *pods("short", 1),
        pod("stray", "nowhere"),
        pod("gated", schedulingGates=[{"name": "g"}]),
    ]
    result = run(objects)
    messages = {key for each in result.decisions for key in each.pending} | {key for key, _ in result.pending}
    placed_ = {key for each in result.decisions for key in each.assignments}

    assert {f"default/{each['metadata']['name']}" for each in objects if each["kind"] == "Pod"} == messages | placed_
    assert not messages & placed_
    assert all(reason for each in result.decisions for reason in reasons_of(each).values())


@pytest.mark.parametrize(
    ("running", "examined"),
    [
        pytest.param(pod("r", on="n", priority=5), 0, id="the same priority"),
        pytest.param(pod("r", on="n", priority=4), 2, id="a lower priority"),
    ],
)
def test_victims_of_a_single_pod_are_searched_only_among_pods_of_lower_priorities(running, examined, monkeypatch):
    calls = []
    select = "scheduler_core.preemption.victims.default_preemption.PodPreemption.select_victims"
    monkeypatch.setattr(select, lambda *_: calls.append(1) or Preemption(UNSCHEDULABLE, ""))
    run([node("n", cpu="1"), running, *(pod(f"p{index}", priority=5, cpu="2") for index in range(2))])
    assert examined == len(calls)


def test_a_single_pod_preempts_pods_of_a_group_whose_priority_is_lower_than_theirs():
    group = leaf("g", 1)
    objects = [node("n", cpu="1"), group, pod("r", "g", on="n", priority=9, cpu="1"), pod("p", priority=9, cpu="1")]
    assert ("default/r",) == run(objects).decisions[0].victims
