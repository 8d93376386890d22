"""Adapter for any kind whose pod templates are declared by their paths: its pods have no group."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.json_path import Place
from validators.field import FieldError
from workloadbuilder.adapters.shared import object_identity, pod_sets, pod_template
from workloadbuilder.adapters.shared.adapter_result import Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate, Known, declared_name
from workloadbuilder.adapters.shared.pod_sets import PodSet


def adapt(manifest: Json, known: Known) -> Reading:
    """Read an object of such a kind; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, _ = object_identity.read_identity(manifest, errors, warnings)
    name = declared_name(about.owner.group, about.owner.kind, known.pod_templates)
    sets: list[PodSet] = []
    for declared in known.pod_templates[name]:
        matches = [*declared.template.matches(manifest)]
        if not matches:
            detail = f"{declared.template.text} is no field of it, so its pods are not known"
            return Reading(about.owner, about.namespace, skipped=detail, errors=tuple(errors))
        sets += [_pod_set(place, value, manifest, declared, errors) for place, value in matches]
    several = len(sets) > 1
    numbered = [
        dataclasses.replace(each, prefix=f"{about.owner.name}-{number}" if several else about.owner.name, owner=about.owner)
        for number, each in enumerate(sets)
    ]
    return pod_sets.one_by_one(about, numbered, errors, warnings)


def _pod_set(place: Place, value: Json, manifest: Json, declared: DeclaredTemplate, errors: list[FieldError]) -> PodSet:
    """Return the pods of the template at *place*, which can also be the specification of a pod."""
    template = Fields(value, FieldPath(*place), errors)
    if "containers" in template and "spec" not in template:
        template = Fields({"spec": value}, template.path, errors)
    return PodSet(pod_template.read_pod_template(template), "", _replicas(place, manifest, declared, errors))


def _replicas(place: Place, manifest: Json, declared: DeclaredTemplate, errors: list[FieldError]) -> int:
    """Return the number of pods of the template at *place*: 1 if the field with the number is absent."""
    if declared.replicas is None:
        return 1
    path = declared.replicas.with_entries(declared.template.entries_of(place))
    for at, number in path.matches(manifest):
        # The last part of the path is the name of the field, by which an error is reported.
        read = Fields({str(at[-1]): number}, FieldPath(*at[:-1]), errors)
        return read.number(str(at[-1]), 1)
    return 1
