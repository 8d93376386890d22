from __future__ import annotations

import pytest

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_38, behavior_of
from scheduler_core.cluster.load import load
from scheduler_core.queueing.trees import Trees
from scheduler_core.sidecar.controllers.pending_writes import RETRY_SECONDS
from scheduler_core.sidecar.controllers.validity import MAX_SETTLE_FACTOR, SETTLE_SECONDS, VALID, Validity
from scheduler_core.sidecar.writes import RecordEvent, SetCondition
from scheduler_core.wording.pre_enqueue_words import INVALID
from tests import builders
from validators.gates import Gates

SINCE = "2026-01-01T00:00:00Z"


def group(name, parent="", kind="PodGroup", conditions=(), policy="basic"):
    minimum = 0 if policy == "basic" else 1
    reference = {"workloadName": "w", "templateName": "t"}
    made = builders.group(kind, name, minimum, parent=parent, metadata={"uid": f"uid-{name}"}, workloadRef=reference)
    return made | {"status": {"conditions": list(conditions)}}


def composite(name, parent="", **more):
    return group(name, parent, "CompositePodGroup", **more)


def condition(kind, status, reason, message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": SINCE}


def circle(**conditions):
    """Two composites, each the parent of the other, and a leaf below."""
    return [
        composite("a", "b", conditions=conditions.get("a", ())),
        composite("b", "a", conditions=conditions.get("b", ())),
        group("leaf", "a", conditions=conditions.get("leaf", ())),
    ]


def trees(*objects):
    return Trees(load(objects))


def judged(objects, validity=None, at=(0.0, SETTLE_SECONDS)):
    """What is written at these moments."""
    validity = validity or Validity(Gates())
    found = [validity.reconcile(trees(*objects), moment) for moment in at]
    return [write for each in found for write in each.writes]


def conditions(writes):
    return {(each.target.name, each.condition.type): each.condition for each in writes if isinstance(each, SetCondition)}


def test_every_group_of_an_invalid_tree_is_reported():
    found = conditions(judged(circle()))

    want = {
        ("a", "CompositePodGroupInitiallyScheduled"),
        ("b", "CompositePodGroupInitiallyScheduled"),
        ("leaf", "PodGroupInitiallyScheduled"),
    }
    assert want == set(found)
    assert {("False", "Invalid", "")} == {(each.status, each.reason, each.since) for each in found.values()}
    assert all(each.message.startswith(INVALID) and "parent-acyclic" in each.message for each in found.values())


def test_a_server_of_138_has_reasons_of_its_own():
    found = conditions(judged(circle(), Validity(Gates(), behavior=KUBERNETES_1_38)))

    assert "PodGroupError" == found["leaf", "PodGroupInitiallyScheduled"].reason
    assert "CompositePodGroupError" == found["a", "CompositePodGroupInitiallyScheduled"].reason


def test_nothing_is_reported_before_it_has_settled():
    validity = Validity(Gates())
    first = validity.reconcile(trees(*circle()), 10.0)
    almost = validity.reconcile(trees(*circle()), 10.0 + SETTLE_SECONDS - 0.01)

    assert ((), 10.0 + SETTLE_SECONDS) == (first.writes, first.next_retry)
    assert () == almost.writes
    assert validity.reconcile(trees(*circle()), 10.0 + SETTLE_SECONDS).writes


def test_a_tree_that_becomes_valid_in_time_is_not_reported():
    validity = Validity(Gates())
    validity.reconcile(trees(*circle()), 0.0)
    valid = [composite("a"), composite("b", "a"), group("leaf", "b")]

    assert () == validity.reconcile(trees(*valid), SETTLE_SECONDS).writes
    assert () == validity.reconcile(trees(*circle()), SETTLE_SECONDS + 1).writes


def test_a_tree_that_never_settles_is_reported():
    validity = Validity(Gates())
    moment, count = 0.0, 0
    while not validity.reconcile(trees(*circle(), *(composite(f"c{number}", "a") for number in range(count))), moment).writes:
        moment, count = moment + SETTLE_SECONDS / 2, count + 1
        assert moment <= MAX_SETTLE_FACTOR * SETTLE_SECONDS

    assert MAX_SETTLE_FACTOR * SETTLE_SECONDS == moment


def told(objects):
    """*objects* with the conditions that are written on them."""
    found = conditions(judged(objects))
    for each in objects:
        for (name, kind), value in found.items():
            if name == each["metadata"]["name"]:
                each["status"]["conditions"].append(condition(kind, value.status, value.reason, value.message))
    return objects


def test_a_tree_is_neither_reported_nor_cleared_while_objects_are_missing():
    validity = Validity(Gates())
    held = {"postponed": lambda tree: "a" in {each.group.metadata.name for each in tree.nodes}}
    assert () == validity.reconcile(trees(*circle()), 0.0, **held).writes
    assert (0, ()) == (validity.count, validity.reconcile(trees(*circle()), SETTLE_SECONDS, **held).writes)
    assert judged(circle(), validity, (10.0, 10.0 + SETTLE_SECONDS))
    assert ((), 1) == (validity.reconcile(trees(*told(circle())), 20.0, **held).writes, validity.count)


def test_what_is_reported_is_not_reported_again():
    assert [] == judged(told(circle()))


def test_what_is_mended_is_taken_back():
    mended = told(circle())
    del mended[1]["spec"]["parentCompositePodGroupName"]
    found = conditions(judged(mended))

    assert {("a", ""), ("b", ""), ("leaf", "")} == {(name, value.status) for (name, _), value in found.items()}


def test_only_the_report_that_was_seen_is_taken_back():
    """The scheduler can write another condition in the same moment, for which the valid tree is attempted."""
    mended = told(circle())
    seen = {each["metadata"]["name"]: each["status"]["conditions"][0]["message"] for each in mended}
    del mended[1]["spec"]["parentCompositePodGroupName"]

    assert seen == {name: value.message for (name, _), value in conditions(judged(mended)).items()}


def test_another_breach_keeps_the_time_since_when_the_condition_is_false():
    objects = told(circle())
    objects[2]["status"]["conditions"][0]["message"] = INVALID + "something else"

    assert [SINCE] == [each.since for each in conditions(judged(objects)).values()]


SCHEDULED = condition("PodGroupInitiallyScheduled", "True", "Scheduled")
UNSCHEDULABLE = condition("PodGroupInitiallyScheduled", "False", "Unschedulable", "no room")
FOREIGN = condition("PodGroupInitiallyScheduled", "False", "Invalid", "somebody else says so")


@pytest.mark.parametrize(
    "standing",
    [
        pytest.param(SCHEDULED, id="a condition that is true is terminal"),
        pytest.param(UNSCHEDULABLE, id="a condition of the scheduler is its own"),
        pytest.param(FOREIGN, id="so is one with our reason and other words"),
    ],
)
def test_a_condition_of_another_writer_is_kept_and_our_message_names_it(standing):
    writes = judged(circle(leaf=[standing]))
    found = conditions(writes)

    assert ("leaf", "PodGroupInitiallyScheduled") not in found
    assert ("False", "Invalid") == (found["leaf", VALID].status, found["leaf", VALID].reason)
    assert [("leaf", "Warning", found["leaf", VALID].message)] == [
        (e.target.name, e.type, e.message) for e in writes if isinstance(e, RecordEvent)
    ]


def test_our_condition_is_taken_back_when_the_tree_is_mended():
    ours = condition(VALID, "False", "Invalid", INVALID + "x")
    found = conditions(judged([group("leaf", conditions=[SCHEDULED, ours])]))

    assert {("leaf", VALID): ""} == {key: value.status for key, value in found.items()}


def test_the_scheduler_taking_the_condition_is_not_fought():
    """Ours was there; kube-scheduler has put its own in place: ours moves to another type and stays there."""
    objects = told(circle())
    objects[2]["status"]["conditions"] = [UNSCHEDULABLE]
    found = conditions(judged(objects))
    assert {("leaf", VALID)} == set(found)

    value = found["leaf", VALID]
    objects[2]["status"]["conditions"].append(condition(VALID, value.status, value.reason, value.message))
    assert [] == judged(objects)


def test_a_write_not_seen_yet_is_not_repeated_before_its_time():
    validity = Validity(Gates())
    first = judged(circle(leaf=[SCHEDULED]), validity)
    assert 4 == len(first)

    assert () == validity.reconcile(trees(*circle(leaf=[SCHEDULED])), SETTLE_SECONDS + 1).writes
    later = validity.reconcile(trees(*circle(leaf=[SCHEDULED])), SETTLE_SECONDS + RETRY_SECONDS)
    assert 4 == len(later.writes)


def test_a_write_goes_to_the_very_object_that_was_judged():
    assert {"uid-a", "uid-b", "uid-leaf"} == {each.target.uid for each in judged(circle())}


def test_the_order_of_objects_changes_nothing():
    assert judged(circle()) == judged(circle()[::-1])


def not_placed(status="False", reason="Unschedulable"):
    return condition("CompositePodGroupInitiallyScheduled", status, reason, "pod group is unschedulable")


@pytest.mark.parametrize(
    ("standing", "kubernetes", "told_in"),
    [
        pytest.param(not_placed(), 37, "CompositePodGroupInitiallyScheduled", id="ours is replaced, as it is not true any more"),
        pytest.param(not_placed(reason="SchedulerError"), 37, "CompositePodGroupInitiallyScheduled", id="so is that of an error"),
        pytest.param(not_placed(), 38, VALID, id="that of a scheduler that writes there stays"),
        pytest.param(not_placed(status="True", reason="Scheduled"), 37, VALID, id="one that is true stays"),
        pytest.param(not_placed(reason="Other"), 37, VALID, id="one of another stays"),
    ],
)
def test_that_a_composite_could_not_be_placed_gives_way_to_why_it_is_not_tried(standing, kubernetes, told_in):
    found = conditions(judged(circle(a=[standing]), Validity(Gates(), behavior=behavior_of(kubernetes))))

    assert {told_in} == {kind for name, kind in found if name == "a"}


def test_that_a_valid_composite_could_not_be_placed_is_left_alone():
    assert [] == judged([composite("a", conditions=[not_placed()])])


@pytest.mark.parametrize("name", ["a", "leaf"])
def test_a_report_of_what_a_group_waits_for_gives_way_to_the_error_of_its_tree(name):
    kind = "PodGroupInitiallyScheduled" if name == "leaf" else "CompositePodGroupInitiallyScheduled"
    waiting = condition(kind, "False", "Waiting", "1 of 2 pods")
    found = conditions(judged(circle(**{name: [waiting]}), Validity(Gates(), behavior=KUBERNETES_1_38)))

    assert {(name, kind)} == {each for each in found if each[0] == name}


def test_a_report_of_what_a_valid_group_waits_for_is_left_alone():
    assert [] == judged([group("leaf", conditions=[condition("PodGroupInitiallyScheduled", "False", "Waiting", "1 of 2 pods")])])
