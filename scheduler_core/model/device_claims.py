"""Claims of pods to devices: those that exist, and those that are still to be created from templates."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from kubeapi.base_structs import Record
from kubeapi.nodes import Taint
from kubeapi.resource_names import Quantity
from kubeapi.selectors import NodeSelector
from scheduler_core.model.device_usage import DeviceUsage
from scheduler_core.model.devices import Allocation, AttributeConstraint, ClaimSpec, DeviceSlice, ExtendedSpec
from scheduler_core.model.names import Name, NamedClaim

ClaimName = tuple[str, str]
"""Namespace and name."""
Consumer = tuple[str, str]
"""Resource and name of a pod or PodGroup that a claim is reserved for."""
EXTENDED = "<extended-resources>"
"""Entry of the claim for the extended resources of a pod."""


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceNeed:
    """Requirement of one claim of a pod.

    Attributes:
        field: the pod's field, such as ``spec.resourceClaims[0]``.
        spec: specification of a claim that is not allocated.
        extended: extended resources; a node provides each of them either by itself or by devices.
        refusal: kube-scheduler's reason to exclude all nodes; empty if there is none.
        allocated: the allocation of the claim.
        untimed: True if kube-scheduler cannot reserve the claim, because its allocation has no timestamp.
        unavailable: True if the binding of the allocated devices failed.
        shared: the claim if several pods use it, else empty.

    """

    field: str
    spec: ClaimSpec | None = None
    extended: ExtendedSpec | None = None
    refusal: str = ""
    allocated: Allocation | None = None
    unavailable: bool = False
    untimed: bool = False
    shared: str = ""

    @property
    def allocates(self) -> bool:
        """Return whether devices must be found for it."""
        return self.spec is not None or self.extended is not None


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceClaim:
    """Claim of a pod.

    Attributes:
        key: identity of the claim: ``namespace/name``, or for one that does not exist yet, ``label`` after the namespace and a colon.
        label: its name in decisions.
        of_group: True if it is reserved for the PodGroup of the pod, not for the pod.
        is_extended: True if it is to be created for extended resources of the pod.

    """

    key: str
    label: str
    of_group: bool = dataclasses.field(default=False, compare=False)
    is_extended: bool = dataclasses.field(default=False, compare=False)

    @property
    def exists(self) -> bool:
        """Return whether there is an object for it."""
        return ":" not in self.key

    @property
    def named(self) -> NamedClaim:
        """Return its label, and its object if it exists."""
        return NamedClaim(self.label, object_of(self.key) if self.exists else None)

    @property
    def is_of_pod(self) -> bool:
        """Return whether it is created for one pod, and deleted with it."""
        return not self.exists and self.label.startswith("pod/")

    def consumer(self, pod: str, group: str) -> Consumer:
        """Return the consumer that it is reserved for: the pod of that name, or its PodGroup."""
        return ("podgroups", group) if self.of_group else ("pods", pod)


@dataclasses.dataclass(frozen=True, slots=True)
class PodEntry:
    """Entry of ``spec.resourceClaims`` of a pod or PodGroup.

    Attributes:
        claim: the ResourceClaim that it names; empty if none.
        template: the ResourceClaimTemplate that it names; empty if none.
        known: True if the pod's status has an entry of this name.
        created: the claim that this status names; None if none is needed.

    """

    name: str
    claim: str = ""
    template: str = ""
    known: bool = False
    created: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KnownClaim:
    """A ResourceClaim.

    Attributes:
        spec: its specification, or the reason why no pod can use it.
        owner: kind and name of its controller.
        owner_uid: uid of its controller.
        failed: True if the binding of its devices failed.
        consumers: resource and name of the pods and PodGroups that it is reserved for.

    """

    spec: ClaimSpec | str
    allocation: Allocation | None = None
    deleting: bool = False
    owner: tuple[str, str] = ("", "")
    owner_uid: str = ""
    failed: bool = False
    timed: bool = True
    """True if the allocation has a timestamp."""
    consumers: tuple[Consumer, ...] = ()
    extended: bool = False
    """True if it was created for extended resources of a pod."""
    uid: str = ""
    users: frozenset[str] = frozenset()
    """Uids of its consumers."""

    @property
    def waits(self) -> bool:
        """Return whether binding conditions of its devices are not met yet."""
        return self.allocation is not None and any(each.waits for each in self.allocation.devices)


class DevicesTogether(Record, frozen=True):
    """Number of free devices on the *nodes* that a group can use, and the number that its pods need."""

    free: Quantity
    needed: Quantity
    nodes: int


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceShortage:
    """Request for which some nodes have too few free devices.

    Attributes:
        claim: label of the claim.
        free: number of free devices of the class that match, at most on a node.
        needed: number of devices for this request and for equal ones of the pod; 0 for all.
        request: name of the request.
        selectors: its own selectors.
        shared: True if several pods use the claim.
        taints: taints of devices that are free and match, but that the request does not tolerate; sorted.
        capacity: amounts of capacities that it requests, by name.
        counters: True if devices match and are free, but the shared counters of their pool are used up.
        last: True if it is the last alternative of the request; there are too few devices for the others too.
        together: devices of the nodes that a group can use; None if the nodes alone are short.

    """

    claim: str
    device_class: str
    free: int
    needed: int
    request: str = ""
    selectors: tuple[str, ...] = ()
    shared: bool = False
    taints: tuple[Taint, ...] = ()
    capacity: tuple[tuple[str, Decimal], ...] = ()
    counters: bool = False
    last: bool = False
    together: DevicesTogether | None = None

    def merged(self, other: DeviceShortage) -> DeviceShortage:
        """Return the shortage of the same request on the nodes of both."""
        taints = sorted_taints((*self.taints, *other.taints))
        free, needed = max(self.free, other.free), max(self.needed, other.needed)
        return dataclasses.replace(self, free=free, needed=needed, taints=taints, counters=self.counters or other.counters)


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceLack:
    """Reason why a node has no devices for a pod.

    Attributes:
        short: requests for which it has too few free devices.
        taken: else a claim whose devices, which other pods have taken, it cannot use: label and nodes that can.
        broken: else a claim, and the constraint that alone is the reason.

    """

    short: tuple[DeviceShortage, ...] = ()
    taken: tuple[str, NodeSelector] | None = None
    broken: tuple[str, AttributeConstraint] | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceObjects:
    """Objects about devices.

    Attributes:
        slices: published devices, by name of the slice.
        claims: claims by namespace and name.
        templates: specifications, or the reason why no pod can use them, by namespace and name.
        allocated: allocations of the claims, by key.
        resources: device class and its selectors, by extended resource.
        extended: pods with a claim that an earlier attempt created for their extended resources, by namespace and name; by uid with the
            allocation of the claim, or None if kube-scheduler deletes it first.
        usage: use of devices by ``allocated``, if it is kept.

    """

    slices: tuple[DeviceSlice, ...] = ()
    claims: Mapping[ClaimName, KnownClaim] = dataclasses.field(default_factory=dict)
    templates: Mapping[ClaimName, ClaimSpec | str] = dataclasses.field(default_factory=dict)
    allocated: Mapping[str, Allocation] = dataclasses.field(default_factory=dict)
    resources: Mapping[str, tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=dict)
    extended: Mapping[ClaimName, Mapping[str, Allocation | None]] = dataclasses.field(default_factory=dict)
    usage: DeviceUsage | None = None

    def new_usage(self, *, qualifies: bool = False) -> DeviceUsage:
        """Return the use of devices by ``allocated``, to which the caller can add allocations; *qualifies* as of ``DeviceUsage``."""
        known = () if self.usage is not None else self.allocated.values()
        return DeviceUsage(known, self.usage, qualifies=qualifies)

    def without_allocations(self, claims: Collection[str]) -> DeviceObjects:
        """Return the objects in which *claims*, by key, are not allocated."""
        known = {
            name: dataclasses.replace(each, allocation=None) if "/".join(name) in claims else each for name, each in self.claims.items()
        }
        allocated = {key: each for key, each in self.allocated.items() if key not in claims}
        return dataclasses.replace(self, claims=known, allocated=allocated, usage=None)

    def after(
        self,
        allocations: Mapping[str, Allocation],
        reserved: Mapping[str, Sequence[Consumer]],
        evicted: Collection[str] = (),
        deleted: Collection[str] = (),
    ) -> tuple[DeviceObjects, frozenset[str]]:
        """Return the objects after *allocations* and reservations by key of the claim, and the keys of claims that are free again.

        These are the claims that were reserved for some of the pods *evicted* (``namespace/name``) and for no other consumer.  The claims
        *deleted* do not exist any more.
        """
        claims = dict(self.claims)
        released = set()
        for name in [*claims] if evicted else [name for name in map(name_of, reserved) if name in claims]:
            known, key = claims[name], "/".join(name)
            users = tuple(dict.fromkeys((*known.consumers, *reserved.get(key, ()))))
            left = tuple(each for each in users if each[0] != "pods" or f"{name[0]}/{each[1]}" not in evicted)
            if users and not left:
                released.add(key)
            if left != known.consumers:
                claims[name] = dataclasses.replace(known, consumers=left, allocation=known.allocation if left else None)
        allocated = {key: each for key, each in {**self.allocated, **allocations}.items() if key not in released and key not in deleted}
        return dataclasses.replace(self, claims=claims, allocated=allocated, usage=None), frozenset(released)


def sorted_taints(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return distinct *taints*, sorted."""
    return tuple(sorted({*taints}, key=lambda each: (each.key, each.value, each.effect)))


def name_of(key: str) -> ClaimName:
    """Return the name of the claim with *key*, which exists."""
    namespace, _, name = key.partition("/")
    return namespace, name


def object_of(key: str) -> Name:
    """Return the claim with *key*, which exists."""
    return Name("ResourceClaim", *name_of(key))


def claim_of(key: str) -> NamedClaim:
    """Return the claim with *key*, which exists, by this name."""
    return NamedClaim(key, object_of(key))


def spec_of(specs: ClaimSpec | str) -> tuple[ClaimSpec | None, str]:
    """Return a specification, or None and the reason why no pod can use it."""
    return (None, specs) if isinstance(specs, str) else (specs, "")
