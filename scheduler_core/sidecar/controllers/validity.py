"""Reports invalid trees in conditions of their groups, and removes the conditions once the trees are valid.

This is the runtime validation that KEP-6012 plans for Beta, on any cluster and with any scheduler.  Objects of a tree arrive in any
order, so a tree is reported only after it has been invalid for a while.  The kinds have no generation, so conditions are compared with
the current tree.  The time is an argument; the controller returns writes and makes none.

A condition ``…InitiallyScheduled`` is not changed if it is True, which is final, or if kube-scheduler wrote it.  Then the tree is
reported in the condition ``muster.dev/Valid`` and in an event.  kube-scheduler writes conditions of CompositePodGroups from 1.38 on.
Before 1.38, only this sidecar writes the condition that a CompositePodGroup is not placed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from kubeapi.groups import INITIALLY_SCHEDULED, Group
from kubeapi.meta import Condition as GroupCondition
from scheduler_core.behavior.scheduler_behavior import BEHAVIORS, KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.pre_enqueue import GroupViolations, InvalidTree
from scheduler_core.model.conditions import WAITING
from scheduler_core.model.names import Name
from scheduler_core.queueing import tree_validation, tree_violations
from scheduler_core.queueing.trees import Tree, Trees, name_of
from scheduler_core.sidecar.cache.group_cache import ref_of
from scheduler_core.sidecar.controllers.pending_writes import PendingWrites
from scheduler_core.sidecar.settings import Settings
from scheduler_core.sidecar.writes import Condition, RecordEvent, Ref, SetCondition, Write
from scheduler_core.wording.kube_scheduler import attempt_words
from scheduler_core.wording.pre_enqueue_words import INVALID, pre_enqueue_words
from scheduler_core.wording.truncation import LONGEST, listed_within
from validators.gates import Gates

VALID = "muster.dev/Valid"
"""Our own condition type, used if the API's condition must not be changed."""
SETTLE_SECONDS = Settings.settle_seconds
MAX_SETTLE_FACTOR = 5
"""An invalid tree that keeps changing is reported after this multiple of the settle time."""
_OUR_REASONS = frozenset(behavior.invalid_reason(kind) for behavior in BEHAVIORS.values() for kind in INITIALLY_SCHEDULED)
_NOT_PLACED = frozenset({"Unschedulable", "SchedulerError"})


@dataclasses.dataclass(slots=True)
class _InvalidTree:
    """An invalid tree, with its messages at the last run."""

    messages: Mapping[Name, str]
    since: float
    changed: float


@dataclasses.dataclass(frozen=True, slots=True)
class ValidityResult:
    """Writes, and the time of the next validation without a change; None: only after a change."""

    writes: tuple[Write, ...]
    next_retry: float | None


