"""Trial of an admission plugin that is off: which new objects without a node fit if it is on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from expansion.admission.admission_plugins import requested_resources, tolerate_resources
from expansion.admission.quota_charges import is_stored
from expansion.notes import FitsWithPlugin
from expansion.pod_creation import EXTENDED_RESOURCE_TOLERATION
from kubeapi.gathered import Given
from kubeapi.problem import Problem
from kubeapi.resource_names import is_extended
from muster.commands.simulate import own_objects
from muster.commands.simulate.own_objects import Own
from scheduler_core.model.decision import Decision, Step, latest
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.edited_objects import pod_of
from scheduler_core.whatif.edits.raw_objects import Book, after

Decide = Callable[[ClusterSnapshot], Sequence[Decision]]
"""Decisions in a changed cluster."""


def fits_with_plugin(
    objects: Iterable[Given], snapshot: ClusterSnapshot, decisions: Sequence[Decision], own: Own | None, decide: Decide
) -> Iterator[Problem]:
    """Yield a note about the objects that do not fit, and all fit with ExtendedResourceToleration, without evictions.

    A trial is made only if the taint of a node is named like a resource that a new pod without a node requests.  The plugin is on for
    all new pods, so that those that have a node already can take others.

    Args:
        objects: the raw objects that *snapshot* was loaded from.
        snapshot: the cluster.
        decisions: those of the cycles without the plugin.
        own: the objects that the answer is about; None for all.
        decide: repeats these cycles.

    """
    keys = {taint.key for taints in snapshot.nodes.taints for taint in taints if taint.effect == "NoSchedule" and is_extended(taint.key)}
    mine = decisions if own is None else [each for each in decisions if own_objects.concerns(each, own)]
    failed = {root: {*each.pending} for root, each in latest(mine).items() if each.pending}
    if not keys or not failed:
        return
    book, helped, steps = Book(objects), set[str](), list[Step]()
    for key in sorted({pod for each in mine for pod in (*each.assignments, *each.pending)}):
        pod = pod_of(book, key)
        # What the API server has stored was admitted with the plugins of its cluster.
        if pod is not None and not is_stored(pod) and tolerate_resources(pod):
            steps.append(Step(apply=pod))
            helped.update((key,) if not keys.isdisjoint(requested_resources(pod)) else ())
    if all(helped.isdisjoint(pending) for pending in failed.values()):
        return
    tried = decide(after(book.cluster(snapshot), steps).snapshot())
    evicting = {each.root for each in tried if each.victims}
    placed = {root for root, each in latest(tried).items() if each.status is Status.SUCCESS and not each.pending}
    if latest(mine).keys() - failed.keys() - placed:
        # Others at PATH lose their nodes.
        return
    origins = own.origins if own is not None else {}
    subjects = {origins.get(root, root) for root, pending in failed.items() if not helped.isdisjoint(pending)}
    subjects -= {origins.get(root, root) for root in failed.keys() - (placed - evicting)}
    if subjects:
        yield Problem(FitsWithPlugin(EXTENDED_RESOURCE_TOLERATION), tuple(sorted(subjects, key=str)))
