"""Kinds that rules validate or look up, by name."""

from __future__ import annotations

from typing import Final

from kubeapi.decode import Decoders, Source, decode
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import ObjectMeta, Struct
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.priority import PriorityClass
from kubeapi.workloads import Workload
from validators.model.controllers import Controller
from validators.model.views import (
    CronJob,
    DeviceClass,
    DeviceTaintRule,
    Job,
    JobSet,
    Node,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)


class Named(Struct, frozen=True, gc=False):
    """Object of which only the name is known: it exists, but its content cannot be read."""

    kind: str
    metadata: ObjectMeta = ObjectMeta()
    api_version: str = ""


Object = (
    Workload
    | PodGroup
    | CompositePodGroup
    | Pod
    | Job
    | CronJob
    | JobSet
    | PriorityClass
    | Node
    | ResourceClaim
    | ResourceClaimTemplate
    | DeviceClass
    | ResourceSlice
    | DeviceTaintRule
    | Controller
    | Named
)

KINDS: dict[str, type[Object]] = {
    "Workload": Workload,
    "PodGroup": PodGroup,
    "CompositePodGroup": CompositePodGroup,
    "Pod": Pod,
    "Job": Job,
    "CronJob": CronJob,
    "JobSet": JobSet,
    "PriorityClass": PriorityClass,
    "Node": Node,
    "ResourceClaim": ResourceClaim,
    "ResourceClaimTemplate": ResourceClaimTemplate,
    "DeviceClass": DeviceClass,
    "ResourceSlice": ResourceSlice,
    "DeviceTaintRule": DeviceTaintRule,
}


DECODERS: Final = Decoders()
"""Decoders of structs as the rules read them."""


def decode_kind(kind: str, source: Source) -> Object:
    """Return the typed object of *kind* (a key of ``KINDS``).

    Raises:
        WrongShapeError: a value has the wrong JSON type, or an integer does not fit.
        NotJson: *source* is not JSON.
        RecursionError: *source* is nested too deeply to be read.
    """
    decoded: Object = decode(source, DECODERS[KINDS[kind]])
    return decoded


def namespace_of(item: Object) -> str:
    """Return the namespace of an object: empty for cluster-scoped kinds, ``default`` if none is written."""
    return "" if item.kind in CLUSTER_SCOPED else item.metadata.namespace or "default"
