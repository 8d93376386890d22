"""Groups without requests and pods beyond the minimum, left out of a trial."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.model.entity import Entity
from scheduler_core.model.names import Name
from scheduler_core.whatif.edits.raw_objects import Book
from scheduler_core.whatif.remedies.conflict import changed, without_satisfied
from scheduler_core.whatif.trial.prepared_cluster import bare
from scheduler_core.whatif.trial.subject import Subject
from scheduler_core.whatif.trial.trial import Trial
from tests.scheduler_core.whatif.cluster import COMPLETE, gang, node, not_placed, pod, tree, waiting


def entity(name, *children, minimum=1, kind="PodGroup"):
    kind = "CompositePodGroup" if children else kind
    return Entity(Name(kind, "default", name), minimum, True, "rack", 0, True, "", children=children)


@pytest.mark.parametrize(
    ("minimum", "absent", "want"),
    [
        pytest.param(2, [], (2, ["a", "b", "c"]), id="none"),
        pytest.param(2, ["a"], (1, ["b", "c"]), id="one of what is needed"),
        pytest.param(2, ["a", "b"], None, id="all that is needed"),
        pytest.param(3, ["a", "b"], (1, ["c"]), id="all but one"),
        pytest.param(1, ["t"], None, id="the root"),
    ],
)
def test_groups_that_take_no_capacity_count_as_satisfied(minimum, absent, want):
    root = entity("t", *map(entity, "abc"), minimum=minimum)
    names = {Name("CompositePodGroup" if each == "t" else "PodGroup", "default", each) for each in absent}
    result = without_satisfied(root, names)
    assert want == (result and (result.minimum, [each.name.name for each in result.children]))


def test_a_parent_whose_children_are_satisfied_is_satisfied():
    root = entity("t", entity("p", entity("a")), entity("b"), minimum=2)
    result = without_satisfied(root, {Name("PodGroup", "default", "a")})
    assert result is not None
    assert (1, ["b"]) == (result.minimum, [each.name.name for each in result.children])


def test_a_minimum_is_lowered_and_never_raised():
    root = entity("t", entity("a", minimum=3), minimum=1)
    names = {Name("PodGroup", "default", "a"), Name("CompositePodGroup", "default", "t")}
    result = changed(root, names, minimum=2, key="")
    assert (1, "", 2, "") == (result.minimum, result.key, result.children[0].minimum, result.children[0].key)


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param(waiting("g", 5), 2, id="all alike"),
        pytest.param([*waiting("g", 4), pod("big", "g", cpu=9)], 5, id="of several shapes"),
    ],
)
def test_pods_beyond_a_minimum_are_left_out_where_all_are_alike(pods, want):
    objects = [node("n1", cpu=2), gang("g", 2), *pods]
    (decision,) = not_placed(objects)
    snapshot = load(objects)
    subject = Subject.from_snapshot(snapshot, decision.root)
    assert want == len(bare(Trial(snapshot, COMPLETE, subject, Book(objects)).cluster.unchanged.entity).waiting)


def test_groups_made_of_one_template_change_together():
    shape = {"schedulingPolicy": {"gang": {"minCount": 3}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}
    top = {"name": "top", "schedulingPolicy": {"gang": {"minGroupCount": 2}}, "podGroupTemplates": [{"name": "t", **shape}]}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"compositePodGroupTemplates": [top]},
    }
    children = [each for name in ("x", "y") for each in (gang(name, 3, parent="t"), *waiting(name, 3))]
    for more, want in (([workload], {"x", "y"}), ([], {"x"})):
        objects = [node("a1"), *more, tree("t", 2), *children]
        (decision,) = not_placed(objects)
        subject = Subject.from_snapshot(load(objects), decision.root)
        assert want == {each.name for each in subject.mates(Name("PodGroup", "default", "x"))}
