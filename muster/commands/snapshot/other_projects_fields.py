"""Fields of the objects of other projects that controllers' objects name, and of the queues that admit them."""

from __future__ import annotations

from kubeapi import device_shares, kueue
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
# A service selects containers of its runtime, and those of its configurations, by name.
_CONTAINERS = {kind: Each({**POD_SPEC[kind].of, "name": KEPT}) for kind in ("containers", "initContainers")}  # type: ignore[union-attr,dict-item]
_PODS: Fields = {**POD_SPEC, **_CONTAINERS}
_SIZES: Fields = dict.fromkeys(("pipelineParallelSize", "tensorParallelSize"), KEPT)
_SERVING_RUNTIME: Fields = {
    "metadata": {**_NAMED, "creationTimestamp": KEPT},
    "spec": {
        **_PODS,
        **_METADATA,
        **dict.fromkeys(("disabled", "multiModel", "protocolVersions"), KEPT),
        "annotations": {**_ANNOTATIONS, "multinode/executor-backend": KEPT},
        "supportedModelFormats": Each(dict.fromkeys(("autoSelect", "name", "priority", "version"), KEPT)),
        "workerSpec": {**_PODS, **_METADATA, **_SIZES},
    },
}
_LLM_WORKLOAD: Fields = {
    **_METADATA,
    "replicas": KEPT,
    "scaling": {"minReplicas": KEPT},
    "parallelism": dict.fromkeys(("data", "dataLocal", "pipeline"), KEPT),
    "template": _PODS,
    "worker": _PODS,
}
_LLM_CONFIG: Fields = {
    "metadata": _NAMED,
    "spec": {
        **_LLM_WORKLOAD,
        "prefill": _LLM_WORKLOAD,
        "router": {
            "scheduler": {
                "config": {"inline": {"plugins": Each({"type": KEPT})}},
                "pool": {"ref": {"name": Mark.NAME}},
                "replicas": KEPT,
                "template": _PODS,
            }
        },
    },
}


def key_of(group: str, kind: str) -> str:
    """Return by which name the fields of a kind are found: of two kinds with one name, that of Kueue has its group too."""
    return f"{kind}.{group}" if kind == "Workload" and group == kueue.API_GROUP else kind


KINDS: tuple[tuple[str, Fields], ...] = (
    ("ClusterTrainingRuntime", RUNTIME),
    ("TrainingRuntime", RUNTIME),
    ("ClusterServingRuntime", _SERVING_RUNTIME),
    ("ServingRuntime", _SERVING_RUNTIME),
    ("LLMInferenceServiceConfig", _LLM_CONFIG),
    ("ClusterTopology", TOPOLOGY),
    ("ClusterTopologyBinding", TOPOLOGY),
    ("Topology", _LEVELS),
    *((key_of(kueue.API_GROUP, kind), fields_of(model)) for kind, model in kueue.KINDS.items() if model is not kueue.Topology),
)
"""The fields of each kind, in the order in which a snapshot has the kinds."""
_TRAINER, _KSERVE, _GROVE, _KAI = "trainer.kubeflow.org", "serving.kserve.io", "grove.io", "kai.scheduler"


def _plural(kind: str) -> str:
    """Return the name of the resource of a kind of Kueue."""
    lower = kind.lower()
    if lower.endswith("y"):
        return f"{lower[:-1]}ies"
    return f"{lower}es" if lower.endswith("s") else f"{lower}s"


RESOURCES = (
    Resource("ClusterTrainingRuntime", _TRAINER, "clustertrainingruntimes", ()),
    Resource("TrainingRuntime", _TRAINER, "trainingruntimes", ()),
    Resource("ClusterServingRuntime", _KSERVE, "clusterservingruntimes", ()),
    Resource("ServingRuntime", _KSERVE, "servingruntimes", ()),
    Resource("LLMInferenceServiceConfig", _KSERVE, "llminferenceserviceconfigs", ()),
    Resource("ClusterTopology", _GROVE, "clustertopologies", ()),
    Resource("ClusterTopologyBinding", _GROVE, "clustertopologybindings", ()),
    Resource("Topology", _KAI, "topologies", ()),
    *(Resource(kind, kueue.API_GROUP, _plural(kind), ()) for kind in kueue.KINDS),
)
"""The resources of these kinds, in any version of their groups."""
