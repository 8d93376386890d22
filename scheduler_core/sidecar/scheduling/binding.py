"""Writes of decisions: binds, conditions, nominations and events.

Binds are ordered by leaf, so a crash leaves as few partially bound leaves as possible.  The condition that a gang is scheduled is
written only after every bind is confirmed.  Until then a restart treats the gang as partially bound, and completes or undoes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi.groups import INITIALLY_SCHEDULED
from scheduler_core.cluster.group_store import Key
from scheduler_core.model.conditions import WAITING
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import HOSTNAME, Domain, Name
from scheduler_core.model.status import Status
from scheduler_core.sidecar.cache.assumed_pods import AssumedPods
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.group_cache import LiveGroup
from scheduler_core.sidecar.cache.pod_cache import SCHEDULED, LivePod
from scheduler_core.sidecar.queue.root_status import OurPods, RootStatus
from scheduler_core.sidecar.queue.states import Binding
from scheduler_core.sidecar.writes import (
    MOST_URGENT,
    Bind,
    Condition,
    Nominate,
    RecordEvent,
    Ref,
    Remove,
    SetCondition,
    Ungate,
    Write,
    WriteOutcome,
)
from scheduler_core.wording import decision_words
from scheduler_core.wording.binding_words import bind_failed, bound, not_completed, partly_bound, undone
from scheduler_core.wording.conditions import conditions, scheduled
from scheduler_core.wording.truncation import cut

NORMAL, WARNING = "Normal", "Warning"
ERROR = "SchedulerError"
_FAILED = frozenset({Status.UNSCHEDULABLE, Status.UNRESOLVABLE, Status.ERROR})
_REPORTED = frozenset({*_FAILED, Status.INVALID})
"""Statuses that are reported on pods and in events; mode ``validate`` reports an invalid tree on its groups."""


class Binder:
    """Creates the writes of decisions, and assumes their effects."""

    def __init__(self, cache: Cache, assumed: AssumedPods, our_pods: OurPods) -> None:
        self._cache, self._assumed, self._our_pods = cache, assumed, our_pods

    def binds(self, decision: Decision, status: RootStatus) -> tuple[Bind | Ungate, ...]:
        """Return the writes that bind the pods of a root to the nodes of *decision*; the pods are assumed."""
        binds: list[Bind | Ungate] = []
        for pod in sorted(status.to_place, key=lambda pod: (pod.parsed_pod.group, pod.key)):
            node = decision.assignments.get(pod.key)
            if node is None:
                continue
            ungates = self._our_pods.placed_by_ungating(pod)
            names = {each: f"{pod.name[0]}/{each}" for each in pod.parsed_pod.delayed_claims}
            volumes = {each: decision.volumes[name].volume for each, name in names.items() if name in decision.volumes}
            if self._assumed.assume(pod.ref, node, volumes):
                binds.append(Ungate(pod.ref, node, self.host(node)) if ungates else Bind(pod.ref, node))
        return tuple(binds)

    def unpinnable(self, decision: Decision, status: RootStatus) -> str:
        """Return the first node that has no host name label to pin a pod to; empty if there is none."""
        nodes = {
            decision.assignments[pod.key]
            for pod in status.to_place
            if self._our_pods.placed_by_ungating(pod) and pod.key in decision.assignments
        }
        return min((node for node in nodes if not self.host(node)), default="")

    def host(self, node: str) -> str:
        """Return the host name label of a node; empty if it has none."""
        read = self._cache.usage.nodes.nodes.get(node)
        return read.labels.get(HOSTNAME, "") if read is not None else ""

    def bind_failed(self, write: Bind | Ungate, outcome: WriteOutcome, why: str, *, current: bool) -> tuple[Write, ...]:
        """Return the event of a pod whose bind has failed, and its condition if this is the *current* bind of the pod."""
        if outcome in {WriteOutcome.DONE, WriteOutcome.GONE, WriteOutcome.DROPPED}:
            return ()
        message = bind_failed(write.pod.key, write.node, why)
        event = RecordEvent(write.pod, WARNING, "FailedScheduling", message)
        pod = self._cache.pod(write.pod)
        # The API server reports pods with scheduling gates itself.
        if pod is None or not current or isinstance(write, Ungate):
            return (event,)
        return (*self._set_condition(write.pod, pod.pod_scheduled, SCHEDULED, "False", ERROR, cut(message)), event)

    def report_binding(self, binding: Binding, status: RootStatus) -> tuple[Write, ...]:
        """Return the event of a root, and the conditions of its groups, about binds that are retried or have failed."""
        pod = min(binding.failures)
        failure = bind_failed(pod.key, binding.binds[pod].node, binding.failures[pod])
        message = cut(partly_bound(binding.done, len(binding.binds), failure))
        writes: list[Write] = []
        for live in groups_of(self._cache, binding.failures):
            writes += self._set_not_scheduled(live, INITIALLY_SCHEDULED[live.key[0]], ERROR, message, MOST_URGENT)
        return (*writes, RecordEvent(status.ref, WARNING, "FailedScheduling", message))

    def report_volumes(self, pods: Iterable[Ref], status: RootStatus, reason: str, message: str) -> tuple[Write, ...]:
        """Return the event of a root, and the conditions of its groups, about volumes of *pods* that are not bound."""
        writes: list[Write] = []
        for live in groups_of(self._cache, pods):
            writes += self._set_not_scheduled(live, INITIALLY_SCHEDULED[live.key[0]], reason, cut(message), MOST_URGENT)
        return (*writes, RecordEvent(status.ref, WARNING, WAITING if reason == WAITING else "FailedScheduling", cut(message)))

    def nominate(self, binds: Iterable[Bind | Ungate], *, clear: bool = False) -> tuple[Nominate, ...]:
        """Return the writes that nominate the pods of *binds* for their nodes while their volumes are being bound, or *clear* that."""
        pods = [(write.pod, "" if clear else write.node) for write in binds if isinstance(write, Bind) and self._cache.pod(write.pod)]
        for pod, node in pods:
            self._assumed.assume_nomination(pod, node)
        return tuple(Nominate(pod, node) for pod, node in pods)

    def commit(self, status: RootStatus, decision: Decision | None) -> tuple[Write, ...]:
        """Return the writes that record groups as scheduled, children before parents, and an event on the root."""
        writes: list[Write] = []
        for live in reversed(status.to_commit):
            condition = scheduled(live.key[0])
            writes += self._set_condition(
                _ref(live), live.condition(condition.type), condition.type, condition.status, condition.reason, condition.message
            )
        if status.to_commit and status.to_commit[0].key == (status.root.kind, status.root.namespace, status.root.name):
            writes.append(RecordEvent(status.ref, NORMAL, "Scheduled", bound(len(status.placed), _domain(decision))))
        return tuple(writes)

    def report_failure(self, decision: Decision, status: RootStatus, *, update_message: bool) -> tuple[Write, ...]:
        """Return the conditions and events that report on groups and pods why *decision* did not place them.

        The message of pods that are already reported as unschedulable changes only with *update_message*.
        """
        writes = [*self._to_groups(decision), *self._to_pods(decision, status, update_message=update_message)]
        if decision.status in _REPORTED:
            pod = decision.pending.get(f"{status.root.namespace}/{status.root.name}", ())
            message = decision_words.message(decision) or decision_words.causes_words(pod)
            writes.append(RecordEvent(status.ref, WARNING, "FailedScheduling", message))
        return tuple(writes)

    def report_waiting(self, decision: Decision, status: RootStatus, *, event: bool = True) -> tuple[Write, ...]:
        """Return the conditions that report what a root waits for.

        With *event*, also an event, if the gang is partially bound or waits for kinds that are not listed.
        """
        if decision.status is not Status.WAIT:
            return ()
        writes: list[Write] = []
        message = cut(decision_words.message(decision))
        single = status.root.kind == "Pod" and bool(status.unlisted)
        for pod in status.to_place if single else ():
            # An autoscaler must not add nodes for it, so the reason is not Unschedulable.  The API server reports gated pods itself.
            if not self._our_pods.placed_by_ungating(pod):
                writes += self._set_condition(pod.ref, pod.pod_scheduled, SCHEDULED, "False", ERROR, message)
        for group, text in decision_words.pending({each.group: each.causes for each in decision.groups}).items():
            if (live := self._cache.group(group.kind, group.namespace, group.name)) is not None:
                writes += self._set_not_scheduled(live, INITIALLY_SCHEDULED[group.kind], WAITING, cut(text))
        if event and (writes or single) and (status.partially_bound or status.unlisted):
            writes.append(RecordEvent(status.ref, WARNING, WAITING, message))
        return tuple(writes)

    def nominations(self, decision: Decision, status: RootStatus) -> tuple[Nominate, ...]:
        """Return the writes that clear the nominations that *decision* no longer has."""
        if decision.status not in _FAILED:
            return ()
        lost = [pod for pod in status.to_place if pod.nominated and pod.key not in decision.nominations]
        for pod in lost:
            self._assumed.assume_nomination(pod.ref, "")
        return tuple(Nominate(pod.ref, "") for pod in lost)

    def pods_to_undo(self, status: RootStatus) -> list[LivePod]:
        """Return the pods that are deleted to undo a gang, by name: also those that are pinned to a node that no longer exists."""
        whole = status.awaits_binding or not status.partially_bound
        return sorted(filter(self._our_pods.has, status.placed) if whole else status.partially_bound, key=lambda pod: pod.key)

    def undo(self, status: RootStatus, why: str) -> tuple[Write, ...]:
        """Return the writes that undo a partially bound gang; its pods count as being deleted."""
        message = not_completed(Name(status.root.kind, status.root.namespace, status.root.name), why)
        pods = self.pods_to_undo(status)
        for pod in pods:
            self._assumed.expect_deletion(pod.ref, evicted=False)
        return (
            *(Remove(pod.ref, message) for pod in pods),
            RecordEvent(status.ref, WARNING, "PlacementUndone", undone(message, len(pods))),
        )

    def _to_groups(self, decision: Decision) -> Iterator[Write]:
        for each in decision.groups:
            live = self._cache.group(each.group.kind, each.group.namespace, each.group.name)
            if live is None or each.status not in _FAILED:
                continue
            for condition in conditions(decision, each):
                if condition.status == "False":
                    yield from self._set_not_scheduled(live, condition.type, condition.reason, condition.message)

    def _to_pods(self, decision: Decision, status: RootStatus, *, update_message: bool) -> Iterator[Write]:
        if decision.status not in {*_REPORTED, Status.SUCCESS}:
            return
        reason = ERROR if decision.status in (Status.ERROR, Status.INVALID) else "Unschedulable"
        reported: list[LivePod] = []
        for pod in status.to_place:
            # The API server reports pods with scheduling gates itself.
            if pod.key not in decision.pending or self._our_pods.placed_by_ungating(pod):
                continue
            known = pod.pod_scheduled is not None and (pod.pod_scheduled.status, pod.pod_scheduled.reason) == ("False", reason)
            if update_message or not known:
                reported.append(pod)
        messages = decision_words.pending({pod.key: decision.pending[pod.key] for pod in reported})
        for pod in reported:
            yield from self._set_condition(pod.ref, pod.pod_scheduled, SCHEDULED, "False", reason, messages[pod.key])

    def _set_not_scheduled(self, live: LiveGroup, type_: str, reason: str, message: str, urgency: int = 2) -> list[Write]:
        current = live.condition(type_)
        # True is final, even if the write is not visible yet.
        if live.binds_acknowledged or (current is not None and current.status == "True"):
            return []
        return self._set_condition(_ref(live), current, type_, "False", reason, message, urgency)

    def _set_condition(
        self, target: Ref, before: Condition | None, type_: str, status: str, reason: str, message: str, urgency: int = 2
    ) -> list[Write]:
        """Return the write of a condition; none if the condition is already as wanted."""
        if before is not None and (before.status, before.reason, before.message) == (status, reason, message):
            return []
        since = before.since if before is not None and before.status == status else ""
        condition = Condition(type_, status, reason, message, since)
        self._assumed.assume_condition(target, condition)
        return [SetCondition(target, condition, urgency)]


def groups_of(cache: Cache, pods: Iterable[Ref]) -> tuple[LiveGroup, ...]:
    """Return the groups of *pods* and all groups above them, by name."""
    groups: dict[Key, LiveGroup] = {}
    for ref in pods:
        pod = cache.pod(ref)
        live = cache.group("PodGroup", ref.namespace, pod.parsed_pod.group) if pod is not None else None
        while live is not None and live.key not in groups:
            groups[live.key] = live
            live = cache.group("CompositePodGroup", ref.namespace, live.parent)
    return tuple(groups[key] for key in sorted(groups))


def _ref(live: LiveGroup) -> Ref:
    return live.ref


def _domain(decision: Decision | None) -> Domain | None:
    """Return the domain of a root."""
    return decision.groups[0].domain if decision is not None and decision.groups else None
