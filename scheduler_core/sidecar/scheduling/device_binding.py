"""Allocation of the devices of a root before its pods, as kube-scheduler's DynamicResources plugin does in PreBind.

All claims of a root are allocated, and reserved for all its pods, before the first pod is bound.  A user's claim is never deleted; only
reservations for pods without a node are taken back, and the devices of claims that no other pod uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scheduler_core.loading.gather import Name
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import DeviceClaim, KnownClaim
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.pod_cache import LivePod
from scheduler_core.sidecar.queue.root_status import OurPods
from scheduler_core.sidecar.queue.states import Binds, PreBinding
from scheduler_core.sidecar.writes import AllocateClaim, Bind, Ref, ReleaseClaim, WriteOutcome

_WRITTEN = frozenset({WriteOutcome.DONE, WriteOutcome.FAILED})
"""Outcomes of a write that was carried out, or may have been."""


class DeviceBinding:
    """Creates the writes that allocate claims, and judges their progress."""

    def __init__(self, cache: Cache, our_pods: OurPods) -> None:
        self._cache, self._our_pods = cache, our_pods
        self._releasing: Counter[Name] = Counter()
        """Claims with reservations that are being removed: the cache can still show them."""

    def refusal(self, decision: Decision, pods: Iterable[LivePod]) -> str:
        """Return why one of *pods* cannot get its devices in *decision*; empty if all can."""
        fresh = {
            claim.key for claim in decision.devices if (known := self._cache.devices.claims.get(_name(claim))) is None or not known.users
        }
        for pod in pods:
            if pod.key not in decision.assignments or fresh.isdisjoint(claim.key for claim in pod.draft.device_claims):
                continue
            if self._our_pods.placed_by_ungating(pod):
                return f"pod {pod.key} has claims to devices that are not reserved, which its own scheduler could give to another pod"
            if any(_name(claim)[1] == "" for claim in pod.draft.device_claims if claim in decision.devices):
                return f"pod {pod.key} has extended resources that devices provide, which is not supported"
        return ""

    def writes(self, decision: Decision, binds: Binds) -> dict[Ref, AllocateClaim]:
        """Return the writes of *decision* for the claims of the pods of *binds*; their devices count as used from now on."""
        chosen = {claim.key: allocation for claim, allocation in decision.devices.items()}
        consumers: dict[Name, set[Ref]] = {}
        for pod, name, claim in self._claims(binds):
            known = self._cache.devices.claims.get(name)
            if known is not None and (self._releasing[name] or not self._is_reserved(known, pod)):
                consumers.setdefault(name, set()).add(self._consumer(pod, claim))
        writes: dict[Ref, AllocateClaim] = {}
        for name, refs in consumers.items():
            known = self._cache.devices.claims[name]
            if (allocation := known.allocation or chosen.get("/".join(name))) is None:
                continue
            configurations = tuple(self._cache.devices.configurations(known))
            write = AllocateClaim(Ref("ResourceClaim", *name, known.uid), allocation, tuple(sorted(refs)), configurations)
            self._cache.devices.hold(name, write.consumers, allocation)
            writes[write.target] = write
        return writes

    def unbound(self, state: PreBinding) -> tuple[list[str], str]:
        """Return the claims of *state* whose binding conditions are not met, or why the pods cannot use a claim."""
        chosen = {claim.key: allocation for claim, allocation in state.decision.devices.items()}
        waiting: dict[str, None] = {}
        for pod, name, _ in sorted(self._claims(state.binds), key=lambda each: (each[1], each[0].key)):
            key, known = "/".join(name), self._cache.devices.claims.get(name)
            if known is None:
                return [], f"claim {key} no longer exists"
            if known.allocation is None or self._releasing[name] or not self._is_reserved(known, pod):
                return [], f"claim {key} is no longer reserved for pod {pod.key}"
            if key in chosen and not known.allocation.same_devices(chosen[key]):
                return [], f"claim {key} has other devices than those that were chosen"
            if known.failed:
                return [], f"the devices of claim {key} could not be bound to node {pod.assumed}"
            if known.waits:
                waiting[key] = None
        return list(waiting), ""

    def take_back(self, state: PreBinding) -> tuple[ReleaseClaim, ...]:
        """Return the writes that remove the reservations of *state*, and those of claims whose binding conditions are not met."""
        consumers: dict[Ref, set[Ref]] = {}
        for write in state.writes.values():
            if isinstance(write, AllocateClaim) and state.outcomes.get(write.target) in _WRITTEN:
                consumers.setdefault(write.target, set()).update(write.consumers)
        for pod, name, claim in self._claims(state.binds):
            known = self._cache.devices.claims.get(name)
            if known is not None and (known.waits or known.failed) and self._is_reserved(known, pod):
                consumers.setdefault(Ref("ResourceClaim", *name, known.uid), set()).add(self._consumer(pod, claim))
        return self._released(consumers)

    def left_over(self, pods: Iterable[LivePod]) -> tuple[ReleaseClaim, ...]:
        """Return the writes that deallocate claims of unplaced *pods* that are not reserved for any other pod."""
        consumers: dict[Ref, set[Ref]] = {}
        for pod in pods:
            for name, claim in _named_claims(pod):
                known = self._cache.devices.claims.get(name)
                if known is None or known.allocation is None or self._cache.devices.is_held(name) or self._releasing[name]:
                    continue
                users = self._users(pod, name, claim)
                refs = {self._consumer(user, claim) for user in users} | {user.ref for user in users}
                if all(map(self._is_unplaced, users)) and known.users <= {ref.uid for ref in refs}:
                    consumers[Ref("ResourceClaim", *name, known.uid)] = {ref for ref in refs if ref.uid in known.users}
        return self._released(consumers)

    def ended(self, write: AllocateClaim | ReleaseClaim, outcome: WriteOutcome, *, awaited: bool) -> tuple[ReleaseClaim, ...]:
        """Handle the result of *write*, for which a root waits if *awaited*, and return the next writes."""
        name = write.target.namespace, write.target.name
        if isinstance(write, ReleaseClaim):
            if outcome is WriteOutcome.FAILED:
                # The devices stay in use until the reservation is certainly removed.
                return (write,)
            self._releasing -= Counter((name,))
        elif outcome in _WRITTEN and not awaited:
            return self._released({write.target: set(write.consumers)})
        elif outcome is WriteOutcome.FAILED:
            return ()
        # The cache has what the API server returned, so the devices of an allocated claim stay in use.
        if self._cache.devices.give_up(name, write.consumers):
            self._cache.reporter.devices()
        return ()

    def _released(self, consumers: dict[Ref, set[Ref]]) -> tuple[ReleaseClaim, ...]:
        self._releasing.update((target.namespace, target.name) for target in consumers)
        return tuple(ReleaseClaim(target, tuple(sorted(consumers[target]))) for target in sorted(consumers))

    def _claims(self, binds: Binds) -> Iterator[tuple[LivePod, Name, DeviceClaim]]:
        """Yield each claim of the pods that are bound; the scheduler of an ungated pod allocates its claims."""
        for ref, bind in binds.items():
            if isinstance(bind, Bind) and (pod := self._cache.pod(ref)) is not None:
                yield from ((pod, name, claim) for name, claim in _named_claims(pod))

    def _users(self, pod: LivePod, name: Name, claim: DeviceClaim) -> tuple[LivePod, ...]:
        """Return all pods that use a claim of *pod*."""
        members = self._cache.members(pod.name[0], pod.draft.group) if claim.of_group else ()
        return (*self._cache.usage.pods.pods_of_device_claim(name), *members)

    def _is_unplaced(self, pod: LivePod) -> bool:
        return self._our_pods.has(pod) and not self._cache.usage.node_of(pod)

    def _is_reserved(self, known: KnownClaim, pod: LivePod) -> bool:
        return not known.users.isdisjoint((pod.stamp.uid, self._group(pod).uid))

    def _consumer(self, pod: LivePod, claim: DeviceClaim) -> Ref:
        """Return the pod or PodGroup that a claim is reserved for."""
        return self._group(pod) if claim.of_group else pod.ref

    def _group(self, pod: LivePod) -> Ref:
        live = self._cache.group("PodGroup", pod.name[0], pod.draft.group)
        return Ref("PodGroup", pod.name[0], pod.draft.group, live.uid if live is not None else "no group")


def _named_claims(pod: LivePod) -> Iterator[tuple[Name, DeviceClaim]]:
    """Yield the existing claims of a pod, by namespace and name."""
    for claim in pod.draft.device_claims:
        if (name := _name(claim))[1]:
            yield name, claim


def _name(claim: DeviceClaim) -> Name:
    """Return namespace and name of a claim; empty for one that does not exist yet."""
    namespace, _, name = claim.key.partition("/")
    return ("", "") if ":" in namespace else (namespace, name)
