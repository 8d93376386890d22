"""Result of an adapter for a controller's object: a tree of items, its pods, errors and losses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.workloads import MAX_DEPTH
from validators.field import FieldError
from validators.model.start_order import Wait
from workloadbuilder.adapters.shared.named_groups import NamedGroup, named_group
from workloadbuilder.workload_item import WHOLE, Block, DisruptionMode, Owner, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

ALL_POLICIES = frozenset(PolicyKind)
ALL_MODES = frozenset(DisruptionMode)

MAX_PODS = 100_000
"""Limit for the pods of one object."""

Positions = tuple[int, ...]
"""Position of a group of a template: a number for each level from the root down, 0 if there is only one."""
ANY_POSITION = (0,) * MAX_DEPTH
"""A position that every template has."""


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """Value in the object that a Workload cannot express."""

    path: FieldPath
    detail: str
    required: bool = False
    """Whether the object requires it: the created pods can be placed where the object does not allow them."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodPlan:
    """Pods that the controller creates for each group of one template.

    *make* is called with the group's position and the pod's number below *count*; it returns a Pod without namespace and
    scheduling group, unless its template names one.  *collected* pods exist already, and name the object itself as their group.
    *part* is the name of the pods in the order of creation (``validators.model.start_order``).
    """

    template: str
    count: int
    make: Callable[[Positions, int], dict[str, Json]]
    collected: bool = False
    part: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ChildPlan:
    """Child objects that the controller creates for each group of one template, and whose own controllers create the groups.

    *make* is called with the group's position and the linkage annotations; it returns an object without namespace.
    """

    template: str
    make: Callable[[Positions, Mapping[str, str]], dict[str, Json]]


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """Group of a child object, created from a template of its parent's Workload."""

    workload: Json
    template: str
    parent: str
    index: Positions | None
    """Position of the group; None if the child is the owner of the group, which has the name that the Job controller gives it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Dependent:
    """Object that the controller of another object creates, and that has no namespace yet; its own controller creates its pods.

    *pods* are those that it has if its kind has no adapter.  What is wrong in *manifest* below the path *below* is reported at *path* in the object of the user; what is wrong elsewhere in it,
    at *path* itself.
    """

    manifest: dict[str, Json]
    path: FieldPath
    below: FieldPath = WHOLE
    pods: tuple[PodPlan, ...] = ()

    def relocated(self, path: FieldPath) -> FieldPath:
        """Return the path in the user's object for a *path* in the manifest."""
        return self.path.join(path.parts[len(self.below.parts) :]) if path.starts_with(self.below) else self.path


def _unchanged(error: FieldError) -> FieldError:
    return error


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """One object as read by its adapter.

    If *root* is None, no Workload is built: *link* is the group to create from another Workload, *skipped* the reason why nothing
    is created, *errors* are the errors in the object.  *pods* without a root and a link are scheduled one by one, without a group;
    *further* are objects that their controller creates with them.  *dependents* are objects whose own controllers create groups and
    pods; an object with dependents has no root, link and pods.  *origins* has the paths of default blocks in the object, by template.
    *possible_root* is the tree of an object whose controller creates no group, for another one that does.  *gangs* are the policies, by
    template, with which a group is placed whole whose policy is neither set nor a gang by default: a gang of all that is created at first.
    *relocate* maps an error of the tree to its path in the user's object, if that differs.  *waits* are those parts of the pods that are
    created only after others.  *refused* are errors that another controller reports, such as Kueue; the rest of the object can be read.
    """

    owner: Owner
    namespace: str = ""
    root: WorkloadItem | None = None
    pods: tuple[PodPlan, ...] = ()
    children: tuple[ChildPlan, ...] = ()
    further: tuple[dict[str, Json], ...] = ()
    dependents: tuple[Dependent, ...] = ()
    link: Link | None = None
    skipped: str = ""
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    losses: tuple[Loss, ...] = ()
    origins: tuple[tuple[str, Block, FieldPath], ...] = ()
    policies: frozenset[PolicyKind] = ALL_POLICIES
    modes: frozenset[DisruptionMode] = ALL_MODES
    relocate: Callable[[FieldError], FieldError] = _unchanged
    possible_root: WorkloadItem | None = None
    gangs: Mapping[str, SchedulingPolicy] = dataclasses.field(default_factory=dict)
    waits: Mapping[str, Wait] = dataclasses.field(default_factory=dict)
    refused: tuple[FieldError, ...] = ()

    def named_group(self) -> NamedGroup | None:
        """Return the first group that a pod template names; None if no template names one.  There must be no errors."""
        names = (named_group(plan.make(ANY_POSITION, 0)) for plan in self.pods if plan.count and not plan.collected)
        return next((each for each in names if each is not None), None)


def walk(item: WorkloadItem) -> Iterator[WorkloadItem]:
    """Yield the item and all its descendants, parents first; only for trees of adapters, which have no cycles."""
    yield item
    for child in item.children:
        yield from walk(child)


def with_minimum(count: int) -> Callable[[WorkloadItem, SchedulingConfig], SchedulingConfig]:
    """Return a callback that sets the minimum of a gang to *count* if it is absent (KEP-6089, ``defaultMinCountForJob``).

    The minimum is at least 1, even if *count* is 0.
    """

    def default_minimum(item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:  # noqa: ARG001 - signature of callbacks
        policy = config.policy
        if policy is None or policy.kind is not PolicyKind.GANG or policy.minimum is not None:
            return config
        return dataclasses.replace(config, policy=dataclasses.replace(policy, minimum=max(count, 1)))

    return default_minimum
