"""Validation of new objects as the API server does: version, fields, and values; in its words."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from expansion.contents import Content, items
from kubeapi import decode
from kubeapi.decode import section
from kubeapi.field_path import FieldPath, Key
from kubeapi.pods import POD_GROUP_LABEL, group_in
from kubeapi.versions.kubernetes_releases import TODAY
from validators import object_lookup, pipeline
from validators.built_in import names, security, shapes, volume_claims, whole_objects
from validators.field import ErrorType, FieldError
from validators.gates import ALL_ON, WITH_JOB, Gates
from validators.rules import job_template_name, pod_group_label
from validators.rules.base import Operation, Profile, Settings, Severity
from workloadbuilder.adapters.shared.known_objects import group_of

UNKNOWN = "schema-unknown-field"
_UNSERVED = "unserved"
_SETTINGS = Settings(profile=Profile.UPSTREAM)
_WITH_RULES = frozenset({"CronJob", "Job", "Pod"})
_CACHED = 256
_BUILT_IN = frozenset({"", "apps", "batch"})


def errors_of_controller(manifest: Content, kubernetes: int = TODAY, gates: Gates = ALL_ON) -> list[FieldError]:
    """Return the errors of a controller's object in Kubernetes 1.*kubernetes*; the versions of a kind that nobody serves are one.

    Those of the Workload of a Job, which is created before its pods, are errors of the Job.
    """
    if (unserved := version_error(manifest)) is not None:
        return [unserved]
    found = whole_objects.errors(manifest)
    if found or manifest.get("kind") not in _WITH_RULES:
        return found
    found = errors_of_object(manifest, kubernetes=kubernetes)
    if found or not gates.enabled(WITH_JOB):
        return found
    return [*job_template_name.errors(pipeline.decode_for_lookup(manifest), kubernetes)]


def version_error(manifest: Mapping[str, Any]) -> FieldError | None:
    """Return the error of a controller's object in a version that is not served; None if it is served."""
    api_version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    versions = shapes.versions_of(group_of(api_version), kind)
    return _unserved(api_version, kind, versions) if versions and api_version.rpartition("/")[2] not in versions else None


def errors_of_object(manifest: Content, classes: Iterable[Content] = (), kubernetes: int = TODAY) -> list[FieldError]:
    """Return the errors by the rules of the API server of an object that has rules, or of the scheduling in another one.

    *classes* are the other priority classes.
    """
    metadata = section(manifest, "metadata")
    manifest = {**manifest, "metadata": {"namespace": "default", **metadata}}
    settings = dataclasses.replace(_SETTINGS, minor=kubernetes)
    examined = pipeline.examine(manifest, settings)
    violations = examined.violations
    # Besides fields that are missing, the API server reports the errors of those that are there.
    if examined.object is not None and all(each.error.type is ErrorType.REQUIRED for each in violations):
        kind, version = str(manifest.get("kind")), str(manifest.get("apiVersion"))
        known = object_lookup.NOTHING
        if kind == "PriorityClass":
            known = object_lookup.KnownObjects(filter(None, map(pipeline.decode_for_lookup, classes)), complete=True)
        further = pipeline.validate(kind, manifest, None, Operation.CREATE, api_version=version, settings=settings, lookup=known)
        reported = {each.error.path for each in violations}
        violations = (*violations, *(each for each in further if each.error.path not in reported))
    return [each.error for each in violations if each.severity is Severity.ERROR]


def errors_of_claim(claim: Content) -> list[FieldError]:
    """Return the errors of a PersistentVolumeClaim."""
    spec = claim.get("spec")
    found = [*names.metadata(section(claim, "metadata"), FieldPath("metadata"))]
    return [*found, *volume_claims.claim_spec(spec if isinstance(spec, dict) else {}, FieldPath("spec"))]


def unknown_fields(manifest: Content) -> list[FieldError]:
    """Return the fields of a custom kind that have no similar known field: they can be those of a later version."""
    if group_of(str(manifest.get("apiVersion"))) in _BUILT_IN:
        return []
    return [each for each in whole_objects.errors(manifest) if each.origin == UNKNOWN and not each.suggestion]


def misspelt_fields(manifest: Content) -> list[FieldError]:
    """Return the unknown fields that are similar to known ones."""
    return [each for each in whole_objects.errors(manifest) if each.origin == UNKNOWN and each.suggestion]


def errors_of_pod(pod: Content, *, created: bool = False) -> Iterator[FieldError]:
    """Yield the errors of a new pod; if a controller has *created* it, its template can be from a snapshot."""
    if (version := str(pod.get("apiVersion"))) != "v1":
        yield _unserved(version, "Pod", ("v1",))
    metadata = section(pod, "metadata")
    # Pods of a given object that has no uid have incomplete references to it.
    alone = {key: value for key, value in metadata.items() if key != "ownerReferences"}
    yield from shapes.errors("v1", "Pod", {**pod, "metadata": alone, "spec": {"containers": []}})
    yield from names.metadata(metadata, FieldPath("metadata"))
    yield from security.pod_annotations(section(metadata, "annotations"), section(pod, "spec"), FieldPath("metadata", "annotations"))
    spec = pod.get("spec")
    if created and isinstance(spec, dict) and not all(each.get("name") for each in items(spec, "volumes")):
        spec = _without_volumes(spec)
    yield from errors_of_spec(decode.ENCODER.encode(spec))


def errors_of_label(pod: Content) -> Iterator[FieldError]:
    """Yield the error of the label of a new pod that names another PodGroup than its ``schedulingGroup``: Muster's webhook refuses it."""
    label = section(pod, "metadata", "labels").get(POD_GROUP_LABEL)
    if isinstance(label, str):
        yield from pod_group_label.differing(FieldPath("metadata", "labels", Key(POD_GROUP_LABEL)), label, group_in(pod))


def described(error: FieldError) -> str:
    """Return an error in the words of the API server, with a similar field if there is one."""
    if error.origin == _UNSERVED:
        return error.detail
    if error.origin != UNKNOWN:
        return f"{error.path}: {error}" if error.path.parts else str(error)
    similar = f'; did you mean "{error.suggestion}"?' if error.suggestion else ""
    return f'strict decoding error: unknown field "{error.path}"{similar}'


def _unserved(api_version: str, kind: str, versions: tuple[str, ...]) -> FieldError:
    served = " or ".join(versions)
    text = f'no matches for kind "{kind}" in version "{api_version}": the version must be {served}'
    return FieldError(ErrorType.NOT_SUPPORTED, FieldPath("apiVersion"), api_version, text, _UNSERVED)


def _without_volumes(spec: Content) -> Content:
    """Return a specification without volumes and what mounts them: a snapshot does not have the names of all volumes."""
    mounts = {"volumeMounts", "volumeDevices"}
    containers = {
        kind: [{key: value for key, value in each.items() if key not in mounts} for each in items(spec, kind)]
        for kind in ("containers", "initContainers")
    }
    return {**spec, **containers, "volumes": []}


@functools.lru_cache(maxsize=_CACHED)
def errors_of_spec(text: bytes) -> tuple[FieldError, ...]:
    """Return the errors of the specification of a pod as JSON: most pods of an object have the same."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": decode.parse(text)}
    return tuple(whole_objects.errors(pod))
