"""Preemption that a PodDisruptionBudget forbids, on a real API server: conditions, events, /explain and the log name the budget."""

from __future__ import annotations

import pytest

from tests.cluster.groups import SCHEDULED, condition_of
from tests.cluster.sidecars import sidecar
from tests.cluster.take_effect import priority_classes
from tests.cluster.test_publish import budget
from tests.cluster.test_sidecar_place import bound, in_step, racks, scheduled
from tests.cluster.test_sidecar_preempt import gang
from tests.cluster.waiting import until

pytestmark = pytest.mark.custom_resources("1.30", "1.34", "1.37")


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory, strategy):
    options = ("--mode", "place,preempt", "--lease", "none", "--strategy", strategy)
    with sidecar(plane, tmp_path_factory.mktemp("budgets"), *options, fork=True) as running:
        yield running


@pytest.fixture
def preempting(started, api, namespace, nodes):
    in_step(api, namespace, nodes)
    nodes(*racks(1))
    with priority_classes(api, {"low": 1, "high": 100}):
        gang(api, namespace, "low", "low", labels={"app": "kept"})
        bound(api, namespace, 2)
        scheduled(api, "PodGroup", "low", namespace)
        for name in ("low0", "low1"):
            api.set_status("Pod", name, namespace, status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
        yield started
        for each in api.objects("PodDisruptionBudget", namespace):
            api.delete("PodDisruptionBudget", each["metadata"]["name"], namespace)


def protect(api, namespace, name, allowed, *, observed=1):
    api.create(budget(name, namespace, "kept"))
    counts = {"currentHealthy": 2, "desiredHealthy": 2 - allowed, "expectedPods": 2}
    api.set_status("PodDisruptionBudget", name, namespace, status={"disruptionsAllowed": allowed, "observedGeneration": observed, **counts})


def reported(api, namespace, text):
    """Wait until condition and event of the group contain *text*, and check that no pod is evicted."""
    api.wait("PodGroup", "high", namespace, until=lambda group: text in condition_of(group, SCHEDULED["PodGroup"]).get("message", ""))
    until(lambda: any(text in each["message"] for each in api.objects("Event", namespace) if each["reason"] == "FailedScheduling"))
    for name in ("low0", "low1"):
        assert "deletionTimestamp" not in api.get("Pod", name, namespace)["metadata"]


def test_a_budget_that_allows_one_of_two_evictions_is_named_and_a_change_is_noticed(preempting, api, namespace, kubelet):
    protect(api, namespace, "keep", 1)
    gang(api, namespace, "high", "high")
    text = f"PodDisruptionBudget {namespace}/keep allows 1 disruption and matches 2 victims ({namespace}/low0, {namespace}/low1)"
    reported(api, namespace, text)
    explained = preempting.explain(namespace, "high")
    assert text in explained["message"]
    (remedy,) = explained["remedies"]
    assert remedy["change"].startswith(f"PodDisruptionBudget {namespace}/keep deleted, or changed to allow 2 disruptions")
    assert any(text in line.get("message", "") for line in preempting.lines)

    status = {"currentHealthy": 2, "desiredHealthy": 0, "expectedPods": 2, "disruptionsAllowed": 2, "observedGeneration": 1}
    api.set_status("PodDisruptionBudget", "keep", namespace, status=status)
    bound(api, namespace, 2)
    scheduled(api, "PodGroup", "high", namespace)


def test_overlapping_budgets_are_named(preempting, api, namespace, kubelet):
    protect(api, namespace, "keep", 2)
    protect(api, namespace, "also", 2)
    gang(api, namespace, "high", "high")
    reported(api, namespace, f"pod {namespace}/low0 matches PodDisruptionBudgets also and keep")


def test_a_refusal_that_only_the_api_server_knows_of_is_reported(preempting, api, namespace, kubelet):
    """The API server refuses evictions until the disruption controller has seen the budget."""
    protect(api, namespace, "keep", 2, observed=0)
    gang(api, namespace, "high", "high")
    reported(api, namespace, f"preemption is blocked: the eviction of pod {namespace}/low0 was refused: ")
    until(lambda: [line for line in preempting.lines if line.get("event") == "preemption" and f"{namespace}/low0" == line["victim"]])
