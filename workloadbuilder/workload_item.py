"""Description of a controller's object: a tree of ``WorkloadItem``, each with defaults, the user's blocks and callbacks.

It is the intermediate form of KEP-6089, "Shared workloadbuilder Library": one form for leaves and composites, from which
``builder`` builds a Workload.  Everything here is immutable; a callback returns a new configuration and cannot change the
tree.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from kubeapi.field_path import FieldPath

WHOLE = FieldPath()
"""Path of the user's object itself."""


class PolicyKind(enum.StrEnum):
    """Scheduling policy of a group, by its name in the API."""

    BASIC = "basic"
    GANG = "gang"


class DisruptionMode(enum.StrEnum):
    """Unit of disruption in a group, by its name in the API: one member, or all together."""

    SINGLE = "single"
    ALL = "all"


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """Basic, or a gang of at least *minimum* members.

    Members are pods in a leaf (``minCount``) and child groups in a composite (``minGroupCount``).  If the minimum is None, the
    controller sets it.
    """

    kind: PolicyKind
    minimum: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceClaim:
    """ResourceClaim that the pods of a leaf share: by name, or from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingConfig:
    """The four blocks of a group.  None means that the block is absent, an empty tuple that it is empty."""

    policy: SchedulingPolicy | None = None
    topology: tuple[str, ...] | None = None
    """Node label keys; all pods below are on nodes with the same value of each (``constraints.topology[].key``)."""
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[ResourceClaim, ...] | None = None


class Block(enum.StrEnum):
    """The four blocks, by the name of their field in ``SchedulingConfig``."""

    POLICY = "policy"
    TOPOLOGY = "topology"
    DISRUPTION_MODE = "disruption_mode"
    RESOURCE_CLAIMS = "resource_claims"


@dataclasses.dataclass(frozen=True, slots=True)
class UserIntent:
    """The user's blocks and their paths in the user's own object, at which errors are reported.

    *paths* has the path of each block that is present: ``spec.scheduling.schedulingPolicy``.  A controller may have the
    blocks of a child elsewhere in its object, so these are full paths, not relative to the item's.  *composite* is the level
    whose building blocks were read, so that a block on the wrong level is refused (``WorkloadPodGroup…`` in a composite, and
    the reverse).
    """

    config: SchedulingConfig = SchedulingConfig()
    paths: tuple[tuple[Block, FieldPath], ...] = ()
    composite: bool | None = None
    """Level of the building blocks: True composite, False leaf, None unknown (created by a program)."""
    unread: tuple[Block, ...] = ()
    """Blocks that could not be read.  Their errors are reported already, so consequences are not."""
    topology_field: str = "key"
    """Field name of a topology constraint's label key: ``key``, or ``level`` as in KEP-6089's examples."""


Callback = Callable[["WorkloadItem", SchedulingConfig], SchedulingConfig]
"""Function that gets an item and its configuration so far, and returns the next configuration.  Callbacks are called in
order, after defaults and the user's intent are merged; most set a minimum (KEP-6089, "Library Usage Example")."""


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadItem:
    """One logical part of a workload: a JobSet, one of its replicated jobs, a Job.

    It becomes a CompositePodGroupTemplate with *children*, else a PodGroupTemplate.  *name* is the template's name, *path* the
    item's path in the user's object.  *replicas* is the number of groups that are created from the template at run time, below
    each group of the parent's template (LeaderWorkerSet: one for each replica); it may be 0.  If it is *scalable*, that number can change
    while groups exist.  *name_path* is the path of the field from which the name is derived, if that is not *path*.
    """

    name: str
    path: FieldPath = WHOLE
    default: SchedulingConfig = SchedulingConfig()
    intent: UserIntent = UserIntent()
    callbacks: tuple[Callback, ...] = ()
    children: tuple[WorkloadItem, ...] = ()
    replicas: int = 1
    scalable: bool = False
    priority_class_name: str = ""
    priority: int | None = None
    name_path: FieldPath | None = None
    minimum_path: FieldPath | None = WHOLE
    """Field of the user's object with the minimum of a gang: WHOLE if it is in the scheduling blocks, None if no field has it."""

    @property
    def numbered(self) -> bool:
        """Return whether the names of the groups have a number, which they keep when there are more or fewer."""
        return self.scalable or self.replicas > 1


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """The object that the Workload describes, as in an owner reference.  *uid* is empty if it is not known yet."""

    api_version: str
    kind: str
    name: str
    uid: str = ""

    @property
    def group(self) -> str:
        """Return the API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]
