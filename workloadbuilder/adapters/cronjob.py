"""Adapter for CronJob (batch/v1): the Job that it creates next."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters import job
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.adapter_result import Reading
from workloadbuilder.adapters.shared.known_objects import Known

_TEMPLATE = FieldPath("spec", "jobTemplate")


def adapt(manifest: Json, known: Known) -> Reading:
    """Read a CronJob; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    template = top.mapping("spec").mapping("jobTemplate")
    metadata = {key: value for key in ("labels", "annotations") if (value := template.mapping("metadata").raw(key))}
    controller = {"apiVersion": "batch/v1", "kind": "CronJob", "name": about.owner.name, "uid": about.owner.uid, "controller": True}
    name = {"name": f"{about.owner.name}-next", "namespace": about.namespace, "ownerReferences": [controller]}
    result = job.adapt({"apiVersion": "batch/v1", "kind": "Job", "metadata": {**metadata, **name}, "spec": template.raw("spec")}, known)
    detail = f"the time of the next Job is part of its name: {name['name']!r} is used in its place"
    warnings.append(field.invalid(FieldPath("metadata", "name"), about.owner.name, detail))
    object_identity.warn_if_suspended(top.mapping("spec"), "CronJob", warnings, created="Jobs")

    def relocate(error: FieldError) -> FieldError:
        return dataclasses.replace(error, path=_below(error.path))

    return dataclasses.replace(
        result,
        errors=(*errors, *map(relocate, result.errors)),
        warnings=(*warnings, *map(relocate, result.warnings)),
        losses=tuple(dataclasses.replace(each, path=_below(each.path)) for each in result.losses),
        origins=tuple((template, block, _below(path)) for template, block, path in result.origins),
        relocate=relocate,
    )


def _below(path: FieldPath) -> FieldPath:
    return _TEMPLATE.join(path.parts)
