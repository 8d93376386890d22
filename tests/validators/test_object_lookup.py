"""KnownObjects: objects known, unknown, and always present."""

from __future__ import annotations

import pytest

from kubeapi.groups import CompositePodGroup, PodGroup, PodGroupSpec
from kubeapi.meta import ObjectMeta
from kubeapi.pods import PodSchedulingGroup
from kubeapi.priority import PriorityClass
from validators.hierarchy.tree import GroupTree
from validators.lint.object_index import IndexLookup, ObjectIndex
from validators.model.objects import Named
from validators.model.views import Job, JobSpec, Pod, PodSpec, PodTemplateSpec
from validators.object_lookup import NOTHING, KnownObjects


def test_with_nothing_known_every_kind_is_unknown() -> None:
    assert NOTHING.list_kind("PodGroup") is None
    assert NOTHING.get("PodGroup", "default", "a") is None


def test_a_complete_set_knows_that_there_is_none() -> None:
    assert KnownObjects((), complete=True).list_kind("PodGroup") == ()


def test_an_incomplete_set_knows_the_kinds_it_holds() -> None:
    known = KnownObjects([PodGroup(ObjectMeta(name="a"))], complete=False)

    assert len(known.list_kind("PodGroup") or ()) == 1
    assert known.list_kind("Workload") is None


def test_no_namespace_is_default() -> None:
    group = PodGroup(ObjectMeta(name="a"))

    assert group is KnownObjects([group], complete=True).get("PodGroup", "default", "a")
    assert KnownObjects([group], complete=True).get("PodGroup", "other", "a") is None


def test_of_two_objects_of_one_name_the_first_counts() -> None:
    first, second = PriorityClass(ObjectMeta(name="a"), 1), PriorityClass(ObjectMeta(name="a"), 2)

    assert first is KnownObjects([first, second], complete=True).get("PriorityClass", "anywhere", "a")


def _of(api_version: str, name: str = "a") -> PodGroup:
    return PodGroup(ObjectMeta(name=name), api_version=api_version)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_of_two_api_groups_the_built_in_object_counts(order: tuple[int, ...]) -> None:
    builtin = _of("scheduling.k8s.io/v1beta1")
    listed = [_of("scheduling.muster.dev/v1beta1"), builtin, Named("PodGroup", ObjectMeta(name="a"), "scheduling.muster.dev/v1beta1")]
    index = ObjectIndex[int]()
    for number, place in enumerate(order):
        index.append(number, listed[place])

    assert builtin is KnownObjects([listed[each] for each in order], complete=True).get("PodGroup", "default", "a")
    assert builtin is IndexLookup(index).get("PodGroup", "default", "a")


def test_the_children_of_a_composite_are_below_the_one_that_counts() -> None:
    custom, builtin = (
        CompositePodGroup(ObjectMeta(name="root"), api_version=f"{each}/v1alpha3")
        for each in ("scheduling.muster.dev", "scheduling.k8s.io")
    )
    child = PodGroup(ObjectMeta(name="g"), PodGroupSpec(parent_composite_pod_group_name="root"))
    parent = GroupTree.build([custom, builtin, child]).node(child).parent

    assert parent is not None
    assert builtin is parent.group


def test_the_systems_own_classes_always_exist() -> None:
    result = NOTHING.get("PriorityClass", "", "system-node-critical")

    assert isinstance(result, PriorityClass)
    assert result.value == 2_000_001_000


def test_children_are_groups_of_a_parent_and_pods_of_a_group() -> None:
    spec = PodSpec(scheduling_group=PodSchedulingGroup(pod_group_name="g"))
    pod = Pod(metadata=ObjectMeta(name="p"), spec=spec)
    job = Job(metadata=ObjectMeta(name="j"), spec=JobSpec(template=PodTemplateSpec(spec=spec)))
    group = PodGroup(ObjectMeta(name="g"), PodGroupSpec(parent_composite_pod_group_name="root"))
    known = KnownObjects([pod, job, group], complete=True)

    assert [pod, job] == list(known.children("Pod", "default", "g"))
    assert [group] == list(known.children("PodGroup", "default", "root"))
    assert list(known.children("PodGroup", "default", "g")) == []
