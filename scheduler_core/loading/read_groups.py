"""Groups, Workloads, priority classes and disruption budgets as they are read: one of each name, in today's form."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from scheduler_core.loading import object_errors
from scheduler_core.loading.gather import DEEP, GatheredObjects, Name, Unusable, label
from scheduler_core.loading.priority import NEVER, Priorities
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model import wire
from scheduler_core.model.problem import Problem
from scheduler_core.model.snapshot import DisruptionBudget
from validators import pipeline
from validators.model import decode
from validators.model.cluster import PriorityClass
from validators.model.decode import Json
from validators.model.group import CompositePodGroup, Group, PodGroup
from validators.model.meta import ObjectMeta, replaced
from validators.model.objects import Named
from validators.model.workload import Workload
from validators.versions import served

K = TypeVar("K", PodGroup, CompositePodGroup, Workload, PriorityClass)


@dataclasses.dataclass(frozen=True, slots=True)
class ReadKind(Generic[K]):
    """The objects of one kind, by namespace and name; of those that cannot be used the name."""

    good: tuple[K, ...]
    unusable: tuple[Named, ...]


def read_kind(found: Iterable[GatheredObjects], model: type[K], problems: list[Problem]) -> ReadKind[K]:
    """The objects of one kind of ``scheduling.k8s.io`` with their namespace filled in."""
    each = one_each(found, lambda one: read_one(one, model), problems)
    unusable = tuple(Named(model.kind, ObjectMeta(name=name, namespace=namespace)) for namespace, name in each.unusable)
    return ReadKind(tuple(each.good[name] for name in sorted(each.good)), unusable)


def read_budgets(found: Iterable[GatheredObjects], problems: list[Problem]) -> tuple[DisruptionBudget, ...]:
    """The disruption budgets, by namespace and name."""
    budgets = one_each(found, read_budget, problems).good
    for name in sorted(budgets):
        problems += problems_of(budgets[name])
    return tuple(budgets[name] for name in sorted(budgets))


def problems_of(budget: DisruptionBudget) -> list[Problem]:
    """What is not sound in the selector of *budget*."""
    name = label("PodDisruptionBudget", (budget.namespace, budget.name))
    return [Problem(name, text) for text in object_errors.selector(budget.selector, "spec.selector")]


def completed(groups: Iterable[Group], priorities: Priorities, problems: list[Problem]) -> tuple[Group, ...]:
    """*groups* by namespace, name and kind, each with the preemption policy of its class where it says none."""
    done = []
    for group in groups:
        rank = priorities.rank(group.spec.priority, group.spec.priority_class_name, group.spec.preemption_policy)
        if not rank.known:
            why = f'spec.priorityClassName is "{group.spec.priority_class_name}", which is not there; the priority counts as 0'
            problems.append(Problem(label(group.kind, (group.metadata.namespace, group.metadata.name)), why))
        # Unset is to let preempt, so that only the other word has to be filled in.
        silent = group.spec.preemption_policy is None and not rank.preempts
        done.append(_never(group) if silent else group)
    return tuple(sorted(done, key=lambda each: (each.metadata.namespace, each.metadata.name, each.kind)))


def group_priorities(groups: Iterable[Group], priorities: Priorities) -> dict[tuple[str, str, str], int]:
    """The priority of each group by (kind, namespace, name)."""
    return {
        (group.kind, group.metadata.namespace, group.metadata.name): priorities.rank(
            group.spec.priority, group.spec.priority_class_name, group.spec.preemption_policy
        ).value
        for group in groups
    }


def _never(group: Group) -> Group:
    if isinstance(group, PodGroup):
        return replaced(group, spec=replaced(group.spec, preemption_policy=NEVER))
    return replaced(group, spec=replaced(group.spec, preemption_policy=NEVER))


def read_one(found: GatheredObjects, model: type[K]) -> tuple[Name, K]:
    """One object of ``scheduling.k8s.io`` with its namespace filled in.  Raises Unusable."""
    content = found.content()
    try:
        read = pipeline.decode_for_lookup(content)
        if not isinstance(read, model):
            raise Unusable(_why(content))
    except RecursionError:
        raise Unusable(DEEP) from None
    namespace, name = name_in(found.kind, read.metadata)
    return (namespace, name), replaced(read, metadata=replaced(read.metadata, namespace=namespace))


def _why(content: Mapping[str, Json]) -> str:
    try:
        decode.decode(str(content["kind"]), served.form_of(str(content["apiVersion"])).to_hub(content))
    except decode.WrongShapeError as error:
        return object_errors.shape(str(error))
    return "is not what its kind is"


def read_budget(found: GatheredObjects) -> tuple[Name, DisruptionBudget]:
    """One disruption budget.  Raises Unusable."""
    budget = typed(found, wire.PodDisruptionBudget)
    name = name_in(found.kind, budget.metadata)
    disrupted = frozenset(budget.status.disrupted_pods or ())
    return name, DisruptionBudget(*name, budget.spec.selector, budget.status.disruptions_allowed, disrupted)
