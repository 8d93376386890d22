"""Causes about groups: a tree of groups, their domains and the causes there; and those about single pods, as kube-scheduler reports them.

A *path* has the names of the groups from the root to the group that the cause is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubeapi.base_structs import Record
from scheduler_core.causes.attempts import AttemptReason, FitError
from scheduler_core.causes.domains import AttemptFailed, DomainCause
from scheduler_core.causes.node_count import Amount
from scheduler_core.causes.plugin_failures import PluginFailed
from scheduler_core.causes.volume_causes import StorageShortage, VolumeElsewhere
from scheduler_core.model.names import Domain, Name

Path = tuple[Name, ...]


class TooFewMembers(Record, frozen=True):
    """Group with fewer members (pods, or child groups of a composite) than its minimum."""

    path: Path
    available: int
    minimum: int


class NoPlacement(Record, frozen=True):
    """Group without a topology key for which the plugins generate no placement."""

    path: Path


class NoDomain(Record, frozen=True):
    """Group that has no candidate domain of *key* inside *inside*.

    Attributes:
        device_attribute: True if *key* is an attribute of devices, not a label of nodes.
        pinned: True if its running members confine it to a domain that *inside* does not have.
        empty_values: number of nodes of *inside* whose label *key* is empty; from Kubernetes 1.38 they form no domain.

    """

    path: Path
    key: str
    inside: Domain
    device_attribute: bool = False
    pinned: bool = False
    empty_values: int = 0


class FurtherDomains(Record, frozen=True):
    """Domains that are not described; *most* is the most pods that one of them holds, if that was counted."""

    number: int
    most: int | None = None


class PodDemand(Record, frozen=True):
    """Pods that a group must place.

    Attributes:
        pending: number of its pending pods.
        wanted: number of pods without which its minimum is not met.
        running: number of its running pods.
        requests: requests of each pod; empty if the pods differ.

    """

    pending: int
    wanted: int
    running: int
    requests: tuple[Amount, ...]


class PodsDoNotFit(Record, frozen=True):
    """PodGroup, or single pod, whose minimum fits in no domain.

    Attributes:
        inside: the domain of its parent.
        demand: its pods.
        domains: causes by domain, the domain that holds the most pods first.
        key: topology key of the domains; empty if it has no constraint.
        further: other domains; None if there are none.
        undivided: True if the only domain is *inside* itself.
        own_node: the only node of a single pod that names it; empty for others.
        elsewhere: a bound volume that is in none of the domains.

    """

    path: Path
    inside: Domain
    demand: PodDemand
    domains: tuple[DomainCause, ...]
    key: str = ""
    further: FurtherDomains | None = None
    undivided: bool = False
    own_node: str = ""
    elsewhere: VolumeElsewhere | None = None


class PodsLeftOver(Record, frozen=True):
    """PodGroup that has its minimum; *domain* says why some of its pods, with *requests* each, have no node there."""

    path: Path
    requests: tuple[Amount, ...]
    domain: DomainCause


class InsufficientCapacity(Record, frozen=True):
    """PodGroup of which the best domain of *key* (or the domain of its parent) holds only *pods* of *wanted* pods; a short form."""

    path: Path
    pods: int
    wanted: int
    key: str = ""
    in_order: bool = False


class SiblingPlacement(Record, frozen=True):
    """Placement of an earlier child of a composite.

    Attributes:
        group: the child.
        domain: its domain; None if it is that of its parent.
        pods: number of its pods that were placed.
        extra: number of its pods above its minimum.

    """

    group: Name
    domain: Domain | None
    pods: int
    extra: int


class ChildrenInDomain(Record, frozen=True):
    """Number of children of a composite that fit in one domain, and why the others do not.

    Attributes:
        domain: the domain.
        fitting: number of children that fit one after the other.
        failing: children that do not fit, the first one first; in further domains only that one in a short form, or none.
        taken: what earlier children took; empty if the first failing child does not fit by itself either.

    """

    domain: Domain
    fitting: int
    failing: tuple[FailedGroup, ...] = ()
    taken: tuple[SiblingPlacement, ...] = ()


class ChildrenDoNotFit(Record, frozen=True):
    """CompositePodGroup of which too few children fit in one domain.

    Attributes:
        children: number of its children.
        minimum: number of children that must fit.
        domains: the domain in which the most children fit first, in full; others in a short form.
        key: topology key of the domains; empty if it has no constraint.
        further: other domains; None if there are none.
        failure: why the attempt failed although no child fails in the first domain.

    """

    path: Path
    children: int
    minimum: int
    domains: tuple[ChildrenInDomain, ...]
    key: str = ""
    further: FurtherDomains | None = None
    failure: AttemptFailed | None = None


class ChildFails(Record, frozen=True):
    """Child of a composite that fails in a domain for a reason that is not described."""

    path: Path


class MinimumOutOfReach(Record, frozen=True):
    """CompositePodGroup that cannot place its minimum of children any more; its other children are not tried."""

    path: Path
    children: int
    minimum: int


class NotTried(Record, frozen=True):
    """Group that was not tried, because of the group above it."""

    because: TooFewMembers | NoPlacement | NoDomain | MinimumOutOfReach


class FitsAlone(Record, frozen=True):
    """Group that fits, in *domain* if it has a topology constraint, but is not placed: its *sibling* does not fit, or else its parent."""

    domain: Domain | None
    sibling: Name | None


class StorageExceeded(Record, frozen=True):
    """Root whose claims need more storage together than there is, although each claim fits alone."""

    path: Path
    classes: tuple[StorageShortage, ...]


class AttemptError(Record, frozen=True):
    """Error that ended the attempt at a group."""

    path: Path
    reason: AttemptReason


class VictimsAwaited(Record, frozen=True):
    """Root for which pods were evicted, and that is placed when they have terminated on the nominated nodes."""


class LeavingPod(NamedTuple):
    """Pod that is being deleted, and its node."""

    pod: Name
    node: str


class DeletionsAwaited(Record, frozen=True):
    """Root that fits when pods that are being deleted are gone."""

    path: Path
    leaving: tuple[LeavingPod, ...]


class LeavingPodsLeftOut(Record, frozen=True):
    """Pods that are being deleted: the causes of the root are about what is left when they are gone."""

    leaving: tuple[LeavingPod, ...]


class PartlyPlaced(Record, frozen=True):
    """Root that is placed, without some of its pods or groups."""

    groups: tuple[FailedGroup | PodsLeftOver, ...]


FailedGroup = TooFewMembers | NoPlacement | NoDomain | PodsDoNotFit | InsufficientCapacity | ChildrenDoNotFit | ChildFails
"""Why a group fails in the domain of its parent."""
GroupCause = (
    FailedGroup
    | PodsLeftOver
    | MinimumOutOfReach
    | NotTried
    | FitsAlone
    | StorageExceeded
    | AttemptError
    | PluginFailed
    | VictimsAwaited
    | DeletionsAwaited
    | LeavingPodsLeftOut
    | PartlyPlaced
)
"""Why a group, or a single pod that is a root, is not placed, or not all of it."""


class GroupUnschedulable(Record, frozen=True):
    """Pod that fits or was not tried, and shares the result of its root: *reason*, or that no new pod was placed.

    *group* is the PodGroup that kube-scheduler's message names in place of the reason; None if it states the reason.
    """

    reason: AttemptReason | None = None
    group: Name | None = None


PodCause = FitError | GroupUnschedulable | StorageExceeded | AttemptError | PluginFailed | VictimsAwaited


FailingGroup = tuple[FailedGroup | PodsLeftOver | ChildrenInDomain, tuple[Domain, ...]]
"""Why a group fails in the best domains of its parents, and those domains, the outermost first, without parents that have no constraint.

ChildrenInDomain is about a group that fits alone, but not together with what the children of its parent took before.
"""


def failing_groups(causes: Sequence[object]) -> Iterator[FailingGroup]:
    """Yield why the groups of a root fail, in full; the first one decides."""
    first = next((each for each in causes if isinstance(each, PodsDoNotFit | ChildrenDoNotFit | PartlyPlaced)), None)
    for cause in first.groups if isinstance(first, PartlyPlaced) else (first,) if first is not None else ():
        yield from _failing(cause, ())


def _failing(cause: FailedGroup | PodsLeftOver, around: tuple[Domain, ...]) -> Iterator[FailingGroup]:
    if not isinstance(cause, ChildrenDoNotFit) or not cause.domains[0].failing:
        yield cause, around
        return
    best = cause.domains[0]
    inside = (*around, best.domain) if best.domain.key and best.domain not in around else around
    if best.taken:
        yield best, inside
    for child in best.failing[1 if best.taken else 0 :]:
        yield from _failing(child, inside)
