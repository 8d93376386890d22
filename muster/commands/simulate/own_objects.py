"""The part of an answer about the objects at PATH, with ``--objects`` as the rest of the cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from expansion import device_shares
from expansion.notes import ObjectNote, ShareNotJudged, SharesAhead
from kubeapi.base_structs import as_tuple, replaced
from kubeapi.device_shares import first_share
from kubeapi.gather import ADMISSION_KINDS, CONFIGURATION, KINDS, is_left_out
from kubeapi.gathered import Given
from kubeapi.problem import Problem, ProblemKind
from kubeapi.resource_names import is_extended
from muster.render.answer import Answer, Share
from muster.render.tree_rows import pod_name
from scheduler_core.causes.input_problems import KindNotServed
from scheduler_core.model.decision import Decision, Step
from scheduler_core.model.names import Name
from validators.model.objects import namespace_of

if TYPE_CHECKING:
    from scheduler_core.model.snapshot import ClusterSnapshot

_WAITING = frozenset({"Pod", "PodGroup", "CompositePodGroup"})
_AMBIGUOUS = frozenset({"Node", *_WAITING})
_USED = frozenset({*KINDS, *ADMISSION_KINDS, CONFIGURATION})


@dataclasses.dataclass(frozen=True, slots=True)
class Own:
    """The pods and groups at PATH, and the problems of reading it."""

    names: frozenset[Name]
    objects: frozenset[Name]
    """All objects at PATH."""
    problems: tuple[Problem, ...] = ()
    origins: Mapping[Name, Name] = dataclasses.field(default_factory=dict)
    """The controller's object at PATH of each object that was created for it."""

    @classmethod
    def from_names(cls, names: Iterable[Name], problems: Iterable[Problem], origins: Mapping[Name, Name] | None = None) -> Own | None:
        """Return the pods and groups among *names*; None if there are none."""
        own = frozenset(names)
        waiting = frozenset(each for each in own if each.kind in _WAITING)
        return cls(waiting, own, tuple(problems), origins or {}) if waiting else None


def share(answer: Answer, part: Answer, own: Own) -> Share:
    """Return how much of *answer* is about *own*: the roots of its pods and groups, and all pods of these roots, which *part* has."""
    mine = roots(answer.decisions, own)
    return Share(len(mine), len(mine & answer.placed_roots), len(part.pending), len(part.problems))


def restricted(answer: Answer, snapshot: ClusterSnapshot, own: Own) -> Answer:
    """Return *answer* with only the decisions, pending pods and problems of *own*."""
    mine = roots(answer.decisions, own)
    decisions = tuple(each for each in answer.decisions if each.root in mine)
    decided = {pod for each in decisions for pod in each.pending}
    pending = {pod for pod, _ in answer.pending}
    groups = {pod.key: Name("PodGroup", pod.namespace, pod.group) for pod in snapshot.pods if pod.key in pending}
    return replaced(
        answer,
        decisions=decisions,
        pending=tuple(
            (pod, why) for pod, why in answer.pending if pod in decided or pod_name(pod) in own.names or groups.get(pod) in own.names
        ),
        problems=tuple(each for each in answer.problems if is_problem_of(own, each)),
        own=None,
    )


def roots(decisions: Iterable[Decision], own: Own) -> frozenset[Name]:
    """Return the roots of the pods and groups of *own*."""
    return frozenset(each.root for each in decisions if concerns(each, own))


def without_self_eviction(decision: Decision, own: Own) -> Decision:
    """Return *decision* without remedies that evict a pod of *own*, which is placed before it."""
    remedies = tuple(each for each in decision.remedies if not any(_evicted(step) in own.names for step in each.steps))
    return dataclasses.replace(decision, remedies=remedies) if len(remedies) < len(decision.remedies) else decision


def _evicted(step: Step) -> Name | None:
    """Return the name of the pod that a step deletes, or moves to another node."""
    if step.delete is not None:
        named = step.delete
    elif step.apply is not None and step.apply.get("spec", {}).get("nodeName"):
        named = {"kind": step.apply.get("kind"), **step.apply.get("metadata", {})}
    else:
        return None
    return Name(str(named.get("kind")), str(named.get("namespace") or "default"), str(named.get("name")))


