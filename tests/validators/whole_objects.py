"""Valid objects of the built-in kinds that create pods, with most fields, for tests that change one field."""

from __future__ import annotations

import copy
from typing import Any

from validators.built_in import whole_objects

Json = dict[str, Any]

_COMMAND = {"exec": {"command": ["true"]}}
_NODE_TERM = {
    "matchExpressions": [
        {"key": "a", "operator": "In", "values": ["b"]},
        {"key": "c", "operator": "Exists"},
        {"key": "c", "operator": "Gt", "values": ["3"]},
    ],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}
_CONTAINER: Json = {
    "name": "main",
    "image": "registry.example/main:1",
    "imagePullPolicy": "Always",
    "command": ["a"],
    "args": ["b"],
    "workingDir": "/x",
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080, "protocol": "TCP"}, {"containerPort": 81}],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k", "optional": True}}},
        {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']", "apiVersion": "v1"}}},
        {"name": "G", "valueFrom": {"fileKeyRef": {"volumeName": "shm", "path": "p", "key": "K"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "P"}],
    "resources": {
        "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"},
        "limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "2", "ephemeral-storage": "1Gi"},
    },
    "volumeMounts": [
        {"name": "data", "mountPath": "/data", "readOnly": True, "subPath": "x", "recursiveReadOnly": "IfPossible"},
        {"name": "shm", "mountPath": "/dev/shm", "mountPropagation": "HostToContainer"},
    ],
    "volumeDevices": [{"name": "e", "devicePath": "/dev/e"}],
    "livenessProbe": {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP", "httpHeaders": [{"name": "X-A", "value": "b"}]},
        "periodSeconds": 3,
        "failureThreshold": 2,
    },
    "readinessProbe": {**_COMMAND, "successThreshold": 2},
    "startupProbe": {"tcpSocket": {"port": "http"}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 3}}, "postStart": _COMMAND},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "restartPolicy": "Never",
    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}],
    "securityContext": {
        "runAsUser": 1,
        "capabilities": {"add": ["IPC_LOCK"]},
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "procMount": "Default",
        "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b"},
        "appArmorProfile": {"type": "Localhost", "localhostProfile": "x"},
    },
}
POD_SPEC: Json = {
    "containers": [_CONTAINER, {"name": "side", "image": "j"}],
    "initContainers": [
        {"name": "init", "image": "i"},
        {"name": "sidecar", "image": "i", "restartPolicy": "Always", "readinessProbe": _COMMAND},
    ],
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "cm", "configMap": {"name": "c", "items": [{"key": "a", "path": "b"}]}},
        {"name": "s", "secret": {"secretName": "s"}},
        {"name": "h", "hostPath": {"path": "/x", "type": "Directory"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}},
        {
            "name": "p",
            "projected": {
                "sources": [
                    {"configMap": {"name": "c", "items": [{"key": "a", "path": "b", "mode": 256}]}},
                    {"serviceAccountToken": {"path": "t"}},
                    {"downwardAPI": {"items": [{"path": "d", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                ]
            },
        },
        {"name": "i", "csi": {"driver": "csi.example.com"}},
        {"name": "w", "downwardAPI": {"items": [{"path": "r", "resourceFieldRef": {"resource": "limits.cpu", "containerName": "main"}}]}},
        {"name": "n", "nfs": {"server": "s", "path": "/p"}},
    ],
    "nodeSelector": {"a": "b"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}}
            ],
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone", "namespaces": ["x"]}
            ]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
                        "topologyKey": "zone",
                    },
                }
            ]
        },
    },
    "tolerations": [
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
        {"operator": "Exists"},
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3},
    ],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
            "minDomains": 2,
        },
        {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "Honor"},
    ],
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "hostNetwork": False,
    "serviceAccountName": "default",
    "schedulerName": "x",
    "imagePullSecrets": [{"name": "s"}],
    "hostname": "h",
    "subdomain": "s",
    "securityContext": {
        "fsGroup": 1,
        "runAsNonRoot": True,
        "supplementalGroups": [1],
        "supplementalGroupsPolicy": "Merge",
        "fsGroupChangePolicy": "OnRootMismatch",
        "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "dnsConfig": {"options": [{"name": "x", "value": "1"}], "nameservers": ["192.0.2.1"], "searches": ["a.b"]},
    "os": {"name": "linux"},
    "hostAliases": [{"ip": "192.0.2.2", "hostnames": ["a"]}],
    "readinessGates": [{"conditionType": "a/b"}],
    "resourceClaims": [{"name": "rc", "resourceClaimTemplateName": "t"}],
    "enableServiceLinks": True,
    "shareProcessNamespace": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_SELECTOR = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}


def template(policy: str) -> Json:
    """Return a pod template."""
    metadata = {"labels": {"app": "x", "a": "b"}, "annotations": {"k": "v"}}
    return {"metadata": metadata, "spec": {**copy.deepcopy(POD_SPEC), "restartPolicy": policy}}


def _whole(kind: str, version: str, **spec: Any) -> Json:
    metadata = {"name": "x", "namespace": "default", "labels": {"l": "v"}, "annotations": {"k": "v"}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


OBJECTS: tuple[Json, ...] = (
    _whole("Pod", "v1", **copy.deepcopy(POD_SPEC), schedulingGates=[{"name": "a/b"}]),
    _whole(
        "Job",
        "batch/v1",
        parallelism=2,
        completions=3,
        completionMode="Indexed",
        backoffLimit=3,
        backoffLimitPerIndex=1,
        maxFailedIndexes=2,
        activeDeadlineSeconds=5,
        ttlSecondsAfterFinished=5,
        suspend=False,
        podReplacementPolicy="Failed",
        managedBy="kubernetes.io/job-controller",
        podFailurePolicy={
            "rules": [
                {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [1, 3]}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [0]}},
            ]
        },
        successPolicy={"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]},
        template=template("Never"),
    ),
    _whole(
        "CronJob",
        "batch/v1",
        schedule="*/5 1-3 * jan mon",
        timeZone="Europe/Berlin",
        concurrencyPolicy="Forbid",
        startingDeadlineSeconds=3,
        successfulJobsHistoryLimit=1,
        suspend=False,
        jobTemplate={"metadata": {"labels": {"q": "r"}}, "spec": {"parallelism": 2, "template": template("OnFailure")}},
    ),
    _whole(
        "Deployment",
        "apps/v1",
        replicas=2,
        selector=_SELECTOR,
        strategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "25%"}},
        minReadySeconds=1,
        revisionHistoryLimit=2,
        progressDeadlineSeconds=600,
        paused=False,
        template=template("Always"),
    ),
    _whole(
        "StatefulSet",
        "apps/v1",
        replicas=2,
        selector=_SELECTOR,
        serviceName="x",
        podManagementPolicy="Parallel",
        updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
        ordinals={"start": 1},
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"},
        volumeClaimTemplates=[{"metadata": {"name": "vct"}, "spec": _CLAIM}],
        template=template(""),
    ),
    _whole(
        "DaemonSet",
        "apps/v1",
        selector=_SELECTOR,
        updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        template=template("Always"),
    ),
    _whole("ReplicaSet", "apps/v1", replicas=2, selector=_SELECTOR, template=template("Always")),
    _whole("ReplicationController", "v1", replicas=2, selector={"app": "x"}, template=template("Always")),
)


def pod_errors(container=None, **spec):
    """Return (path, reason) of each error of a pod with one container."""
    container = {"name": "c", "image": "i", **(container or {})}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [container], **spec}}
    return {(str(each.path), str(each.type).removeprefix("FieldValue")) for each in whole_objects.errors(pod)}
