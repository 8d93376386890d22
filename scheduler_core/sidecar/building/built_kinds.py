"""Kinds of objects for which groups are built, and the labels with which users ask for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kubeapi.decode import section
from scheduler_core.sidecar.building.owned_objects import controllers_in
from workloadbuilder.adapters.shared.known_objects import group_of

LABEL, BUILD = "muster.dev/groups", "build"
"""Label of a namespace or an object whose groups are built, and its value; any other value on an object excludes the object."""

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
    BuiltKind("ray.io", "RayJob", "rayjobs", ("v1",)),
    BuiltKind("kubeflow.org", "MPIJob", "mpijobs", ("v2beta1", "v1")),
    *(BuiltKind("kubeflow.org", kind, f"{kind.lower()}s", ("v1",)) for kind in _TRAINING),
    BuiltKind("apps", "Deployment", "deployments", ("v1",), by_object=True),
    BuiltKind("apps", "StatefulSet", "statefulsets", ("v1",), by_object=True),
)
_BY_NAME = {(each.group, each.kind): each for each in KINDS}
_OWNERS = frozenset(name for name, each in _BY_NAME.items() if not (each.by_object or each.only_read))


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
    return any((each.group, each.kind) in _OWNERS for each in controllers_in(manifest))


def _label(manifest: Json) -> str | None:
    value = section(manifest, "metadata", "labels").get(LABEL)
    return value if isinstance(value, str) else None
