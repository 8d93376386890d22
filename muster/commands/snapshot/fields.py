"""Fields of cluster objects that ``simulate`` reads, and those of them that contain names.

A field that is not listed is never in a snapshot: not an environment variable, not the name of a Secret, and of annotations only those
about volumes and extended resources.  Field names are those of the JSON, including those of retired versions of the groups.
"""

from __future__ import annotations

from kubeapi.pods import Volume
from kubeapi.volumes import PersistentVolumeSpec
from muster.commands.snapshot import device_fields
from muster.commands.snapshot.selector_fields import (
    AFFINITY,
    AMOUNTS,
    KEPT,
    LABELS,
    METADATA,
    NAME,
    NAMED,
    NAMES,
    NODE_TERM,
    SELECTOR,
    SPREAD,
    TAINTS,
    TEXT,
    TOLERATIONS,
    UNREAD,
)
from muster.commands.snapshot.shapes import Each, Entries, Fields, IfPresent, OrScalar, ScalarShape, Shape, all_kept
from scheduler_core.loading.configuration.fields import ARGS, PROFILE
from scheduler_core.model.conditions import INITIALLY_SCHEDULED

_RESOURCES: Fields = {"requests": AMOUNTS, "limits": AMOUNTS}
_MOUNTS = Each({"bindMountOptions": Each(KEPT)}, compact=True)
_CONTAINERS = Each(
    {
        "name": NAME,
        "image": ScalarShape.POD_IMAGE,
        "resources": _RESOURCES,
        "ports": Each({"containerPort": KEPT, "hostPort": KEPT, "hostIP": NAME, "protocol": KEPT}),
        "restartPolicy": KEPT,
        "restartPolicyRules": Each({"action": KEPT}),
        "volumeMounts": _MOUNTS,
    }
)
_STATUSES = Each({"name": NAME, "allocatedResources": AMOUNTS, "resources": _RESOURCES})
_CONDITION: Fields = {
    "type": KEPT,
    "status": KEPT,
    "reason": KEPT,
    "message": TEXT,
    "observedGeneration": KEPT,
    "lastTransitionTime": UNREAD,
}
_POD_CONDITION: Fields = {**_CONDITION, "message": UNREAD}
_POD_CONDITIONS = frozenset({"PodResizePending", "Ready", "DisruptionTarget"})
_CLAIM_SPEC: Fields = {
    **dict.fromkeys(("volumeName", "storageClassName", "volumeAttributesClassName"), NAME),
    "accessModes": Each(KEPT),
    "resources": {"requests": AMOUNTS},
    "volumeMode": KEPT,
    "selector": SELECTOR,
}
_CLAIM_ANNOTATIONS: Fields = {
    "pv.kubernetes.io/bind-completed": KEPT,
    "volume.beta.kubernetes.io/storage-class": NAME,
    "volume.kubernetes.io/selected-node": NAME,
}
CLAIM_TEMPLATE: Fields = {"metadata": {"annotations": _CLAIM_ANNOTATIONS}, "spec": _CLAIM_SPEC}
_VOLUME: Fields = {
    "name": UNREAD,
    # Of all others only the presence is read.
    **{each: {} for each in Volume.__struct_encode_fields__ if each != "name"},
    "persistentVolumeClaim": {"claimName": NAME},
    "awsElasticBlockStore": {"volumeID": NAME},
    "gcePersistentDisk": {"pdName": NAME, "readOnly": KEPT},
    "iscsi": {"iqn": NAME, "readOnly": KEPT},
    "rbd": {"monitors": NAMES, "pool": NAME, "image": NAME, "readOnly": KEPT},
    "image": {"reference": ScalarShape.POD_IMAGE},
}
EPHEMERAL: Fields = {"volumeClaimTemplate": CLAIM_TEMPLATE}
# The name of an ephemeral volume is part of the name of its claim.
_ANY_VOLUME = IfPresent("ephemeral", {**_VOLUME, "name": NAME, "ephemeral": EPHEMERAL}, _VOLUME)
POD: Fields = {
    # Claims to devices belong to a pod by uid.
    "metadata": {**METADATA, "uid": NAME},
    "spec": {
        "nodeName": NAME,
        "schedulerName": KEPT,
        "priority": KEPT,
        "priorityClassName": NAME,
        "preemptionPolicy": KEPT,
        "schedulingGates": Each({"name": KEPT}),
        "schedulingGroup": {"podGroupName": NAME},
        "workloadRef": {"name": NAME, "podGroup": NAME, "podGroupReplicaKey": NAME},
        "nodeSelector": LABELS,
        "affinity": AFFINITY,
        "tolerations": TOLERATIONS,
        "topologySpreadConstraints": SPREAD,
        "containers": _CONTAINERS,
        "initContainers": _CONTAINERS,
        "ephemeralContainers": Each({"volumeMounts": _MOUNTS}),
        "overhead": AMOUNTS,
        "resources": _RESOURCES,
        "volumes": Each(_ANY_VOLUME),
        "resourceClaims": device_fields.ENTRIES,
        "hostNetwork": KEPT,
        "hostUsers": KEPT,
    },
    "status": {
        "phase": KEPT,
        "startTime": KEPT,
        "nominatedNodeName": NAME,
        "conditions": Each(_POD_CONDITION, only=_POD_CONDITIONS),
        "containerStatuses": _STATUSES,
        "initContainerStatuses": _STATUSES,
        "allocatedResources": AMOUNTS,
        "resources": _RESOURCES,
        "resourceClaimStatuses": device_fields.CREATED,
        "extendedResourceClaimStatus": UNREAD,
    },
}
NODE: Fields = {
    "metadata": METADATA,
    "spec": {"taints": TAINTS, "unschedulable": KEPT},
    "status": {
        "allocatable": AMOUNTS,
        "capacity": AMOUNTS,
        "declaredFeatures": Each(KEPT),
        "images": Each({"names": Each(ScalarShape.NODE_IMAGE), "sizeBytes": KEPT}),
    },
}
BUDGET: Fields = {
    "metadata": METADATA,
    "spec": {"selector": SELECTOR, **dict.fromkeys(("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"), KEPT)},
    "status": {
        **dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy"), KEPT),
        "disruptedPods": Entries(key=NAME),
    },
}
CLAIM: Fields = {
    "metadata": {
        "name": NAME,
        "namespace": NAME,
        "uid": NAME,
        "deletionTimestamp": KEPT,
        "annotations": _CLAIM_ANNOTATIONS,
        "ownerReferences": Each({"apiVersion": UNREAD, "kind": KEPT, "name": NAME, "uid": NAME, "controller": KEPT}),
    },
    "spec": _CLAIM_SPEC,
    "status": {"phase": KEPT},
}
_VOLUME_ANNOTATIONS: Fields = {**_CLAIM_ANNOTATIONS, "storage.alpha.kubernetes.io/migrated-plugins": KEPT}
_NAME_AND_ZONES: Fields = {
    "name": NAME,
    "namespace": NAME,
    "labels": Entries(value=ScalarShape.ZONES),
    "deletionTimestamp": KEPT,
    "annotations": _VOLUME_ANNOTATIONS,
}
VOLUME: Fields = {
    "metadata": _NAME_AND_ZONES,
    "spec": {
        # Of the other sources only the presence is read.
        **{each: {} for each in PersistentVolumeSpec.__struct_encode_fields__},
        "nodeAffinity": {"required": {"nodeSelectorTerms": Each(NODE_TERM)}},
        "claimRef": {"namespace": NAME, "name": NAME, "uid": NAME},
        "csi": {"driver": KEPT, "volumeHandle": NAME},
        "azureDisk": {"kind": KEPT},
        "capacity": AMOUNTS,
        "accessModes": Each(KEPT),
        "volumeMode": KEPT,
        **dict.fromkeys(("storageClassName", "volumeAttributesClassName"), NAME),
    },
    "status": {"phase": KEPT},
}
CSI_NODE: Fields = {"metadata": _NAME_AND_ZONES, "spec": {"drivers": Each({"name": KEPT, "allocatable": {"count": KEPT}})}}
# The name is that of the driver, as in the volumes.
CSI_DRIVER: Fields = {
    "metadata": {**_NAME_AND_ZONES, "name": KEPT},
    "spec": {"preventPodSchedulingIfMissing": KEPT, "storageCapacity": KEPT},
}
_DEFAULT_CLASS: Fields = dict.fromkeys(
    ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"), KEPT
)
STORAGE_CLASS: Fields = {
    "metadata": {**_NAME_AND_ZONES, "creationTimestamp": KEPT, "annotations": {**_VOLUME_ANNOTATIONS, **_DEFAULT_CLASS}},
    "volumeBindingMode": KEPT,
    "provisioner": KEPT,
    "allowedTopologies": Each({"matchLabelExpressions": Each({"key": KEPT, "values": NAMES})}),
}
STORAGE_CAPACITY: Fields = {
    "metadata": _NAME_AND_ZONES,
    "storageClassName": NAME,
    "nodeTopology": SELECTOR,
    "capacity": KEPT,
    "maximumVolumeSize": KEPT,
}
ATTACHMENT: Fields = {
    "metadata": _NAME_AND_ZONES,
    "spec": {"attacher": KEPT, "nodeName": NAME, "source": {"persistentVolumeName": NAME}},
}
SERVICE: Fields = {"metadata": NAMED, "spec": {"selector": LABELS}}
CONTROLLER: Fields = {"metadata": NAMED, "spec": {"selector": SELECTOR}}
_POLICY: Fields = {"basic": {"desiredCount": KEPT}, "gang": {"minCount": KEPT, "minGroupCount": KEPT}}
_LEVEL: Fields = {
    "schedulingPolicy": _POLICY,
    "schedulingConstraints": {"topology": Each({"key": KEPT})},
    "disruptionMode": OrScalar({"single": {}, "all": {}}),
    "priorityClassName": NAME,
    "priority": KEPT,
    "preemptionPolicy": KEPT,
    "resourceClaims": device_fields.ENTRIES,
}
GROUP: Fields = {
    "metadata": METADATA,
    "spec": {
        **_LEVEL,
        "parentCompositePodGroupName": NAME,
        "workloadRef": {"workloadName": NAME, "templateName": NAME},
        # v1alpha2
        "podGroupTemplateRef": {"workload": {"workloadName": NAME, "podGroupTemplateName": NAME}},
    },
    "status": {
        "conditions": Each(_CONDITION, only=frozenset(INITIALLY_SCHEDULED.values())),
        "resourceClaimStatuses": device_fields.CREATED,
    },
}
SCHEDULING: Fields = _LEVEL
"""Scheduling in a Job template or a JobSet."""
_TEMPLATE: dict[str, Shape] = {**_LEVEL, "name": NAME}
_TEMPLATE["podGroupTemplates"] = _TEMPLATE["compositePodGroupTemplates"] = Each(_TEMPLATE)
WORKLOAD: Fields = {
    "metadata": METADATA,
    "spec": {
        "controllerRef": {"apiGroup": KEPT, "kind": KEPT, "name": NAME},
        "podGroupTemplates": Each(_TEMPLATE),
        "compositePodGroupTemplates": Each(_TEMPLATE),
        # v1alpha1
        "podGroups": Each({**_TEMPLATE, "policy": _POLICY}),
    },
}

