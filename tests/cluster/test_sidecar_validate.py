"""Trees that violate a rule, reported by a running sidecar on a real API server."""

from __future__ import annotations

import pytest

from scheduler_core.behavior.scheduler_behavior import behavior_of
from tests.cluster.groups import SCHEDULED, composite, condition_of, conditions, pod_group
from tests.cluster.kubelet import pod
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.37")

VALID = "muster.dev/Valid"
MODE = ("--mode", "validate", "--lease", "none", "--settle", "0.3")


@pytest.fixture(scope="module")
def watching(plane, tmp_path_factory):
    with sidecar(plane, tmp_path_factory.mktemp("validate"), *MODE, fork=True) as running:
        yield running


def circle(api, namespace):
    """Two composites that are each other's parents, and a leaf below: the API server takes it."""
    for each in (composite("a", namespace, parent="b"), composite("b", namespace, parent="a"), pod_group("leaf", namespace, parent="a")):
        api.create(each)


def reported_condition(api, kind, name, namespace, condition=""):
    expected = condition or SCHEDULED[kind]
    return condition_of(
        api.wait(kind, name, namespace, until=lambda result: condition_of(result, expected).get("status") == "False"), expected
    )


def test_every_group_of_a_circle_is_reported(watching, plane, api, namespace):
    circle(api, namespace)

    for kind, name in (("CompositePodGroup", "a"), ("CompositePodGroup", "b"), ("PodGroup", "leaf")):
        result = reported_condition(api, kind, name, namespace)
        assert behavior_of(plane.programs.minor()).invalid_reason(kind) == result["reason"]
        assert "parent-acyclic" in result["message"]


def test_what_is_mended_is_taken_back(watching, api, namespace):
    """Two Workloads in one tree; the group of the second is deleted."""
    api.create(composite("top", namespace, workloadRef={"workloadName": "one", "templateName": "top"}))
    api.create(pod_group("leaf", namespace, parent="top", workloadRef={"workloadName": "one", "templateName": "leaf"}))
    api.create(pod_group("odd", namespace, parent="top", workloadRef={"workloadName": "two", "templateName": "leaf"}))
    reported_condition(api, "PodGroup", "leaf", namespace)
    api.patch("PodGroup", "odd", namespace, body={"metadata": {"finalizers": None}}, how="merge")
    api.delete("PodGroup", "odd", namespace)

    api.wait("PodGroup", "leaf", namespace, until=lambda result: not condition_of(result, SCHEDULED["PodGroup"]))
    api.wait("CompositePodGroup", "top", namespace, until=lambda result: not condition_of(result, SCHEDULED["CompositePodGroup"]))


def test_a_true_condition_is_kept_and_our_message_names_it(watching, plane, api, namespace):
    top = composite("a", namespace, parent="b")
    api.create(top)
    api.create(pod_group("leaf", namespace, parent="a"))
    done = {
        "type": SCHEDULED["PodGroup"],
        "status": "True",
        "reason": "Scheduled",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    api.set_status("PodGroup", "leaf", namespace, status={"conditions": [done]})
    api.create(composite("b", namespace, parent="a"))

    want = behavior_of(plane.programs.minor()).invalid_pod_group
    assert want == reported_condition(api, "PodGroup", "leaf", namespace, VALID)["reason"]
    assert "True" == conditions(api, "PodGroup", "leaf", namespace)[SCHEDULED["PodGroup"]]["status"]
    until(lambda: any(each["involvedObject"]["name"] == "leaf" for each in api.objects("Event", namespace)))


def test_a_tree_whose_objects_arrive_in_any_order_is_not_reported(watching, api, namespace):
    """The leaf before its parent, the pods before the leaf: nothing of it is invalid."""
    api.create(pod("p", namespace, group="leaf"))
    api.create(pod_group("leaf", namespace, parent="top"))
    api.create(composite("top", namespace))
    circle_of_its_own = [composite("x", namespace, parent="y"), composite("y", namespace, parent="x")]
    api.create_all(circle_of_its_own)
    reported_condition(api, "CompositePodGroup", "x", namespace)

    assert {} == conditions(api, "PodGroup", "leaf", namespace)
    assert {} == conditions(api, "CompositePodGroup", "top", namespace)


def test_five_levels_are_too_many(watching, api, namespace):
    for number in range(4):
        api.create(composite(f"c{number}", namespace, parent=f"c{number - 1}" if number else ""))
    api.create(pod_group("leaf", namespace, parent="c3"))

    assert "tree-depth" in reported_condition(api, "PodGroup", "leaf", namespace)["message"]


def test_it_says_how_many_trees_are_invalid(watching, api, namespace):
    circle(api, namespace)
    reported_condition(api, "PodGroup", "leaf", namespace)

    assert watching.metric("muster_invalid_trees") >= 1
