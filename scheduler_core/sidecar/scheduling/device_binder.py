"""Allocation of the devices of a root before its pods, as kube-scheduler's DynamicResources plugin does in PreBind.

All claims of a root are allocated, and reserved for all its pods, before the first pod is bound.  A user's claim is never deleted; only
reservations for pods without a node are taken back, and the devices of claims that no other pod uses.  The claim for extended resources
that devices provide is created here, and deleted if its pod is not bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kubeapi.gather import Name
from scheduler_core.causes.binding_failures import (
    ClaimGone,
    DeviceAllocatedTwice,
    DeviceFailure,
    DevicesNotBound,
    OtherDevices,
    ReservationLost,
)
from scheduler_core.causes.live import ClaimUnreserved, StaleExtendedClaim
from scheduler_core.loading.extended_resources import request_mappings
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import DeviceClaim, KnownClaim
from scheduler_core.model.devices import Allocation, ClaimSpec
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.names import NamedClaim
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.client.extended_claim import extended_claim_name
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.queue.states import Binds, PreBinding
from scheduler_core.sidecar.writes import AllocateClaim, AllocateExtended, Bind, ClaimWrite, DeleteExtended, Ref, ReleaseClaim, WriteOutcome

Release = ReleaseClaim | DeleteExtended
_WRITTEN = frozenset({WriteOutcome.DONE, WriteOutcome.FAILED})
"""Outcomes of a write that was carried out, or may have been."""


class DeviceBinder:
    """Creates the writes that allocate claims, and judges their progress."""

    def __init__(self, cache: Cache, our_pods: OurPods) -> None:
        self._cache, self._our_pods = cache, our_pods
        self._releasing: Counter[Name] = Counter()
        """Claims with reservations that are being removed: the cache can still show them."""
        self._uncertain: dict[Name, list[ClaimWrite]] = {}
        """Writes that may have been carried out, until the claim was read."""

    def refusal(self, decision: Decision, pods: Iterable[LivePod]) -> ClaimUnreserved | StaleExtendedClaim | None:
        """Return why one of *pods* cannot get its devices in *decision*; None if all can."""
        for pod in pods:
            if (
                pod.names_extended
                and pod.key in decision.assignments
                and not any(each.is_extended for _, each in _named_claims(pod, decision))
            ):
                # The API server keeps the name, and the kubelet would look for the claim.
                return StaleExtendedClaim(pod.key, decision.assignments[pod.key])
            if not self._our_pods.placed_by_ungating(pod) or pod.key not in decision.assignments:
                continue
            for name, claim in _named_claims(pod, decision):
                known = self._cache.devices.claims.get(name)
                if claim in decision.devices and (known is None or not self._is_reserved(known, pod)):
                    return ClaimUnreserved(NamedClaim(claim.label, ObjectName("ResourceClaim", *name)), pod.key)
        return None

    def writes(self, decision: Decision, binds: Binds) -> dict[Ref, ClaimWrite]:
        """Return the writes of *decision* for the claims of the pods of *binds*; their devices count as used from now on."""
        writes: dict[Ref, ClaimWrite] = {}
        consumers: dict[Name, set[Ref]] = {}
        for pod, name, claim in self._claims(decision, binds):
            known = self._cache.devices.claims.get(name)
            if claim.is_extended:
                write = self._extended(pod, name, decision.devices[claim], binds)
                if write is not None and not self._releasing[name]:
                    writes[write.target] = write
                    self._cache.devices.claimed.hold(name, write)
            elif known is not None and (self._releasing[name] or not self._is_reserved(known, pod)):
                consumers.setdefault(name, set()).add(self._consumer(pod, claim))
        return {**writes, **self._allocations(decision, consumers)}

    def unbound(self, state: PreBinding) -> tuple[ObjectName, ...] | DeviceFailure:
        """Return the claims of *state* whose binding conditions are not met, or why the pods cannot use a claim."""
        chosen = {claim.key: allocation for claim, allocation in state.decision.devices.items()}
        waiting: dict[ObjectName, None] = {}
        for pod, name, claim in sorted(self._claims(state.decision, state.binds), key=lambda each: (each[1], each[0].key)):
            named, known = ObjectName("ResourceClaim", *name), self._cache.devices.claims.get(name)
            if known is None:
                return ClaimGone(named)
            if known.allocation is None or self._releasing[name] or not self._is_reserved(known, pod):
                return ReservationLost(named, ObjectName("Pod", *pod.name))
            if claim.key in chosen and not known.allocation.same_devices(chosen[claim.key]):
                return OtherDevices(named)
            written = Ref("ResourceClaim", *name, known.uid) in state.writes or pod.ref in state.writes
            if written and (found := self._cache.devices.claimed.also_allocated(name)) is not None:
                device, other = found
                return DeviceAllocatedTwice(named, "/".join(device), ObjectName("ResourceClaim", *other))
            if known.failed:
                return DevicesNotBound(named, pod.assumed)
            if known.waits:
                waiting[named] = None
        return (*waiting,)

    def take_back(self, state: PreBinding) -> tuple[Release, ...]:
        """Return the writes that remove the reservations of *state*, and those of claims whose binding conditions are not met."""
        undone = [write for write in state.writes.values() if state.outcomes.get(write.target) in _WRITTEN]
        consumers: dict[Ref, set[Ref]] = {}
        for write in undone:
            if isinstance(write, AllocateClaim):
                consumers.setdefault(write.target, set()).update(write.consumers)
        for pod, name, claim in self._claims(state.decision, state.binds):
            known = self._cache.devices.claims.get(name)
            if known is None or claim.is_extended or not (known.waits or known.failed) or not self._is_reserved(known, pod):
                continue
            if not any(map(self._cache.usage.node_of, self._sharing(pod, claim))):
                consumers.setdefault(Ref("ResourceClaim", *name, known.uid), set()).add(self._consumer(pod, claim))
        extended = [
            (Ref("ResourceClaim", each.target.namespace, each.claim), each.target) for each in undone if isinstance(each, AllocateExtended)
        ]
        released = self._released(consumers)
        deleted = self._deleted(extended)
        # No bind was sent: the root holds nothing until its next attempt.
        return (*released, *deleted, *self.left_over(filter(None, map(self._cache.pod, state.binds))))

    def left_over(self, pods: Iterable[LivePod]) -> tuple[Release, ...]:
        """Return the writes that deallocate claims of unplaced *pods* that are not reserved for any other pod."""
        consumers: dict[Ref, set[Ref]] = {}
        extended: list[tuple[Ref, Ref]] = []
        for pod in pods:
            for name, claim in _named_claims(pod):
                known = self._cache.devices.claims.get(name)
                if known is None or known.allocation is None or self._is_in_flight(name):
                    continue
                users = self._users(pod, name, claim)
                refs = {self._consumer(user, claim) for user in users} | {user.ref for user in users}
                if all(map(self._is_unplaced, users)) and known.users <= {ref.uid for ref in refs}:
                    consumers[Ref("ResourceClaim", *name, known.uid)] = {ref for ref in refs if ref.uid in known.users}
            for name in self._cache.devices.claims_of_extended(pod.name, pod.stamp.uid) if self._is_unplaced(pod) else ():
                known = self._cache.devices.claims[name]
                if not self._is_in_flight(name) and known.users <= {pod.stamp.uid}:
                    extended.append((Ref("ResourceClaim", *name, known.uid), pod.ref))
        return (*self._released(consumers), *self._deleted(extended))

    def ended(self, write: ClaimWrite | Release, outcome: WriteOutcome, *, awaited: bool) -> tuple[Release, ...]:
        """Handle the result of *write*, for which a root waits if *awaited*, and return the next writes."""
        name = (write.target.namespace, write.claim if isinstance(write, AllocateExtended) else write.target.name)
        if outcome is WriteOutcome.FAILED:
            if isinstance(write, Release):
                # The devices stay in use until the reservation is certainly removed.
                return (write,)
            self._uncertain.setdefault(name, []).append(write)
        elif isinstance(write, Release):
            self._releasing -= Counter((name,))
            self._give_up(name, *self._uncertain.pop(name, ()))
        else:
            # The cache has what the API server returned, so the devices of an allocated claim stay in use.
            self._give_up(name, write)
        if awaited or isinstance(write, Release) or outcome not in _WRITTEN:
            return ()
        consumers = (write.target,) if isinstance(write, AllocateExtended) else write.consumers
        if outcome is WriteOutcome.DONE and any(map(self._is_placed, consumers)):
            # A later attempt uses the claim, and releases it if it fails.
            return ()
        if isinstance(write, AllocateExtended):
            return self._deleted([(Ref("ResourceClaim", *name), write.target)])
        return self._released({write.target: set(consumers)})

    def _give_up(self, name: Name, *writes: ClaimWrite) -> None:
        for write in writes:
            if self._cache.devices.claimed.give_up(name, write):
                self._cache.reporter.devices()

    def _allocations(self, decision: Decision, consumers: dict[Name, set[Ref]]) -> dict[Ref, AllocateClaim]:
        """Return the writes that allocate claims and reserve them for *consumers*."""
        chosen = {claim.key: allocation for claim, allocation in decision.devices.items()}
        writes: dict[Ref, AllocateClaim] = {}
        for name, refs in consumers.items():
            known = self._cache.devices.claims[name]
            if (allocation := known.allocation or chosen.get("/".join(name))) is None:
                continue
            requests = known.spec.requests if isinstance(known.spec, ClaimSpec) else ()
            configurations = tuple(self._cache.devices.configurations(requests))
            only_reserve = known.allocation is not None and not self._releasing[name]
            write = AllocateClaim(Ref("ResourceClaim", *name, known.uid), allocation, tuple(sorted(refs)), configurations, only_reserve)
            self._cache.devices.claimed.hold(name, write)
            writes[write.target] = write
        return writes

    def _extended(self, pod: LivePod, name: Name, allocation: Allocation, binds: Binds) -> AllocateExtended | None:
        """Return the write that creates the claim for the extended resources that devices provide on the node of *pod*.

        If an earlier attempt has created it, the rest of the write is repeated.
        """
        nodes = self._cache.usage.placement_state().nodes
        node = nodes.index[binds[pod.ref].node]
        resources = tuple(name for name, mask in nodes.backed.items() if mask[node])
        known = self._cache.devices.claims.get(name)
        extended = next((need.extended for need in pod.parsed_pod.form.devices if need.extended is not None), None)
        spec = known.spec if known is not None else extended.spec(resources) if extended is not None else None
        if not isinstance(spec, ClaimSpec):
            return None
        requests = tuple((each.name, each.alternatives[0].device_class, each.alternatives[0].count) for each in spec.requests)
        mappings = tuple(request_mappings(pod.parsed_pod.containers, resources))
        configurations = tuple(self._cache.devices.configurations(spec.requests))
        return AllocateExtended(pod.ref, name[1], requests, mappings, allocation, configurations)

    def _released(self, consumers: dict[Ref, set[Ref]]) -> tuple[ReleaseClaim, ...]:
        self._releasing.update((target.namespace, target.name) for target in consumers)
        return tuple(ReleaseClaim(target, tuple(sorted(consumers[target]))) for target in sorted(consumers))

    def _deleted(self, claims: Iterable[tuple[Ref, Ref]]) -> tuple[DeleteExtended, ...]:
        writes = tuple(DeleteExtended(claim, pod) for claim, pod in sorted(claims))
        self._releasing.update((each.target.namespace, each.target.name) for each in writes)
        return writes

    def _is_in_flight(self, name: Name) -> bool:
        return self._cache.devices.claimed.is_held(name) or self._releasing[name] > 0

    def _claims(self, decision: Decision, binds: Binds) -> Iterator[tuple[LivePod, Name, DeviceClaim]]:
        """Yield each claim of the pods that are bound; the scheduler of an ungated pod allocates its claims."""
        for ref, bind in binds.items():
            if isinstance(bind, Bind) and (pod := self._cache.pod(ref)) is not None:
                yield from ((pod, name, claim) for name, claim in _named_claims(pod, decision))

    def _users(self, pod: LivePod, name: Name, claim: DeviceClaim) -> tuple[LivePod, ...]:
        """Return all pods that use a claim of *pod*."""
        return (*self._cache.usage.pods.of_device_claims.pods(name), *self._sharing(pod, claim))

    def _sharing(self, pod: LivePod, claim: DeviceClaim) -> tuple[LivePod, ...]:
        """Return the pods for which a claim of *pod* is reserved together: those of its PodGroup, if it is reserved for the PodGroup."""
        return self._cache.members(pod.name[0], pod.parsed_pod.group) if claim.of_group else ()

    def _is_unplaced(self, pod: LivePod) -> bool:
        return self._our_pods.has(pod) and not self._cache.usage.node_of(pod)

    def _is_placed(self, consumer: Ref) -> bool:
        """Return whether a pod, or a pod of a PodGroup, has a node or is to get one."""
        if consumer.kind == "Pod":
            return (pod := self._cache.pod(consumer)) is not None and bool(self._cache.usage.node_of(pod))
        return any(map(self._cache.usage.node_of, self._cache.members(consumer.namespace, consumer.name)))

    def _is_reserved(self, known: KnownClaim, pod: LivePod) -> bool:
        return not known.users.isdisjoint((pod.stamp.uid, self._group(pod).uid))

    def _consumer(self, pod: LivePod, claim: DeviceClaim) -> Ref:
        """Return the pod or PodGroup that a claim is reserved for."""
        return self._group(pod) if claim.of_group else pod.ref

    def _group(self, pod: LivePod) -> Ref:
        live = self._cache.group("PodGroup", pod.name[0], pod.parsed_pod.group)
        return live.ref if live is not None else Ref("PodGroup", pod.name[0], pod.parsed_pod.group, "no-group")


def _named_claims(pod: LivePod, decision: Decision | None = None) -> Iterator[tuple[Name, DeviceClaim]]:
    """Yield the claims of a pod by namespace and name; that for extended resources only if *decision* gives it devices.

    Of a pod that cannot be scheduled because one of its claims is missing, the other claims are known by name only.
    """
    namespace, name = pod.name
    if pod.parsed_pod.held and decision is None:
        names = [each.claim or each.created for each in pod.parsed_pod.entries]
        yield from (((namespace, each), DeviceClaim(f"{namespace}/{each}", each)) for each in names if each)
    for claim in pod.parsed_pod.device_claims:
        if not claim.is_extended:
            yield (namespace, claim.key.partition("/")[2]), claim
        elif decision is not None and claim in decision.devices:
            yield (namespace, extended_claim_name(name, pod.stamp.uid)), claim
