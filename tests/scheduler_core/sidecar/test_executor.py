"""One write, carried out: the requests that it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from kubeapi.versions.api_versions import CUSTOM
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.writer.executor import Executor
from scheduler_core.sidecar.writes import Condition, Ref, SetCondition, WriteOutcome
from tests.apiserver.fake import serving

GROUPS = "/apis/scheduling.k8s.io"
PATHS = Paths(
    {
        "Pod": "/api/v1/pods",
        "PodGroup": f"{GROUPS}/v1beta1/podgroups",
        "CompositePodGroup": f"{GROUPS}/v1alpha3/compositepodgroups",
        f"PodGroup.{CUSTOM}": f"/apis/{CUSTOM}/v1beta1/podgroups",
    }
)
GROUP = Ref("PodGroup", "default", "g", "uid-g")
TYPE = INITIALLY_SCHEDULED["PodGroup"]


class Held:
    """An API server with one group, and what was changed there."""

    def __init__(self, *conditions: dict[str, str], uid: str = "uid-g") -> None:
        self.content = {"metadata": {"name": "g", "uid": uid, "resourceVersion": "7"}, "status": {"conditions": [*conditions]}}
        self.changes: list[Any] = []

    def __call__(self, method: str, _path: str, body: bytes) -> tuple[int, dict[str, str], Any]:
        if method != "GET":
            self.changes.append(json.loads(body))
        return 200, {}, self.content


def carried(held: Held, condition: Condition, target: Ref = GROUP) -> tuple[WriteOutcome, list[str]]:
    """The outcome, and the methods of the requests."""
    with serving(held) as (server, api):
        outcome, _ = Executor(api, PATHS, EventRecorder("muster.dev/sidecar", "test"), lambda: 100.0).execute(
            SetCondition(target, condition), dry_run=False
        )
        return outcome, [method for method, *_ in server.requests]


NOT_TRUE = (
    pytest.param(Condition(TYPE, "False", "Invalid", "the tree is invalid"), id="told"),
    pytest.param(Condition(TYPE, "", "", ""), id="taken away"),
)


@pytest.mark.parametrize("condition", NOT_TRUE)
def test_a_condition_that_says_true_by_now_stays(condition):
    held = Held({"type": TYPE, "status": "True"})

    assert (WriteOutcome.DONE, ["GET"]) == carried(held, condition)


@pytest.mark.parametrize("condition", NOT_TRUE)
def test_a_condition_is_changed_only_while_the_group_is_as_it_was_seen(condition):
    held = Held({"type": TYPE, "status": "False"}, {"type": "Other", "status": "True"})

    assert (WriteOutcome.DONE, ["GET", "PATCH"]) == carried(held, condition)
    (patch,) = held.changes
    assert {"uid": "uid-g", "resourceVersion": "7"} == patch["metadata"]


def test_a_group_created_since_gets_no_report():
    held = Held(uid="another")

    assert (WriteOutcome.GONE, ["GET"]) == carried(held, Condition(TYPE, "False", "Invalid", "the tree is invalid"))


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(Condition(TYPE, "True", "Scheduled", ""), id="that it was placed"),
        pytest.param(Condition("muster.dev/Valid", "False", "Invalid", "x"), id="our own"),
        pytest.param(Condition("DisruptionTarget", "True", "PreemptionByScheduler", "x"), id="that it leaves"),
    ],
)
def test_any_other_condition_takes_one_request(condition):
    assert (WriteOutcome.DONE, ["PATCH"]) == carried(Held(), condition)


POD = Ref("Pod", "default", "g", "uid-g")
UNBOUND = Condition("PodScheduled", "False", "SchedulerError", "binding failed")


@pytest.mark.parametrize(("status", "want"), [("True", ["GET"]), ("False", ["GET", "PATCH"])])
def test_a_pod_is_not_reported_as_unbound_once_it_is_bound(status, want):
    """The bind may have been carried out although its response was an error."""
    held = Held({"type": "PodScheduled", "status": status})

    assert (WriteOutcome.DONE, want) == carried(held, UNBOUND, POD)


def test_an_unschedulable_pod_takes_one_request():
    assert (WriteOutcome.DONE, ["PATCH"]) == carried(Held(), Condition("PodScheduled", "False", "Unschedulable", "no"), POD)


@pytest.mark.parametrize(("message", "want"), [("the tree is invalid", ["GET", "PATCH"]), ("pod group is unschedulable", ["GET"])])
def test_only_the_condition_that_was_seen_is_removed(message, want):
    """The scheduler can have replaced it in the meantime."""
    held = Held({"type": TYPE, "status": "False", "message": message})

    assert (WriteOutcome.DONE, want) == carried(held, Condition(TYPE, "", "Invalid", "the tree is invalid"))


OURS = Ref("PodGroup", "default", "g", "uid-g", CUSTOM)
SINCE = "2026-01-01T00:00:00Z"
HELD = {"type": TYPE, "status": "False", "reason": "Unschedulable", "message": "no", "observedGeneration": 3}


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        pytest.param(Condition("DisruptionTarget", "True", "R", "x", SINCE), ["Other", TYPE, "DisruptionTarget"], id="a new one"),
        pytest.param(Condition(TYPE, "True", "Scheduled", "", SINCE), ["Other", TYPE], id="another value"),
        pytest.param(Condition(TYPE, "", "Unschedulable", "no"), ["Other"], id="removed"),
        pytest.param(Condition("DisruptionTarget", "", "", ""), ["Other", TYPE], id="removed before"),
    ],
)
def test_all_conditions_of_a_custom_resource_are_written_at_its_version(condition, want):
    """The server does not merge lists of custom resources."""
    other = {"type": "Other", "status": "True"}
    held = Held(other, HELD)

    assert (WriteOutcome.DONE, ["GET", "PATCH"]) == carried(held, condition, OURS)
    (patch,) = held.changes
    assert {"uid": "uid-g", "resourceVersion": "7"} == patch["metadata"]
    written = {each["type"]: each for each in patch["status"]["conditions"]}
    assert (want, other) == ([*written], written["Other"])
    if condition.status:
        made = {"status": "True", "reason": condition.reason, "message": condition.message, "lastTransitionTime": SINCE}
        assert made.items() <= written[condition.type].items()
        assert (3 if condition.type == TYPE else None) == written[condition.type].get("observedGeneration")


@pytest.mark.parametrize("condition", NOT_TRUE)
def test_a_condition_of_a_custom_resource_that_says_true_by_now_stays(condition):
    assert (WriteOutcome.DONE, ["GET"]) == carried(Held({"type": TYPE, "status": "True"}), condition, OURS)


def test_a_custom_resource_created_since_gets_no_condition():
    assert (WriteOutcome.GONE, ["GET"]) == carried(Held(uid="another"), Condition(TYPE, "True", "Scheduled", ""), OURS)
