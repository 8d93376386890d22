"""Jobs with a queue that Kueue admits now, in order, and the changes of their pods by the admission.

A job comes after the Workloads that have reserved quota, and after the jobs before it in the input.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion import queue_notes
from expansion.contents import Content, items
from expansion.created import Expansion
from expansion.kueue.assign_flavors import FlavorShortage, NotCovered, Unsuitable, tolerations_of
from expansion.kueue.nominate import Nomination, nominate, reserve
from expansion.kueue.pending import PendingJob, PodSet, ahead
from expansion.kueue.queued_jobs import QueuedJob, incomplete_pods, queued_jobs, unused_queues
from expansion.kueue.queues import Queue, Queues, checks_of
from expansion.kueue.quota_tree import FlavorResource
from expansion.notes import KueueQuotas, NotExpressed, RefusedByKueue
from expansion.queue_notes import Mismatch, QueueNote
from kubeapi import kueue
from kubeapi.base_structs import replaced
from kubeapi.decode import encode, section
from kubeapi.decoders import DECODERS
from kubeapi.field_path import FieldPath, Key
from kubeapi.gathered import GatheredObjects
from kubeapi.names import Name
from kubeapi.pod_requests import demand
from kubeapi.pods import Pod
from kubeapi.problem import Problem
from kubeapi.selectors import LabelSelector
from workloadbuilder.adapters.shared.known_objects import similar_name
from workloadbuilder.adapters.shared.kueue_flavors import require_levels

_QUEUE = "ClusterQueue"
_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_MAIN = "main"
"""Name of the part of a job that has only one."""
_TOPOLOGY = "kueue.x-k8s.io/podset-"
_LEVELS = ("required-topology", "preferred-topology", "slice-required-topology")
_OTHER_NODES = frozenset({Mismatch.FLAVOR_MISSING, Mismatch.TAINT, Mismatch.LABELS})
_NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclasses.dataclass(slots=True)
class QueuedJobs:
    """Result for all jobs.

    Attributes:
        refused: those that are not admitted, with the reason.
        skipped: those that run in another cluster.
        notes: what is said about the others.
        unread: objects of Kueue that cannot be read.
        judged: the objects with a queue.
        left_out: identities of pods that do not start here: of jobs that are admitted with fewer, or run in another cluster.

    """

    refused: list[Problem] = dataclasses.field(default_factory=list)
    skipped: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[Problem] = dataclasses.field(default_factory=list)
    unread: list[Problem] = dataclasses.field(default_factory=list)
    judged: set[Name] = dataclasses.field(default_factory=set)
    left_out: set[int] = dataclasses.field(default_factory=set)

    def tells(self, note: Problem) -> bool:
        """Return whether a note of an adapter, that a queue is not considered, is no longer true."""
        return isinstance(note.fact, NotExpressed) and note.fact.field.endswith(_QUEUE_FIELD) and not self.judged.isdisjoint(note.names)


_QUEUE_FIELD = str(FieldPath("metadata", "labels", Key(kueue.QUEUE)))
"""End of the path of a label for a queue, in an object or in its template of a Job."""


def objects_of_kueue(objects: Iterable[GatheredObjects]) -> list[GatheredObjects]:
    """Return the objects of Kueue; none if there is no ClusterQueue, without which nothing is known of its quotas."""
    found = [each for each in objects if each.api_version.rpartition("/")[0] == kueue.API_GROUP]
    return found if any(each.kind == _QUEUE for each in found) else []


def admit_jobs(
    expansion: Expansion,
    pods: Iterable[Content],
    objects: Sequence[GatheredObjects],
    namespaces: Iterable[Content],
    replaced_pods: Iterable[tuple[str, str]] = (),
    surging: Callable[[], Collection[Name]] = tuple,
) -> QueuedJobs:
    """Admit the jobs of *expansion*, and the given *pods*, as Kueue does; the pods of admitted ones are changed in place.

    *objects* are those of Kueue, with a ClusterQueue; *namespaces* the Namespaces; *replaced_pods* those of the cluster (namespace, name)
    in whose place others are created; *surging* returns the Deployments whose updates create a pod before they delete one, when their
    new pods have what flavors give them.
    """
    result = QueuedJobs()
    jobs = [*queued_jobs(expansion, pods)]
    result.notes += unused_queues(expansion, (each.origin for each in jobs))
    if not jobs:
        result.notes += [] if result.notes or incomplete_pods(expansion) else _without_jobs(objects)
        return result
    owners = {(each.origin.kind, each.origin.namespace, each.origin.name) for each in jobs}
    replaced = frozenset(owners | {("Pod", *each) for each in replaced_pods})
    queues = Queues.from_objects(objects, replaced)
    result.unread += queues.problems
    result.judged = {each.origin for each in jobs}
    labels = {str(section(each, "metadata").get("name")): section(section(each, "metadata"), "labels") for each in namespaces}
    by_kueue = {name for each in expansion.refused if isinstance(each.fact, RefusedByKueue) for name in each.names}
    admission = _Admission(queues, labels, by_kueue, result)
    for each in jobs:
        admission.admit(each)
    updated = surging()
    for each in {each.origin: each for each in jobs if each.origin in updated}.values():
        admission.admit_surge(each)
    result.notes += admission.started()
    if queues.assumed:
        result.notes.append(Problem(queue_notes.FlavorsAssumed(tuple(sorted(queues.assumed))), place="ResourceFlavor"))
    if queues.assumed_topologies:
        result.notes.append(Problem(queue_notes.TopologiesAssumed(tuple(sorted(queues.assumed_topologies))), place="Topology"))
    # Jobs that are parts of one object have the same reasons.
    result.notes, result.refused, result.skipped = ([*dict.fromkeys(each)] for each in (result.notes, result.refused, result.skipped))
    return result


def _without_jobs(objects: Sequence[GatheredObjects]) -> Iterator[Problem]:
    """Yield a note that no job names one of the queues."""
    yield Problem(KueueQuotas(sum(each.kind == _QUEUE for each in objects)), place=_QUEUE)


class _Admission:
    """Admits one job after the other.

    *labels* are those of the namespaces that are known, *refused* the objects with annotations that Kueue refuses.
    """

    def __init__(self, queues: Queues, labels: Mapping[str, Mapping[str, Any]], refused: Container[Name], result: QueuedJobs) -> None:
        self._queues, self._labels, self._refused, self._result = queues, labels, refused, result
        self._started: defaultdict[Name, list[queue_notes.AdmittedByQueue]] = defaultdict(list)
        self._own: defaultdict[Name, Counter[FlavorResource]] = defaultdict(Counter)
        """What the jobs of an object use that are admitted already."""

    def admit(self, job: QueuedJob) -> None:
        """Admit *job*, or say why not."""
        queue, why = self._queue(job)
        if queue is None:
            self._result.refused += (Problem.about(job.origin, each) for each in why)
            return
        if check := next((each for each in self._checks(queue) if self._is_multikueue(each)), ""):
            self._result.skipped.append(Problem.about(job.origin, queue_notes.RunsElsewhere(check)))
            self._result.left_out |= {id(pod) for _, pods in job.pod_sets for pod in pods}
            return
        pending = PendingJob([_pod_set(name, pods, job.manifest) for name, pods in job.pod_sets], self._priority(job))
        if before := ahead(queue.waiting, (job.origin.kind, job.origin.namespace, job.origin.name), pending.priority):
            names = tuple(Name("Workload", *each) for each in before)
            fact = queue_notes.WorkloadsAhead(_cluster_queue(queue.node.name), names, queue.spec.queueing_strategy == "StrictFIFO")
            self._result.notes.append(Problem.about(job.origin, fact))
        nomination = nominate(self._queues, queue, pending)
        if not nomination.is_admitted:
            reasons = _reasons(queue, nomination, self._own[job.origin])
            self._result.refused += (Problem.about(job.origin, each) for each in reasons if not self._is_known(job, each))
            self._suppose(job, queue, nomination)
            return
        reserve(queue, nomination)
        self._own[job.origin].update(nomination.assignment.usage)
        self._start(job, queue, nomination)

    def _is_known(self, job: QueuedJob, reason: QueueNote) -> bool:
        """Return whether a missing level is the reason why Kueue refuses the object of a job already."""
        is_level = isinstance(reason, queue_notes.FlavorUnsuitable) and reason.mismatch is Mismatch.LEVEL_MISSING
        return is_level and job.origin in self._refused

    def admit_surge(self, job: QueuedJob) -> None:
        """Say why one more pod like *job*, besides all of its object, is not admitted."""
        if any(job.origin in each.names for each in self._result.refused) or (queue := self._queue(job)[0]) is None:
            return
        pending = PendingJob([_pod_set(name, pods, job.manifest) for name, pods in job.pod_sets], self._priority(job))
        nomination = nominate(self._queues, queue, pending)
        for each in [] if nomination.is_admitted else _reasons(queue, nomination, self._own[job.origin]):
            if isinstance(each, queue_notes.QueueQuotaExceeded):
                self._result.refused.append(Problem.about(job.origin, replaced(each, surge=True)))

    def _queue(self, job: QueuedJob) -> tuple[Queue | None, list[QueueNote]]:
        """Return the ClusterQueue that can admit a job; None, with the reasons, if its queue admits nothing."""
        namespace = job.origin.namespace
        local = self._queues.local.get((namespace, job.queue))
        if local is None:
            similar = similar_name(job.queue, sorted(name for space, name in self._queues.local if space == namespace))
            return None, [queue_notes.QueueMissing(Name("LocalQueue", namespace, job.queue), similar)]
        if local.stop_policy not in {"", "None"}:
            return None, [queue_notes.QueueInactive(Name("LocalQueue", namespace, job.queue), stopped=True)]
        queue = self._queues.queues.get(local.cluster_queue)
        if queue is None:
            similar = similar_name(local.cluster_queue, sorted(self._queues.queues))
            return None, [queue_notes.QueueMissing(_cluster_queue(local.cluster_queue), similar)]
        if not queue.is_active:
            return None, [_inactive(queue)]
        return self._selected(queue, namespace)

    def _selected(self, queue: Queue, namespace: str) -> tuple[Queue | None, list[QueueNote]]:
        """Return *queue* if its selector matches a namespace, or may match one whose labels are not known."""
        selector, name = queue.spec.namespace_selector, _cluster_queue(queue.node.name)
        known = self._labels.get(namespace)
        if selector is None:
            return None, [queue_notes.NamespaceNotSelected(name)]
        keys = {*(selector.match_labels or ()), *(each.key for each in selector.match_expressions or ())}
        if known is None and keys - {_NAMESPACE_NAME}:
            self._result.notes.append(Problem.about(Name("Namespace", "", namespace), queue_notes.NamespaceLabelsUnknown(name)))
            return queue, []
        labels = {_NAMESPACE_NAME: namespace, **(known or {})}
        return (queue, []) if _matches(selector, labels) else (None, [queue_notes.NamespaceNotSelected(name)])

    def _priority(self, job: QueuedJob) -> int:
        """Return the priority of a job in its queue: of its WorkloadPriorityClass, or else that of its pods."""
        name = section(section(job.manifest, "metadata"), "labels").get(kueue.PRIORITY_CLASS)
        if isinstance(name, str) and name in self._queues.priorities:
            return self._queues.priorities[name]
        priorities = (section(pod, "spec").get("priority") for _, pods in job.pod_sets for pod in pods[:1])
        return next((each for each in priorities if isinstance(each, int) and not isinstance(each, bool)), 0)

    def _checks(self, queue: Queue, flavors: Iterable[str] = ()) -> list[str]:
        """Return the AdmissionChecks of a job with *flavors*; without them, those for all flavors."""
        used = {*flavors}
        return sorted(name for name, only in checks_of(queue.spec).items() if not only or used & only)

    def _is_multikueue(self, check: str) -> bool:
        return check in self._queues.checks and self._queues.checks[check].spec.controller_name == _MULTIKUEUE

    def _start(self, job: QueuedJob, queue: Queue, nomination: Nomination) -> None:
        """Change the pods of an admitted job as Kueue does: node labels and tolerations of flavors, and fewer pods."""
        parts = nomination.assignment.parts
        for part, (name, pods) in zip(parts, job.pod_sets, strict=True):
            self._result.left_out |= {id(pod) for pod in pods[part.count :]}
            self._use(name, pods[: part.count], (each.flavor for each in part.flavors.values()))
        flavors = tuple(dict.fromkeys(each.flavor for part in parts for each in part.flavors.values()))
        before, after = sum(len(pods) for _, pods in job.pod_sets), sum(each.count for each in parts)
        fact = queue_notes.AdmittedByQueue(
            _cluster_queue(queue.node.name),
            flavors,
            after,
            before,
            nomination.assignment.borrowing > 0,
            tuple(self._checks(queue, flavors)),
        )
        self._started[job.origin].append(fact)

    def _suppose(self, job: QueuedJob, queue: Queue, nomination: Nomination) -> None:
        """Change the pods of a job without enough quota as if it had it, so that the nodes of the flavor are judged."""
        named = [flavor.name for group in queue.groups for flavor in group.flavors or ()]
        flavors = named if len(named) == 1 else []
        for part, (name, pods) in itertools.zip_longest(nomination.assignment.parts, job.pod_sets):
            if part is not None:
                short = [each.resource.flavor for each in part.reasons if isinstance(each, FlavorShortage)]
                flavors = [each.flavor for each in part.flavors.values()] or short[:1] or flavors
                unsuitable = {each.flavor for each in part.reasons if isinstance(each, Unsuitable) and each.mismatch in _OTHER_NODES}
                flavors = [each for each in flavors if each not in unsuitable]
            self._use(name, pods, flavors)

    def _use(self, name: str, pods: Sequence[Content], flavors: Iterable[str]) -> None:
        """Give *pods* of the part *name* what *flavors* have."""
        for pod in pods:
            pod["metadata"]["labels"] = {**section(section(pod, "metadata"), "labels"), kueue.PODSET: name or _MAIN}
        for flavor in dict.fromkeys(flavors):
            if flavor in self._queues.flavors:
                _use(self._queues.flavors[flavor].spec, pods)
                for pod in pods:
                    require_levels(pod["spec"], self._queues.topologies.get(self._queues.flavors[flavor].spec.topology_name, ()))

    def started(self) -> Iterator[Problem]:
        """Yield one note for each object all of whose jobs are admitted."""
        refused = {name for each in self._result.refused for name in each.names}
        for origin, facts in self._started.items():
            if origin not in refused:
                yield Problem.about(origin, _together(facts))


def _together(facts: Sequence[queue_notes.AdmittedByQueue]) -> queue_notes.AdmittedByQueue:
    """Return one note for the jobs of an object."""
    return replaced(
        facts[0],
        flavors=tuple(dict.fromkeys(flavor for each in facts for flavor in each.flavors)),
        pods=sum(each.pods for each in facts),
        of_pods=sum(each.of_pods for each in facts),
        borrows=any(each.borrows for each in facts),
        checks=tuple(dict.fromkeys(check for each in facts for check in each.checks)),
    )


def _cluster_queue(name: str) -> Name:
    return Name(_QUEUE, "", name)


def _inactive(queue: Queue) -> queue_notes.QueueInactive:
    missing = (
        *(Name("ResourceFlavor", "", each) for each in queue.missing_flavors),
        *(Name("AdmissionCheck", "", each) for each in queue.missing_checks),
        *(Name("Topology", "", each) for each in queue.missing_topologies),
    )
    inactive = tuple(Name("AdmissionCheck", "", each) for each in queue.inactive_checks)
    return queue_notes.QueueInactive(
        _cluster_queue(queue.node.name), queue.is_stopped, queue.terminating, queue.in_cycle, missing, inactive
    )


def _matches(selector: LabelSelector, labels: Mapping[str, Any]) -> bool:
    pairs = all(labels.get(key) == value for key, value in (selector.match_labels or {}).items())
    return pairs and all(_holds(each.operator, labels.get(each.key), each.values or ()) for each in selector.match_expressions or ())


def _holds(operator: str, value: Any, values: Sequence[str]) -> bool:
    if operator in {"Exists", "DoesNotExist"}:
        return (value is not None) is (operator == "Exists")
    return (value in values) is (operator == "In")


def _pod_set(name: str, pods: Sequence[Content], manifest: Mapping[str, Any]) -> PodSet:
    """Return a part of a job, whose pods are equal."""
    first = pods[0]
    metadata, spec = section(first, "metadata"), section(first, "spec")
    annotations = section(metadata, "annotations")
    wanted = [key for key in annotations if key.startswith(_TOPOLOGY) and key != f"{_TOPOLOGY}group-name"]
    levels = tuple(str(annotations[f"{_TOPOLOGY}{each}"]) for each in _LEVELS if f"{_TOPOLOGY}{each}" in annotations)
    return PodSet(
        name,
        len(pods),
        _requests(encode({"metadata": {"name": "pod"}, "spec": spec})),
        spec,
        _minimum(manifest, len(pods)),
        levels if wanted else None,
        str(annotations.get(f"{_TOPOLOGY}group-name") or ""),
    )


@functools.lru_cache(maxsize=256)
def _requests(pod: bytes) -> Mapping[str, int]:
    """Return what a pod requests, amounts of 0 too; nothing if it cannot be read, which the reader of the pod reports."""
    try:
        decoded = DECODERS[Pod].decode(pod)
        return {**dict.fromkeys(_named_resources(decoded), 0), **dict(demand(decoded).requests)}
    except (ValueError, RecursionError):
        return {}


def _named_resources(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    for each in (spec.resources, *(container.resources for container in (*(spec.containers or ()), *(spec.init_containers or ())))):
        if each is not None:
            yield from (*(each.requests or ()), *(each.limits or ()))
    yield from spec.overhead or ()


def _minimum(manifest: Mapping[str, Any], count: int) -> int | None:
    """Return the number of pods with which a Job can be admitted too; None: only with all."""
    if (manifest.get("apiVersion"), manifest.get("kind")) != ("batch/v1", "Job"):
        return None
    written = section(section(manifest, "metadata"), "annotations").get(kueue.MIN_PARALLELISM)
    if not isinstance(written, str) or not written.isdecimal() or not written.isascii() or len(written) > len(str(count)):
        return None
    return int(written) if 0 < int(written) < count else None


def _use(flavor: kueue.ResourceFlavorSpec, pods: Iterable[Content]) -> None:
    """Give *pods* the node labels and tolerations of a flavor."""
    tolerations = tolerations_of(flavor)
    for pod in pods:
        spec = pod["spec"]
        if flavor.node_labels:
            spec["nodeSelector"] = {**section(spec, "nodeSelector"), **flavor.node_labels}
        if tolerations:
            given = items(spec, "tolerations")
            spec["tolerations"] = [*given, *(each for each in tolerations if each not in given)]


def _reasons(queue: Queue, nomination: Nomination, own: Mapping[FlavorResource, int]) -> Iterator[QueueNote]:
    """Yield why a job is not admitted: of each resource of a flavor the largest shortage first, then what else is against it.

    *own* is what other jobs of its object use.
    """
    name = _cluster_queue(queue.node.name)
    failed = [part for part in nomination.assignment.parts if part.reasons]
    shortages = {reason.resource: reason for part in failed for reason in part.reasons if isinstance(reason, FlavorShortage)}
    preempted = tuple(Name("Workload", *each.name) for each in nomination.preempted)
    chosen = nomination.assignment.short
    for resource, shortage in sorted(shortages.items(), key=lambda each: -each[1].mode):
        yield _exceeded(queue, shortage, preempted if resource in chosen else (), own.get(resource, 0))
    others = [(part.pod_set.name, reason) for part in failed for reason in part.reasons]
    for pod_set, reason in others:
        if isinstance(reason, NotCovered):
            yield queue_notes.ResourceNotCovered(name, reason.resource)
        elif not isinstance(reason, FlavorShortage):
            yield queue_notes.FlavorUnsuitable(name, reason.flavor, pod_set, reason.mismatch)


def _exceeded(queue: Queue, shortage: FlavorShortage, preempted: tuple[Name, ...], own: int) -> queue_notes.QueueQuotaExceeded:
    node, of = queue.node, shortage.resource
    free, nominal, used = max(0, node.available(of)), node.quota(of).nominal, node.usage[of]
    return queue_notes.QueueQuotaExceeded(
        _cluster_queue(node.name),
        of.flavor,
        of.resource,
        free,
        shortage.needed,
        nominal,
        used,
        node.most(of),
        node.parent.name if node.parent is not None else "",
        free - min(free, max(0, nominal - used)),
        preempted,
        own,
    )
