"""Misspelt fields of new objects, which strict decoding refuses (kubectl's default): they would be ignored otherwise.

A field is misspelt if Kubernetes 1.37.1 (k8s.io/api) does not have it and has one with a similar name; other unknown fields can be those
of a later version.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from muster.commands.simulate.admission.limit_ranges import Content, items, section

_POD = frozenset(
    [
        "volumes",
        "initContainers",
        "containers",
        "ephemeralContainers",
        "restartPolicy",
        "terminationGracePeriodSeconds",
        "activeDeadlineSeconds",
        "dnsPolicy",
        "nodeSelector",
        "serviceAccountName",
        "serviceAccount",
        "automountServiceAccountToken",
        "nodeName",
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "shareProcessNamespace",
        "securityContext",
        "imagePullSecrets",
        "hostname",
        "subdomain",
        "affinity",
        "schedulerName",
        "tolerations",
        "hostAliases",
        "priorityClassName",
        "priority",
        "dnsConfig",
        "readinessGates",
        "runtimeClassName",
        "enableServiceLinks",
        "preemptionPolicy",
        "overhead",
        "topologySpreadConstraints",
        "setHostnameAsFQDN",
        "os",
        "hostUsers",
        "schedulingGates",
        "resourceClaims",
        "resources",
        "hostnameOverride",
        "workloadRef",
        "schedulingGroup",
        "evictionResponders",
    ]
)
_CONTAINER = frozenset(
    [
        "name",
        "image",
        "command",
        "args",
        "workingDir",
        "ports",
        "envFrom",
        "env",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "volumeMounts",
        "volumeDevices",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "securityContext",
        "stdin",
        "stdinOnce",
        "tty",
    ]
)
_RESOURCES = frozenset({"limits", "requests", "claims"})
_CONTROLLERS: Mapping[str, frozenset[str]] = {
    "Job": frozenset(
        [
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "podFailurePolicy",
            "successPolicy",
            "backoffLimit",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
            "failedPodsLimit",
            "selector",
            "manualSelector",
            "template",
            "ttlSecondsAfterFinished",
            "completionMode",
            "suspend",
            "podReplacementPolicy",
            "managedBy",
            "scheduling",
        ]
    ),
    "CronJob": frozenset(
        [
            "schedule",
            "timeZone",
            "startingDeadlineSeconds",
            "concurrencyPolicy",
            "suspend",
            "jobTemplate",
            "successfulJobsHistoryLimit",
            "failedJobsHistoryLimit",
        ]
    ),
    "Deployment": frozenset(
        ["replicas", "selector", "template", "strategy", "minReadySeconds", "revisionHistoryLimit", "paused", "progressDeadlineSeconds"]
    ),
    "StatefulSet": frozenset(
        [
            "replicas",
            "selector",
            "template",
            "volumeClaimTemplates",
            "serviceName",
            "podManagementPolicy",
            "updateStrategy",
            "revisionHistoryLimit",
            "minReadySeconds",
            "persistentVolumeClaimRetentionPolicy",
            "ordinals",
        ]
    ),
    "ReplicaSet": frozenset(["replicas", "minReadySeconds", "selector", "template"]),
    "DaemonSet": frozenset(["selector", "template", "updateStrategy", "minReadySeconds", "revisionHistoryLimit"]),
    "ReplicationController": frozenset(["replicas", "minReadySeconds", "selector", "templateRef", "template"]),
}
"""Fields of ``spec`` by kind of the controller."""
_REPLICATED_JOB = frozenset({"name", "groupName", "template", "replicas", "dependsOn"})
"""Fields of ``spec.replicatedJobs[]`` of a JobSet."""
_RAY_WORKERS = frozenset(
    {"groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "rayStartParams", "template", "idleTimeoutSeconds", "suspend"}
)
"""Fields of ``spec.workerGroupSpecs[]`` of a RayCluster."""
_SIMILAR = 0.75


def errors_of_pod(pod: Content) -> Iterator[str]:
    """Yield the misspelt fields of a pod, in the words of the API server, each with a similar field that exists."""
    spec = section(pod, "spec")
    yield from _misspelt(spec, _POD, "spec")
    yield from _misspelt(section(spec, "resources"), _RESOURCES, "spec.resources")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(items(spec, kind)):
            at = f"spec.{kind}[{index}]"
            yield from _misspelt(container, _CONTAINER, at)
            yield from _misspelt(section(container, "resources"), _RESOURCES, f"{at}.resources")


def errors_of_controller(manifest: Content) -> Iterator[str]:
    """Yield the misspelt fields of a controller's own ``spec``; those of its pod template are fields of its pods."""
    if known := _CONTROLLERS.get(str(manifest.get("kind"))):
        yield from _misspelt(section(manifest, "spec"), known, "spec")
    if manifest.get("kind") == "CronJob":
        job = section(section(section(manifest, "spec"), "jobTemplate"), "spec")
        yield from _misspelt(job, _CONTROLLERS["Job"], "spec.jobTemplate.spec")
    for index, each in enumerate(items(section(manifest, "spec"), "replicatedJobs")):
        at = f"spec.replicatedJobs[{index}]"
        yield from _misspelt(each, _REPLICATED_JOB, at)
        yield from _misspelt(section(section(each, "template"), "spec"), _CONTROLLERS["Job"], f"{at}.template.spec")
    for index, each in enumerate(items(section(manifest, "spec"), "workerGroupSpecs")):
        yield from _misspelt(each, _RAY_WORKERS, f"spec.workerGroupSpecs[{index}]")


def _misspelt(given: Mapping[str, Any], known: frozenset[str], at: str) -> Iterator[str]:
    for name in sorted(each for each in given if isinstance(each, str) and each not in known):
        if near := difflib.get_close_matches(name, sorted(known), n=1, cutoff=_SIMILAR):
            yield f'strict decoding error: unknown field "{at}.{name}"; did you mean "{near[0]}"?'
