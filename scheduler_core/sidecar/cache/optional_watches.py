"""Kinds that are watched only once an object can need them, and the roots that wait until such a kind is listed.

Most clusters have many objects of these kinds that no decision reads.  A kind that was needed once stays watched.  A root waits for the
kinds that its own pods and groups need, and for those that decide about every root: pods with a node and groups with unknown priorities.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator

from kubeapi.gather import SELECTING_KINDS, VOLUME_KINDS
from scheduler_core.causes.live import Unlisted
from scheduler_core.cluster.group_store import Key
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.loading.priority import NEVER
from scheduler_core.model.names import Name as Root
from scheduler_core.model.namespace_selectors import needing_labels
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.pod_topology_spread import spreads_by_default
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone
from scheduler_core.sidecar.cache.device_cache import DEVICE_KINDS
from scheduler_core.sidecar.cache.group_cache import GroupCache, LiveGroup
from scheduler_core.sidecar.cache.pod_cache import LivePod, PodCache
from scheduler_core.sidecar.cache.volume_cache import VolumeCache
from scheduler_core.sidecar.settings import Mode, Settings

_BY_VOLUMES = (*VOLUME_KINDS, "CSINode", "CSIDriver")
"""Kinds that a pending pod with a claim or an inline disk needs."""
_LATER_BY_VOLUMES = frozenset({"CSIStorageCapacity", "VolumeAttachment"})
"""Kinds that such a pod needs once an object of another kind requires it."""
_READING_VOLUMES = (VolumeRestrictions.name, NodeVolumeLimits.name, VolumeBinding.name, VolumeZone.name)
"""Plugins whose filters read the kinds about volumes."""
_OF_TREES = frozenset({"Workload", "PriorityClass"})
"""Kinds that groups can need."""
_BUDGETS = "PodDisruptionBudget"
OPTIONAL = frozenset({*DEVICE_KINDS, *SELECTING_KINDS, *_OF_TREES, _BUDGETS, "Namespace"})
"""Kinds of ``ON_DEMAND`` without which pods are placed if the API server does not serve them: then there are no such objects."""
ON_DEMAND = frozenset({*_BY_VOLUMES, *_LATER_BY_VOLUMES, *OPTIONAL})
"""Kinds that are not watched from the start."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reads:
    """Purposes for which the process reads objects.

    Attributes:
        schedules: whether pods are placed.
        preempts: whether victims are evicted.
        validates: whether trees are validated.
        profile: profile by which pods are placed.
        places: returns whether a pod is ours to place while it has no node.
        device_topology: attributes of devices that are topology keys.

    """

    schedules: bool = False
    preempts: bool = False
    validates: bool = False
    profile: SchedulerProfile = DEFAULT_PROFILE
    places: Callable[[LivePod], bool] = lambda _: True
    device_topology: frozenset[str] = frozenset()

    def kinds(self) -> frozenset[str]:
        """Return the kinds of ``ON_DEMAND`` that an object can need."""
        kinds = _OF_TREES if self.validates or self.schedules else frozenset[str]()
        if self.schedules:
            kinds |= ON_DEMAND - {_BUDGETS, *SELECTING_KINDS, *_BY_VOLUMES, *_LATER_BY_VOLUMES}
            kinds |= self.volume_kinds()
            kinds |= frozenset(SELECTING_KINDS) if spreads_by_default(self.profile) else frozenset()
            kinds |= {_BUDGETS} if self.preempts and (self.profile.preempts_pods or self.profile.preempts_groups) else frozenset()
        return kinds

    def volume_kinds(self) -> frozenset[str]:
        """Return the kinds about volumes that the enabled plugins of the profile read."""
        filters = self.profile.filters
        capacities = {"CSIStorageCapacity"} if filters(VolumeBinding.name) else set[str]()
        attachments = {"VolumeAttachment"} if filters(NodeVolumeLimits.name) else set[str]()
        return frozenset({*_BY_VOLUMES, *capacities, *attachments}) if any(map(filters, _READING_VOLUMES)) else frozenset()


NOTHING = Reads()


def reads_of(settings: Settings, places: Callable[[LivePod], bool] = lambda _: True) -> Reads:
    """Return the purposes of the modes of *settings*; *places* as in ``Reads``."""
    modes = settings.modes
    return Reads(
        schedules=settings.places,
        preempts=settings.places and Mode.PREEMPT in modes,
        validates=Mode.VALIDATE in modes,
        profile=settings.profile or DEFAULT_PROFILE,
        places=places,
        device_topology=frozenset(settings.device_topology),
    )


