"""Groups, Workloads, priority classes and disruption budgets, unique by name, converted to the current version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from kubeapi import decode
from kubeapi.decode import Json
from kubeapi.disruption import PodDisruptionBudget
from kubeapi.gather import Name
from kubeapi.gathered import DEEP, GatheredObjects, Objects, Unusable
from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.meta import ObjectMeta, replaced
from kubeapi.priority import PriorityClass
from kubeapi.problem import Problem
from kubeapi.versions import served
from kubeapi.workloads import Workload
from scheduler_core.causes.input_problems import PriorityClassUnknown
from scheduler_core.loading import object_errors
from scheduler_core.loading.priority import NEVER, Priorities
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.snapshot import DisruptionBudget
from validators import pipeline
from validators.model import objects
from validators.model.objects import Named

K = TypeVar("K", PodGroup, CompositePodGroup, Workload, PriorityClass)


@dataclasses.dataclass(frozen=True, slots=True)
class ReadKind(Generic[K]):
    """Objects of one kind, sorted by namespace and name; for unusable objects only the names."""

    good: tuple[K, ...]
    unusable: tuple[Named, ...]


def read_kind(objects: Objects, model: type[K], problems: list[Problem]) -> ReadKind[K]:
    """Return the objects of one kind of ``scheduling.k8s.io`` with the default namespace filled in."""
    result = one_each(objects, lambda gathered: read_one(gathered, model), problems)
    unusable = tuple(Named(model.kind, ObjectMeta(name=name, namespace=namespace)) for namespace, name in result.unusable)
    return ReadKind(tuple(result.good[name] for name in sorted(result.good)), unusable)


def read_budgets(objects: Objects, problems: list[Problem]) -> tuple[DisruptionBudget, ...]:
    """Return the disruption budgets, sorted by namespace and name."""
    budgets = one_each(objects, read_budget, problems).good
    for name in sorted(budgets):
        problems += problems_of(budgets[name])
    return tuple(budgets[name] for name in sorted(budgets))


def problems_of(budget: DisruptionBudget) -> list[Problem]:
    """Return the errors in the selector of *budget*."""
    name = ObjectName("PodDisruptionBudget", budget.namespace, budget.name)
    return [Problem.about(name, error) for error in object_errors.selector(budget.selector, "spec.selector")]


def completed(groups: Iterable[Group], priorities: Priorities, problems: list[Problem]) -> tuple[Group, ...]:
    """Return *groups* sorted by namespace, name and kind; the preemption policy of the priority class is filled in."""
    result = []
    for group in groups:
        rank = priorities.rank(group.spec.priority, group.spec.priority_class_name, group.spec.preemption_policy)
        if not rank.known:
            name = ObjectName(group.kind, group.metadata.namespace, group.metadata.name)
            problems.append(Problem.about(name, PriorityClassUnknown(group.spec.priority_class_name)))
        # The default is PreemptLowerPriority, so that only Never has to be filled in.
        unset = group.spec.preemption_policy is None and not rank.preempts
        result.append(_with_never(group) if unset else group)
    return tuple(sorted(result, key=lambda each: (each.metadata.namespace, each.metadata.name, each.kind)))


def group_priorities(groups: Iterable[Group], priorities: Priorities) -> dict[tuple[str, str, str], int]:
    """Return the priority of each group by (kind, namespace, name)."""
    return {
        (group.kind, group.metadata.namespace, group.metadata.name): priorities.rank(
            group.spec.priority, group.spec.priority_class_name, group.spec.preemption_policy
        ).value
        for group in groups
    }


def _with_never(group: Group) -> Group:
    if isinstance(group, PodGroup):
        return replaced(group, spec=replaced(group.spec, preemption_policy=NEVER))
    return replaced(group, spec=replaced(group.spec, preemption_policy=NEVER))


def read_one(gathered: GatheredObjects, model: type[K]) -> tuple[Name, K]:
    """Return the name of an object of ``scheduling.k8s.io``, and the object with the default namespace filled in.

    Raises:
        Unusable: the object cannot be used.

    """
    content = gathered.content()
    try:
        decoded = pipeline.decode_for_lookup(content)
        if not isinstance(decoded, model):
            raise Unusable(_why(content))
    except RecursionError:
        raise Unusable(DEEP) from None
    namespace, name = name_in(gathered.kind, decoded.metadata)
    return (namespace, name), replaced(decoded, metadata=replaced(decoded.metadata, namespace=namespace))


def _why(content: Mapping[str, Json]) -> str:
    try:
        objects.decode_kind(str(content["kind"]), served.form_of(str(content["apiVersion"])).to_hub(content))
    except decode.WrongShapeError as error:
        return decode.shape_error(str(error))
    return "does not match its kind"


def read_budget(gathered: GatheredObjects) -> tuple[Name, DisruptionBudget]:
    """Return the name of a disruption budget, and the budget.

    Raises:
        Unusable: the budget cannot be used.

    """
    budget = typed(gathered, PodDisruptionBudget)
    name = name_in(gathered.kind, budget.metadata)
    disrupted = frozenset(budget.status.disrupted_pods or ())
    status = budget.status
    healthy = status.current_healthy >= status.desired_healthy > 0
    spares = budget.spec.unhealthy_pod_eviction_policy != "AlwaysAllow"
    return name, DisruptionBudget(*name, budget.spec.selector, status.disruptions_allowed, disrupted, healthy, spares)
