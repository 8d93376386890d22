"""Queues of Kueue with their quotas and what is reserved of them, as Kueue's cache has them.

Source: Kueue 0.17.0, ``pkg/cache/scheduler``.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from expansion.kueue.pending import Waiting
from expansion.kueue.quota_tree import FlavorResource, Quota, QuotaNode
from kubeapi import kueue, quantity
from kubeapi.decode import NotJson, WrongShapeError, decode, shape_error
from kubeapi.decoders import DECODERS
from kubeapi.gather import by_name, left_out
from kubeapi.gathered import DEEP, GatheredObjects
from kubeapi.kueue import ClusterQueue, KueueWorkload, ResourceFlavor, ResourceGroup
from kubeapi.meta import Struct
from kubeapi.problem import Problem

S = TypeVar("S", bound=Struct)
ObjectName = tuple[str, str]
"""Namespace and name."""
_SETTLED = "QuotaReserved"


@dataclasses.dataclass(eq=False, slots=True)
class Reserved:
    """Workload that has reserved quota.

    Attributes:
        name: its namespace and name.
        amounts: what it has reserved.
        priority: its priority.
        created: time of its creation.
        since: time of the reservation.
        uid: its uid.
        evicted: whether it is being evicted.
        queue: the ClusterQueue.
        owners: kind and name of its jobs.

    """

    name: ObjectName
    amounts: Mapping[FlavorResource, int]
    priority: int
    created: str
    since: str
    uid: str
    evicted: bool
    queue: QuotaNode
    owners: frozenset[tuple[str, str]] = frozenset()


@dataclasses.dataclass(slots=True)
class Queue:
    """ClusterQueue, with its node in the tree of quotas, and the Workloads that have reserved some of them, or wait for some."""

    spec: kueue.ClusterQueueSpec
    node: QuotaNode
    label_keys: Sequence[frozenset[str]]
    """Keys of the node labels of all flavors, by resource group."""
    workloads: list[Reserved] = dataclasses.field(default_factory=list)
    waiting: list[Waiting] = dataclasses.field(default_factory=list)
    terminating: bool = False
    missing_flavors: tuple[str, ...] = ()
    missing_checks: tuple[str, ...] = ()
    inactive_checks: tuple[str, ...] = ()
    missing_topologies: tuple[str, ...] = ()
    in_cycle: bool = False
    has_topology_only: bool = False
    """Whether all of its flavors have a Topology."""

    @property
    def is_active(self) -> bool:
        """Return whether it admits Workloads."""
        missing = (*self.missing_flavors, *self.missing_checks, *self.inactive_checks, *self.missing_topologies)
        return not (self.terminating or self.is_stopped or missing or self.in_cycle)

    @property
    def is_stopped(self) -> bool:
        """Return whether its stop policy holds it."""
        return self.spec.stop_policy not in {"", "None"}

    @property
    def groups(self) -> Sequence[ResourceGroup]:
        """Return its resource groups."""
        return self.spec.resource_groups or ()

    def group_of(self, resource: str) -> int | None:
        """Return the index of the resource group of a resource; None if no group covers it."""
        return next((index for index, each in enumerate(self.groups) if resource in (each.covered_resources or ())), None)


@dataclasses.dataclass(slots=True)
class Queues:
    """All queues.

    Attributes:
        queues: the ClusterQueues by name.
        cohorts: the Cohorts by name; those too that ClusterQueues or Cohorts name only.
        local: the LocalQueues.
        flavors: the ResourceFlavors by name.
        topologies: the node labels of the levels of Topologies.
        assumed: names of flavors that are not among the objects, and are taken to be without labels, taints and topology.
        assumed_topologies: names of Topologies of flavors that are not among the objects, and are taken to have all levels.
        priorities: the values of WorkloadPriorityClasses.
        checks: the AdmissionChecks, with their controllers.
        problems: the objects that cannot be read.
        complete: whether there are no other ones.

    """

    queues: dict[str, Queue] = dataclasses.field(default_factory=dict)
    cohorts: dict[str, QuotaNode] = dataclasses.field(default_factory=dict)
    local: dict[ObjectName, kueue.LocalQueueSpec] = dataclasses.field(default_factory=dict)
    flavors: dict[str, ResourceFlavor] = dataclasses.field(default_factory=dict)
    topologies: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    assumed_topologies: set[str] = dataclasses.field(default_factory=set)
    priorities: dict[str, int] = dataclasses.field(default_factory=dict)
    checks: dict[str, kueue.AdmissionCheck] = dataclasses.field(default_factory=dict)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    complete: bool = False

    @classmethod
    def from_objects(
        cls, objects: Iterable[GatheredObjects], replaced: frozenset[tuple[str, str, str]] = frozenset(), *, complete: bool = False
    ) -> Queues:
        """Return the queues among *objects* of Kueue; the Workloads of the jobs *replaced* (kind, namespace, name) have reserved nothing.

        If *complete*, objects that a ClusterQueue names and that are not among them do not exist.  Otherwise that is known only of the
        kinds of which there is one.
        """
        kinds = _Kinds(objects)
        result = cls(problems=kinds.problems, complete=complete)
        result.flavors = {name: each for (_, name), each in kinds.read(ResourceFlavor)}
        result.topologies = {
            name: tuple(level.node_label for level in each.spec.levels or ()) for (_, name), each in kinds.read(kueue.Topology)
        }
        result.checks = {name: each for (_, name), each in kinds.read(kueue.AdmissionCheck)}
        result.priorities = {name: each.value for (_, name), each in kinds.read(kueue.WorkloadPriorityClass)}
        result.local = {name: each.spec for name, each in kinds.read(kueue.LocalQueue)}
        parents = result._add_cohorts(kinds)
        statuses = result._add_queues(kinds)
        in_cycle = _in_cycles(parents)
        for name, above in parents.items():
            if above and name not in in_cycle:
                result._link(result.cohorts[name], result._cohort(above), "cohorts")
        result._add_usage([*kinds.read(KueueWorkload)], statuses, replaced)
        for queue in result.queues.values():
            cohort = queue.spec.cohort_name or queue.spec.cohort
            queue.in_cycle = cohort in in_cycle
            if cohort and not queue.in_cycle:
                result._link(queue.node, result._cohort(cohort), "queues" if queue.is_active else "inactive")
        for node in (*result.cohorts.values(), *(each.node for each in result.queues.values())):
            if node.parent is None:
                node.settle()
        return result

    def _add_cohorts(self, kinds: _Kinds) -> dict[str, str]:
        """Add the Cohorts; return the name of the one above each."""
        parents = {}
        for (_, name), each in kinds.read(kueue.Cohort):
            if (quotas := kinds.quotas(each.spec.resource_groups or (), "Cohort", name)) is not None:
                self.cohorts[name] = QuotaNode(name, quotas)
                parents[name] = each.spec.parent_name or each.spec.parent
        return parents

    def _add_queues(self, kinds: _Kinds) -> dict[str, ClusterQueue]:
        """Add the ClusterQueues, which no Cohort has yet; return the objects by name."""
        objects, known = {}, self.complete or bool(self.flavors)
        assumed = set[str]()
        for (_, name), each in kinds.read(ClusterQueue):
            if (quotas := kinds.quotas(each.spec.resource_groups or (), "ClusterQueue", name)) is None:
                continue
            objects[name] = each
            missing = dict.fromkeys(flavor.name for flavor in _flavors(each.spec) if flavor.name not in self.flavors)
            assumed.update(() if known else missing)
            keys = [frozenset(self._label_keys(group)) for group in each.spec.resource_groups or ()]
            queue = self.queues[name] = Queue(
                each.spec, QuotaNode(name, quotas), keys, terminating=each.metadata.deletion_timestamp is not None
            )
            queue.missing_flavors = tuple(missing) if known else ()
            self._set_checks(queue)
            self._set_topologies(queue)
        self.assumed = frozenset(assumed)
        return objects

    def _label_keys(self, group: ResourceGroup) -> Iterator[str]:
        for each in group.flavors or ():
            if each.name in self.flavors:
                yield from self.flavors[each.name].spec.node_labels or {}

    def _set_checks(self, queue: Queue) -> None:
        if not (self.complete or self.checks):
            return
        names = sorted(checks_of(queue.spec))
        queue.missing_checks = tuple(each for each in names if each not in self.checks)
        inactive = (each for each in names if each in self.checks and not _is_active(self.checks[each]))
        queue.inactive_checks = tuple(inactive)

    def _set_topologies(self, queue: Queue) -> None:
        flavors = [each.name for each in _flavors(queue.spec)]
        named = [self.flavors[each].spec.topology_name if each in self.flavors else "" for each in flavors]
        queue.has_topology_only = bool(named) and all(named)
        if not (self.complete or self.topologies):
            self.assumed_topologies.update(each for each in named if each)
        else:
            queue.missing_topologies = tuple(dict.fromkeys(each for each in named if each and each not in self.topologies))

    def _cohort(self, name: str) -> QuotaNode:
        """Return the Cohort; one without an object has no quotas of its own."""
        return self.cohorts.setdefault(name, QuotaNode(name, {}))

    @staticmethod
    def _link(node: QuotaNode, above: QuotaNode, part: str) -> None:
        node.parent = above
        getattr(above, part).append(node)

    def _add_usage(
        self,
        workloads: Sequence[tuple[ObjectName, KueueWorkload]],
        statuses: Mapping[str, ClusterQueue],
        replaced: frozenset[tuple[str, str, str]],
    ) -> None:
        """Set the usage of the ClusterQueues: that of their status, or else that of Workloads; without that of *replaced* jobs."""
        usage: defaultdict[str, Counter[FlavorResource]] = defaultdict(Counter)
        gone: defaultdict[str, Counter[FlavorResource]] = defaultdict(Counter)
        for name, workload in workloads:
            if (each := self._reserved(name, workload)) is None:
                if not any(("Pod", name[0], owner) in replaced for kind, owner in _owners(workload) if kind == "Pod"):
                    self._add_waiting(name, workload)
                continue
            if any((kind, name[0], owner) in replaced for kind, owner in each.owners):
                gone[each.queue.name].update(each.amounts)
                continue
            usage[each.queue.name].update(each.amounts)
            self.queues[each.queue.name].workloads.append(each)
        for queue_name, queue in self.queues.items():
            stated = statuses[queue_name].status.flavors_reservation
            queue.node.usage = usage[queue_name] if stated is None else _stated(stated)
            if stated is not None:
                queue.node.usage.subtract(gone[queue_name])

    def _add_waiting(self, name: ObjectName, workload: KueueWorkload) -> None:
        """Add a Workload to its queue if it waits for quota."""
        local = self.local.get((name[0], workload.spec.queue_name))
        queue = self.queues.get(local.cluster_queue) if local is not None else None
        if queue is None or workload.has(_SETTLED) or workload.has("Finished") or workload.spec.active is False:
            return
        created, priority = workload.metadata.creation_timestamp or "", workload.spec.priority or 0
        queue.waiting.append(Waiting(name, priority, created, _owners(workload)))

    def _reserved(self, name: ObjectName, workload: KueueWorkload) -> Reserved | None:
        """Return what a Workload has reserved; None if it has reserved nothing of a known queue."""
        admission = workload.status.admission
        queue = self.queues.get(admission.cluster_queue) if admission is not None else None
        if admission is None or queue is None or not workload.has(_SETTLED) or workload.has("Finished") or workload.spec.active is False:
            return None
        reclaimable = {each.name: each.count for each in workload.status.reclaimable_pods or ()}
        counts = {each.name: each.count for each in workload.spec.pod_sets or ()}
        amounts: Counter[FlavorResource] = Counter()
        for each in admission.pod_set_assignments or ():
            count = each.count if each.count is not None else counts.get(each.name, 0)
            left = counts.get(each.name, count) - reclaimable.get(each.name, 0)
            for resource, flavor in (each.flavors or {}).items():
                used = amount(resource, (each.resource_usage or {}).get(resource, 0))
                amounts[FlavorResource(flavor, resource)] += used // count * left if left < count else used
        since = next((each.last_transition_time for each in workload.status.conditions or () if each.type == _SETTLED), None)
        metadata = workload.metadata
        return Reserved(
            name,
            amounts,
            workload.spec.priority or 0,
            metadata.creation_timestamp or "",
            since or "",
            metadata.uid,
            workload.has("Evicted"),
            queue.node,
            _owners(workload),
        )


def _owners(workload: KueueWorkload) -> frozenset[tuple[str, str]]:
    return frozenset((each.kind, each.name) for each in workload.metadata.owner_references or ())


def checks_of(spec: kueue.ClusterQueueSpec) -> dict[str, frozenset[str]]:
    """Return the AdmissionChecks of a ClusterQueue, each with its flavors; none: it is for all of them."""
    rules = spec.admission_checks_strategy.admission_checks or ()
    return {**dict.fromkeys(spec.admission_checks or (), frozenset()), **{each.name: frozenset(each.on_flavors or ()) for each in rules}}


def amount(resource: str, written: quantity.Amount) -> int:
    """Return an amount in millicores for cpu, else in units; 0 if it is no quantity."""
    try:
        return quantity.milli_value(written) if resource == "cpu" else quantity.value(written)
    except ValueError:
        return 0


def _flavors(spec: kueue.ClusterQueueSpec) -> Iterator[kueue.FlavorQuotas]:
    return (each for group in spec.resource_groups or () for each in group.flavors or ())


def _stated(reservation: Iterable[kueue.FlavorUsage]) -> Counter[FlavorResource]:
    return Counter(
        {FlavorResource(each.name, used.name): amount(used.name, used.total) for each in reservation for used in each.resources or ()}
    )


def _is_active(check: kueue.AdmissionCheck) -> bool:
    return any(each.type == "Active" and each.status == "True" for each in check.status.conditions or ())


def _in_cycles(parents: Mapping[str, str]) -> set[str]:
    """Return the Cohorts below which nothing is admitted: they are in a cycle, or below one."""
    found = set()
    for name in parents:
        seen, above = {name}, parents.get(name, "")
        while above and above not in seen:
            seen.add(above)
            above = parents.get(above, "")
        if above:
            found.add(name)
    return found


class _Kinds:
    """The objects of Kueue, by kind."""

    def __init__(self, objects: Iterable[GatheredObjects]) -> None:
        self.problems: list[Problem] = []
        self._listed: defaultdict[str, list[GatheredObjects]] = defaultdict(list)
        for each in objects:
            self._listed[each.kind].append(each)

    def read(self, model: type[S]) -> Iterator[tuple[ObjectName, S]]:
        """Yield the objects of a kind with their names, in the order of these."""
        kind = next(name for name, each in kueue.KINDS.items() if each is model)
        for name, gathered in sorted(by_name(self._listed[kind], self.problems).items(), key=lambda each: each[0]):
            try:
                yield name, decode(gathered.text, DECODERS[model])
            except WrongShapeError as error:
                self.problems.append(left_out(kind, name, shape_error(str(error))))
            except (NotJson, RecursionError):
                self.problems.append(left_out(kind, name, DEEP))

    def quotas(self, groups: Iterable[ResourceGroup], kind: str, name: str) -> dict[FlavorResource, Quota] | None:
        """Return the quotas of an object; None if it cannot be used, because one is no quantity."""
        found = {}
        for flavor in (each for group in groups for each in group.flavors or ()):
            for each in flavor.resources or ():
                try:
                    found[FlavorResource(flavor.name, each.name)] = _quota(each)
                except ValueError as error:
                    self.problems.append(left_out(kind, ("", name), f"quota of {each.name} in flavor {flavor.name}: {error}"))
                    return None
        return found


def _quota(given: kueue.ResourceQuota) -> Quota:
    parse = quantity.milli_value if given.name == "cpu" else quantity.value
    limits = (None if each is None else parse(each) for each in (given.borrowing_limit, given.lending_limit))
    return Quota(parse(given.nominal_quota), *limits)
