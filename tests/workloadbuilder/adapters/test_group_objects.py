"""What should exist for an object, and the steps to it, from any state and after a crash at each step."""

from __future__ import annotations

import copy
import itertools
import random

import pytest
import yaml

from tests.workloadbuilder.adapters.jobs import JOB
from tests.workloadbuilder.adapters.test_group_annotations import LWS, RAY_JOB, annotated
from tests.workloadbuilder.adapters.test_members import JOBSET
from workloadbuilder.adapters.group_objects import StepKind, desired, steps
from workloadbuilder.adapters.members import MEMBERS, members_in
from workloadbuilder.adapters.shared.known_objects import Known

API = "scheduling.muster.dev/v1beta1"
MANIFESTS = [JOB.replace("metadata: {", "metadata: {uid: 2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d14, "), JOBSET, LWS, RAY_JOB]


def wanted(text):
    manifest = yaml.safe_load(text)
    result = desired(manifest, Known([manifest]), API)
    assert result is not None
    return result


def identity(manifest):
    return manifest["kind"], manifest["metadata"]["name"]


class Server:
    """The objects of one owner; groups with pods stay until the pods are gone, as with the protection finalizers."""

    def __init__(self):
        self.objects, self.pods = {}, set()

    def write(self, step):
        match step.kind:
            case StepKind.CREATE:
                assert step.name not in self.objects
                self.objects[step.name] = copy.deepcopy(step.body)
            case StepKind.PATCH:
                self.objects[step.name] = merged(self.objects[step.name], step.body)
            case StepKind.DELETE:
                assert step.name[1] not in self.pods, "a group with pods is deleted"
                del self.objects[step.name]

    def passed(self, objects, crash=None):
        """One pass, ended after *crash* writes; return whether there was nothing to do."""
        found = steps(objects, self.objects.values(), self.pods.__contains__, 37)
        for step in itertools.islice(found.writes, crash):
            self.write(step)
        return not found.writes

    def settle(self, objects):
        for _ in range(9):
            if self.passed(objects):
                return
        raise AssertionError("the steps have no end")


def merged(old, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def spec_of(objects):
    return {identity(each): (each["spec"], members_in(each)) for each in objects}


@pytest.mark.parametrize("text", MANIFESTS, ids=["Job", "JobSet", "LeaderWorkerSet", "RayJob"])
def test_the_objects_come_with_the_labels_of_their_members(text):
    objects = wanted(text).objects

    assert "Workload" == objects[0]["kind"]
    assert {API} == {each["apiVersion"] for each in objects}
    assert all(members_in(each) for each in objects if each["kind"] == "PodGroup")
    assert all(each["metadata"]["ownerReferences"] for each in objects)


@pytest.mark.parametrize("field", ["spec: {suspend: true, ", "spec: {runPolicy: {suspend: true}, "])
def test_a_suspended_object_has_none(field):
    manifest = yaml.safe_load(JOBSET)
    manifest["spec"] |= yaml.safe_load(field.removeprefix("spec: ").rstrip(", ") + "}")
    result = desired(manifest, Known([manifest]), API)

    assert ((), True) == (result.objects, result.suspended)


def test_an_object_with_errors_has_none_and_tells_them():
    result = wanted(annotated(JOB, min_count="many"))

    assert () == result.objects
    assert ["metadata.annotations[muster.dev/min-count]"] == [str(each.path) for each in result.errors]


def test_another_kind_is_nobodys():
    assert desired({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, Known([]), API) is None


@pytest.mark.parametrize("text", MANIFESTS, ids=["Job", "JobSet", "LeaderWorkerSet", "RayJob"])
def test_a_crash_after_any_write_is_continued(text):
    objects = wanted(text).objects
    for crash in range(len(objects) + 1):
        server = Server()
        server.passed(objects, crash)
        server.settle(objects)

        assert spec_of(objects) == spec_of(server.objects.values())


def test_random_changes_end_at_what_is_wanted():
    chance = random.Random(47)
    for _ in range(60):
        server = Server()
        for _ in range(5):
            text = LWS.replace("replicas: 2", f"replicas: {chance.randint(1, 4)}").replace("size: 4", f"size: {chance.randint(2, 4)}")
            text = annotated(text, topology=chance.choice(["rack", "zone"])) if chance.random() < 0.5 else text
            objects = wanted(text).objects
            server.passed(objects, chance.randint(0, 9))
        server.settle(objects)

        assert spec_of(objects) == spec_of(server.objects.values())


def test_a_new_minimum_is_patched_and_pods_stay_where_they_are():
    server = Server()
    server.settle(wanted(annotated(JOB, min_count=4)).objects)
    server.pods = {name for kind, name in server.objects if kind == "PodGroup"}

    server.settle(wanted(annotated(JOB, min_count=2)).objects)

    (group,) = (each for each in server.objects.values() if each["kind"] == "PodGroup")
    assert {"gang": {"minCount": 2}} == group["spec"]["schedulingPolicy"]


def test_a_group_with_pods_is_not_replaced_before_they_are_gone():
    server = Server()
    before, after = wanted(annotated(LWS, topology="rack")).objects, wanted(annotated(LWS, topology="zone")).objects
    server.settle(before)
    leaves = [name for kind, name in server.objects if kind == "PodGroup"]
    server.pods = {leaves[0]}

    found = steps(after, server.objects.values(), server.pods.__contains__, 37)

    assert ["Workload", "CompositePodGroup", "CompositePodGroup"] == sorted((kind for kind, _ in found.outdated), reverse=True)
    assert () == found.writes
    server.pods = set()
    server.settle(after)
    assert spec_of(after) == spec_of(server.objects.values())


def test_what_is_being_deleted_is_waited_for():
    objects = wanted(JOBSET).objects
    there = [copy.deepcopy(each) for each in objects]
    there[1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert () == steps(objects, there, lambda _: False, 37).writes
    assert () == steps(objects[:1], there[:2], lambda _: False, 37).writes


def test_a_group_that_is_too_many_stays_while_it_has_pods():
    one, two = (wanted(LWS.replace("replicas: 2", f"replicas: {count}")).objects for count in (1, 2))
    server = Server()
    server.settle(two)
    server.pods = {name for kind, name in server.objects if "-leader-1-" in name}

    found = steps(one, server.objects.values(), server.pods.__contains__, 37)

    assert ["CompositePodGroup", "PodGroup"] == [kind for kind, _ in found.surplus]
    assert [StepKind.DELETE] == [each.kind for each in found.writes], "the group of the workers"
    server.pods = set()
    server.settle(one)
    assert spec_of(one) == spec_of(server.objects.values())


def test_groups_that_are_too_many_go_from_the_leaves_up():
    found = steps((), wanted(JOBSET).objects, lambda _: False, 37)

    assert ["PodGroup", "PodGroup", "PodGroup", "CompositePodGroup", "Workload"] == [each.name[0] for each in found.writes]


@pytest.mark.parametrize("text", ["", "[", "[]", '{"a": "1"}', '[{"a": 1}]', "null"])
def test_an_unreadable_annotation_has_no_labels(text):
    assert () == members_in({"metadata": {"annotations": {MEMBERS: text}}})
