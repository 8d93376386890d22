"""Records of pods: drafts, once nodes and priority classes are known."""

from __future__ import annotations

from collections.abc import Container, Iterator

from kubeapi.meta import replaced
from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import NominatedNodeUnknown, PriorityClassUnknown
from scheduler_core.loading.pod_drafts import NOTHING_ATTACHED, Draft, Traits
from scheduler_core.loading.pod_forms import Images, PodForm
from scheduler_core.loading.pod_shapes import scored_images, shape_of
from scheduler_core.loading.priority import Priorities, Rank
from scheduler_core.model.names import Name
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILES, SchedulerProfiles


def record_of(draft: Draft, shape: PodShape, rank: Rank, *, node: int, nominated: int) -> PodRecord:
    """Return the record of *draft* on the node with index *node* (-1: pending), nominated for *nominated* (-1: none)."""
    return PodRecord(
        key=draft.key,
        namespace=draft.namespace,
        shape=shape,
        labels=draft.labels,
        priority=rank.value,
        node=node,
        group=draft.group,
        scheduler=draft.scheduler,
        preempts=rank.preempts,
        created=draft.created,
        started=draft.started,
        terminating=draft.terminating,
        preempted=draft.terminating and draft.preempted,
        gates=draft.gates,
        nominated=nominated,
        health=draft.health,
        bound_claims=draft.bound_claims,
        delayed_claims=draft.delayed_claims,
        named_volumes=draft.named_volumes,
        device_claims=draft.device_claims,
        held=draft.held if draft.held and shape.profile.filters("DynamicResources") else "",
        controller=draft.controller,
        uid=draft.uid if node >= 0 else "",
    )


def problems_of(draft: Draft, rank: Rank, nodes: Container[str]) -> Iterator[Problem]:
    """Return problems with fields of *draft*."""
    name = Name("Pod", *draft.name)
    yield from (Problem.about(name, error) for error in draft.form.wrong)
    if not rank.known:
        yield Problem.about(name, PriorityClassUnknown(draft.class_name))
    if draft.nominated and not draft.node and draft.nominated not in nodes:
        yield Problem.about(name, NominatedNodeUnknown(draft.nominated))


class Records:
    """Converts drafts to records."""

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
        self._equal: dict[int, tuple[PodForm, PodRecord, Traits]] = {}
        """Form and record of a plain pod by its traits, which are there so that no others have their place in memory."""
        self._ranks: dict[tuple[int | None, str, str | None], Rank] = {}
        self._shapes: dict[tuple[PodForm, Images, str], PodShape] = {}
        self._by_content: dict[tuple[PodForm, Images, str], PodShape] = {}

    def record_all(self, drafts: list[Draft]) -> Iterator[PodRecord]:
        """Yield the records of *drafts*, in order, and remove these: both together take twice as much memory."""
        drafts.reverse()
        while drafts:
            yield self.record(drafts.pop())

    def record(self, draft: Draft) -> PodRecord:
        """Return the record of *draft*.  Shapes are numbered in the order of the calls."""
        if draft.attached is NOTHING_ATTACHED and (equal := self._equal.get(id(draft.traits))) is not None and equal[0] is draft.form:
            return replaced(
                equal[1],
                key=draft.key,
                namespace=draft.namespace,
                labels=draft.labels,
                node=self._index.get(draft.node, -1),
                group=draft.group,
                created=draft.created,
                started=draft.started,
                terminating=draft.terminating,
                preempted=draft.terminating and draft.preempted,
                uid=draft.uid if draft.node else "",
            )
        return self._new_record(draft)

    def _new_record(self, draft: Draft) -> PodRecord:
        written = draft.priority, draft.class_name, draft.policy
        if (rank := self._ranks.get(written)) is None:
            rank = self._ranks[written] = self._priorities.rank(*written)
        index = self._index
        if draft.nominated or draft.form.wrong or not rank.known:
            self._problems += problems_of(draft, rank, index)
        record = record_of(draft, self._shape(draft), rank, node=index.get(draft.node, -1), nominated=index.get(draft.nominated, -1))
        if rank.known and not draft.form.wrong and draft.attached is NOTHING_ATTACHED:
            self._equal[id(draft.traits)] = draft.form, record, draft.traits
        return record

    def _shape(self, draft: Draft) -> PodShape:
        read = draft.form, draft.images, draft.scheduler if self._profiles.by_name else ""
        if (shape := self._shapes.get(read)) is not None:
            return shape
        images = scored_images(draft.images, self._nodes)
        key = read[0], images, read[2]
        if (shape := self._by_content.get(key)) is None:
            profile = self._profiles.profile(draft.scheduler)
            shape = self._by_content[key] = shape_of(draft.form, images, self._first + len(self._by_content), self._nodes, profile)
        self._shapes[read] = shape
        return shape
