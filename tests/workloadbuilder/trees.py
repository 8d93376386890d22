"""Items, options and results in short form for the tests of this package."""

from __future__ import annotations

import dataclasses

from kubeapi.field_path import FieldPath
from validators.field import FieldError
from workloadbuilder.builder import Builder, BuildOptions
from workloadbuilder.workload_item import (
    Block,
    DisruptionMode,
    Owner,
    PolicyKind,
    ResourceClaim,
    SchedulingConfig,
    SchedulingPolicy,
    UserIntent,
    WorkloadItem,
)

JOB = Owner("batch/v1", "Job", "train")
WITH_UID = Owner("batch/v1", "Job", "train", uid="uid-1")
SCHEDULING = FieldPath("spec", "scheduling")

ANY = BuildOptions("train", "research", JOB, frozenset(PolicyKind), frozenset(DisruptionMode))
"""Options that allow everything; the owner has no uid."""

ALL, SINGLE = DisruptionMode.ALL, DisruptionMode.SINGLE


def basic() -> SchedulingPolicy:
    return SchedulingPolicy(PolicyKind.BASIC)


def gang(minimum: int | None = None) -> SchedulingPolicy:
    return SchedulingPolicy(PolicyKind.GANG, minimum)


def config(
    policy: SchedulingPolicy | None = None,
    *topology: str,
    mode: DisruptionMode | None = None,
    claims: tuple[ResourceClaim, ...] | None = None,
) -> SchedulingConfig:
    return SchedulingConfig(policy, topology or None, mode, claims)


NAMES = {
    Block.POLICY: "schedulingPolicy",
    Block.TOPOLOGY: "schedulingConstraints",
    Block.DISRUPTION_MODE: "disruptionMode",
    Block.RESOURCE_CLAIMS: "resourceClaims",
}


def intent(wanted: SchedulingConfig, *, at: FieldPath = SCHEDULING, composite: bool | None = None) -> UserIntent:
    """Return the scheduling block that a user wrote under *at*."""
    given = [block for block in Block if getattr(wanted, block) is not None]
    return UserIntent(wanted, tuple((block, at / NAMES[block]) for block in given), composite)


def leaf(name: str = "workers", default: SchedulingConfig | None = None, **more) -> WorkloadItem:
    """Return a leaf that is a gang of 4 by default."""
    return WorkloadItem(name, FieldPath("spec", name), default=config(gang(4)) if default is None else default, **more)


def composite(name: str = "replica", *children: WorkloadItem, default: SchedulingConfig | None = None, **more) -> WorkloadItem:
    """Return a group of groups that is basic by default."""
    chosen = config(basic()) if default is None else default
    return WorkloadItem(name, FieldPath("spec", name), default=chosen, children=children, **more)


def builder(root: WorkloadItem, **changed) -> Builder:
    return Builder(root, dataclasses.replace(ANY, **changed))


def error_lines(errors: tuple[FieldError, ...]) -> list[str]:
    """Return each error as users see it."""
    return [f"{error.path}: {error}" for error in errors]