class NeededKinds:
    """Kinds of ``ON_DEMAND`` that are needed for *reads*, and the needed kinds that are not listed.

    *report* is called with each kind whose roots may wait no longer, or for another reason.
    """

    def __init__(self, reads: Reads, volumes: VolumeCache, groups: GroupCache, pods: PodCache, report: Callable[[str], None]) -> None:
        self._reads, self._volumes, self._groups, self._pods, self._report = reads, volumes, groups, pods, report
        self._spreads = spreads_by_default(reads.profile)
        self._volume_kinds = reads.volume_kinds()
        self._of_placed = frozenset({"ResourceSlice"} if reads.validates else {"ResourceSlice", "Workload"})
        """Kinds that only groups with pods to place need."""
        self._needed: set[str] = set()
        self._watched: set[str] = set()
        self._listed: set[str] = set()
        self._failures: dict[str, Unlisted] = {}
        self._users: dict[str, set[Root]] = {}
        """Pods and groups because of which a kind decides about every root."""

    def add_pod(self, pod: LivePod) -> None:
        """Add the kinds that a pod needs."""
        if self._places(pod):
            self._needed.update(self._kinds_of_pod(pod.parsed_pod))
            for group in self._groups.above(("PodGroup", pod.name[0], pod.parsed_pod.group)) if not self._of_placed <= self._needed else ():
                self._needed |= self._kinds_of_group(group) & self._of_placed
        for kind in self._kinds_for_all_roots(pod):
            self._add_user(kind, _of_pod(pod))

    def remove_pod(self, pod: LivePod | None) -> None:
        """Remove a pod that was deleted or is replaced."""
        if pod is not None and self._users:
            self._remove_user(_of_pod(pod))

    def group_changed(self, key: Key, live: LiveGroup | None) -> None:
        """Add or replace the group *key*; None: it does not exist."""
        self._remove_user(Root(*key))
        kinds = self._kinds_of_group(live) if live is not None else frozenset[str]()
        if live is not None and not self._of_placed.isdisjoint(kinds - self._needed) and not self._is_placed(live):
            kinds -= self._of_placed
        self._needed |= kinds
        if "PriorityClass" in kinds:
            self._add_user("PriorityClass", Root(*key))

    def add_claims(self) -> None:
        """Add the kinds that show which claims are annotated and have no volume."""
        self._needed |= self._volume_kinds & {"PersistentVolumeClaim", "PersistentVolume"}

    def is_watched(self, kind: str) -> bool:
        """Return whether *kind* is listed, or will be."""
        return kind in self._watched

    def is_listed(self, kind: str) -> bool:
        """Return whether the objects of *kind* are listed."""
        return kind in self._listed

    def newly_needed(self) -> frozenset[str]:
        """Return the kinds that must be listed since the last call."""
        self._add_later_kinds()
        new = frozenset(self._needed - self._watched)
        self._watched |= new
        return new

    def mark_listed(self, kind: str) -> None:
        """Record that the objects of *kind* are listed."""
        self._listed.add(kind)
        self._failures.pop(kind, None)
        self._report(kind)

    def mark_unlisted(self, kind: str, failure: Unlisted) -> None:
        """Record why *kind* is not listed, or not any more."""
        self._listed.discard(kind)
        self._failures[kind] = failure
        self._report(kind)

    def unlisted(self, pods: Iterable[LivePod], groups: Iterable[LiveGroup] = ()) -> frozenset[str]:
        """Return the kinds that are not listed and that a root with pending *pods* and *groups* needs: it must not be placed."""
        self._add_later_kinds()
        if not (missing := self._needed - self._listed):
            return frozenset()
        for_all = (kind for kind in missing if self._users.get(kind))
        return frozenset(missing) & frozenset(for_all).union(*(kinds for _, kinds in self._needs(pods, groups)))

    def unlisted_of_tree(self, groups: Iterable[LiveGroup]) -> frozenset[str]:
        """Return the kinds that are not listed and without which a tree of *groups* must not be validated."""
        return self.unlisted((), groups) & _OF_TREES

    def user(self, kinds: Collection[str], pods: Iterable[LivePod], groups: Iterable[LiveGroup]) -> Root:
        """Return the first object that needs one of *kinds*: of the root's *pods* and *groups* if possible."""
        of_others = (
            (name, frozenset({kind})) for kind in sorted(kinds) for name in sorted(self._users.get(kind, ()), key=_groups_first)[:1]
        )
        needs = itertools.chain(self._needs(pods, groups), of_others)
        return next(name for name, needed in needs if not needed.isdisjoint(kinds))

    def causes(self, kinds: Iterable[str]) -> dict[str, Unlisted]:
        """Return for each of *kinds*, sorted, why it is not listed."""
        return {kind: self._failures.get(kind, Unlisted()) for kind in sorted(kinds)}

    def _add_later_kinds(self) -> None:
        volumes = self._volumes.objects
        if "CSIDriver" in self._needed and volumes.measured:
            self._needed |= self._volume_kinds & {"CSIStorageCapacity"}
        if "CSINode" in self._needed and volumes.attach is not None and volumes.attach.rows():
            self._needed |= self._volume_kinds & {"VolumeAttachment"}

    def _places(self, pod: LivePod) -> bool:
        """Return whether *pod* is pending and ours to place."""
        return not pod.parsed_pod.node and self._reads.schedules and self._reads.places(pod)

    def _is_placed(self, live: LiveGroup) -> bool:
        """Return whether there is a pod to place in a group or below it; groups of other schedulers have none."""
        leaves = (each.key for each in self._groups.tree(Root(*live.key)) if each.key[0] == "PodGroup")
        return any(self._places(pod) for _, *name in leaves for pod in self._pods.members(*name))

    def _needs(self, pods: Iterable[LivePod], groups: Iterable[LiveGroup]) -> Iterator[tuple[Root, frozenset[str]]]:
        """Yield *pods* and *groups*, each with the kinds that it needs."""
        later = self._needed & _LATER_BY_VOLUMES
        for pod in sorted(pods, key=lambda each: each.key):
            yield _of_pod(pod), frozenset(self._kinds_of_pod(pod.parsed_pod)) | (later if _has_volumes(pod.parsed_pod) else frozenset())
        for live in sorted(groups, key=lambda each: each.key):
            yield Root(*live.key), self._kinds_of_group(live)

    def _add_user(self, kind: str, name: Root) -> None:
        self._needed.add(kind)
        self._users.setdefault(kind, set()).add(name)

    def _remove_user(self, name: Root) -> None:
        for kind, users in self._users.items():
            if name in users:
                users.discard(name)
                if not users and kind not in self._listed:
                    self._report(kind)

    def _kinds_of_pod(self, parsed_pod: ParsedPod) -> Iterator[str]:
        """Yield the kinds that a pending pod needs, whatever other objects there are."""
        yield from self._volume_kinds.intersection(_BY_VOLUMES) if _has_volumes(parsed_pod) else ()
        if parsed_pod.entries or any(need.extended is not None for need in parsed_pod.form.devices):
            yield from DEVICE_KINDS
        elif parsed_pod.containers:
            # The device classes show whether devices provide its extended resources.
            yield "DeviceClass"
        if self._spreads and not parsed_pod.form.spread:
            # Selectors of Services and of its controller are the default of topology spread.
            yield from ("Service",) if parsed_pod.labels else ()
            yield from parsed_pod.controller[:1] if parsed_pod.controller[0] else ()
        if needing_labels(parsed_pod.form.affinity):
            yield "Namespace"
        if _needs_class(parsed_pod.priority, parsed_pod.class_name, parsed_pod.policy):
            yield "PriorityClass"
        if self._reads.preempts and self._can_preempt(parsed_pod):
            yield _BUDGETS

    def _can_preempt(self, parsed_pod: ParsedPod) -> bool:
        profile = self._reads.profile
        # The group of a pod decides whether it preempts.
        return profile.preempts_groups if parsed_pod.group else profile.preempts_pods and parsed_pod.policy != NEVER

    def _kinds_of_group(self, live: LiveGroup) -> frozenset[str]:
        if not (self._reads.schedules or self._reads.validates):
            return frozenset()
        spec = live.group.spec
        classes = _needs_class(spec.priority, spec.priority_class_name, spec.preemption_policy)
        constraints = spec.scheduling_constraints
        keys = {each.key for each in (constraints and constraints.topology) or ()}
        by_devices = self._reads.schedules and not keys.isdisjoint(self._reads.device_topology)
        needed = {"PriorityClass": classes, "Workload": live.workload, "ResourceSlice": by_devices}
        return frozenset(kind for kind, is_needed in needed.items() if is_needed)

    def _kinds_for_all_roots(self, pod: LivePod) -> Iterator[str]:
        """Yield the kinds that a pod needs whichever root is decided about: if it has a node, its terms and its priority count."""
        parsed_pod, reads = pod.parsed_pod, self._reads
        counted = reads.schedules and bool(parsed_pod.node or parsed_pod.nominated or pod.pinned_node)
        if counted and needing_labels(parsed_pod.form.affinity):
            yield "Namespace"
        if (counted or (reads.validates and parsed_pod.group)) and _needs_class(
            parsed_pod.priority, parsed_pod.class_name, parsed_pod.policy
        ):
            yield "PriorityClass"


def _needs_class(priority: int | None, class_name: str, policy: str | None) -> bool:
    """Return whether a priority class decides: the API server writes its values into new objects, but not for disabled features."""
    return priority is None or (bool(class_name) and policy is None)


def _has_volumes(parsed_pod: ParsedPod) -> bool:
    return bool(parsed_pod.claims or parsed_pod.disks)


def _of_pod(pod: LivePod) -> Root:
    return Root("Pod", *pod.name)


def _groups_first(name: Root) -> tuple[bool, str, str]:
    """Sort key of objects: groups first, then pods, by name."""
    return name.kind == "Pod", name.kind, f"{name.namespace}/{name.name}"
