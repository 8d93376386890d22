"""Examples of the checks about mode build: objects that ask for groups, pods that wait for one, and what is installed."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from muster.doctor.world import ApiServer, World
from scheduler_core.sidecar.building.group_plan import Target, plan_groups
from scheduler_core.sidecar.building.owned_objects import Objects
from tests.muster.doctor.worlds import GATES, RESOURCES, Change, Content, with_argument, world
from tests.muster.doctor.worlds import Objects as All
from validators.rules.base import Severity

UID, OLD, NEW = "2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d14", "2026-06-30T00:00:00Z", "2026-06-30T23:59:30Z"
BUILD = with_argument("muster-sidecar", "--mode=build,validate,place,ungate,preempt,protect")
CONTAINER = {"name": "main", "image": "train"}


def namespace(value: str = "build", **metadata: str) -> Change:
    return put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": {"muster.dev/groups": value}, **metadata}})


def put(*contents: Content) -> Change:
    def change(objects: All) -> None:
        for each in contents:
            api = each["apiVersion"].partition("/")[0]
            objects[each["kind"], f"{api}/{each['metadata'].get('namespace', '')}/{each['metadata']['name']}"] = each

    return change


def job(name: str = "train", created: str = OLD, uid: str = UID, owners: list[Any] | None = None, **spec: Any) -> Content:
    metadata = {"name": name, "namespace": "ml", "uid": uid, "creationTimestamp": created, "ownerReferences": owners or []}
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER], **spec.pop("pod", {})}}
    annotations = spec.pop("annotations", {})
    whole = {"parallelism": 2, "completions": 2, "template": template, **spec}
    # The controller of Jobs has started it, so that it does not create the groups itself.
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "annotations": annotations},
        "spec": whole,
        "status": {"startTime": created},
    }


def groups(of: Content) -> list[Content]:
    """Return what mode build creates for an object."""
    objects = Objects(lambda *_: None)
    objects.add_or_update(("", "Namespace"), {"metadata": {"name": "ml", "labels": {"muster.dev/groups": "build"}}})
    return [*map(copy.deepcopy, plan_groups(of, objects, Target("scheduling.k8s.io/v1beta1", 37)).wanted)]


def controlled_by(of: Content) -> list[Content]:
    return [
        {
            "apiVersion": of["apiVersion"],
            "kind": of["kind"],
            "name": of["metadata"]["name"],
            "uid": of["metadata"]["uid"],
            "controller": True,
        }
    ]


def waiting(created: str = OLD, owner: Content | None = None, name: str = "train-0") -> Content:
    labels = {"muster.dev/pod-group": "unknown"}
    metadata = {"name": name, "namespace": "ml", "creationTimestamp": created, "labels": labels}
    metadata["ownerReferences"] = controlled_by(owner or job())
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [CONTAINER]}}


def pod_group(api_version: str, of: Content) -> Content:
    metadata = {"name": "other", "namespace": "ml", "ownerReferences": controlled_by(of)}
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 2}}


def workload(of: Content) -> Content:
    metadata = {"name": "other", "namespace": "ml", "ownerReferences": controlled_by(of)}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": metadata, "spec": {}}


def joined(objects: All) -> None:
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "muster-join"}}
    objects["MutatingAdmissionPolicy", "muster-join"] = {**policy, "spec": {}}


def by_helm(objects: All) -> None:
    objects["Deployment", "muster-webhook"]["metadata"]["annotations"] = {"meta.helm.sh/release-name": "prod"}


def unread(*resources: str) -> World:
    return dataclasses.replace(world(BUILD, namespace(), put(job())), unread=frozenset(resources))


JOBSET = {**job("set", uid="u2"), "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
CHILD = job("set-a-0", uid="u3", owners=controlled_by(JOBSET))
BAD = {"annotations": {"muster.dev/min-count": "many"}}
VOLCANO, KAI = "scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2alpha2"
INSTALLED = namespace(), BUILD, joined

HELM = "helm upgrade prod deploy/chart --namespace=muster-system --reset-then-reuse-values --set=build.enabled=true"

VALID = {
    "groups-not-built": [
        lambda: world(*INSTALLED, put(job(), *groups(job()))),
        lambda: world(*INSTALLED, put(job(created=NEW))),
        lambda: world(*INSTALLED, put({**job(), "status": {}})),
        lambda: world(*INSTALLED, put(job(suspend=True), CHILD)),
        lambda: world(BUILD, put(job(**BAD))),
        lambda: world(namespace(), put(job())),
        lambda: world(*INSTALLED, put(job(), workload(job()))),
        lambda: world(BUILD, namespace(), put(job()), live=False),
        lambda: unread("podgroups"),
    ],
    "group-awaited": [
        lambda: world(*INSTALLED, put(job(), *groups(job()), waiting(NEW))),
        lambda: world(*INSTALLED, put(job(), {**waiting(), "status": {"phase": "Succeeded"}})),
        lambda: world(*INSTALLED),
    ],
    "two-group-makers": [
        lambda: world(*INSTALLED, put(job(), *groups(job()))),
        lambda: world(*INSTALLED, put(job(), workload(job()))),
        lambda: world(*INSTALLED, put(job(), pod_group(VOLCANO, job()))),
    ],
    "build-not-installed": [
        lambda: world(*INSTALLED),
        lambda: world(namespace(), BUILD, live=False),
        lambda: world(namespace(deletionTimestamp=OLD)),
        lambda: dataclasses.replace(world(namespace(), BUILD), unread=frozenset({"mutatingadmissionpolicies"})),
    ],
    "build-places-nothing": [
        lambda: world(BUILD),
        lambda: world(with_argument("muster-sidecar", "--mode=validate")),
        lambda: world(with_argument("muster-sidecar", "--mode=build,place"), with_argument("muster-webhook", "--placed-by=scheduler")),
        lambda: world(with_argument("muster-sidecar", "--mode=build"), with_argument("muster-webhook", "--placed-by=none")),
    ],
}
INVALID = {
    "groups-not-built": [
        (lambda: world(*INSTALLED, put(job(**BAD))), Severity.WARNING, 'metadata.annotations[muster.dev/min-count]: Invalid value: "many"'),
        (lambda: world(namespace(), BUILD, put(job(**BAD)), live=False), Severity.WARNING, "must be a whole number of at least 1"),
        (
            lambda: world(*INSTALLED, put(*(job(name, uid=name, pod={"schedulerName": "volcano"}) for name in "abc"))),
            Severity.WARNING,
            "its pods are of another scheduler: volcano; so it is with 2 more Job objects",
        ),
        (
            lambda: world(*INSTALLED, put(job())),
            Severity.WARNING,
            "groups that it asks for do not exist: Workload train-",
        ),
    ],
    "group-awaited": [
        (
            lambda: world(*INSTALLED, put(job(), waiting(), waiting(name="train-1"))),
            Severity.ERROR,
            "waits for its group since 2026-06-30T00:00:00Z, and 1 more pods of Job ml/train: Job ml/train lacks Workload",
        ),
        (
            lambda: world(*INSTALLED, put(job(**BAD), waiting())),
            Severity.ERROR,
            "Job ml/train has no groups: metadata.annotations[muster.dev/min-count]",
        ),
        (lambda: world(put(job(), waiting())), Severity.ERROR, "no sidecar runs the mode build"),
        (lambda: world(*INSTALLED, put(waiting())), Severity.ERROR, "the object to which it belongs does not exist"),
        (lambda: world(BUILD, put(job(), waiting())), Severity.ERROR, "Job ml/train asks for no groups"),
        (lambda: world(*INSTALLED, put(job(), *groups(job()), waiting())), Severity.ERROR, "has the labels of no group, or of several"),
    ],
    "two-group-makers": [
        (lambda: world(put(job(), *groups(job()), workload(job()))), Severity.ERROR, "Workload of scheduling.k8s.io other"),
        (lambda: world(put(job(), *groups(job()), pod_group(VOLCANO, job()))), Severity.ERROR, "PodGroup of scheduling.volcano.sh other"),
        (lambda: world(put(*groups(job()), pod_group(KAI, job()))), Severity.ERROR, "PodGroup of scheduling.run.ai other"),
        (
            lambda: world(put(JOBSET, CHILD, _owned_by(JOBSET, groups(job())[0]), workload(CHILD))),
            Severity.ERROR,
            "has groups of mode build, with Workload",
        ),
    ],
    "build-not-installed": [
        (lambda: world(namespace(), joined), Severity.ERROR, "asks for groups, and no sidecar runs the mode build"),
        (lambda: world(namespace(), live=False), Severity.ERROR, "no sidecar runs the mode build"),
        (lambda: world(namespace(), joined, no_sidecar), Severity.ERROR, "no sidecar runs the mode build"),
        (
            lambda: world(namespace(), BUILD),
            Severity.ERROR,
            "neither the webhook nor the MutatingAdmissionPolicy muster-join lets pods join",
        ),
        (lambda: world(namespace("true"), BUILD, joined), Severity.WARNING, "'true' has no effect: must be 'build'"),
    ],
    "build-places-nothing": [
        (lambda: world(with_argument("muster-sidecar", "--mode=build,place")), Severity.ERROR, "no sidecar runs the mode ungate"),
        (
            lambda: world(with_argument("muster-sidecar", "--mode=build,ungate"), with_argument("muster-webhook", "--placed-by=scheduler")),
            Severity.ERROR,
            "no sidecar runs the mode place",
        ),
    ],
}
COMMANDS = [
    (lambda: world(*INSTALLED, put(job(**BAD))), "groups-not-built", "kubectl -n ml annotate Job train muster.dev/min-count-"),
    (
        lambda: world(*INSTALLED, put(job(pod={"schedulerName": "volcano"}))),
        "groups-not-built",
        "kubectl -n ml label --overwrite jobs.batch train muster.dev/groups=none",
    ),
    (lambda: world(*INSTALLED, put(job())), "groups-not-built", "kubectl -n ml describe Job train"),
    (
        lambda: world(put(job(), *groups(job()), workload(job()))),
        "two-group-makers",
        "kubectl -n ml label --overwrite jobs.batch train muster.dev/groups=none",
    ),
    (lambda: world(namespace(), BUILD, by_helm), "build-not-installed", HELM),
    (lambda: world(namespace(), BUILD), "build-not-installed", "kubectl apply -f deploy/components/join/policy.yaml"),
    (
        lambda: world(namespace(), BUILD, api_server=ApiServer(35, RESOURCES, GATES)),
        "build-not-installed",
        "kubectl apply -f deploy/components/join/webhook.yaml",
    ),
    (lambda: world(namespace("no"), joined), "build-not-installed", "kubectl label --overwrite namespace ml muster.dev/groups=build"),
    (lambda: world(namespace(), joined, no_sidecar), "build-not-installed", "kubectl label namespace ml muster.dev/groups-"),
    (
        lambda: world(*INSTALLED, put(waiting())),
        "group-awaited",
        "kubectl -n ml describe pods --selector=muster.dev/pod-group=unknown",
    ),
]
"""Installations, a check, and the command that mends its only finding."""


def no_sidecar(objects: All) -> None:
    del objects["Deployment", "muster-sidecar"]


def _owned_by(owner: Content, content: Content) -> Content:
    return {**content, "metadata": {**content["metadata"], "ownerReferences": controlled_by(owner)}}
