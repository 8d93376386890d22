"""Fields of the objects of other projects that controllers' objects name, and of queues, which a note of ``muster fit`` names."""

from __future__ import annotations

from kubeapi import device_shares
from kubeapi.meta import NamespacedName
from kubeapi.redaction import KEPT, Labels, Mark
from kubeapi.versions.served_versions import Resource
from kubeapi.volumes import PersistentVolumeClaimTemplate
from kubeapi.workloads import LeafShape
from muster.commands.snapshot.pod_fields import POD_SPEC
from muster.commands.snapshot.shapes import Each, Entries, Fields
from muster.commands.snapshot.struct_fields import fields_of, shape_of

_NAMED = fields_of(NamespacedName)
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_KUEUE = "kueue.x-k8s.io/podset-"
_ANNOTATIONS: Fields = dict.fromkeys(
    (
        _EXCLUSIVE,
        "alpha.jobset.sigs.k8s.io/node-selector",
        *(f"{_KUEUE}{each}" for each in ("required-topology", "preferred-topology", "unconstrained-topology", "group-name")),
        *(f"{_KUEUE}slice-{each}" for each in ("required-topology", "required-topology-constraints", "size")),
    ),
    KEPT,
)
_METADATA: Fields = {"labels": shape_of(Labels), "annotations": {**_ANNOTATIONS, **dict.fromkeys(device_shares.ANNOTATIONS, Mark.NAME)}}
# Of a Job and of a JobSet.
_SCHEDULING: Fields = {
    **fields_of(LeafShape),
    "schedulingPolicy": {"basic": {"desiredCount": KEPT}, "gang": {"minCount": KEPT, "minGroupCount": KEPT}},
}
_JOB: Fields = {
    **dict.fromkeys(("parallelism", "completions", "completionMode", "suspend"), KEPT),
    "scheduling": _SCHEDULING,
    "template": {"metadata": _METADATA, "spec": POD_SPEC},
}
# The names of replicated jobs and the labels of their Jobs say which of them a TrainJob changes.
_REPLICATED_JOB: Fields = {
    "name": KEPT,
    "replicas": KEPT,
    "dependsOn": Each({"name": KEPT, "status": KEPT}),
    "template": {"metadata": {"labels": Entries(), "annotations": _ANNOTATIONS}, "spec": _JOB},
}
_JOB_SET: Fields = {
    "replicatedJobs": Each(_REPLICATED_JOB),
    "scheduling": _SCHEDULING,
    "startupPolicy": {"startupPolicyOrder": KEPT},
    "suspend": KEPT,
    "volumeClaimPolicies": Each({"templates": Each({**fields_of(PersistentVolumeClaimTemplate), "metadata": {"name": Mark.NAME}})}),
}
RUNTIME: Fields = {
    "metadata": _NAMED,
    "spec": {
        "mlPolicy": {
            "numNodes": KEPT,
            "torch": {"numProcPerNode": KEPT, "elasticPolicy": {"minNodes": KEPT, "maxNodes": KEPT}},
            "mpi": {"numProcPerNode": KEPT, "runLauncherAsNode": KEPT},
        },
        "podGroupPolicy": {
            "coscheduling": {"scheduleTimeoutSeconds": KEPT},
            "volcano": {"networkTopology": dict.fromkeys(("mode", "highestTierAllowed", "highestTierName"), KEPT)},
        },
        "template": {"metadata": {"annotations": _ANNOTATIONS}, "spec": _JOB_SET},
    },
}
TOPOLOGY: Fields = {"metadata": _NAMED, "spec": {"levels": Each({"domain": KEPT, "key": KEPT})}}
# Of KAI, and of Kueue, which older versions of KAI use.
_LEVELS: Fields = {"metadata": _NAMED, "spec": {"levels": Each({"nodeLabel": KEPT, "alias": KEPT})}}
KINDS: tuple[tuple[str, Fields], ...] = (
    ("ClusterTrainingRuntime", RUNTIME),
    ("TrainingRuntime", RUNTIME),
    ("ClusterTopology", TOPOLOGY),
    ("ClusterTopologyBinding", TOPOLOGY),
    ("ClusterQueue", {"metadata": _NAMED}),
    ("Topology", _LEVELS),
)
"""The fields of each kind, in the order in which a snapshot has the kinds."""
_TRAINER, _GROVE, _QUEUES, _KAI = "trainer.kubeflow.org", "grove.io", "kueue.x-k8s.io", "kai.scheduler"
RESOURCES = (
    Resource("ClusterTrainingRuntime", _TRAINER, "clustertrainingruntimes", ()),
    Resource("TrainingRuntime", _TRAINER, "trainingruntimes", ()),
    Resource("ClusterTopology", _GROVE, "clustertopologies", ()),
    Resource("ClusterTopologyBinding", _GROVE, "clustertopologybindings", ()),
    Resource("ClusterQueue", _QUEUES, "clusterqueues", ()),
    Resource("Topology", _KAI, "topologies", ()),
    Resource("Topology", _QUEUES, "topologies", ()),
)
"""The resources of these kinds, in any version of their groups."""
