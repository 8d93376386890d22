"""Errors of documents that create pods, in all of their fields: not only in those that rules read.

They are those with which ``muster fit`` refuses an object.  In a document with misspelt or unknown fields, everything else is validated
too: a name that differs by one letter from a known one counts as that one, and other unknown fields as absent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeapi import decode
from kubeapi.decode import Json, section
from kubeapi.field_path import FieldPath, Part
from kubeapi.versions import served_versions
from kubeapi.versions.kubernetes_releases import TODAY
from validators import field, schema
from validators.built_in import shapes
from validators.document_head import Head
from validators.field import ErrorType, FieldError

BUILT_IN_RULE, PROJECT_RULE = "built-in-values", "project-values"
_UNKNOWN = "schema-unknown-field"
_BUILT_IN = frozenset({"", "apps", "batch"})
_MOST_PASSES = 8
"""Levels of misspelt fields inside misspelt fields that are reported."""
_has_placeholder = re.compile(r"\$[{(A-Za-z_]|\{\{|<[^<>]+>|^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$").search
"""Variables of shells, kustomizations and templates; and names such as ``PROJECT_ID``, which no object can have."""


def is_known(head: Head) -> bool:
    """Return whether documents with this head are validated; of a built-in group, those of all versions."""
    versions = shapes.versions_of(head.group, head.kind)
    return head.version in versions or (bool(versions) and head.group in _BUILT_IN)


def errors(head: Head, content: Mapping[str, Json], minor: int) -> list[FieldError]:
    """Return the errors of a document of a known kind for Kubernetes 1.*minor*, each with its rule as origin.

    An object that an API server has stored or a controller has created, and that is exported, has none.  Values with placeholders, which
    a tool replaces before the API server reads them, have none either.
    """
    group = head.group
    if head.version not in (versions := shapes.versions_of(group, head.kind)):
        served = [served_versions.named(group, each) for each in versions]
        return [dataclasses.replace(field.not_supported(FieldPath("apiVersion"), content.get("apiVersion"), served), origin="schema-enum")]
    if _is_exported(content):
        return []
    found = [each for each in _all_errors(content) if not _is_left_out(each, head.kind)]
    if group == "apps" and section(content, "spec").get("selector") is None:
        found = [*_without_selector(content, found)]
    return [_with_rule(each, group, minor) for each in found]


def _is_exported(content: Mapping[str, Json]) -> bool:
    """Return whether an object comes from a cluster: a snapshot of it lacks fields."""
    metadata = section(content, "metadata")
    return bool(metadata.get("uid") or metadata.get("ownerReferences") or section(content, "status")) or (
        section(content, "spec").get("nodeName") is not None
    )


def _is_left_out(error: FieldError, kind: str) -> bool:
    """Return whether an error is about a placeholder, a pod without containers, or a field that another rule reports.

    Templates of Spark and shortened examples have no containers; a misspelt ``containers`` is an unknown field.
    """
    parts = error.path.parts
    if parts[-1:] == ("containers",) and error.type is ErrorType.REQUIRED:
        return True
    of_pod = parts[-2:] == ("spec", "workloadRef") and (kind == "Pod" or len(parts) > len(("spec", "workloadRef")))
    return of_pod or (isinstance(error.value, str) and _has_placeholder(error.value) is not None)


def _without_selector(content: Mapping[str, Json], found: Iterable[FieldError]) -> Iterator[FieldError]:
    """Yield the errors of a controller of pods without a selector, which can be a patch, or can get the selector from a kustomization."""
    containers = section(content, "spec", "template", "spec").get("containers")
    is_whole = isinstance(containers, list) and containers and all(isinstance(each, Mapping) and each.get("image") for each in containers)
    for each in found:
        if each.path.parts == ("spec", "selector") and is_whole:
            yield field.as_warning(dataclasses.replace(each, detail=f"{each.detail}, unless a kustomization adds it"))
        elif is_whole or (each.origin and each.type is not ErrorType.REQUIRED):
            yield each


def _with_rule(error: FieldError, group: str, minor: int) -> FieldError:
    if not error.origin:
        return dataclasses.replace(error, origin=BUILT_IN_RULE if group in _BUILT_IN else PROJECT_RULE)
    if error.origin != _UNKNOWN or error.suggestion or (group in _BUILT_IN and minor <= TODAY):
        return error
    detail = f"unknown field {error.path.parts[-1]!r}: there is none in {shapes.source_of(group)}; another release may have it"
    return field.as_warning(dataclasses.replace(error, detail=detail))


def _all_errors(content: Mapping[str, Json]) -> list[FieldError]:
    """Return the unknown fields of a document, and the errors of the rest, with their paths as written."""
    from validators.built_in import whole_objects  # many files have groups only, and these need none of it

    found: list[FieldError] = []
    renames: list[tuple[tuple[Part, ...], str]] = []
    for _ in range(_MOST_PASSES):
        current = whole_objects.errors(content)
        unknown = [each for each in current if each.origin == _UNKNOWN]
        reported = unknown or current
        found += [dataclasses.replace(each, path=_written(each.path, renames)) for each in reported]
        if not unknown:
            break
        content = decode.plain(content)
        renames += _rename(content, [each for each in unknown if each.fix is not None and each.fix.is_safe])
        content = schema.without_paths(content, [each.path for each in unknown])
    return found


def _rename(content: Json, misspelt: Sequence[FieldError]) -> Iterator[tuple[tuple[Part, ...], str]]:
    """Rename fields of *content*; yield the path of each after that, and its name before."""
    for each in misspelt:
        *above, name = each.path.parts
        parent = content
        for part in above:
            parent = parent[part]
        correct = each.suggestion
        if each.fix is not None and correct == each.fix.value and correct not in parent:
            parent[correct] = parent.pop(name)
            yield (*above, correct), str(name)


def _written(path: FieldPath, renames: Sequence[tuple[tuple[Part, ...], str]]) -> FieldPath:
    """Return the path in the document as it was before *renames*."""
    parts = path.parts
    for renamed, name in reversed(renames):
        if parts[: len(renamed)] == renamed:
            parts = (*renamed[:-1], name, *parts[len(renamed) :])
    return FieldPath(*parts)
