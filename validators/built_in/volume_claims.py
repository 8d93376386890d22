"""Specifications of PersistentVolumeClaims, also in templates for the pods of an object."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import names, resources, selectors
from validators.built_in.shared_checks import Content, formatted, needed, one_of, text
from validators.field import FieldError

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_CLAIM = "PersistentVolumeClaim"


def claim_template(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the claim that a pod has created for itself: only labels and annotations may be set of its metadata."""
    yield from claim_spec(section(given, "spec"), at / "spec")
    metadata, path = section(given, "metadata"), at / "metadata"
    yield from names.labels(section(metadata, "labels"), path / "labels")
    yield from names.annotation_keys(section(metadata, "annotations"), path / "annotations")
    for name in sorted(metadata.keys() - {"labels", "annotations", "creationTimestamp"}):
        if metadata[name] or isinstance(metadata[name], list):
            yield field.forbidden(path / name, "cannot be set")


def claim_spec(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the specification of a claim.

    Source: Kubernetes 1.37.1, pkg/apis/core/validation, ValidatePersistentVolumeClaimSpec.
    """
    yield from _access_modes(given, at / "accessModes")
    yield from selectors.label_selector(section(given, "selector"), at / "selector")
    storage, requests = at.join(("resources", "requests", "storage")), section(given, "resources", "requests")
    if "storage" not in requests:
        yield field.required(storage, "a storage request is required")
    elif not resources.is_quantity(requests["storage"]):
        yield field.invalid(storage, str(requests["storage"]), "must be a quantity, such as 2, 500m or 1Gi")
    elif resources.exact(requests["storage"]) <= 0:
        yield field.invalid(storage, str(requests["storage"]), "must be greater than zero")
    for name in ("storageClassName", "volumeAttributesClassName"):
        if value := text(given, name):
            yield from formatted(value, at / name, content.subdomain(value))
    yield from one_of(given, "volumeMode", at, ("Block", "Filesystem"), has_default=False)
    yield from _data_sources(given, at)


def _access_modes(given: Content, at: FieldPath) -> Iterator[FieldError]:
    modes = given.get("accessModes")
    if not modes:
        yield field.required(at, "at least 1 access mode is required")
    if not isinstance(modes, list):
        return
    for index, mode in enumerate(modes):
        if mode not in _ACCESS_MODES:
            yield field.not_supported(at / index, mode or "", _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and {*_ACCESS_MODES[:3]} & {*map(str, modes)}:
        yield field.forbidden(at, "may not use ReadWriteOncePod with other access modes")


def _data_sources(given: Content, at: FieldPath) -> Iterator[FieldError]:
    sources = [name for name in ("dataSource", "dataSourceRef") if given.get(name) is not None]
    for name in sources:
        source, path = section(given, name), at / name
        yield from needed(source, path, "name", "kind")
        if group := text(source, "apiGroup"):
            yield from formatted(group, path / "apiGroup", content.subdomain(group))
        elif text(source, "kind") != _CLAIM:
            yield field.invalid(path, text(source, "kind"), f"must be {_CLAIM!r} when referencing the default apiGroup")
    reference = section(given, "dataSourceRef")
    namespace = text(reference, "namespace")
    if namespace:
        yield from formatted(namespace, at.join(("dataSourceRef", "namespace")), content.label(namespace))
    if len(sources) > 1:
        if namespace:
            yield field.invalid(at, "dataSource", "may not be specified when dataSourceRef.namespace is specified")
        elif any(section(given, "dataSource").get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
            yield field.invalid(at, "dataSource", "must match dataSourceRef")
