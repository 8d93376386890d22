"""Causes about one topology domain: how many pods it holds, why not more, and which filter keeps them out."""

from __future__ import annotations

import enum

from kubeapi.base_structs import Record
from scheduler_core.causes.attempts import AttemptReason
from scheduler_core.causes.device_refusals import DeviceRefusal
from scheduler_core.causes.filter_reasons import UnmodelledField
from scheduler_core.causes.node_states import Cordoned, NodeAffinityMismatch, NodeStateCause, UntoleratedTaint
from scheduler_core.causes.other_pods import OtherPodsCause
from scheduler_core.causes.resources import ResourceCause
from scheduler_core.causes.volume_causes import VolumeCause
from scheduler_core.model.names import Domain


class AttemptFailed(Record, frozen=True):
    """Failure of an attempt although the pods fit."""

    reason: AttemptReason


NodeCause = NodeStateCause | OtherPodsCause | ResourceCause | VolumeCause | DeviceRefusal
"""Why nodes refuse a pod."""


class PodRule(enum.StrEnum):
    """Rules of a pod, or of others, about the pods in a domain."""

    SPREAD = "topology-spread"
    """Topology spread constraints of the pod."""
    AFFINITY = "pod-affinity"
    """Required affinity of the pod to other pods."""
    ANTI_AFFINITY = "pod-anti-affinity"
    """Required anti-affinity of the pod to other pods."""
    EXISTING_ANTI_AFFINITY = "anti-affinity-of-other-pods"
    """Required anti-affinity of other pods to the pod."""
    ALL = "rules-about-pods"
    """All rules between pods; several of them exclude nodes."""


Relaxable = Cordoned | NodeAffinityMismatch | UntoleratedTaint | UnmodelledField | PodRule
"""Filters whose effect can be tried alone."""


class DroppedFilter(Record, frozen=True):
    """Filter without which a domain would hold *pods* pods."""

    dropped: Relaxable
    pods: int


class DomainCause(Record, frozen=True):
    """Domain that does not hold *wanted* pods.

    Attributes:
        domain: the domain; no key and no value for the whole cluster.
        nodes: number of its nodes.
        pods: number of pods that it holds.
        wanted: number of pods that need a node; those that are left over if the others have one.
        decisive: what refuses the nodes that nothing else excludes: rules about other pods, and missing resources.
        causes: what excludes nodes otherwise, that of the most nodes first; also the filter that *relaxation* drops.
        relaxation: the filter without which it would hold the most pods; None if none makes a difference.
        in_order: True if *pods* is their number in the order of the queue; another order can place more.

    """

    domain: Domain
    nodes: int
    pods: int
    wanted: int
    decisive: tuple[NodeCause, ...] = ()
    causes: tuple[NodeCause | AttemptFailed, ...] = ()
    relaxation: DroppedFilter | None = None
    in_order: bool = False
