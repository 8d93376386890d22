"""Pods as they are read: one of each name, first as drafts, then, when nodes and classes are known, as records."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from scheduler_core import wire
from scheduler_core.intake.forms import Form, Forms
from scheduler_core.intake.gather import Found, Name, Unusable, label, left_out
from scheduler_core.intake.priority import Priorities
from scheduler_core.intake.reading import name_in, one_each, typed
from scheduler_core.nodes import NodeTable
from scheduler_core.pods import PodRecord, PodShape
from scheduler_core.snapshot import Problem
from validators.model.group import Condition
from validators.model.pod import DEFAULT_SCHEDULER, PodWorkloadRef

_ENDED = frozenset({"Succeeded", "Failed"})


@dataclasses.dataclass(slots=True)
class Draft:
    """What is kept of a pod's own text."""

    name: Name
    form: Form
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


def read_pods(found: Iterable[Found], nodes: Mapping[str, object], problems: list[Problem]) -> list[Draft]:
    """The pods that can be used and have not ended, by name; one that says it is on a node has that node."""
    reader = _Reader()
    drafts = one_each(found, reader.read, problems).good
    here = []
    for name in sorted(drafts, key="/".join):
        if (draft := drafts[name]) is None:
            continue
        if draft.node and draft.node not in nodes:
            why = f'spec.nodeName is "{draft.node}", which is not among the nodes'
            problems.append(Problem(label("Pod", name), left_out("Pod", why)))
        else:
            here.append(draft)
    return here


class Records:
    """Drafts to records."""

    def __init__(self, nodes: NodeTable, priorities: Priorities, problems: list[Problem]) -> None:
        self._nodes = nodes
        self._priorities = priorities
        self._problems = problems
        self._shapes: dict[Form, PodShape] = {}

    def record(self, draft: Draft) -> PodRecord:
        """The record of *draft*.  Shapes are numbered in the order in which they are asked for."""
        rank = self._priorities.rank(draft.priority, draft.class_name, draft.policy)
        if not rank.known:
            self._tell(draft, f'spec.priorityClassName is "{draft.class_name}", which is not there; the priority counts as 0')
        if draft.nominated and not draft.node and draft.nominated not in self._nodes.index:
            self._tell(
                draft, f'status.nominatedNodeName is "{draft.nominated}", which is not among the nodes; the pod counts as not nominated'
            )
        for text in draft.form.wrong:
            self._tell(draft, text)
        namespace, name = draft.name
        return PodRecord(
            key=f"{namespace}/{name}",
            namespace=namespace,
            name=name,
            shape=self._shape(draft.form),
            labels=draft.labels,
            priority=rank.value,
            node=self._nodes.index.get(draft.node, -1),
            group=draft.group,
            scheduler=draft.scheduler,
            preempts=rank.preempts,
            created=draft.created,
            started=draft.started,
            terminating=draft.terminating,
            preempted=draft.terminating and draft.preempted,
            gates=draft.gates,
            nominated=self._nodes.index.get(draft.nominated, -1),
        )

    def _tell(self, draft: Draft, text: str) -> None:
        self._problems.append(Problem(label("Pod", draft.name), text))

    def _shape(self, form: Form) -> PodShape:
        if (shape := self._shapes.get(form)) is None:
            rows = ((self._nodes.row[name], amount) for name, amount in form.demand.requests)
            shape = self._shapes[form] = PodShape(
                serial=len(self._shapes),
                requests=tuple(sorted(rows)),
                scored=form.demand.scored,
                node_selector=form.node_selector,
                affinity=form.affinity,
                tolerations=form.tolerations,
                spread=form.spread,
                ports=form.ports,
                unmodelled=form.unmodelled,
            )
        return shape


class _Reader:
    """Texts that come again and again are kept once: a cluster has many more pods than nodes, namespaces and labels."""

    def __init__(self) -> None:
        self._forms = Forms()
        self._texts: dict[str, str] = {}

    def read(self, found: Found) -> tuple[Name, Draft | None]:
        """The draft of a pod; None if it has ended."""
        pod = typed(found, wire.Pod)
        namespace, name = name_in(found.kind, pod.metadata)
        whole = (self._once(namespace), name)
        if pod.status.phase in _ENDED:
            return whole, None
        try:
            form = self._forms.of(pod)
        except ValueError as error:
            raise Unusable(str(error)) from None
        return whole, self._draft(whole, pod, form)

    def _draft(self, name: Name, pod: wire.Pod, form: Form) -> Draft:
        meta, spec, status = pod.metadata, pod.spec, pod.status
        group = (spec.scheduling_group and spec.scheduling_group.pod_group_name) or ""
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

    def _once(self, text: str) -> str:
        return self._texts.setdefault(text, text)


def _by_preemption(condition: Condition) -> bool:
    return condition.type == "DisruptionTarget" and condition.status == "True" and condition.reason == "PreemptionByScheduler"
