"""A group that was to leave, and does not: when that is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.controllers.disruption_target import DisruptionTargets
from scheduler_core.sidecar.controllers.pending_writes import RETRY_SECONDS
from scheduler_core.sidecar.writes import Condition, Ref, SetCondition
from tests.scheduler_core.builders import composite, leaf, node, pod
from tests.scheduler_core.sidecar.histories import Json, Server
from tests.scheduler_core.sidecar.world import TERMINATING

OURS = "muster: preempting to accommodate a higher priority podgroup"


FIELDS = ("lastTransitionTime", "message", "reason", "status", "type")


def owns(manager: str, *fields: str, subresource: str = "status", type_: str = "DisruptionTarget") -> Json:
    """An entry of managedFields: *manager* wrote these fields of the condition, all if none is named."""
    of_the_condition = {".": {}, **{f"f:{each}": {} for each in fields or FIELDS}}
    conditions = {".": {}, f'k:{{"type":"{type_}"}}': of_the_condition}
    entry = {"manager": manager, "operation": "Update", "apiVersion": "scheduling.k8s.io/v1beta1", "time": TERMINATING}
    return {**entry, "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:conditions": conditions}}, "subresource": subresource}


def told(each: Json, message: str = OURS, status: str = "True", managers: Sequence[Json] = (owns("muster-sidecar"),)) -> Json:
    condition = {"type": "DisruptionTarget", "status": status, "reason": "PreemptionByScheduler", "message": message}
    spec = {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:priority": {}}}}
    return {
        **each,
        "metadata": {**each["metadata"], "managedFields": [spec, *managers]},
        "status": {"conditions": [{**condition, "lastTransitionTime": TERMINATING}]},
    }


def deleted(each: Json) -> Json:
    return {**each, "metadata": {**each["metadata"], "deletionTimestamp": TERMINATING}}


def ended(each: Json) -> Json:
    return {**each, "status": {"phase": "Succeeded"}}


def filled(*objects: Json) -> Cache:
    server, store = Server(), Cache()
    for each in (node("n1"), *objects):
        server.put(each)
    server.fill(store)
    return store


def taken_back(*objects: Json) -> list[str]:
    return [write.target.name for write in DisruptionTargets("muster").wanted(filled(*objects), 0.0)]


RUNNING = pod("w-0", "w", on="n1")


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([told(leaf("w", 1)), RUNNING], ["w"], id="it runs"),
        pytest.param([told(leaf("w", 1)), RUNNING, pod("w-1", "w")], ["w"], id="it runs, and a further pod waits"),
        pytest.param([told(leaf("w", 1)), RUNNING, deleted(pod("w-1", "w", on="n1"))], [], id="a pod of it leaves"),
        pytest.param([told(leaf("w", 1))], [], id="all of it has left"),
        pytest.param([told(leaf("w", 1)), pod("w-0", "w")], [], id="it waits"),
        pytest.param([told(leaf("w", 1)), ended(RUNNING)], [], id="it has ended"),
        pytest.param([leaf("w", 1), RUNNING], [], id="it says nothing of it"),
        pytest.param([told(leaf("w", 1), status="False"), RUNNING], [], id="it says that it stays"),
        pytest.param(
            [told(leaf("w", 1), "mustermann: preempting x", managers=[owns("mustermann-sidecar")]), RUNNING],
            [],
            id="another scheduler says so",
        ),
        pytest.param([told(composite("top", 1)), leaf("w", 1, parent="top"), RUNNING], ["top"], id="a tree that runs"),
        pytest.param(
            [
                *(told(composite("top", 1)), leaf("w", 1, parent="top"), RUNNING),
                *(leaf("v", 1, parent="top"), deleted(pod("v-0", "v", on="n1"))),
            ],
            [],
            id="a tree of which a pod leaves",
        ),
        pytest.param([told(leaf("b", 1)), told(leaf("a", 1)), pod("x", "a", on="n1"), pod("y", "b", on="n1")], ["a", "b"], id="two"),
    ],
)
def test_what_runs_and_does_not_leave_is_said_to_leave_no_more(objects: list[Json], want: list[str]):
    assert want == taken_back(*objects)


OTHERS = "default-scheduler: preempting to accommodate a higher priority podgroup"


@pytest.mark.parametrize(
    ("message", "managers", "ours"),
    [
        pytest.param(OURS, [owns("muster-sidecar")], True, id="our manager"),
        pytest.param("in other words", [owns("muster-sidecar")], True, id="our manager, another text"),
        pytest.param(OURS, [owns("kube-scheduler")], False, id="another manager, our text"),
        pytest.param(OTHERS, [owns("kube-scheduler")], False, id="another manager and text"),
        pytest.param(OURS, [owns("muster")], True, id="the default manager, as the version before wrote it"),
        pytest.param(OTHERS, [owns("muster")], False, id="the default manager, another text"),
        pytest.param("mustermann: preempting x", [owns("muster")], False, id="the version before, of another scheduler"),
        pytest.param(OURS, [owns("mustermann-sidecar")], False, id="the sidecar of another scheduler"),
        pytest.param(
            OTHERS, [owns("kube-scheduler", "message"), owns("muster-sidecar", "status", "type")], False, id="overwritten by another"
        ),
        pytest.param(OTHERS, [owns("muster-sidecar", "message"), owns("kube-scheduler", "status", "type")], True, id="overwritten by us"),
        pytest.param(OURS, [owns("muster-sidecar", type_="Other")], False, id="our manager, another condition"),
        pytest.param(OURS, [owns("muster-sidecar", subresource="")], False, id="not of the status"),
        pytest.param(OURS, [], False, id="nobody's"),
        pytest.param(OURS, [{**owns("muster-sidecar"), "fieldsV1": {"f:status": []}}], False, id="fields that cannot be read"),
    ],
)
def test_a_condition_is_ours_by_the_manager_of_its_message(message: str, managers: list[Json], ours: bool):
    group = told(leaf("w", 1), message, managers=managers)
    assert (["w"] if ours else []) == taken_back(group, RUNNING)


def test_each_scheduler_of_a_cluster_takes_back_its_own():
    objects = told(leaf("w", 1), managers=[owns("gpu-sidecar")]), RUNNING
    assert [] == taken_back(*objects)
    assert 1 == len(DisruptionTargets("gpu").wanted(filled(*objects), 0.0))


def test_a_condition_that_was_just_written_is_ours_though_no_event_shows_it():
    store = filled(leaf("w", 1), RUNNING)
    ref = store.group_cache.live["PodGroup", "default", "w"]
    condition = Condition("DisruptionTarget", "True", "PreemptionByScheduler", OURS)
    AssumedPods(store).assume_condition(Ref(*ref.key, ref.uid), condition)
    assert 1 == len(DisruptionTargets("muster").wanted(store, 0.0))


def test_condition_is_removed_only_from_the_group_with_the_same_uid():
    store = filled(told(leaf("w", 1)), RUNNING)
    (write,) = DisruptionTargets("muster").wanted(store, 0.0)
    assert ("DisruptionTarget", "") == (write.condition.type, write.condition.status)
    assert store.group_cache.live["PodGroup", "default", "w"].uid == write.target.uid != ""


def test_victims_of_a_plan_leave_from_the_first():
    store = filled(told(leaf("w", 1)), RUNNING)
    assumed, ref = AssumedPods(store), store.usage.pods.pods["default/w-0"].ref
    assumed.expect_deletion(ref, evicted=True)
    assert () == DisruptionTargets("muster").wanted(store, 0.0)
    assumed.cancel_deletion(ref)
    assert 1 == len(DisruptionTargets("muster").wanted(store, 0.0))


def test_write_that_is_not_seen_is_made_again_after_a_while():
    store, spared = filled(told(leaf("w", 1)), RUNNING), DisruptionTargets("muster")
    found: list[Any] = [spared.wanted(store, moment) for moment in (0.0, RETRY_SECONDS - 0.1, RETRY_SECONDS)]
    assert [1, 0, 1] == [len(each) for each in found]
    assert {SetCondition} == {type(write) for each in found for write in each}
    assert 2 * RETRY_SECONDS == spared.next_retry
