"""Groups of an object that are changed for ``--gang``, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from expansion.gangs import of_groups, on_request
from expansion.notes import GangsKept
from expansion.pod_creation import Gang

Json = dict[str, Any]


def group(name: str, policy: str = "gang", *, kind: str = "PodGroup", parent: str = "", topology: str = "") -> Json:
    spec: Json = {"schedulingPolicy": {policy: {}}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def members(*groups: str) -> list[Json]:
    spec = [{"schedulingGroup": {"podGroupName": name}} for name in groups]
    return [
        {"kind": "Pod", "metadata": {"name": each["schedulingGroup"]["podGroupName"], "namespace": "default"}, "spec": each}
        for each in spec
    ]


@pytest.mark.parametrize("topology", ["", "rack"])
def test_that_gangs_are_kept_is_said_of_the_root_of_a_tree(topology: str) -> None:
    groups = [group("t", kind="CompositePodGroup"), group("a", parent="t"), group("b", parent="t")]
    notes = {each["metadata"]["name"]: note for each, note in of_groups(groups, members("a", "b"), Gang(topology))}
    assert {"t": GangsKept(True, topology), "a": None, "b": None} == notes


def test_all_that_is_said_of_several_trees_is_kept() -> None:
    objects = [group("own"), group("wide", "basic", topology="zone"), *members("own", "wide")]
    _, notes = on_request("web", objects, Gang("rack"))
    assert [GangsKept(True, "rack"), GangsKept(False, "rack", "zone")] == notes
