"""A snapshot of a cluster to which objects were applied, or from which they were removed, equals the one loaded from its objects."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.load import load
from scheduler_core.model.decision import Step
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.raw_objects import Book, merged
from scheduler_core.whatif.edits.raw_objects import after as forked
from tests.scheduler_core.builders import contents
from tests.scheduler_core.whatif.cluster import after, gang, node, pod, waiting

OBJECTS = [node("n1"), node("n3", "r2"), pod("r", on="n3"), pod("s", on="n1"), gang("g", 2), *waiting("g", 2)]

CHANGES = {
    "nothing": [],
    "a node between others": [Step(apply=node("n2", "r3", 8))],
    "a node replaced": [Step(apply=node("n1", "r9", 1, unschedulable=True))],
    "a node that declares a feature": [Step(apply={**node("n2"), "status": {**node("n2")["status"], "declaredFeatures": ["x"]}})],
    "a pod moved": [Step(apply=pod("r", on="n1"))],
    "a pod deleted": [Step(delete={"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "r"})],
    "a pod changed": [Step(apply=pod("g-0", "g", nodeSelector={"a": "b"}, tolerations=[{"operator": "Exists"}]))],
    "a group changed": [Step(apply=gang("g", 1, "zone"))],
    "all at once": [
        Step(apply=node("n0")),
        Step(apply=pod("s", on="n3")),
        Step(apply=gang("g", 1, "")),
        Step(delete={"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "r"}),
    ],
}


def applied(snapshot: ClusterSnapshot, steps: list[Step]) -> ClusterSnapshot:
    return forked(Cluster(snapshot), steps).snapshot()


def placement_inputs(snapshot):
    """Return everything in a snapshot that placement reads."""
    shapes = [{**msgspec.structs.asdict(pod), "shape": {**dataclasses.asdict(pod.shape), "serial": 0}} for pod in snapshot.pods]
    return contents(snapshot.nodes), shapes, snapshot.groups, snapshot.priorities, snapshot.known.list_kind("PodGroup")


@pytest.mark.parametrize("steps", CHANGES.values(), ids=CHANGES)
def test_steps_make_the_snapshot_that_the_changed_objects_make(steps):
    assert placement_inputs(load(after(OBJECTS, steps))) == placement_inputs(applied(load(OBJECTS), steps))


def test_images_of_pods_are_known_of_added_nodes():
    def having(each, *images):
        return {**each, "status": {**each["status"], "images": [{"names": [image], "sizeBytes": 7} for image in images]}}

    objects = [having(node("n3"), "x:1"), pod("p", containers=[{"image": "x:1"}]), pod("q", containers=[{"image": "y:1"}])]
    steps = [Step(apply=having(node("n2"), "x:1", "z:1")), Step(apply=node("n4"))]
    changed = applied(load(objects), steps)

    assert placement_inputs(load(after(objects, steps))) == placement_inputs(changed)
    assert {"x:1": [0, 1]} == {name: each.nodes.tolist() for name, each in changed.nodes.reported.items()}


def test_shapes_of_changed_pods_are_distinguished_from_all_others():
    snapshot = applied(load(OBJECTS), [Step(apply=pod("g-0", "g", cpu=1)), Step(apply=pod("g-1", "g", cpu=3))])
    shapes = {id(each.shape): each.shape.serial for each in snapshot.pods}
    assert len(shapes) == len(set(shapes.values())) == 3


def test_a_book_gives_copies_and_keeps_what_is_written():
    book = Book(OBJECTS)
    result = book.get("PodGroup", "default", "g")
    result["spec"].clear()
    assert gang("g", 2) == book.get("PodGroup", "default", "g")
    assert book.get("PodGroup", "default", "none") is None


def test_later_changes_are_made_on_top_of_earlier_ones():
    first = [Step(apply=gang("g", 1))]
    book = Book(OBJECTS).with_steps(first)
    assert gang("g", 1) == book.get("PodGroup", "default", "g")
    assert (Step(apply=gang("g", 1, "zone")),) == merged(first, [Step(apply=gang("g", 1, "zone"))])


@pytest.mark.parametrize(
    "metadata",
    [{"name": "a\\u0062"}, {"name": "ab", "namespace": None}, {"namespace": "default", "name": "ab"}],
    ids=["escaped", "null", "plain"],
)
def test_an_object_is_found_however_its_name_is_written(metadata):
    text = str({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}).replace("'", '"').replace("None", "null").replace("\\\\", "\\")
    assert Book([text.encode()]).get("Pod", "default", "ab") is not None
