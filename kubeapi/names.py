"""Names of objects, and the kinds whose objects are in no namespace."""

from __future__ import annotations

from kubeapi.base_structs import Record

CLUSTER_SCOPED = frozenset(
    {
        *("PriorityClass", "Node", "Namespace", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment"),
        "RuntimeClass",
        *("ResourceSlice", "DeviceClass", "DeviceTaintRule"),
        # Of Trainer, Grove, Kueue and KAI.
        *("ClusterTrainingRuntime", "ClusterTopology", "ClusterTopologyBinding", "ClusterQueue", "Topology"),
        *("AdmissionCheck", "Cohort", "ResourceFlavor", "WorkloadPriorityClass"),
    }
)


class Name(Record, frozen=True):
    """Identity of an object.  The namespace of a cluster-scoped object is empty."""

    kind: str
    namespace: str
    name: str
