"""The pods of a live cluster, as little of each as decisions need, and where each counts.

A pod counts as on a node once it is bound there; before that, while a bind of ours is under way (it is *assumed* there); and,
without our gate, while it is *marked* for the one node that its selector pins it to.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator

from scheduler_core.loading.gather import GatheredObjects, Name
from scheduler_core.loading.pod_forms import PodForm
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.loading.read_pods import Draft, Reader
from scheduler_core.model import wire
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.sidecar.cache.freshness import Stamp
from scheduler_core.sidecar.client.requests import GATE, HOSTNAME
from scheduler_core.sidecar.writes import Condition, Ref

LABELS = ("scheduling.muster.dev/pod-group", "scheduling.x-k8s.io/pod-group")
"""Labels that name a pod's PodGroup where the API server drops ``spec.schedulingGroup``; the first that a pod has counts."""
SCHEDULED = "PodScheduled"
"""The condition of a pod that tells why it has no node."""


@dataclasses.dataclass(slots=True, eq=False)
class LivePod:
    """A pod that has not ended."""

    key: str
    stamp: Stamp
    draft: Draft
    pinned_node: str
    """The node that it was marked for when our gate was removed; empty if none, or while the gate is there."""
    pod_scheduled: Condition | None
    """Its condition PodScheduled, as it stands or as it was last written."""
    assumed: str = ""
    """The node that a bind, or the removal of our gate, is under way to, or was acknowledged and is not seen yet."""
    acknowledged: bool = False
    """Whether the API server has confirmed what is assumed."""
    deletion_assumed: bool = False
    """Whether its eviction or deletion was decided, and is not seen yet."""
    evicted: bool = False
    """Whether it is leaving for a preemption."""
    assumed_nomination: str | None = None
    """The nomination that was written and is not seen yet; None for what stands."""
    record: PodRecord | None = None
    """As placement sees it; None until that is asked for, or where it changed."""
    counted: tuple[PodShape, int] | None = None
    """What is counted of it among what is taken: its shape, and the index of its node (-1: none)."""
    affinity_record: PodRecord | None = None
    """As which it counts among those that constrain each other."""

    @property
    def name(self) -> Name:
        """Namespace and name."""
        return self.draft.name

    @property
    def ref(self) -> Ref:
        """The pod as writes name it."""
        return Ref("Pod", *self.draft.name, self.stamp.uid)

    @property
    def gated_by_us(self) -> bool:
        """Return whether our scheduling gate is its only one."""
        return self.draft.gates == (GATE,)

    @property
    def nominated(self) -> str:
        """The node that it is promised; empty if none."""
        return self.draft.nominated if self.assumed_nomination is None else self.assumed_nomination


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """A pod that has run."""

    key: str
    group: str
    """The name of its PodGroup, if it had one and a node."""


_MAX_TEXTS = 10_000
"""Messages that are kept once each."""


class PodReader:
    """Texts to pods."""

    def __init__(self, membership: tuple[str, ...]) -> None:
        self._reader = Reader(membership)
        self._texts: dict[str, str] = {}

    def read_pod(self, found: GatheredObjects, stamp: Stamp) -> LivePod | Ended:
        """The pod, or what is left of one that has ended.

        Raises:
            Unusable: it cannot be used.

        """
        pod = typed(found, wire.Pod)
        name = name_in(found.kind, pod.metadata)
        if (draft := self._reader.draft(name, pod)) is None:
            return Ended("/".join(name), self._reader.group(pod) if pod.spec.node_name else "")
        pinned_node = "" if GATE in draft.gates else (pod.metadata.annotations or {}).get(GATE, "")
        return LivePod("/".join(name), stamp, draft, pinned_node, self._pod_scheduled(pod))

    def sweep(self, forms: Collection[PodForm]) -> None:
        """Forget what only pods had that are gone; *forms* are those of the pods that are there."""
        self._reader.retain(forms)

    def __len__(self) -> int:
        """Return the number of known forms."""
        return len(self._reader)

    def _pod_scheduled(self, pod: wire.Pod) -> Condition | None:
        for each in pod.status.conditions or ():
            if each.type == SCHEDULED and each.status != "True":
                # Pods of one group are mostly told the same.
                if len(self._texts) > _MAX_TEXTS:
                    self._texts.clear()
                message = self._texts.setdefault(each.message, each.message)
                return Condition(SCHEDULED, each.status, each.reason, message, each.last_transition_time or "")
        return None


def pinned_hostname(pod: LivePod) -> str:
    """The host name that its selector pins a pod to; empty if none."""
    return next((value for key, value in pod.draft.form.node_selector if key == HOSTNAME), "")


class PodCache:
    """Pods by key, by group and by what they wait for."""

    def __init__(self) -> None:
        self.pods: dict[str, LivePod] = {}
        self._members: dict[Name, dict[str, LivePod]] = {}
        self._ended: dict[str, Name] = {}
        self._ended_of: Counter[Name] = Counter()
        self.nominated: dict[str, LivePod] = {}
        """Pods without a node that are promised one."""
        self.assumed_or_pinned: dict[str, LivePod] = {}
        """Pods without a node that count as on one, or would if that node were there."""
        self.with_workload_ref: dict[str, LivePod] = {}
        """Pods that name their group as v1alpha1 did."""

    def add_or_update(self, pod: LivePod) -> LivePod | None:
        """*pod* is there; what was before, if anything."""
        before = self.remove(pod.key)
        self.pods[pod.key] = pod
        if pod.draft.group:
            self._members.setdefault((pod.name[0], pod.draft.group), {})[pod.key] = pod
        if pod.draft.reference is not None:
            self.with_workload_ref[pod.key] = pod
        return before

    def end(self, ended: Ended) -> None:
        """A pod, which is removed, has run; it is remembered until it is removed again."""
        if ended.group:
            name = (ended.key.partition("/")[0], ended.group)
            self._ended[ended.key] = name
            self._ended_of[name] += 1

    def ended(self, namespace: str, group: str) -> int:
        """Return the number of pods of a PodGroup that had a node and have ended."""
        return self._ended_of[namespace, group]

    def remove(self, key: str) -> LivePod | None:
        """The pod is gone; what it was, if anything."""
        if (name := self._ended.pop(key, None)) is not None:
            self._ended_of[name] -= 1
            if not self._ended_of[name]:
                del self._ended_of[name]
        pod = self.pods.pop(key, None)
        if pod is None:
            return None
        self.nominated.pop(key, None)
        self.assumed_or_pinned.pop(key, None)
        self.with_workload_ref.pop(key, None)
        if pod.draft.group:
            name = (pod.name[0], pod.draft.group)
            members = self._members[name]
            del members[key]
            if not members:
                del self._members[name]
        return pod

    def index_assumed_or_pinned(self, pod: LivePod) -> None:
        """Note whether *pod* counts as on a node that it is not bound to."""
        if not pod.draft.node and (pod.pinned_node or pod.assumed):
            self.assumed_or_pinned[pod.key] = pod
        else:
            self.assumed_or_pinned.pop(pod.key, None)

    def members(self, namespace: str, group: str) -> tuple[LivePod, ...]:
        """The pods of a PodGroup."""
        return tuple(self._members.get((namespace, group), {}).values())

    def groups(self) -> Iterator[Name]:
        """The names of the PodGroups that have pods, whether or not they are there."""
        return iter(self._members)
