"""References of pods to a group of a Workload, in every kind with a pod spec."""

from __future__ import annotations

import pytest

from validators.migrate.change import Reform, Remove, Rename
from validators.migrate.references import InvalidReference, PodPriority, Reference, changes, find, pod_priority

REF = {"name": "train", "podGroup": "workers"}


def at(found: list[Reference | InvalidReference]) -> list[str]:
    return [".".join(str(part) for part in each.path) for each in found]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param({"apiVersion": "v1", "kind": "Pod", "spec": {"workloadRef": REF}}, "spec.workloadRef", id="a pod"),
        pytest.param(
            {"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": {"workloadRef": REF}}}}}},
            "spec.jobTemplate.spec.template.spec.workloadRef",
            id="a template, without containers",
        ),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "Farm", "farm": [{"pod": {"containers": [], "workloadRef": REF}}]},
            "farm.0.pod.workloadRef",
            id="a kind that nobody knows",
        ),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "spec": {"workloadRef": None}}, "", id="null is none"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "status": {"workloadRef": REF}}, "", id="elsewhere"),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "Farm", "spec": {"workloadRef": {"name": "x", "kind": "Deployment"}}},
            "",
            id="another field of that name",
        ),
        pytest.param(
            {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "spec": {"workloadRef": REF}}, "", id="a PodGroup's own"
        ),
    ],
)
def test_where_references_are_found(content: dict[str, object], want: str) -> None:
    assert at(list(find(content))) == ([want] if want else [])


@pytest.mark.parametrize(
    ("reference", "want"),
    [
        pytest.param({"name": "train"}, "podGroup", id="no group"),
        pytest.param({"podGroup": "workers"}, "name", id="no Workload"),
        pytest.param({"name": "", "podGroup": "workers"}, "name", id="an empty name"),
        pytest.param({"name": 4, "podGroup": "workers"}, "name", id="a number"),
        pytest.param({"name": "train", "podGroup": "{{ .Values.group }}"}, "podGroup", id="a template"),
        pytest.param({"name": "train", "podGroup": "a" * 64}, "podGroup", id="64 characters"),
        pytest.param({**REF, "podGroupReplicaKey": "A"}, "podGroupReplicaKey", id="a key that is no label"),
        pytest.param({**REF, "replica": "a"}, "replica", id="an unknown field"),
    ],
)
def test_a_reference_that_names_nothing_is_reported(reference: dict[str, object], want: str) -> None:
    (result,) = find({"apiVersion": "v1", "kind": "Pod", "spec": {"workloadRef": reference}})

    assert isinstance(result, InvalidReference)
    assert result.path == ("spec", "workloadRef", want)


@pytest.mark.parametrize("key", [None, "", "a" * 63])
def test_a_reference_says_what_it_names(key: str | None) -> None:
    (result,) = find({"apiVersion": "v1", "kind": "Pod", "spec": {"workloadRef": {**REF, "podGroupReplicaKey": key}}})

    assert result == Reference(("spec", "workloadRef"), "train", "workers", key or "", PodPriority(), has_group=False)


@pytest.mark.parametrize(
    ("spec", "want", "messages"),
    [
        pytest.param({}, PodPriority(), "no priority class", id="nothing said"),
        pytest.param({"priorityClassName": "high", "priority": 5}, PodPriority("high"), "priorityClassName: high", id="the class counts"),
        pytest.param({"priority": 5}, PodPriority(value=5), "priority: 5", id="a number alone"),
        pytest.param({"priority": 0}, PodPriority(value=0), "priority: 0", id="zero is said"),
        pytest.param(
            {"priorityClassName": "high", "preemptionPolicy": "Never"},
            PodPriority("high", None, "Never"),
            "priorityClassName: high, preemptionPolicy: Never",
            id="never",
        ),
        pytest.param({"preemptionPolicy": "PreemptLowerPriority"}, PodPriority(), "no priority class", id="the default says nothing"),
    ],
)
def test_the_priority_of_a_pod(spec: dict[str, object], want: PodPriority, messages: str) -> None:
    assert (want, messages) == (pod_priority(spec), str(pod_priority(spec)))


def test_a_pod_joins_its_group() -> None:
    reference = Reference(("spec", "workloadRef"), "train", "workers", "", PodPriority(), has_group=False)

    assert list(changes(reference, "train-workers")) == [
        Rename(("spec", "workloadRef"), "schedulingGroup"),
        Reform(("spec", "workloadRef"), "name", "podGroupName", "train-workers"),
    ]


def test_a_pod_that_names_a_group_already_stays_in_it() -> None:
    (result,) = find({"apiVersion": "v1", "kind": "Pod", "spec": {"workloadRef": REF, "schedulingGroup": {"podGroupName": "x"}}})

    assert isinstance(result, Reference)
    assert list(changes(result, "train-workers")) == [Remove(("spec", "workloadRef"))]
