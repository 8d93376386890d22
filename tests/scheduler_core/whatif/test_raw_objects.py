"""Raw objects are read only if they are requested."""

from __future__ import annotations

import json

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.whatif.edits.raw_objects import Book
from tests.scheduler_core.whatif.cluster import node, pod

OBJECTS = [
    node("n1"),
    node("n1-added-3"),
    pod("log", on="n1", owner="DaemonSet"),
    pod("kubelet", on="n1", owner="Node"),
    pod("job", on="n1", owner="Job"),
    pod("free", on="n1"),
    pod("elsewhere", on="n10", owner="DaemonSet"),
    pod("lost", on="n1-added-1"),
]


def test_what_belongs_to_a_node_is_found():
    assert ["kubelet", "log"] == [each["metadata"]["name"] for each in Book(OBJECTS).objects_on_node("n1")]


def test_of_two_of_one_name_the_one_counts_that_counts_when_they_are_loaded():
    twice = [pod("log", on="n1", cpu=2, owner="DaemonSet"), pod("log", on="n1", cpu=1, owner="DaemonSet")]
    result = [Book(order).objects_on_node("n1") for order in (twice, twice[::-1])]
    assert result[0] == result[1]
    assert len(result[0]) == 1


@pytest.mark.parametrize("owners", [None, "x", ["x"], [{"kind": 3}], {"kind": "DaemonSet"}], ids=repr)
def test_owners_that_are_none_are_passed_over(owners):
    odd = {**pod("odd", on="n1"), "metadata": {"name": "odd", "namespace": "default", "ownerReferences": owners, "note": "DaemonSet"}}
    assert [] == Book([json.dumps(odd).encode()]).objects_on_node("n1")


def test_a_free_name_is_one_that_no_node_has_and_no_pod_mentions():
    names = (f"n1-added-{number}" for number in range(1, 6))
    assert ["n1-added-2", "n1-added-4", "n1-added-5"] == list(Book(OBJECTS).free(names, "-added-"))


@pytest.mark.parametrize(
    ("kind", "name", "spec"),
    [
        pytest.param("Workload", "w", {"podGroupTemplates": ["t"]}, id="a template"),
        pytest.param("Workload", "w", {"compositePodGroupTemplates": [{"podGroupTemplates": [7]}]}, id="a template of a template"),
        pytest.param("PodGroup", "g", {"schedulingPolicy": ["gang"]}, id="a policy"),
        pytest.param("CompositePodGroup", "g", {"schedulingConstraints": {"topology": [{"key": 3}]}}, id="a key"),
    ],
)
def test_objects_that_loading_leaves_out_are_not_changed(kind, name, spec):
    odd = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    assert 1 == len(load([odd]).problems)
    assert (None, []) == (Book([odd]).get(kind, "default", name), Book([odd]).all(kind, "default"))


@pytest.mark.parametrize("metadata", [{"name": "w", "namespace": {"a": 1}}, {"name": {"a": 1}}, ["w"], 5], ids=repr)
def test_objects_without_a_usable_name_are_not_changed(metadata):
    odd = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "Workload", "metadata": metadata, "spec": {"podGroupTemplates": []}}
    assert [] == Book([odd]).all("Workload", "default")
    assert 1 == len(load([odd]).problems)


def test_changed_objects_have_no_environment_and_no_copy_of_themselves():
    confidential = {"env": [{"name": "TOKEN", "value": "canary"}], "envFrom": [{}], "command": ["canary"], "args": ["canary"]}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "canary", "kept": "yes"}
    manifest = pod("p", cpu="1")
    manifest["metadata"]["annotations"] = applied
    container = manifest["spec"]["containers"][0]
    manifest["spec"]["initContainers"] = [{**container, "name": "first", "restartPolicy": "Always", **confidential}]
    manifest["spec"]["containers"] = [{**container, **confidential, "livenessProbe": {"exec": {"command": ["canary"]}}}]
    machine = node("n", cpu="1")
    machine["metadata"]["annotations"] = applied
    book = Book(json.loads(json.dumps([manifest, machine])))
    found = book.get("Pod", "default", "p")

    assert "canary" not in json.dumps([found, book.get("Node", "", "n")])
    assert found["metadata"]["annotations"] == {"kept": "yes"}
    assert found["spec"]["containers"] == [container]
    assert found["spec"]["initContainers"] == [{**container, "name": "first", "restartPolicy": "Always"}]
