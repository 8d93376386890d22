"""Kinds used by the tests, with their paths on the API server."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

SCHEDULING = "scheduling.k8s.io"
RESOURCES: dict[str, tuple[str, str, bool]] = {
    # kind: (preferred apiVersion, plural, namespaced)
    "Namespace": ("v1", "namespaces", False),
    "Node": ("v1", "nodes", False),
    "Pod": ("v1", "pods", True),
    "Event": ("v1", "events", True),
    "Service": ("v1", "services", True),
    "Secret": ("v1", "secrets", True),
    "ConfigMap": ("v1", "configmaps", True),
    "ServiceAccount": ("v1", "serviceaccounts", True),
    "Job": ("batch/v1", "jobs", True),
    "CronJob": ("batch/v1", "cronjobs", True),
    "Deployment": ("apps/v1", "deployments", True),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets", True),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "jobsets", True),
    "MPIJob": ("kubeflow.org/v2beta1", "mpijobs", True),
    "RayCluster": ("ray.io/v1", "rayclusters", True),
    "RayJob": ("ray.io/v1", "rayjobs", True),
    "RayService": ("ray.io/v1", "rayservices", True),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1", "trainjobs", True),
    **{kind: ("kubeflow.org/v1", f"{kind.lower()}s", True) for kind in ("JAXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")},
    "TrainingRuntime": ("trainer.kubeflow.org/v1alpha1", "trainingruntimes", True),
    "ClusterTrainingRuntime": ("trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes", False),
    "Endpoints": ("v1", "endpoints", True),
    "EndpointSlice": ("discovery.k8s.io/v1", "endpointslices", True),
    "ReplicaSet": ("apps/v1", "replicasets", True),
    "StatefulSet": ("apps/v1", "statefulsets", True),
    "DaemonSet": ("apps/v1", "daemonsets", True),
    "ReplicationController": ("v1", "replicationcontrollers", True),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies", True),
    "Lease": ("coordination.k8s.io/v1", "leases", True),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", True),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True),
    "PersistentVolume": ("v1", "persistentvolumes", False),
    "StorageClass": ("storage.k8s.io/v1", "storageclasses", False),
    "CSIDriver": ("storage.k8s.io/v1", "csidrivers", False),
    "CSINode": ("storage.k8s.io/v1", "csinodes", False),
    "CSIStorageCapacity": ("storage.k8s.io/v1", "csistoragecapacities", True),
    "VolumeAttachment": ("storage.k8s.io/v1", "volumeattachments", False),
    "LimitRange": ("v1", "limitranges", True),
    "ResourceQuota": ("v1", "resourcequotas", True),
    "RuntimeClass": ("node.k8s.io/v1", "runtimeclasses", False),
    "PriorityClass": (f"{SCHEDULING}/v1", "priorityclasses", False),
    "Workload": (f"{SCHEDULING}/v1beta1", "workloads", True),
    "PodGroup": (f"{SCHEDULING}/v1beta1", "podgroups", True),
    "CompositePodGroup": (f"{SCHEDULING}/v1alpha3", "compositepodgroups", True),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("resource.k8s.io/v1", "resourceclaimtemplates", True),
    "ResourceSlice": ("resource.k8s.io/v1", "resourceslices", False),
    "DeviceClass": ("resource.k8s.io/v1", "deviceclasses", False),
    "DeviceTaintRule": ("resource.k8s.io/v1", "devicetaintrules", False),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", True),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", False),
    "ValidatingAdmissionPolicy": ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", False),
    "MutatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", False),
    "MutatingAdmissionPolicy": ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", False),
    "MutatingAdmissionPolicyBinding": ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", False),
}
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


def path(kind: str, name: str = "", namespace: str = "", subresource: str = "", *, version: str = "") -> str:
    """The URL's path of an object, or without *name* of the list; *version* is an apiVersion other than the preferred."""
    preferred, plural, namespaced = RESOURCES[kind]
    served = version or preferred
    parts = ["apis" if "/" in served else "api", served]
    if namespaced and namespace:
        parts += ["namespaces", namespace]
    return "/" + "/".join([*parts, plural, *filter(None, (name, subresource))])
