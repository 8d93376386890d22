"""Changes that provide what the claims of a root lack: volumes, storage capacity, storage classes, attachments."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from kubeapi.base_structs import replaced
from scheduler_core.causes.changes import AddedVolumes, RaisedAttachLimits
from scheduler_core.causes.node_count import NodeLabel
from scheduler_core.diagnosis.bisection import least, necessary
from scheduler_core.model.decision import Decision
from scheduler_core.model.delayed_claims import NO_PROVISIONER, ClaimRequest
from scheduler_core.model.nodes import Ints
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.storage import ClaimOptions, Storage
from scheduler_core.model.volumes import ClaimName, ClaimState
from scheduler_core.plugins.assumed_volumes import provisioned_storage
from scheduler_core.whatif.edits import storage_edits
from scheduler_core.whatif.edits.edits import Both, Edit
from scheduler_core.whatif.edits.node_templates import section
from scheduler_core.whatif.edits.storage_edits import WAITS, AddedCapacity, ChangedStorage
from scheduler_core.whatif.remedies.nodes_by_domain import largest_need
from scheduler_core.whatif.remedies.verified import Finding
from scheduler_core.whatif.trial.present_capacity import DomainCapacity, PresentCapacity

_CLASSES = 2
"""Maximum number of existing storage classes that a missing one is tried like, and of CSI drivers."""
_SEGMENTS = 4
"""Maximum number of storage capacities that are raised."""
_MOST_VOLUMES = 64
"""Maximum number of volumes that are added, and of nodes whose attach limit is raised."""


class ProvidingStorage:
    """Tries changes of volumes and of what provides them, and keeps those that work."""

    def __init__(self, finding: Finding, capacity: PresentCapacity) -> None:
        self._finding = finding
        self._capacity = capacity
        nodes = capacity.snapshot.nodes
        self._waiting = finding.subject.waiting
        self._bare = _without_storage(finding.subject.shape, nodes.volume_rows.union(nodes.limit_rows))

    def keep(self, most_areas: int) -> None:
        """Try all changes, the small ones first, on the domains with the most capacity besides storage."""
        storage = self._capacity.snapshot.nodes.storage
        needs = [need for pod in self._waiting for need in pod.shape.volumes]
        limited = any(row in self._capacity.snapshot.nodes.limit_rows for pod in self._waiting for row, _ in pod.shape.requests)
        if not limited and all(need.state is ClaimState.BOUND for need in needs):
            return
        self._keep_classes(sorted({need.storage_class for need in needs if need.state is ClaimState.NO_CLASS}))
        areas = self._capacity.areas(most_areas, self._bare)
        if storage is not None and (requests := sorted({each.request for each in needs if each.request is not None}, key=repr)):
            options = {each: storage.options(each) for each in requests}
            lacking = {each: found for each, found in options.items() if found.lacking.any() or _is_summed(each, found)}
            # Not all at once: a change that works is not tried together with others.
            others = [each for each in self._restrictions(requests) if not self._finding.keep_if_verified(each)]
            for area in areas:
                if area.key != areas[0].key and self._has_storage_change():
                    # A volume in the narrowest domain also belongs to the wider one.
                    break
                parts = [*others, *self._keep_capacity(area, lacking), *self._keep_volumes(area, storage)]
                if len(parts) > 1 and not self._has_storage_change():
                    self._keep_together(parts)
        for area in areas if limited else ():
            self._keep_attachments(area)

    def _has_storage_change(self) -> bool:
        """Return whether a change of storage works."""
        return any(isinstance(each, ChangedStorage) for each, _ in self._finding.verified.values())

    def _keep_classes(self, names: Sequence[str]) -> None:
        """Try the missing classes *names*: like existing ones, those first that wait for a pod and provision; or with a known driver."""
        known = self._capacity.snapshot.volumes
        likes = sorted(known.classes, key=lambda each: (known.classes[each] != WAITS, not known.provisioners[each].provisions, each))
        drivers = sorted(str(section(each, "metadata").get("name")) for each in self._capacity.book.all("CSIDriver", ""))
        edits = [storage_edits.new_classes(names, like) for like in likes[:_CLASSES]]
        edits += [storage_edits.provisioned_classes(names, each) for each in (*drivers[:_CLASSES], NO_PROVISIONER)]
        any(self._finding.keep_if_verified(each) for each in edits if names)

    def _restrictions(self, requests: Sequence[ClaimRequest]) -> Iterator[ChangedStorage]:
        """Yield the removal of selected nodes, and of the allowed topologies of each class."""
        if selected := {claim: each.selected_node for pod in self._waiting for claim, each in _claims(pod) if each.selected_node}:
            yield storage_edits.unselected(selected)
        for name in sorted({each.storage_class for each in requests}):
            if self._capacity.snapshot.volumes.provisioners[name].topologies:
                yield storage_edits.without_topologies(name)

    def _keep_together(self, parts: Sequence[Edit]) -> None:
        """Try *parts* together, and then without each of them."""
        if self._finding.placed(functools.reduce(Both, parts)) is None:
            return
        needed = necessary(parts, lambda fewer: self._finding.placed(functools.reduce(Both, fewer)) is not None)
        self._finding.confirm(functools.reduce(Both, needed))

    def _keep_capacity(self, area: DomainCapacity, lacking: dict[ClaimRequest, ClaimOptions]) -> list[ChangedStorage]:
        """Try storage capacity for all volumes in each part of *area*; keep as much as the volumes that are placed there need.

        Return a change that does not work by itself, if there is one.
        """
        capacities: dict[object, AddedCapacity] = {}
        segments: dict[object, Ints] = {}
        for request, options in lacking.items():
            for key, each, nodes in self._segments(area, request, options):
                capacities[key] = each if key not in capacities or capacities[key].largest < each.largest else capacities[key]
                segments[key] = nodes
        enough = storage_edits.more_capacity([*capacities.values()])
        decision = self._finding.trial.decision(enough) if capacities else None
        if decision is None:
            return [enough] if capacities else []
        used = self._used(decision, capacities, segments)
        figures = [replaced(capacities[key], total=max(total, capacities[key].largest)) for key, total in used.items()]
        needed = self._lowered([each for each in figures if each.raised])
        if needed and not self._finding.keep_if_verified(storage_edits.more_capacity(needed)):
            self._finding.keep_if_verified(enough)
        return []

    def _used(self, decision: Decision, capacities: Mapping[object, AddedCapacity], segments: Mapping[object, Ints]) -> Counter[object]:
        """Return the bytes that the volumes of *decision* and of earlier roots need of each of *capacities* on its nodes."""
        names, used = self._capacity.snapshot.nodes.names, Counter[object]()
        by_claim = {f"{namespace}/{name}": request for pod in self._waiting for (namespace, name), request in _claims(pod)}
        for claim, choice in decision.volumes.items():
            for key, nodes in segments.items():
                request = by_claim[claim]
                if (
                    choice.node
                    and capacities[key].storage_class == request.storage_class
                    and choice.node in {names[each] for each in nodes}
                ):
                    used[key] += request.size or 0
        return Counter({key: size + capacities[key].taken for key, size in used.items()})

    def _lowered(self, capacities: Sequence[AddedCapacity]) -> Sequence[AddedCapacity]:
        """Return *capacities*; one that is raised only for a sum of volumes gets the smallest value that works."""
        for number, each in enumerate(capacities):
            claims = [request for pod in self._waiting for _, request in _claims(pod) if request.storage_class == each.storage_class]
            sums = itertools.accumulate(sorted(request.size or 0 for request in claims))
            totals = [each.taken + total for total in sums if each.before < each.taken + total < each.total]

            def lower(
                count: int, at: int = number, known: Sequence[AddedCapacity] = capacities, to: Sequence[int] = totals
            ) -> list[AddedCapacity]:
                return [*known[:at], replaced(known[at], total=to[count - 1]), *known[at + 1 :]]

            def works(count: int, lower: Callable[[int], list[AddedCapacity]] = lower) -> bool:
                return self._finding.placed(storage_edits.more_capacity(lower(count))) is not None

            if each.sums_alone and (count := least(len(totals), len(totals), works)):
                capacities = lower(count)
        return capacities

    def _segments(self, area: DomainCapacity, request: ClaimRequest, options: ClaimOptions) -> Iterator[tuple[object, AddedCapacity, Ints]]:
        """Yield what must be raised for *request*: the largest storage capacity of each node, and a new one for nodes without any."""
        name, size = request.storage_class, request.size or 0
        raisable = options.lacking.copy()
        if options.segments is not None and _is_summed(request, options):
            raisable |= options.segments.of_node >= 0
        nodes = area.nodes[raisable[area.nodes]]
        slots, largest_index = self._capacity.slots(self._bare), options.largest_index[nodes]
        numbers = sorted({*largest_index.tolist()}, key=lambda each: -int(slots[nodes[largest_index == each]].sum()))
        # A complete search sums the volumes of all pods in a storage capacity.
        total = sum(other.size or 0 for pod in self._waiting for _, other in _claims(pod) if other.storage_class == name)
        for number in numbers[:_SEGMENTS]:
            there = nodes[largest_index == number]
            label = options.segment_label(int(there[0])) if number >= 0 else None
            segment = area.domain if label is None else NodeLabel(*label)
            if number < 0:
                labels = {area.key: area.value} if area.key else {}
                yield (name, area.value), AddedCapacity(None, name, segment, -1, labels, total, size), there
                continue
            key = options.named_capacities[number][0]
            found = self._capacity.snapshot.volumes.capacities[key]
            before = -1 if found.capacity is None else found.capacity
            taken = self._taken(name, options, number)
            limit = found.largest if found.largest is not None and found.largest < size else None
            each = AddedCapacity(
                key, name, segment, before, {}, total + taken, size, limit, taken, sums_alone=not options.lacking[there].any()
            )
            if each.raised:
                yield key, each, there

    def _taken(self, name: str, options: ClaimOptions, number: int) -> int:
        """Return the bytes that volumes of earlier roots need of the storage capacity with the index *number*."""
        if options.segments is None:
            return 0
        taken = provisioned_storage(self._capacity.snapshot.pods)
        return sum(size for (other, node), size in taken.items() if other == name and options.segments.of_node[node] == number)

    def _keep_volumes(self, area: DomainCapacity, storage: Storage) -> list[ChangedStorage]:
        """Try local volumes on the nodes of *area* with the most capacity for pods beyond their free volumes; as few as work.

        Return a change that does not work by itself, if there is one.
        """
        needed = [found for pod in self._waiting if (found := _static(pod, storage))]
        if not needed:
            return []
        slots = self._capacity.slots(self._bare)
        # Pods that a node has capacity for, beyond those that its free volumes can serve.
        free = {node: len({volume for each in needed[0] for volume in storage.free_on(each, node)}) for node in area.nodes.tolist()}
        served = {node: min(int(slots[node]), number // len(needed[0])) for node, number in free.items()}
        beyond = {node: int(slots[node]) - served[node] for node in free}
        order = sorted((node for node in beyond if beyond[node] > 0), key=lambda node: (-beyond[node], node))
        places = [node for node in order for _ in range(beyond[node])][:_MOST_VOLUMES]
        names, pods = self._capacity.snapshot.nodes.names, list(zip(places, itertools.cycle(needed), strict=False))

        def volumes(count: int) -> ChangedStorage:
            return storage_edits.more_volumes([(names[node], each) for node, requests in pods[:count] for each in requests], area.domain)

        most = min(len(pods), len(needed))
        likely = largest_need(self._finding.subject, area.key) - sum(served.values())
        if count := least(min(max(1, likely), most), most, lambda each: self._finding.placed(volumes(each)) is not None):
            self._finding.confirm(volumes(count), (AddedVolumes, area.domain))
        return [volumes(most)] if most and not count else []

    def _keep_attachments(self, area: DomainCapacity) -> None:
        """Try a higher attach limit of one driver on the nodes of *area*; as little as works, on the nodes that need it."""
        nodes, slots = self._capacity.snapshot.nodes, self._capacity.slots(self._bare)
        order = sorted(area.nodes[slots[area.nodes] > 0].tolist(), key=lambda node: (-int(slots[node]), node))[:_MOST_VOLUMES]
        for row, driver in nodes.limit_rows.items():
            amounts = [dict(pod.shape.requests).get(row, 0) for pod in self._waiting]
            before = {nodes.names[node]: limit for node in order if (limit := nodes.attach.limit(nodes.names[node], driver)) is not None}
            if not any(amounts) or not before:
                continue

            def raised(more: int, driver: str = driver, limits: dict[str, int] = before) -> ChangedStorage:
                return storage_edits.more_attachments(driver, limits, more)

            more = least(1, sum(amounts), lambda each: self._finding.placed(raised(each)) is not None)
            if more and (decision := self._finding.trial.decision(raised(more))) is not None:
                used = {node: before[node] for node in sorted({*decision.assignments.values()}) if node in before}
                if not self._finding.confirm(raised(more, limits=used), (RaisedAttachLimits, driver, area.domain)):
                    self._finding.keep_if_verified(raised(more))


def _claims(pod: PodRecord) -> Iterator[tuple[ClaimName, ClaimRequest]]:
    """Yield the claims of *pod* that wait for it, with their specifications."""
    requests = [need.request for need in pod.shape.volumes if need.request is not None]
    for claim, request in zip(pod.delayed_claims, requests, strict=False):
        yield (pod.namespace, claim), request


def _is_summed(request: ClaimRequest, options: ClaimOptions) -> bool:
    """Return whether a complete search sums the volumes for claims like *request* in a storage capacity."""
    return options.segments is not None and bool(request.size) and not (request.selected_node or options.matches or options.reserved >= 0)


def _static(pod: PodRecord, storage: Storage) -> list[ClaimRequest]:
    """Return the claims of *pod* that only existing volumes can serve."""
    requests = [each for _, each in _claims(pod)]
    return [each for each in requests if not storage.options(each).provisions and not (each.shared or each.reserved)]


def _without_storage(shape: PodShape, rows: frozenset[int]) -> PodShape:
    """Return *shape* without claims that are not bound, and without requests of *rows*."""
    volumes = tuple(need for need in shape.volumes if need.state is ClaimState.BOUND)
    requests = tuple((row, amount) for row, amount in shape.requests if row not in rows)
    # Shapes of pods have numbers from 0.
    return dataclasses.replace(shape, serial=-1 - shape.serial, volumes=volumes, requests=requests, picks_volumes=False)
