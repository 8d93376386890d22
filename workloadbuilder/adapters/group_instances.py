"""Groups of a tree's leaves, each with its position in the tree and its name, and their pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from kubeapi.decode import Json
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from validators import field
from workloadbuilder import names, template_annotations
from workloadbuilder.adapters.shared.adapter_result import MAX_PODS, ChildPlan, PodPlan, Positions
from workloadbuilder.errors import BuildError
from workloadbuilder.groups import MAX_GROUPS
from workloadbuilder.resolve import Resolved
from workloadbuilder.workload_item import WHOLE, WorkloadItem


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """One group of *template*: its position in the tree, its name, empty if it is not created, and the name of its parent group."""

    template: str
    positions: Positions
    name: str
    parent: str


@dataclasses.dataclass(frozen=True, slots=True)
class Naming:
    """Input of the names of the groups of *workload*: the uid of their owner, empty if unknown, the minor version of Kubernetes, and their API.

    *api_version* is that of the Workload.
    """

    workload: str
    owner_uid: str
    kubernetes: int
    api_version: str

    def group_name(self, template: str, index: Positions, *, composite: bool) -> str:
        """Return the name of a group."""
        longest = names.longest_group_name(self.api_version, composite=composite)
        return names.group_name(self.workload, template, index, owner_uid=self.owner_uid, kubernetes=self.kubernetes, longest=longest)


def leaves(root: Resolved, naming: Naming) -> list[Instance]:
    """Return all groups of leaves, in the order and with the names of the builder.

    Raises:
        BuildError: there would be more than ``MAX_GROUPS``.
    """
    _limit_groups(_count_groups(root.item))
    return list(_leaves(root, (), (), "", naming))


def _limit_groups(count: int) -> None:
    if count > MAX_GROUPS:
        raise BuildError([field.invalid_struct(WHOLE, f"all items together must have at most {MAX_GROUPS} groups")])


def _count_groups(item: WorkloadItem) -> int:
    return item.replicas * (1 + sum(map(_count_groups, item.children)))


def _leaves(item: Resolved, positions: Positions, index: Positions, parent: str, naming: Naming) -> Iterator[Instance]:
    replicas = item.item.replicas
    for number in range(replicas):
        own_positions = (*positions, number)
        own_index = (*index, number) if item.item.numbered else index
        name = naming.group_name(item.item.name, own_index, composite=item.composite)
        if not item.children:
            yield Instance(item.item.name, own_positions, name, parent)
        for child in item.children:
            yield from _leaves(child, own_positions, own_index, name, naming)


def outside_groups(root: WorkloadItem, plans: Sequence[PodPlan], namespace: str) -> Iterator[dict[str, Json]]:
    """Yield the pods of a tree whose groups are not created: each pod has the group that its template names, or none.

    Raises:
        BuildError: there would be more than ``MAX_PODS``, or more than ``MAX_GROUPS`` groups.
    """
    _limit_groups(_count_groups(root))
    return pods([*_places(root, ())], plans, namespace, "")


def _places(item: WorkloadItem, positions: Positions) -> Iterator[Instance]:
    for number in range(item.replicas):
        if not item.children:
            yield Instance(item.name, (*positions, number), "", "")
        for child in item.children:
            yield from _places(child, (*positions, number))


def pods(instances: Sequence[Instance], plans: Sequence[PodPlan], namespace: str, api_version: str) -> Iterator[dict[str, Json]]:
    """Yield the pods of all *instances*, in their order; they name their groups as pods of the groups of *api_version* do.

    Raises:
        BuildError: there would be more than ``MAX_PODS``.
    """
    is_custom = served_versions.form_of(api_version).custom
    by_template: dict[str, list[PodPlan]] = {}
    for plan in plans:
        by_template.setdefault(plan.template, []).append(plan)
    _limit(sum(plan.count for each in instances for plan in by_template.get(each.template, ())))
    for each in instances:
        for plan in by_template.get(each.template, ()):
            for number in range(plan.count):
                pod = with_namespace(plan.make(each.positions, number), namespace)
                if each.name and is_custom:
                    metadata = pod["metadata"]
                    metadata["labels"] = {**(metadata.get("labels") or {}), POD_GROUP_LABEL: each.name}
                elif each.name:
                    pod["spec"]["schedulingGroup"] = {"podGroupName": each.name}
                yield pod


def single_pods(plans: Sequence[PodPlan], namespace: str) -> Iterator[dict[str, Json]]:
    """Yield the pods of an object without groups.

    Raises:
        BuildError: there would be more than ``MAX_PODS``.
    """
    _limit(sum(plan.count for plan in plans))
    return (with_namespace(plan.make((), number), namespace) for plan in plans for number in range(plan.count))


def _limit(count: int) -> None:
    if count > MAX_PODS:
        raise BuildError([field.invalid_struct(WHOLE, f"must make at most {MAX_PODS} pods: it would make {count}")])


def children(instances: Sequence[Instance], plans: Sequence[ChildPlan], namespace: str, naming: Naming) -> Iterator[dict[str, Json]]:
    """Yield the objects whose own controllers create the groups, with the annotations that name the group."""
    by_template = {plan.template: plan for plan in plans}
    for each in instances:
        if each.template in by_template:
            linkage = template_annotations.write(naming.workload, each.template, each.parent, kubernetes=naming.kubernetes)
            child = by_template[each.template].make(each.positions, linkage)
            yield with_namespace(child, namespace)


def with_namespace(manifest: dict[str, Json], namespace: str) -> dict[str, Json]:
    """Set ``metadata.namespace``, after the name."""
    if namespace:
        metadata = manifest["metadata"]
        manifest["metadata"] = {"name": metadata.pop("name"), "namespace": namespace, **metadata}
    return manifest
