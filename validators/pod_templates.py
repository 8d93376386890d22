"""Shape of the pod templates of controllers, by the schema of Pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from kubeapi import decode
from kubeapi.field_path import FieldPath
from validators import schema
from validators.field import FieldError
from validators.model.controllers import RawTemplate, TemplatePods
from validators.model.objects import DECODERS
from validators.model.views import PodSpec

_SPEC = FieldPath("spec")


def decoded(templates: Iterable[RawTemplate]) -> tuple[tuple[TemplatePods, ...], list[FieldError]]:
    """Return the typed templates, and the errors of those that have another shape; each error once."""
    pods: list[TemplatePods] = []
    errors: list[FieldError] = []
    for each in templates:
        spec = decode.plain(each.spec)
        found = [error for error in schema.check("pod-v1", {"spec": spec}) if error.path.starts_with(_SPEC)]
        placed = [dataclasses.replace(error, path=FieldPath(*each.path, *error.path.parts[1:])) for error in found]
        errors += [error for error in placed if error not in errors]
        if not found:
            pods.append(
                TemplatePods(
                    each.path, decode.convert(spec, DECODERS[PodSpec]), each.count, each.part, each.wait, each.renewed, each.labels
                )
            )
    return tuple(pods), errors
