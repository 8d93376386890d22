"""Annotations on a child object that name the template of its group, its Workload, and the group's parent.

A parent's controller writes them for the child's controller.  Source: KEP-6089, "Downward Template and Parent Mapping via
Well-Known Annotations".  The parent's annotation is written with the name of Kubernetes 1.37; the KEP's own name is read too.
Kubernetes 1.38 has the annotation of the Workload, and requires it; before, the Workload is that of the child's controller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from kubeapi import content
from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from kubeapi.versions.kubernetes_releases import FIRST_WITH_WORKLOAD_NAME, TODAY
from validators import field
from validators.field import FieldError
from validators.model.job_parts import TEMPLATE, WORKLOAD
from validators.rules.linkage_annotations import PARENT, PARENT_IN_KEP

_ANNOTATIONS = FieldPath("metadata", "annotations")


@dataclasses.dataclass(frozen=True, slots=True)
class Linkage:
    """Values of an object's annotations; empty if they are absent or invalid."""

    template: str = ""
    """Template of the object's group."""
    workload: str = ""
    """Workload that has the template."""
    parent: str = ""
    """CompositePodGroup that is the parent of that group."""
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()


def write(workload: str, template: str, parent: str = "", *, kubernetes: int = TODAY) -> dict[str, str]:
    """Return the annotations of Kubernetes 1.*kubernetes* for a child whose group is created from *template* of *workload*.

    The group is below the group *parent* if that is not empty.
    """
    annotations = {TEMPLATE: template, PARENT: parent} if parent else {TEMPLATE: template}
    return {WORKLOAD: workload, **annotations} if kubernetes >= FIRST_WITH_WORKLOAD_NAME else annotations


def read(metadata: Json) -> Linkage:
    """Read the annotations in an object's *metadata*; never raises, for any JSON."""
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping):
        return Linkage()
    given = {key: annotations[key] for key in (TEMPLATE, WORKLOAD, PARENT, PARENT_IN_KEP) if annotations.get(key) is not None}
    errors = [error for key, value in given.items() for error in _faults(key, value)]
    warnings: list[FieldError] = []
    if PARENT_IN_KEP in given:
        detail = f"Kubernetes 1.37 calls this annotation {PARENT}"
        warnings.append(field.invalid(_ANNOTATIONS / Key(PARENT_IN_KEP), PARENT_IN_KEP, detail))
        if PARENT in given and given[PARENT] != given[PARENT_IN_KEP]:
            errors.append(field.invalid_struct(_ANNOTATIONS / Key(PARENT_IN_KEP), f"must be the same as {PARENT}, or absent"))
    invalid = {error.path for error in errors}
    valid = {key: value for key, value in given.items() if _ANNOTATIONS / Key(key) not in invalid}
    parent = valid.get(PARENT) or valid.get(PARENT_IN_KEP, "")
    return Linkage(valid.get(TEMPLATE, ""), valid.get(WORKLOAD, ""), parent, tuple(errors), tuple(warnings))


def _faults(key: str, value: Json) -> Iterator[FieldError]:
    path = _ANNOTATIONS / Key(key)
    if not isinstance(value, str):
        yield field.type_invalid(path, "", "must be a string")
        return
    check: Callable[[str], list[str]] = content.label if key == TEMPLATE else content.subdomain
    for text in check(value):
        yield field.invalid(path, value, text)
