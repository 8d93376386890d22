"""What the groups of other schedulers have in common: whose they are, their pods, and their names for levels of topology.

These objects say nothing of pod templates: their members are the pods given that name them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from validators import content, field
from validators.field import FieldError
from validators.model.cluster import SYSTEM_CLASSES
from validators.model.decode import Json
from workloadbuilder.adapters.shared.adapter_result import Places, PodPlan
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blueprint import copied
from workloadbuilder.item import WHOLE, Owner, PolicyKind, SchedulingPolicy

ROOT = "podgroup-root"
"""The one template of a group that has no parts."""
BASIC = SchedulingPolicy(PolicyKind.BASIC)
Member = Callable[[Mapping[str, str], Mapping[str, str]], bool]
"""Whether a pod with these labels and annotations is a member."""
_SERVER_SIDE = frozenset({"nodeName", "schedulerName", "schedulingGroup"})


def gang(minimum: int | None) -> SchedulingPolicy:
    """A gang of at least *minimum*, or Basic where that is nothing."""
    return SchedulingPolicy(PolicyKind.GANG, minimum) if minimum else BASIC


def whose(about: Subject) -> Owner:
    """The object that the group was made for, which the Workload describes; the group itself where it has no controller."""
    return about.controller or about.owner


def priority(spec: Fields, warnings: list[FieldError]) -> str:
    """The group's priority class; none for those of the system's own."""
    name = spec.text("priorityClassName")
    if name not in SYSTEM_CLASSES:
        return name
    detail = "a group cannot have a class of the system's own: it is made without"
    warnings.append(field.invalid(spec.path / "priorityClassName", name, detail))
    return ""


def label(known: Known, level: str) -> str:
    """The node label that another scheduler's *level* stands for: as told, or itself where it is written as one; else empty."""
    told = known.levels.get(level, "")
    return told or (level if "/" in level and not content.label_key(level) else "")


def members(known: Known, namespace: str, belongs: Member) -> list[Json]:
    """The pods of *namespace* whose labels and annotations say that they belong, by name."""
    found = []
    for each in known.list_kind("", "Pod", namespace):
        metadata = Fields(each, WHOLE, []).mapping("metadata")
        if belongs(metadata.annotations("labels"), metadata.annotations()):
            found.append(each)
    return found


def plan(template: str, pods: list[Json]) -> PodPlan:
    """The *pods* as members of the group of *template*, to be placed anew by the scheduler that knows groups."""

    def make(_: Places, number: int) -> dict[str, Json]:
        given = Fields(pods[number], WHOLE, [])
        kept = {name: given.mapping("metadata").raw(name) for name in ("name", "labels", "annotations")}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {name: copied(value) for name, value in kept.items() if value},
            "spec": {name: copied(value) for name, value in given.mapping("spec").given.items() if name not in _SERVER_SIDE},
        }

    return PodPlan(template, len(pods), make)
