"""Preemption by a running sidecar on a real API server."""

from __future__ import annotations

import json

import pytest

from apiserver.api import Api as Caller
from apiserver.connect import find_connection
from scheduler_core.sidecar.client import requests
from scheduler_core.sidecar.writes import Condition, SetCondition
from tests.cluster.groups import SCHEDULED, condition_of, conditions, pod_group
from tests.cluster.kubelet import pod
from tests.cluster.sidecars import sidecar
from tests.cluster.take_effect import priority_classes
from tests.cluster.test_publish import PATHS, budget, ref
from tests.cluster.test_sidecar_place import bound, in_step, ours, places, racks, scheduled
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory, strategy):
    options = ("--mode", "place,preempt", "--lease", "none", "--strategy", strategy)
    with sidecar(plane, tmp_path_factory.mktemp("preempt"), *options, fork=True) as running:
        yield running


@pytest.fixture
def preempting(started, api, namespace, nodes):
    in_step(api, namespace, nodes)
    return started


@pytest.fixture(autouse=True)
def classes(api):
    with priority_classes(api, {"low": 1, "high": 100}):
        yield


def gang(api, namespace, name, level, *, count=2, cpu=4, mode="single", labels=None):
    api.create(pod_group(name, namespace, minimum=count, disruptionMode={mode: {}}, priorityClassName=level))
    created = [ours(f"{name}{number}", namespace, name, cpu=cpu, priorityClassName=level) for number in range(count)]
    for each in created:
        each["metadata"].setdefault("labels", {}).update(labels or {})
    api.create_all(created)


def evicted(api, name, namespace):
    api.wait("Pod", name, namespace, until=lambda result: result is None or "deletionTimestamp" in result["metadata"])


def managers(group):
    """The field managers of its condition DisruptionTarget."""
    key = 'k:{"type":"DisruptionTarget"}'
    fields = [
        (each["manager"], each["fieldsV1"].get("f:status", {}).get("f:conditions", {})) for each in group["metadata"]["managedFields"]
    ]
    return {manager for manager, conditions in fields if key in conditions}


def test_a_gang_of_lower_priority_leaves_whole_and_says_why(preempting, api, namespace, nodes, kubelet):
    nodes(*racks(1))
    gang(api, namespace, "low", "low", mode="all")
    bound(api, namespace, 2)
    scheduled(api, "PodGroup", "low", namespace)
    kubelet.linger()
    gang(api, namespace, "high", "high")
    evicted(api, "low0", namespace)
    evicted(api, "low1", namespace)
    for name in ("low0", "low1"):
        result = api.wait(
            "Pod", name, namespace, until=lambda result: condition_of(result, "DisruptionTarget").get("reason") == "PreemptionByScheduler"
        )
        assert "high" in condition_of(result, "DisruptionTarget")["message"]
    api.wait("PodGroup", "low", namespace, until=lambda result: condition_of(result, "DisruptionTarget"))
    assert "PreemptionByScheduler" == conditions(api, "PodGroup", "low", namespace)["DisruptionTarget"]["reason"]
    assert {"muster-sidecar"} == managers(api.get("PodGroup", "low", namespace))
    assert {"high0": "", "high1": ""} == {name: where for name, where in places(api, namespace).items() if name.startswith("high")}

    kubelet.finish()
    bound(api, namespace, 2)
    scheduled(api, "PodGroup", "high", namespace)
    until(lambda: "Preempted" in {each["reason"] for each in api.objects("Event", namespace)})


def test_only_its_own_conditions_are_taken_back(plane, preempting, api, namespace, nodes, kubelet):
    """By field manager; and those of the version before, which set none, by their text too."""
    nodes(*racks(1))
    text = "muster: preempting to accommodate a higher priority podgroup"
    written = {
        "another": ("kube-scheduler", text, {"kube-scheduler"}),
        "before": ("", text, {"muster"}),
        "before-another": ("", "default-scheduler: preempting", {"muster"}),
        "ours": ("muster-sidecar", "in other words", {"muster-sidecar"}),
    }
    for name in written:
        gang(api, namespace, name, "low", count=1, cpu=1)
    bound(api, namespace, len(written))
    for name, (manager, message, recorded) in written.items():
        created = api.wait("PodGroup", name, namespace, until=lambda result: condition_of(result, SCHEDULED["PodGroup"]))
        write = SetCondition(ref(created), Condition("DisruptionTarget", "True", "PreemptionByScheduler", message))
        request = requests.set_condition(write, PATHS, now := "2026-01-01T00:00:00Z")
        if requests.is_custom(write.target, PATHS):
            request = requests.replace_conditions(write, created, PATHS, now)
        caller = Caller(find_connection(str(plane.kubeconfig)), manager)
        answer = caller.send(request.method, request.path, request.body, content_type=request.content_type)
        assert recorded == managers(json.loads(answer))
    for name in ("before", "ours"):
        api.wait("PodGroup", name, namespace, until=lambda result: not condition_of(result, "DisruptionTarget"))

    assert {"another", "before-another"} == {each for each in written if "DisruptionTarget" in conditions(api, "PodGroup", each, namespace)}


def test_as_few_as_can_be_leave(preempting, api, namespace, nodes, kubelet):
    nodes(*racks(1))
    gang(api, namespace, "low", "low", count=4, cpu=2)
    bound(api, namespace, 4)
    scheduled(api, "PodGroup", "low", namespace)
    gang(api, namespace, "high", "high", count=1, cpu=2)
    api.wait("Pod", "high0", namespace, until=lambda result: (result or {}).get("spec", {}).get("nodeName"))

    assert 3 == sum(name.startswith("low") for name in places(api, namespace))


def test_what_a_budget_forbids_is_not_evicted(preempting, api, namespace, nodes, kubelet):
    nodes(*racks(1))
    gang(api, namespace, "low", "low", labels={"app": "kept"})
    bound(api, namespace, 2)
    scheduled(api, "PodGroup", "low", namespace)
    for name in ("low0", "low1"):
        api.set_status("Pod", name, namespace, status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    api.create(budget("keep", namespace, "kept"))
    gang(api, namespace, "high", "high")
    scheduled(api, "PodGroup", "high", namespace, "False")
    until(lambda: preempting.explain(namespace, "high").get("status"))

    for name in ("low0", "low1"):
        assert "deletionTimestamp" not in api.get("Pod", name, namespace)["metadata"]
    api.delete("PodDisruptionBudget", "keep", namespace)


def test_no_pod_is_preempted_for_a_gang_that_would_not_fit_even_then(preempting, api, namespace, nodes, kubelet):
    nodes(*racks(1))
    gang(api, namespace, "low", "low")
    bound(api, namespace, 2)
    scheduled(api, "PodGroup", "low", namespace)
    api.create(pod("firm", namespace, cpu=1))
    gang(api, namespace, "high", "high", count=3)
    scheduled(api, "PodGroup", "high", namespace, "False")

    assert all("deletionTimestamp" not in each["metadata"] for each in api.objects("Pod", namespace))


def test_equals_do_not_leave_for_each_other(preempting, api, namespace, nodes, kubelet):
    nodes(*racks(1))
    gang(api, namespace, "first", "high")
    bound(api, namespace, 2)
    gang(api, namespace, "second", "high")
    scheduled(api, "PodGroup", "second", namespace, "False")

    assert all("deletionTimestamp" not in each["metadata"] for each in api.objects("Pod", namespace))
