"""The fields of every kind that a snapshot keeps."""

from __future__ import annotations

from collections.abc import Mapping

from muster.commands.snapshot import device_fields, fields, lookup_fields
from muster.commands.snapshot.selector_fields import KEPT, METADATA
from muster.commands.snapshot.shapes import Fields

UNLIKE = "givenOtherwiseToo"
"""A field that is not read: two different objects with one name stay different, so that simulate reports them again."""
FIELDS: Mapping[str, Fields] = {
    kind: {"apiVersion": KEPT, "kind": KEPT, **kept}
    for kind, kept in (
        ("KubeSchedulerConfiguration", fields.CONFIGURATION),
        ("Node", fields.NODE),
        ("PriorityClass", fields.PRIORITY_CLASS),
        ("Workload", fields.WORKLOAD),
        ("CompositePodGroup", fields.GROUP),
        ("PodGroup", fields.GROUP),
        ("PodDisruptionBudget", fields.BUDGET),
        ("Namespace", {"metadata": METADATA}),
        ("LimitRange", fields.LIMIT_RANGE),
        ("ResourceQuota", fields.QUOTA),
        ("RuntimeClass", fields.RUNTIME_CLASS),
        ("CSIDriver", fields.CSI_DRIVER),
        ("CSINode", fields.CSI_NODE),
        ("CSIStorageCapacity", fields.STORAGE_CAPACITY),
        ("VolumeAttachment", fields.ATTACHMENT),
        ("StorageClass", fields.STORAGE_CLASS),
        ("PersistentVolume", fields.VOLUME),
        ("PersistentVolumeClaim", fields.CLAIM),
        *device_fields.KINDS,
        *lookup_fields.KINDS,
        ("Service", fields.SERVICE),
        ("ReplicationController", fields.SERVICE),
        ("ReplicaSet", fields.CONTROLLER),
        ("StatefulSet", fields.CONTROLLER),
        ("Pod", fields.POD),
    )
}
"""The fields of each kind, in the order in which a snapshot has the kinds."""
