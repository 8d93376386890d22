"""Differences between Muster and the API server that the source of Kubernetes explains: of paths, and by signature.

All sources are files of Kubernetes 1.37.1, with the function.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

_CORE = "pkg/apis/core/validation/validation.go"


class Moved(NamedTuple):
    """A path that the API server gives although no object has it; Muster gives the one of the field, so that its line is found."""

    written: re.Pattern[str]
    server: str
    source: str


class Explained(NamedTuple):
    """A signature, why the sides differ, and the file and function.  A star stands for anything."""

    kind: str
    request: str
    path: str
    muster: str
    server: str
    why: str
    source: str
    is_rare: bool = False


def _moved(written: str, server: str, function: str) -> Moved:
    return Moved(re.compile(written), server, f"{_CORE}, {function}")


PATHS = (
    _moved(r"template\.metadata\.(labels|annotations)$", r"template.\1", "ValidatePodTemplateSpec"),
    _moved(r"(resources\.claims\[\d+\])\.name$", r"\1", "validateResourceClaimNames"),
    _moved(r"(httpHeaders)\[\d+\]\.name$", r"\1", "validateHTTPGetAction"),
    _moved(r"(resizePolicy)\[\d+\]\.(resourceName|restartPolicy)$", r"\1", "validateResizePolicy"),
    _moved(r"(volumes\[\d+\])\.downwardAPI$", r"\1.downwarAPI", "validateVolumeSource"),
    _moved(r"(\.downwardAPI)\.items\[\d+\]", r"\1", "validateDownwardAPIVolumeSource"),
    _moved(r"(\.projected)\.sources\[\d+\]\.serviceAccountToken(\.path)$", r"\1\2", "validateProjectionSources"),
    _moved(r"(dnsConfig\.options\[\d+\])\.name$", r"\1", "validatePodDNSConfig"),
    _moved(r"(schedulingGates\[\d+\])\.name$", r"\1", "validateSchedulingGates"),
    _moved(r"(volumes\[\d+\])\.cephfs$", r"\1.cephFS", "validateVolumeSource"),
    _moved(r"(csi)\.nodePublishSecretRef(\.name)$", r"\1\2", "validateCSIVolumeSource"),
    _moved(r"(\.spec\.resources)\.requests\.storage$", r"\1[storage]", "ValidatePersistentVolumeClaimSpec"),
    _moved(r"(envFrom)\[\d+\]$", r"\1", "ValidateEnvFrom"),
    _moved(r"(volumeMounts)\[\d+\]\.(recursiveReadOnly|mountPropagation|subPath|subPathExpr)$", r"\1.\2", "ValidateVolumeMounts"),
    _moved(r"(Execution\S*)\.namespaces(\[\d+\])?$", r"\1.namespace", "validatePodAffinityTerm"),
    _moved(r"(volumeClaimTemplate\.metadata)\.uid$", r"\1.uID", "ValidatePersistentVolumeClaimTemplate"),
    _moved(r"spec\.host(PID|IPC)$", r"spec.Host\1", "validateHostUsers"),
    _moved(r"(iscsi)\.initiatorName$", r"\1.initiatorname", "validateISCSIVolumeSource"),
    _moved(r"(gcePersistentDisk)(\.\w+)$", r"persistentDisk\2", "validateVolumeSource"),
    _moved(r"(accessModes)\[\d+\]$", r"\1", "ValidatePersistentVolumeClaimSpec"),
)
TABLE = (
    Explained(
        "*", "*", "the API server does not answer in its own time", "*", "unreadable", "a timeout is no verdict",
        "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/finisher/finisher.go, finishRequest", is_rare=True,
    ),
    Explained(
        "*", "*", "the API server closes the connection: its*", "*", "unreadable", "a panic is no verdict",
        "pkg/apis/batch/v1/defaults.go, SetDefaults_Job", is_rare=True,
    ),
    Explained(
        "*", "*", "parsing time", "*", "unreadable", "a time that cannot be read is refused before any webhook is asked",
        "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/time.go, UnmarshalJSON",
    ),
    Explained(
        "*", "*", "Invalid value: null", "unreadable", "[A-Z]*", "the server reads null in a list as an empty object; both refuse it",
        "Go, encoding/json, Unmarshal",
    ),
    Explained(
        "Pod", "create", "spec.volumes.projected.sources.serviceAccountToken", "*", "Forbidden",
        "the plugin ServiceAccount, which sets the account, is off here", f"{_CORE}, validateProjectionSources", is_rare=True,
    ),
    Explained(
        "Pod", "create", "spec.containers.resources.requests", "", "Invalid", "a request that is absent is the limit, whose error is told twice",
        "pkg/apis/core/v1/defaults.go, SetDefaults_Pod",
    ),
    Explained(
        "Job", "create", "metadata.labels", "", "Invalid", "a Job without labels has those of its template, whose error is told twice",
        "pkg/apis/batch/v1/defaults.go, SetDefaults_Job",
    ),
    Explained(
        "Job", "create", "spec.template.labels", "", "Invalid", "an invalid name is told again for the label job-name",
        "pkg/registry/batch/job/strategy.go, generateSelectorIfNeeded",
    ),
    Explained(
        "Pod", "create", "spec.containers.lifecycle.stopSignal", "NotSupported", "*",
        "the field is dropped, as its feature gate is off, and no gate gives it other values", "pkg/features/kube_features.go, ContainerStopSignals",
    ),
    Explained(
        "Pod", "create", "spec.resources.claims*", "", "*", "there are no claims for all containers: what they have is not judged",
        f"{_CORE}, validatePodResources",
    ),
    *(
        Explained(
            "Pod", "create", path, *sides, "of paths that occur twice the server names the volume, Muster the second path",
            f"{_CORE}, validateProjectionSources",
        )
        for path, sides in (("spec.volumes.projected", ("", "Invalid")), ("spec.volumes.projected.*path", ("Duplicate", "")))
    ),
    Explained(
        "Job", "create", "metadata.name", "Required", "Invalid Required", "the host name of an Indexed Job without a name is told too",
        "pkg/apis/batch/validation/validation.go, ValidateJob",
    ),
    Explained(
        "Pod", "create", "spec.*topologyKey", "Required", "Invalid Required", "an empty key is told twice", f"{_CORE}, validatePodAffinityTerm",
    ),
    Explained(
        "Pod", "create", "spec.*ontainers.volume*.name", "*", "NotFound*", "a volume with an error counts as absent",
        f"{_CORE}, ValidateVolumes",
    ),
    Explained(
        "Pod", "create", "spec.ephemeralContainers*", "", "*", "a pod is not created with such containers: what they have is not judged",
        f"{_CORE}, ValidatePodCreate",
    ),
    *(
        Explained(
            "Pod", "create", f"spec.tolerations.{name}", *sides,
            "Gt and Lt need the feature gate TaintTolerationComparisonOperators, off by default: Muster, which does not know it, judges the value",
            f"{_CORE}, ValidateTolerations", is_rare=True,
        )
        for name, sides in (("value", ("Invalid", "")), ("operator", ("", "NotSupported")), ("operator", ("Invalid", "Invalid NotSupported")))
    ),
    *(
        Explained(
            "Pod", "create", f"spec.*ontainers.{path}", "Required", "Invalid",
            "an empty name or port is judged as a name or a number; Muster says that it is missing", f"{_CORE}, {function}",
        )
        for path, function in (
            ("*KeyRef.name", "validateSecretKeySelector"), ("*Probe.*.port", "ValidatePortNumOrName"), ("lifecycle.*.port", "ValidatePortNumOrName"),
        )
    ),
    Explained(
        "*", "create", "*ownerReferences.*", "Required", "accepts",
        "the schema that the server publishes requires it: a file without it is a mistake, though the server takes the field for empty",
        f"{_CORE}, ValidatePodTemplateSpec", is_rare=True,
    ),
    *(
        Explained(
            "Pod", "create", path, *sides, f"{what} is dropped, as its feature gate is off", "pkg/api/pod/util.go, dropDisabledFields", is_rare=True,
        )
        for path, sides, what in (
            ("spec.schedulingGroup", ("Forbidden", ""), "evictionResponders, which forbids it,"),
            ("spec.evictionResponders.*", ("Required", "accepts"), "the field"),
            ("spec.volumes.*ser", ("Invalid", "*"), "the user of a file (1.37)"),
            ("spec.*ontainers.*.httpGet.protocol", ("NotSupported", "*"), "the field (1.37)"),
            ("spec.initContainers.lifecycle", ("Forbidden", ""), "stopSignal, and with it a lifecycle that has only it,"),
        )
    ),
    Explained(
        "Pod", "create", "spec.*ontainers.resources.limits", "", "Invalid",
        "1.37 takes an amount of an extended resource beyond 64 bits for a fraction", f"{_CORE}, ValidateResourceQuantityValue", is_rare=True,
    ),
    Explained(
        "*", "*", "unknown field*", "*", "unreadable", "an unknown field whose value is null is absent for Muster",
        "staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go, Decode", is_rare=True,
    ),
)  # fmt: skip


def server_path(written: str) -> str:
    """Return the path that the API server gives for the field at *written*."""
    for each in PATHS:
        if each.written.search(written):
            return each.written.sub(each.server, written)
    return written


def explains(signature: Sequence[str]) -> bool:
    """Return whether the table has the signature."""
    return any(_is_of(each, signature) for each in TABLE)


def unneeded(signatures: Collection[Sequence[str]]) -> list[Explained]:
    """Return the entries that explain none of *signatures*, except those that are rare."""
    return [entry for entry in TABLE if not entry.is_rare and not any(_is_of(entry, each) for each in signatures)]


def _is_of(entry: Explained, signature: Sequence[str]) -> bool:
    return all(fnmatchcase(told, pattern) for told, pattern in zip(signature, entry[:5], strict=True))
