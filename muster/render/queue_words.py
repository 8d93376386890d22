"""Notes on queued jobs and causes of Kueue in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from expansion import queue_notes as notes
from expansion.queue_notes import Mismatch, QueueNote
from kubeapi.names import Name
from kubeapi.resource_names import size
from scheduler_core.wording.titles import label
from validators.reports.counts import counted

_MISMATCHES = {
    Mismatch.FLAVOR_MISSING: "does not exist",
    Mismatch.TAINT: "has a taint that its pods do not tolerate",
    Mismatch.LABELS: "has other node labels than its pods require",
    Mismatch.TOPOLOGY_REQUIRED: "has a Topology, and is only for pods that request one: add an annotation kueue.x-k8s.io/podset-…-topology",
    Mismatch.TOPOLOGY_MISSING: "has no Topology, which its pods request",
    Mismatch.LEVEL_MISSING: "has a Topology without the level that its pods request",
}
_NO_SURGE = "spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}"
_NAMED = 3
"""Maximum number of Workloads that are named."""


def queue_words(fact: QueueNote) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of note
    """Return the message of a note about a job and its queue."""
    match fact:
        case notes.QueueQuotaExceeded():
            return _exceeded(fact)
        case notes.FlavorUnsuitable():
            part = f" (part {fact.pod_set})" if fact.pod_set else ""
            return f"queue {fact.cluster_queue.name}: flavor {fact.flavor} {_MISMATCHES[fact.mismatch]}{part}"
        case notes.ResourceNotCovered():
            return f"queue {fact.cluster_queue.name} has no quota of {fact.resource}: no resource group covers it"
        case notes.QueueInactive():
            return f"{label(fact.queue)} admits nothing: {'; '.join(_inactive(fact))}"
        case notes.QueueMissing():
            hint = f"; did you mean {fact.similar!r}?" if fact.similar else ""
            return f"there is no {label(fact.queue)}{hint}"
        case notes.NamespaceNotSelected():
            return f"the namespace selector of queue {fact.cluster_queue.name} does not match its namespace"
        case notes.AdmittedByQueue():
            return _admitted(fact)
        case notes.WorkloadsAhead():
            return _ahead(fact)
        case notes.QueueUnused():
            return f"queue {fact.local_queue.name} has no effect: Kueue does not manage this kind; {_unused(fact)}"
        case notes.FlavorsAssumed():
            return f"{', '.join(fact.flavors)}: not among the inputs, and taken to have no node labels, taints and topology"
        case notes.TopologiesAssumed():
            return f"{', '.join(fact.topologies)}: not among the inputs, and taken to have the levels that pods request"
        case notes.NamespaceLabelsUnknown():
            return f"its labels are not known, and are taken to match the selector of queue {fact.cluster_queue.name}: add the Namespace"
        case notes.RunsElsewhere():
            return f"Kueue starts it in another cluster, by the AdmissionCheck {fact.check}: its pods are not simulated"
    assert_never(fact)


def _exceeded(fact: notes.QueueQuotaExceeded) -> str:
    free, needed = (size(fact.resource, each) for each in (fact.free, fact.needed))
    more = " more" if fact.own else ""
    parts = [f"nominal {size(fact.resource, fact.nominal)}"]
    parts += [f"{size(fact.resource, fact.used - fact.own)} used"] if fact.used > fact.own else []
    parts += [f"{size(fact.resource, fact.own)} for other pods of it"] if fact.own else []
    parts += [f"cohort {fact.cohort} lends {size(fact.resource, fact.lent)}"] if fact.cohort else []
    words = (
        f"queue {fact.cluster_queue.name} leaves {free} {fact.resource} of flavor {fact.flavor} ({', '.join(parts)}), {needed}{more} needed"
    )
    if fact.surge:
        return f"{words} for its update, which creates a pod before it deletes one; {_NO_SURGE} needs no more"
    if fact.preempted:
        return f"{words}; Kueue preempts {_listed(fact.preempted)} for it"
    if fact.needed + fact.own > fact.largest:
        return f"{words}: more than it can ever have" if fact.used or fact.largest > fact.free else words
    return f"{words}; it waits until others end"


def _unused(fact: notes.QueueUnused) -> str:
    if fact.of_jobs:
        return "with the label in spec.jobTemplate.metadata it queues the Jobs"
    return "with the label in the pod template it queues the pods"


def _ahead(fact: notes.WorkloadsAhead) -> str:
    come, they, are = ("comes", "it takes", "it is") if len(fact.workloads) == 1 else ("come", "they take", "they are")
    effect = f"{are} admitted first, because the queue is strict" if fact.blocking else f"what {they} is not considered"
    return f"{_listed(fact.workloads)} of queue {fact.cluster_queue.name} {come} before it: {effect}"


def _listed(workloads: Sequence[Name]) -> str:
    names = ", ".join(f"{each.namespace}/{each.name}" for each in workloads[:_NAMED])
    more = len(workloads) - _NAMED
    return f"{counted(len(workloads), 'Workload')}, {names}{f' and {more:,} more' if more > 0 else ''},"


def _inactive(fact: notes.QueueInactive) -> Iterator[str]:
    if fact.stopped:
        yield "its stopPolicy holds it"
    if fact.terminating:
        yield "it is being deleted"
    if fact.in_cycle:
        yield "its cohort is its own ancestor"
    if fact.missing_objects:
        yield f"there is no {', '.join(map(label, fact.missing_objects))}"
    if fact.inactive_checks:
        yield f"{', '.join(map(label, fact.inactive_checks))} {'is' if len(fact.inactive_checks) == 1 else 'are'} not active"


def _admitted(fact: notes.AdmittedByQueue) -> str:
    flavors = f", on nodes of flavor {', '.join(fact.flavors)}" if fact.flavors else ""
    borrows = ", with quota that others lend" if fact.borrows else ""
    pods = f" with {fact.pods} of its {counted(fact.of_pods, 'pod')}" if fact.pods < fact.of_pods else ""
    checks = f"; its pods start when {', '.join(fact.checks)} {'is' if len(fact.checks) == 1 else 'are'} ready too" if fact.checks else ""
    return f"queue {fact.cluster_queue.name} of Kueue has quota for it{flavors}{borrows}: it is admitted{pods}{checks}"
