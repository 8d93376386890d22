"""Records of pods: parsed pods, once nodes and priority classes are known."""

from __future__ import annotations

from collections.abc import Container, Iterator

from kubeapi.meta import replaced
from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import NominatedNodeUnknown, PriorityClassUnknown
from scheduler_core.loading.build_pod_shapes import scored_images, shape_of
from scheduler_core.loading.parsed_pod_specs import Images, ParsedPodSpec
from scheduler_core.loading.parsed_pods import NOTHING_ATTACHED, ParsedPod, Traits
from scheduler_core.loading.priority import Priorities, Rank
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILES, SchedulerProfiles


def record_of(parsed_pod: ParsedPod, shape: PodShape, rank: Rank, *, node: int, nominated: int) -> PodRecord:
    """Return the record of *parsed_pod* on the node with index *node* (-1: pending), nominated for *nominated* (-1: none)."""
    return PodRecord(
        key=parsed_pod.key,
        namespace=parsed_pod.namespace,
        shape=shape,
        labels=parsed_pod.labels,
        priority=rank.value,
        node=node,
        group=parsed_pod.group,
        scheduler=parsed_pod.scheduler,
        preempts=rank.preempts,
        created=parsed_pod.created,
        started=parsed_pod.started,
        terminating=parsed_pod.terminating,
        preempted=parsed_pod.terminating and parsed_pod.preempted,
        gates=parsed_pod.gates,
        nominated=nominated,
        health=parsed_pod.health,
        bound_claims=parsed_pod.bound_claims,
        delayed_claims=parsed_pod.delayed_claims,
        named_volumes=parsed_pod.named_volumes,
        device_claims=parsed_pod.device_claims,
        held=parsed_pod.held if parsed_pod.held and shape.profile.filters("DynamicResources") else "",
        controller=parsed_pod.controller,
        uid=parsed_pod.uid if node >= 0 else "",
    )


def problems_of(parsed_pod: ParsedPod, rank: Rank, nodes: Container[str]) -> Iterator[Problem]:
    """Return problems with fields of *parsed_pod*."""
    name = Name("Pod", *parsed_pod.name)
    yield from (Problem.about(name, error) for error in parsed_pod.form.wrong)
    if not rank.known:
        yield Problem.about(name, PriorityClassUnknown(parsed_pod.class_name))
    if parsed_pod.nominated and not parsed_pod.node and parsed_pod.nominated not in nodes:
        yield Problem.about(name, NominatedNodeUnknown(parsed_pod.nominated))


class Records:
    """Converts parsed pods to records."""

    def __init__(
        self,
        nodes: NodeTable,
        priorities: Priorities,
        problems: list[Problem],
        profiles: SchedulerProfiles = DEFAULT_PROFILES,
        first: int = 0,
    ) -> None:
        """Prepare; shapes are numbered from *first*."""
        self._nodes = nodes
        self._priorities = priorities
        self._problems = problems
        self._profiles, self._first = profiles, first
        self._index = nodes.index
        self._equal: dict[int, tuple[ParsedPodSpec, PodRecord, Traits]] = {}
        """Form and record of a plain pod by its traits, which are there so that no others have their place in memory."""
        self._ranks: dict[tuple[int | None, str, str | None], Rank] = {}
        self._shapes: dict[tuple[ParsedPodSpec, Images, str], PodShape] = {}
        self._by_content: dict[tuple[ParsedPodSpec, Images, str], PodShape] = {}

    def record_all(self, parsed_pods: list[ParsedPod]) -> Iterator[PodRecord]:
        """Yield the records of *parsed_pods*, in order, and remove these: both together take twice as much memory."""
        parsed_pods.reverse()
        while parsed_pods:
            yield self.record(parsed_pods.pop())

    def record(self, parsed_pod: ParsedPod) -> PodRecord:
        """Return the record of *parsed_pod*.  Shapes are numbered in the order of the calls."""
        if (
            parsed_pod.attached is NOTHING_ATTACHED
            and (equal := self._equal.get(id(parsed_pod.traits))) is not None
            and equal[0] is parsed_pod.form
        ):
            return replaced(
                equal[1],
                key=parsed_pod.key,
                namespace=parsed_pod.namespace,
                labels=parsed_pod.labels,
                node=self._index.get(parsed_pod.node, -1),
                group=parsed_pod.group,
                created=parsed_pod.created,
                started=parsed_pod.started,
                terminating=parsed_pod.terminating,
                preempted=parsed_pod.terminating and parsed_pod.preempted,
                uid=parsed_pod.uid if parsed_pod.node else "",
            )
        return self._new_record(parsed_pod)

    def _new_record(self, parsed_pod: ParsedPod) -> PodRecord:
        written = parsed_pod.priority, parsed_pod.class_name, parsed_pod.policy
        if (rank := self._ranks.get(written)) is None:
            rank = self._ranks[written] = self._priorities.rank(*written)
        index = self._index
        if parsed_pod.nominated or parsed_pod.form.wrong or not rank.known:
            self._problems += problems_of(parsed_pod, rank, index)
        record = record_of(
            parsed_pod, self._shape(parsed_pod), rank, node=index.get(parsed_pod.node, -1), nominated=index.get(parsed_pod.nominated, -1)
        )
        if rank.known and not parsed_pod.form.wrong and parsed_pod.attached is NOTHING_ATTACHED:
            self._equal[id(parsed_pod.traits)] = parsed_pod.form, record, parsed_pod.traits
        return record

    def _shape(self, parsed_pod: ParsedPod) -> PodShape:
        read = parsed_pod.form, parsed_pod.images, parsed_pod.scheduler if self._profiles.by_name else ""
        if (shape := self._shapes.get(read)) is not None:
            return shape
        images = scored_images(parsed_pod.images, self._nodes)
        key = read[0], images, read[2]
        if (shape := self._by_content.get(key)) is None:
            profile = self._profiles.profile(parsed_pod.scheduler)
            shape = self._by_content[key] = shape_of(parsed_pod.form, images, self._first + len(self._by_content), self._nodes, profile)
        self._shapes[read] = shape
        return shape
