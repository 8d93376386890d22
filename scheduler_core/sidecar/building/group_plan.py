"""Plan of one object: the Workload and groups that should exist for it, or the reason for none; pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.decode import section
from kubeapi.pods import DEFAULT_SCHEDULER
from scheduler_core.causes.built_groups import NotBuilt, NotBuiltReason
from scheduler_core.sidecar.building.owned_objects import Objects, is_deleted, name_of, uid_of
from workloadbuilder.adapters import built_kinds
from workloadbuilder.adapters.compiled import Compiled
from workloadbuilder.adapters.group_objects import MANAGED_BY, Desired, desired
from workloadbuilder.adapters.shared.known_objects import Known, group_of

Json = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class GroupPlan:
    """Objects that should exist, in the order of their creation; none if *why* is given.  *compiled* is what the adapter has read, if it did."""

    wanted: tuple[dict[str, Any], ...] = ()
    why: NotBuilt | None = None
    compiled: Compiled | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """API version of Workloads that is created, minor version of Kubernetes, and the names of schedulers whose pods can have groups.

    *distinct*: objects without a uid get names that those of no other object have.
    *with_built_in*: the server has the built-in kinds, so that the Job controller may create groups.
    """

    api_version: str
    kubernetes: int
    schedulers: frozenset[str] = frozenset({"", DEFAULT_SCHEDULER})
    distinct: bool = False
    with_built_in: bool = False

    @property
    def group(self) -> str:
        """The API group of what is created."""
        return group_of(self.api_version)


def plan_groups(manifest: Json, objects: Objects, target: Target) -> GroupPlan:
    """Return what should exist for *manifest*, which *objects* surround."""
    if (excluded := _excluded(manifest, objects, target)) is not None:
        return GroupPlan(why=NotBuilt(excluded))
    return plan_described(manifest, objects, target)


def plan_described(manifest: Json, objects: Objects, target: Target) -> GroupPlan:
    """Return what *manifest* describes, whoever has asked for it and whatever exists."""
    related = [each for kind in built_kinds.KINDS if kind.only_read for each in objects.list_kind((kind.group, kind.kind))]
    known = Known([manifest], related, kubernetes=target.kubernetes)
    found = desired(manifest, known, target.api_version, distinct=target.distinct) or Desired()
    why = None if found.objects else _why(found)
    if others := tuple(sorted(found.schedulers - target.schedulers)):
        why = NotBuilt(NotBuiltReason.OTHER_SCHEDULER, schedulers=others)
    return GroupPlan(found.objects if why is None else (), why, found.compiled)


def _excluded(manifest: Json, objects: Objects, target: Target) -> NotBuiltReason | None:
    """Return why groups are not for this program to create; None if they are."""
    namespace = objects.get(("", "Namespace"), ("", name_of(manifest)[0]))
    if is_deleted(manifest) or not built_kinds.is_asked_for(manifest, namespace):
        return NotBuiltReason.NOT_ASKED
    if built_kinds.has_built_owner(manifest):
        return NotBuiltReason.OWNED
    workloads = (each for each in objects.owned_by(uid_of(manifest)) if each["kind"] == "Workload")
    if not all(map(is_ours, workloads)):
        return NotBuiltReason.MADE_BY_CONTROLLER
    return NotBuiltReason.NOT_STARTED if target.with_built_in and _is_new_job(manifest) else None


def _is_new_job(manifest: Json) -> bool:
    """Return whether an object is a Job that its controller has not started, and whose groups this controller creates if its gate is on.

    Source: pkg/controller/job, ``syncJob``, ``getManagementMode``; the gate is WorkloadWithJob.
    """
    is_job = (group_of(str(manifest.get("apiVersion"))), manifest.get("kind")) == ("batch", "Job")
    is_new = is_job and built_kinds.controller_of(manifest) is None and section(manifest, "status").get("startTime") is None
    return is_new and section(manifest, "spec").get("suspend") is not True


def _why(found: Desired) -> NotBuilt:
    if found.suspended:
        return NotBuilt(NotBuiltReason.SUSPENDED)
    if found.confused:
        return NotBuilt(NotBuiltReason.CONFUSED, groups=found.confused)
    if found.errors:
        return NotBuilt(
            NotBuiltReason.INVALID, errors=tuple((str(each.path) if each.path.parts else "", str(each)) for each in found.errors)
        )
    return NotBuilt(NotBuiltReason.NO_GROUP, detail=found.skipped)


def is_ours(manifest: Json) -> bool:
    """Return whether this program has created an object."""
    key, value = MANAGED_BY
    return bool(section(manifest, "metadata", "labels").get(key) == value)


def existing(manifest: Json, objects: Objects, target: Target) -> Sequence[Json]:
    """Return the objects of the API group of *target* that were built for *manifest*."""
    return [each for each in objects.owned_by(uid_of(manifest)) if is_ours(each) and group_of(str(each["apiVersion"])) == target.group]
