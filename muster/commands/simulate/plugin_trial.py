"""Trial of an admission plugin that is off: which objects without a node fit if it is on when their pods are created."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from expansion.admission.admission_plugins import requested_resources, tolerate_resources
from expansion.admission.quota_charges import is_stored
from expansion.notes import FitsWithPlugin
from expansion.pod_creation import EXTENDED_RESOURCE_TOLERATION
from kubeapi.base_structs import Record, record_field
from kubeapi.gathered import Given
from kubeapi.problem import Problem
from kubeapi.resource_names import is_extended
from muster.commands.simulate import own_objects
from muster.commands.simulate.own_objects import Own
from scheduler_core.causes.changes import EnabledPlugin
from scheduler_core.model.decision import Decision, Remedy, Step, latest
from scheduler_core.model.names import Name
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edited_objects import pod_of
from scheduler_core.whatif.edits.raw_objects import Book, after

Decide = Callable[[ClusterSnapshot], Sequence[Decision]]
"""Decisions in a changed cluster."""


class PluginTrial(Record, frozen=True):
    """Result of the trial: a note about the objects that fit, and a remedy for each of their roots; none for a plugin that does not help."""

    notes: tuple[Problem, ...] = ()
    remedies: Mapping[Name, Remedy] = record_field(default_factory=dict)

    def advised(self, decisions: Sequence[Decision], most: int) -> tuple[Decision, ...]:
        """Return *decisions* with the remedies, behind those that they have, for *most* roots."""
        helped = [root for root in latest(decisions) if root in self.remedies][:most]
        last = [latest(decisions)[root] for root in helped]
        return tuple(
            dataclasses.replace(each, remedies=(*each.remedies, self.remedies[each.root])) if any(each is other for other in last) else each
            for each in decisions
        )


def try_plugin(
    objects: Iterable[Given], snapshot: ClusterSnapshot, decisions: Sequence[Decision], own: Own | None, decide: Decide
) -> PluginTrial:
    """Try ExtendedResourceToleration for the objects that do not fit: they must all fit with it, without evictions.

    A trial is made only if the taint of a node is named like a resource that a pod without a node requests.  The plugin is on for all new
    pods, so that those that have a node already can take others.  If no pod is new, those that are stored are tried as if they were created again.

    Args:
        objects: the raw objects that *snapshot* was loaded from.
        snapshot: the cluster.
        decisions: those of the cycles without the plugin.
        own: the objects that the answer is about; None for all, of which only new ones are tried.
        decide: repeats these cycles.

    """
    keys = {taint.key for taints in snapshot.nodes.taints for taint in taints if taint.effect == "NoSchedule" and is_extended(taint.key)}
    mine = decisions if own is None else [each for each in decisions if own_objects.concerns(each, own)]
    failed = {root: {*each.pending} for root, each in latest(mine).items() if each.pending}
    if not keys or not failed:
        return PluginTrial()
    book = Book(objects)
    named = ((key, pod_of(book, key)) for key in sorted({pod for each in mine for pod in (*each.assignments, *each.pending)}))
    pods = {key: pod for key, pod in named if pod is not None}
    # What the API server has stored was admitted with the plugins of its cluster.
    new = {key: pod for key, pod in pods.items() if not is_stored(pod)}
    stored = not new and own is not None
    tolerant = {key: pod for key, pod in (pods if stored else new).items() if tolerate_resources(pod)}
    helped = {key for key, pod in tolerant.items() if not keys.isdisjoint(requested_resources(pod))}
    if all(helped.isdisjoint(pending) for pending in failed.values()):
        return PluginTrial()
    steps = tuple(Step(apply=pod) for pod in tolerant.values())
    tried = decide(after(book.cluster(snapshot), steps).snapshot())
    evicting = {each.root for each in tried if each.victims}
    placed = {root for root, each in latest(tried).items() if each.status is Status.SUCCESS and not each.pending}
    if latest(mine).keys() - failed.keys() - placed:
        # Others at PATH lose their nodes.
        return PluginTrial()
    origins = own.origins if own is not None else {}
    subjects = {origins.get(root, root) for root, pending in failed.items() if not helped.isdisjoint(pending)}
    subjects -= {origins.get(root, root) for root in failed.keys() - (placed - evicting)}
    if not subjects:
        return PluginTrial()
    remedy = Remedy(EnabledPlugin(EXTENDED_RESOURCE_TOLERATION, stored), steps)
    return PluginTrial(
        (Problem(FitsWithPlugin(EXTENDED_RESOURCE_TOLERATION, stored), tuple(sorted(subjects, key=str))),),
        {root: remedy for root in failed if origins.get(root, root) in subjects},
    )
