"""Random situations of queues, as Kueue 0.17 itself has answered them (``tests/cases/kueue``; ``tests/cluster`` asks it anew)."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from expansion.admission.limit_ranges import LimitRanges
from expansion.expanded import expand
from expansion.kueue.assign_flavors import Mode
from expansion.kueue.nominate import Nomination, nominate
from expansion.kueue.pending import PendingJob, PodSet
from expansion.kueue.queues import Queues
from expansion.queue_notes import AdmittedByQueue, QueueQuotaExceeded
from kubeapi import decode
from kubeapi.decoders import DECODERS
from kubeapi.gathered import GatheredObjects
from kubeapi.pod_requests import demand
from kubeapi.pods import Pod
from tests.cluster import kueue_quotas

Json = dict[str, Any]
MODES = {Mode.NO_FIT: "NoFit", Mode.WAITS: "Preempt", Mode.PREEMPTS: "Preempt", Mode.RECLAIMS: "Preempt", Mode.FITS: "Fit"}


@functools.cache
def cases() -> dict[str, Json]:
    return {each["name"]: each for each in kueue_quotas.recorded()}


def of_kind(case: Json, kind: str) -> list[Json]:
    return [each for each in case["objects"] if each["kind"] == kind]


def is_stored(case: Json) -> bool:
    """Return whether the API server would store the LimitRanges as they are: a maximum is a default if there is no other one."""
    limits = [each for found in of_kind(case, "LimitRange") for each in found["spec"]["limits"]]
    return all(each.get("max", {}).keys() <= each.get("default", {}).keys() for each in limits)


JUDGED = [name for name, each in cases().items() if not each["answer"]["inadmissible"] and is_stored(each)]


def queues_of(case: Json) -> Queues:
    objects = [each for each in case["objects"] if each["apiVersion"].startswith("kueue.")]
    return Queues.from_objects([GatheredObjects(each["kind"], each["apiVersion"], decode.encode(each)) for each in objects], complete=True)


def pod_set(given: Json, limits: LimitRanges) -> PodSet:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": given["template"]["spec"]}
    limits.set_defaults(pod)
    requests = dict(demand(DECODERS[Pod].decode(decode.encode(pod))).requests)
    zeros = dict.fromkeys(name for each in pod["spec"]["containers"] for name in each.get("resources", {}).get("requests", {}))
    named = {**dict.fromkeys(zeros, 0), **requests}
    together = given.get("topologyRequest", {}).get("podSetGroupName", "")
    return PodSet(given["name"], given["count"], named, pod["spec"], given.get("minCount"), together=together)


def nominated(case: Json) -> Nomination:
    queues, workload = queues_of(case), case["workload"]
    limits = LimitRanges(of_kind(case, "LimitRange"))
    spec = workload["spec"]
    job = PendingJob(
        [pod_set(each, limits) for each in spec["podSets"]], spec.get("priority") or 0, workload["metadata"]["creationTimestamp"]
    )
    local = queues.local[workload["metadata"]["namespace"], spec["queueName"]]
    return nominate(queues, queues.queues[local.cluster_queue], job)


def described(nomination: Nomination) -> Json:
    parts = nomination.assignment.parts
    return {
        "mode": MODES[nomination.assignment.mode],
        "borrowing": nomination.assignment.borrowing,
        "podSets": [
            (each.pod_set.name, each.count, {name: (own.flavor, MODES[own.mode]) for name, own in each.flavors.items()}) for each in parts
        ],
        "preempted": sorted(name for _, name in (each.name for each in nomination.preempted)),
    }


def expected(answer: Json) -> Json:
    sets = answer["podSets"]
    return {
        "mode": answer["mode"],
        "borrowing": answer["borrowing"],
        "podSets": [
            (each["name"], each["count"], {name: (own["name"], own["mode"]) for name, own in each["flavors"].items()}) for each in sets
        ],
        "preempted": sorted(each["name"].rpartition("/")[2] for each in answer.get("preemptionTargets") or ()),
    }


@pytest.mark.parametrize("name", JUDGED)
def test_flavors_borrowing_and_preemption_are_those_of_kueue(name):
    case = cases()[name]
    assert expected(case["answer"]) == described(nominated(case))


def test_a_job_that_is_not_admitted_has_a_reason():
    for name in JUDGED:
        nomination = nominated(cases()[name])
        if not nomination.is_admitted:
            assert any(each.reasons for each in nomination.assignment.parts), name


def given_pods(case: Json) -> list[Json]:
    """Return the Workload of a situation as a pod group of Kueue, which has one part for each kind of pods."""
    workload = case["workload"]
    labels = {"kueue.x-k8s.io/queue-name": workload["spec"]["queueName"], "kueue.x-k8s.io/pod-group-name": "g"}
    metadata = {"namespace": workload["metadata"]["namespace"], "labels": labels}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "name": f"{index}-{number}"},
            # The name of a container keeps parts apart that have equal pods.
            "spec": {
                **each["template"]["spec"],
                "priority": workload["spec"].get("priority") or 0,
                "hostname": f"part-{index}",
            },
        }
        for index, each in enumerate(workload["spec"]["podSets"])
        for number in range(each["count"])
    ]


def is_plain(case: Json) -> bool:
    """Return whether pods at PATH can express a situation: they can exist, they are new, and they have no minimum."""
    sets = case["workload"]["spec"]["podSets"]
    why = case["answer"]["inadmissible"] or ""
    return not any("minCount" in each or "topologyRequest" in each for each in sets) and "resources" not in why and "missing" not in why


def test_the_verdict_about_pods_is_that_of_kueue():
    judged = [each for each in cases().values() if is_plain(each) and is_stored(each)]
    newest = [each for each in judged if "LowerOrNewerEqualPriority" not in str(each["objects"])]
    assert len(newest) > 150
    for case in newest:
        found = expand(given_pods(case), case["objects"])
        assert (case["answer"].get("mode") == "Fit") is not bool(found.refused), case["name"]
        facts = [each.fact for each in (*found.refused, *found.notes)]
        assert (
            case["answer"]["inadmissible"] or any(isinstance(each, AdmittedByQueue | QueueQuotaExceeded) for each in facts) or found.refused
        )