class Validity:
    """Reconciler of the conditions of invalid trees."""

    def __init__(self, gates: Gates, *, behavior: SchedulerBehavior = KUBERNETES_1_37, settle: float = SETTLE_SECONDS) -> None:
        """Validate as in a cluster with *gates* and a kube-scheduler with *behavior*."""
        self._gates, self._settle, self._behavior = gates, settle, behavior
        self._invalid: dict[Name, _InvalidTree] = {}
        self._pending = PendingWrites()

    @property
    def count(self) -> int:
        """Number of trees that were invalid at the last run."""
        return len(self._invalid)

    def reconcile(self, trees: Trees, now: float, *, postponed: Callable[[Tree], bool] = lambda _: False) -> ValidityResult:
        """Validate all trees at *now*, in monotonic seconds; a *postponed* tree keeps its reports: objects that decide are not listed."""
        self._pending.expire(now)
        invalid_trees: dict[Name, _InvalidTree] = {}
        writes: list[Write] = []
        times: list[float] = []
        for tree in trees.all:
            if postponed(tree):
                if tree.name in self._invalid:
                    invalid_trees[tree.name] = self._invalid[tree.name]
                continue
            messages = _messages(tree, tree_violations.find_violations(tree, trees, self._gates)) or self._refusal(tree, trees)
            if messages:
                invalid = invalid_trees[tree.name] = self._update_tree(tree.name, messages, now)
                due = self._due(invalid)
                if due > now:
                    times.append(due)
                    continue
            writes += self._tree_writes(tree, messages, now)
        self._invalid = invalid_trees
        if self._pending.next_retry is not None:
            times.append(self._pending.next_retry)
        return ValidityResult(tuple(writes), min(times, default=None))

    def _refusal(self, tree: Tree, trees: Trees) -> dict[Name, str]:
        """Return the message for each group of a tree that only kube-scheduler refuses, because of its groups; else nothing."""
        if not self._behavior.validates_trees or tree.cyclic or tree.top.orphan:
            return {}
        refused = tree_validation.find_refusal(tree, trees)
        if refused is None or refused.object.kind == "Pod":
            return {}
        return dict.fromkeys((name_of(node.group) for node in tree.nodes), INVALID + attempt_words(refused, self._behavior))

    def _update_tree(self, name: Name, messages: Mapping[Name, str], now: float) -> _InvalidTree:
        before = self._invalid.get(name)
        if before is None:
            return _InvalidTree(messages, now, now)
        return before if before.messages == messages else _InvalidTree(messages, before.since, now)

    def _due(self, invalid: _InvalidTree) -> float:
        return min(invalid.changed + self._settle, invalid.since + MAX_SETTLE_FACTOR * self._settle)

    def _tree_writes(self, tree: Tree, messages: Mapping[Name, str], now: float) -> Iterator[Write]:
        for node in tree.nodes:
            group = node.group
            name = name_of(group)
            ref = ref_of(group)
            for write in self._wanted(group, ref, messages.get(name, "")):
                if self._pending.add(write, now):
                    yield write
                    if write.condition.type == VALID and write.condition.status:
                        yield RecordEvent(ref, "Warning", write.condition.reason, write.condition.message)

    def _wanted(self, group: Group, ref: Ref, message: str) -> Iterator[SetCondition]:
        """Return the writes that give *group* the condition with *message*; without a message, those that remove our condition."""
        kind = INITIALLY_SCHEDULED[group.kind]
        current = {each.type: each for each in group.status.conditions or ()}
        own, ours = current.get(kind), current.get(VALID)
        not_ours = own is not None and not _is_ours(own) and not (message and self._may_replace(group, own))
        wanted = {kind: "", VALID: ""}
        if message:
            wanted[VALID if not_ours else kind] = message
        if not not_ours:
            yield from _change(ref, own, kind, self._behavior.invalid_reason(group.kind), wanted[kind])
        yield from _change(ref, ours, VALID, self._behavior.invalid_reason(group.kind), wanted[VALID])

    def _may_replace(self, group: Group, own: GroupCondition) -> bool:
        """Return whether *own* is a report that only we write: what a group waits for, or that a composite is unschedulable."""
        ours = not self._behavior.writes_composites and group.kind == "CompositePodGroup"
        return own.status != "True" and (own.reason == WAITING or (ours and own.reason in _NOT_PLACED))


def _change(ref: Ref, current: GroupCondition | None, kind: str, reason: str, message: str) -> Iterator[SetCondition]:
    if not message:
        if current is not None:
            # The scheduler may have written another condition that is not visible yet, which must stay.
            yield SetCondition(ref, Condition(kind, "", current.reason, current.message))
    elif current is None or (current.status, current.reason, current.message) != ("False", reason, message):
        since = current.last_transition_time if current is not None and current.status == "False" else None
        yield SetCondition(ref, Condition(kind, "False", reason, message, since or ""))


def _is_ours(condition: GroupCondition) -> bool:
    # The reason does not identify it: kube-scheduler has the same reasons from 1.38 on.  Nor does the field manager: it is another one if
    # an earlier version wrote it (the User-Agent), or a sidecar of another scheduler name, or if a backup was restored.
    return condition.status != "True" and condition.reason in _OUR_REASONS and condition.message.startswith(INVALID)


def _messages(tree: Tree, groups: tuple[GroupViolations, ...]) -> dict[Name, str]:
    """Return the message for each group of an invalid tree: its own errors, or those of other groups; empty for a valid tree."""
    if not groups:
        return {}
    everything = pre_enqueue_words(InvalidTree(groups))
    own = {each.group: [*map(pre_enqueue_words, each.violations)] for each in groups}
    # All our messages have the prefix: ``_is_ours`` recognizes them by it.
    words = {name: INVALID + listed_within(errors, longest=LONGEST - len(INVALID)) for name, errors in own.items()}
    return {name: words.get(name, everything) for name in (name_of(node.group) for node in tree.nodes)}
