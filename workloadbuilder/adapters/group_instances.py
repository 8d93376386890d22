"""The groups that are made of a tree's leaves, each with its place in the tree and its name; and the pods in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from validators import field
from validators.model.decode import Json
from workloadbuilder import linkage, names
from workloadbuilder.adapters.shared.adapter_result import ChildPlan, Places, PodPlan
from workloadbuilder.errors import BuildError
from workloadbuilder.groups import MAX_GROUPS
from workloadbuilder.item import WHOLE
from workloadbuilder.resolve import Resolved

MAX_PODS = 100_000
"""Pods that are made of one object at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """One group of *template*: at *places* in the tree, called *name*, below the group *parent*."""

    template: str
    places: Places
    name: str
    parent: str


def leaves(root: Resolved, workload: str, *, hashed: bool) -> list[Instance]:
    """Every group of a leaf, in the order in which the builder makes them; names are those that it gives.

    Raises:
        BuildError: there would be more than ``MAX_GROUPS``.
    """
    if _groups(root) > MAX_GROUPS:
        raise BuildError([field.invalid_struct(WHOLE, f"must make at most {MAX_GROUPS} groups with all items together")])
    return list(_leaves(root, (), (), "", workload, hashed=hashed))


def _groups(item: Resolved) -> int:
    """All groups of an item and of those below it, counted and not made."""
    return item.item.replicas * (1 + sum(map(_groups, item.children)))


def _leaves(item: Resolved, places: Places, index: Places, parent: str, workload: str, *, hashed: bool) -> Iterator[Instance]:
    replicas = item.item.replicas
    for place in range(replicas):
        here = (*places, place)
        own = (*index, place) if replicas > 1 else index
        name = names.group_name(workload, item.item.name, own, hashed=hashed)
        if not item.children:
            yield Instance(item.item.name, here, name, parent)
        for child in item.children:
            yield from _leaves(child, here, own, name, workload, hashed=hashed)


def pods(instances: Sequence[Instance], plans: Sequence[PodPlan], namespace: str) -> Iterator[dict[str, Json]]:
    """The pods of all *instances*, in their order.

    Raises:
        BuildError: there would be more than ``MAX_PODS``.
    """
    by_template: dict[str, list[PodPlan]] = {}
    for plan in plans:
        by_template.setdefault(plan.template, []).append(plan)
    count = sum(plan.count for each in instances for plan in by_template.get(each.template, ()))
    if count > MAX_PODS:
        raise BuildError([field.invalid_struct(WHOLE, f"must make at most {MAX_PODS} pods: it would make {count}")])
    for each in instances:
        for plan in by_template.get(each.template, ()):
            for number in range(plan.count):
                made = _in(namespace, plan.make(each.places, number))
                made["spec"]["schedulingGroup"] = {"podGroupName": each.name}
                yield made


def children(instances: Sequence[Instance], plans: Sequence[ChildPlan], namespace: str) -> Iterator[dict[str, Json]]:
    """The objects whose own controllers make the groups, with the annotations that tell them which."""
    by_template = {plan.template: plan for plan in plans}
    for each in instances:
        if each.template in by_template:
            yield _in(namespace, by_template[each.template].make(each.places, linkage.write(each.template, each.parent)))


def _in(namespace: str, made: dict[str, Json]) -> dict[str, Json]:
    """An object in its namespace, which stands behind the name."""
    if namespace:
        metadata = made["metadata"]
        made["metadata"] = {"name": metadata.pop("name"), "namespace": namespace, **metadata}
    return made
