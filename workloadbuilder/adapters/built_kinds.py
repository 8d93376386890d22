"""Kinds of objects for which groups are built, the labels with which users ask for it, and the pods that join the groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kubeapi.decode import section
from workloadbuilder.adapters.shared.known_objects import group_of
from workloadbuilder.workload_item import Owner

LABEL, BUILD = "muster.dev/groups", "build"
"""Label of a namespace, object or pod whose groups are built, and its value; any other value on an object or pod excludes it."""
WAITING, UNKNOWN = "muster.dev/pod-group", "unknown"
"""Label of a pod whose group was not known when the pod was created, and its value; also the name of the scheduling gate of such a pod."""

Json = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class BuiltKind:
    """Kind of a controller's objects.  *by_object*: the label of the namespace is not sufficient.  *only_read*: others refer to it."""

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]
    by_object: bool = False
    only_read: bool = False

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The API versions, the preferred first."""
        return tuple(f"{self.group}/{version}" for version in self.versions)


_TRAINING = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
KINDS = (
    BuiltKind("batch", "Job", "jobs", ("v1",)),
    BuiltKind("jobset.x-k8s.io", "JobSet", "jobsets", ("v1alpha2",)),
    BuiltKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", ("v1",)),
    BuiltKind("trainer.kubeflow.org", "TrainJob", "trainjobs", ("v1alpha1",)),
    BuiltKind("trainer.kubeflow.org", "TrainingRuntime", "trainingruntimes", ("v1alpha1",), only_read=True),
    BuiltKind("trainer.kubeflow.org", "ClusterTrainingRuntime", "clustertrainingruntimes", ("v1alpha1",), only_read=True),
    BuiltKind("ray.io", "RayCluster", "rayclusters", ("v1",)),
    BuiltKind("kubeflow.org", "MPIJob", "mpijobs", ("v2beta1", "v1")),
    *(BuiltKind("kubeflow.org", kind, f"{kind.lower()}s", ("v1",)) for kind in _TRAINING),
    BuiltKind("apps", "Deployment", "deployments", ("v1",), by_object=True),
    BuiltKind("apps", "StatefulSet", "statefulsets", ("v1",), by_object=True),
)
_BY_NAME = {(each.group, each.kind): each for each in KINDS}
OWNERS = frozenset(name for name, each in _BY_NAME.items() if not (each.by_object or each.only_read))
"""API group and kind of the controllers whose pods join a group, whoever has asked for it."""
OWNERS_BY_LABEL = frozenset({("apps", "ReplicaSet"), ("apps", "StatefulSet")})
"""API group and kind of the controllers of a Deployment's and a StatefulSet's pods, which join a group only if they have the label."""
LWS_LABEL = "leaderworkerset.sigs.k8s.io/name"
"""Label of the pods of a LeaderWorkerSet; their controllers are StatefulSets."""


def kind_of(manifest: Json) -> BuiltKind | None:
    """Return the kind of an object; None if no groups are built for it."""
    found = _BY_NAME.get((group_of(str(manifest.get("apiVersion"))), str(manifest.get("kind"))))
    return None if found is None or found.only_read else found


def is_asked_for(manifest: Json, namespace: Json | None) -> bool:
    """Return whether groups are asked for by the label of the object, or else by that of its *namespace*."""
    kind = kind_of(manifest)
    if kind is None:
        return False
    own = _label(manifest)
    return own == BUILD if own is not None or kind.by_object else _label(namespace or {}) == BUILD


def has_built_owner(manifest: Json) -> bool:
    """Return whether the controller of an object is of a kind for which groups are built: they have the pods of this object too."""
    owner = controller_of(manifest)
    return owner is not None and (owner.group, owner.kind) in OWNERS


def joins_group(pod: Json) -> bool:
    """Return whether a pod joins a group if the label of its namespace asks for groups, or its own label does."""
    own, owner = _label(pod), controller_of(pod)
    controller = owner and (owner.group, owner.kind)
    if own is not None and own != BUILD:
        return False
    if controller in OWNERS_BY_LABEL:
        return own == BUILD or (controller == ("apps", "StatefulSet") and LWS_LABEL in section(pod, "metadata", "labels"))
    return controller in OWNERS


def controller_of(manifest: Json) -> Owner | None:
    """Return the controller of an object; None if it has none."""
    owners = section(manifest, "metadata").get("ownerReferences")
    for each in owners if isinstance(owners, list) else ():
        if isinstance(each, dict) and each.get("controller") is True:
            return Owner(str(each.get("apiVersion")), str(each.get("kind")), str(each.get("name")), str(each.get("uid")))
    return None


def _label(manifest: Json) -> str | None:
    value = section(manifest, "metadata", "labels").get(LABEL)
    return value if isinstance(value, str) else None
