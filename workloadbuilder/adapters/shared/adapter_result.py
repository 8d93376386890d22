"""What an adapter makes of a controller's object: a tree of items, the pods that belong to it, and what is wrong or lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.item import Block, DisruptionMode, Owner, PolicyKind, SchedulingConfig, WorkloadItem

ALL_POLICIES = frozenset(PolicyKind)
ALL_MODES = frozenset(DisruptionMode)

Places = tuple[int, ...]
"""Which group of a template: a number for each level from the root down, 0 where there is only one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """Something that the object says and a Workload cannot."""

    path: FieldPath
    detail: str


@dataclasses.dataclass(frozen=True, slots=True)
class PodPlan:
    """Pods that the controller makes for each group of one template.

    *make* is given which group it is and the number of the pod among the *count* of this plan, and answers with a Pod
    without namespace and scheduling group.
    """

    template: str
    count: int
    make: Callable[[Places, int], dict[str, Json]]


@dataclasses.dataclass(frozen=True, slots=True)
class ChildPlan:
    """Objects that the controller makes for each group of one template where their own controllers make the groups.

    *make* is given which group it is and the linkage annotations, and answers with an object without namespace.
    """

    template: str
    make: Callable[[Places, Mapping[str, str]], dict[str, Json]]


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A child's group: made from a template of the Workload of its parent."""

    workload: Json
    template: str
    parent: str
    name: str
    """The group's name; empty for the one that *index* gives it."""
    index: Places


def _as_it_is(error: FieldError) -> FieldError:
    return error


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """One object, read.

    Without *root* no Workload is made of it: *link* tells of which Workload its group is made instead, *skipped* why there
    is nothing to make, *errors* what is wrong.  *origins* says of default blocks where in the object they come from, by
    template.  *retold* takes an error of the tree to where it is told in the object, where that is not the path it has.
    """

    owner: Owner
    namespace: str = ""
    root: WorkloadItem | None = None
    pods: tuple[PodPlan, ...] = ()
    children: tuple[ChildPlan, ...] = ()
    link: Link | None = None
    skipped: str = ""
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    losses: tuple[Loss, ...] = ()
    origins: tuple[tuple[str, Block, FieldPath], ...] = ()
    policies: frozenset[PolicyKind] = ALL_POLICIES
    modes: frozenset[DisruptionMode] = ALL_MODES
    retold: Callable[[FieldError], FieldError] = _as_it_is


def walk(item: WorkloadItem) -> Iterator[WorkloadItem]:
    """The item and all below it, parents first.  Only for trees that an adapter made: they are finite."""
    yield item
    for child in item.children:
        yield from walk(child)


def with_minimum(count: int) -> Callable[[WorkloadItem, SchedulingConfig], SchedulingConfig]:
    """A callback that fills in the minimum of a gang that was left open (KEP-6089, ``defaultMinCountForJob``).

    A gang needs at least one member, also while it has none.
    """

    def default_minimum(item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:  # noqa: ARG001 - a callback's form
        policy = config.policy
        if policy is None or policy.kind is not PolicyKind.GANG or policy.minimum is not None:
            return config
        return dataclasses.replace(config, policy=dataclasses.replace(policy, minimum=max(count, 1)))

    return default_minimum
