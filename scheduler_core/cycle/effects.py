"""Effects of decisions on a snapshot: pods get nodes, victims are evicted, nominations are set, kept or cleared.

A decision names the node of each pod that it places or nominates.  ``keeps_nominations`` is the rule for its other pods with an
existing nomination.  ``held_nominations`` is the rule for nominated pods that could not use the capacity.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubeapi.groups import Group, PodGroup
from kubeapi.meta import replaced
from scheduler_core.loading.released_claims import with_released_claims
from scheduler_core.model.decision import Decision
from scheduler_core.model.device_claims import Consumer
from scheduler_core.model.devices import Allocation
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.queueing.trees import minimum, name_of


class Effects:
    """Effects of the decisions of one cycle, which decides on each root once.

    Attributes:
        placed: pods that get a node, with the index of the node, by key.
        nominated: pods that get a nomination, with the index of the node, by key.
        victims: keys of the pods to evict.

    """

    def __init__(self, nodes: NodeTable, decisions: Iterable[Decision] = ()) -> None:
        """Record *decisions* of roots that were attempted; other decisions change nothing."""
        self._nodes = nodes
        self.placed: dict[str, int] = {}
        self.nominated: dict[str, int] = {}
        self.victims: set[str] = set()
        self._volumes: dict[str, str] = {}
        self._devices: dict[str, Allocation] = {}
        self._pending: dict[str, Decision] = {}
        for decision in decisions:
            self.record(decision)

    def record(self, decision: Decision) -> None:
        """Add the effects of *decision*."""
        self.placed |= {pod: self._nodes.index[node] for pod, node in decision.assignments.items()}
        self.nominated |= {pod: self._nodes.index[node] for pod, node in decision.nominations.items()}
        self.victims.update(decision.victims)
        self._volumes |= {claim: choice.volume for claim, choice in decision.volumes.items()}
        self._devices |= {claim.key: allocation for claim, allocation in decision.devices.items()}
        self._pending |= dict.fromkeys(decision.pending, decision)

    def nomination(self, pod: PodRecord) -> int:
        """Return the index of the node that *pod* is nominated for after the decisions; -1 if none."""
        if pod.key in self.placed:
            return -1
        decision = self._pending.get(pod.key)
        kept = decision is None or keeps_nominations(decision, preempts=pod.preempts)
        return self.nominated.get(pod.key, pod.nominated if kept else -1)

    def apply(self, snapshot: ClusterSnapshot, *, evict: bool = False, drop_pending: bool = False) -> ClusterSnapshot:
        """Return *snapshot* after the decisions; with *evict* without the victims, which run until the cycle ends.

        With *drop_pending*, pods that a decision leaves pending without a nomination are removed, as they take no capacity.
        """
        if not (self.placed or self.nominated or self.victims or self._pending):
            return snapshot
        pods = tuple(self._pods(snapshot.pods, evict=evict, drop_pending=drop_pending))
        if snapshot.devices is None:
            return dataclasses.replace(snapshot, pods=pods)
        evicted = self.victims if evict else set()
        deleted = {claim.key for pod in snapshot.pods if pod.key in evicted for claim in pod.device_claims if claim.is_of_pod}
        devices, released = snapshot.devices.after(self._devices, self._reserved(pods), evicted, deleted)
        return with_released_claims(dataclasses.replace(snapshot, pods=pods, devices=devices), released)

    def _reserved(self, pods: Iterable[PodRecord]) -> dict[str, list[Consumer]]:
        """Return the consumers of the claims of those of *pods* that get a node, by key of the claim."""
        reserved: dict[str, list[Consumer]] = {}
        for pod in pods:
            for claim in pod.device_claims if pod.key in self.placed else ():
                reserved.setdefault(claim.key, []).append(claim.consumer(pod.name, pod.group))
        return reserved

    def _pods(self, before: Iterable[PodRecord], *, evict: bool, drop_pending: bool) -> Iterator[PodRecord]:
        for pod in before:
            if evict and pod.key in self.victims:
                continue
            if pod.node >= 0:
                yield pod
            elif pod.key in self.placed:
                volumes = tuple(self._volumes.get(f"{pod.namespace}/{claim}", "") for claim in pod.delayed_claims)
                yield replaced(pod, node=self.placed[pod.key], nominated=-1, picked=volumes)
            elif (nominated := self.nomination(pod)) >= 0 or not drop_pending or pod.key not in self._pending:
                yield pod if nominated == pod.nominated else replaced(pod, nominated=nominated)


def keeps_nominations(decision: Decision, *, preempts: bool) -> bool:
    """Return whether pods that *decision* leaves pending and does not nominate keep their nominations.

    They keep them unless the root fails without preempting.  *preempts* is True if the root may preempt.
    """
    clears = failure_clears_nominations(decision.root, preempts=preempts)
    return decision.status is Status.SUCCESS or bool(decision.nominations) or not clears


def failure_clears_nominations(root: Name, *, preempts: bool) -> bool:
    """Return whether a failure without preemption clears the nominations of *root*: not for a single pod that must not preempt."""
    return root.kind != "Pod" or preempts


def held_nominations(
    decision: Decision, tree: Sequence[Group], group_of: Mapping[str, Name], placed: Callable[[Name], int]
) -> dict[str, str]:
    """Return the nominations of *decision*, except those of PodGroups that stay below their minimum even with them.

    Greedy nominates such pods too, as kube-scheduler does.  Capacity held for them is missing for their siblings.

    Args:
        decision: a decision that preempts; if its root stays below its minimum, all its nominations are returned.
        tree: the groups of its root, parents first; empty for a single pod.
        group_of: the PodGroup of each existing pod.
        placed: returns how many pods of a PodGroup have a node, or had one and ended, or are nominated.

    """
    complete = _complete_pod_groups(tree, placed)
    return {pod: node for pod, node in decision.nominations.items() if not complete or pod not in group_of or group_of[pod] in complete}


def _complete_pod_groups(tree: Sequence[Group], placed: Callable[[Name], int]) -> frozenset[Name]:
    """Return the PodGroups that have their minimum, in groups that all have theirs; none if the root lacks its own."""
    below: dict[Name, list[frozenset[Name]]] = collections.defaultdict(list)
    for group in reversed(tree):
        name, is_leaf = name_of(group), isinstance(group, PodGroup)
        leaves = frozenset({name}) if is_leaf else frozenset[Name]().union(*below[name])
        if (placed(name) if is_leaf else len(below[name])) >= minimum(group):
            if group is tree[0]:
                return leaves
            below[Name("CompositePodGroup", name.namespace, group.spec.parent_composite_pod_group_name or "")].append(leaves)
    return frozenset()
