"""References to fields of a pod, and to amounts of its containers, in environment variables and volumes (the downward API)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import resources
from validators.built_in.shared_checks import Content, formatted, text
from validators.field import FieldError

_is_entry = re.compile(r"([^\[]+?)\['(.*)'\]", re.DOTALL).fullmatch
"""SplitMaybeSubscriptedPath of pkg/fieldpath."""
_AMOUNTS = tuple(f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_FIELDS = (
    *(f"metadata.{name}" for name in ("annotations", "labels", "name", "namespace", "uid")),
    *(f"spec.{name}" for name in ("host", "nodeName", "restartPolicy", "schedulerName", "serviceAccountName")),
    *(f"status.{name}" for name in ("hostIP", "hostIPs", "phase", "podIP", "podIPs")),
)
"""Fields that Kubernetes 1.37.1 knows: pkg/apis/core/pods, ConvertDownwardAPIFieldLabel."""
_UNITS = ("1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
_OF_CPU = ("1m", "1")


def field_reference(given: Content, at: FieldPath, supported: Collection[str]) -> Iterator[FieldError]:
    """Yield the errors of a reference to a field of the pod, which is one of *supported*, or a label or an annotation."""
    path = text(given, "fieldPath")
    if (version := text(given, "apiVersion")) not in {"", "v1"}:
        yield field.invalid(at / "fieldPath", path, f"error converting fieldPath: unsupported pod version: {version}")
    elif found := _is_entry(path):
        key = found[2].lower() if found[1] == "metadata.annotations" else found[2]
        if found[1] in {"metadata.annotations", "metadata.labels"}:
            yield from formatted(found[2], at, content.label_key(key))
        else:
            yield field.invalid(at / "fieldPath", path, f"error converting fieldPath: field label does not support subscript: {path}")
    elif not path:
        yield field.required(at / "fieldPath")
    elif path not in _FIELDS:
        yield field.invalid(at / "fieldPath", path, f"error converting fieldPath: field label not supported: {path}")
    elif path not in supported:
        yield field.not_supported(at / "fieldPath", path, supported)


def resource_reference(given: Content, at: FieldPath, *, of_volume: bool = False) -> Iterator[FieldError]:
    """Yield the errors of a reference to an amount of a container, which is named in a volume."""
    resource, divisor = text(given, "resource"), given.get("divisor")
    kind, _, name = resource.partition(".")
    if of_volume and not text(given, "containerName"):
        yield field.required(at / "containerName")
    elif not resource:
        yield field.required(at / "resource")
    elif resource not in _AMOUNTS and not (kind in {"limits", "requests"} and name.startswith(resources.HUGE)):
        yield field.not_supported(at / "resource", resource, _AMOUNTS)
    if resource not in _AMOUNTS and not name.startswith(resources.HUGE):
        return
    units = _OF_CPU if name == "cpu" else _UNITS
    if divisor not in (None, "", 0, "0") and str(divisor) not in units:
        yield field.invalid(at / "divisor", divisor, f"only divisor's values {', '.join(units)} are supported with the {name} resource")
