"""What should exist for one object, and the reason if nothing should; pure."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.decode import section
from kubeapi.pods import DEFAULT_SCHEDULER
from scheduler_core.sidecar.building.objects import Objects, is_deleted, name_of, uid_of
from validators.field import FieldError
from workloadbuilder.adapters import built_kinds
from workloadbuilder.adapters.group_objects import MANAGED_BY, desired
from workloadbuilder.adapters.shared.known_objects import Known, group_of

Json = Mapping[str, Any]


class NotBuilt(enum.Enum):
    """Why no groups are built for an object; the first three are for others to know, the last three for the user."""

    NOT_ASKED = "groups are not asked for"
    OWNED = "its groups are those of its controller"
    SUSPENDED = "it is suspended"
    MADE_BY_CONTROLLER = "its controller creates groups itself"
    OTHER_SCHEDULER = "another scheduler places its pods"
    NO_GROUP = "it has no group"
    CONFUSED = "the pods of its groups have the same labels"
    INVALID = "it cannot be described"


TOLD = frozenset({NotBuilt.NO_GROUP, NotBuilt.CONFUSED, NotBuilt.INVALID, NotBuilt.OTHER_SCHEDULER})
"""Reasons that users do not expect: they get an event."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Objects that should exist, in the order of their creation; none if *why* is given, with the *errors* of the object or a *detail*."""

    wanted: tuple[dict[str, Any], ...] = ()
    why: NotBuilt | None = None
    errors: tuple[FieldError, ...] = ()
    detail: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """Version of Workloads that is created, the minor version of Kubernetes, and the scheduler names that are ours."""

    api_version: str
    kubernetes: int
    schedulers: frozenset[str] = frozenset({"", DEFAULT_SCHEDULER})


def plan(manifest: Json, objects: Objects, target: Target) -> Plan:
    """Return what should exist for *manifest*, which *objects* surround."""
    namespace = objects.get(("", "Namespace"), ("", name_of(manifest)[0]))
    if is_deleted(manifest) or not built_kinds.is_asked_for(manifest, namespace):
        return Plan(why=NotBuilt.NOT_ASKED)
    if built_kinds.has_built_owner(manifest):
        return Plan(why=NotBuilt.OWNED)
    if any(not is_ours(each) for each in objects.owned_by(uid_of(manifest)) if each["kind"] == "Workload"):
        return Plan(why=NotBuilt.MADE_BY_CONTROLLER)
    related = [each for kind in built_kinds.KINDS if kind.only_read for each in objects.list_kind((kind.group, kind.kind))]
    found = desired(manifest, Known([manifest], related, kubernetes=target.kubernetes), target.api_version)
    if found is None:
        return Plan(why=NotBuilt.NO_GROUP)
    if found.suspended:
        return Plan(why=NotBuilt.SUSPENDED)
    if found.confused:
        return Plan(why=NotBuilt.CONFUSED, detail=" and ".join(each or "pods without a group" for each in found.confused))
    if found.errors:
        return Plan(why=NotBuilt.INVALID, errors=found.errors)
    others = sorted(found.schedulers - target.schedulers)
    if others:
        return Plan(why=NotBuilt.OTHER_SCHEDULER, detail=", ".join(others))
    return Plan(found.objects, None if found.objects else NotBuilt.NO_GROUP, detail=found.skipped)


def is_ours(manifest: Json) -> bool:
    """Return whether this program has created an object."""
    key, value = MANAGED_BY
    return section(manifest, "metadata", "labels").get(key) == value


def existing(manifest: Json, objects: Objects, target: Target) -> Sequence[Json]:
    """Return the objects of the API group of *target* that were built for *manifest*."""
    api_group = group_of(target.api_version)
    return [each for each in objects.owned_by(uid_of(manifest)) if is_ours(each) and group_of(str(each["apiVersion"])) == api_group]
