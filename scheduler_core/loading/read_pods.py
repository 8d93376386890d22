"""Pods as they are read: one of each name, first as drafts, then, when nodes and classes are known, as records."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Container, Iterable, Iterator, Mapping

from scheduler_core.loading.gather import GatheredObjects, Name, Unusable, label, left_out
from scheduler_core.loading.pod_forms import PodForm, PodForms
from scheduler_core.loading.priority import Priorities, Rank
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model import wire
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodRecord, PodShape
from scheduler_core.model.problem import Problem
from validators.model.group import Condition
from validators.model.pod import DEFAULT_SCHEDULER, PodWorkloadRef

_ENDED = frozenset({"Succeeded", "Failed"})
_MOST_TEXTS = 100_000
"""Texts that are kept once each: beyond that they are mostly each of one pod."""


@dataclasses.dataclass(slots=True)
class Draft:
    """What is kept of a pod's own text."""

    name: Name
    form: PodForm
    labels: Mapping[str, str]
    node: str
    nominated: str
    priority: int | None
    class_name: str
    policy: str | None
    group: str
    reference: PodWorkloadRef | None
    """v1alpha1's link to a group; None where the pod names a PodGroup."""
    scheduler: str
    created: str
    started: str
    terminating: bool
    preempted: bool
    gates: tuple[str, ...]


def read_pods(found: Iterable[GatheredObjects], nodes: Mapping[str, object], problems: list[Problem]) -> list[Draft]:
    """The pods that can be used and have not ended, by name; one that says it is on a node has that node."""
    reader = Reader()
    drafts = one_each(found, reader.read_pod, problems).good
    here = []
    for name in sorted(drafts, key="/".join):
        if (draft := drafts[name]) is None:
            continue
        if draft.node and draft.node not in nodes:
            problems.append(homeless(draft))
        else:
            here.append(draft)
    return here


def shape_of(form: PodForm, serial: int, rows: Mapping[str, int]) -> PodShape:
    """The shape of *form*, where each resource has its row; of resources that share one the largest amount counts."""
    requests: dict[int, int] = {}
    for name, amount in form.demand.requests:
        row = rows[name]
        requests[row] = max(amount, requests.get(row, 0))
    return PodShape(
        serial=serial,
        requests=tuple(sorted(requests.items())),
        scored=form.demand.scored,
        node_selector=form.node_selector,
        affinity=form.affinity,
        tolerations=form.tolerations,
        spread=form.spread,
        ports=form.ports,
        unmodelled=form.unmodelled,
    )


def record_of(draft: Draft, shape: PodShape, rank: Rank, *, node: int, nominated: int) -> PodRecord:
    """The record of *draft* on the node of index *node* (-1: pending), nominated for another (-1: none)."""
    namespace, name = draft.name
    return PodRecord(
        key=f"{namespace}/{name}",
        namespace=namespace,
        name=name,
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
    )


def problems_of(draft: Draft, rank: Rank, nodes: Container[str]) -> Iterator[Problem]:
    """What of *draft* could not be used as it is written."""
    found = list(draft.form.wrong)
    if not rank.known:
        found.append(f'spec.priorityClassName is "{draft.class_name}", which is not there; the priority counts as 0')
    if draft.nominated and not draft.node and draft.nominated not in nodes:
        found.append(f'status.nominatedNodeName is "{draft.nominated}", which is not among the nodes; the pod counts as not nominated')
    yield from (Problem(label("Pod", draft.name), text) for text in found)


def homeless(draft: Draft) -> Problem:
    """What is told of a pod that says it is on a node that is not there."""
    why = f'spec.nodeName is "{draft.node}", which is not among the nodes'
    return Problem(label("Pod", draft.name), left_out("Pod", why))


class Records:
    """Drafts to records."""

    def __init__(self, nodes: NodeTable, priorities: Priorities, problems: list[Problem]) -> None:
        self._nodes = nodes
        self._priorities = priorities
        self._problems = problems
        self._shapes: dict[PodForm, PodShape] = {}

    def record(self, draft: Draft) -> PodRecord:
        """The record of *draft*.  Shapes are numbered in the order in which they are asked for."""
        rank = self._priorities.rank(draft.priority, draft.class_name, draft.policy)
        self._problems += problems_of(draft, rank, self._nodes.index)
        index = self._nodes.index
        return record_of(draft, self._shape(draft.form), rank, node=index.get(draft.node, -1), nominated=index.get(draft.nominated, -1))

    def _shape(self, form: PodForm) -> PodShape:
        if (shape := self._shapes.get(form)) is None:
            shape = self._shapes[form] = shape_of(form, len(self._shapes), self._nodes.row)
        return shape


class Reader:
    """Texts that come again and again are kept once: a cluster has many more pods than nodes, namespaces and labels.

    *membership* are labels that name a pod's PodGroup where its spec names none; the first that a pod has counts.
    """

    def __init__(self, membership: tuple[str, ...] = ()) -> None:
        self._membership = membership
        self._forms = PodForms()
        self._texts: dict[str, str] = {}

    def read_pod(self, found: GatheredObjects) -> tuple[Name, Draft | None]:
        """The draft of a pod; None if it has ended."""
        pod = typed(found, wire.Pod)
        namespace, name = name_in(found.kind, pod.metadata)
        whole = (self._once(namespace), name)
        return whole, self.draft(whole, pod)

    def draft(self, name: Name, pod: wire.Pod) -> Draft | None:
        """What is kept of *pod*; None if it has ended.

        Raises:
            Unusable: a quantity is negative or unreadable.

        """
        if pod.status.phase in _ENDED:
            return None
        try:
            form = self._forms.form_for(pod)
        except ValueError as error:
            raise Unusable(str(error)) from None
        meta, spec, status = pod.metadata, pod.spec, pod.status
        group = self.group(pod)
        return Draft(
            name=name,
            form=form,
            labels={key: self._once(value) for key, value in (meta.labels or {}).items()},
            node=self._once(spec.node_name),
            nominated=status.nominated_node_name,
            priority=spec.priority,
            class_name=self._once(spec.priority_class_name),
            policy=spec.preemption_policy,
            group=self._once(group),
            reference=None if group else spec.workload_ref,
            scheduler=self._once(spec.scheduler_name or DEFAULT_SCHEDULER),
            created=meta.creation_timestamp or "",
            started=status.start_time or "",
            terminating=meta.deletion_timestamp is not None,
            preempted=any(map(_by_preemption, status.conditions or ())),
            gates=tuple(each.name for each in spec.scheduling_gates or ()),
        )

    def __len__(self) -> int:
        """How many specs are remembered."""
        return len(self._forms)

    def retain(self, forms: Collection[PodForm]) -> None:
        """Remember no others than *forms*."""
        self._forms.retain(forms)

    def group(self, pod: wire.Pod) -> str:
        """The name of the PodGroup that *pod* is a member of; empty if none."""
        spec, labels = pod.spec, pod.metadata.labels
        group = (spec.scheduling_group and spec.scheduling_group.pod_group_name) or ""
        if group or spec.workload_ref is not None or not labels:
            return group
        return next((found for key in self._membership if (found := labels.get(key))), "")

    def _once(self, text: str) -> str:
        if len(self._texts) > _MOST_TEXTS:
            self._texts.clear()
        return self._texts.setdefault(text, text)


def _by_preemption(condition: Condition) -> bool:
    return condition.type == "DisruptionTarget" and condition.status == "True" and condition.reason == "PreemptionByScheduler"