_ARGS = {key: all_kept(schema) for each in ARGS.values() for key, schema in each.items()}
_ARGS |= {"addedAffinity": AFFINITY["nodeAffinity"], "defaultConstraints": SPREAD}
_PROFILE: Fields = {**{key: all_kept(each) for key, each in PROFILE.items()}, "pluginConfig": Each({"name": KEPT, "args": _ARGS})}
CONFIGURATION: Fields = {"percentageOfNodesToScore": KEPT, "profiles": Each(_PROFILE), "extenders": Each({})}
PRIORITY_CLASS: Fields = {"metadata": METADATA, "value": KEPT, "globalDefault": KEPT, "preemptionPolicy": KEPT}
_LIMITS = dict.fromkeys(("default", "defaultRequest", "min", "max", "maxLimitRequestRatio"), AMOUNTS)
LIMIT_RANGE: Fields = {"metadata": NAMED, "spec": {"limits": Each({"type": KEPT, **_LIMITS})}}
# Names of priority classes are selected by scopes.
_SCOPES: Fields = {"matchExpressions": Each({"scopeName": KEPT, "operator": KEPT, "values": NAMES})}
QUOTA: Fields = {
    "metadata": NAMED,
    "spec": {"hard": AMOUNTS, "scopes": Each(KEPT), "scopeSelector": _SCOPES},
    "status": {"hard": AMOUNTS, "used": AMOUNTS},
}
RUNTIME_CLASS: Fields = {
    "metadata": NAMED,
    "overhead": {"podFixed": AMOUNTS},
    "scheduling": {"nodeSelector": LABELS, "tolerations": TOLERATIONS},
}
