"""What a controller says of its object: a tree of ``WorkloadItem``, each with defaults, the user's blocks and callbacks.

The intermediate form of KEP-6089, "Shared workloadbuilder Library": one vocabulary for leaves and composites, from which
``builder`` makes a Workload.  Everything here is immutable; a callback answers with a new configuration and cannot
reach the shape of the tree.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from validators.field import FieldPath

WHOLE = FieldPath()
"""The user's object itself."""


class PolicyKind(enum.StrEnum):
    """How the members of a group are placed; the words of the wire."""

    BASIC = "basic"
    GANG = "gang"


class DisruptionMode(enum.StrEnum):
    """What leaves when something of a group must; the words of the wire."""

    SINGLE = "single"
    ALL = "all"


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """Basic, or a gang of at least *minimum* members: pods in a leaf (``minCount``), child groups in a composite
    (``minGroupCount``).  None is a minimum that the user left to the controller.
    """

    kind: PolicyKind
    minimum: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A claim that the pods of a leaf share: by name, or made from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingConfig:
    """The four blocks of a group.  None is a block that was not given; an empty tuple one that was given empty."""

    policy: SchedulingPolicy | None = None
    topology: tuple[str, ...] | None = None
    """Node label keys: all pods below on nodes with one value of each (``constraints.topology[].key``)."""
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
    """What the user wrote, and where: errors are told at the place in the user's own object.

    *paths* holds for each block that was given its path in that object: ``spec.scheduling.schedulingPolicy``.  A wrapper
    may keep the blocks of a child far from the child itself, so these are whole paths, not ones below the item's own.
    *composite* tells from which level's building blocks they were read, so that a block on the wrong level is refused
    (``WorkloadPodGroup…`` in a composite, and the reverse).
    """

    config: SchedulingConfig = SchedulingConfig()
    paths: tuple[tuple[Block, FieldPath], ...] = ()
    composite: bool | None = None
    """Which level's building blocks these were: True composite, False leaf, None not said (hand-made)."""
    unread: tuple[Block, ...] = ()
    """Blocks that were given and could not be read, which their reader has told: nothing is said of what follows from that."""
    topology_field: str = "key"
    """What the label of a topology constraint is called there: ``key``, or ``level`` as KEP-6089's examples have it."""


Callback = Callable[["WorkloadItem", SchedulingConfig], SchedulingConfig]
"""Given its item and what is resolved so far, answers with the configuration to go on with.  Called in order, after
defaults and user's intent are merged; mostly fills in a minimum (KEP-6089, "Library Usage Example")."""


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadItem:
    """One logical part of a workload: a JobSet, one of its replicated jobs, a Job.

    With *children* it becomes a CompositePodGroupTemplate, without a PodGroupTemplate.  *name* is the template's name.
    *path* is where the item stands in the user's object; *replicas* says how many groups are made from the template at
    run time (LeaderWorkerSet: one a replica), each below one group of the parent's template; none is made of 0.
    *name_path* is where the user wrote what the name is made of, if that is not the item's own place.
    """

    name: str
    path: FieldPath = WHOLE
    default: SchedulingConfig = SchedulingConfig()
    intent: UserIntent = UserIntent()
    callbacks: tuple[Callback, ...] = ()
    children: tuple[WorkloadItem, ...] = ()
    replicas: int = 1
    priority_class_name: str = ""
    priority: int | None = None
    name_path: FieldPath | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """The object that the Workload describes, as an owner reference has it.  *uid* is empty where it is not known yet."""

    api_version: str
    kind: str
    name: str
    uid: str = ""

    @property
    def group(self) -> str:
        """The API group: empty for the core."""
        return self.api_version.rpartition("/")[0]
