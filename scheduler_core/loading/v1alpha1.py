"""Groups of v1alpha1: a pod's ``workloadRef`` names a Workload, a group in it and a replica; PodGroup objects do not exist.

Such pods become members of a generated PodGroup, one for each Workload, group and replica key (KEP-4671, Associating Pod into
PodGroups: the policy of a group applies to each replica by itself).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from kubeapi.base_structs import Record
from kubeapi.groups import Group, PodGroup, PodGroupSpec, WorkloadRef
from kubeapi.meta import ObjectMeta
from kubeapi.workloads import PodGroupTemplate, Workload
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.loading.priority import NEVER, Priorities, Rank

Reference = tuple[str, str, str, str]
"""Namespace, Workload, group, replica key."""


class GeneratedGroups(Record, frozen=True):
    """Generated groups, and the desiredCount of basic ones by (namespace, name)."""

    groups: tuple[PodGroup, ...]
    desired: Mapping[tuple[str, str], int]


def join(
    parsed_pods: Sequence[ParsedPod], workloads: Iterable[Workload], groups: Iterable[Group], priorities: Priorities
) -> GeneratedGroups:
    """Return groups for the pods that have a ``workloadRef``; ``group`` of each such pod is set.

    Without such a Workload, or such a group in it, no group is generated, and its pods wait for it.
    """
    members: dict[Reference, list[ParsedPod]] = {}
    for parsed_pod in parsed_pods:
        if parsed_pod.reference is not None:
            members.setdefault(_reference(parsed_pod), []).append(parsed_pod)
    if not members:
        return GeneratedGroups((), {})
    templates = {
        (workload.metadata.namespace, workload.metadata.name, template.name): (workload, template)
        for workload in workloads
        for template in workload.spec.pod_group_templates or ()
    }
    used = {(group.metadata.namespace, group.metadata.name) for group in groups} | {
        (parsed_pod.name[0], parsed_pod.group) for parsed_pod in parsed_pods
    }
    generated, desired = [], {}
    for reference, pods in sorted(members.items()):
        name = _free_name(reference, used)
        for parsed_pod in pods:
            parsed_pod.group = name
        if (matched := templates.get(reference[:3])) is None:
            continue
        generated.append(_group(name, *matched, [priorities.rank(each.priority, each.class_name, each.policy) for each in pods]))
        basic = matched[1].scheduling_policy.basic
        if basic is not None and basic.desired_count is not None:
            desired[reference[0], name] = basic.desired_count
    return GeneratedGroups(tuple(generated), desired)


def _reference(parsed_pod: ParsedPod) -> Reference:
    reference = parsed_pod.reference
    if reference is None:
        return parsed_pod.name[0], "", "", ""
    return parsed_pod.name[0], reference.name, reference.pod_group, reference.pod_group_replica_key


def _free_name(reference: Reference, used: set[tuple[str, str]]) -> str:
    """Return Workload, group and key joined with dashes, with a number if the name is already used."""
    namespace, *parts = reference
    plain = "-".join(part for part in parts if part)
    names = itertools.chain((plain,), (f"{plain}-{number}" for number in itertools.count(2)))
    name = next(each for each in names if (namespace, each) not in used)
    used.add((namespace, name))
    return name


def _group(name: str, workload: Workload, template: PodGroupTemplate, ranks: Sequence[Rank]) -> PodGroup:
    """Return the group: its priority is the lowest of its pods, and it can preempt if any of them can."""
    meta = workload.metadata
    return PodGroup(
        ObjectMeta(name=name, namespace=meta.namespace, creation_timestamp=meta.creation_timestamp),
        PodGroupSpec(
            scheduling_policy=template.scheduling_policy,
            scheduling_constraints=template.scheduling_constraints,
            disruption_mode=template.disruption_mode,
            workload_ref=WorkloadRef(meta.name, template.name),
            priority=min(rank.value for rank in ranks),
            preemption_policy=None if any(rank.preempts for rank in ranks) else NEVER,
        ),
    )
