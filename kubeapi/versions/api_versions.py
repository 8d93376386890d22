"""Table of API versions and their kinds.  Rows of one group are in order of preference.

Sources: KEP-4671 (v1alpha1), KEP-6012 (v1alpha3), Kubernetes 1.35 to 1.37.1, and 1.38.0-beta.0.
"""

from __future__ import annotations

from kubeapi.base_structs import Record
from kubeapi.versions import v1alpha1, v1alpha2
from kubeapi.versions.conversion import CUSTOM_RESOURCE, HUB, Form
from kubeapi.versions.kubernetes_releases import NEWEST

SCHEDULING = "scheduling.k8s.io"
CUSTOM = "scheduling.muster.dev"
"""API group with the same kinds as CustomResourceDefinitions, for clusters whose API server does not have them."""
STABLE = "ga"
"""Stage of versions that are on by default."""


class ServedKind(Record, frozen=True):
    """Kind in one API version.

    Attributes:
        since: the first minor version of Kubernetes that serves the kind.
        until: the last one.
        hub: whether this version is the hub of the kind: ``TODAY``'s version serves it, and it is written by default.
        schema: the name of the file in ``validators/schemas``; empty for ``KIND-VERSION``.

    """

    kind: str
    since: int = 0
    until: int = NEWEST
    hub: bool = False
    schema: str = ""


class ApiVersion(Record, frozen=True):
    """Version of an API group, with its kinds and the form of its objects.

    A *foreign* group belongs to CustomResourceDefinitions of another project, which can have versions that the table lacks.
    """

    group: str
    version: str
    kinds: tuple[ServedKind, ...]
    form: Form = HUB
    foreign: bool = False

    @property
    def name(self) -> str:
        """The ``apiVersion`` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stage(self) -> str:
        """Stage of the version, as in ``--runtime-config=api/beta=true`` of the API server: ``ga``, ``beta`` or ``alpha``."""
        return next((stage for stage in ("alpha", "beta") if stage in self.version), STABLE)


V1ALPHA1 = Form(v1alpha1.to_hub, v1alpha1.from_hub, v1alpha1.written_path, templates_fixed=True)
V1ALPHA2 = Form(v1alpha2.to_hub, v1alpha2.from_hub, v1alpha2.written_path, templates_fixed=True)

_DEVICES = tuple(ServedKind(kind, 34, hub=True) for kind in ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"))
_TAINT_RULE = "devicetaintrule-v1"


def _served(kinds: tuple[ServedKind, ...], since: int) -> tuple[ServedKind, ...]:
    """Return *kinds* of an older version."""
    return tuple(ServedKind(each.kind, since) for each in kinds)


TABLE: tuple[ApiVersion, ...] = (
    ApiVersion(SCHEDULING, "v1", (ServedKind("PriorityClass", 14, hub=True),)),
    ApiVersion(
        SCHEDULING,
        "v1beta1",
        (
            ServedKind("Workload", 37, hub=True),
            ServedKind("PodGroup", 37, hub=True),
            ServedKind("CompositePodGroup", 38, schema="compositepodgroup-v1alpha3"),
            ServedKind("PriorityClass", 11, 21),
        ),
    ),
    ApiVersion(
        SCHEDULING,
        "v1alpha3",
        (
            ServedKind("Workload", 37, schema="workload-v1beta1"),
            ServedKind("PodGroup", 37, schema="podgroup-v1beta1"),
            ServedKind("CompositePodGroup", 37, hub=True),
        ),
    ),
    ApiVersion(SCHEDULING, "v1alpha2", (ServedKind("Workload", 36, 36), ServedKind("PodGroup", 36, 36)), V1ALPHA2),
    ApiVersion(SCHEDULING, "v1alpha1", (ServedKind("Workload", 35, 35), ServedKind("PriorityClass", 8, 21)), V1ALPHA1),
    ApiVersion(
        CUSTOM,
        "v1beta1",
        (
            ServedKind("Workload"),
            ServedKind("PodGroup"),
            ServedKind("CompositePodGroup", schema="compositepodgroup-v1alpha3"),
        ),
        CUSTOM_RESOURCE,
    ),
    ApiVersion(
        "",
        "v1",
        (
            ServedKind("Pod", hub=True),
            ServedKind("Node", hub=True),
            ServedKind("PersistentVolume", hub=True),
            ServedKind("PersistentVolumeClaim", hub=True),
            ServedKind("Service", hub=True),
            ServedKind("Namespace", hub=True),
            ServedKind("ReplicationController", hub=True),
            ServedKind("LimitRange", hub=True),
            ServedKind("ResourceQuota", hub=True),
        ),
    ),
    ApiVersion("apps", "v1", (ServedKind("ReplicaSet", 9, hub=True), ServedKind("StatefulSet", 9, hub=True))),
    ApiVersion(
        "storage.k8s.io",
        "v1",
        (
            ServedKind("StorageClass", 6, hub=True),
            ServedKind("CSINode", 17, hub=True),
            ServedKind("CSIDriver", 18, hub=True),
            ServedKind("CSIStorageCapacity", 24, hub=True),
            ServedKind("VolumeAttachment", 13, hub=True),
        ),
    ),
    ApiVersion("node.k8s.io", "v1", (ServedKind("RuntimeClass", 20, hub=True),)),
    ApiVersion("resource.k8s.io", "v1", (*_DEVICES, ServedKind("DeviceTaintRule", 37, hub=True))),
    ApiVersion(
        "resource.k8s.io",
        "v1beta2",
        (
            *(ServedKind(each.kind, 33, schema=f"{each.kind.lower()}-v1") for each in _DEVICES),
            ServedKind("DeviceTaintRule", 36, schema=_TAINT_RULE),
        ),
    ),
    ApiVersion("resource.k8s.io", "v1beta1", _served(_DEVICES, 32)),
    ApiVersion("resource.k8s.io", "v1alpha3", (ServedKind("DeviceTaintRule", 33, schema=_TAINT_RULE),)),
    ApiVersion("batch", "v1", (ServedKind("Job", 2, hub=True), ServedKind("CronJob", 21, hub=True))),
    ApiVersion("jobset.x-k8s.io", "v1alpha2", (ServedKind("JobSet", hub=True),), foreign=True),
    ApiVersion("policy", "v1", (ServedKind("PodDisruptionBudget", 21, hub=True),)),
)
