"""Groups, Workloads, priority classes and disruption budgets, converted to the current version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeapi import decode
from kubeapi.decode import Json
from kubeapi.disruption import PodDisruptionBudget
from kubeapi.gather import Name
from kubeapi.gathered import DEEP, GatheredObjects, Unusable
from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.meta import replaced
from kubeapi.priority import PriorityClass
from kubeapi.problem import Problem
from kubeapi.versions import served_versions
from kubeapi.workloads import Workload
from scheduler_core.causes.input_problems import PriorityClassUnknown
from scheduler_core.loading import object_errors
from scheduler_core.loading.priority import NEVER, Priorities
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.model.device_claims import PodEntry
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.snapshot import DisruptionBudget
from validators import pipeline
from validators.model import objects

SCHEDULING_KINDS = ("PriorityClass", "Workload", "PodGroup", "CompositePodGroup")
"""Kinds of the API groups that have Workloads."""
_SHARED = {row.name: served_versions.preferred("Workload", row.group) for row in served_versions.workload_versions()}
"""One text for all groups of an API group, by API version: only the API group makes a difference."""


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


def entries_of_group(group: PodGroup) -> dict[PodEntry, str | None]:
    """Return the entries of a PodGroup for claims to devices: each without its index, with the claim that was created for it."""
    created = {each.name: each.resource_claim_name for each in group.status.resource_claim_statuses or ()}
    return {
        PodEntry(each.name, each.resource_claim_name or "", each.resource_claim_template_name or ""): created.get(each.name)
        for each in group.spec.resource_claims or ()
    }


def _with_never(group: Group) -> Group:
    if isinstance(group, PodGroup):
        return replaced(group, spec=replaced(group.spec, preemption_policy=NEVER))
    return replaced(group, spec=replaced(group.spec, preemption_policy=NEVER))


def read_one(gathered: GatheredObjects) -> tuple[Name, PriorityClass | Workload | Group]:
    """Return the name of an object of ``scheduling.k8s.io``, and the object with the default namespace filled in.

    Raises:
        Unusable: the object cannot be used.

    """
    content = gathered.content_without_managers()
    try:
        decoded = pipeline.decode_for_lookup(content)
        if not isinstance(decoded, (PodGroup, Workload, CompositePodGroup, PriorityClass)):
            raise Unusable(_why(content))
    except RecursionError:
        raise Unusable(DEEP) from None
    namespace, name = name_in(gathered.kind, decoded.metadata)
    metadata = replaced(decoded.metadata, namespace=namespace)
    if isinstance(decoded, PriorityClass):
        return (namespace, name), replaced(decoded, metadata=metadata)
    return (namespace, name), replaced(decoded, metadata=metadata, api_version=_SHARED.get(gathered.api_version, ""))


def _why(content: Mapping[str, Json]) -> str:
    try:
        objects.decode_kind(str(content["kind"]), served_versions.form_of(str(content["apiVersion"])).to_hub(content))
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
