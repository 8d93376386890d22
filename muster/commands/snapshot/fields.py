"""Fields that ``simulate`` reads of every kind, and those of them that contain names.

They are those of the structs that placement decodes.  The others are here: of retired versions of the groups, and of objects that only
admission reads.  A field that is neither in a struct nor in these modules is never in a snapshot: not an environment variable, not the name
of a Secret, and of annotations only those about volumes, extended resources, shares of devices and sizes of ReplicaSets.
"""

from __future__ import annotations

from collections.abc import Mapping

from expansion.admission.admission_plugins import ANNOTATIONS
from expansion.device_shares import REGISTERED
from expansion.rollouts.situations import NOTED
from kubeapi import (
    controllers,
    device_shares,
    devices,
    disruption,
    groups,
    nodes,
    pods,
    priority,
    resource_claims,
    storage,
    volumes,
    workloads,
)
from kubeapi.affinity import NodeAffinity
from kubeapi.meta import NamespacedName, ObjectMeta
from kubeapi.quantity import Amounts
from kubeapi.redaction import KEPT, Labels, Mark, Names
from muster.commands.snapshot import other_projects_fields
from muster.commands.snapshot.pod_fields import POD_SPEC
from muster.commands.snapshot.shapes import Each, Fields, Unread, all_kept
from muster.commands.snapshot.struct_fields import fields_of, shape_of
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_38
from scheduler_core.loading.configuration.fields import ARGS, configuration_fields, profile_fields

UNLIKE = "givenOtherwiseToo"
"""A field that is not read: two different objects with one name stay different, so that simulate reports them again."""
_NAMED = fields_of(NamespacedName)
_POD_GROUP: Fields = {
    **fields_of(groups.PodGroupSpec),
    # v1alpha2
    "podGroupTemplateRef": {"workload": {"workloadName": Mark.NAME, "podGroupTemplateName": Mark.NAME}},
}
_WORKLOAD: Fields = {
    **fields_of(workloads.WorkloadSpec),
    # v1alpha1
    "podGroups": Each({**fields_of(workloads.PodGroupTemplate), "policy": fields_of(workloads.Policy)}),
}
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_STORAGE_CLASS: Fields = {
    **fields_of(volumes.VolumeMeta),
    "creationTimestamp": KEPT,
    "annotations": {**fields_of(volumes.ClaimAnnotations), **dict.fromkeys(_DEFAULT_CLASS, KEPT)},
}

_ARGS = {key: all_kept(schema) for each in ARGS.values() for key, schema in each.items()}
_ARGS |= {"addedAffinity": fields_of(NodeAffinity), "defaultConstraints": shape_of(tuple[pods.TopologySpreadConstraint, ...])}
_PROFILE: Fields = {
    **{key: all_kept(each) for key, each in profile_fields(KUBERNETES_1_38).items()},
    "pluginConfig": Each({"name": KEPT, "args": _ARGS}),
}
_PERCENTAGES = {key: KEPT for key in configuration_fields(KUBERNETES_1_38) if key.startswith("percentage")}
_AMOUNTS = shape_of(Amounts)
_LIMITS = dict.fromkeys(("default", "defaultRequest", "min", "max", "maxLimitRequestRatio"), _AMOUNTS)
# Names of priority classes are selected by scopes.
_SCOPES: Fields = {"matchExpressions": Each({"scopeName": KEPT, "operator": KEPT, "values": shape_of(Names)})}
_QUOTA: Fields = {
    "metadata": _NAMED,
    "spec": {"hard": _AMOUNTS, "scopes": Each(KEPT), "scopeSelector": _SCOPES},
    "status": {"hard": _AMOUNTS, "used": _AMOUNTS},
}
_RUNTIME_CLASS: Fields = {
    "metadata": _NAMED,
    "overhead": {"podFixed": _AMOUNTS},
    "scheduling": {"nodeSelector": shape_of(Labels), "tolerations": shape_of(tuple[pods.Toleration, ...])},
}
_OF_POD = Unread(dict, frozenset(device_shares.ANNOTATIONS))
_OF_NODE = Unread(dict, frozenset(REGISTERED))
_KINDS: tuple[tuple[str, Fields], ...] = (
    ("KubeSchedulerConfiguration", {**_PERCENTAGES, "profiles": Each(_PROFILE), "extenders": Each({})}),
    ("Node", {**fields_of(nodes.Node), "metadata": {**fields_of(ObjectMeta), "annotations": _OF_NODE}}),
    ("PriorityClass", fields_of(priority.PriorityClass)),
    ("Workload", {**fields_of(workloads.Workload), "spec": _WORKLOAD}),
    ("CompositePodGroup", fields_of(groups.CompositePodGroup)),
    ("PodGroup", {**fields_of(groups.PodGroup), "spec": _POD_GROUP}),
    ("PodDisruptionBudget", fields_of(disruption.PodDisruptionBudget)),
    ("Namespace", {"metadata": {**fields_of(ObjectMeta), "annotations": dict.fromkeys(ANNOTATIONS, KEPT)}}),
    ("LimitRange", {"metadata": _NAMED, "spec": {"limits": Each({"type": KEPT, **_LIMITS})}}),
    ("ResourceQuota", _QUOTA),
    ("RuntimeClass", _RUNTIME_CLASS),
    ("CSIDriver", fields_of(storage.CSIDriver)),
    ("CSINode", fields_of(storage.CSINode)),
    ("CSIStorageCapacity", fields_of(storage.CSIStorageCapacity)),
    ("VolumeAttachment", fields_of(storage.VolumeAttachment)),
    ("StorageClass", {**fields_of(storage.StorageClass), "metadata": _STORAGE_CLASS}),
    ("PersistentVolume", fields_of(volumes.PersistentVolume)),
    ("PersistentVolumeClaim", fields_of(volumes.PersistentVolumeClaim)),
    ("DeviceClass", fields_of(devices.DeviceClass)),
    ("DeviceTaintRule", fields_of(devices.DeviceTaintRule)),
    ("ResourceSlice", fields_of(devices.ResourceSlice)),
    ("ResourceClaimTemplate", fields_of(resource_claims.ResourceClaimTemplate)),
    ("ResourceClaim", fields_of(resource_claims.ResourceClaim)),
    *other_projects_fields.KINDS,
    ("Service", fields_of(controllers.Service)),
    ("ReplicationController", fields_of(controllers.ReplicationController)),
    ("ReplicaSet", {**fields_of(controllers.ReplicaSet), "metadata": {**_NAMED, "annotations": dict.fromkeys(NOTED, KEPT)}}),
    ("StatefulSet", fields_of(controllers.StatefulSet)),
    ("Pod", {**fields_of(pods.Pod), "metadata": {**fields_of(pods.PodMeta), "annotations": _OF_POD}, "spec": POD_SPEC}),
)
FIELDS: Mapping[str, Fields] = {kind: {"apiVersion": KEPT, "kind": KEPT, **fields} for kind, fields in _KINDS}
"""The fields of each kind, in the order in which a snapshot has the kinds."""