def unread(answer: Answer, part: Answer, inputs: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return *inputs* of the cluster that could not be read, and its objects that *answer* leaves out; those of *part* are at PATH."""
    mine = {*part.problems, *part.skipped}
    unused = (each for each in answer.problems if is_unused(each))
    return tuple(dict.fromkeys(each for each in (*inputs, *unused) if each not in mine))


def is_unused(problem: Problem, kinds: Collection[str] = _USED) -> bool:
    """Return whether an object of *kinds* was not used, or it is not known which of several objects is meant.

    A kind that the API server does not serve is none of the cluster's.
    """
    return (is_left_out(problem, kinds) and not isinstance(problem.fact, KindNotServed)) or is_ambiguous(problem)


def is_ambiguous(problem: Problem) -> bool:
    """Return whether a node, a pod or a group is defined several times, as if the objects were of two clusters."""
    return problem.kind is ProblemKind.SEVERAL_OBJECTS and any(each.kind in _AMBIGUOUS for each in problem.names)


def unjudged(answer: Answer, snapshot: ClusterSnapshot, own: Own) -> Iterator[Problem]:
    """Yield the objects of *own* that no decision is about; *answer* is restricted to *own*.

    They are root groups without pods, new pods with a node name, and objects that are defined several times.
    """
    yield from filter(is_ambiguous, answer.problems)
    parents = {
        Name(each.kind, namespace_of(each), each.metadata.name): Name("CompositePodGroup", namespace_of(each), parent)
        for each in snapshot.groups
        if (parent := each.spec.parent_composite_pod_group_name)
    }
    created = {f"{name.namespace}/{name.name}": origin for name, origin in own.origins.items() if name.kind == "Pod"}
    with_node = (created[pod.key] for pod in snapshot.pods if pod.node >= 0 and pod.key in created)
    yield from (Problem.about(each, ObjectNote.HAS_NODE) for each in with_node)
    with_pods: set[Name] = set()
    for namespace, leaf in {(pod.namespace, pod.group) for pod in snapshot.pods if pod.group}:
        group: Name | None = Name("PodGroup", namespace, leaf)
        while group is not None and group not in with_pods:
            with_pods.add(group)
            group = parents.get(group)
    filled = {own.origins.get(name) for name in with_pods}
    for name in own.names - with_pods - parents.keys():
        origin = own.origins.get(name)
        # Groups that are created for controllers are judged with their pods; a group of another scheduler is like one at PATH.
        if name.kind != "Pod" and (origin is None or (origin.kind == "PodGroup" and origin not in filled)):
            yield Problem.about(origin or name, ObjectNote.WITHOUT_PODS)


def pending_shares(answer: Answer, snapshot: ClusterSnapshot) -> Iterator[Problem]:
    """Yield the pods without a node in *answer* that request a share of a device, with the reason why they are not judged."""
    left = answer.reasons.keys()
    for pod in snapshot.pods:
        if pod.node < 0 and pod.key in left and (share := first_share(pod.shape.unmodelled)) is not None:
            yield Problem.about(pod_name(pod.key), ShareNotJudged(share.scheduler, share.key, annotation=share.annotation))


def beside_shares(answer: Answer, snapshot: ClusterSnapshot, objects: Iterable[Given], own: Own | None) -> tuple[Problem, ...]:
    """Return why it is not certain that pods have the nodes that *answer* gives them: others have, or wait for, shares of devices there.

    With whole devices, they are not certain where others have shares of them, which are not counted.
    """
    rows = {row for row, name in enumerate(snapshot.nodes.resources) if name in device_shares.WHOLE}
    wanting = {pod.key for pod in snapshot.pods if any(row in rows for row, _ in pod.shape.charges)} if rows else frozenset()
    pods: dict[str, list[Name]] = {}
    for decision in answer.decisions:
        for pod, node in (*decision.assignments.items(), *decision.nominations.items()):
            if pod in wanting:
                pods.setdefault(node, []).append(pod_name(pod))
    shares = dict(device_shares.uncounted_shares(objects, pods)) if pods else {}
    uncounted = (Problem(share, tuple(sorted(pods[node], key=as_tuple))) for node, share in sorted(shares.items()))
    return (*uncounted, *(() if own is None else _shares_ahead(answer, snapshot, own)))


def _shares_ahead(answer: Answer, snapshot: ClusterSnapshot, own: Own) -> tuple[Problem, ...]:
    """Return the pending pods with shares of devices before those of *own*, if *answer* places one of *own* on a node with devices."""
    waiting = [(pod, share) for pod in snapshot.pods if pod.node < 0 and (share := first_share(pod.shape.unmodelled)) is not None]
    if not waiting:
        return ()
    mine = [each for each in answer.decisions if concerns(each, own)]
    placed = {pod: node for each in mine for pod, node in (*each.assignments.items(), *each.nominations.items())}
    rows = [row for row, name in enumerate(snapshot.nodes.resources) if is_extended(name)]
    table = snapshot.nodes.allocatable
    with_devices = {name for index, name in enumerate(snapshot.nodes.names) if any(table[row, index] for row in rows)}
    lowest = min((pod.priority for pod in snapshot.pods if placed.get(pod.key) in with_devices), default=None)
    unplaced = {pod for each in mine for pod in each.pending}
    ahead = [(pod, share) for pod, share in waiting if lowest is not None and pod.priority >= lowest and pod.key not in unplaced]
    if not ahead:
        return ()
    _, first = ahead[0]
    return (Problem(SharesAhead(first.scheduler, first.key), tuple(pod_name(pod.key) for pod, _ in ahead)),)


def is_problem_of(own: Own, problem: Problem) -> bool:
    """Return whether a problem is about an object at PATH, or about an attribute of ``--device-topology``."""
    return problem in own.problems or problem.kind is ProblemKind.UNKNOWN_ATTRIBUTE or not own.objects.isdisjoint(problem.names)


def concerns(decision: Decision, own: Own) -> bool:
    """Return whether a decision is about a pod or group of *own*."""
    if decision.root in own.names or any(each.group in own.names for each in decision.groups):
        return True
    return any(pod_name(pod) in own.names for pods in (decision.assignments, decision.pending, decision.nominations) for pod in pods)
