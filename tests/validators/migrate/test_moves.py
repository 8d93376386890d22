"""What is created in place of a custom resource, and what refers to it then."""

from __future__ import annotations

from typing import Any

import pytest

from validators.migrate import moves

BUILT_IN = "scheduling.k8s.io/v1beta1"
Content = dict[str, Any]


def custom(kind: str, name: str, parent: str = "", **more: Any) -> Content:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, **({"parentCompositePodGroupName": parent} if parent else {})}
    metadata = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "generation": 3,
        **more.pop("metadata", {}),
    }
    return {"apiVersion": "scheduling.muster.dev/v1beta1", "kind": kind, "metadata": metadata, "spec": spec, **more}


def test_parents_come_first() -> None:
    objects = [
        custom("PodGroup", "a", "low"),
        custom("CompositePodGroup", "low", "top"),
        custom("CompositePodGroup", "top"),
        custom("PodGroup", "b"),
        custom("Workload", "w"),
        custom("CompositePodGroup", "cycle", "cycle"),
    ]

    assert [each["metadata"]["name"] for each in moves.parents_first(objects)] == ["w", "top", "low", "cycle", "b", "a"]


def test_a_replacement_has_what_people_have_written() -> None:
    owners = [
        {"apiVersion": "scheduling.muster.dev/v1beta1", "kind": "Workload", "name": "w", "uid": "uid-w", "controller": True},
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j"},
    ]
    annotations = {"note": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    written = {"labels": {"team": "a"}, "annotations": annotations, "ownerReferences": owners, "finalizers": ["example.com/keep"]}
    new_owner = {"apiVersion": BUILT_IN, "kind": "Workload", "metadata": {"name": "w", "uid": "uid-new"}}
    source = custom("PodGroup", "g", metadata=written)

    assert moves.replacement(source, BUILT_IN, {"uid-w": new_owner}) == {
        "apiVersion": BUILT_IN,
        "kind": "PodGroup",
        "metadata": {
            "name": "g",
            "namespace": "team",
            "labels": {"team": "a"},
            "annotations": {"note": "a"},
            "ownerReferences": [{**owners[0], "apiVersion": BUILT_IN, "uid": "uid-new"}, owners[1]],
        },
        "spec": source["spec"],
    }
    assert moves.new_references(source, {"uid-w": new_owner}) == [{**owners[0], "apiVersion": BUILT_IN, "uid": "uid-new"}, owners[1]]
    assert moves.new_references(source, {}) is None


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param({}, [], id="the same"),
        pytest.param({"disruptionMode": {"single": {}}, "priority": 0}, [], id="with defaults"),
        pytest.param({"schedulingPolicy": {"gang": {"minCount": 3}}}, ["schedulingPolicy"], id="another number"),
        pytest.param({"schedulingPolicy": {"basic": {}}}, ["schedulingPolicy"], id="another policy"),
        pytest.param({"schedulingConstraints": {"topology": []}}, ["schedulingConstraints"], id="an item less"),
        pytest.param({"schedulingConstraints": None}, ["schedulingConstraints"], id="a field dropped"),
    ],
)
def test_an_object_differs_if_it_lacks_something(changed: Content, want: list[str]) -> None:
    source = custom("PodGroup", "g")
    source["spec"]["schedulingConstraints"] = {"topology": [{"key": "rack"}]}

    assert moves.differences(source, {**source, "spec": {**source["spec"], **changed}}) == want


def condition(kind: str, **more: Any) -> Content:
    return {"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z", **more}


def test_a_status_gets_what_it_lacks() -> None:
    """A condition that a scheduler has written meanwhile stays; the generation is that of the new object."""
    claims = [{"name": "gpu", "resourceClaimName": "g-gpu"}]
    old = [condition("A", observedGeneration=3), condition("B", observedGeneration=2), condition("C", message="old")]
    source = custom("PodGroup", "g", status={"conditions": old, "resourceClaimStatuses": claims})
    target = custom("PodGroup", "g", metadata={"generation": 1}, status={"conditions": [condition("C")]})

    wanted = {"conditions": [condition("C"), condition("A", observedGeneration=1), condition("B")], "resourceClaimStatuses": claims}
    assert moves.missing_status(source, target) == wanted
    assert moves.missing_status(source, {**target, "status": wanted}) is None


@pytest.mark.parametrize(
    ("finalizers", "want"),
    [
        (["scheduling.k8s.io/podgroup-protection"], []),
        (["scheduling.k8s.io/podgroup-protection", "example.com/keep"], ["example.com/keep"]),
        (["example.com/keep"], None),
        (None, None),
    ],
)
def test_only_the_finalizers_of_muster_are_removed(finalizers: list[str] | None, want: list[str] | None) -> None:
    assert moves.kept_finalizers(custom("PodGroup", "g", metadata={"finalizers": finalizers})) == want
