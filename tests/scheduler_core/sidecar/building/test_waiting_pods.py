"""Pods that came before their groups: which group they join, and which of them need not wait."""

from __future__ import annotations

import json

import pytest

from kubeapi.pods import POD_GROUP_LABEL
from scheduler_core.causes.built_groups import NotBuilt, NotBuiltReason
from scheduler_core.sidecar.building.group_plan import GroupPlan
from scheduler_core.sidecar.building.owned_objects import Objects
from scheduler_core.sidecar.building.waiting_pods import joins, releases, root_of
from workloadbuilder.adapters.built_kinds import UNKNOWN, WAITING

GATE = "muster.dev/placement"
GATES = [GATE, WAITING]


def owned(api_version, kind, name, by=None, **labels):
    """An object with its name as its uid, and a controller: API version, kind and name."""
    metadata = {"name": name, "namespace": "a", "uid": name, "resourceVersion": "7", "labels": labels}
    if by is not None:
        metadata["ownerReferences"] = [{"apiVersion": by[0], "kind": by[1], "name": by[2], "uid": by[2], "controller": True}]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def group(name, job, **metadata):
    annotations = {"muster.dev/members": json.dumps([{"job": job}])}
    return {"kind": "PodGroup", "metadata": {"name": name, "namespace": "a", "annotations": annotations, **metadata}}


def pod(name, by=("batch/v1", "Job", "train"), gates=GATES, **labels):
    return owned("v1", "Pod", name, by, **{WAITING: UNKNOWN, **labels}) | {"spec": {"schedulingGates": [{"name": each} for each in gates]}}


def watched(*manifests):
    objects = Objects(lambda *_: None)
    for each in manifests:
        objects.add_or_update((each["apiVersion"].rpartition("/")[0], each["kind"]), each)
    return objects


def patch(gates, **labels):
    """The patch of a pod: *labels* by the part of their name that is no word of Python, and the gates that stay."""
    return {"metadata": {"labels": labels, "resourceVersion": "7"}, "spec": {"schedulingGates": [{"name": each} for each in gates] or None}}


JOINED = {POD_GROUP_LABEL: "x", WAITING: None}


def test_waiting_pods_join_the_one_group_with_their_labels_and_keep_the_gate_of_placement():
    waiting = [pod("x-0", job="x"), pod("other", job="z"), pod("named", job="x", **{POD_GROUP_LABEL: "q"})]

    assert {"x-0": patch([GATE], **JOINED)} == joins(waiting, [group("x", "x"), group("y", "y")])


def test_no_gates_are_sent_for_a_pod_without_the_gate():
    (found,) = joins([pod("x-0", gates=[], job="x")], [group("x", "x")]).values()

    assert {"metadata": {"labels": JOINED, "resourceVersion": "7"}} == found


def test_no_pod_joins_a_group_that_is_being_deleted_or_one_of_two():
    deleted = group("x", "x", deletionTimestamp="2026-01-01T00:00:00Z")

    assert {} == joins([pod("x-0", job="x")], [deleted])
    assert {} == joins([pod("x-0", job="x")], [group("x", "x"), group("y", "x")])
    assert ["x-0"] == [*joins([pod("x-0", job="x")], [deleted, group("y", "x")])]


JOB, JOBSET = ("batch/v1", "Job", "train"), ("jobset.x-k8s.io/v1alpha2", "JobSet", "train")
LWS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve")
ROOTS = {
    "Job": (pod("p"), [owned(*JOB)], "Job"),
    "Job of a CronJob, which is not watched": (pod("p"), [owned(*JOB, ("batch/v1", "CronJob", "nightly"))], "Job"),
    "JobSet": (pod("p"), [owned(*JOB, JOBSET), owned(*JOBSET)], "JobSet"),
    "JobSet that is not listed yet": (pod("p"), [owned(*JOB, JOBSET)], None),
    "Job that is not listed yet": (pod("p"), [], None),
    "Job of the same name, created again": (pod("p"), [owned(*JOB) | {"metadata": {"name": "train", "namespace": "a", "uid": "2"}}], None),
    "no controller": (pod("p", None), [owned(*JOB)], None),
    "Deployment": (pod("p", ("apps/v1", "ReplicaSet", "web-api-7d9c")), [owned("apps/v1", "Deployment", "web-api")], "Deployment"),
    "worker of a LeaderWorkerSet": (
        pod("p", ("apps/v1", "StatefulSet", "serve-0"), **{"leaderworkerset.sigs.k8s.io/name": "serve"}),
        [owned("apps/v1", "StatefulSet", "serve-0", ("v1", "Pod", "serve-0")), owned(*LWS)],
        "LeaderWorkerSet",
    ),
}


@pytest.mark.parametrize(("waiting", "objects", "want"), [*ROOTS.values()], ids=[*ROOTS])
def test_the_object_that_decides_is_the_topmost_one(waiting, objects, want):
    found = root_of(waiting, watched(*objects))

    assert want == (found and found["kind"])


def released(found, *groups, waiting=None):
    plans = []
    patches = releases([waiting or pod("p")], watched(owned(*JOB)), lambda root: plans.append(root) or found, groups)
    assert ["train"] == [each["metadata"]["name"] for each in plans]
    return patches


@pytest.mark.parametrize("why", NotBuiltReason)
def test_a_pod_is_released_if_its_object_never_gets_groups(why):
    never = {NotBuiltReason.NOT_ASKED, NotBuiltReason.MADE_BY_CONTROLLER, NotBuiltReason.OTHER_SCHEDULER, NotBuiltReason.NO_GROUP}

    assert ({"p": patch([], **{WAITING: None})} if why in never else {}) == released(GroupPlan(why=NotBuilt(why)))


def test_a_pod_is_released_if_all_groups_of_its_object_exist_and_none_is_its_own():
    x, y = group("x", "x"), group("y", "y")
    plan = GroupPlan(({"kind": "Workload", "metadata": {"name": "w"}}, x, y))
    foreign = pod("p", gates=["example.com/quota", *GATES])

    assert {"p": patch(["example.com/quota"], **{WAITING: None})} == released(plan, x, y, waiting=foreign)
    assert {} == released(plan, x)
    assert {} == released(plan, x, group("y", "y", deletionTimestamp="2026-01-01T00:00:00Z"))
